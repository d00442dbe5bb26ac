# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a directory will be asked for: a long mean of what was seen, until that has changed for good."""

from dataclasses import dataclass, replace

MEMORY = 120.0  # s: longer than a scan's round, so that none is run after
CHANGED = 0.5  # of the higher of both means: nothing less is a change
HELD = 3  # looks: what has changed for so long has changed for good (CockroachDB, Cruise Control)


@dataclass(frozen=True)
class Demand:
    """What is expected, and what is known of it.

    :ivar mean: req/s
    :ivar seconds: that the mean is of
    :ivar apart: looks since what is seen differs from it
    :ivar turned: when it last changed for good, steady clock, s; -1: not yet
    """

    mean: float
    seconds: float = 0.0
    apart: int = 0
    turned: float = -1.0

    def seen(self, rate: float, dt: float, now: float, held: int = HELD) -> "Demand":
        """After one more look. rate: req/s over the last ``dt`` s; held: looks that make a change."""
        if abs(rate - self.mean) < CHANGED * max(rate, self.mean):
            seconds = max(dt, min(MEMORY, self.seconds + dt))
            mean = self.mean + (rate - self.mean) * dt / seconds
            return Demand(mean, seconds, turned=self.turned)
        if self.apart + 1 < held:
            return replace(self, apart=self.apart + 1)
        return Demand(rate, dt, turned=now)


def first(rate: float, dt: float) -> Demand:
    """After the first look."""
    return Demand(rate, dt)
