# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is known at the end of an epoch. Frozen: readers share it without a lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..judge.verdict import Verdict

LATE = 300.0  # s that an epoch may be overdue: an engine that fails is waited for, for each file system
EXPORTER, IMPORTER = "exporter", "importer"  # roles of Lunule's Algorithm 1


@dataclass(frozen=True)
class RankState:
    """One rank in the last epoch."""

    rank: int
    daemon: str  # "mds.NAME", the ceph_daemon label of ceph_mds_metadata
    load: float | None  # req/s; None, here and below: not known
    latency: float | None  # s
    inodes: int | None
    exported: int | None  # inodes since the MDS started
    imported: int | None  # likewise
    fell_back: bool | None  # lately used the built-in balancer for our policy; None: no policy of ours
    forecast: float | None = None  # req/s in the next epoch
    saturated: bool | None = None
    hot: bool | None = None  # has to give whatever the factor is
    role: str | None = None  # EXPORTER, IMPORTER or "": neither


@dataclass(frozen=True)
class SubvolumeState:
    """One subvolume (or named directory) of the newest analysis."""

    name: str
    klass: str
    workload: float  # LINE's points
    requests: float  # req/s
    wss: float  # inodes
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class AnalysisState:
    """The newest analysis that came to a judgement."""

    ended: float  # seconds since the Unix epoch
    recommended: int | None  # None: the capacity of a rank is unknown
    reason: str
    total: int  # subvolumes in all
    top: tuple[SubvolumeState, ...]


@dataclass(frozen=True)
class PlanState:
    """The plan that is executed, else the last made or run; see ``watched``. Times: Unix, s."""

    name: str
    state: str
    told: str  # the state, and how many steps were skipped or kept
    why: str
    waiting: bool  # paused by a guard, not by the operator
    progress: float  # 0 to 1
    inodes: float  # the planner's estimate of what is to move
    started: float | None
    finished: float | None


@dataclass(frozen=True)
class HotState:
    """A directory that is hot, or is from time to time. share: of all requests."""

    path: str
    kind: str
    share: float


@dataclass(frozen=True)
class SchedulerState:
    """The scheduler of a file system, when it was ever started."""

    mode: str  # off, advise, act or rolling-back
    why: str  # what it does now, and why
    problem: str  # what fails; "": nothing does
    even: bool  # it acts, and each rank has its share, by what that can do itself
    stopped: str  # what is to be done about a plan of its own before it may act; "": nothing
    under_way: int  # moves
    decisions: int  # in all; so are moves and inodes
    moves: int
    inodes: float
    settled: int  # decisions of the last hour of which is known what they brought
    predicted: float  # req/s that these were to take from the fullest rank
    real: float  # req/s that they took
    advised: int  # moves that it would make
    advised_for: float  # s on end, in which it neither waited nor failed
    stuck: float  # s since when it is uneven and there is nothing that it could do; 0: it is not so
    failing: float  # s since when each of its looks fails, as ``problem`` says; 0: they do not, or it is off
    unread: str  # why directories could not be read last; "": they could, or need not be
    unread_for: float  # s since when they cannot
    held: tuple[str, ...]  # what it must leave alone, most first: "12: pinned-by-operator"
    last: tuple[tuple[float, str], ...] = ()  # decisions, the newest first, and when: Unix, s
    hot: tuple[HotState, ...] | None = ()  # the hottest first; None: it does not look


@dataclass(frozen=True)
class Point:
    """One epoch of the page's chart."""

    time: float  # seconds since the Unix epoch
    factor: float


@dataclass(frozen=True)
class Streaks:
    """How many epochs in a row, up to now, something was so.

    :ivar unjudged: the file system was not judged, as FsSample has it
    :ivar overloaded: all its ranks together had too much
    :ivar full: by daemon, a rank served nearly all that one can, or was saturated
    """

    unjudged: int = 0
    overloaded: int = 0
    full: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FsSample:
    """One file system at the end of an epoch."""

    fs: str
    time: float  # seconds since the Unix epoch
    ranks: tuple[RankState, ...]
    verdict: Verdict | None  # None: not judged
    uneven_epochs: int = 0  # how many epochs in a row, up to now, were uneven
    plan: PlanState | None = None  # this, analysis, analyzing and scheduler: as they are by now
    analysis: AnalysisState | None = None
    history: tuple[Point, ...] = ()
    problem: str = ""
    scheduler: SchedulerState | None = None
    uneven_at: float | None = None  # when it was uneven last, seconds since the Unix epoch
    analyzing: float | None = None  # how far an analysis is, 0 to 1; None: none runs
    engine_problem: str = ""  # why the engine gave no judgement of it in this epoch
    streaks: Streaks = field(default_factory=Streaks)
    unjudged_since: float | None = None  # steady clock, s; None: it is judged, or need not be

    @property
    def observed(self) -> bool:
        """Is it known which ranks there are? Without a problem none may be."""
        return bool(self.ranks) or not self.problem

    @property
    def unjudged(self) -> bool:
        """Was it not judged, for whatever reason, though a rank is active, or may be?"""
        return self.verdict is None and bool(self.ranks or not self.observed)

    @property
    def load(self) -> float:
        """req/s of all ranks of which that is known."""
        return sum(r.load or 0.0 for r in self.ranks)


@dataclass(frozen=True)
class Timing:
    """How often something was done, and how long that took in all, s."""

    count: int = 0
    seconds: float = 0.0

    def plus(self, seconds: float) -> Timing:
        """One more."""
        return Timing(self.count + 1, self.seconds + seconds)


@dataclass(frozen=True)
class Snapshot:
    """Everything the endpoint shows."""

    time: float = 0.0  # end of the epoch, seconds since the Unix epoch; 0: none has ended yet
    epoch: float = 0.0  # s between two of these
    filesystems: tuple[FsSample, ...] = ()
    epochs: Timing = Timing()
    judgements: Timing = Timing()
    errors: Mapping[str, int] = field(default_factory=dict)  # by stage
    engine_failures: int = 0  # epochs in a row, up to this one, in which the engine gave no judgement

    @property
    def failed_by_engine(self) -> tuple[FsSample, ...]:
        """File systems of which the engine gave no judgement in this epoch."""
        return tuple(sample for sample in self.filesystems if sample.engine_problem)

    @property
    def engine_problem(self) -> str:
        """Why the engine gave no judgement in this epoch; "": it gave one, of whatever, or was not asked."""
        judged = any(sample.verdict is not None for sample in self.filesystems)
        return "" if judged else next((sample.engine_problem for sample in self.failed_by_engine), "")
