# SPDX-License-Identifier: LGPL-2.1-or-later
"""An analysis is ended once, by whoever comes first, and leaves nothing to be gone on with; who ends it waits
for nothing that is being saved."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from fake_cluster import SETTINGS, FakeCluster, Store
from test_analyzer import NO_ANSWER, Away, Ranks, begun, seen
from test_archive import found

from mds_partitioner import analyzer as analyzers
from mds_partitioner.analyzer import Analyzer
from mds_partitioner.errors import Busy, JournalError, Unavailable
from mds_partitioner.judge import analysis as analyses
from mds_partitioner.judge.analysis import FAILED, FINISHED, RUNNING, STOPPED, Sampling
from mds_partitioner.judge.archive import Archive
from mds_partitioner.judge.judgement import Judgement
from mds_partitioner.judge.window import Checkpoint
from mds_partitioner.options import LONGEST

SECONDS = 60.0  # that tests wait at most
AT_ONCE = 20.0  # s, far more than what waits for nothing takes
EPOCH = SETTINGS.epoch
SAMPLER = "mds_partitioner-sampler"


class Slow(Store):
    """A mon that does not answer the first write of a key before it may; ``fails``: nor then."""

    def __init__(self, cluster: FakeCluster, key: str, *, fails: bool = False) -> None:
        super().__init__(cluster)
        self.key, self.fails = key, fails
        self.waits, self.may = threading.Event(), threading.Event()

    def put(self, key: str, value: str) -> None:
        """It is carried out in any case."""
        late = key == self.key and not self.waits.is_set()
        if late:
            self.waits.set()
            assert self.may.wait(SECONDS)
        super().put(key, value)
        if late and self.fails:
            raise JournalError("the mon did not answer")


def sampled_to_the_end() -> None:
    """What samples has ended."""
    for thread in threading.enumerate():
        if thread.name == SAMPLER:
            thread.join(SECONDS)
            assert not thread.is_alive()


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """For what a test waits for."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


@contextmanager
def ending(analyzer: Analyzer, *events: threading.Event) -> Iterator[None]:
    """Whatever becomes of a test, nothing waits any more after it."""
    try:
        yield
    finally:
        for event in events:
            event.set()
        analyzer.shutdown()


def next_manager(cluster: FakeCluster) -> Analyzer:
    parts: Any = (cluster, None, Ranks(), lambda: SETTINGS, logging.getLogger("test"))
    return Analyzer(*parts)


JUDGED = Away(found().judgement, range(0), NO_ANSWER)


@pytest.mark.parametrize("fails", [False, True])
def test_a_stop_does_not_wait_for_a_checkpoint_and_what_comes_late_is_removed(
    monkeypatch: pytest.MonkeyPatch, beside: ThreadPoolExecutor, fails: bool
) -> None:
    monkeypatch.setattr(analyses, "CHECKPOINT_EVERY", 0.0)
    cluster = FakeCluster()
    cluster.store = mon = Slow(cluster, "checkpoint/1/seal", fails=fails)
    analyzer = begun(monkeypatch, seen(), JUDGED, cluster)
    with ending(analyzer, mon.may):
        analyzer.start(cluster.state, LONGEST, [])
        assert mon.waits.wait(SECONDS)
        analysis = beside.submit(analyzer.stop, cluster.state).result(AT_ONCE)
        assert (analysis.state, analysis.judgement) == (STOPPED, JUDGED.answer)
        assert mon.items("analysis/") == {}
        with pytest.raises(Busy, match="give 'analyze start' again"):
            analyzer.start(cluster.state, LONGEST, [])
        mon.may.set()
        sampled_to_the_end()
        assert mon.items("checkpoint/") == {}
        assert analysis.problem == ""
        assert analyzer.start(cluster.state, LONGEST, []).state == RUNNING


def test_a_checkpoint_that_came_after_the_end_of_its_analysis_is_removed_by_the_next_manager() -> None:
    cluster = FakeCluster()
    Archive(cluster.store, "checkpoint/", Checkpoint).save(1, Checkpoint(1800.0, 180, 0, ()))
    next_manager(cluster).begin()
    assert cluster.store.items("") == {}


def test_the_checkpoint_of_an_analysis_that_a_later_version_began_stays() -> None:
    cluster = FakeCluster()
    cluster.store.put("analysis/1", '{"format": 99}')
    Archive(cluster.store, "checkpoint/", Checkpoint).save(1, Checkpoint(1800.0, 180, 0, ()))
    before = cluster.store.items("")
    next_manager(cluster).begin()
    assert cluster.store.items("") == before


class Judges:
    """The first time it does not answer before it may, and ``fails`` then or not."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails, self.calls = fails, 0
        self.begun, self.may = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> Judgement:
        """judge."""
        self.calls += 1
        if self.calls == 1:
            self.begun.set()
            assert self.may.wait(SECONDS)
            if self.fails:
                raise NO_ANSWER
        return found().judgement


@pytest.fixture
def stop_waits(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when an order to stop is about to wait for who is ending the analysis."""
    comes, claim = threading.Event(), Sampling.claim

    def told(self: Sampling, patience: float = 0.0) -> Any:
        if patience:
            comes.set()
        return claim(self, patience)

    monkeypatch.setattr(Sampling, "claim", told)
    return comes


@pytest.mark.parametrize(("fails", "calls", "state"), [(False, 1, FINISHED), (True, 2, STOPPED)])
def test_a_stop_that_comes_while_it_ends_by_itself_tells_what_comes_out_or_ends_it(
    monkeypatch: pytest.MonkeyPatch,
    beside: ThreadPoolExecutor,
    stop_waits: threading.Event,
    fails: bool,
    calls: int,
    state: str,
) -> None:
    cluster, judges = FakeCluster(), Judges(fails=fails)
    analyzer = begun(monkeypatch, seen(), judges, cluster)
    with ending(analyzer, judges.may):
        analysis = analyzer.start(cluster.state, EPOCH, [])
        assert judges.begun.wait(SECONDS)
        stopped = beside.submit(analyzer.stop, cluster.state)
        assert stop_waits.wait(SECONDS)
        judges.may.set()
        assert stopped.result(SECONDS) is analysis
        sampled_to_the_end()
        assert (analysis.state, judges.calls) == (state, calls)
        assert cluster.store.items("analysis/") == {}


def test_a_stop_waits_no_longer_than_its_patience_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzers, "PATIENCE", 0.0)
    cluster, judges = FakeCluster(), Judges()
    analyzer = begun(monkeypatch, seen(), judges, cluster)
    with ending(analyzer, judges.may):
        analysis = analyzer.start(cluster.state, EPOCH, [])
        assert judges.begun.wait(SECONDS)
        with pytest.raises(Busy, match="ending by itself: 'ceph mds_partitioner analyze status cephfs'"):
            analyzer.stop(cluster.state)
        judges.may.set()
        sampled_to_the_end()
        assert (analysis.state, judges.calls) == (FINISHED, 1)


class Epochs(Away):
    """Tells of each epoch that is sampled."""

    def __init__(self) -> None:
        super().__init__(seen().answer, range(0), NO_ANSWER)
        self.sampled = threading.Semaphore(0)

    def __call__(self, *_: Any) -> Any:
        self.sampled.release()
        return super().__call__()


@pytest.mark.parametrize("away", [range(0), range(3, 1000)])
def test_what_is_judged_for_a_stop_neither_ends_nor_fails_by_itself_meanwhile(
    monkeypatch: pytest.MonkeyPatch, beside: ThreadPoolExecutor, away: range
) -> None:
    cluster, judges, epochs = FakeCluster(), Judges(), Epochs()
    epochs.away, epochs.error = away, ValueError("nobody expected it")
    analyzer = begun(monkeypatch, epochs, judges, cluster)
    with ending(analyzer, judges.may):
        analysis = analyzer.start(cluster.state, 5 * EPOCH, [])
        for _ in range(2):
            assert epochs.sampled.acquire(timeout=SECONDS)
        stopped = beside.submit(analyzer.stop, cluster.state)
        assert judges.begun.wait(SECONDS)
        for _ in range(8):  # beyond the end
            assert epochs.sampled.acquire(timeout=SECONDS)
        assert analysis.state == RUNNING
        judges.may.set()
        assert stopped.result(SECONDS) is analysis
        assert (analysis.state, judges.calls) == (STOPPED, 1)
        sampled_to_the_end()
        assert analysis.state == STOPPED and cluster.store.items("analysis/") == {}


def test_an_analysis_is_seen_as_failed_when_nothing_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is begun then would be taken for ended by the next manager."""
    cluster, seen_as = FakeCluster(), list[str]()
    delete = cluster.store.delete
    analyzer = begun(monkeypatch, seen(range(1, 1000)), JUDGED, cluster)

    def told(key: str) -> None:
        if key.startswith("analysis/"):
            seen_as.append(analyzer.get(cluster.state).state)
        delete(key)

    monkeypatch.setattr(cluster.store, "delete", told)
    with ending(analyzer):
        analysis = analyzer.start(cluster.state, EPOCH, [])
        sampled_to_the_end()
        assert (seen_as, analysis.state) == ([RUNNING], FAILED)


def test_what_fails_as_the_module_ends_costs_no_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, over = FakeCluster(), list[Callable[[], None]]()

    class Ended(Away):
        """The threads that ask are gone."""

        def __call__(self, *_: Any) -> Any:
            super().__call__()
            over[0]()
            raise RuntimeError("cannot schedule new futures after shutdown")

    analyzer = begun(monkeypatch, Ended(None, range(0), NO_ANSWER), JUDGED, cluster)
    over.append(analyzer.shutdown)
    analysis = analyzer.start(cluster.state, EPOCH, [])
    sampled_to_the_end()
    assert analysis.state == RUNNING
    assert list(cluster.store.items("analysis/")) == ["analysis/1"]


def test_a_manager_that_must_begin_twice_goes_on_with_what_it_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    for fscid in (1, 2):
        wanted = {"fs": "cephfs", "duration": 600, "directories": [], "begun": time.time()}
        cluster.store.put(f"analysis/{fscid}", json.dumps(wanted))
    delete, refused = cluster.store.delete, [JournalError("the mon refused 'config-key rm'")]

    def told(key: str) -> None:
        if refused:
            raise refused.pop()
        delete(key)

    monkeypatch.setattr(cluster.store, "delete", told)  # of the one whose file system is gone
    analyzer = next_manager(cluster)
    with ending(analyzer):
        with pytest.raises(JournalError):
            analyzer.begin()
        analysis = analyzer.get(cluster.state)
        analyzer.begin()
        assert analyzer.get(cluster.state) is analysis
        assert list(cluster.store.items("analysis/")) == ["analysis/1"]


def test_nothing_is_begun_before_it_is_known_what_the_last_manager_was_sampling() -> None:
    cluster = FakeCluster()
    with pytest.raises(Unavailable, match="starting"):
        next_manager(cluster).start(cluster.state, LONGEST, [])
    assert cluster.store.items("") == {}
