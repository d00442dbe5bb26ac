# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many active MDSs the file system needs (LINE: "recommend optimal the number of MDSs")."""

from __future__ import annotations

import math
from dataclasses import dataclass

TARGET_UTILISATION = 0.75
CACHE_SHARE = 0.8
PAUSES = 1.1  # times the mean, at least, while some rank was saturated: clients pause in between


@dataclass(frozen=True)
class Recommendation:
    """The number of active MDSs; None where the capacity of a rank is unknown."""

    ranks: int | None
    reason: str


def recommend(
    *,
    load: float,
    busy_load: float,
    capacity: float | None,
    wss: float,
    bytes_per_inode: float,
    cache_limit: float,
    saturated: bool,
) -> Recommendation:
    """The larger of what the load and what the working set asks for.

    load: req/s of the whole file system, mean; busy_load: the same while a rank was saturated, 0: none
    was, or in passing: where clients pause, it is then that they wait; capacity: req/s a rank, used to
    75 %, None: unknown; wss: inodes of all subvolumes in one epoch, at its highest; cache_limit:
    mds_cache_memory_limit, bytes a rank, used to 80 %; saturated: some rank is, so that the demand waiting
    behind it is not in the load.
    """
    of = ""
    if busy_load > PAUSES * load:
        of = f", while a rank was saturated ({load:.0f} on the mean)"
        load, saturated = busy_load, True
    by_wss = max(1, math.ceil(wss * bytes_per_inode / (cache_limit * CACHE_SHARE)))
    for_wss = (
        f"{by_wss} for a working set of {wss:.0f} inodes at {CACHE_SHARE:.0%} of a cache of "
        f"{cache_limit:.0f} bytes a rank"
    )
    if capacity is None:
        reason = f"the capacity of a rank is not known, so how many {load:.0f} req/s need is not; {for_wss}"
        return Recommendation(None, reason)
    by_load = max(1, math.ceil(load / (capacity * TARGET_UTILISATION)))
    at_least = "at least " if saturated else ""
    reason = (
        f"{at_least}{by_load} for {load:.0f} req/s{of} at {TARGET_UTILISATION:.0%} of {capacity:.0f} req/s "
        f"a rank, {for_wss}"
    )
    if saturated:
        reason += "; a rank is saturated, so the demand behind it is not visible"
    return Recommendation(max(by_load, by_wss), reason)
