# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves that follow one another, each of which is worth its while by itself: are all of them?

What a move will bring is expected, and what it costs is seen only when clients are back. While one follows
the other they never are. So what clients get through less since the first one is counted; when that is much,
it is waited until they are back, and seen what all of them have brought.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ...engine.inside import CHANGED
from .demand import HELD
from .toll import calm_looks

MUCH = 30.0  # s of all that clients got through before
LITTLE = 1.0  # s of it: with less there is nothing to be held against what comes next
RESTS, LONGEST = 600.0, 3600.0  # s: as one piece rests; twice as long each time that it was in vain
CHEAP = 0.25  # s of all that clients get through that moves may cost in a look, though others are to rest


def level(calm: float, looks: Sequence[float]) -> float:
    """req/s that clients got through before the first move: on the mean, or less, if it has just become so.

    :param calm: at last; looks: while nothing moved, oldest first
    """
    return min(calm, fmean(calm_looks(calm, looks)))


@dataclass(frozen=True)
class Series:
    """What was seen of it.

    :ivar before: req/s that clients got through before the first move; 0: there is none
    :ivar lost: requests that they got through less since, but for what they have got through more; what is
        longer ago than moves have to pay in is forgotten by and by
    :ivar seconds: for which something moved
    :ivar back: req/s, in the looks since clients are back, where it was dear
    :ivar until: until when nothing is moved but what costs next to nothing, steady clock, s; -1: all may be
    :ivar served: req/s that clients got through when that was found
    :ivar others: looks in a row that have shown another load since
    :ivar vain: times in a row that it was found, as far as rests got longer by it
    """

    before: float = 0.0
    lost: float = 0.0
    seconds: float = 0.0
    back: tuple[float, ...] = ()
    until: float = -1.0
    served: float = 0.0
    others: int = 0
    vain: int = 0

    @property
    def dear(self) -> bool:
        """Has it cost so much that it is to be seen first what it has brought?"""
        return self.lost > MUCH * self.before > 0.0

    def seen(
        self, before: float, now: float, dt: float, *, restless: bool, full: bool, at: float, horizon: float
    ) -> Series:
        """After a look.

        :param before: req/s that clients got through while nothing moved
        :param now: the same since the last look, ``dt`` s ago
        :param restless: something moves, or clients are not back
        :param full: is there a rank that is?
        :param at: steady clock, s; horizon: s, in which moves have to pay
        """
        if at < self.until:
            return self if restless else self._rests(now)
        kept = self.later(dt, horizon)
        if restless:
            then = self.before or before
            lost = max(0.0, kept.lost + (then - now) * dt)
            return replace(kept, before=then, lost=lost, seconds=kept.seconds + dt)
        if self.dear:
            return self._seen_back((*self.back, now), full, at, horizon)
        lost = kept.lost - max(0.0, now - self.before) * dt
        ends = now < CHANGED * self.before or lost <= LITTLE * self.before
        return Series(vain=self.vain) if ends else replace(kept, lost=lost)

    def later(self, seconds: float, horizon: float) -> Series:
        """So many s later: what was lost, and for how long, is forgotten by and by."""
        left = max(0.0, 1.0 - seconds / horizon)
        return replace(self, lost=self.lost * left, seconds=self.seconds * left, back=())

    def _seen_back(self, back: tuple[float, ...], full: bool, at: float, horizon: float) -> Series:
        """back: as it is now"""
        if len(back) < HELD:
            return replace(self, back=back)
        now = fmean(back)
        less = 0.0 if full else max(0.0, self.before - now)  # who still waits has not asked for less
        lost = self.lost - less * self.seconds
        if lost <= MUCH * self.before:
            return Series(vain=self.vain)
        if now >= self.before + lost / horizon:
            return Series()
        rests = RESTS * 2.0**self.vain
        vain = self.vain + 1 if rests < LONGEST else self.vain
        return Series(until=at + min(LONGEST, rests), served=max(now, self.before), vain=vain)

    def _rests(self, now: float) -> Series:
        same = CHANGED * self.served <= now <= self.served / CHANGED
        others = 0 if same else self.others + 1
        if others >= HELD:
            return Series()
        return self if others == self.others else replace(self, others=others)

    def cheap(self, price: float) -> float:
        """Inodes that may be moved in a look all the same. price: requests an inode, above 0"""
        return 0.0 if self.dear else CHEAP * self.served / price

    def told(self, at: float) -> str:
        """Why nothing else is moved for a load now; "": it may be. at: steady clock, s"""
        if at < self.until:
            minutes = math.ceil((self.until - at) / 60.0)
            return f"moves cost more than they brought: hardly any for {minutes} min"
        if self.dear:
            return (
                f"moves have cost {self.lost:,.0f} requests so far: it is seen first what they have brought"
            )
        return ""
