# SPDX-License-Identifier: LGPL-2.1-or-later
"""What full ranks show, without numpy: the manager asks for it, too."""

import math

EASY = 0.6  # requests inside: no more than that, and the rank rests
INSIDE = 1.25  # requests, on the mean of an epoch: with fewer a rank rests at times
CROWD = 8.0  # a burst makes fewer; who is full with so many shows what it can do
CHANGED = 0.8  # of the larger of two rates of a full rank: nothing less is a change but noise
AT_ONCE = 4.0  # times what it serves whom it holds back: more is believed when it is seen
STEEPEST = 0.5  # a full rank serves at most so many powers of what is inside (docs/results/saturation.md)
REAL_LOAD = 0.1  # of the highest rate of all ranks: of one with less a few inside do not tell how full it is
LISTING = 10.0  # requests that one for a directory's entries takes as long as, of a thousand (docs/design.md)
LEAST_RATE = 20.0  # req/s: a mean over fewer says little, and no MDS that works is full of so few


def work(requests: float, listings: float) -> float:
    """req/s that a rank may do as much as, where so many of them list a directory each. Whether it is under
    real load is told by that."""
    return requests + (LISTING - 1.0) * listings


def with_fewer(inside: float, crowd: float) -> float:
    """What a full rank serves with so many requests inside, at least, in parts of what it serves with
    ``crowd`` of them."""
    return math.pow(inside / crowd, STEEPEST) if inside < crowd else 1.0
