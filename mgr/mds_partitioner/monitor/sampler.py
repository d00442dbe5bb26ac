# SPDX-License-Identifier: LGPL-2.1-or-later
"""One sample of one file system, an epoch: the ranks' counters, the engine's judgement, plan and analysis."""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..act.run import Run, paused_by_guard, progress
from ..errors import PartitionerError
from ..host import Host
from ..judge.analysis import Analysis
from ..judge.judgement import Engine, Judgement, rank_arguments
from ..model import FsState, RankSample
from ..observe.ranks import reported_ranks
from ..options import Settings
from .state import (
    EXPORTER,
    IMPORTER,
    AnalysisState,
    FsSample,
    Judged,
    Move,
    PlanState,
    Point,
    RankState,
    SubvolumeState,
)

FORECAST_EPOCHS = 12  # how far back the forecast and the search for saturated ranks look
HISTORY = 3600.0  # s, of the status page's chart

# Daemons that lately used the built-in balancer in place of our policy; None: no policy of ours is in force.
FallenBack = Callable[[FsState], Collection[str] | None]


def no_policy(fs: FsState) -> None:
    """There is nothing to fall back from."""


@dataclass
class Memory:
    """What must outlive an epoch, one a file system."""

    series: deque[tuple[RankSample, ...]] = field(default_factory=lambda: deque(maxlen=FORECAST_EPOCHS))
    history: deque[Point] = field(default_factory=deque)
    uneven_epochs: int = 0

    def add(self, samples: tuple[RankSample, ...]) -> None:
        """Remember an epoch; begin anew when other daemons hold the ranks."""
        if self.series and [s.name for s in self.series[-1]] != [s.name for s in samples]:
            self.series.clear()
        self.series.append(samples)

    def by_rank(self) -> dict[int, tuple[RankSample, ...]]:
        """A row a rank, oldest first."""
        return {row[-1].rank: row for row in zip(*self.series, strict=True)}

    def judge(self, now: float, factor: float, threshold: float) -> None:
        """Remember a judgement."""
        self.uneven_epochs = self.uneven_epochs + 1 if factor > threshold else 0
        self.history.append(Point(now, factor))
        while self.history[0].time < now - HISTORY:
            self.history.popleft()


def observe(host: Host, fs: FsState, settings: Settings, memory: Memory, fallen_back: FallenBack) -> FsSample:
    """The ranks' own counters. :raises PartitionerError: the managers cannot be asked."""
    samples = reported_ranks(host, fs, settings.epoch)
    memory.add(samples)
    left = fallen_back(fs)
    ranks = tuple(_rank(s, left) for s in samples)
    return FsSample(fs.name, time.time(), ranks, None)


def _rank(sample: RankSample, left: Collection[str] | None) -> RankState:
    daemon = f"mds.{sample.name}"
    return RankState(
        rank=sample.rank,
        daemon=daemon,
        load=sample.requests,
        latency=sample.latency,
        inodes=sample.inodes,
        exported=sample.exported_total,
        imported=sample.imported_total,
        fell_back=None if left is None else daemon in left,
    )


def judge(
    sample: FsSample,
    memory: Memory,
    settings: Settings,
    learned: float | None,
    mask: Sequence[int] | None,
    engine: Engine,
) -> FsSample:
    """The sample with the engine's judgement. :raises PartitionerError: the engine failed."""
    if not sample.ranks:
        return sample
    answer = engine("judge", rank_arguments(memory.by_rank(), settings, learned, mask))
    memory.judge(sample.time, float(answer["imbalance_factor"]), settings.imbalance_threshold)
    ranks = tuple(
        replace(
            rank,
            forecast=float(forecast),
            saturated=rank.rank in answer["saturated"],
            role=_role(rank.rank, answer),
        )
        for rank, forecast in zip(sample.ranks, answer["forecast"], strict=True)
    )
    return replace(
        sample, ranks=ranks, judged=_judged(answer, [r.rank for r in ranks], settings, memory.uneven_epochs)
    )


def _role(rank: int, answer: Mapping[str, Any]) -> str:
    if rank in answer["exporters"]:
        return EXPORTER
    return IMPORTER if rank in answer["importers"] else ""


def _judged(answer: Mapping[str, Any], ranks: Sequence[int], settings: Settings, uneven: int) -> Judged:
    return Judged(
        factor=float(answer["imbalance_factor"]),
        threshold=settings.imbalance_threshold,
        urgency=float(answer["urgency"]),
        variation=float(answer["cov"]),
        capacity=float(answer["capacity"]["value"]),
        capacity_source=str(answer["capacity"]["source"]),
        moves=tuple(
            Move(ranks[i], ranks[j], float(amount))
            for i, row in enumerate(answer["matrix"])
            for j, amount in enumerate(row)
            if amount > 0
        ),
        uneven_epochs=uneven,
    )


def plan_state(run: Run) -> PlanState:
    """A plan as the endpoint shows it."""
    head = run.head
    return PlanState(
        name=run.plan.name,
        state=head.state,
        why=head.why,
        waiting=paused_by_guard(head),
        progress=progress(run) if head.started is not None else 0.0,
        inodes=run.plan.prediction.inodes_to_move,
        started=head.started,
        finished=head.finished,
    )


def analysis_state(analysis: Analysis, top: int) -> AnalysisState | None:
    """The heaviest subvolumes of an analysis; None while it has no judgement."""
    found = analysis.judgement
    if found is None:
        return None
    return AnalysisState(
        ended=analysis.started + analysis.duration,
        recommended=found.recommended,
        reason=found.recommended_reason,
        total=len(found.directories),
        top=_heaviest(found, top),
    )


def _heaviest(found: Judgement, top: int) -> tuple[SubvolumeState, ...]:
    rows = sorted(found.directories, key=lambda d: (-d.workload, d.seen.directory.path))[:top]
    return tuple(
        SubvolumeState(
            name=row.seen.directory.name,
            klass=row.klass,
            workload=row.workload,
            requests=row.seen.requests,
            wss=row.seen.wss,
            ranks=row.seen.ranks,
        )
        for row in rows
    )


def failed(fs: FsState, problem: PartitionerError) -> FsSample:
    """A file system that could not be observed in this epoch."""
    return FsSample(fs.name, time.time(), (), None, problem=str(problem))
