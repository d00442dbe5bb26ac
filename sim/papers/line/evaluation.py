# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's evaluation (slides "Evaluation Environment" to "Results 3/3"): 42 clients, 8 ranks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sim.course import Course, build
from sim.load.clients import Clients
from sim.model.arrays import Floats
from sim.model.cluster import Cluster
from sim.model.namespace import Move
from sim.papers.line.cache import Cache
from sim.papers.line.static_policy import pins
from sim.policies import make
from sim.policies.base import DEFAULTS, NOTHING, Context, Orders
from sim.scenario import Assertions, Ranks, Scenario, Subvolumes

LIGHT, MODERATE, HEAVY = 20, 20, 2  # subvolumes, and clients: each has its own
FILES: Final = (
    50_000  # in each directory: 50K, 500K, 5,000K files in 1, 10, 100 directories (VDBench configs)
)
RANKS: Final = 8
PINNED: Final = (0, 1, 2, 3)  # for light and moderate subvolumes
MASKED: Final = (4, 5, 6, 7)  # bal_rank_mask 0xf0
CACHE: Final = 12 * 2**30 / DEFAULTS.bytes_per_inode  # inodes: mds_cache_memory_limit is 12 GB
CAPACITY: Final = 4_000.0  # req/s of a rank; assumed
THINK: Final = 0.005  # s between an answer and the next request: the file's data; assumed

PHASE: Final = 600.0  # s
SECOND: Final = 1.0


def scenario(seconds: float) -> Scenario:
    """The tree and the clients. Everything is on rank 0 at first."""
    return Scenario(
        about="LINE's evaluation",
        policy="builtin",
        fails_with=("nothing",),
        seconds=seconds,
        ranks=Ranks(count=RANKS, capacity=CAPACITY),
        subvolumes=(
            Subvolumes("light", LIGHT, (1,), FILES),
            Subvolumes("moderate", MODERATE, (10,), FILES),
            Subvolumes("heavy", HEAVY, (100,), FILES),
        ),
        clients=tuple(_clients()),
        must=Assertions(),
        name="line",
    )


def _clients() -> list[Clients]:
    """VDBench: two operations at once in two light, two moderate and one heavy client, four in the others."""
    found = []
    for name, first, readers, clients, threads in (
        ("light", 0, 2, LIGHT, 1),
        ("moderate", LIGHT, 2, MODERATE, 1),
        ("heavy", LIGHT + MODERATE, 1, HEAVY, 16),
    ):
        for kind, on, operations in (
            ("readers", (first, first + readers), 2),
            ("writers", (first + readers, first + clients), 4),
        ):
            count = on[1] - on[0]
            found.append(
                Clients(
                    f"{name} {kind}", on, apart=True, count=count, threads=threads * operations, think=THINK
                )
            )
    return found


def threads() -> int:
    """Of all clients."""
    return sum(kind.count * kind.threads for kind in _clients())


@dataclass(frozen=True)
class Phase:
    """What was seen in one. Times in s.

    :ivar began: since the run began
    :ivar loads: (seconds, ranks) requests answered, req/s
    :ivar cached: (seconds, ranks) inodes
    :ivar fetched: (seconds, ranks) inodes read from disk, 1/s
    """

    name: str
    began: float
    loads: Floats
    cached: Floats
    fetched: Floats
    moves: tuple[Move, ...]


Decide = Callable[[Cluster], Orders]


def phases(seed: int) -> list[Phase]:
    """LINE's sequence: the balancer by default; what is not heavy pinned; the balancer in the mask."""
    run = Run(scenario(3 * PHASE), seed)
    found = [run.go("balancer default", run.policy("builtin"))]
    pin(run.cluster, PINNED)
    found.append(run.go("static partitioning", None))
    run.cluster.masked[list(PINNED)] = True
    found.append(run.go("bal_rank_mask 0xf0", run.policy("builtin")))
    return found


def alone(policy: str, seed: int) -> list[Phase]:
    """One policy for as long, in phases of the same length."""
    run = Run(scenario(3 * PHASE), seed)
    decide = run.policy(policy)
    return [run.go(f"{policy}, {k}", decide) for k in ("first", "second", "third")]


class Run:
    """A cluster with a cache limit, and what happens to it second by second."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario, self._seed = scenario, seed
        self.cluster = build(self._scenario, seed)
        self._cache = Cache(CACHE)

    def policy(self, name: str) -> tuple[Decide, float]:
        """What it decides, and how often."""
        context = Context(
            clients=self._scenario.clients,
            seed=self._seed,
            mask=None,
            settings=self._scenario.settings,
        )
        policy = make(name, context)
        return policy.decide, policy.every

    def go(self, name: str, policy: tuple[Decide, float] | None, seconds: float = PHASE) -> Phase:
        """One phase."""
        cluster, watch = self.cluster, Watch(self.cluster, self._cache, policy)
        before, began = len(cluster.moves), cluster.now
        course = Course(cluster, watch.decide, SECOND, (), self._seed)
        course.go(seconds, lambda part: None)
        return Phase(
            name,
            began,
            np.array(course.loads),
            np.array(watch.cached),
            np.array(watch.fetched),
            tuple(cluster.moves[before:]),
        )


class Watch:
    """Each second the caches are kept within their limit; the policy is asked when it is due."""

    def __init__(self, cluster: Cluster, cache: Cache, policy: tuple[Decide, float] | None) -> None:
        self._cache, self._policy = cache, policy
        self._began = cluster.now
        self.cached: list[Floats] = []
        self.fetched: list[Floats] = []

    def decide(self, cluster: Cluster) -> Orders:
        """Once a second."""
        state = self._cache.pressed(cluster.names, cluster.ranks)
        self.cached.append(state.cached)
        self.fetched.append(state.fetched)
        if self._policy is None:
            return NOTHING
        decide, every = self._policy
        return decide(cluster) if round(cluster.now - self._began) % round(every) == 0 else NOTHING


def pin(cluster: Cluster, ranks: Sequence[int]) -> None:
    """Pins what is not heavy by LINE's workload points, the largest first to the emptiest rank."""
    for pinned in pins(cluster, np.arange(LIGHT + MODERATE), ranks):
        cluster.pin(pinned.directory, pinned.rank, pinned.why)
