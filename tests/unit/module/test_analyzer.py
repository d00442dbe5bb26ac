# SPDX-License-Identifier: LGPL-2.1-or-later
"""What analyses leave to the next manager."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from fake_cluster import SETTINGS, FakeCluster
from test_archive import found, shelf

from mds_partitioner import clock
from mds_partitioner.analyzer import BEGUN_ANEW, CAME_TO_NOTHING, LATE, Analyzer
from mds_partitioner.clock import Now
from mds_partitioner.engine.calls import CALLS
from mds_partitioner.errors import BadInput, Busy, CephError, NotFound, PartitionerError, Unavailable
from mds_partitioner.judge import analysis as analyses
from mds_partitioner.judge import archive
from mds_partitioner.judge.analysis import (
    FAILED,
    FINISHED,
    RUNNING,
    SOON,
    STOPPED,
    UNSAMPLED,
    Analysis,
    Asked,
    Sampling,
)
from mds_partitioner.judge.archive import Archive
from mds_partitioner.judge.history import History
from mds_partitioner.judge.judgement import Judgement, judge
from mds_partitioner.judge.wanted import Wanted
from mds_partitioner.judge.window import Checkpoint, WindowSummary
from mds_partitioner.model import FsState, MdsInfo, Observation, RankSample
from mds_partitioner.options import LONGEST, Settings
from mds_partitioner.plan.circumstances import check_ranks


class Ranks:
    """No rank is ever sampled: the analyses here do not get that far. One file system hangs."""

    def __init__(self, hangs: int = -1) -> None:
        self.hangs, self.over = hangs, threading.Event()
        self.asked = threading.Semaphore(0)

    def history(self, fs: Any, now: float) -> Any:
        """Ranks.history."""
        if fs.fscid == self.hangs:
            assert self.over.wait(60)
        self.asked.release()
        raise Unavailable("no sample")


@pytest.fixture
def manager(request: pytest.FixtureRequest) -> Callable[[FakeCluster], Analyzer]:
    def begun(cluster: FakeCluster) -> Analyzer:
        parts: Any = (cluster, None, Ranks(), lambda: SETTINGS, logging.getLogger("test"))
        analyzer = Analyzer(*parts)
        analyzer.begin()
        request.addfinalizer(analyzer.shutdown)
        return analyzer

    return begun


@pytest.mark.parametrize(("epoch", "seconds"), [(10, 864_000), (601, 600)])
def test_a_duration_that_nobody_typed_is_refused_by_its_options_name(epoch: int, seconds: int) -> None:
    settings = replace(SETTINGS, epoch=epoch, analyze_duration=seconds)
    parts: Any = (cluster := FakeCluster(), None, Ranks(), lambda: settings, logging.getLogger("test"))
    analyzer = Analyzer(*parts)
    analyzer.begin()
    with pytest.raises(BadInput) as caught:
        analyzer.start(cluster.state, None, [])
    assert str(caught.value).startswith(
        f"the option analyze_duration is {seconds}: give {epoch} (one epoch) to 604800 seconds ("
    )
    assert "'ceph config set mgr mgr/mds_partitioner/analyze_duration SECONDS'" in str(caught.value)
    with pytest.raises(BadInput, match=f"^duration {seconds} is not allowed: give {epoch} "):
        analyzer.start(cluster.state, seconds, [])


def test_what_was_found_is_there_after_a_fail_over(manager: Callable[[FakeCluster], Analyzer]) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, found())
    analyzer = manager(cluster)
    assert analyzer.get(cluster.state).state == FINISHED
    assert len(analyzer.found(cluster.state).judgement.directories) == 3


def test_an_analysis_that_ran_begins_anew_and_says_so(manager: Callable[[FakeCluster], Analyzer]) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, found())
    wanted = {"fs": "cephfs", "duration": 600, "directories": [], "begun": time.time()}
    cluster.store.put(f"analysis/{cluster.state.fscid}", json.dumps(wanted))
    analyzer = manager(cluster)
    analysis = analyzer.get(cluster.state)
    assert analysis.state == RUNNING and analysis.note.startswith(BEGUN_ANEW)
    assert len(analysis.note.removeprefix(BEGUN_ANEW).strip()) == len("12-31 23:59:59")
    with pytest.raises(Busy):
        analyzer.found(cluster.state)


def test_one_that_had_ended_is_not_begun_anew(manager: Callable[[FakeCluster], Analyzer]) -> None:
    """Its manager died, or the mon did not answer, before it could say so."""
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, found())
    wanted = {"fs": "cephfs", "duration": 600, "directories": [], "begun": found().ended - 600}
    cluster.store.put(f"analysis/{cluster.state.fscid}", json.dumps(wanted))
    analyzer = manager(cluster)
    assert analyzer.get(cluster.state).state == FINISHED
    assert cluster.store.items("analysis/") == {}


def test_one_that_began_after_the_clock_was_put_back_has_not_ended(
    manager: Callable[[FakeCluster], Analyzer],
) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, replace(found(), ended=time.time() + 86_400.0))
    manager(cluster).start(cluster.state, 600, [])
    assert manager(cluster).get(cluster.state).state == RUNNING


def test_a_long_analysis_goes_on_from_its_checkpoint(manager: Callable[[FakeCluster], Analyzer]) -> None:
    cluster = FakeCluster()
    wanted = {"fs": "cephfs", "duration": 3600, "directories": [], "begun": time.time()}
    cluster.store.put(f"analysis/{cluster.state.fscid}", json.dumps(wanted))
    kept = Archive(cluster.store, "checkpoint/", Checkpoint)
    kept.save(cluster.state.fscid, Checkpoint(1800.0, 180, 0, ()))
    analyzer = manager(cluster)
    analysis = analyzer.get(cluster.state)
    assert 0.5 <= analysis.progress(time.monotonic()) < 0.6
    assert analysis.epochs == 180 and "after epoch 180 is lost" in analysis.note


def test_of_a_file_system_that_is_gone_nothing_is_kept(manager: Callable[[FakeCluster], Analyzer]) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(99, found())
    cluster.store.put(
        "analysis/99", json.dumps({"fs": "gone", "duration": 600, "directories": [], "begun": time.time()})
    )
    with pytest.raises(NotFound):
        manager(cluster).get(cluster.state)
    assert cluster.store.items("") == {}


def test_before_it_has_begun_nobody_is_told_that_nothing_was_analyzed() -> None:
    parts: Any = (FakeCluster(), None, Ranks(), lambda: SETTINGS, logging.getLogger("test"))
    with pytest.raises(Unavailable, match="starting"):
        Analyzer(*parts).get(FakeCluster().state)


@pytest.fixture
def homes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Directories that an operator names, too many for a key."""
    monkeypatch.setattr("mds_partitioner.analyzer.named", lambda *_: [])
    return [f"/home/user{i:05d}" for i in range(4000)]


def test_an_analysis_of_very_many_directories_outlives_its_manager(
    manager: Callable[[FakeCluster], Analyzer], homes: list[str]
) -> None:
    cluster = FakeCluster()
    assert manager(cluster).start(cluster.state, 600, homes).state == RUNNING
    after = manager(cluster).get(cluster.state)
    assert (after.state, after.duration) == (RUNNING, 600)
    kept = Wanted(cluster.store).load()[1]
    assert isinstance(kept, Asked) and (kept.fs, kept.directories) == ("cephfs", tuple(homes))


@pytest.mark.parametrize(("last", "now"), [(1, 4000), (4000, 1)])
def test_of_what_the_last_analysis_was_to_sample_nothing_is_left(
    homes: list[str], last: int, now: int
) -> None:
    """Though its end was not written."""
    cluster = FakeCluster()
    wanted = Wanted(cluster.store)
    for many in (last, now):
        wanted.save(1, Asked("cephfs", 600, tuple(homes[:many]), 1795000000.0))
        assert Wanted(cluster.store).load() == {1: Asked("cephfs", 600, tuple(homes[:many]), 1795000000.0)}
    wanted.forget(1)
    assert cluster.store.items("") == {}


def test_how_many_directories_can_be_kept_is_told(
    manager: Callable[[FakeCluster], Analyzer], homes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_PARTS", 2)
    names = random.Random(1)
    homes = [f"{path}/{names.getrandbits(256):x}" for path in homes]
    cluster = FakeCluster()
    analyzer = manager(cluster)
    with pytest.raises(BadInput, match=r"4000 directories are too many to be kept: give some \d+") as told:
        analyzer.start(cluster.state, 600, homes)
    assert cluster.store.items("") == {}
    fit = int(str(told.value).rpartition(" ")[2])
    assert 1000 < fit < 3000
    assert analyzer.start(cluster.state, 600, homes[:fit]).state == RUNNING


def test_what_cannot_be_read_hides_nothing_else(manager: Callable[[FakeCluster], Analyzer]) -> None:
    cluster = FakeCluster()
    cluster.store.put(f"judgement/{cluster.state.fscid}/seal", "{}")
    with pytest.raises(NotFound):
        manager(cluster).get(cluster.state)


@pytest.mark.parametrize("record", ["nonsense", "5", '{"fs": "cephfs", "duration": 600}', '{"format": 99}'])
def test_an_analysis_whose_record_cannot_be_read_is_lost_and_the_next_one_begins(
    manager: Callable[[FakeCluster], Analyzer], record: str
) -> None:
    cluster = FakeCluster()
    cluster.store.put(f"analysis/{cluster.state.fscid}", record)
    analyzer = manager(cluster)
    with pytest.raises(NotFound, match="was not analyzed yet"):
        analyzer.get(cluster.state)
    assert analyzer.start(cluster.state, 600, []).state == RUNNING
    after = manager(cluster).get(cluster.state)
    assert (after.state, after.duration) == (RUNNING, 600)


def test_an_analysis_does_not_go_on_with_what_another_one_left(
    manager: Callable[[FakeCluster], Analyzer],
) -> None:
    cluster = FakeCluster()
    kept = Archive(cluster.store, "checkpoint/", Checkpoint)
    kept.save(cluster.state.fscid, Checkpoint(1800.0, 180, 0, ()))
    manager(cluster).start(cluster.state, 3600, [])
    assert manager(cluster).get(cluster.state).epochs == 0


def test_a_checkpoint_is_due_every_ten_minutes_however_long_an_analysis_is() -> None:
    asks: Any = None
    sampling = Sampling(Analysis("cephfs", LONGEST, 0.0), asks, asks, asks)
    due = [at for at in range(0, 2000, 100) if sampling.checkpoint(float(at)) is not None]
    assert due == [600, 1200, 1800]


@pytest.mark.parametrize(
    ("epoch", "now", "pause"),
    [(10.0, 102.0, 8.0), (10.0, 112.0, 0.1), (3600.0, 102.0, 598.0), (3600.0, 702.0, 2998.0)],
)
def test_no_epoch_is_waited_for_beyond_the_time_of_the_analysis(
    epoch: float, now: float, pause: float
) -> None:
    began = 100.0  # the last epoch; the analysis began then, too
    assert Analysis("cephfs", 600, began).pause(epoch, began, now) == pytest.approx(pause)


def test_a_file_system_that_hangs_holds_up_no_other_analysis() -> None:
    cluster, ranks = FakeCluster(), Ranks(hangs=2)
    other = replace(cluster.state, name="other", fscid=2)
    cluster.fs_by_id = {1: cluster.state, 2: other}.get
    parts: Any = (cluster, None, ranks, lambda: SETTINGS, logging.getLogger("test"))
    analyzer = Analyzer(*parts)
    analyzer.begin()
    try:
        analyzer.start(other, 600, [])
        analyzer.start(cluster.state, 600, [])
        assert ranks.asked.acquire(timeout=60)
    finally:
        ranks.over.set()
        analyzer.shutdown()


class Observer:
    """Sees ranks and no directories; remembers which ranks it was told to be full."""

    full: ClassVar[list[tuple[int, ...]]] = []

    def __init__(self, *_: Any) -> None:
        self.facts = dict

    def observe(self, fs: Any, settings: Any, ranks: Any, full: tuple[int, ...]) -> Observation:
        """Observer.observe."""
        self.full.append(full)
        return Observation("cephfs", ())


class Away:
    """Answers are not there for a while: of the calls, those in ``range`` fail."""

    def __init__(self, answer: Any, away: range, error: Exception) -> None:
        self.answer, self.away, self.error, self.calls = answer, away, error, 0

    def __call__(self, *_: Any) -> Any:
        self.calls += 1
        if self.calls in self.away:
            raise self.error
        return self.answer


SAMPLES = (RankSample(0, "m0", 4.0, 0.001, 10, 5, 1, 0.0, 0.0, 1),)
NO_ANSWER = Unavailable("no answer")
EVICTED = CephError("cannot list '/volumes': Cannot send after transport endpoint shutdown", 108)


NONE_FULL = Away(SimpleNamespace(saturated=()), range(0), NO_ANSWER)


def begun(
    monkeypatch: pytest.MonkeyPatch,
    history: Away,
    judge: Callable[..., Any],
    cluster: FakeCluster,
    verdicts: Away = NONE_FULL,
) -> Analyzer:
    """An epoch passes whenever the ranks are asked."""
    monkeypatch.setattr("mds_partitioner.analyzer.Observer", Observer)
    monkeypatch.setattr("mds_partitioner.analyzer.judge", judge)
    fake = SimpleNamespace(monotonic=lambda: float(history.calls * SETTINGS.epoch), time=time.time)
    monkeypatch.setattr("mds_partitioner.analyzer.time", fake)
    read = SimpleNamespace(read=lambda: Now(time.time(), fake.monotonic()), told=clock.told)
    monkeypatch.setattr("mds_partitioner.analyzer.clock", read)
    now: dict[str, Any] = {"learned": lambda fscid: None, "full": lambda fscid: (0,) * (verdicts.calls % 2)}
    ranks = SimpleNamespace(history=history, judge=verdicts, **now)
    parts: Any = (cluster, None, ranks, lambda: SETTINGS, logging.getLogger("test"))
    analyzer = Analyzer(*parts)
    analyzer.begin()
    return analyzer


def analyzed(
    monkeypatch: pytest.MonkeyPatch,
    history: Away,
    judge: Callable[..., Any],
    cluster: FakeCluster | None = None,
    verdicts: Away = NONE_FULL,
) -> Analysis:
    """An analysis of ten epochs, when it has ended."""
    cluster = cluster or FakeCluster()
    analyzer = begun(monkeypatch, history, judge, cluster, verdicts)
    try:
        return to_its_end(analyzer, cluster)
    finally:
        analyzer.shutdown()


def to_its_end(analyzer: Analyzer, cluster: FakeCluster) -> Analysis:
    """As ``analyzed``."""
    analysis = analyzer.start(cluster.state, 10 * SETTINGS.epoch, [])
    for thread in threading.enumerate():
        if thread.name == "mds_partitioner-sampler":
            thread.join(60)
    return analysis


def seen(away: range = range(0), error: Exception = NO_ANSWER) -> Away:
    return Away(History().plus(SAMPLES, 1.0), away, error)


def test_what_an_analysis_has_found_is_known_to_the_next_manager(
    monkeypatch: pytest.MonkeyPatch, manager: Callable[[FakeCluster], Analyzer]
) -> None:
    cluster, judgement = FakeCluster(), found().judgement
    analysis = analyzed(monkeypatch, seen(), Away(judgement, range(0), NO_ANSWER), cluster)
    assert (analysis.state, analysis.note) == (FINISHED, "")
    after = manager(cluster)
    assert after.get(cluster.state).state == FINISHED
    kept = after.found(cluster.state).judgement
    assert [row.seen.directory for row in kept.directories] == [
        row.seen.directory for row in judgement.directories
    ]
    assert cluster.store.items("analysis/") == cluster.store.items("checkpoint/") == {}


def test_an_analysis_that_fails_leaves_the_one_before_to_be_planned_from_by_this_manager_and_the_next(
    monkeypatch: pytest.MonkeyPatch, manager: Callable[[FakeCluster], Analyzer]
) -> None:
    cluster = FakeCluster()
    judge = Away(found().judgement, range(2, 1000), PartitionerError("too little memory", code=12))
    analyzer = begun(monkeypatch, seen(), judge, cluster)
    try:
        first, second = to_its_end(analyzer, cluster), to_its_end(analyzer, cluster)
    finally:
        analyzer.shutdown()
    assert (first.state, second.state) == (FINISHED, FAILED)
    assert analyzer.get(cluster.state) is second
    assert second.note == f"{CAME_TO_NOTHING} {clock.told(first.ended or 0.0)}"
    kept, after = analyzer.found(cluster.state), manager(cluster).found(cluster.state)
    assert (kept.ended, kept.judgement) == (first.ended, first.judgement)
    assert after.ended == pytest.approx(kept.ended, abs=1.0)
    assert [row.seen.directory for row in after.judgement.directories] == [
        row.seen.directory for row in kept.judgement.directories
    ]


def test_one_that_began_after_another_failed_has_not_ended_though_the_clock_was_put_back(
    manager: Callable[[FakeCluster], Analyzer], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, replace(found(), ended=time.time() + 86_400.0))
    judge = Away(None, range(1, 1000), PartitionerError("too little memory", code=12))
    analyzer = begun(monkeypatch, seen(), judge, cluster)
    try:
        assert to_its_end(analyzer, cluster).state == FAILED
        assert analyzer.start(cluster.state, LONGEST, []).state == RUNNING
    finally:
        analyzer.shutdown()
    assert manager(cluster).get(cluster.state).state == RUNNING


CACHE = "mds_cache_memory_limit"


@pytest.mark.parametrize(
    ("told", "of_mon", "limit"),
    [
        ({"m0": "16", "m1": "16"}, {}, 16),
        ({"m0": "16", "m1": "8"}, {"m0": 2, "m1": 2}, 8),
        ({"m0": "odd", "m1": "16"}, {}, 4),
        ({"m1": "16"}, {"m0": 2}, 2),
        ({"m1": "2"}, {"m0": 16}, 2),
        ({}, {"m0": 16, "m1": 12}, 12),
        ({}, {}, 4),
    ],
    ids=[
        "each MDS's own",
        "the least",
        "an odd answer",
        "one is silent",
        "and has more",
        "all are silent",
        "for all MDSs",
    ],
)
def test_the_cache_of_a_rank_is_what_the_mdss_of_the_file_system_have(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, str], of_mon: dict[str, int], limit: int
) -> None:
    """In GiB; for all MDSs the mon has 4."""
    cluster, limits = FakeCluster(ranks=2), list[int]()
    cluster.told = {mds: {CACHE: str(int(of) << 30) if of.isdigit() else of} for mds, of in told.items()}
    cluster.configured |= {f"{mds}/{CACHE}": of << 30 for mds, of in of_mon.items()}

    def judge(window: WindowSummary, settings: Settings, cache_limit: int, *_: Any) -> Judgement:
        limits.append(cache_limit)
        return found().judgement

    assert analyzed(monkeypatch, Active(cluster, {}), judge, cluster).state == FINISHED
    assert limits == [limit << 30]


@pytest.mark.parametrize("mask", ["-1", "0x3"])
def test_an_analysis_is_of_all_ranks_whatever_the_mask_as_a_plan_may_use_them(
    monkeypatch: pytest.MonkeyPatch, mask: str
) -> None:
    def asked(window: WindowSummary, *arguments: Any) -> Judgement:
        return judge(window, *arguments[:-1], lambda name, values: CALLS[name](values))

    cluster = FakeCluster(ranks=4)
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    ranks = (replace(SAMPLES[0], rank=rank, name=f"m{rank}") for rank in range(4))
    samples = tuple(replace(rank, requests=100.0 * (rank.rank < 2)) for rank in ranks)
    history = Away(History().plus(samples, 1.0), range(0), NO_ANSWER)
    found = analyzed(monkeypatch, history, asked, cluster).judgement
    assert found is not None and found.verdict.most == pytest.approx(0.577, abs=0.001)
    assert found.verdict.importers == check_ranks(cluster.state, None)[2:]


def test_an_engine_that_fails_at_the_end_does_not_cost_the_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    judgement = found().judgement
    analysis = analyzed(monkeypatch, seen(), Away(judgement, range(1, 3), NO_ANSWER))
    assert (analysis.state, analysis.judgement, analysis.problem) == (FINISHED, judgement, "")


@pytest.mark.parametrize("error", [NO_ANSWER, EVICTED])
def test_an_mds_that_is_away_at_the_end_does_not_cost_the_analysis(
    monkeypatch: pytest.MonkeyPatch, error: PartitionerError
) -> None:
    history = seen(range(5, 1000), error)
    analysis = analyzed(monkeypatch, history, Away(found().judgement, range(0), NO_ANSWER))
    assert (analysis.state, analysis.epochs, analysis.problem) == (FINISHED, 4, str(error))


class Removing(Away):
    """At the fourth call the manager's FSMap has the file system no more; the mon neither, or it has."""

    def __init__(self, cluster: FakeCluster, of_mon: Callable[[int], FsState | None]) -> None:
        super().__init__(History().plus(SAMPLES, 1.0), range(0), NO_ANSWER)
        self.cluster, self.of_mon = cluster, of_mon

    def __call__(self, *_: Any) -> Any:
        if self.calls == 3:
            self.cluster.fs_by_id, self.cluster.fs_of_mon = lambda fscid: None, self.of_mon
        return super().__call__()


def test_the_analysis_of_a_removed_file_system_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    judge = Away(found().judgement, range(0), NO_ANSWER)
    analysis = analyzed(monkeypatch, Removing(cluster, lambda fscid: None), judge, cluster)
    assert (analysis.state, analysis.epochs) == (FAILED, 4)
    assert analysis.problem == "file system 'cephfs' was removed"
    assert cluster.store.items("") == {}


def test_an_analysis_goes_on_where_the_fsmap_alone_lacks_the_file_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    judge = Away(found().judgement, range(0), NO_ANSWER)
    there = cluster.state
    history = Removing(cluster, lambda fscid: there)
    assert analyzed(monkeypatch, history, judge, cluster).state == FINISHED


def test_what_was_found_outlives_an_fsmap_that_is_late(
    manager: Callable[[FakeCluster], Analyzer], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    shelf(cluster.store).save(cluster.state.fscid, found())
    monkeypatch.setattr(cluster, "fs_of_mon", cluster.fs_by_id)
    monkeypatch.setattr(cluster, "fs_by_id", lambda fscid: None)
    assert manager(cluster).get(cluster.state).state == FINISHED


def test_an_analysis_that_has_seen_nothing_yet_is_given_some_epochs_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = Away(found().judgement, range(0), NO_ANSWER)
    assert analyzed(monkeypatch, seen(range(1, 11), EVICTED), judge).state == FINISHED
    assert analyzed(monkeypatch, seen(range(1, 1000), EVICTED), judge).state == FAILED


def test_how_often_a_rank_was_saturated_is_counted_where_it_can_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts, busy, judgement = [], [], found().judgement

    def judge(window: WindowSummary, *_: Any) -> Judgement:
        parts.append(window.saturated)
        busy.append((window.busy, sum(window.loads.values())))
        return judgement

    verdicts = Away(SimpleNamespace(saturated=(0,)), range(1, 4), NO_ANSWER)
    Observer.full.clear()
    analysis = analyzed(monkeypatch, seen(), judge, verdicts=verdicts)
    assert parts == [{0: 1.0}]
    assert busy[0][0] == pytest.approx(busy[0][1]), "of every other epoch, and all are alike"
    assert Observer.full == [()] * 3 + [(0,)] * (analysis.epochs - 3)


class Untold(Away):
    """A rank has not told twice what it serves before so many calls."""

    def __init__(self, calls: int) -> None:
        super().__init__(None, range(0), NO_ANSWER)
        self.until = calls

    def __call__(self, *_: Any) -> History:
        super().__call__()
        told = tuple(replace(sample, rated=self.calls > self.until) for sample in SAMPLES)
        return History().plus(told, 1.0)


def test_an_epoch_in_which_a_rank_tells_nothing_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would count as idle."""
    judge = Away(found().judgement, range(0), NO_ANSWER)
    whole = analyzed(monkeypatch, Untold(0), judge).epochs
    partly = analyzed(monkeypatch, Untold(4), judge)
    assert (partly.state, partly.epochs, partly.problem) == (FINISHED, whole - 4, "")
    never = analyzed(monkeypatch, Untold(1000), judge)
    assert never.state == FAILED and never.problem.startswith("what rank 0 serves is not known")


class Active(Away):
    """Samples the ranks that are active; after so many calls the file system is another one."""

    def __init__(self, cluster: FakeCluster, then: dict[int, FsState]) -> None:
        super().__init__(History(), range(0), NO_ANSWER)
        self.cluster, self.then = cluster, then

    def __call__(self, *of: Any) -> History:
        """Ranks.history."""
        fs, now = of
        super().__call__()
        samples = tuple(replace(SAMPLES[0], rank=mds.rank, name=mds.name) for mds in fs.active())
        self.answer = self.answer.plus(samples, now)
        self.cluster.state = self.then.get(self.calls, self.cluster.state)
        return self.answer


TWO_RANKS = FakeCluster(ranks=2).state


def with_states(*states: str) -> FsState:
    """Of its ranks' MDSs; "": there is none."""
    held = (MdsInfo(rank, f"m{rank}", state) for rank, state in enumerate(states) if state)
    failed = tuple(rank for rank, state in enumerate(states) if not state)
    return replace(TWO_RANKS, mds=tuple(held), failed=failed)


AWAY = [
    (with_states("up:active", "up:replay"), "rank 1 (mds.m1) is up:replay: wait until every rank is active"),
    (with_states("up:rejoin", "up:active"), "rank 0 (mds.m0) is up:rejoin: wait until every rank is active"),
    (with_states("up:active", "up:stopping"), "rank 1 (mds.m1) is up:stopping"),
    (with_states("", ""), "rank 0,1 has failed"),
    (replace(with_states("up:active"), damaged=(1,)), "rank 1 is damaged: repair it"),
    (replace(TWO_RANKS, ranks_in=(), mds=()), "'cephfs' has no active rank: see 'ceph fs status cephfs'"),
]


@pytest.mark.parametrize(("then", "why"), AWAY)
def test_an_epoch_in_which_a_rank_is_not_active_does_not_count(
    monkeypatch: pytest.MonkeyPatch, then: FsState, why: str
) -> None:
    """The history of those that are left begins anew, and the rank's load would be none."""
    cluster, windows = FakeCluster(ranks=2), list[WindowSummary]()

    def judge(window: WindowSummary, *_: Any) -> Judgement:
        windows.append(window)
        return found().judgement

    analysis = analyzed(monkeypatch, Active(cluster, {4: then}), judge, cluster)
    assert (analysis.state, analysis.epochs, why in analysis.problem) == (FINISHED, 4, True)
    assert [(window.loads, window.rank_epochs) for window in windows] == [({0: 4.0, 1: 4.0}, 4)]


def test_an_analysis_goes_on_when_the_rank_is_active_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, windows = FakeCluster(ranks=2), list[WindowSummary]()

    def judge(window: WindowSummary, *_: Any) -> Judgement:
        windows.append(window)
        return found().judgement

    history = Active(cluster, {4: with_states("up:active", "up:resolve"), 6: cluster.state})
    analysis = analyzed(monkeypatch, history, judge, cluster)
    assert (analysis.state, analysis.problem) == (FINISHED, "")
    assert [(sorted(w.loads), w.epochs, w.rank_epochs) for w in windows] == [
        ([0, 1], history.calls - 2, history.calls - 6)
    ]


def test_an_analysis_during_which_a_rank_never_is_active_fails_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, judge = FakeCluster(), Away(found().judgement, range(0), NO_ANSWER)
    cluster.state = with_states("up:active", "")
    analysis = analyzed(monkeypatch, Active(cluster, {}), judge, cluster)
    assert (analysis.state, analysis.epochs, judge.calls) == (FAILED, 0, 0)
    assert analysis.problem.endswith("rank 1 has failed: start its MDS or a standby")


@pytest.mark.parametrize(
    ("error", "tries"), [(NO_ANSWER, LATE + 1), (PartitionerError("too little memory", code=12), 1)]
)
def test_an_analysis_that_cannot_be_judged_fails(
    monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    judge = Away(None, range(1, 1000), error)
    analysis = analyzed(monkeypatch, seen(), judge)
    assert (analysis.state, analysis.problem) == (FAILED, str(error))
    assert judge.calls == tries


@pytest.fixture
def until(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], bool]], None]:
    """Waits for what follows of an epoch that is sampled: it looks after each."""
    sampled, step = threading.Semaphore(0), Sampling.step

    def told(self: Sampling, *of: Any) -> bool:
        try:
            return step(self, *of)
        finally:
            sampled.release()

    def wait(condition: Callable[[], bool]) -> None:
        while not condition():
            assert sampled.acquire(timeout=60), "nothing was sampled within a minute"

    monkeypatch.setattr(Sampling, "step", told)
    return wait


def test_a_stop_that_cannot_be_judged_is_told_and_the_analysis_goes_on(
    monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], bool]], None]
) -> None:
    cluster, judge = FakeCluster(), Away(found().judgement, range(1, 2), Unavailable("no answer"))
    analyzer = begun(monkeypatch, seen(), judge, cluster)
    try:
        analysis = analyzer.start(cluster.state, LONGEST, [])
        until(lambda: analysis.epochs > 0)
        with pytest.raises(Unavailable, match="no answer; the analysis goes on: give 'analyze stop' again"):
            analyzer.stop(cluster.state)
        assert analysis.state == RUNNING and cluster.store.items("analysis/")
        before = analysis.epochs
        until(lambda: analysis.epochs > before)
        assert analyzer.stop(cluster.state) is analysis
        assert (analysis.state, analysis.judgement) == (STOPPED, judge.answer)
        assert cluster.store.items("analysis/") == {}
    finally:
        analyzer.shutdown()


def gone_on(monkeypatch: pytest.MonkeyPatch, history: Away, judge: Away, cluster: FakeCluster) -> Analyzer:
    """A manager that goes on with 180 epochs of the one before."""
    wanted = {"fs": "cephfs", "duration": LONGEST, "directories": [], "begun": time.time()}
    cluster.store.put("analysis/1", json.dumps(wanted))
    Archive(cluster.store, "checkpoint/", Checkpoint).save(1, Checkpoint(1800.0, 180, 0, ()))
    return begun(monkeypatch, history, judge, cluster)


def test_a_stop_soon_after_a_fail_over_is_told_and_throws_nothing_away(
    monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], bool]], None]
) -> None:
    """The ranks have not told the new manager what they serve."""
    cluster, history = FakeCluster(), Untold(10_000)
    judge = Away(found().judgement, range(0), NO_ANSWER)
    monkeypatch.setattr(analyses, "SOON", float(LONGEST))
    analyzer = gone_on(monkeypatch, history, judge, cluster)
    try:
        analysis = analyzer.get(cluster.state)
        until(lambda: analysis.problem != "")
        with pytest.raises(Unavailable, match=r"taken over.*rank 0 serves.*the analysis goes on: give"):
            analyzer.stop(cluster.state)
        assert (analysis.state, analysis.ended) == (RUNNING, None)
        assert cluster.store.items("analysis/") and cluster.store.items("checkpoint/")
        history.until = 0
        until(lambda: analysis.epochs > 180)
        assert analyzer.stop(cluster.state) is analysis
        assert (analysis.state, analysis.judgement) == (STOPPED, judge.answer)
        assert cluster.store.items("checkpoint/") == cluster.store.items("analysis/") == {}
    finally:
        analyzer.shutdown()


def test_while_a_rank_is_away_for_long_after_a_fail_over_an_analysis_can_be_stopped_and_another_begun(
    monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], bool]], None]
) -> None:
    cluster, history = FakeCluster(), Untold(10_000)
    judge = Away(found().judgement, range(0), NO_ANSWER)
    analyzer = gone_on(monkeypatch, history, judge, cluster)
    try:
        until(lambda: history.calls * SETTINGS.epoch > SOON)
        analysis = analyzer.stop(cluster.state)
        assert (analysis.state, analysis.judgement, judge.calls) == (FAILED, None, 0)
        assert analysis.problem.startswith(f"{UNSAMPLED}: what rank 0 serves is not known")
        assert cluster.store.items("checkpoint/") == cluster.store.items("analysis/") == {}
        assert analyzer.start(cluster.state, LONGEST, []).state == RUNNING
    finally:
        analyzer.shutdown()


@pytest.mark.parametrize(("epoch", "soon"), [(10, 60.0), (30, 60.0), (300, 600.0)])
def test_a_stop_is_refused_for_a_minute_after_a_fail_over_or_for_two_epochs(epoch: int, soon: float) -> None:
    judge: Any = Away(found().judgement, range(0), NO_ANSWER)
    analysis = Analysis("cephfs", LONGEST, started=-1000.0, epochs=180)
    sampling = Sampling(analysis, judge, dict, judge, Checkpoint(1800.0, 180, 0, ()))
    settings = replace(SETTINGS, epoch=epoch)
    with pytest.raises(Unavailable, match=UNSAMPLED):
        sampling.judge(settings, Now(1e9, 800.0 + soon - 1.0))
    assert (analysis.ended, analysis.problem) == (None, "")
    sampling.judge(settings, Now(1e9, 800.0 + soon))
    assert (analysis.ended, analysis.judgement, analysis.problem) == (1e9, None, UNSAMPLED)


def test_what_is_sampled_while_an_analysis_is_stopped_leaves_no_checkpoint(
    monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], bool]], None]
) -> None:
    cluster = FakeCluster()
    monkeypatch.setattr(analyses, "CHECKPOINT_EVERY", 0.0)

    def judge(*_: Any) -> Any:
        before = analysis.epochs
        until(lambda: analysis.epochs > before)
        return found().judgement

    analyzer = begun(monkeypatch, seen(), judge, cluster)
    try:
        analysis = analyzer.start(cluster.state, LONGEST, [])
        until(lambda: cluster.store.items("checkpoint/") != {})
        assert analyzer.stop(cluster.state).state == STOPPED
        for thread in threading.enumerate():
            if thread.name == "mds_partitioner-sampler":
                thread.join(60)
        assert cluster.store.items("checkpoint/") == cluster.store.items("analysis/") == {}
    finally:
        analyzer.shutdown()
