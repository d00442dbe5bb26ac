# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an epoch of an analysis sees: the module's Observation, from late and averaged counters."""

from typing import cast

import numpy as np

from mds_partitioner.ceph.filesystem import FileSystem
from mds_partitioner.model import Directory, DirectoryFacts, Observation, RankSample, SubtreeSample
from mds_partitioner.observe.turnover import Turnover
from sim.model.arrays import Floats, Ints, sums
from sim.model.cluster import Cluster
from sim.model.tree import GROUP
from sim.policies.manager import FS
from sim.policies.mount import Mount

VISITED = 0.5  # requests of late that make a directory part of the working set


class Observer:
    """All subvolumes, epoch by epoch; remembers which directories come and go."""

    def __init__(self) -> None:
        self._turnover = Turnover()

    def observe(self, cluster: Cluster, ranks: tuple[RankSample, ...]) -> Observation:
        """One epoch. Each subvolume has its part of what the ranks served, by its sessions' averages."""
        tree, shares = cluster.tree, cluster.counters.shares()
        requests = shares * sum(sample.requests for sample in ranks)
        working = working_sets(cluster)
        samples = []
        for number, root in enumerate(tree.roots.tolist()):
            samples.append(
                SubtreeSample(
                    directory=directory_of(cluster, number),
                    wss=float(working[number]),
                    requests=float(requests[number]),
                    sessions=1,
                    ranks=ranks_of(cluster, root),
                    ephemeral=GROUP in cluster.names.distributed or root in cluster.names.distributed,
                    shared=False,
                )
            )
        busiest = [int(s) for s in np.argsort(-requests, kind="stable")[: len(ranks)] if requests[s] > 0.0]
        mount = cast(FileSystem, Mount(cluster.names))
        self._turnover.look(mount, [tree.path(int(tree.roots[s])) for s in busiest])
        return Observation(FS, tuple(samples), churning=self._turnover.churning())


def directory_of(cluster: Cluster, subvolume: int) -> Directory:
    """A subvolume as the module names it."""
    root = int(cluster.tree.roots[subvolume])
    name = cluster.tree.names[subvolume]
    return Directory(cluster.tree.path(root), name, cluster.names.ino(root))


def facts(cluster: Cluster) -> dict[str, DirectoryFacts]:
    """rentries and pins of all subvolumes, by path."""
    found, mount = {}, Mount(cluster.names)
    for number in range(cluster.tree.roots.size):
        directory = directory_of(cluster, number)
        found[directory.path] = DirectoryFacts(directory, *mount.rentries_and_pin(directory.path))
    return found


def working_sets(cluster: Cluster) -> Floats:
    """(subvolumes,): inodes of the directories that were visited of late."""
    tree, counters = cluster.tree, cluster.counters
    used: Ints = np.flatnonzero((counters.visited > VISITED) & (tree.subvolume >= 0))
    return sums(tree.subvolume[used], cluster.names.inodes[used], tree.roots.size)


def ranks_of(cluster: Cluster, directory: int) -> tuple[int, ...]:
    """The ranks that a directory and all below it are on."""
    below = cluster.names.auth[directory : int(cluster.tree.end[directory])]
    return tuple(int(rank) for rank in np.unique(below))
