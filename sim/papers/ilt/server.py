# SPDX-License-Identifier: LGPL-2.1-or-later
"""A metadata server: one queue, one request at a time, first come first served."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import simpy

from sim.papers.ilt.parameters import Costs, Design

Work = Generator[simpy.Event, Any, None]


class ServiceTimes:
    """Draws what one metadata costs a server, in ms (Table 1)."""

    def __init__(self, costs: Costs, design: Design, rng: Random) -> None:
        self._costs = costs
        self._design = design
        self._rng = rng

    def search(self) -> float:
        """To find it in memory."""
        return self._rng.expovariate(1 / self._costs.search)

    def lookup(self) -> float:
        """To find it, on disk where the cache misses."""
        missed = self._rng.random() >= self._costs.hit_ratio
        return self.search() + (self._costs.disk if missed else 0.0)

    def update(self) -> float:
        """To find it, change it and log the change."""
        return self.lookup() + self._design.commit

    def store(self) -> float:
        """To take in one that comes from another server, and log it."""
        return self.search() + self._design.commit_moved


class Server:
    """`held`: the files whose metadata is stored here."""

    def __init__(self, env: simpy.Environment, speed: float = 1.0) -> None:
        self.held: set[int] = set()
        self._env = env
        self._speed = speed
        self._queue = simpy.Resource(env, capacity=1)
        self._waiting = 0
        self._waited = 0.0
        self._since = 0.0

    def serve(self, ms: float) -> Work:
        """Waits for its turn, then takes `ms` (at speed 1)."""
        with self._queue.request() as turn:
            self._count(1)
            yield turn
            self._count(-1)
            yield self._env.timeout(ms / self._speed)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A request waits here meanwhile, for something else than its turn."""
        self._count(1)
        yield
        self._count(-1)

    def waited(self) -> float:
        """What its requests have waited so far, all together, in ms: the integral of how many wait."""
        return self._waited + self._waiting * (self._env.now - self._since)

    def _count(self, change: int) -> None:
        self._waited = self.waited()
        self._since = self._env.now
        self._waiting += change
