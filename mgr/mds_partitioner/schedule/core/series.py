# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves that follow one another, each of which is worth its while by itself: are all of them?

What a move will bring is expected, and what it costs is seen only when clients are back. While one follows
the other they never are. So what clients get through less since the first one is counted; when that is much,
it is waited until they are back, and seen what all of them have brought.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...engine.inside import CHANGED

MUCH = 30.0  # s of all that clients got through before
RESTS = 600.0  # s without a move for a load that moves did not help; the same as one piece rests


@dataclass(frozen=True)
class Series:
    """What was seen of it.

    :ivar before: req/s that clients got through before the first move; 0: there is none
    :ivar lost: requests that they got through less since, but for what they have got through more; what is
        longer ago than moves have to pay in is forgotten by and by
    :ivar until: until when nothing is moved, steady clock, s; -1: it may be
    :ivar served: req/s that clients got through when that was found
    """

    before: float = 0.0
    lost: float = 0.0
    until: float = -1.0
    served: float = 0.0

    @property
    def dear(self) -> bool:
        """Has it cost so much that it is to be seen first what it has brought?"""
        return self.lost > MUCH * self.before > 0.0

    def seen(
        self, usual: float, now: float, dt: float, *, restless: bool, at: float, horizon: float
    ) -> Series:
        """After a look.

        :param usual: req/s that clients get through as a rule while nothing moves
        :param now: the same since the last look, ``dt`` s ago
        :param restless: something moves, or clients are not back
        :param at: steady clock, s; horizon: s, in which moves have to pay
        """
        lost = self.lost * max(0.0, 1.0 - dt / horizon)
        if restless:
            before = self.before or usual
            return replace(self, before=before, lost=max(0.0, lost + (before - now) * dt))
        if now < CHANGED * self.before:
            return Series()  # the load is another one: what comes next is held against that
        if self.dear:
            brought = now >= self.before + self.lost / horizon
            return Series() if brought else Series(until=at + RESTS, served=now)
        if at < self.until:
            same = CHANGED * self.served <= now <= self.served / CHANGED
            return self if same else Series()
        lost -= max(0.0, now - self.before) * dt
        return replace(self, lost=lost) if lost > 0.0 else Series()

    def told(self, at: float) -> str:
        """Why nothing is moved for a load now; "": it may be. at: steady clock, s"""
        if self.dear:
            return (
                f"moves have cost {self.lost:,.0f} requests so far: it is seen first what they have brought"
            )
        if at < self.until:
            return f"moves cost more than they brought: none for {math.ceil((self.until - at) / 60.0)} min"
        return ""
