# SPDX-License-Identifier: LGPL-2.1-or-later
"""A metadata service that is not Ceph's, with Ceph's clients and ranks: trips say who answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.model.arrays import Floats, sums
from sim.model.cluster import Cluster
from sim.model.queues import Flow, flow
from sim.model.trips import Asked, Trips, asked


@dataclass(frozen=True)
class Open:
    """Open-loop requests of a step. (entries,) arriving; (ranks,) came: those that each rank is to answer,
    each: the work at a rank for one that it answers, with what those of others bring there."""

    arriving: Floats
    came: Floats
    each: Floats


class Service(Cluster):
    """Answers as its trips say, and as a cluster of subtrees until it has any. Nothing is ever exported.

    requests: (directories,), answered since the run began.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trips: Trips | None = None
        self.requests = np.zeros(self.tree.size)
        self._known: tuple[Trips, object, Asked] | None = None

    def _serve(self, capacity: Floats, taken: Floats, dt: float) -> None:
        if self.trips is None:
            super()._serve(capacity, taken, dt)
            return
        crowd, ways = self.crowd, self._asked(self.trips)
        self._release_whole(ways)
        there = crowd.there(self.now)
        opened = self._open(ways, crowd.arrivals(there)[crowd.group] * crowd.part * dt)
        left = np.maximum(0.0, capacity - taken / dt)
        backlog = self.backlog * opened.each
        found = flow(ways, crowd.threads(there), crowd.think, self._wait, left, backlog, 0.0, dt)
        self._wait = found.wait
        closed = found.asked[crowd.group] * crowd.part * dt
        crowd.stuck += (closed + opened.arriving) * (1.0 - ways.free)
        self.asked += float(closed.sum() + opened.arriving.sum())
        room = np.maximum(0.0, (left - found.load) * dt) / opened.each
        out = np.minimum(self.backlog + opened.came, room)
        self.backlog = self.backlog + opened.came - out
        self._count_trips(ways, found, closed, opened, out)

    def _asked(self, trips: Trips) -> Asked:
        """As before as long as nothing has changed."""
        version = (self.crowd.version, self.up.tobytes())
        if self._known is None or self._known[0] is not trips or self._known[1] != version:
            self._known = (trips, version, asked(trips, self.crowd, self.up))
        return self._known[2]

    def _release_whole(self, ways: Asked) -> None:
        """Requests that waited for a directory, all of which answers again, go to its ranks."""
        whole = ways.free == 1.0
        self.backlog += np.where(whole, self.crowd.stuck, 0.0) @ ways.answered
        self.crowd.stuck[whole] = 0.0

    def _open(self, ways: Asked, arriving: Floats) -> Open:
        came = arriving @ ways.answered
        each = np.divide(arriving @ ways.work, came, out=np.ones(self.ranks), where=came > 0.0)
        return Open(arriving, came, each)

    def _count_trips(self, ways: Asked, found: Flow, closed: Floats, opened: Open, out: Floats) -> None:
        """closed: (entries,) requests of the step; out: (ranks,) open-loop requests answered."""
        counters, dt = self.counters, self.physics.step
        served = (closed @ ways.answered) * found.fit + out
        self.served += served
        counters.received += served
        counters.latency += served * self._wait
        work = found.load * dt + out * opened.each
        counters.busy += np.divide(work, self.capacity, out=np.zeros(self.ranks), where=self.capacity > 0.0)
        counters.queue = found.inside + self.backlog
        drained = np.divide(out, opened.came, out=np.zeros(self.ranks), where=opened.came > 0.0)
        answered = closed * (ways.answered @ found.fit) + opened.arriving * (ways.answered @ drained)
        self.requests += sums(self.crowd.directory, answered, self.tree.size)
        self._note(answered)
