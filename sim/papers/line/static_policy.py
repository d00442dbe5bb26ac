# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's static partitioning (slide "Workload Based Static Partitioner"): subvolumes pinned by workload."""

from collections.abc import Sequence

import numpy as np

from mds_partitioner.engine.placement.lpt import pack
from mds_partitioner.engine.workload import Workload, workload
from sim.model.arrays import Ints, sums
from sim.model.cluster import Cluster
from sim.policies.base import NOTHING, Context, Orders, Pin, Policy
from sim.policies.observer import working_sets

ANALYSIS = 60.0  # s; the slides say "rarely or manually": once here, as soon as ``plan`` does it


class LineStatic(Policy):
    """Every subvolume is pinned once, the largest first to the emptiest rank, and nobody balances.

    What the model cannot tell: caches have no limit here, so what the slides' working sets are for is not
    seen. ``sim paper line`` has caches with one.
    """

    name = "line-static"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._done = False

    def decide(self, cluster: Cluster) -> Orders:
        if self._done or cluster.now < ANALYSIS or cluster.degraded:
            return NOTHING
        self._done = True
        everything = np.arange(cluster.tree.roots.size)
        found = pins(cluster, everything, usable(cluster))
        return Orders(pins=tuple(found), said=(f"{everything.size} subvolumes are pinned",))


def usable(cluster: Cluster) -> list[int]:
    """Ranks that are there and that an operator left for balancing."""
    return [int(rank) for rank in np.flatnonzero(cluster.exists & ~cluster.masked)]


def points(cluster: Cluster) -> Workload:
    """Of every subvolume, by working set, requests and rentries."""
    of = cluster.tree.subvolume
    inside = of >= 0
    rentries = sums(of[inside], cluster.names.inodes[inside], cluster.tree.roots.size)
    return workload(working_sets(cluster), cluster.counters.shares(), rentries)


def pins(cluster: Cluster, chosen: Ints, ranks: Sequence[int]) -> list[Pin]:
    """Of the chosen subvolumes, by their points, the largest first to the emptiest of the ranks. What is
    elsewhere below one comes together with it."""
    if not chosen.size:
        return []
    tree, names = cluster.tree, cluster.names
    size = points(cluster).points
    order = chosen[np.argsort(-size[chosen], kind="stable")]
    given = pack(size[order].tolist(), [0.0] * order.size, [0.0] * len(ranks), [0.0] * len(ranks))
    found = []
    for subvolume, place in zip(order.tolist(), given, strict=True):
        root = int(tree.roots[subvolume])
        inside = np.arange(root + 1, int(tree.end[root]))
        apart = inside[names.bounds[inside]].tolist()
        found += [Pin(directory, ranks[place], "static partitioning") for directory in (root, *apart)]
    return found
