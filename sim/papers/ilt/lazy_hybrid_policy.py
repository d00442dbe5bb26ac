# SPDX-License-Identifier: LGPL-2.1-or-later
"""LH3, Lazy Hybrid on the simulator's clusters: hashed, with the hierarchy kept (2)."""

import numpy as np

from sim.model.arrays import Ints
from sim.model.cluster import Cluster
from sim.model.trips import Trip, Trips
from sim.papers.ilt.namespace import path_hash
from sim.policies.service import Placed, Placement, at_home, hashed, over_ranks


class LazyHybrid(Placed):
    """A file is made at the server of its own hash and, beside that, entered at its directory's.

    What a model of mean values cannot tell: that the client waits for the slower of the two (here: for the
    mean); renames, the log of them on every server, what moves lazily after them and is asked for at the
    wrong server until then. No scenario has renames; ``sim paper ilt`` does.
    """

    name = "lh3"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        tree = cluster.tree
        file = over_ranks(hashed(tree, servers.size, path_hash), servers, cluster.ranks)
        directory = np.zeros_like(file)
        for number in range(tree.size):
            directory[number, servers[path_hash(tree.path(number)) % servers.size]] = 1.0
        made = Trip(answered=file, waits=(file + directory) / 2.0, work=file + directory)
        return Placement(Trips(read=at_home(file), create=made))
