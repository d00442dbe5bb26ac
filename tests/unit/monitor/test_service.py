# SPDX-License-Identifier: LGPL-2.1-or-later
"""A snapshot an epoch: from counters and the engine's judgement, whatever of these fails."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from monitor_snapshots import plan, scheduler
from verdicts import verdict

from mds_partitioner.act.run import DONE, PAUSED, ROLLED_BACK, ROLLING_BACK, RUNNING, STOPPED, Head, Run
from mds_partitioner.engine.judge import judge as engine_judge
from mds_partitioner.errors import BadOption, NotFound, PartitionerError, Unavailable
from mds_partitioner.judge.analysis import FAILED, FINISHED, Analysis
from mds_partitioner.judge.archive import Found
from mds_partitioner.judge.history import SOON
from mds_partitioner.loop import Loop
from mds_partitioner.model import FsState, MdsInfo
from mds_partitioner.monitor import service
from mds_partitioner.monitor.health import engine_down, imbalanced, unjudged
from mds_partitioner.monitor.metrics import PREFIX, families
from mds_partitioner.monitor.options import MonitorSettings
from mds_partitioner.monitor.page import page
from mds_partitioner.monitor.sampler import HISTORY, Past, judged
from mds_partitioner.monitor.service import TICK, Monitor
from mds_partitioner.monitor.stages import JUDGE, OBSERVE, SCHEDULE, Errors
from mds_partitioner.monitor.state import EXPORTER, IMPORTER, FsSample, SchedulerState, Snapshot
from mds_partitioner.ranks import Ranks
from mds_partitioner.schedule.plans import preparation

FS = FsState(
    name="cephfs",
    fscid=1,
    max_mds=3,
    ranks_in=(0, 1, 2),
    mds=tuple(MdsInfo(r, f"m{r}", "up:active") for r in range(3)),
    failed=(),
    damaged=(),
    balance_automate=False,
    balancer="",
    bal_rank_mask="-1",
)


class Options:
    """The options that an epoch reads."""

    epoch = 10
    rank_capacity = 1000.0
    smoothness = 0.2
    imbalance_threshold = 0.075
    role_threshold = 0.01
    epoch_capacity = 0.0
    bad = ""  # why they are refused

    @classmethod
    def checked(cls) -> type[Options]:
        if cls.bad:
            raise BadOption(cls.bad)
        return cls


class Cluster:
    """Stands for Host, Analyzer and Partitioner: rank 0 serves 900 req/s, the others 10."""

    def __init__(self) -> None:
        self.state = FS
        self.others: list[FsState] = []
        self.problem: PartitionerError | None = None
        self.time = 10.0
        self.young = False  # they have reported once
        self.analysis: Analysis | None = None
        self.found: Found | None = None
        self.plans: list[Run] = []
        self.rates = {"m0": 900.0, "m1": 10.0, "m2": 10.0, "other": 900.0}

    def file_systems(self) -> list[FsState]:
        return [self.state, *self.others]

    def forget_all_but(self, fscids: frozenset[int]) -> None:
        """Host.forget_all_but: nothing is mounted."""

    def report_period(self) -> float:
        return 5.0

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        if self.problem is not None:
            raise self.problem
        rate = self.rates[mds] if path == "mds_server.handle_client_request" else 0.0
        self.time += 10.0 / 1024  # each is of another report
        if self.young:
            return [(self.time, 10 * rate)]
        return [(self.time - 10.0, 0.0), (self.time, 10 * rate)]

    def get(self, fs: FsState) -> Any:
        if self.analysis is None:
            raise NotFound("not analyzed")
        return self.analysis

    def last(self, fs: FsState) -> Found | None:
        return self.found

    def of(self, fs: FsState) -> list[Run]:
        return self.plans


class Engine:
    """The engine, in this process; it can be told to fail."""

    def __init__(self) -> None:
        self.problem: PartitionerError | None = None
        self.fails = math.inf  # so many times

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert name == "judge"
        if self.problem is not None and self.fails > 0:
            self.fails -= 1
            raise self.problem
        return engine_judge(arguments)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def engine() -> Engine:
    return Engine()


class Now:
    """Stands for the module time."""

    now = 0.0
    put_back = 0.0  # s, by which the host's clock was

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now - self.put_back


class Others:
    """What other parts tell the monitor; tests change it."""

    scheduler: SchedulerState | None = None
    fell_back: set[str] | None = None
    published = 0

    def publish(self) -> None:
        self.published += 1


@pytest.fixture
def others() -> Others:
    return Others()


@pytest.fixture
def errors() -> Errors:
    return Errors()


@pytest.fixture
def monitor(cluster: Cluster, engine: Engine, errors: Errors, others: Others) -> Monitor:
    host: Any = cluster
    options: Any = Options
    log = logging.getLogger("test")
    ranks = Ranks(host, engine.call, lambda: options, log, lambda: 10.0)
    return Monitor(
        *(host, ranks, host, host, errors, lambda: (options, MonitorSettings(20, 3)), log),
        fallen_back=lambda fs: others.fell_back,
        scheduler=lambda fs: others.scheduler,
        publish=others.publish,
    )


def sampled(monitor: Monitor) -> FsSample:
    monitor.epoch(now=monitor.snapshot.epochs.count * 10.0)
    (sample,) = monitor.snapshot.filesystems
    return sample


def test_an_epoch_judges_the_ranks_loads(monitor: Monitor) -> None:
    sample = sampled(monitor)
    assert [rank.load for rank in sample.ranks] == [900, 10, 10]
    assert [rank.role for rank in sample.ranks] == [EXPORTER, IMPORTER, IMPORTER]
    assert sample.verdict is not None and (sample.verdict.factor or 0.0) > 0.8
    assert {move.source for move in sample.verdict.moves} == {0}
    assert sum(move.amount for move in sample.verdict.moves) == pytest.approx(593.3, abs=0.1)
    assert monitor.snapshot.epochs.count == monitor.snapshot.judgements.count == 1
    assert monitor.snapshot.epoch == Options.epoch


def test_a_longer_epoch_is_not_waited_for_when_it_was_made_shorter(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "epoch", 3600)
    sampled(monitor)
    monitor.hasten()
    assert not monitor._loop._wake.is_set()
    monkeypatch.setattr(Options, "epoch", 10)
    monitor.hasten()
    assert monitor._loop._wake.is_set()


def test_a_longer_epoch_is_told_before_the_first_such_is_over(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the numbers pass for old: an alert compares their age with it."""
    at = Now()
    monkeypatch.setattr(service, "time", at)
    monitor._run()
    monkeypatch.setattr(Options, "epoch", 3600)
    at.now = 10.0
    monitor._run()
    assert (monitor.snapshot.epochs.count, monitor.snapshot.epoch) == (1, 3600.0)


def test_an_epoch_that_does_not_end_is_overdue_however_long_epochs_are(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Now()
    monkeypatch.setattr(Options, "epoch", 600)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(Loop, "start", lambda _: None)
    assert monitor.late(1e9) < 0.0, "it has not begun"
    monitor.begin()
    assert monitor.late(400.0) == 400.0, "the first does not end"
    seen = []
    for at.now in (0.0, 10.0, 600.0, 1200.0):
        cluster.problem = Unavailable("no counter")  # that is told otherwise
        monitor._run()
        seen.append(monitor.late(at.now + 600.0))
    assert seen == [0.0, 10.0, 0.0, 0.0]
    monkeypatch.setattr(Monitor, "epoch", lambda *_, **__: 1 / 0)
    for at.now in (1800.0, 2400.0):
        with pytest.raises(ZeroDivisionError):
            monitor._run()
    assert monitor.late(2400.0) == 600.0


def test_an_epoch_that_takes_long_is_overdue_since_the_one_before_has_ended(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an engine is waited for. What comes and goes with each epoch tells nobody anything."""
    at, taken = Now(), 200.0
    monkeypatch.setattr(Options, "epoch", 10)
    monkeypatch.setattr(service, "time", at)
    ends = monitor.epoch

    def epoch(now: float, *, again: bool) -> None:
        at.now += taken
        seen.append(monitor.late(at.now))
        ends(now, again=again)

    monkeypatch.setattr(monitor, "epoch", epoch)
    seen = list[float]()
    for _ in range(3):
        monitor._run()
        seen.append(monitor.late(at.now))
    assert seen[1:] == [0.0, taken, 0.0, taken, 0.0]


def test_no_epoch_is_overdue_as_the_next_was_made_shorter_or_longer(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, lates = Now(), []
    monkeypatch.setattr(service, "time", at)
    for at.now, epoch in ((0.0, 3600), (1800.0, 10), (1810.0, 3600), (1820.0, 3600)):
        monkeypatch.setattr(Options, "epoch", epoch)
        lates.append(monitor.late(at.now) > 0.0)
        monitor._run()
    assert lates == [False] * 4


def test_what_the_scheduler_does_is_told_long_before_a_long_epoch_is_over(
    monitor: Monitor, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A health check of one that was stopped goes at once."""
    at = Now()
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    monitor._run()
    others.scheduler, at.now = scheduler(), 10.0
    monitor._run()
    assert monitor.snapshot.filesystems[0].scheduler == others.scheduler
    assert monitor.snapshot.epochs.count == 1


def test_an_analysis_is_told_long_before_a_long_epoch_is_over(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the page tells that one runs, hours after its end."""
    at, seen = Now(), []
    judgement: Any = SimpleNamespace(recommended=3, recommended_reason="", directories=())
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    analysis = Analysis("cephfs", 600, started=10.0)
    for at.now, runs in ((0.0, None), (310.0, analysis), (610.0, analysis)):
        cluster.analysis = runs
        if at.now == 610.0:
            analysis.state, cluster.found = FINISHED, Found("cephfs", 600, 60, FINISHED, 610.0, judgement)
        monitor._run()
        (sample,) = monitor.snapshot.filesystems
        seen.append((sample.analyzing, sample.analysis and sample.analysis.ended))
    assert seen == [(None, None), (0.5, None), (None, 610.0)]
    assert monitor.snapshot.epochs.count == 1


def test_a_file_system_that_comes_goes_or_is_renamed_is_told_long_before_a_long_epoch_is_over(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, told = Now(), []
    other = replace(FS, name="b", fscid=2, ranks_in=(0,), max_mds=1)
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    for at.now, others in ((0.0, []), (10.0, [other]), (20.0, [replace(other, name="c")]), (30.0, [])):
        cluster.others = others
        monitor._run()
        told.append([(s.fs, s.uneven_epochs) for s in monitor.snapshot.filesystems])
    alone = [("cephfs", 1)]
    assert told == [alone, [*alone, ("b", 1)], [*alone, ("c", 1)], alone]


def test_where_to_listen_is_looked_at_long_before_a_long_epoch_is_over(
    monitor: Monitor, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Now()
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    for at.now in (0.0, 10.0):
        monitor._run()
    assert (monitor.snapshot.epochs.count, others.published) == (1, 2)


def test_an_epoch_is_judged_again_when_a_capacity_that_was_learned_before_is_read(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a fail-over, where the mon was slow."""
    at, learned = Now(), list[float]()
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(Options, "rank_capacity", 0)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(Ranks, "learned", lambda *_: learned[0] if learned else None)
    factors = []
    for at.now in (0.0, 10.0, 20.0, 30.0):
        monitor._run()
        (sample,) = monitor.snapshot.filesystems
        assert sample.verdict is not None
        factors.append(sample.verdict.factor is not None)
        learned += [1000.0] if at.now == 10.0 else []
    assert factors == [False, False, True, True] and monitor.snapshot.epochs.count == 2


def test_what_nobody_expected_of_one_file_system_does_not_hide_the_others(
    monitor: Monitor, cluster: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tuple(replace(mds, name="other") for mds in FS.mds[:1])
    cluster.others = [replace(FS, name="b", fscid=2, mds=other, ranks_in=(0,), max_mds=1)]
    judged = engine.call

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = judged(name, arguments)
        return answer if len(arguments["ranks"]) == 1 else {}

    monkeypatch.setattr(monitor._ranks, "_engine", call)
    monitor.epoch(now=0.0)
    first, second = monitor.snapshot.filesystems
    assert "KeyError" in first.problem and first.verdict is None
    assert second.problem == "" and second.verdict is not None


def test_how_far_a_plan_is_can_be_seen_long_before_a_long_epoch_is_over(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, parts = Now(), {0.0: 0.1, 10.0: 0.1, 20.0: 0.2}
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(Monitor, "_plan", lambda _, fs: plan(progress=parts[at.now]))
    seen = []
    for at.now in parts:
        assert monitor._run() == TICK
        seen.append(monitor.snapshot)
    assert [s.filesystems[0].plan for s in seen] == [plan(progress=p) for p in parts.values()]
    assert seen[0] is seen[1], "a page that shows the same is not made again"
    assert {(s.time, s.epochs.count, s.filesystems[0].uneven_epochs) for s in seen} == {(0.0, 1, 1)}


def test_an_epoch_begins_as_long_after_the_one_before_as_the_option_says(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, looks = Now(), []
    monkeypatch.setattr(service, "time", at)
    for epoch, waited in ((10, 0.0), (10, 10.0), (25, 10.0), (25, 10.0), (25, 5.0)):
        monkeypatch.setattr(Options, "epoch", epoch)
        at.now += waited
        looks.append((monitor._run(), monitor.snapshot.epochs.count))
    assert looks == [(10.0, 1), (10.0, 2), (10.0, 2), (5.0, 2), (10.0, 3)]


def test_a_long_epoch_in_which_no_rank_had_told_its_load_is_completed_when_they_tell_it(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a fail-over of the managers."""
    at = Now()
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(service, "time", at)
    cluster.young = True
    assert monitor._run() == SOON
    assert [rank.load for rank in monitor.snapshot.filesystems[0].ranks] == [None] * 3
    cluster.young, at.now = False, 10.0
    assert monitor._run() == TICK
    (sample,) = monitor.snapshot.filesystems
    assert [rank.load for rank in sample.ranks] == [900, 10, 10]
    assert sample.verdict is not None and sample.uneven_epochs == 1
    looks = []
    for at.now in (20.0, 3590.0, 3600.0):
        monitor._run()
        looks.append((monitor.snapshot.epochs.count, monitor.snapshot.filesystems[0].uneven_epochs))
    assert looks == [(2, 1), (2, 1), (3, 2)]


def test_an_epoch_just_after_an_mds_was_replaced_is_completed(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, counter = Now(), cluster.counter
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(service, "time", at)
    monitor._run()
    cluster.rates["other"] = 10.0  # with it all is even
    cluster.state = replace(FS, mds=(MdsInfo(0, "other", "up:active"), *FS.mds[1:]))
    monkeypatch.setattr(
        cluster, "counter", lambda mds, path: counter(mds, path)[-1 if mds == "other" else 0 :]
    )
    seen = []
    for at.now in (3600.0, 3605.0, 3610.0, 7200.0):
        monitor._run()
        (sample,) = monitor.snapshot.filesystems
        seen.append((sample.ranks[0].load, sample.uneven_epochs))
        if at.now == 3605.0:
            monkeypatch.setattr(cluster, "counter", counter)
    assert seen == [(None, 1), (None, 1), (10.0, 0), (10.0, 0)]


@pytest.mark.parametrize(
    ("epoch", "looks"),
    [
        (10, [0, 5, 10, 20, 30, 40]),
        (3600, [0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 7200]),
    ],
)
def test_a_rank_that_stays_silent_is_looked_for_ever_more_seldom(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, epoch: int, looks: list[int]
) -> None:
    at, counter, found = Now(), cluster.counter, []
    monkeypatch.setattr(Options, "epoch", epoch)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(
        cluster, "counter", lambda mds, path: [(t - 100.0 * (mds == "m1"), v) for t, v in counter(mds, path)]
    )
    while at.now <= looks[-1]:
        before = monitor.snapshot
        pause = monitor._run()
        found += [at.now] if monitor.snapshot.epochs != before.epochs else []
        at.now += pause
    assert found == looks
    assert monitor.snapshot.filesystems[0].uneven_epochs == len([t for t in looks if t % epoch == 0])


def test_what_a_bad_option_kept_from_being_judged_is_judged_when_options_change(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Now()
    monkeypatch.setattr(Options, "epoch", 86_400)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(Options, "bad", "rank_capacity is no number")
    for at.now in (0.0, 5.0, 10.0, 20.0, 40.0):
        monitor._run()
    monkeypatch.setattr(Options, "bad", "")
    at.now = 41.0
    monitor.hasten()
    assert monitor._loop._wake.is_set()
    monitor._run()
    (sample,) = monitor.snapshot.filesystems
    assert sample.verdict is not None and (sample.uneven_epochs, sample.unjudged_since) == (1, None)
    looks = monitor.snapshot.epochs
    monitor.hasten()
    monitor._run()
    assert monitor.snapshot.epochs == looks, "nothing is unknown any more"


def test_an_epoch_that_is_looked_at_again_counts_once_when_the_engine_fails(
    monitor: Monitor, cluster: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, counter = Now(), cluster.counter
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(service, "time", at)
    monkeypatch.setattr(cluster, "counter", lambda mds, path: counter(mds, path)[mds == "m1" :])
    engine.problem = Unavailable("no answer")
    failures = []
    for at.now in (0.0, 5.0, 10.0, 3600.0):
        monitor._run()
        failures.append(monitor.snapshot.engine_failures)
    assert failures == [1, 1, 1, 2]


def test_an_engine_that_works_again_is_not_down_for_the_rest_of_a_long_epoch(
    monitor: Monitor, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Now()
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(service, "time", at)
    engine.problem = Unavailable("the engine was busy with 'plan'")
    monitor._run()
    assert monitor.snapshot.engine_problem
    engine.problem = None
    for at.now in (1.0, 5.0):
        monitor._run()
    assert not monitor.snapshot.engine_problem and monitor.snapshot.filesystems[0].verdict is not None


def test_epochs_above_the_threshold_are_counted_in_a_row(monitor: Monitor, cluster: Cluster) -> None:
    counts = []
    for rate in (900.0, 900.0, 10.0, 900.0):
        cluster.rates["m0"] = rate
        counts.append(sampled(monitor).uneven_epochs)
    assert counts == [1, 2, 0, 1]


def streaks(monitor: Monitor) -> tuple[int, int, dict[str, int]]:
    found = sampled(monitor).streaks
    return found.unjudged, found.overloaded, dict(found.full)


def test_epochs_with_a_full_rank_and_with_all_full_are_counted_in_a_row(
    monitor: Monitor, cluster: Cluster
) -> None:
    seen = []
    for rates in ((950.0, 10.0, 10.0), (950.0, 850.0, 800.0), (950.0, 910.0, 850.0), (899.0, 910.0, 10.0)):
        cluster.rates = {f"m{rank}": rate for rank, rate in enumerate(rates)}
        seen.append(streaks(monitor))
    assert seen == [
        *((0, 0, {"mds.m0": 1}), (0, 1, {"mds.m0": 2}), (0, 2, {"mds.m0": 3, "mds.m1": 1})),
        (0, 0, {"mds.m1": 2}),
    ]
    told = {m.name.removeprefix(f"{PREFIX}_"): m for m in families(monitor.snapshot)}
    full = {s.labels["rank"]: s.value for s in told["rank_full_epochs"].samples}
    assert full == {"0": 0, "1": 2, "2": 0}
    assert [s.value for s in told["overloaded_epochs"].samples] == [0]


def test_an_epoch_that_is_looked_at_again_counts_once_as_one_of_a_full_rank(
    monitor: Monitor, cluster: Cluster
) -> None:
    cluster.rates["m0"] = 950.0
    monitor.epoch(0.0)
    monitor.epoch(5.0, again=True)
    assert monitor.snapshot.filesystems[0].streaks.full == {"mds.m0": 1}


@pytest.mark.parametrize("bad", ["", "rank_capacity is no number"])
def test_epochs_in_which_one_of_many_is_not_judged_are_counted_whatever_the_reason(
    monitor: Monitor, cluster: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    cluster.others = [replace(FS, name="b", fscid=2)]
    judge = Ranks.judge

    def fails(ranks: Ranks, fs: FsState, now: float) -> Any:
        if fs.name != "b":
            return judge(ranks, fs, now)
        raise BadOption(bad) if bad else Unavailable("it ended")

    monkeypatch.setattr(Ranks, "judge", fails)
    for epoch in range(2):
        monitor.epoch(10.0 * epoch)
    told = {m.name.removeprefix(f"{PREFIX}_"): m for m in families(monitor.snapshot)}
    assert {s.labels["fs"]: s.value for s in told["unjudged_epochs"].samples} == {"cephfs": 0, "b": 2}
    assert [s.value for s in told["engine_up"].samples] == [1]
    monkeypatch.setattr(Ranks, "judge", judge)
    monitor.epoch(20.0)
    assert {s.streaks.unjudged for s in monitor.snapshot.filesystems} == {0}


def test_a_file_system_that_is_not_observed_is_not_judged_and_one_that_is_down_needs_not_be(
    monitor: Monitor, cluster: Cluster
) -> None:
    cluster.problem = Unavailable("no counter")
    assert [streaks(monitor)[0] for _ in range(2)] == [1, 2]
    cluster.problem, cluster.state = None, replace(FS, max_mds=0, mds=(), ranks_in=())
    assert streaks(monitor)[0] == 0


def test_since_when_a_file_system_is_not_judged_is_told_however_often_the_epoch_is_looked_at(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long one is not over when an operator wants to know."""
    at, seen = Now(), []
    monkeypatch.setattr(Options, "epoch", 3600)
    monkeypatch.setattr(service, "time", at)
    cluster.young = True
    for at.now in (7.0, 12.0, 17.0, 27.0):
        cluster.young = at.now < 27.0
        monitor._run()
        seen.append(monitor.snapshot.filesystems[0].unjudged_since)
    assert seen == [7.0, 7.0, 7.0, None]
    cluster.state, at.now = replace(FS, max_mds=0, mds=(), ranks_in=()), 3607.0
    monitor._run()
    assert monitor.snapshot.filesystems[0].unjudged_since is None


def test_a_clock_that_is_put_back_ends_no_warning_that_nothing_is_judged_nor_delays_one(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, told = Now(), []
    at.now = 10_000.0
    monkeypatch.setattr(service, "time", at)
    cluster.problem = Unavailable("no counter")
    for seconds, at.put_back in ((0.0, 900.0), (60.0, 4500.0), (120.0, 4500.0), (130.0, 8100.0)):
        at.now = 10_000.0 + seconds
        monitor.epoch(at.now)
        told.append([check.detail[0] for check in unjudged(monitor.snapshot, at.monotonic())])
    assert [bool(detail) for detail in told] == [False, False, True, True]
    assert told[-1][0].startswith("'cephfs': not judged for 2 min: no counter")


def test_beside_a_silent_rank_a_bad_option_is_what_keeps_all_from_being_judged(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ranks, "silent", lambda *_: {2: 20.0})
    monkeypatch.setattr(Options, "bad", "rank_capacity is no number")
    assert sampled(monitor).problem == "rank_capacity is no number"


def test_ranks_that_are_not_alike_are_even_when_the_scheduler_finds_them_so(
    monitor: Monitor, others: Others
) -> None:
    """The factor takes all for alike, and is high."""
    others.scheduler = replace(scheduler(), even=True)
    for _ in range(3):
        sample = sampled(monitor)
        assert sample.verdict is not None and sample.verdict.triggered
        assert (sample.uneven_epochs, sample.uneven_at) == (0, None)
    assert imbalanced(monitor.snapshot, 1, 0.0) == []
    (epochs,) = (m for m in families(monitor.snapshot) if m.name.endswith("imbalanced_epochs"))
    assert [s.value for s in epochs.samples] == [0]
    assert "even, by what each rank can serve" in page(monitor.snapshot, 10.0)
    others.scheduler = scheduler()
    assert [sampled(monitor).uneven_epochs for _ in range(2)] == [1, 2]
    assert imbalanced(monitor.snapshot, 2, 0.0)


def test_failures_are_counted_by_stage(monitor: Monitor, errors: Errors) -> None:
    errors.count(SCHEDULE)
    sampled(monitor)
    assert monitor.snapshot.errors == {"observe": 0, "judge": 0, "schedule": 1, "move": 0, "balance": 0}


def test_a_full_rank_of_many_counts_as_uneven_though_the_factor_is_low(
    monitor: Monitor, cluster: Cluster
) -> None:
    mds = tuple(MdsInfo(r, f"m{r}", "up:active") for r in range(36))
    cluster.state = replace(FS, max_mds=36, ranks_in=tuple(range(36)), mds=mds)
    cluster.rates = {m.name: 990.0 if m.rank == 0 else 300.0 for m in mds}
    sample = sampled(monitor)
    assert sample.verdict is not None and not sample.verdict.triggered
    assert [rank.rank for rank in sample.ranks if rank.hot] == [0]
    assert sample.uneven_epochs == 1
    assert "uneven for 1 epoch: hot ranks (0)" in page(monitor.snapshot, 10.0)


def test_an_epoch_that_cannot_be_judged_ends_no_row_of_uneven_ones(
    monitor: Monitor, cluster: Cluster, engine: Engine
) -> None:
    for _ in range(3):
        sampled(monitor)
    engine.problem = Unavailable("the engine failed")
    (check,) = imbalanced(replace(monitor.snapshot, filesystems=(sampled(monitor),)), 3, 0.0)
    assert "uneven for 3 epochs when it was judged last" in check.detail[0]
    assert "the engine failed: see 'ceph fs status cephfs'" in check.detail[0]
    engine.problem, cluster.problem = None, Unavailable("no counter")
    assert sampled(monitor).uneven_epochs == 3
    cluster.problem, cluster.state = None, replace(FS, mds=(), ranks_in=())
    (away,) = imbalanced(replace(monitor.snapshot, filesystems=(sampled(monitor),)), 3, 0.0)
    assert "no rank is active" in away.detail[0]
    cluster.state = FS
    assert sampled(monitor).uneven_epochs == 4


def test_a_file_system_that_was_taken_down_is_uneven_no_more(monitor: Monitor, cluster: Cluster) -> None:
    for _ in range(3):
        sampled(monitor)
    cluster.state = replace(FS, max_mds=0, mds=(), ranks_in=())
    assert [sampled(monitor).uneven_epochs for _ in range(3)] == [3, 3, 0]
    cluster.state = FS
    assert sampled(monitor).uneven_epochs == 1


def test_without_the_engine_loads_are_shown_and_nothing_is_judged(monitor: Monitor, engine: Engine) -> None:
    engine.problem = Unavailable("no answer within 60 s")
    sample = sampled(monitor)
    assert sample.verdict is None and [rank.load for rank in sample.ranks] == [900, 10, 10]
    assert monitor.snapshot.engine_problem == "no answer within 60 s"
    assert monitor.snapshot.errors[JUDGE] == monitor.snapshot.engine_failures == 1
    sampled(monitor)
    (failed,) = (m for m in families(monitor.snapshot) if m.name.endswith("engine_failed_epochs"))
    assert [s.value for s in failed.samples] == [2]
    engine.problem = None
    assert sampled(monitor).verdict is not None
    assert (monitor.snapshot.engine_problem, monitor.snapshot.engine_failures) == ("", 0)


def test_where_the_engine_fails_for_one_file_system_the_others_are_judged_and_it_is_up(
    monitor: Monitor, cluster: Cluster, engine: Engine
) -> None:
    """It died since the last epoch, and is started again for the next file system."""
    cluster.others = [replace(FS, name=name, fscid=fscid) for name, fscid in (("b", 2), ("c", 3))]
    engine.problem, engine.fails = Unavailable("it ended"), 1
    monitor.epoch(0.0)
    seen = monitor.snapshot
    assert [sample.verdict is None for sample in seen.filesystems] == [True, False, False]
    told = {m.name.removeprefix(f"{PREFIX}_"): m for m in families(seen)}
    assert [s.value for name in ("engine_up", "engine_failed_epochs") for s in told[name].samples] == [1, 0]
    (check,) = engine_down(seen)
    assert check.summary.endswith("fails for 1 of 3 file systems: these are not judged")
    assert check.detail[0].startswith("'cephfs': it ended: see ") and len(check.detail) == 1
    assert 'id="engine-problem"' not in page(seen, 10.0)
    engine.fails = 3
    monitor.epoch(10.0)
    (check,) = engine_down(monitor.snapshot)
    assert check.summary.endswith("does not work: nothing is judged") and len(check.detail) == 3


def test_a_manager_that_cannot_be_asked_is_a_problem_of_that_epoch(
    monitor: Monitor, cluster: Cluster
) -> None:
    cluster.problem = Unavailable("no mon")
    sample = sampled(monitor)
    assert (sample.ranks, sample.problem) == ((), "no mon")
    assert monitor.snapshot.errors[OBSERVE] == 1 and monitor.snapshot.engine_problem == ""
    cluster.problem = None
    assert sampled(monitor).problem == ""


def test_another_daemon_on_a_rank_begins_the_forecast_anew(monitor: Monitor, cluster: Cluster) -> None:
    for rate in (100.0, 400.0, 700.0):
        cluster.rates["m0"] = rate
        growing = sampled(monitor)
    assert growing.ranks[0].forecast == pytest.approx(1000)
    cluster.state = replace(FS, mds=(MdsInfo(0, "other", "up:active"), *FS.mds[1:]))
    assert sampled(monitor).ranks[0].forecast == pytest.approx(900)


def test_what_a_rank_has_not_reported_yet_is_not_told_as_0(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = cluster.counter
    reports = {"m0": 0, "m1": 1, "m2": 2}
    monkeypatch.setattr(cluster, "counter", lambda mds, path: counter(mds, path)[2 - reports[mds] :])
    ranks = sampled(monitor).ranks
    assert [rank.load for rank in ranks] == [None, None, 10.0]
    assert [rank.latency for rank in ranks] == [None, None, 0.0]
    assert [rank.forecast is None for rank in ranks] == [True, True, False]
    assert [(rank.inodes, rank.exported) for rank in ranks] == [(None, None), (0, 0), (0, 0)]
    assert "Active ranks" in page(monitor.snapshot, 10.0)
    told = {s.labels["rank"] for m in families(monitor.snapshot) for s in m.samples if "_load_req" in s.name}
    assert told == {"2"}


def test_a_dead_rank_is_told_and_makes_no_imbalance(
    monitor: Monitor, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = cluster.counter
    cluster.rates = dict.fromkeys(cluster.rates, 900.0)

    def without_m1(mds: str, path: str) -> list[tuple[float, ...]]:
        return [(t - 100.0 * (mds == "m1"), v) for t, v in counter(mds, path)]

    monkeypatch.setattr(cluster, "counter", without_m1)
    sample = sampled(monitor)
    assert sample.problem == "rank 1 (mds.m1) has said nothing for over 20 s"
    assert [rank.load for rank in sample.ranks] == [900.0, None, 900.0]
    assert sample.verdict is not None and sample.verdict.factor == 0.0
    assert (sample.uneven_epochs, [rank.role for rank in sample.ranks]) == (0, ["", None, ""])


def test_fallbacks_are_told_only_while_a_policy_of_ours_is_in_force(monitor: Monitor, others: Others) -> None:
    assert [rank.fell_back for rank in sampled(monitor).ranks] == [None] * 3
    others.fell_back = {"mds.m1"}
    assert [rank.fell_back for rank in sampled(monitor).ranks] == [False, True, False]


def test_a_verdict_on_other_ranks_than_were_seen_is_joined_by_rank(
    monitor: Monitor, cluster: Cluster
) -> None:
    seen = sampled(monitor)
    of = verdict(ranks=(1, 2, 3), forecast=(11.0, 12.0, 13.0), saturated=())
    assert [rank.forecast for rank in judged(seen, of).ranks] == [None, 11.0, 12.0]


def test_the_past_is_forgotten() -> None:
    memory = Past()
    for second in range(0, 3 * int(HISTORY), 10):
        memory.judge(float(second), verdict(), 30, whole=True, even=False)
    assert memory.history[-1].time - memory.history[0].time <= HISTORY


def test_what_was_uneven_at_a_time_that_has_not_come_yet_was_so_now() -> None:
    memory = Past()
    memory.judge(86_400.0, verdict(), 30, whole=True, even=False)
    assert memory.uneven_at == 86_400.0
    memory.begin()
    memory.judge(20.0, verdict(), 30, whole=True, even=True)
    assert memory.uneven_at == 20.0, "else it would be uneven for a day"


def test_what_was_seen_at_a_time_that_has_not_come_yet_is_forgotten() -> None:
    memory = Past()
    for at in (0.0, 10.0, 900.0, 910.0, 20.0, 30.0):  # the host's clock was ahead for two epochs
        memory.judge(at, verdict(), 30, whole=True, even=False)
    assert [point.time for point in memory.history] == [0.0, 10.0, 20.0, 30.0]


def test_one_of_whose_ranks_some_are_away_is_not_even_for_that(monitor: Monitor, cluster: Cluster) -> None:
    for _ in range(3):
        before = sampled(monitor)
    assert before.uneven_epochs == 3
    cluster.state = replace(FS, mds=FS.mds[1:])  # rank 0, which is full, is replayed
    after = sampled(monitor)
    assert after.verdict is not None and not after.verdict.uneven
    assert after.uneven_epochs == 3
    (check,) = imbalanced(Snapshot(filesystems=(after,)), 3, 0.0)
    assert "when all its ranks were judged last, and now some are away" in check.detail[0]
    for _ in range(20):
        after = sampled(monitor)
    assert after.uneven_epochs == 0, "it will not come back"


def test_ranks_that_have_not_told_twice_are_not_even_and_the_engine_is_well(
    monitor: Monitor, cluster: Cluster
) -> None:
    for _ in range(3):
        sampled(monitor)
    cluster.young = True
    seen = sampled(monitor)
    assert seen.verdict is None and "has told this manager twice" in seen.problem
    assert seen.uneven_epochs == 3 and monitor.snapshot.engine_problem == ""
    assert [(rank.saturated, rank.role) for rank in seen.ranks] == [(None, None)] * 3


def test_an_option_that_is_no_number_is_told_and_the_engine_is_well(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "bad", "the option rank_capacity is nan")
    monitor.epoch(0.0)
    (sample,) = monitor.snapshot.filesystems
    assert sample.problem == "the option rank_capacity is nan" and sample.verdict is None
    assert monitor.snapshot.engine_problem == "" and monitor.snapshot.errors[JUDGE] == 0


def test_the_last_analysis_is_shown_while_another_runs_and_when_that_has_failed(
    monitor: Monitor, cluster: Cluster
) -> None:
    judgement: Any = SimpleNamespace(recommended=3, recommended_reason="", directories=())
    analysis = cluster.analysis = Analysis("cephfs", 600, started=0.0)
    assert (sampled(monitor).analysis, sampled(monitor).analyzing) == (None, pytest.approx(0.0, abs=1.0))
    cluster.found = Found("cephfs", 600, 60, FINISHED, 100.0, judgement)
    seen = sampled(monitor)
    assert seen.analysis is not None and seen.analysis.ended == 100.0 and seen.analyzing is not None
    analysis.state = FAILED
    assert (sampled(monitor).analysis, sampled(monitor).analyzing) == (seen.analysis, None)
    (check,) = imbalanced(Snapshot(filesystems=(seen,)), 1, 0.0)
    assert "it is being analyzed" in check.detail[0] and "analyze start" not in check.detail[0]


def run_of(name: str, head: Head, *, scheduled: bool = False) -> Run:
    made = replace(preparation(FS, "", 100.0), name=name, scheduled=scheduled)
    return Run(name, made, replace(head, started=100.0))


WAITS = Head(PAUSED, why="MDS_SLOW_METADATA_IO", resume_to=ROLLING_BACK)


@pytest.mark.parametrize(
    ("own", "of_scheduler", "told", "waits"),
    [
        (None, Head(ROLLING_BACK), "scheduler-5", False),
        (Head(DONE), Head(ROLLING_BACK), "scheduler-5", False),
        (Head(DONE), WAITS, "scheduler-5", True),
        (Head(ROLLED_BACK), replace(WAITS, resume_to=RUNNING), "scheduler-5", True),
        (Head(DONE), replace(WAITS, by_operator=True), "scheduler-5", False),
        (Head(RUNNING), Head(ROLLING_BACK), "plan-1", False),
        (replace(WAITS, by_operator=True), WAITS, "plan-1", False),
        (Head(DONE), Head(RUNNING), "plan-1", False),
        (Head(DONE), replace(WAITS, state=STOPPED), "plan-1", False),
        (Head(DONE), Head(DONE), "plan-1", False),
    ],
)
def test_a_plan_that_the_scheduler_undoes_or_that_waits_is_told_while_no_operators_is_under_way(
    monitor: Monitor, cluster: Cluster, own: Head | None, of_scheduler: Head, told: str, waits: bool
) -> None:
    """Its others come and go within the minute."""
    operators = [] if own is None else [run_of("plan-1", own)]
    others = [run_of("scheduler-4", Head(DONE), scheduled=True)]
    cluster.plans = [*others, *operators, run_of("scheduler-5", of_scheduler, scheduled=True)]
    plan = sampled(monitor).plan
    assert plan is not None and (plan.name, plan.waiting) == (told, waits)
    series = {s.labels["plan"] for m in families(monitor.snapshot) for s in m.samples if "plan" in s.labels}
    assert series == {told}


def test_while_the_capacity_is_unknown_nothing_is_counted_as_uneven(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Options, "rank_capacity", 0.0)
    sample = sampled(monitor)
    assert sample.verdict is not None and sample.verdict.unsettled
    assert (sample.uneven_epochs, sample.history) == (0, ())
