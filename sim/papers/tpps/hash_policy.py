# SPDX-License-Identifier: LGPL-2.1-or-later
"""Namenodes by hash on the simulator's clusters (section V)."""

import zlib

from sim.model.arrays import Ints
from sim.model.cluster import Cluster
from sim.model.trips import Trips
from sim.policies.service import Placed, Placement, at_home, hashed, over_ranks


class ByHash(Placed):
    """By the CRC-32 of a file's full path.

    What a model of mean values cannot tell: listing a directory, whose files are on all namenodes.
    """

    name = "tpps-hash"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        parts = hashed(cluster.tree, servers.size, lambda path: zlib.crc32(path.encode()))
        home = at_home(over_ranks(parts, servers, cluster.ranks))
        return Placement(Trips(read=home, create=home))
