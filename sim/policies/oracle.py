# SPDX-License-Identifier: LGPL-2.1-or-later
"""Somebody who knows the loads to come, whose moves cost nothing, and whose clients ask who answers: the
limit for whole directories.

Every now and then each directory's mean demand until the next time is looked up; what the ranks above their
share have too much of goes to those below, the largest first (Graham 1969), and nothing else is moved.
"""

import heapq

import numpy as np

from mds_partitioner.model import NO_PIN
from sim.load.crowd import Crowd, gather
from sim.model.arrays import Bools, Floats, Ints, sums
from sim.model.cluster import Cluster
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.policies.base import Context, Orders, Policy

EVEN = 0.02  # of a rank's share: less is not worth a move
LOOKS = 8  # into the time until it decides again


class Oracle(Policy):
    """Decides every ``every`` s of the scenario's table, 30 when it says nothing."""

    name = "oracle"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.every = float(context.extra.get("every", 30.0))
        self._future: Crowd | None = None

    def decide(self, cluster: Cluster) -> Orders:
        """Place what is above its rank's share."""
        demand = self._demand(cluster)
        ranks = np.flatnonzero(cluster.exists & cluster.up & ~cluster.masked)
        share = np.zeros(cluster.ranks)
        share[ranks] = cluster.capacity[ranks] / cluster.capacity[ranks].sum() * demand.sum()
        free = ~_pinned(cluster.names)
        places = even_out(demand, cluster.names.auth, share, free)
        return Orders(places=tuple(Order(d, r, "oracle") for d, r in places), direct=True)

    def _demand(self, cluster: Cluster) -> Floats:
        """(directories,): what each will be asked for, in requests/s if nobody had to wait.

        Patterns that go on with what is answered are taken as they are now; others are looked up.
        """
        crowd, tree = cluster.crowd, cluster.tree
        if self._future is None:
            self._future = gather(self.context.clients, tree, self.context.seed)
        demand = np.zeros(tree.size)
        for k in range(LOOKS):
            at = cluster.now + self.every * k / LOOKS
            self._future.answered = crowd.answered.copy()
            self._future.turn(at, np.zeros(0, dtype=np.int64))
            there = self._future.there(at)
            wanted = self._future.threads(there) + self._future.arrivals(there)
            demand += sums(crowd.directory, wanted[crowd.group] * self._future.part, tree.size) / LOOKS
        return demand


def _pinned(names: Namespace) -> Bools:
    """(directories,): what is held in place by an operator's pin."""
    held = np.zeros(names.tree.size, dtype=np.bool_)
    for directory in np.flatnonzero(names.pin != NO_PIN).tolist():
        held[directory : int(names.tree.end[directory])] = True
    return held


def even_out(demand: Floats, auth: Ints, share: Floats, free: Bools) -> list[tuple[int, int]]:
    """Directories to move, and where.

    :param demand: (directories,)
    :param auth: (directories,) ranks
    :param share: (ranks,) what each should have; 0 for one that may have nothing
    :param free: (directories,) which may be moved
    """
    load = sums(auth, demand, share.size)
    spare = [(-float(share[r] - load[r]), int(r)) for r in np.flatnonzero(share > load)]
    heapq.heapify(spare)
    moves = []
    for rank in np.argsort(share - load, kind="stable").tolist():
        over = float(load[rank] - share[rank])
        own = np.flatnonzero((auth == rank) & (demand > 0.0) & free)
        for directory in own[np.argsort(-demand[own], kind="stable")].tolist():
            if over <= EVEN * share[rank] or not spare:
                break
            room, to = -spare[0][0], spare[0][1]
            if demand[directory] > min(2.0 * over, 2.0 * room):
                continue  # it would only turn the difference round
            moves.append((int(directory), to))
            over -= float(demand[directory])
            heapq.heapreplace(spare, (float(demand[directory]) - room, to))
    return moves
