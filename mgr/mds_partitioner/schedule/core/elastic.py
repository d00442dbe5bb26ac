# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients do when a rank answers them sooner.

Those that wait for their answers and have a directory of their own ask for more: a full rank holds back a
part of their demand. Those that use many directories go on at the pace of the slowest. So a piece's rate
grows by ``G * (latency before / latency after) ** a``: G is what all clients together do more, and ``a`` the
piece's elasticity: 1 for the former, 0 for the latter. What moved, beside what stayed, tells it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import median

TOLD = 1.5  # times: of latencies that differ less, nothing is learned
MANY = 2  # pieces that were seen, before others are taken to be alike
MOST = 30.0  # times what is seen: no piece is expected to be asked for more


def elasticity(moved: float, stayed: float, source: float, target: float) -> float | None:
    """Of a piece that moved; None: nothing is to be learned from it.

    :param moved: its rate, in times of what it had before
    :param stayed: the same of what stayed where it came from
    :param source: latency there now, s
    :param target: latency where it is now, s
    """
    if min(moved, stayed, target) <= 0.0 or source < TOLD * target:
        return None
    return min(1.0, max(0.0, math.log(moved / stayed) / math.log(source / target)))


def usual(known: Mapping[int, float], within: Mapping[int, int]) -> dict[int, float]:
    """Of pieces that were not moved yet, by what they were taken out of: the median of their siblings that
    were. What other clients use says nothing of these.

    :param known: elasticity, by inode number
    :param within: what each piece was taken out of, 0 for nothing, by inode number
    """
    groups = defaultdict[int, list[float]](list)
    for ino, value in known.items():
        if ino in within:
            groups[within[ino]].append(value)
    return {parent: median(values) for parent, values in groups.items() if len(values) >= MANY}


def held_back(latency: Mapping[int, float], rank: int, elasticity: float) -> float:
    """Times what a piece of a full rank is seen to be asked for that it would be on the quickest rank.

    :param latency: s, by rank
    """
    if latency.get(rank, 0.0) <= 0.0:
        return 1.0
    quickest = min(value for value in latency.values() if value > 0.0)
    return min(MOST, math.pow(latency[rank] / quickest, elasticity))
