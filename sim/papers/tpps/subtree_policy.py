# SPDX-License-Identifier: LGPL-2.1-or-later
"""Namenodes by subtree on the simulator's clusters, as in HDFS's federation (section V)."""

import numpy as np

from sim.model.arrays import Floats, Ints
from sim.model.cluster import Cluster
from sim.model.tree import Tree
from sim.model.trips import Trips
from sim.policies.service import Placed, Placement, at_home


class BySubtree(Placed):
    """Neighbouring directories together, as many on each namenode, for ever.

    What a model of mean values cannot tell: a hot file from a hot directory.
    """

    name = "tpps-subtree"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        home = at_home(subtrees(cluster.tree, servers, cluster.ranks))
        return Placement(Trips(read=home, create=home))


def subtrees(tree: Tree, servers: Ints, ranks: int) -> Floats:
    """(directories, ranks): 1 at the namenode of each. servers: (servers,), the namenodes' ranks."""
    home = np.zeros((tree.size, ranks))
    home[np.arange(tree.size), servers[namenodes(tree, servers.size)]] = 1.0
    return home


def namenodes(tree: Tree, count: int) -> Ints:
    """(directories,): the namenode of each: neighbours together, and as many that have files on each."""
    lowest = tree.end == np.arange(tree.size) + 1
    before = np.minimum(np.cumsum(lowest) - lowest, lowest.sum() - 1)
    return np.asarray(before * count // lowest.sum())
