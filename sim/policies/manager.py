# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the manager's module knows of the ranks: late reports, its own history, its engine's verdict."""

from typing import Any

import numpy as np

from mds_partitioner.engine.calls import CALLS
from mds_partitioner.judge.history import EPOCHS, History
from mds_partitioner.judge.learned import Learned, learn
from mds_partitioner.judge.verdict import Verdict, rank_arguments, read_verdict
from mds_partitioner.model import FsState, MdsInfo, RankSample
from mds_partitioner.observe.ranks import served
from mds_partitioner.options import Settings
from mds_partitioner.plan.ranks import EVERY_RANK, ranks_mask
from sim.model.cluster import Cluster
from sim.model.counters import Totals

FS, FSCID = "cephfs", 1


def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The shipped engine, in this process."""
    return CALLS[name](arguments)


def fs_state(cluster: Cluster, mask: tuple[int, ...] | None) -> FsState:
    """What the FSMap would say. A rank without an MDS has failed."""
    ranks = [int(r) for r in np.flatnonzero(cluster.exists)]
    return FsState(
        name=FS,
        fscid=FSCID,
        max_mds=len(ranks),
        ranks_in=tuple(ranks),
        mds=tuple(MdsInfo(r, f"mds{r}", "up:active") for r in ranks if cluster.up[r]),
        failed=tuple(r for r in ranks if not cluster.up[r]),
        damaged=(),
        balance_automate=False,
        balancer="",
        bal_rank_mask=EVERY_RANK if mask is None else ranks_mask(mask),
    )


class Manager:
    """Samples once an epoch. history: as the module has it; learned: the capacity that full ranks taught."""

    def __init__(self, settings: Settings, mask: tuple[int, ...] | None) -> None:
        self._settings, self._mask = settings, mask
        self.history = History()
        self._learned: Learned | None = None

    @property
    def learned(self) -> float | None:
        """req/s; None: no rank was seen full yet."""
        return None if self._learned is None else self._learned.value

    def sample(self, cluster: Cluster) -> None:
        """One epoch more."""
        self.history = self.history.plus(samples(cluster, self._settings.epoch), cluster.now)

    def judge(self, cluster: Cluster) -> Verdict:
        """The engine's verdict on what was sampled; the capacity is learned from it."""
        mask = None if self._mask is None else [r for r in self._mask if cluster.exists[r]]
        window = float(EPOCHS * self._settings.epoch)
        least = None if self._learned is None else self._learned.least(cluster.now, window)
        arguments = rank_arguments(self.history.series(), self._settings, self.learned, mask)
        arguments |= {"least_capacity": least}
        verdict = read_verdict(engine("judge", arguments), arguments)
        if verdict.taught is not None:
            self._learned = learn(self._learned, verdict.taught, cluster.now, window)
        return verdict


def samples(cluster: Cluster, window: float) -> tuple[RankSample, ...]:
    """Of the last reports: each active rank over the last ``window`` s that they cover."""
    new = cluster.counters.reports[-1]
    old = next(
        (r for r in reversed(cluster.counters.reports) if r.time <= new.time - window),
        cluster.counters.reports[0],
    )
    return tuple(
        _sample(cluster, int(rank), old, new) for rank in np.flatnonzero(cluster.exists & cluster.up)
    )


def _sample(cluster: Cluster, rank: int, old: Totals, new: Totals) -> RankSample:
    span = max(new.time - old.time, 1e-9)

    def rate(then: float, now: float) -> float:
        return float(now - then) / span

    forwards = rate(old.passed[rank], new.passed[rank])
    requests = served(rate(old.received[rank], new.received[rank]), forwards)
    latency = rate(old.latency[rank], new.latency[rank]) / requests if requests > 0.0 else 0.0
    names = cluster.names
    own = names.auth == rank
    inodes = int(names.inodes[own].sum())
    return RankSample(
        rank=rank,
        name=f"mds{rank}",
        requests=requests,
        latency=latency,
        inodes=inodes,
        caps=inodes,
        sessions=int(cluster.crowd.clients.sum()),
        exported=rate(old.exported[rank], new.exported[rank]),
        imported=rate(old.imported[rank], new.imported[rank]),
        subtrees=int((names.bounds & own).sum()),
        exported_total=int(new.exported[rank]),
        imported_total=int(new.imported[rank]),
        quickest=latency,
        forwards=forwards,
        reported=new.time + 1.0,
    )
