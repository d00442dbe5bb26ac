# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run of a workload under a balancer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mds_partitioner.engine.imbalance import imbalance
from mds_partitioner.engine.urgency import SMOOTHNESS
from sim.course import SAMPLE, Course
from sim.measures import EPOCH
from sim.model.arrays import Floats
from sim.model.cluster import Cluster
from sim.model.physics import Physics
from sim.papers.lunule.setting import Setting
from sim.papers.lunule.workloads import Workload
from sim.policies import make
from sim.policies.base import DEFAULTS, Context
from sim.policies.mantle import Mantle
from sim.scenario import Event

MINUTE: Final = 60.0


@dataclass(frozen=True)
class Run:
    """loads: (seconds, ranks) req/s; ended: (clients or groups,) s when each was through, inf: never; inodes:
    that moved; forwards: part of the requests; capacity: C, req/s."""

    loads: Floats
    ended: Floats
    moves: int
    inodes: float
    forwards: float
    capacity: float

    @property
    def throughput(self) -> Floats:
        """(minutes,) req/s of all ranks; what is left at the end is no minute."""
        whole = self.loads.shape[0] // int(MINUTE)
        return np.asarray(self.loads[: whole * int(MINUTE)].sum(axis=1).reshape(whole, -1).mean(axis=1))

    @property
    def mean(self) -> float:
        """req/s of all ranks over the whole run."""
        return float(self.loads.sum(axis=1).mean())

    @property
    def peak(self) -> float:
        """req/s of the best minute."""
        return float(self.throughput.max())

    @property
    def factors(self) -> Floats:
        """(epochs,): the imbalance factor (equation 3) of all ranks."""
        size = round(EPOCH / SAMPLE)
        whole = self.loads.shape[0] // size
        epochs = self.loads[: whole * size].reshape(whole, size, -1).mean(axis=1)
        return np.array([imbalance(load, self.capacity, SMOOTHNESS).factor for load in epochs])


def play(
    work: Workload,
    policy: str,
    setting: Setting,
    seed: int,
    seconds: float,
    more: int = 0,
    events: Sequence[Event] = (),
    hashed: bool = False,
) -> Run:
    """All is on the first rank; or each directory is pinned to a rank by its hash.

    :param seconds: at most; a run ends when all clients that have an end came to it
    :param more: ranks that events add
    """
    cluster = _cluster(work, setting, seed, more)
    if hashed:
        _hash(cluster)
    settings = replace(DEFAULTS, rank_capacity=work.capacity)
    chosen = make(policy, Context(clients=(), seed=seed, mask=None, settings=settings))
    try:
        course = Course(cluster, chosen.decide, chosen.every, tuple(events), seed)
        course.go(seconds, lambda part: None)
    finally:
        if isinstance(chosen, Mantle):
            chosen.close()
    counters = cluster.counters
    return Run(
        loads=np.array(course.loads),
        ended=cluster.crowd.ended,
        moves=len(cluster.moves),
        inodes=sum(move.inodes for move in cluster.moves),
        forwards=float(counters.passed.sum() / counters.received.sum()),
        capacity=work.capacity,
    )


def _cluster(work: Workload, setting: Setting, seed: int, more: int) -> Cluster:
    ranks = setting.ranks + more
    physics = Physics(
        step=setting.step,
        export_delay=setting.export_delay,
        export_size=setting.export_inodes,
        import_work=setting.import_work,
        forwards=setting.forwards,
    )
    crowd = work.crowd(seed)
    # They have no cache (README of the authors' repository): each time they learn anew who has a directory.
    crowd.remembers[:] = False
    auth = np.zeros(work.tree.size, dtype=np.int64)
    capacity = np.full(ranks, work.capacity)
    return Cluster(work.tree, auth, capacity, np.arange(ranks) < setting.ranks, crowd, physics)


def _hash(cluster: Cluster) -> None:
    """Dir-Hash (4.6): pins of all directories that have files, in place."""
    for subvolume in range(cluster.tree.roots.size):
        for directory in cluster.tree.leaves(subvolume).tolist():
            # Inode numbers of the model are in order; what is even about them must not decide.
            rank = int(np.random.default_rng(directory).integers(cluster.exists.sum()))
            cluster.names.set_pin(directory, rank)
            cluster.names.move(directory, rank, 0.0, "hash")
