# SPDX-License-Identifier: LGPL-2.1-or-later
"""Services of the papers that place metadata by a rule of their own, not by subtrees that move.

Metadata is where the rule says from the moment it is made: no rank is hot to begin with, and there is nothing
to move as long as the servers stay the same.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from mds_partitioner.model import NO_PIN
from sim.errors import SimError
from sim.model.arrays import Floats, Ints
from sim.model.cluster import Cluster
from sim.model.service import Service
from sim.model.tree import Tree
from sim.model.trips import Trip, Trips
from sim.policies.base import NOTHING, Context, Orders, Policy


class Placement:
    """Where everything is: for ever, unless a subclass goes on with it."""

    def __init__(self, trips: Trips) -> None:
        self.trips = trips

    def go_on(self, cluster: Cluster) -> Orders:
        """What becomes of it, now and then."""
        return NOTHING


class Placed(Policy):
    """A service that settles where metadata is when it is made."""

    cluster = Service
    every = 1.0

    def __init__(self, context: Context) -> None:
        """:raises SimError: an operator left only some ranks for balancing, which no such service knows"""
        super().__init__(context)
        if context.mask is not None:
            raise SimError(f"a mask of ranks is Ceph's, and {self.name} is not")
        self._servers: Ints = np.zeros(0, dtype=np.int64)
        self._placement: Placement | None = None

    def decide(self, cluster: Cluster) -> Orders:
        """:raises SimError: there are pins, or servers that come and go for good"""
        servers = np.flatnonzero(cluster.exists)
        if self._placement is None:
            if (cluster.names.pin != NO_PIN).any():
                raise SimError(f"pins are Ceph's, and {self.name} is not")
            self._servers, self._placement = servers, self.place(cluster, servers)
            return Orders(trips=self._placement.trips)
        if not np.array_equal(servers, self._servers):
            raise SimError(f"servers that come and go for good are not modelled for {self.name}")
        return self._placement.go_on(cluster)

    @abstractmethod
    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        """Everything, at the begin of a run. servers: (servers,), their ranks."""


def at_home(home: Floats) -> Trip:
    """One server has a file's metadata and does everything for it. home: (directories, ranks), parts."""
    return Trip(home, home, home)


def hashed(tree: Tree, buckets: int, number: Callable[[str], int]) -> Floats:
    """(directories, buckets): the part of each directory's files whose full path falls into each bucket.

    Files that come later fall where the first ones fell. number: a hash of a path; modulo ``buckets``.
    """
    parts = np.zeros((tree.size, buckets))
    for directory, files in enumerate(files_of(tree).tolist()):
        path = tree.path(directory)
        found = np.array([number(f"{path}/f{k}") % buckets for k in range(files)])
        parts[directory] = np.bincount(found, minlength=buckets) / files
    return parts


def files_of(tree: Tree) -> Ints:
    """(directories,): how many files each has at first, at least one."""
    return np.maximum(1, np.rint(tree.inodes)).astype(np.int64)


def over_ranks(parts: Floats, servers: Ints, ranks: int) -> Floats:
    """(directories, ranks) from (directories, servers): those that are no server have nothing."""
    found = np.zeros((parts.shape[0], ranks))
    found[:, servers] = parts
    return found
