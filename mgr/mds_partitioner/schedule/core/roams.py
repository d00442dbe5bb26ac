# SPDX-License-Identifier: LGPL-2.1-or-later
"""A load that goes from rank to rank by itself, as a backup does that walks through one directory after the
other.

What is moved for its sake brings something only for as long as it stays. How long that may be is told by how
long it stayed before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

WENT = 0.3  # of what the rank served that it has less, at least: it is no noise (FoundationDB)
OURS = 0.5  # of that, at least, was moved: then the load did not go by itself
GONE = 60.0  # s since it was there: what is elsewhere after that is another one
MEMORY = 600.0  # s
LATE = 10.0  # s, from when it is seen until something has moved for it


@dataclass(frozen=True)
class Roams:
    """Steady clock, s.

    :ivar rank: that was full and had too much last; -1: none
    :ivar since: when it came to have that; at: when it was last seen so
    :ivar requests: req/s that it served or passed on then
    :ivar stays: when the load had gone from a rank, and after how many s, oldest first
    """

    rank: int = -1
    since: float = -math.inf
    at: float = -math.inf
    requests: float = 0.0
    stays: tuple[tuple[float, float], ...] = ()

    def seen(self, hot: Sequence[int], did: Mapping[int, float], ours: float, now: float, dt: float) -> Roams:
        """After a look.

        :param hot: full ranks that have too much, the one that has most first
        :param did: req/s by rank, that it served or passed on
        :param ours: req/s that were moved away from the rank since then, and did not end
        :param dt: s since the look before
        """
        known = replace(self, stays=tuple(stay for stay in self.stays if now - stay[0] <= MEMORY))
        if not hot:
            return known
        if self.stays_on(hot, now, dt):
            return replace(known, at=now, requests=did[self.rank])
        less = self.requests - did.get(self.rank, self.requests)
        went = less > WENT * self.requests and ours < OURS * less and now - self.at <= GONE
        stays = (*known.stays, (now, now - self.since)) if went else known.stays
        return Roams(hot[0], now - dt, now, did[hot[0]], stays)

    def stays_on(self, hot: Sequence[int], now: float, dt: float) -> bool:
        """Has its rank had too much in the look before, and has still? As for ``seen``."""
        return self.rank in hot and now - self.at < 2.0 * dt

    @property
    def usual(self) -> float:
        """s for which it stays on a rank."""
        return fmean(seconds for _, seconds in self.stays) if self.stays else math.inf

    def lasts(self, now: float) -> float:
        """s for which what is uneven is likely to stay so when something has moved for it: as long as usual,
        less what has passed of that; if none has come elsewhere for longer, as long as that is since."""
        return max(0.0, abs(self.usual - (now - self.since)) - LATE) if self.stays else math.inf
