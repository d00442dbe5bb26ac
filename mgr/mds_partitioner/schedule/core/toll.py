# SPDX-License-Identifier: LGPL-2.1-or-later
"""What moving an inode costs clients, as seen: the requests that they got through less meanwhile.

A frozen subtree stops whoever uses it, and both ranks' time goes into it. Where each client uses everything,
one frozen directory stops them all; where each has its own, hardly anybody notices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

KNOWN = 50_000.0  # inodes that the first guess counts as: so many must have moved before it is half forgotten
MEMORY = 200_000.0  # inodes, at most, that what was seen counts as
MOST = 4.0  # requests an inode, at most: one that froze all clients for a moment is not typical
BACK = 0.8  # of what clients got through before: with that they are back
WAITS = 4  # looks after an arrival for that: else it was not the move that they were less for


def usual(calm: float, looks: Sequence[float]) -> float:
    """req/s that clients got through before something moved, at the least: loads have dips of their own.

    :param calm: at last; looks: while nothing moved, oldest first
    """
    return min(calm_looks(calm, looks))


def calm_looks(calm: float, looks: Sequence[float]) -> tuple[float, ...]:
    """Of these, from when there was as much on. As for ``usual``."""
    return (calm, *dropwhile(lambda rate: rate < BACK * calm, looks))


@dataclass(frozen=True)
class Toll:
    """What was seen so far, and what is being seen.

    :ivar price: requests an inode; -1: unknown
    :ivar inodes: that it is of
    :ivar lost: requests that clients got through less, since something arrived last
    :ivar due: inodes that arrived for them, while clients are not back
    :ivar looks: since the last of them
    """

    price: float = -1.0
    inodes: float = 0.0
    lost: float = 0.0
    due: float = 0.0
    looks: int = 0

    def or_else(self, guess: float) -> float:
        """Requests that moving an inode costs, by what was seen, and by a guess as long as that is little."""
        if self.price < 0.0:
            return guess
        return (self.price * self.inodes + guess * KNOWN) / (self.inodes + KNOWN)

    def seen(self, before: float, now: float, dt: float, arrived: float) -> "Toll":
        """After a look while something was under way, or has just arrived.

        :param before: req/s that clients got through before it began; now: since the last look, ``dt`` s ago
        :param arrived: inodes, likewise
        """
        lost, due = self.lost + max(0.0, before - now) * dt, self.due + arrived
        if due <= 0.0:
            return replace(self, lost=lost)
        if now >= BACK * before:
            return self._paid(lost, due)
        looks = 0 if arrived else self.looks + 1
        if looks >= WAITS:
            return replace(self, lost=0.0, due=0.0, looks=0)  # the load has ended
        return replace(self, lost=lost, due=due, looks=looks)

    def _paid(self, lost: float, arrived: float) -> "Toll":
        price, inodes = min(MOST, lost / arrived), min(MEMORY, self.inodes + arrived)
        before = price if self.price < 0.0 else self.price
        return Toll(before + (price - before) * min(1.0, arrived / inodes), inodes)
