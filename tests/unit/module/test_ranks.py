# SPDX-License-Identifier: LGPL-2.1-or-later
"""One history of the ranks, one verdict an epoch, and what is learned from it."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import SETTINGS, FakeCluster
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.commands.overview import OverviewCommands
from mds_partitioner.desk import Desk
from mds_partitioner.engine.calls import CALLS
from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.engine.judge import judge as engine_judge
from mds_partitioner.errors import Unavailable, Unheard
from mds_partitioner.judge.fullness import Fullness, fullness
from mds_partitioner.judge.history import EPOCHS, SOON, History
from mds_partitioner.judge.learned import Learned, learn
from mds_partitioner.judge.verdict import rank_arguments
from mds_partitioner.model import MdsInfo, RankSample
from mds_partitioner.ranks import Ranks

EPOCH = SETTINGS.epoch
LEARNING = replace(SETTINGS, rank_capacity=0.0)


class Host(FakeCluster):
    """Rank 0 serves ``rate`` req/s at ``latency`` s; the other is idle."""

    def __init__(self) -> None:
        super().__init__(ranks=2)
        self.rate, self.latency = 500.0, 0.1
        self.asked = 0
        self.wall = 10.0
        self.reports = True

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        """Host.counter."""
        rate = self.rate if mds in ("m0", "fresh") else 0.0
        if path == "mds_server.handle_client_request":
            self.asked += 1
            if mds != "m1" and self.reports:
                self.wall += 10.0
            return [(self.wall - 10.0, 0.0), (self.wall, 10 * rate)]
        if path == "mds.inodes":
            return [(self.wall if self.reports else 10.0, 1.0)]
        if path in ("mds.reply_latency", "mds_server.req_lookup_latency"):
            return [(0.0, 0.0, 0.0), (10.0, 10 * rate * self.latency * 1e9, 10 * rate)]
        return []


def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    assert name == "judge"
    return engine_judge(arguments)


@pytest.fixture
def host() -> Host:
    return Host()


def ranks_of(host: Any) -> Ranks:
    ranks = Ranks(host, engine, lambda: LEARNING, logging.getLogger("test"), lambda: host.wall)
    ranks.begin(0.0)
    return ranks


def sample(rank: int, name: str, requests: float = 1.0) -> RankSample:
    return RankSample(rank, name, requests, 0.0, 0, 0, 0, 0.0, 0.0, 1)


def test_whoever_asks_within_an_epoch_gets_one_sample_and_one_verdict(host: Host) -> None:
    ranks = ranks_of(host)
    first = ranks.judge(host.state, 100.0)
    assert ranks.judge(host.state, 100.0 + 0.5 * EPOCH) is first
    assert host.asked == 2  # one of each rank
    assert ranks.judge(host.state, 100.0 + EPOCH) is not first
    assert len(ranks.history(host.state, 100.0 + EPOCH).epochs) == 2


@pytest.mark.parametrize("mask", ["0x0", "0", "all", "0x30"])
def test_without_a_rank_in_the_mask_all_are_judged(host: Host, mask: str) -> None:
    every = ranks_of(host).judge(host.state, 100.0)
    host.state = replace(host.state, bal_rank_mask=mask)
    assert ranks_of(host).judge(host.state, 100.0).exporters == every.exporters == (0,)


def test_a_silent_rank_is_not_judged_as_idle_and_imbalance_says_so(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = host.counter

    def without_m1(mds: str, path: str) -> list[tuple[float, ...]]:
        return [(at - 100.0 * (mds == "m1"), *values) for at, *values in counter(mds, path)]

    assert ranks_of(host).judge(host.state, 0.0).exporters == (0,)
    monkeypatch.setattr(host, "counter", without_m1)
    commands, ranks = OverviewCommands(), ranks_of(host)
    commands.desk, commands.host, commands.ranks, commands.wake = Desk(), host, ranks, lambda: None
    told = commands.show_imbalance().stdout
    assert told.endswith("\nrank 1 (mds.m1) has said nothing for over 20 s: not judged")
    plain = json.loads(commands.show_imbalance(format="json").stdout)
    assert told.endswith(f"\n{plain['problem']}") and plain["loads"][1] is None
    verdict = ranks.judge(host.state, time.monotonic())
    assert (verdict.most, verdict.exporters, verdict.importers) == (0.0, (), ())
    commands.desk.shutdown()


def test_another_daemon_on_a_rank_is_sampled_at_once_and_begins_anew(host: Host) -> None:
    ranks = ranks_of(host)
    for at in (0.0, EPOCH):
        ranks.judge(host.state, at)
    host.state = replace(host.state, mds=(MdsInfo(0, "fresh", "up:active"), host.state.mds[1]))
    history = ranks.history(host.state, EPOCH + 1.0)
    assert [s.name for s in history.latest] == ["fresh", "m1"] and len(history.epochs) == 1


@given(st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=40))
def test_a_history_is_of_one_set_of_daemons_and_bounded(names: list[str]) -> None:
    history = History()
    for at, name in enumerate(names):
        history = history.plus((sample(1, "x"), sample(0, name)), float(at))
    assert {s.name for row in history.epochs for s in row} == {names[-1], "x"}
    assert len(history.epochs) <= EPOCHS
    assert list(history.series()) == [0, 1]
    assert history.taken == len(names) - 1
    assert names[int(history.began) :] == [names[-1]] * (len(names) - int(history.began))


def test_a_look_for_ranks_that_had_not_told_takes_the_place_of_the_epoch() -> None:
    """So a silent rank neither fills the history with looks nor puts off the next epoch."""
    pair = [(0, "a"), (1, "b")]
    both = tuple(replace(sample(r, n), reported=10.0 + r, rated=r == 0) for r, n in pair)
    history = History().plus(both, 0.0, 3600.0)
    assert not history.due(pair, SOON - 0.1, 3600.0) and history.due(pair, SOON, 3600.0)
    later = tuple(replace(s, requests=9.0, reported=s.reported + 5.0, rated=True) for s in both)
    history = history.plus(later, SOON, 3600.0)
    assert [s.requests for s in history.latest] == [9.0, 9.0]
    assert (len(history.epochs), history.taken) == (1, 0.0)
    assert not history.due(pair, 600.0, 3600.0) and history.due(pair, 3240.0, 3600.0)
    history = history.plus(tuple(replace(s, reported=3600.0) for s in later), 3600.0, 3600.0)
    assert (len(history.epochs), history.taken) == (2, 3600.0)


@pytest.mark.parametrize(("interval", "period"), [(1, 5), (2, 5), (5, 5), (5, 15), (10, 5), (3, 4)])
def test_a_full_rank_teaches_what_it_can_do_however_often_it_is_looked_at(interval: int, period: int) -> None:
    history = History()
    for now in range(0, 8 * max(interval, period), interval):
        reports = [(now + phase) // period * period - phase + 1_000.0 for phase in (0, period // 2)]
        both = (
            replace(sample(rank, name, rate), latency=0.05, quickest=0.05, reported=at)
            for rank, (name, rate, at) in enumerate(zip("ab", (1000.0, 300.0), reports))
        )
        history = history.plus(tuple(both), float(now))
    taught = fullness(
        history.series(), Fullness(), lambda name, arguments: CALLS[name](arguments), ()
    ).capacity
    assert {name: round(each.value) for name, each in taught.items()} == {"a": 1000, "b": 300}


def test_a_rank_that_falls_silent_between_two_reports_of_others_does_nothing_now() -> None:
    both = tuple(replace(sample(r, n), reported=10.0, quickest=0.05) for r, n in enumerate("ab"))
    history = History().plus(both, 0.0)
    history = history.plus((both[0], replace(both[1], requests=0.0, quickest=0.0, reported=0.0)), 1.0)
    assert [s.requests for s in history.latest] == [both[0].requests, 0.0]
    assert [s.quickest for s in history.latest] == [0.0, 0.0]


def test_what_is_learned_is_kept_for_the_next_manager(host: Host) -> None:
    ranks = ranks_of(host)
    assert ranks.judge(host.state, 0.0).capacity.source is CapacitySource.UNKNOWN
    learned = ranks.judge(host.state, EPOCH)
    assert learned.capacity.source is CapacitySource.LEARNED
    assert learned.capacity.value == pytest.approx(500, rel=0.05)
    host.rate = 10.0
    host.latency = 0.001
    after = ranks_of(host).judge(host.state, 0.0)
    assert after.capacity.source is CapacitySource.EARLIER
    assert after.capacity.value == pytest.approx(500, rel=0.05)


@pytest.mark.parametrize(("latency", "value"), [(0.00002, None), (0.0006, 1500.0)])
def test_a_rate_that_fills_no_rank_is_not_learned(host: Host, latency: float, value: float | None) -> None:
    host.store.put(f"capacity/{host.state.fscid}", "500.0")
    ranks = ranks_of(host)
    host.rate, host.latency = 1500.0, latency
    for at in range(4):
        verdict = ranks.judge(host.state, at * EPOCH)
    assert (verdict.capacity.value, verdict.taught) == (value, None)
    assert ranks.learned(host.state.fscid) == 500.0
    assert host.store.items("capacity/") == {f"capacity/{host.state.fscid}": "500.0"}
    assert ranks.judge(host.state, 3.5 * EPOCH) is verdict, "it is judged once"


def test_the_capacity_of_a_file_system_that_is_gone_is_not_kept(host: Host) -> None:
    host.store.put("capacity/99", "450.0")
    ranks_of(host)
    assert host.store.items("capacity/") == {}


def test_what_others_put_among_the_capacities_is_left_alone(host: Host) -> None:
    host.store.put("capacity/mine", "450.0")
    ranks_of(host)
    assert host.store.items("capacity/") == {"capacity/mine": "450.0"}


@pytest.mark.parametrize("value", ["nonsense", "0", "-5", "nan", "inf"])
def test_a_capacity_that_cannot_be_read_is_learned_anew(host: Host, value: str) -> None:
    host.store.put(f"capacity/{host.state.fscid}", value)
    ranks = ranks_of(host)
    assert ranks.learned(host.state.fscid) is None
    for at in (0.0, EPOCH):
        ranks.judge(host.state, at)
    assert ranks_of(host).learned(host.state.fscid) == pytest.approx(500, rel=0.05)


def test_a_capacity_that_cannot_be_saved_is_known_all_the_same(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(key: str, value: str) -> None:
        raise Unavailable("no mon")

    ranks = ranks_of(host)
    with monkeypatch.context() as patch:
        patch.setattr(host.store, "put", refuse)
        for at in (0.0, EPOCH):
            ranks.judge(host.state, at)
        assert ranks.learned(host.state.fscid) == pytest.approx(500, rel=0.05)
        host.rate, host.latency = 10.0, 0.001
        for at in range(2, EPOCHS + 4):
            assert ranks.judge(host.state, at * EPOCH).capacity.value is not None
    assert ranks.judge(host.state, (EPOCHS + 4) * EPOCH).taught is None
    assert list(host.store.items("capacity/")) == [f"capacity/{host.state.fscid}"], "it is saved later"


def test_the_store_is_written_once_for_a_steady_load_and_never_read_again(host: Host) -> None:
    ranks = ranks_of(host)
    before = len(host.events)
    for at in range(20):
        host.rate = 500.0 + at % 3
        ranks.judge(host.state, at * EPOCH)
    assert len(host.events) - before == 1


def test_a_few_stuck_requests_do_not_spoil_a_capacity(host: Host) -> None:
    ranks = ranks_of(host)
    host.rate, host.latency = 9000.0, 0.01
    for at in range(3):
        ranks.judge(host.state, at * EPOCH)
    host.rate, host.latency = 3.0, 8.0
    for at in range(3, 3 + 3 * EPOCHS):
        known = ranks.judge(host.state, at * EPOCH).capacity.value
    assert known is not None and known >= 8900


def test_a_rank_that_is_not_there_does_not_stand_for_one_that_has_told_nothing(host: Host) -> None:
    """Rank 1 is replayed while a new manager has heard rank 0 once."""
    host.state = replace(host.state, mds=host.state.mds[:1])
    host.reports = False
    host.wall += 60.0
    with pytest.raises(Unheard, match="no rank of 'cephfs' has told this manager twice"):
        ranks_of(host).judge(host.state, 0.0)


@pytest.mark.parametrize(
    ("rates", "loads"),
    [
        ([None, 500.0, 510.0], [500.0, 500.0, 510.0]),
        ([500.0, 480.0, None, None, 510.0], [500.0, 480.0, 510.0, 510.0, 510.0]),
        ([500.0, None, None], [500.0, 500.0, 0.0]),
        ([None], [0.0]),
    ],
)
def test_what_a_rank_has_not_told_is_not_nothing_and_no_growth(
    rates: list[float | None], loads: list[float]
) -> None:
    blank = RankSample(0, "m0", 0.0, 0.0, 0, 0, 0, 0.0, 0.0, 0)
    row = [replace(blank, requests=rate or 0.0, rated=rate is not None) for rate in rates]
    arguments = rank_arguments({0: row}, SETTINGS, None)
    assert arguments["loads"] == [loads]
    assert arguments["served"] == [[rate or 0.0 for rate in rates]], "nobody kept up what was filled in"


def test_counters_that_are_reported_no_more_teach_nothing(host: Host) -> None:
    ranks = ranks_of(host)
    host.rate, host.latency = 9000.0, 0.01
    for at in range(3):
        ranks.judge(host.state, at * EPOCH)
    host.rate, host.latency = 30.0, 1.0
    host.wall += 60.0
    host.reports = False
    for at in range(3, 3 + 3 * EPOCHS):
        with pytest.raises(Unheard, match="no rank of 'cephfs' has told this manager twice"):
            ranks.judge(host.state, at * EPOCH)
    host.reports = True
    verdict = ranks.judge(host.state, (3 + 3 * EPOCHS) * EPOCH)
    assert verdict.capacity.value is not None and verdict.capacity.value >= 8900


def test_one_report_seen_twice_is_not_two_epochs_of_a_full_rank(host: Host) -> None:
    ranks = ranks_of(host)
    ranks.judge(host.state, 0.0)
    host.reports = False
    again = ranks.judge(host.state, EPOCH)
    assert again.saturated == () and again.capacity.source is CapacitySource.UNKNOWN
    assert again.loads == (500.0, 0.0)


def test_a_capacity_falls_by_half_a_window_while_a_rank_stays_full_of_less(host: Host) -> None:
    ranks = ranks_of(host)
    host.rate, host.latency = 8000.0, 0.01
    for at in range(EPOCHS):
        ranks.judge(host.state, at * EPOCH)
    host.rate, host.latency = 500.0, 0.1
    known, used = [], []
    for at in range(EPOCHS, 8 * EPOCHS):
        used.append(ranks.judge(host.state, at * EPOCH).capacity.value)
        known.append(ranks.learned(host.state.fscid) or 0.0)
    assert used == known, "what is judged by is what is remembered"
    steps = [b / a for a, b in zip(known, known[1:]) if b < a]
    assert steps and min(steps) >= 0.5 and len(steps) <= 7
    assert known[EPOCHS // 2] > 7000 and known[-1] < 1000


@given(st.floats(1, 1e5), st.lists(st.floats(0.1, 1e5), max_size=30))
def test_more_is_believed_at_once_and_less_once_a_window(first: float, taught: list[float]) -> None:
    known = Learned(first, 0.0)
    for at, value in enumerate(taught):
        fresh = learn(known, value, float(at), 12.0)
        assert fresh.value >= value or fresh == known
        assert fresh.value >= known.value or at - known.since >= 12.0
        known = fresh
