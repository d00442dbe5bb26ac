# SPDX-License-Identifier: LGPL-2.1-or-later
"""What moving an inode costs clients, as seen: the requests that they got through less meanwhile.

A frozen subtree stops whoever uses it, and both ranks' time goes into it. Where each client uses everything,
one frozen directory stops them all; where each has its own, hardly anybody notices.
"""

from dataclasses import dataclass, replace

KNOWN = 50_000.0  # inodes that the first guess counts as: so many must have moved before it is half forgotten
MEMORY = 200_000.0  # inodes, at most, that what was seen counts as
MOST = 4.0  # requests an inode: more is another load, not what moving costs


@dataclass(frozen=True)
class Toll:
    """What was seen so far, and what is being seen.

    :ivar price: requests an inode; -1: unknown
    :ivar inodes: that it is of
    :ivar lost: requests that clients got through less, since something arrived last
    """

    price: float = -1.0
    inodes: float = 0.0
    lost: float = 0.0

    def or_else(self, guess: float) -> float:
        """Requests that moving an inode costs, by what was seen, and by a guess as long as that is little."""
        if self.price < 0.0:
            return guess
        return (self.price * self.inodes + guess * KNOWN) / (self.inodes + KNOWN)

    def seen(self, missing: float, arrived: float) -> "Toll":
        """After a look while something was under way.

        :param missing: requests that clients got through less than before it began, since the last look
        :param arrived: inodes, likewise
        """
        lost = self.lost + missing
        if arrived <= 0.0:
            return replace(self, lost=lost)
        price, inodes = min(MOST, lost / arrived), min(MEMORY, self.inodes + arrived)
        before = price if self.price < 0.0 else self.price
        return Toll(before + (price - before) * min(1.0, arrived / inodes), inodes)
