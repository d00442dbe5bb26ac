# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Indirect Lookup Table on the simulator's clusters: one server reads, every server writes (3)."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from mds_partitioner.schedule.core.lookup_table import LookupTable, Shift, adjust
from sim.model.arrays import Ints
from sim.model.cluster import Cluster
from sim.model.trips import Trip, Trips
from sim.papers.ilt.namespace import path_hash
from sim.papers.ilt.parameters import Design
from sim.policies.base import NOTHING, Orders
from sim.policies.service import Placed, Placement, hashed

DESIGN = Design()


class ContentBased(Placed):
    """A dispatcher sends a read to the owner of the table's entry that the full path hashes to; what is
    written, and the access times of some reads, every server writes. Once a second the table is adjusted by
    the requests that wait at each server, for the computing power that each has at first; no metadata moves
    for that.

    Not in the paper, assumed: the size of the table, how often it is adjusted and which part of the reads
    writes an access time (parameters.py); that the dispatcher takes no time, gives the entries of a server
    that is down to the others in turns, and adjusts nothing until it is back.

    What a model of mean values cannot tell: that a writer waits for the slowest of all servers (here: for the
    mean); bursts of requests, and renames. ``sim paper ilt`` has them.
    """

    name = "ilt"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        return Dispatcher(cluster, servers)


class Dispatcher(Placement):
    """Its table, and what of each directory's files each server owns by it. Servers of the table are places
    in ``servers``, which has their ranks."""

    def __init__(self, cluster: Cluster, servers: Ints) -> None:
        self._servers, self._power = servers, cluster.capacity[servers].tolist()
        self._table = LookupTable.round_robin(DESIGN.entries, servers.size)
        # (entries, directories)
        self._parts = np.ascontiguousarray(hashed(cluster.tree, DESIGN.entries, path_hash).T)
        self._owned = np.zeros((cluster.tree.size, cluster.ranks))
        for entry, owner in enumerate(self._table.owners):
            self._owned[:, servers[owner]] += self._parts[entry]
        super().__init__(self._trips())

    def go_on(self, cluster: Cluster) -> Orders:
        """3.3: the table is adjusted."""
        up = cluster.up[self._servers]
        if up.all():
            moves = adjust(self._table, cluster.counters.queue[self._servers].tolist(), self._power)
        else:
            moves = handed_out(self._table, np.flatnonzero(up).tolist())
        if not moves:
            return NOTHING
        self._table = self._table.moved(moves)
        for move in moves:
            self._owned[:, self._servers[move.source]] -= self._parts[move.entry]
            self._owned[:, self._servers[move.target]] += self._parts[move.entry]
        return Orders(trips=self._trips(), said=(f"{len(moves)} entries of the table move",))

    def _trips(self) -> Trips:
        owned = np.maximum(self._owned, 0.0)  # sums of floats
        everywhere = np.zeros_like(owned)
        everywhere[:, self._servers] = 1.0
        return Trips(
            read=Trip(owned, owned, owned + DESIGN.access_time_updates * everywhere),
            create=Trip(owned, everywhere / self._servers.size, everywhere),
        )


def handed_out(table: LookupTable, servers: Sequence[int]) -> list[Shift]:
    """The entries that none of these servers has, given to them in turns."""
    orphans = [(entry, owner) for entry, owner in enumerate(table.owners) if owner not in servers]
    return [Shift(*orphan, target) for orphan, target in zip(orphans, cycle(servers), strict=False)]
