# SPDX-License-Identifier: LGPL-2.1-or-later
"""Vesta on the simulator's clusters: metadata is where the hash of the full path says (2)."""

from sim.model.arrays import Ints
from sim.model.cluster import Cluster
from sim.model.trips import Trips
from sim.papers.ilt.namespace import path_hash
from sim.policies.service import Placed, Placement, at_home, hashed, over_ranks


class Vesta(Placed):
    """A client computes the hash and asks that server.

    What a model of mean values cannot tell: renames of directories, after which all below moves while
    requests for it wait. No scenario has any; ``sim paper ilt`` does.
    """

    name = "vesta"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        parts = hashed(cluster.tree, servers.size, path_hash)
        home = at_home(over_ranks(parts, servers, cluster.ranks))
        return Placement(Trips(read=home, create=home))
