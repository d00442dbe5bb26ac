# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run: a system, a setting, and what was seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import simpy

from sim.model.arrays import Floats
from sim.papers.ilt.cluster import Cluster, Counts, System
from sim.papers.ilt.content_based import ContentBased
from sim.papers.ilt.lazy_hybrid import LazyHybrid
from sim.papers.ilt.namespace import grown
from sim.papers.ilt.parameters import Setting
from sim.papers.ilt.server import Server, Work
from sim.papers.ilt.vesta import Vesta
from sim.papers.ilt.workload import Kind, Request, requests

SYSTEMS: Final[dict[str, Callable[[Cluster], System]]] = {
    "Vesta": Vesta,
    "LH3": LazyHybrid,
    "ILT": ContentBased,
}
WINDOW: Final = 100.0  # ms over which the requests waiting are averaged for the figures


@dataclass(frozen=True)
class Outcome:
    """What a run showed. Every request is answered, also those that are late when the load ends.

    `arrivals` and `responses` (ms) are by request, in the order of arrival; `by_kind` has mean responses
    of the kinds there were; `waiting[server, window]` is the mean number of requests that wait there;
    `added_for` is how long it took to add a server (ms).
    """

    system: str
    arrivals: Floats
    responses: Floats
    by_kind: dict[Kind, float]
    waiting: Floats
    counts: Counts
    added_for: float | None


class _Watch:
    """Writes down the answers and the queues while a run goes on."""

    def __init__(self, cluster: Cluster, trace: list[Request]) -> None:
        self._cluster = cluster
        self._trace = trace
        self.responses = np.full(len(trace), np.nan)
        self.windows: list[list[float]] = []
        self.added_for: float | None = None

    def clients(self, system: System) -> Work:
        env = self._cluster.env
        calls = []
        for number, request in enumerate(self._trace):
            yield env.timeout(request.at - env.now)
            calls.append(env.process(self._call(system, number, request)))
        yield env.all_of(calls)

    def _call(self, system: System, number: int, request: Request) -> Work:
        yield from system.handle(request)
        self.responses[number] = self._cluster.env.now - request.at

    def queues(self) -> Work:
        before: dict[Server, float] = {}
        while True:
            yield self._cluster.env.timeout(WINDOW)
            now = {server: server.waited() for server in self._cluster.servers}
            self.windows.append([(now[each] - before.get(each, 0.0)) / WINDOW for each in now])
            before = now

    def addition(self, system: System, at: float) -> Work:
        env = self._cluster.env
        yield env.timeout(at)
        yield from system.add_server()
        self.added_for = env.now - at


def play(name: str, setting: Setting) -> Outcome:
    """Runs one of SYSTEMS. The same setting gives every system the same namespace and requests."""
    rng = np.random.default_rng(setting.seed)
    namespace = grown(setting.load.directories, setting.load.files, rng)
    trace = requests(setting.load, namespace, rng)
    env = simpy.Environment()
    cluster = Cluster(env, setting, namespace)
    system = SYSTEMS[name](cluster)
    watch = _Watch(cluster, trace)
    env.process(watch.queues())
    ends = [env.process(watch.clients(system)), env.timeout(setting.load.duration)]
    if setting.design.server_added_at is not None:
        ends.append(env.process(watch.addition(system, setting.design.server_added_at)))
    env.run(until=env.all_of(ends))
    return Outcome(
        system=name,
        arrivals=np.array([request.at for request in trace]),
        responses=watch.responses,
        by_kind=_by_kind(trace, watch.responses),
        waiting=_during(watch.windows, setting.load.duration),
        counts=cluster.counts,
        added_for=watch.added_for,
    )


def _by_kind(trace: list[Request], responses: Floats) -> dict[Kind, float]:
    chosen = {kind: [number for number, request in enumerate(trace) if request.kind is kind] for kind in Kind}
    return {kind: float(responses[numbers].mean()) for kind, numbers in chosen.items() if numbers}


def _during(windows: list[list[float]], duration: float) -> Floats:
    """A row a server, a column a window of the load; 0 before a server was there."""
    chosen = windows[: int(duration / WINDOW)]
    filled = np.zeros((max(map(len, chosen)), len(chosen)))
    for column, window in enumerate(chosen):
        filled[: len(window), column] = window
    return filled
