# SPDX-License-Identifier: LGPL-2.1-or-later
"""The snapshot as Prometheus metrics.

``ceph_daemon`` is the label of ``ceph_mds_metadata``, so that rank metrics join with it. Every family is
listed even when it has no sample, so that a scrape documents what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from ..act.run import DONE, PAUSED, READY, ROLLED_BACK, ROLLING_BACK, RUNNING, STOPPED
from ..judge.verdict import Verdict
from ..report.text import printable
from ..schedule.hotspots import KINDS
from ..schedule.record import ACT, ADVISE, OFF, UNDOING
from .state import (
    EXPORTER,
    IMPORTER,
    AnalysisState,
    FsSample,
    PlanState,
    RankState,
    SchedulerState,
    Snapshot,
    Streaks,
    SubvolumeState,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "ceph_mds_partitioner"
FS = ("fs",)
RANK = ("fs", "rank", "ceph_daemon")
SUBVOLUME = ("fs", "subvolume")
PLAN = ("fs", "plan")
PLAN_STATES = (READY, RUNNING, PAUSED, STOPPED, DONE, ROLLING_BACK, ROLLED_BACK)
SCHEDULER_MODES = (OFF, ADVISE, ACT, UNDOING)
REQUESTS = "requests a second"


def label(text: str) -> str:
    """A name as a label value: valid UTF-8 on one line, and still different for different names."""
    return printable(text.replace("\\", "\\\\"))


def _gauge(name: str, help_: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", help_, labels=labels)


def _counter(name: str, help_: str, labels: Sequence[str]) -> CounterMetricFamily:
    return CounterMetricFamily(f"{PREFIX}_{name}", help_, labels=labels)


# What is not known has no sample: a rule that compares it must not take 0 for an answer.
VERDICTS: tuple[tuple[str, str, Callable[[Verdict], float | None]], ...] = (
    (
        "imbalance_factor_ratio",
        "Imbalance factor (Lunule): 0 is even or idle, 1 worst; none while the capacity is not known",
        lambda v: v.factor,
    ),
    ("imbalance_most_ratio", "What the imbalance factor is at full urgency", lambda v: v.most),
    ("imbalance_threshold_ratio", "Imbalance factor above which to act", lambda v: v.threshold),
    (
        "urgency_ratio",
        "Urgency: how much an imbalance hurts, 0 to 1; none while the capacity is not known",
        lambda v: v.urgency,
    ),
    ("load_variation_ratio", "Coefficient of variation of the ranks' loads", lambda v: v.cov),
    (
        "rank_capacity_requests_per_second",
        f"Most {REQUESTS} that one rank can serve, as configured or learned; none while it is not known",
        lambda v: v.capacity.value,
    ),
    (
        "rank_capacity_known",
        "1 if the capacity of a rank is known; without it there is no imbalance factor, and no alert on it",
        lambda v: float(v.capacity.value is not None),
    ),
)
RANKS: tuple[tuple[str, str, Callable[[RankState], float | None]], ...] = (
    ("rank_load_requests_per_second", f"Client {REQUESTS} that the rank served", lambda r: r.load),
    (
        "rank_forecast_requests_per_second",
        f"Client {REQUESTS} expected in the next epoch",
        lambda r: r.forecast,
    ),
    ("rank_latency_seconds", "Mean reply latency in the last epoch", lambda r: r.latency),
    ("rank_cache_inodes", "Inodes in the rank's cache", lambda r: r.inodes),
    (
        "policy_fallback",
        "1 if the rank used the built-in balancer in place of the module's policy in the last epochs",
        lambda r: None if r.fell_back is None else float(r.fell_back),
    ),
    (
        "rank_saturated",
        "1 if the rank has more to do than it can",
        lambda r: None if r.saturated is None else float(r.saturated),
    ),
    (
        "rank_hot",
        "1 if the rank of a large cluster has too much whatever the imbalance factor is",
        lambda r: None if r.hot is None else float(r.hot),
    ),
)
RANK_TOTALS: tuple[tuple[str, str, Callable[[RankState], float | None]], ...] = (
    ("rank_exported_inodes", "Inodes whose authority the rank gave away", lambda r: r.exported),
    ("rank_imported_inodes", "Inodes whose authority the rank took over", lambda r: r.imported),
)
ANALYSIS: tuple[tuple[str, str, Callable[[AnalysisState], float | None]], ...] = (
    ("analysis_end_timestamp_seconds", "End of the newest analysis", lambda a: a.ended),
    ("analysis_subvolumes", "Subvolumes in the newest analysis", lambda a: a.total),
    ("recommended_ranks", "Active ranks that the newest analysis recommends", lambda a: a.recommended),
)
SUBVOLUMES: tuple[tuple[str, str, Callable[[SubvolumeState], float]], ...] = (
    (
        "subvolume_workload_points",
        "Workload of the heaviest subvolumes; all together have 500 points",
        lambda s: s.workload,
    ),
    (
        "subvolume_requests_per_second",
        f"Client {REQUESTS} of the heaviest subvolumes in the newest analysis",
        lambda s: s.requests,
    ),
    (
        "subvolume_working_set_inodes",
        "Working set of the heaviest subvolumes in the newest analysis",
        lambda s: s.wss,
    ),
)
PLANS: tuple[tuple[str, str, Callable[[PlanState], float | None]], ...] = (
    ("plan_progress_ratio", "Part of the plan's steps that have ended", lambda p: p.progress),
    ("plan_waiting", "1 if the plan waits for the file system to recover", lambda p: float(p.waiting)),
    ("plan_inodes", "Inodes that the plan is expected to move", lambda p: p.inodes),
    ("plan_start_timestamp_seconds", "When the plan was last started", lambda p: p.started),
    ("plan_end_timestamp_seconds", "When the plan came to an end", lambda p: p.finished),
)
SCHEDULER: tuple[tuple[str, str, Callable[[SchedulerState], float]], ...] = (
    ("scheduler_moves_under_way", "Moves of the scheduler that have not arrived", lambda s: s.under_way),
    ("scheduler_moves_advised", "Moves that the scheduler advises, and does not make", lambda s: s.advised),
    (
        "scheduler_predicted_gain_requests_per_second",
        f"{REQUESTS.capitalize()} that the scheduler's decisions of the last hour were to take from the "
        "fullest rank",
        lambda s: s.predicted,
    ),
    (
        "scheduler_real_gain_requests_per_second",
        f"{REQUESTS.capitalize()} that these decisions took from the rank that was the fullest",
        lambda s: s.real,
    ),
    (
        "scheduler_stuck_seconds",
        "How long it has been uneven without anything that the scheduler could move",
        lambda s: s.stuck,
    ),
)
SCHEDULER_TOTALS: tuple[tuple[str, str, Callable[[SchedulerState], float]], ...] = (
    ("scheduler_decisions", "Decisions of the scheduler that became plans", lambda s: s.decisions),
    (
        "scheduler_moves",
        "Directories that the scheduler moved, when they are on the other rank",
        lambda s: s.moves,
    ),
    ("scheduler_inodes", "Inodes that these moves were expected to take along", lambda s: s.inodes),
)


# Where epochs are about as long as alerts wait, these tell one from two.
STREAKS: tuple[tuple[str, str, Callable[[Streaks], int]], ...] = (
    (
        "unjudged_epochs",
        "Epochs in a row, up to now, in which the file system was not judged though a rank was active",
        lambda s: s.unjudged,
    ),
    (
        "overloaded_epochs",
        "Epochs in a row, up to now, in which all ranks together had too much",
        lambda s: s.overloaded,
    ),
)


def _of_filesystems(snapshot: Snapshot) -> Iterator[Metric]:
    samples = snapshot.filesystems
    active = _gauge("active_ranks", "Active ranks of the file system", FS)
    for s in (s for s in samples if s.observed):
        active.add_metric([label(s.fs)], len(s.ranks))
    yield active
    for name, help_, value in VERDICTS:
        family = _gauge(name, help_, FS)
        for s in samples:
            number = None if s.verdict is None else value(s.verdict)
            if number is not None:
                family.add_metric([label(s.fs)], number)
        yield family
    uneven = _gauge(
        "imbalanced_epochs",
        "Epochs in a row that were uneven, up to now; not those in which the scheduler acts and finds each "
        "rank with its share of what that rank can serve",
        FS,
    )
    for s in samples:
        if s.verdict is not None:
            uneven.add_metric([label(s.fs)], s.uneven_epochs)
    yield uneven
    for name, help_, of in ANALYSIS:
        family = _gauge(name, help_, FS)
        for s in samples:
            number = None if s.analysis is None else of(s.analysis)
            if number is not None:
                family.add_metric([label(s.fs)], number)
        yield family


def _rank_labels(sample: FsSample, rank: RankState) -> list[str]:
    return [label(sample.fs), str(rank.rank), label(rank.daemon)]


def _of_ranks(snapshot: Snapshot) -> Iterator[Metric]:
    for make, table in ((_gauge, RANKS), (_counter, RANK_TOTALS)):
        for name, help_, value in table:
            family = make(name, help_, RANK)
            for s in snapshot.filesystems:
                for rank in s.ranks:
                    number = value(rank)
                    if number is not None:
                        family.add_metric(_rank_labels(s, rank), number)
            yield family
    role = _gauge("rank_role", "1 for the role that Algorithm 1 gives the rank", (*RANK, "role"))
    for s in snapshot.filesystems:
        for rank in (r for r in s.ranks if r.role is not None):
            for name in (EXPORTER, IMPORTER):
                role.add_metric([*_rank_labels(s, rank), name], float(rank.role == name))
    yield role


def _of_streaks(snapshot: Snapshot) -> Iterator[Metric]:
    for name, help_, count in STREAKS:
        family = _gauge(name, help_, FS)
        for s in snapshot.filesystems:
            family.add_metric([label(s.fs)], count(s.streaks))
        yield family
    full = _gauge(
        "rank_full_epochs",
        "Epochs in a row, up to now, in which the rank served nearly all that one can, or was saturated",
        RANK,
    )
    for s in snapshot.filesystems:
        for rank in (r for r in s.ranks if r.load is not None):
            full.add_metric(_rank_labels(s, rank), s.streaks.full.get(rank.daemon, 0))
    yield full


def _of_moves(snapshot: Snapshot) -> Iterator[Metric]:
    moves = _gauge(
        "move_requests_per_second",
        f"{REQUESTS.capitalize()} that Algorithm 1 would move between two ranks",
        ("fs", "source_rank", "target_rank"),
    )
    exports = _gauge(
        "rank_export_requests_per_second", f"{REQUESTS.capitalize()} that the rank should give away", RANK
    )
    imports = _gauge(
        "rank_import_requests_per_second", f"{REQUESTS.capitalize()} that the rank should take over", RANK
    )
    for s in snapshot.filesystems:
        if s.verdict is None:
            continue
        for move in s.verdict.moves:
            moves.add_metric([label(s.fs), str(move.source), str(move.target)], move.amount)
        for rank in s.ranks:
            out = sum(m.amount for m in s.verdict.moves if m.source == rank.rank)
            in_ = sum(m.amount for m in s.verdict.moves if m.target == rank.rank)
            exports.add_metric(_rank_labels(s, rank), out)
            imports.add_metric(_rank_labels(s, rank), in_)
    yield from (moves, exports, imports)


def _of_subvolumes(snapshot: Snapshot) -> Iterator[Metric]:
    for name, help_, value in SUBVOLUMES:
        family = _gauge(name, help_, SUBVOLUME)
        for s in snapshot.filesystems:
            for row in s.analysis.top if s.analysis else ():
                family.add_metric([label(s.fs), label(row.name)], value(row))
        yield family


def _of_plans(snapshot: Snapshot) -> Iterator[Metric]:
    plans = [(label(s.fs), s.plan) for s in snapshot.filesystems if s.plan is not None]
    for name, help_, value in PLANS:
        family = _gauge(name, help_, PLAN)
        for fs, plan in plans:
            number = value(plan)
            if number is not None:
                family.add_metric([fs, label(plan.name)], number)
        yield family
    state = _gauge(
        "plan_state",
        "1 for the state of an operator's plan: the one under way, else the last made or run; or of one that "
        "the scheduler undoes, or that waits for the file system, while no operator's is under way",
        (*PLAN, "state"),
    )
    for fs, plan in plans:
        for name in PLAN_STATES:
            state.add_metric([fs, label(plan.name), name], float(plan.state == name))
    yield state


def _of_schedulers(snapshot: Snapshot) -> Iterator[Metric]:
    known = [(label(s.fs), s.scheduler) for s in snapshot.filesystems if s.scheduler is not None]
    for make, table in ((_gauge, SCHEDULER), (_counter, SCHEDULER_TOTALS)):
        for name, help_, value in table:
            family = make(name, help_, FS)
            for fs, scheduler in known:
                family.add_metric([fs], value(scheduler))
            yield family
    mode = _gauge("scheduler_mode", "1 for the mode that the scheduler is in", (*FS, "mode"))
    for fs, scheduler in known:
        for name in SCHEDULER_MODES:
            mode.add_metric([fs, name], float(scheduler.mode == name))
    yield mode
    hot = _gauge("hot_spots", "Directories that are hot, or are from time to time, by kind", (*FS, "kind"))
    seen = [(fs, scheduler.hot) for fs, scheduler in known if scheduler.hot is not None]
    for fs, spots in seen:
        for name in KINDS:
            hot.add_metric([fs, name], float(sum(spot.kind == name for spot in spots)))
    yield hot


def _of_the_module(snapshot: Snapshot) -> Iterator[Metric]:
    yield active_metric(True)
    engine = _gauge("engine_up", "1 if the numeric engine judged a file system in the last epoch", ())
    failed = _gauge("engine_failed_epochs", "Epochs in a row, up to now, in which the engine judged none", ())
    end = _gauge("epoch_end_timestamp_seconds", "When the last epoch ended", ())
    interval = _gauge("epoch_interval_seconds", "Time between two epochs, as the option epoch says", ())
    if snapshot.time:
        engine.add_metric([], float(not snapshot.engine_problem))
        failed.add_metric([], snapshot.engine_failures)
        end.add_metric([], snapshot.time)
        interval.add_metric([], snapshot.epoch)
    yield from (engine, failed, end, interval)
    for name, help_, timing in (
        ("epoch_duration_seconds", "Time that observing and judging took, an epoch", snapshot.epochs),
        ("engine_duration_seconds", "Time that the engine took for a judgement", snapshot.judgements),
    ):
        family = SummaryMetricFamily(f"{PREFIX}_{name}", help_)
        family.add_metric([], timing.count, timing.seconds)
        yield family
    errors = _counter("errors", "What failed and is tried again, by stage", ("stage",))
    for stage, count in snapshot.errors.items():
        errors.add_metric([stage], count)
    yield errors


def active_metric(active: bool) -> Metric:
    """Tells the active manager's answer from a standby's."""
    family = _gauge("active", "1 on the active manager, 0 on a standby", ())
    family.add_metric([], float(active))
    return family


def families(snapshot: Snapshot) -> Iterator[Metric]:
    """Every metric of a snapshot."""
    ranks = (_of_filesystems, _of_ranks, _of_streaks, _of_moves)
    for part in (_of_the_module, *ranks, _of_subvolumes, _of_plans, _of_schedulers):
        yield from part(snapshot)


class _Fixed:
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Prometheus' text format, 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fixed(metrics))
    return bytes(generate_latest(registry))
