# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a directory will be asked for: a long mean of what was seen, until that has changed for good."""

from typing import NamedTuple

MEMORY = 120.0  # s: longer than a scan's round, so that none is run after
CHANGED = 0.5  # of the higher of both means: nothing less is a change
BEGINS = 2.0  # times what was served a look ago: it is a load that begins
HELD = 3  # looks: what has changed for so long has changed for good (CockroachDB, Cruise Control)


class Demand(NamedTuple):
    """What is expected, and what is known of it. There are thousands, made anew in each look.

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
        mean, seconds, apart, turned = self
        if abs(rate - mean) <= CHANGED * (rate if rate > mean else mean):
            seconds = max(dt, min(MEMORY, seconds + dt))
            return Demand(mean + (rate - mean) * dt / seconds, seconds, 0, turned)
        if apart + 1 < held:
            return Demand(mean, seconds, apart + 1, turned)
        return Demand(rate, dt, 0, now)


def first(rate: float, dt: float) -> Demand:
    """After the first look."""
    return Demand(rate, dt)
