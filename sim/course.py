# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run: a scenario, a policy, a seed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.load.crowd import gather
from sim.model.arrays import Bools, Floats
from sim.model.cluster import Cluster, Unsafe
from sim.model.namespace import Move
from sim.model.service import Service
from sim.policies import make
from sim.policies.base import Context, Orders
from sim.policies.mantle import Mantle
from sim.scenario import Event, Scenario, capacity_of, first_places, tree_of

SAMPLE = 1.0  # s
Progress = Callable[[float], None]  # part of the run that is over, 0 to 1


@dataclass(frozen=True)
class Recording:
    """What a run did. Times in s.

    :ivar loads: (samples, ranks) requests that each rank answered in each second, req/s
    :ivar capacity: (samples, ranks) req/s; 0 while a rank is not there, or masked out
    :ivar inside: (samples, ranks) requests that each rank has in work or waiting
    :ivar said: when, and what the policy decided
    :ivar forwards: requests that were passed on
    :ivar ended: (groups,) when each had made all its requests; inf: never
    :ivar paths: of the directories that moved, by number
    """

    scenario: str
    policy: str
    seed: int
    loads: Floats
    capacity: Floats
    inside: Floats
    moves: tuple[Move, ...]
    unsafe: tuple[Unsafe, ...]
    said: tuple[tuple[float, str], ...]
    forwards: float
    ended: Floats
    paths: dict[int, str]

    @property
    def answered(self) -> float:
        """Requests."""
        return float(self.loads.sum()) * SAMPLE

    @property
    def moved(self) -> float:
        """Inodes that moved because somebody wanted it."""
        return sum(move.inodes for move in self.moves if not move.forced)


def build(scenario: Scenario, seed: int, kind: type[Cluster] = Cluster) -> Cluster:
    """The cluster before anything happens."""
    tree = tree_of(scenario)
    auth, pins = first_places(scenario, tree)
    capacity, exists = capacity_of(scenario)
    cluster = kind(tree, auth, capacity, exists, gather(scenario.clients, tree, seed), scenario.physics)
    for directory in np.flatnonzero(pins >= 0).tolist():
        cluster.names.set_pin(directory, int(pins[directory]))
    cluster.to_auth = scenario.ranks.to_auth
    if scenario.ranks.mask is not None:
        cluster.masked = ~np.isin(np.arange(cluster.ranks), scenario.ranks.mask)
    return cluster


def run(scenario: Scenario, policy_name: str, seed: int, progress: Progress = lambda part: None) -> Recording:
    """From the first second to the last, or until all clients that have an end came to it.

    :raises SimError: there is no such policy
    """
    context = Context(
        clients=scenario.clients,
        seed=seed,
        mask=scenario.ranks.mask,
        settings=scenario.settings,
        extra=scenario.policies.get(policy_name, {}),
    )
    policy = make(policy_name, context)
    cluster = build(scenario, seed, policy.cluster)
    try:
        course = Course(cluster, policy.decide, policy.every, scenario.events, seed)
        course.go(scenario.seconds, progress)
    finally:
        if isinstance(policy, Mantle):
            policy.close()
    return Recording(
        scenario=scenario.name,
        policy=policy_name,
        seed=seed,
        loads=np.array(course.loads),
        capacity=np.array(course.capacity),
        inside=np.array(course.inside),
        moves=tuple(cluster.moves),
        unsafe=tuple(cluster.unsafe),
        said=tuple(course.said),
        forwards=float(cluster.counters.passed.sum()),
        ended=cluster.crowd.ended,
        paths={move.directory: cluster.tree.path(move.directory) for move in cluster.moves},
    )


class Course:
    """Time goes by."""

    def __init__(
        self,
        cluster: Cluster,
        decide: Callable[[Cluster], Orders],
        every: float,
        events: tuple[Event, ...],
        seed: int,
        first: float | None = None,
    ) -> None:
        """first: s until the first decision; None: drawn."""
        self._cluster, self._decide = cluster, decide
        self._events = sorted(events, key=lambda event: event.at)
        dt = cluster.physics.step
        self._every, self._second = max(1, round(every / dt)), max(1, round(SAMPLE / dt))
        # Beats, ticks and reports have nothing to do with each other, nor with the begin of a load.
        drawn = int(np.random.default_rng([seed, 2]).integers(self._every))
        self._phase = drawn if first is None else round(first / dt)
        self.loads: list[Floats] = []
        self.capacity: list[Floats] = []
        self.inside: list[Floats] = []
        self.said: list[tuple[float, str]] = []

    def go(self, seconds: float, progress: Progress) -> None:
        """Steps, one after the other."""
        cluster, steps = self._cluster, round(seconds / self._cluster.physics.step)
        served = cluster.served.copy()
        for step in range(steps):
            while self._events and self._events[0].at <= cluster.now:
                _happen(cluster, self._events.pop(0))
            if step % self._every == self._phase % self._every:
                self._obey(self._decide(cluster))
            cluster.step()
            if (step + 1) % self._second == 0:
                self.loads.append((cluster.served - served) / SAMPLE)
                self.capacity.append(np.where(_balanced(cluster), cluster.capacity, 0.0))
                self.inside.append(cluster.counters.queue.copy())
                served = cluster.served.copy()
                progress((step + 1) / steps)
                if cluster.crowd.finished():
                    return

    def _obey(self, orders: Orders) -> None:
        cluster = self._cluster
        self.said += [(cluster.now, text) for text in orders.said]
        cluster.order(orders.exports, orders.deciding)
        for pin in orders.pins:
            cluster.pin(pin.directory, pin.rank, pin.why)
        for directory, on in orders.distribute:
            cluster.distribute(directory, on)
        for place in orders.places:
            cluster.place(place.directory, place.target, place.why)
        if orders.trips is not None:
            assert isinstance(cluster, Service)
            cluster.trips = orders.trips
        if orders.to_auth is not None:
            cluster.to_auth = orders.to_auth
        cluster.direct |= orders.direct


def _balanced(cluster: Cluster) -> Bools:
    """(ranks,): those that take part."""
    return cluster.exists & cluster.up & ~cluster.masked


def _happen(cluster: Cluster, event: Event) -> None:
    if event.what == "dies":
        cluster.die(event.rank)
    elif event.what == "is added":
        cluster.add(event.rank)
    elif event.what == "stops":
        cluster.stop(event.rank)
    else:
        cluster.slow(event.rank, event.times)
