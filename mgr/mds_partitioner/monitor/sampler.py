# SPDX-License-Identifier: LGPL-2.1-or-later
"""One sample of one file system, an epoch: the ranks' counters, the engine's judgement, plan and analysis."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

from ..act.run import Run, paused_by_guard, progress
from ..clock import Now
from ..errors import PartitionerError
from ..judge.archive import Found
from ..judge.history import SOON
from ..judge.judgement import Judgement
from ..judge.verdict import Verdict
from ..model import FsState, RankSample
from ..report.partition import run_state
from ..report.scheduler import told
from ..schedule.record import ADVISE, MODES, OFF, Kept, gains, under_way
from ..schedule.shown import blind, doing, even, held, spots, trouble
from ..schedule.watch import Watch
from .state import (
    EXPORTER,
    IMPORTER,
    AnalysisState,
    FsSample,
    HotState,
    PlanState,
    Point,
    RankState,
    SchedulerState,
    Streaks,
    SubvolumeState,
)
from .streaks import continued

DECISIONS = 5  # of the scheduler that are shown
HISTORY = 3600.0  # s, of the status page's chart

# Daemons that lately used the built-in balancer in place of our policy; None: no policy of ours is in force.
FallenBack = Callable[[FsState], Optional[Collection[str]]]
Scheduled = Callable[[FsState], Optional[SchedulerState]]  # None: it was never started


@dataclass(frozen=True)
class Untold:
    """Active ranks of which it is not known what they serve, or whether that is even. Times are the monotonic
    clock's, s."""

    ranks: frozenset[tuple[str, str]] = frozenset()  # file system and daemon; "": of none of them
    since: float = 0.0  # when the last of these came to them

    def after(self, samples: Sequence[FsSample], now: float) -> Untold:
        """As it is after an epoch that began at ``now``."""
        unknown = {(s.fs, rank.daemon) for s in samples for rank in s.ranks if rank.load is None}
        nothing = (s for s in samples if not s.observed or (s.ranks and s.verdict is None))
        ranks = frozenset(unknown | {(s.fs, "") for s in nothing})
        return Untold(ranks, self.since if ranks <= self.ranks else now)

    def again(self, looked: float) -> float:
        """When the newest epoch is looked at again for their sake: a report's time after it was last, then
        twice as long each time, so that a rank that stays silent costs next to nothing.

        :param looked: when it was last
        """
        return looked + max(SOON, looked - self.since) if self.ranks else math.inf


@dataclass
class Past:
    """What the page shows of earlier epochs, one a file system. An epoch counts once, as it was judged last.

    :ivar before, streaks_before: what was counted before the newest epoch
    """

    history: deque[Point] = field(default_factory=deque)
    uneven_epochs: int = 0
    away: int = 0  # epochs in a row without an active rank, or without some
    uneven_at: float | None = None  # when the last uneven epoch was, Unix, s
    before: tuple[int, int, float | None] = (0, 0, None)
    streaks: Streaks = field(default_factory=Streaks)
    streaks_before: Streaks = field(default_factory=Streaks)
    unjudged_since: float | None = None  # steady clock, s

    def begin(self) -> None:
        """An epoch more."""
        self.before = self.uneven_epochs, self.away, self.uneven_at
        self.streaks_before = self.streaks

    def miss(self, epochs: int) -> None:
        """No rank is active, or some are away. One that is replaced is away for some epochs; after ``epochs``
        in a row the file system was taken down, or is smaller for good, and is not uneven any more."""
        self.uneven_epochs, self.away, self.uneven_at = self.before
        self.away += 1
        if self.away >= epochs:
            self.uneven_epochs, self.uneven_at = 0, None

    def judge(self, now: float, verdict: Verdict, epochs: int, *, whole: bool, even: bool) -> None:
        """Remember a verdict. While the factor is not known the chart has a gap.

        :param now: Unix, s
        :param epochs: as for ``miss``
        :param whole: it is of all ranks: what is even without some of them may be uneven
        :param even: each rank has its share, by what it can do itself; the verdict takes all to be alike
        """
        self.uneven_epochs, _, self.uneven_at = self.before
        if self.uneven_at is not None:
            self.uneven_at = min(self.uneven_at, now)  # the clock was put back
        uneven = verdict.uneven and not even
        if uneven or whole:
            self.away = 0
            self.uneven_epochs = self.uneven_epochs + 1 if uneven else 0
        else:
            self.miss(epochs)
        self.uneven_at = now if uneven else self.uneven_at
        while self.history and self.history[-1].time > now:  # the clock was put back
            self.history.pop()
        if verdict.factor is not None:
            self.history.append(Point(now, verdict.factor))
        while self.history and self.history[0].time < now - HISTORY:
            self.history.popleft()

    def count(self, sample: FsSample, now: float) -> None:
        """Remember what was so in the newest epoch, as it was sampled last. now: steady clock, s"""
        self.streaks = continued(self.streaks_before, sample)
        if not sample.unjudged:
            self.unjudged_since = None
        elif self.unjudged_since is None:
            self.unjudged_since = now


def observed(
    fs: FsState, samples: Sequence[RankSample], left: Collection[str] | None, now: float
) -> FsSample:
    """The ranks' own counters, not judged. ``left``: daemons that left our policy; ``now``: Unix, s."""
    return FsSample(fs.name, now, tuple(_rank(s, left) for s in samples), None)


def _rank(sample: RankSample, left: Collection[str] | None) -> RankState:
    daemon = f"mds.{sample.name}"
    return RankState(
        rank=sample.rank,
        daemon=daemon,
        load=sample.requests if sample.rated else None,
        latency=sample.latency if sample.rated else None,
        inodes=sample.inodes if sample.heard else None,
        exported=sample.exported_total if sample.heard else None,
        imported=sample.imported_total if sample.heard else None,
        fell_back=None if left is None else daemon in left,
    )


def judged(sample: FsSample, verdict: Verdict) -> FsSample:
    """The sample with the verdict on it."""
    forecast = dict(zip(verdict.ranks, verdict.forecast))
    ranks = tuple(
        rank
        if rank.load is None
        else replace(
            rank,
            forecast=forecast.get(rank.rank),
            saturated=rank.rank in verdict.saturated,
            hot=None if verdict.factor is None else rank.rank in verdict.hot,
            role=_role(rank.rank, verdict),
        )
        for rank in sample.ranks
    )
    return replace(sample, ranks=ranks, verdict=verdict)


def _role(rank: int, verdict: Verdict) -> str:
    if rank in verdict.exporters:
        return EXPORTER
    return IMPORTER if rank in verdict.importers else ""


def plan_state(run: Run) -> PlanState:
    """A plan as the endpoint shows it."""
    head = run.head
    return PlanState(
        name=run.plan.name,
        state=head.state,
        told=run_state(run),
        why=head.why,
        waiting=paused_by_guard(head),
        progress=progress(run) if head.started is not None else 0.0,
        inodes=run.plan.prediction.inodes_to_move,
        started=head.started,
        finished=head.finished,
    )


def analysis_state(found: Found, top: int) -> AnalysisState:
    """The heaviest subvolumes of an analysis."""
    judgement = found.judgement
    return AnalysisState(
        ended=found.ended,
        recommended=judgement.recommended,
        reason=judgement.recommended_reason,
        total=len(judgement.directories),
        top=_heaviest(judgement, top),
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


def scheduler_state(kept: Kept, watch: Watch, now: Now, stopped: str) -> SchedulerState:
    """The scheduler as the endpoint and the health checks show it.

    :param kept: times by the wall clock
    :param stopped: what is to be done about a plan of its own before it may act
    """
    found = gains(kept.turns, now.wall - HISTORY)
    return SchedulerState(
        mode=kept.mode,
        why=doing(watch),
        problem=trouble(watch),
        even=even(watch, now.steady),
        stopped=stopped,
        under_way=len(under_way(kept)),
        decisions=watch.counted.decisions,
        moves=watch.counted.moves,
        inodes=watch.counted.inodes,
        settled=found.settled,
        predicted=found.predicted,
        real=found.real,
        advised=len(watch.advised) if kept.mode == ADVISE else 0,
        advised_for=_since(watch.advised_since, now) if kept.mode == ADVISE else 0.0,
        stuck=_since(watch.idle_since, now) if kept.mode in MODES else 0.0,
        failing=_since(watch.failing_since, now) if kept.mode != OFF else 0.0,
        unread=watch.unread if kept.mode in MODES else "",
        unread_for=_since(watch.unread_since, now) if kept.mode in MODES else 0.0,
        held=() if kept.mode == OFF else tuple(f"{n}: {why}" for why, n in held(watch).most_common()),
        last=tuple((turn.at, told(turn)) for turn in reversed(kept.turns[-DECISIONS:])),
        hot=None if blind(watch, now.steady) else _hot(watch, now),
    )


def _hot(watch: Watch, now: Now) -> tuple[HotState, ...]:
    return tuple(HotState(piece.path, spot.kind, spot.part) for spot, piece in spots(watch, now.steady))


def _since(began: float | None, now: Now) -> float:
    return 0.0 if began is None else now.steady - began


def failed(fs: FsState, problem: PartitionerError, now: float) -> FsSample:
    """A file system that could not be observed in this epoch. ``now``: Unix, s."""
    return FsSample(fs.name, now, (), None, problem=str(problem))
