# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Ceph counts, as late and as averaged as Ceph tells it."""

import math
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats, Ints, sums
from sim.model.namespace import Namespace
from sim.model.physics import Physics
from sim.model.tree import GROUP

FIRST = GROUP + 1  # directory of a subvolume


@dataclass(frozen=True)
class Totals:
    """(ranks,) each, since the run began. received: requests, those passed on too; passed: forwards;
    latency: s, summed over what was answered."""

    time: float
    received: Floats
    passed: Floats
    latency: Floats
    exported: Floats
    imported: Floats


@dataclass(frozen=True)
class Beat:
    """What the ranks tell each other (mds_load_t). (ranks,) each.

    :ivar popularity: auth.meta_load
    :ivar rate: req_rate over the last beat, forwarded requests too
    :ivar queue: queue_len
    :ivar cpu: cpu_load_avg
    """

    time: float
    popularity: Floats
    rate: Floats
    queue: Floats
    cpu: Floats


class Counters:
    """Grow with every step. (directories,) popularity: pop_me.meta_load; reads: the part of it that is
    lookups'; visited: requests, with the half-life of sessions. sessions: (subvolumes,) request_load_avg,
    summed over sessions."""

    def __init__(self, names: Namespace, physics: Physics, ranks: int) -> None:
        self._names, self._physics = names, physics
        self.popularity = np.zeros(names.tree.size)
        self.reads = np.zeros(names.tree.size)
        self.visited = np.zeros(names.tree.size)
        self.sessions = np.zeros(names.tree.roots.size)
        self._mounted = np.zeros(ranks)  # popularity of what clients ask for when they mount
        self.received, self.passed = np.zeros(ranks), np.zeros(ranks)
        self.latency, self.busy = np.zeros(ranks), np.zeros(ranks)  # s; s of a full rank
        self.exported, self.imported = np.zeros(ranks), np.zeros(ranks)
        self.queue = np.zeros(ranks)
        self.reports: list[Totals] = [self.totals(0.0)]
        self._beat = (0.0, self.received.copy(), self.busy.copy())

    def count(self, heat: Floats, reads: Floats, requests: Floats, dt: float) -> None:
        """heat, reads (a part of it), requests: (directories,), of this step."""
        physics = self._physics
        keep, session = _kept(physics.half_life, dt), _kept(physics.session_half_life, dt)
        self.popularity = self.popularity * keep + heat
        self.reads = self.reads * keep + reads
        self._mounted *= keep
        self.visited = self.visited * session + requests
        of = self._names.tree.subvolume[FIRST:]
        self.sessions = self.sessions * session + sums(of, requests[FIRST:], self.sessions.size)

    def mount(self, requests: float) -> None:
        """Clients mount, and ask every rank."""
        self._mounted += requests

    def totals(self, now: float) -> Totals:
        """As they are now."""
        return Totals(
            now,
            self.received.copy(),
            self.passed.copy(),
            self.latency.copy(),
            self.exported.copy(),
            self.imported.copy(),
        )

    def report(self, now: float) -> None:
        """Every rank reports to the manager."""
        self.reports.append(self.totals(now))

    def beat(self, now: float) -> Beat:
        """Every rank tells every other."""
        began, received, busy = self._beat
        span = max(now - began, 1e-9)
        self._beat = (now, self.received.copy(), self.busy.copy())
        return Beat(
            time=now,
            popularity=sums(self._names.auth, self.popularity, self.received.size) + self._mounted,
            rate=(self.received - received) / span,
            queue=np.floor(self.queue),
            cpu=1.0 + self._physics.cpu * (self.busy - busy) / span,
        )

    def ease(self, directories: Ints, part: float) -> None:
        """Others are expected to take this part of the lookups."""
        self.popularity[directories] -= part * self.reads[directories]
        self.reads[directories] *= 1.0 - part

    def forget(self, directory: int) -> None:
        """A directory that was deleted."""
        self.popularity[directory] = self.reads[directory] = self.visited[directory] = 0.0

    def shares(self) -> Floats:
        """(subvolumes,): the part of all requests by the sessions' averages."""
        total = float(self.sessions.sum())
        return self.sessions / total if total else self.sessions.copy()


def _kept(half_life: float, dt: float) -> float:
    return math.exp2(-dt / half_life)
