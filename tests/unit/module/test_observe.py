# SPDX-License-Identifier: LGPL-2.1-or-later
"""From the daemons' answers to samples."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, ItemsView, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cluster import SETTINGS, FakeCluster
from fake_cluster import Directory as Placed
from hypothesis import given
from hypothesis import strategies as st
from scheduled import Cluster, LoadedMount

from mds_partitioner.engine.calls import CALLS
from mds_partitioner.engine.saturation import saturated_epochs, saturated_ranks
from mds_partitioner.errors import CephError, NotFound, PartitionerError, Unavailable
from mds_partitioner.judge.history import History
from mds_partitioner.judge.judgement import Caveats, Judgement, judge
from mds_partitioner.judge.window import Observed, Window, equal_parts
from mds_partitioner.model import (
    Directory,
    DirectoryFacts,
    FsState,
    HealthCheck,
    Observation,
    RankSample,
    Session,
    Subtree,
    SubtreeSample,
)
from mds_partitioner.observe import heat as heat_module
from mds_partitioner.observe.attribution import Share, attribute, needs_heat, owner
from mds_partitioner.observe.counters import level, mean_time, rate, unbroken
from mds_partitioner.observe.heat import (
    ALL,
    ME,
    OWN,
    Heat,
    kept,
    parse_heat,
    rank_heat,
    requests,
    requests_below,
    right_in,
    uncounted,
)
from mds_partitioner.observe.observer import SPARED, Observer
from mds_partitioner.observe.ranks import kinds, observe_ranks, part, quickest, served, silent
from mds_partitioner.observe.sessions import clients_at, parse_sessions
from mds_partitioner.observe.subtrees import SubtreeMap, above, ancestors, parse_subtrees
from mds_partitioner.observe.working_sets import parse_working_sets
from mds_partitioner.plan.caveats import caveats
from mds_partitioner.report.analysis import judgement_text, judgement_value, rank_table
from mds_partitioner.report.text import printable, table
from mds_partitioner.schedule.watch import RankAnswer
from mds_partitioner.verify.guards import PLAN, SCHEDULER, Hold, hold, silence, why_wait

A, B = "/volumes/_nogroup/a", "/volumes/_nogroup/b"
TYPED = "/volumes/_nogroup/A"  # where case does not count


def test_a_rate_is_the_increase_over_the_window() -> None:
    assert rate([(0, 0), (5, 50), (10, 150), (15, 250)], 10) == 20.0


def test_a_report_that_comes_late_leaves_out_no_interval() -> None:
    # Every 5 s, 10 req/s; what was counted in an interval shows half a second late in each second report.
    assert rate([(0.0, 0), (5.5, 55), (10.2, 100), (15.6, 155)], 10) == pytest.approx(100 / 10.1)


def test_a_counter_that_restarted_has_no_negative_rate() -> None:
    assert rate([(0, 100), (5, 3)], 10) == 0.0


@pytest.mark.parametrize(
    ("points", "newest"),
    [
        ([(0, 0), (5, 50), (10, 100)], 3),
        ([(0, 900), (5, 950), (10, 3), (15, 53)], 2),  # it began anew
        ([(0, 0, 9), (5, 50, 12), (10, 51, 2)], 1),  # told by how many there were
        ([(0, 0), (5, 50), (3605, 100), (3610, 150)], 2),  # the clock was put forward
        ([(3600, 0), (3605, 50), (5, 100), (10, 150)], 2),  # back
        ([], 0),
    ],
)
def test_no_rate_is_told_over_a_restart_or_a_step_of_the_clock(
    points: list[tuple[float, ...]], newest: int
) -> None:
    assert unbroken(points, 20.0) == points[len(points) - newest :]


@pytest.mark.parametrize("waited", [0.0, 7.0, 9.0, 14.0, 18.0, 24.0, 60.0])
@pytest.mark.parametrize("window", [5.0, 10.0, 60.0])
def test_reports_that_waited_and_came_together_make_no_rate_that_there_was_not(
    waited: float, window: float
) -> None:
    """500 req/s, reported each 5 s; from 100 s on nothing comes for so long, and then all at once."""
    sent = [(5.0 * k, 2500.0 * k) for k in range(1, 40)]
    late = 100.0 + waited
    came = [(max(at, late + 0.002 * k) if 100.0 <= at <= late else at, n) for k, (at, n) in enumerate(sent)]

    class Waits(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            return seen if path == "mds_server.handle_client_request" else []

    host: Any = Waits()
    for last in range(12, len(came)):
        if came[last][0] < came[last - 1][0] + 1.0:
            continue  # the others come in a moment
        seen: list[tuple[float, ...]] = list(came[last - 12 : last])
        (sample, *_) = observe_ranks(host, host.state, window, seen[-1][0])
        # What the last of those that waited tells is less than a report old.
        assert not sample.rated or 375.0 <= sample.requests <= 625.0
        assert sample.rated or late <= seen[-1][0] < late + 5.0


def test_a_rank_whose_counters_began_anew_has_no_rate_before_the_second_report() -> None:
    class Restarted(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            return [(1000.0, 9e6), (1005.0, 10.0)]

    host: Any = Restarted()
    assert not any(sample.rated for sample in observe_ranks(host, host.state, 5.0, 1006.0))


@pytest.mark.parametrize("points", [[], [(1.0, 5.0)], [(1.0, 5.0), (1.0, 6.0)]])
def test_too_few_points_make_no_rate(points: list[tuple[float, ...]]) -> None:
    assert rate(points, 10) == 0.0


def test_a_mean_time_is_in_seconds() -> None:
    assert mean_time([(0, 0, 0), (5, 4e9, 100)], 10) == pytest.approx(0.04)
    assert level([(0, 1), (5, 7)]) == 7


def test_ancestors_go_up_to_the_root() -> None:
    assert list(ancestors("/a/b")) == ["/a/b", "/a", "/"]
    assert list(ancestors("/")) == ["/"]


def test_what_directories_are_in() -> None:
    assert above(["/a/b/c", "/a/b", "/x"]) == {"/", "/a", "/a/b"}
    assert above(["/", ""]) == above([]) == frozenset()


def test_a_directory_has_the_rank_of_its_nearest_subtree_and_those_below() -> None:
    found = [Subtree("/", 0, -1, False), Subtree(A, 2, 2, False), Subtree(A + "/x/y", 3, 3, False)]
    where = SubtreeMap(found, [A, B])
    assert where.ranks(A) == (2, 3)
    assert where.ranks(B) == (0,)


def test_directories_may_be_nested_thousands_deep() -> None:
    deep = A + "/x" * 3000
    where = SubtreeMap([Subtree("/", 0, -1, False), Subtree(A, 2, 2, False)], [deep])
    assert where.own(deep) == where.ranks(deep + "/y") == (2,)
    assert where.own("/x" * 3000) == (0,)


def test_where_no_subtree_is_known_nobody_has_a_directory() -> None:
    where = SubtreeMap([], [A])
    assert where.own(A) == where.own("/") == where.own("") == ()


def test_a_name_that_begins_alike_is_another_directory() -> None:
    where = SubtreeMap([Subtree("/", 0, -1, False), Subtree(A + "bc", 1, 1, False)], [A])
    assert where.ranks(A) == (0,)


def subtree(path: str, rank: int, *, auth: bool = True) -> dict[str, object]:
    return {
        "dir": {"path": path, "dirfrag": "0x10000000007.010*"},
        "is_auth": auth,
        "auth_first": rank,
        "export_pin": -1,
        "distributed_ephemeral_pin": False,
        "random_ephemeral_pin": False,
    }


def test_only_the_authority_counts_and_the_mdss_own_directories_do_not() -> None:
    answer = [subtree("", 0), subtree("~mds0", 0), subtree(A, 1), subtree(B, 0, auth=False)]
    assert [(s.path, s.ino) for s in parse_subtrees(0, answer)] == [("/", 0x10000000007)]


def session(number: int, nonce: int, root: str = A) -> dict[str, object]:
    return {
        "id": number,
        "entity": {"addr": {"addr": "1.2.3.4:0", "nonce": nonce}},
        "num_caps": 3,
        "request_load_avg": 7,
        "uptime": 600.0,
        "client_metadata": {"root": root},
    }


@pytest.mark.parametrize(
    ("typed", "root"), [("", "/"), ("/", "/"), ("//volumes//_nogroup/a/", A), ("volumes/_nogroup/./a", A)]
)
def test_a_mount_root_is_a_path_however_it_was_typed(typed: str, root: str) -> None:
    assert [found.root for found in parse_sessions(0, [session(1, 10, typed)], ())] == [root]


def test_the_managers_own_mounts_are_no_workload() -> None:
    found = parse_sessions(0, [session(1, 10), session(2, 20, "/")], {("1.2.3.4:0", 20)})
    assert [s.ours for s in found] == [False, True]
    assert not needs_heat(found, {A})
    # Theirs is half of the rank's requests, and goes to nobody.
    shares = attribute(found, {0: 100.0}, {0: Heat(1.0, {A: 1.0})}, {A})
    assert list(shares) == [A] and (shares[A].requests, shares[A].caps) == (50.0, 3.0)


@pytest.mark.parametrize("state", ["opening", "closing", "killing", "closed"])
def test_a_client_that_is_about_to_come_or_go_makes_no_load(state: str) -> None:
    """An MDS tells no load of such a session (SessionMap.cc, ``Session::dump``)."""
    passing = {name: value for name, value in session(2, 20).items() if name != "request_load_avg"}
    found = parse_sessions(0, [session(1, 10), passing | {"state": state}], ())
    assert [s.client for s in found] == [1]


def decayed(rate: float, seconds: float, before: float = 0.0) -> float:
    """request_load_avg after so many seconds at a rate in req/s."""
    left = 0.5 ** (seconds / 60.0)
    return before * left + rate * 60.0 / math.log(2.0) * (1.0 - left)


def told(number: int, count: float, uptime: float) -> dict[str, object]:
    return session(number, number) | {"request_load_avg": int(count), "uptime": uptime}


def test_a_young_client_counts_as_an_old_one_that_does_the_same() -> None:
    old, young = told(1, decayed(50.0, 3600.0), 3600.0), told(2, decayed(50.0, 12.0), 12.0)
    assert [s.load for s in parse_sessions(0, [old, young], ())] == [pytest.approx(50.0, rel=0.01)] * 2


@pytest.mark.parametrize("uptime", [0.0, 0.001, 0.5])
def test_a_client_of_a_moment_is_not_taken_to_do_thousands_of_requests(uptime: float) -> None:
    (found,) = parse_sessions(0, [told(1, 10.0, uptime)], ())
    assert found.load <= 1.1


def test_what_a_client_did_before_it_was_read_last_does_not_count() -> None:
    busy = decayed(80.0, 3600.0)
    seen = parse_sessions(0, [told(1, busy, 3600.0), told(2, 0.0, 3600.0)], ())
    # The one stops, the other begins; both are read every two seconds.
    for seconds in range(2, 14, 2):
        now = [
            told(1, busy * 0.5 ** (seconds / 60.0), 3600.0 + seconds),
            told(2, decayed(80.0, seconds), 3600.0 + seconds),
        ]
        seen = parse_sessions(0, now, (), seen)
    assert [s.load for s in seen] == [pytest.approx(0.0, abs=0.2), pytest.approx(80.0, rel=0.01)]


def test_a_rank_that_was_restarted_counts_anew() -> None:
    seen = parse_sessions(0, [told(1, decayed(50.0, 3600.0), 3600.0)], ())
    seen = parse_sessions(0, [told(1, decayed(20.0, 15.0), 15.0)], (), seen)
    assert [s.load for s in seen] == [pytest.approx(20.0, rel=0.01)]


class Daemons(FakeCluster):
    """MDSs that tell their sessions and subtrees, and heat where they have some; and one directory, which the
    operator named, and what is in it."""

    def __init__(self, ranks: int) -> None:
        super().__init__(ranks=ranks)
        self.sessions: dict[str, list[dict[str, object]]] = {}
        self.subtrees: dict[str, list[dict[str, object]]] = {}
        self.loads: dict[str, dict[str, object]] = {}
        self.inside: list[tuple[str, int]] = []
        self.silent: set[str] = set()
        self.refusal: PartitionerError | None = None  # to tell what A is called
        self.asked: list[list[str]] = []  # whose sessions, an epoch

    def on_fs(self, fs: FsState, call: Callable[[Any], Any]) -> Any:
        inside = {A: self.inside}
        return call(
            SimpleNamespace(
                ino=lambda path: 7,
                is_directory=lambda path: True,
                rentries_and_pin=lambda path: (99, -1),
                entries=lambda path: 0,
                subdirectories=lambda path: inside.get(path, []),
                name_in=self.name_in,
                is_link=lambda path: False,
            )
        )

    def name_in(self, path: str, name: str) -> str:
        if name == "A" and self.refusal is not None:
            raise self.refusal
        return name.lower() if path == "/volumes/_nogroup" else name

    def tell_each(self, fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        if prefix == "session ls":
            self.asked.append(names)
        told = {"session ls": self.sessions, "get subtrees": self.subtrees}.get(prefix)
        if prefix == "dump loads" and self.loads:
            assert arguments["depth"] in (3, 4)  # /volumes/_nogroup/a, and /DIRECTORY
            told = self.loads
        silent = {name: Unavailable("no answer") for name in names if told is None or name in self.silent}
        if prefix == "dump loads":
            silent |= {name: Unavailable("no answer") for name in names if name not in self.loads}
        return {name: told.get(name, []) for name in names if told is not None} | silent

    def manager_addresses(self) -> frozenset[Any]:
        return frozenset()

    def observed(self, observer: Observer, requests: float = 100.0) -> Observation:
        samples = [rank_sample(rank, requests) for rank in self.state.ranks_in]
        return observer.observe(self.state, SETTINGS, samples)


def test_ranks_with_many_clients_are_asked_for_them_one_by_one_and_their_requests_still_count() -> None:
    daemons = Daemons(ranks=8)
    daemons.sessions = {f"m{rank}": [session(rank, rank)] for rank in range(8)}
    host: Any = daemons
    observer = Observer(host, [A])
    for each in (100.0, 50.0, 200.0):
        samples = [replace(rank_sample(rank, each), sessions=4_000) for rank in range(8)]
        (seen,) = observer.observe(daemons.state, SETTINGS, samples).directories
        assert seen.requests == pytest.approx(8 * each)
    assert [len(names) for names in daemons.asked] == [2, 2, 2, 2, 2, 2], "all at first; then by turns"
    assert [name for names in daemons.asked[:4] for name in names] == [f"m{rank}" for rank in range(8)]
    assert daemons.asked[4] == ["m0", "m1"] and daemons.asked[5] == ["m2", "m3"]


def test_no_rank_waits_for_its_turn_before_it_has_told_its_sessions_once() -> None:
    daemons = Daemons(ranks=20)
    daemons.sessions = {f"m{rank}": [session(rank, rank)] for rank in range(20)}
    host: Any = daemons
    observer = Observer(host, [A])
    daemons.silent = {"m19"}
    (first,) = daemons.observed(observer).directories
    assert first.requests == pytest.approx(1900.0)
    daemons.silent = set()
    (then,) = daemons.observed(observer).directories
    assert then.requests == pytest.approx(2000.0)
    for _ in range(3):
        daemons.observed(observer)
    assert [len(names) for names in daemons.asked] == [20, 1 + SETTINGS.ranks_per_epoch, 8, 8, 8]
    assert {name for names in daemons.asked[1:] for name in names} == set(daemons.sessions)


def test_what_managers_ask_for_is_neither_a_directorys_nor_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an analysis of thousands of quiet subvolumes, which it reads itself."""
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(0, 0), session(1, 7, "/")]}
    monkeypatch.setattr(daemons, "manager_addresses", lambda: frozenset({("1.2.3.4:0", 7)}))
    host: Any = daemons
    seen = daemons.observed(Observer(host, [A]))
    assert [row.requests for row in seen.directories] == [pytest.approx(50.0)]
    window = Window("cephfs")
    window.add(seen, History().plus((rank_sample(0, 100.0),), 0.0))
    facts = {A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}
    found = judge(window.summary(facts), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a)).caveats
    assert found.elsewhere == pytest.approx(0.0)


def test_a_client_tells_its_root_as_it_was_typed_also_where_case_does_not_count() -> None:
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(0, 0, TYPED)]}
    host: Any = daemons
    (seen,) = daemons.observed(Observer(host, [A])).directories
    assert (seen.requests, seen.sessions) == (pytest.approx(100.0), 1)


def test_a_root_that_could_not_be_asked_about_is_asked_about_again() -> None:
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(0, 0, TYPED)]}
    host: Any = daemons
    observer = Observer(host, [A])
    daemons.refusal = CephError("cannot read", errno.EIO)
    assert [seen.requests for seen in daemons.observed(observer).directories] == [0.0]
    daemons.refusal = None
    assert [seen.requests for seen in daemons.observed(observer).directories] == [pytest.approx(100.0)]


def test_a_root_that_is_not_there_is_taken_as_it_was_typed() -> None:
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(0, 0, TYPED)]}
    daemons.refusal = NotFound("it is not there")
    host: Any = daemons
    assert [seen.requests for seen in daemons.observed(Observer(host, [A])).directories] == [0.0]


def test_a_mount_that_was_lost_is_told_to_who_can_renew_it() -> None:
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(0, 0, TYPED)]}
    daemons.refusal = CephError("cannot stat", errno.ESHUTDOWN)
    host: Any = daemons
    with pytest.raises(CephError, match="cannot stat"):
        daemons.observed(Observer(host, [A]))


def test_clients_that_typed_a_root_otherwise_are_counted_where_they_are() -> None:
    daemons = Daemons(ranks=2)
    daemons.sessions = {"m0": [session(0, 0, f"{TYPED}/x"), session(1, 1), session(2, 2, B)]}
    daemons.silent = {"m1"}
    host: Any = daemons
    places = {A: 0, B: 1, f"{A}/y": None}
    assert clients_at(host, daemons.state, places) == {A: 2, B: None, f"{A}/y": None}
    daemons.refusal = Unavailable("no answer")
    assert clients_at(host, daemons.state, places)[A] == 1


def test_clients_that_share_their_files_do_not_multiply_the_working_set() -> None:
    """Twenty clients read the same 500,000 files."""
    daemons = Daemons(ranks=1)
    daemons.sessions = {"m0": [session(n, n) | {"num_caps": 500_000} for n in range(20)]}
    host: Any = daemons
    shared = replace(rank_sample(0, 100.0), inodes=500_000, caps=10_000_000)
    (seen,) = Observer(host, [A]).observe(daemons.state, SETTINGS, [shared]).directories
    assert seen.wss == pytest.approx(500_000)
    roomy = replace(shared, inodes=20_000_000)  # also of what no client holds
    (seen,) = Observer(host, [A]).observe(daemons.state, SETTINGS, [roomy]).directories
    assert seen.wss == pytest.approx(10_000_000)


def hot(of: dict[str, float]) -> dict[str, object]:
    """``dump loads`` of an MDS with this heat, by path."""

    def counters(heat: float) -> dict[str, object]:
        return {"Decay Counters": [{"value": v, "halflife": 5.0} for v in (heat, 0.0, 0.0, 0.0, 0.0)]}

    root = {
        "path": "",
        "pop_auth_subtree": counters(0),
        "pop_auth_subtree_nested": counters(sum(of.values())),
    }
    names = ("pop_auth_subtree", "pop_auth_subtree_nested")
    return {"dirfrags": [root, *({"path": at} | dict.fromkeys(names, counters(h)) for at, h in of.items())]}


def test_what_a_busy_directory_could_be_divided_into_has_its_requests_by_heat() -> None:
    daemons = Daemons(ranks=2)
    daemons.inside = [("x", 8), ("y", 9)]
    daemons.sessions = {f"m{rank}": [session(rank, rank)] for rank in range(2)}
    daemons.subtrees = {"m0": [subtree("", 0)], "m1": [subtree(f"{A}/y", 1)]}
    daemons.loads = {"m0": hot({f"{A}/x": 600.0, B: 200.0}), "m1": hot({f"{A}/y": 700.0})}
    host: Any = daemons
    observer = Observer(host, [A])
    assert daemons.observed(observer).inside == {A: pytest.approx({f"{A}/x": 75.0, f"{A}/y": 100.0})}
    assert daemons.observed(observer).inside == {}  # it is asked seldom


@pytest.mark.parametrize(("above", "depths"), [("/", [3, 4]), (A, [4])])
def test_clients_beside_the_directories_make_no_mds_tell_more(
    above: str, depths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons, asked = Daemons(ranks=1), list[int]()
    daemons.inside = [("x", 8), ("y", 9)]
    daemons.sessions = {"m0": [session(0, 0, above), session(1, 1, A), session(2, 2, "/home/a/b/c/d")]}
    tell_each = daemons.tell_each

    def counted(fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        asked.extend([arguments["depth"]] if prefix == "dump loads" else [])
        return tell_each(fs, names, prefix, **arguments)

    monkeypatch.setattr(daemons, "tell_each", counted)
    host: Any = daemons
    daemons.observed(Observer(host, [A]))
    assert asked == depths, "for heat, and for what is inside"


def test_mdss_with_too_much_to_tell_are_asked_seldom_and_not_at_all_for_what_is_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time they serve nobody for seconds."""
    daemons, asked = Daemons(ranks=1), list[int]()
    daemons.inside = [("x", 8), ("y", 9)]
    daemons.sessions = {"m0": [session(0, 0, "/")]}
    daemons.subtrees = {"m0": [subtree("", 0)]}
    daemons.loads = {"m0": hot({A: 30.0, f"{A}/x": 10.0})}
    tell_each = daemons.tell_each

    def counted(fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        asked.extend([arguments["depth"]] if prefix == "dump loads" else [])
        return tell_each(fs, names, prefix, **arguments)

    monkeypatch.setattr(daemons, "tell_each", counted)
    monkeypatch.setattr(heat_module, "MOST_TOLD", 1)
    host: Any = daemons
    observer = Observer(host, [A])
    for _ in range(2 * SPARED):
        (found,) = daemons.observed(observer).directories
        assert found.requests > 0.0, "as it was told last"
    assert asked == [3, 4, 3], "for heat, for what is inside, and for heat"


def test_a_rank_that_does_not_tell_its_heat_makes_no_directory_look_idle() -> None:
    daemons = Daemons(ranks=2)
    daemons.inside = [("x", 8), ("y", 9)]
    daemons.sessions = {"m0": [session(0, 0)]}
    daemons.subtrees = {"m0": [subtree("", 0)], "m1": [subtree(f"{A}/y", 1)]}
    daemons.loads = {"m0": hot({f"{A}/x": 30.0})}
    host: Any = daemons
    assert daemons.observed(Observer(host, [A])).inside == {}


def test_a_rank_that_answers_late_has_the_heat_that_it_told_last() -> None:
    """Clients mount the root. The full rank is late, and its requests would be no directory's."""
    daemons = Daemons(ranks=2)
    daemons.sessions = {f"m{rank}": [session(rank, rank, "/")] for rank in range(2)}
    daemons.subtrees = {"m0": [subtree("", 0)]}
    told = {"m0": hot({A: 30.0, B: 10.0}), "m1": hot({A: 5.0})}
    host: Any = daemons
    observer = Observer(host, [A, B])
    for daemons.loads in (told, {"m1": told["m1"]}):
        seen = daemons.observed(observer).directories
        assert [row.requests for row in seen] == pytest.approx([175.0, 25.0])
    other = replace(daemons.state.mds[0], name="m9")
    daemons.sessions["m9"] = daemons.sessions["m0"]
    daemons.state = replace(daemons.state, mds=(other, *daemons.state.mds[1:]))
    (_, b) = daemons.observed(observer).directories
    assert b.requests == 0.0, "another MDS has the rank"


def test_what_a_rank_that_does_not_answer_has_is_what_it_had() -> None:
    daemons = Daemons(ranks=3)
    daemons.subtrees = {"m0": [subtree("", 0)], "m1": [subtree(A, 1)]}
    host: Any = daemons
    observer = Observer(host, [A])
    assert [seen.ranks for seen in daemons.observed(observer).directories] == [(1,)]
    daemons.silent = {"m1"}
    seen = daemons.observed(observer)
    assert [at.ranks for at in seen.directories] == [(1,)] and seen.unmapped == ()
    daemons.subtrees["m2"] = [subtree(A, 2)]
    assert [at.ranks for at in daemons.observed(observer).directories] == [(2,)]


def test_a_rank_that_never_told_its_subtrees_is_named() -> None:
    daemons = Daemons(ranks=2)
    daemons.silent = {"m1"}
    host: Any = daemons
    observation = daemons.observed(Observer(host, [A]))
    assert observation.unmapped == (1,)
    window = Window("cephfs")
    window.add(observation, History().plus((rank_sample(0, 100.0), rank_sample(1, 300.0)), 0.0))
    found = judge(window.summary({}), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a)).caveats
    assert found.of_the_unmapped == [
        "rank 1, with 75% of the requests, did not tell its subtrees: what it serves is shown on other ranks"
    ]


def test_what_was_not_listed_is_told_by_the_analysis_and_by_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing else is below the root."""
    cluster = Cluster([])
    cluster.directories, cluster.files = {2: Placed("/volumes")}, {2: 150_000}
    daemons = Daemons(ranks=1)
    monkeypatch.setattr(daemons, "on_fs", lambda fs, call: call(LoadedMount(cluster)))
    host: Any = daemons
    observer, window, history = Observer(host, []), Window("cephfs"), History()

    def analyzed() -> Judgement:
        window.add(daemons.observed(observer), history.plus((rank_sample(0, 100.0),), 0.0))
        return judge(window.summary({}), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a))

    found = analyzed()
    told = (
        "'/volumes' has 150,000 entries, too many to be listed: what is in it is left out, but for what was "
        "known before; 'analyze start' with --directories looks at what you name"
    )
    assert judgement_value(found)["caveats"]["unlisted"] == {"/volumes": 150_000}
    assert told in judgement_text(found, 20).splitlines()
    assert told in caveats(found.caveats, (), {}, (), balanced=False)
    cluster.files = {}
    found = analyzed()
    assert not found.caveats.unlisted and "to be listed" not in judgement_text(found, 20)


def test_heat_is_of_what_clients_ask_for() -> None:
    counters = {"Decay Counters": [{"value": v} for v in (1.0, 2.0, 300.0, 4.0, 5.0)]}
    answer = {"dirfrags": [{"path": A, "pop_auth_subtree": counters}] * 2}
    told = "an entry of a listing is no request, and what is stored is asked for by none"
    assert parse_heat(answer, {A}) == {A: 2 * (1 + 4 + 3 + 4)}, told


def test_listing_a_large_directory_does_not_pass_for_a_thousand_requests() -> None:
    def counters(stats: float, entries: float) -> dict[str, Any]:
        values = (stats, 0.0, entries, 0.0, 0.0)
        return {"Decay Counters": [{"value": value, "halflife": 5.0} for value in values]}

    def dirfrag(path: str, stats: float, entries: float) -> dict[str, Any]:
        return {"path": path, "pop_auth_subtree": counters(stats, entries), ALL: counters(stats, entries)}

    answer = {"dirfrags": [dirfrag("/", 290.0, 1000.0), dirfrag(A, 0.0, 1000.0), dirfrag("/b", 290.0, 0.0)]}
    served = requests({0: rank_heat(answer, frozenset({A, "/b"}))}, {0: 150.0})
    assert served == {A: pytest.approx(5.0), "/b": pytest.approx(145.0)}


@pytest.mark.parametrize(
    ("hits", "asked", "idle", "rest"),
    [(0.12, 0.0, 0.48, 999.5), (100.0, 0.0, 400.0, 600.0), (0.12, 999.9, 0.12, 0.0), (0.1, 300.0, 0.33, 0.0)],
    ids=["none is of what is counted", "few are", "all are", "most are of what has replicas"],
)
def test_what_is_counted_in_no_directory_is_not_of_those_that_are_hardly_used(
    hits: float, asked: float, idle: float, rest: float
) -> None:
    """Locks of files and failed lookups are no hits: not all that the rank serves is of what has some."""
    heat, rates = {0: rank_heat(listed(a=hits, b=asked), frozenset({"/a", "/b"}))}, {0: 1000.0}
    assert requests(heat, rates)["/a"] == pytest.approx(idle, rel=2e-2)
    assert uncounted(heat, rates)[0] == pytest.approx(rest, abs=0.2)


def test_what_an_mds_takes_off_twice_where_it_makes_replicas_is_no_load_of_its_parents() -> None:
    """``a`` has a part that begins a subtree of the rank's, ``b`` has none, ``c`` is another rank's."""

    def dirfrag(path: str, own: float, nested: float) -> dict[str, Any]:
        def counters(value: float) -> dict[str, Any]:
            return {"Decay Counters": [{"value": v, "halflife": 5.0} for v in (value, 0.0, 0.0, 0.0, 0.0)]}

        return {"path": path, "pop_auth_subtree": counters(own), ALL: counters(nested)}

    frags = [("/", 0.0, 1000.0), ("/a", 100.0, 500.0), ("/a/x", 160.0, 400.0), ("/b", 100.0, 500.0)]
    answer = {"dirfrags": [dirfrag(*frag) for frag in (*frags, ("/c", 0.0, 0.1))]}
    wanted = frozenset({"/a", "/a/x", "/b", "/c"})
    heat = rank_heat(answer, wanted, roots=frozenset({"/a", "/a/x", "/b"}))
    assert (heat.total, heat.of) == (1000.0, {"/a": 100.0, "/a/x": 400.0, "/b": 500.0, "/c": 0.0})
    assert rank_heat(answer, wanted).of["/b"] == 100.0, "where subtrees begin is not known"


def listed(seconds: float = 60.0, before: Mapping[str, Any] | None = None, **of: float) -> dict[str, Any]:
    """``dump loads`` of a rank, after so many seconds: /a is listed, so many entries/s, and /b and what is in
    /a are asked for, so many requests/s."""
    each, left = 5.0 / math.log(2.0), kept(seconds, 5.0)
    was = {} if before is None else {frag["path"]: frag[ALL]["Decay Counters"] for frag in before["dirfrags"]}

    def dirfrag(path: str, stats: float, entries: float) -> dict[str, Any]:
        now = (rate * each * (1.0 - left) for rate in (stats, 0.0, entries, 0.0, 0.0))
        old = [left * counter["value"] for counter in was[path]] if was else [0.0] * 5
        counters = [{"value": a + b, "halflife": 5.0} for a, b in zip(now, old)]
        return {"path": path, OWN: {"Decay Counters": counters}, ALL: {"Decay Counters": counters}}

    a, b, entries = (of.get(name, 0.0) for name in ("a", "b", "entries"))
    return {"dirfrags": [dirfrag("", a + b, entries), dirfrag("/a", a, entries), dirfrag("/b", b, 0.0)]}


@pytest.mark.parametrize(
    ("listings", "entries", "a", "b"),
    [
        (100.0, 500.0, 102.4, 97.6),
        (100.0, 10.0, 18.3, 181.7),
        (1.0, 1000.0, 19.8, 180.2),
        (0.0, 500.0, 9.5, 190.5),
        (100.0, 0.0, 0.0, 200.0),
    ],
    ids=["of a few", "of next to none", "of a thousand", "not counted", "of none: nobody knows where"],
)
def test_each_listing_is_a_request_however_few_entries_it_has(
    listings: float, entries: float, a: float, b: float
) -> None:
    """Else what walks through small directories did would be given to whoever does stats."""
    heat = rank_heat(listed(entries=entries, b=100.0), frozenset({"/a", "/b"})).listing(listings)
    assert requests({0: heat}, {0: 200.0}) == pytest.approx({"/a": a, "/b": b}, abs=0.1)


def test_what_is_listed_in_parts_of_a_directory_counts_likewise() -> None:
    below = requests_below({0: listed(entries=500.0, b=100.0)}, {0: 200.0}, {0: 100.0}, {""})[""]
    assert (below["/a"], below["/b"]) == pytest.approx((102.4, 97.6), abs=0.1)


def test_what_is_right_in_a_directory_is_told_from_what_is_below_it() -> None:
    def dirfrag(path: str, *heats: float) -> dict[str, Any]:
        of = [{"Decay Counters": [{"value": heat, "halflife": 5.0}] + [{"value": 0.0}] * 4} for heat in heats]
        return {"path": path} | dict(zip((ME, OWN, ALL), of))

    found = [dirfrag("", 0.0, 9.0, 9.0), dirfrag(A, 1.0, 2.0, 4.0), dirfrag(A, 2.0, 2.0, 4.0)]
    answer = {"dirfrags": [*found, dirfrag(B, 0.0, 0.0, 0.0)]}
    assert right_in(answer, frozenset({A, B}), frozenset({B})) == {A: 3.0 / 8.0}
    assert right_in(answer, frozenset({A}), frozenset({f"{A}/pinned"})) == {A: 3.0 / 4.0}


def test_another_weight_of_entries_makes_no_load_pass_for_one_that_has_gone() -> None:
    """Larger listings come elsewhere on the rank: less of a request is each of its entries."""
    before = listed(a=50.0, entries=500.0, b=100.0)
    now = listed(5.0, before, a=50.0, entries=500.0, b=100.0)
    paths = frozenset({"/a", "/b"})
    small, large = rank_heat(before, paths).listing(100.0), rank_heat(now, paths).listing(3.0)
    assert large.since(small, 5.0) == large
    gone = rank_heat(listed(5.0, before, b=100.0), paths).listing(100.0).since(small, 5.0)
    assert shares(gone) == pytest.approx({"/a": 0.0, "/b": 1.0}, abs=1e-3)


def test_listings_that_a_rank_answers_are_counted_while_it_reports() -> None:
    class Listings(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            count = {"mds_server.req_readdir_latency": 300.0}.get(path, 0.0)
            return [(0.0, 0.0, 0.0), (5.0, 1e6 * count, count)]

    host: Any = Listings()
    assert {sample.listings for sample in observe_ranks(host, host.state, 5.0, 6.0)} == {60.0}
    assert {sample.listings for sample in observe_ranks(host, host.state, 5.0, 600.0)} == {0.0}, "long ago"


def test_how_far_the_journal_has_come_is_told_by_reports() -> None:
    class Journals(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            last = {"mds_log.evadd": 9000.0, "mds_log.ev": 4000.0}.get(path, 0.0)
            return [(0.0, 5000.0), (5.0, last)]

    host: Any = Journals()
    found = {(sample.written, sample.journal) for sample in observe_ranks(host, host.state, 5.0, 6.0)}
    assert found == {(9000, 4000)}


def test_a_session_belongs_to_the_nearest_directory_at_or_above_its_mount() -> None:
    assert owner(A + "/uuid", {A, "/volumes"}) == A
    assert owner("/volumes", {A}) is None


def test_a_session_above_is_shared_out_by_heat() -> None:
    heat = {0: Heat(4.0, {A: 3.0, B: 1.0})}
    shares = attribute([Session(0, 1, "/", 100, 10.0)], {0: 50.0}, heat, {A, B})
    assert (shares[A].caps, shares[A].requests, shares[A].shared) == (75.0, 37.5, True)
    assert needs_heat([Session(0, 1, "/", 100, 10.0)], {A})
    assert not needs_heat([Session(0, 1, A, 100, 10.0)], {A})
    assert not needs_heat([Session(0, 1, "/home/a/b/c/d", 100, 10.0)], {A}), "beside them"


def test_what_each_rank_serves_of_a_directory_is_known() -> None:
    found = [Session(0, 1, A, 10, 9.0), Session(1, 1, A, 10, 1.0), Session(0, 2, B, 10, 9.0)]
    shares = attribute(found, {0: 900.0, 1: 20.0}, {}, {A, B})
    assert shares[A].by_rank == {0: 450.0, 1: 20.0}


@pytest.mark.parametrize(
    ("served", "ranks", "parts"),
    [
        ((450.0, 20.0), (0, 1), (0,) * 19 + (1,)),
        ((450.0,), (3,), (3,) * 20),
        ((0.0, 0.0), (2, 3), ()),
        ((), (2, 3), ()),
    ],
)
def test_its_parts_are_equal(
    served: tuple[float, ...], ranks: tuple[int, ...], parts: tuple[int, ...]
) -> None:
    assert equal_parts(served, ranks) == parts


@pytest.mark.parametrize("root", ["/", "/volumes"])
def test_what_is_asked_for_beside_the_directories_is_not_theirs(root: str) -> None:
    """A client of all of it works in /home mostly, or beside the subvolumes of a group."""
    heat = {0: Heat(8488.0, {A: 8.0, B: 480.0, "/volumes": 8488.0})}
    found = [Session(0, 1, root, 100_000, 5000.0), Session(0, 2, A, 10, 5.0), Session(0, 3, B, 10, 300.0)]
    shares = attribute(found, {0: 5305.0}, heat, {A, B})
    assert 300.0 <= shares[B].requests < 600.0 and shares[A].requests < 10.0
    assert "/volumes" not in shares


class Looked(dict[str, float]):
    """Counts how often it is looked through."""

    times = 0

    def items(self) -> ItemsView[str, float]:
        self.times += 1
        return super().items()


def test_the_heat_below_a_mount_root_is_looked_through_once_however_many_clients_mount_it() -> None:
    of = Looked({A: 3.0, B: 1.0})
    found = [Session(0, client, "/", 10, 1.0) for client in range(100)]
    shares = attribute(found, {0: 400.0}, {0: Heat(4.0, of)}, {A, B})
    assert of.times == 1
    assert shares[A] == Share(750.0, 300.0, frozenset(range(100)), True, {0: 300.0})
    assert shares[B] == Share(250.0, 100.0, frozenset(range(100)), True, {0: 100.0})


sessions = st.lists(
    st.builds(
        Session,
        rank=st.integers(0, 3),
        client=st.integers(1, 9),
        root=st.sampled_from([A, B, A + "/uuid"]),
        caps=st.integers(0, 1000),
        load=st.floats(0.1, 1e6),
    ),
    min_size=1,
)


@given(sessions, st.lists(st.floats(0, 1e5), min_size=4, max_size=4))
def test_shares_add_up_to_what_the_ranks_measured(found: list[Session], rates: list[float]) -> None:
    shares = attribute(found, dict(enumerate(rates)), {}, {A, B})
    busy = {s.rank for s in found}
    assert sum(s.requests for s in shares.values()) == pytest.approx(sum(rates[r] for r in busy))
    assert sum(s.caps for s in shares.values()) == pytest.approx(sum(s.caps for s in found))


def rank_sample(rank: int, requests: float) -> RankSample:
    return RankSample(rank, f"m{rank}", requests, 0.001, 10, 5, 1, 0.0, 0.0, 1)


def epoch(wss: float, requests: float, at: float = 0.0, ranks: int = 2) -> tuple[Observation, History]:
    sample = SubtreeSample(Directory(A, "a", 7), wss, requests, 1, (0,), False, False)
    samples = tuple(rank_sample(r, requests) for r in range(ranks))
    return Observation("cephfs", (sample,)), History().plus(samples, at)


def test_a_window_keeps_the_highest_working_set_and_the_mean_rate() -> None:
    window = Window("cephfs")
    for wss, inside in ((10, 1.0), (30, 2.0), (20, 3.0)):
        window.add(*epoch(wss, inside))
    facts = {A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}
    (row,) = window.summary(facts).directories
    assert (row.wss, row.requests, row.rentries) == (30, 2.0, 99)
    assert window.summary(facts).loads == {0: 2.0, 1: 2.0}
    unread = window.summary({})
    assert (unread.unread, unread.unread_load) == (1, 1.0)


def test_what_full_ranks_hold_back_is_told_in_the_mean_of_all_epochs() -> None:
    daemons, window = Daemons(ranks=1), Window("cephfs")
    daemons.sessions = {"m0": [session(0, 0)]}
    host: Any = daemons
    observer = Observer(host, [A])
    slow = replace(rank_sample(0, 100.0), latency=0.05)
    for full in ([], [0], [0], [0]):
        seen = observer.observe(daemons.state, SETTINGS, [slow], full)
        window.add(seen, History().plus((slow,), 0.0))
    (row,) = window.summary({A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}).directories
    assert (row.requests, row.held_back, row.elastic) == (pytest.approx(100.0), pytest.approx(75.0), True)
    assert not replace(row, held_back=5.0).elastic
    assert not replace(row, requests=0.0, held_back=0.0).elastic


@pytest.mark.parametrize(("full", "busy"), [(0, 0.0), (1, 0.0), (2, 800.0), (20, 800.0)])
def test_where_clients_pause_what_they_ask_for_in_between_is_told(full: int, busy: float) -> None:
    """But not what was a hiccup."""
    window, history = Window("cephfs"), History()
    for at in range(40):
        rates = (400.0 if at < full else 5.0,) * 2
        history = history.plus([rank_sample(rank, rate) for rank, rate in enumerate(rates)], float(at))
        window.add(Observation("cephfs", (), saturated=(), busy=at < full), history)
    assert window.summary({}).busy == busy


def idle(rank: int) -> RankSample:
    return replace(rank_sample(rank, 0.0), latency=0.0)


def test_latency_is_of_the_requests_of_the_whole_analysis() -> None:
    """As the load beside it: not of the last two minutes, nor is an idle epoch one without a wait."""
    window, history = Window("cephfs"), History()
    for at in range(60):
        busy = replace(rank_sample(0, 400.0), latency=0.02) if at < 48 else idle(0)
        asked, latency = (100.0, 0.04) if at % 2 else (300.0, 0.002)
        slow = replace(rank_sample(1, asked), latency=latency)
        history = history.plus((busy, slow, idle(2)), float(at))
        window.add(Observation("cephfs", ()), history)
    found = judge(window.summary({}), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a))
    assert [rank.load for rank in found.ranks] == pytest.approx([320.0, 200.0, 0.0])
    assert [rank.waited for rank in found.ranks] == [pytest.approx(0.02), pytest.approx(0.0115), None]
    assert judgement_value(found)["ranks"][2]["latency"] is None
    rows = [line.split()[3:5] for line in rank_table(found.ranks).splitlines()[1:]]
    assert rows == [["20.0", "ms"], ["11.5", "ms"], ["-", "10"]]


def judged(rates: Sequence[float], replaced_at: int | None = None) -> Caveats:
    """An analysis with a load on rank 0, whose daemon is replaced in some epoch."""
    window, history = Window("cephfs"), History()
    for at, asked in enumerate(rates):
        sample = SubtreeSample(Directory(A, "a", 7), 10, asked, 1, (0,), False, False)
        rows = (rank_sample(0, asked), rank_sample(1, 1.0))
        if replaced_at is not None and at >= replaced_at:
            rows = (replace(rows[0], name="other"), rows[1])
        history = history.plus(rows, float(at))
        window.add(Observation("cephfs", (sample,)), history)
    facts = {A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}
    return judge(window.summary(facts), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a)).caveats


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ([10.0] * 48 + [500.0] * 12, "times their mean: it began before the load"),
        ([500.0] * 56 + [1.0] * 4, "times their mean: the load has ended meanwhile"),
        ([500.0, 300.0, 400.0] * 20, ""),
        ([10.0, 500.0, 500.0], ""),
    ],
)
def test_that_the_load_was_not_there_all_the_time_is_told(rates: list[float], told: str) -> None:
    found = "; ".join(judged(rates).of_the_ranks)
    assert told in found if told else not found


def test_that_a_rank_was_replaced_is_told() -> None:
    (told,) = judged([100.0] * 60, replaced_at=58).of_the_ranks
    assert "the ranks' loads are of the last 2 of 60 epochs" in told


def test_what_was_asked_for_before_a_rank_was_replaced_is_not_taken_for_elsewhere() -> None:
    assert judged([200.0] * 50 + [1000.0] * 10, replaced_at=50).elsewhere == pytest.approx(0.0, abs=0.01)


def test_requests_of_a_subvolume_that_was_deleted_are_not_taken_for_elsewhere() -> None:
    window, history = Window("cephfs"), History()
    facts = {path: DirectoryFacts(Directory(path, path, ino), 99, -1) for path, ino in ((A, 7), (B, 8))}
    for at in range(60):
        there = [(A, 7, 200.0)] + ([(B, 8, 800.0)] if at < 59 else [])
        seen = (SubtreeSample(Directory(p, p, i), 10, asked, 1, (0,), False, False) for p, i, asked in there)
        history = history.plus((rank_sample(0, sum(asked for *_, asked in there)),), float(at))
        window.add(Observation("cephfs", tuple(seen)), history)
    found = judge(window.summary(facts), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a)).caveats
    assert found.elsewhere == pytest.approx(0.0, abs=0.01)


def looked_at(*epochs: Sequence[int]) -> Window:
    """Directories by inode number, two of which have the same name if they are 100 apart; 10 req/s each."""
    window, history = Window("cephfs"), History()
    for at, inos in enumerate(epochs):
        seen = (SubtreeSample(at_ino(ino), 10, 10.0, 1, (0,), False, False) for ino in inos)
        history = history.plus((rank_sample(0, 10.0 * len(inos)),), float(at))
        window.add(Observation("cephfs", tuple(seen)), history)
    return window


def at_ino(ino: int) -> Directory:
    return Directory(f"/v/{ino % 100}", f"{ino % 100}", ino)


def test_what_is_new_where_as_many_went_will_go_as_well() -> None:
    window = looked_at([1, 10, 11], [1, 12, 13], [1, 14, 15])
    facts = {at_ino(ino).path: DirectoryFacts(at_ino(ino), 9, -1) for ino in (1, 14, 15)}
    summary = window.summary(facts)
    assert {row.directory.ino: row.passing for row in summary.directories} == {1: False, 14: True, 15: True}
    assert (summary.passing, summary.passing_load) == (6, pytest.approx(2 / 3))
    assert window.resumed("cephfs", window.checkpoint(30.0)).checkpoint(30.0) == window.checkpoint(30.0)


@pytest.mark.parametrize("epochs", [([1], [1, 2], [1, 2]), ([1, 9], [1, 2, 3], [1, 2, 3]), ([1, 2], [1, 2])])
def test_what_is_new_where_hardly_anything_went_is_there_to_stay(epochs: tuple[list[int], ...]) -> None:
    facts = {at_ino(ino).path: DirectoryFacts(at_ino(ino), 9, -1) for ino in epochs[-1]}
    assert not any(row.passing for row in looked_at(*epochs).summary(facts).directories)


def test_what_was_there_for_most_of_the_time_stays_though_another_went_and_so_does_what_was_renamed() -> None:
    facts = {at_ino(ino).path: DirectoryFacts(at_ino(ino), 9, -1) for ino in (2,)}
    assert not any(row.passing for row in looked_at([1], [2], [2], [2]).summary(facts).directories)
    window, history = Window("cephfs"), History()
    for at, name in enumerate(("old", "old", "old", "new")):
        history = history.plus((rank_sample(0, 10.0),), float(at))
        directory = Directory(f"/v/{name}", name, 7)
        seen = SubtreeSample(directory, 10, 10.0, 1, (0,), False, False)
        window.add(Observation("cephfs", (seen,)), history)
    summary = window.summary({directory.path: DirectoryFacts(directory, 9, -1)})
    assert [(row.directory.name, row.requests, row.passing) for row in summary.directories] == [
        ("new", 10.0, False)
    ]
    assert summary.passing == 0


def test_a_directory_that_was_made_anew_under_its_name_is_another() -> None:
    facts = {at_ino(101).path: DirectoryFacts(at_ino(101), 9, -1)}
    (row,) = looked_at([1], [101]).summary(facts).directories
    assert row.passing


def test_an_analysis_lasted_as_long_as_its_samples_are_apart_however_many_failed() -> None:
    window, history = Window("cephfs"), History()
    for at in (100.0, 110.0, 400.0):
        history = history.plus((rank_sample(0, 10.0),), at)
        window.add(Observation("cephfs", ()), history)
    assert window.summary({}).seconds == 300.0
    went_on = Window.resumed("cephfs", window.checkpoint(300.0))
    for at in (7.0, 17.0):
        went_on.add(Observation("cephfs", ()), History().plus((rank_sample(0, 10.0),), at))
    assert went_on.summary({}).seconds == 310.0
    found = judge(window.summary({}), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a)).caveats
    assert found.span(10) == 300.0


def test_a_counted_working_set_replaces_estimates() -> None:
    window = Window("cephfs")
    for wss, counted in ((90, False), (30, True), (20, True), (70, False)):
        seen, history = epoch(wss, 1.0)
        window.add(replace(seen, directories=(replace(seen.directories[0], counted=counted),)), history)
    (row,) = window.summary({A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}).directories
    assert (row.wss, row.counted) == (30, True)


@pytest.mark.parametrize(
    ("shared", "counted", "wss"), [(True, False, 11), (True, True, 990_000), (False, False, 990_000)]
)
def test_no_more_is_estimated_by_heat_than_is_in_a_directory(shared: bool, counted: bool, wss: int) -> None:
    """A backup of all pauses with its capabilities while somebody looks at a small one."""
    window = Window("cephfs")
    for held in (10, 990_000, 10):
        seen, history = epoch(held, 1.0)
        sample = replace(seen.directories[0], shared=shared, counted=counted)
        window.add(replace(seen, directories=(sample,)), history)
    (row,) = window.summary({A: DirectoryFacts(Directory(A, "a", 7), 11, -1)}).directories
    assert row.wss == wss


def in_turn(*epochs: tuple[int, ...], counted: bool = False) -> list[tuple[Observation, History]]:
    """Of each epoch the working sets of some directories."""
    found = []
    for at, held in enumerate(epochs):
        made = (SubtreeSample(Directory(f"/{i}", f"{i}", i + 2), n, 1.0, 1, (0,), False, False, counted)
                for i, n in enumerate(held))  # fmt: skip
        found.append((Observation("cephfs", tuple(made)), History().plus((rank_sample(0, 1.0),), float(at))))
    return found


def test_what_directories_use_in_turn_is_not_added_up() -> None:
    window = Window("cephfs")
    for seen in in_turn((500, 10, 0), (10, 490, 20), (0, 5, 500), (0, 0, 500)):
        window.add(*seen)
    facts = {f"/{i}": DirectoryFacts(Directory(f"/{i}", f"{i}", i + 2), 999, -1) for i in (0, 1)}
    found = window.summary(facts)
    assert ([row.wss for row in found.directories], found.wss) == ([500, 490], 520), "one is not read yet"
    for seen in in_turn((30, 0, 0), (10, 30, 2), counted=True):
        window.add(*seen)
    for seen in in_turn((900, 900, 900)):
        window.add(*seen)
    assert window.summary(facts).wss == 42, "what is counted replaces estimates"


def test_what_directories_use_at_once_is_known_to_the_next_manager() -> None:
    window = Window("cephfs")
    for seen in in_turn((500, 10), (10, 490)):
        window.add(*seen)
    kept = window.checkpoint(300.0)
    for known, wss in ((kept, 510), (replace(kept, wss=0.0), 500)):  # an older version kept that of each
        resumed = Window.resumed("cephfs", known)
        resumed.add(*in_turn((20, 30))[0])
        assert resumed.summary({}).wss == wss
    counted = Window("cephfs")
    counted.add(*in_turn((20, 30), counted=True)[0])
    again = Window.resumed("cephfs", counted.checkpoint(300.0))
    again.add(*in_turn((500, 500))[0])
    assert again.summary({}).wss == 50


def test_ranks_are_recommended_for_the_working_sets_of_one_epoch() -> None:
    """Sixty directories of 500,000 inodes, one after the other."""
    window = Window("cephfs")
    for seen in in_turn(*(tuple(500_000 * (i == now) for i in range(60)) for now in range(60))):
        window.add(*seen)
    settings = replace(SETTINGS, rank_capacity=1000.0, bytes_per_inode=3000.0)
    found = judge(window.summary({}), settings, 4 << 30, None, lambda name, args: CALLS[name](args))
    assert found.recommended == 1


def mindex_dump(epoch: int, *rows: tuple[str, int]) -> dict[str, object]:
    return {"epoch": epoch, "dirfrags": [{"path": path, "working_set": n} for path, n in rows]}


def test_a_working_set_is_the_sum_over_fragments_and_ranks() -> None:
    answers = [mindex_dump(3, ("", 9), (A, 4), (A, 2), (A + "/x", 6)), mindex_dump(1, ("", 3), (A, 3))]
    assert parse_working_sets(answers, {A, B}) == {A: 9.0}


@pytest.mark.parametrize("other", [None, mindex_dump(0, ("", 5))])
def test_working_sets_count_only_when_every_mds_counts(other: dict[str, object] | None) -> None:
    assert parse_working_sets([mindex_dump(3, (A, 4)), other], {A}) is None


def served_by(*epochs: tuple[dict[int, float], tuple[int, ...]]) -> Observed:
    """A directory: of each epoch the req/s that each rank served of it, and the ranks that it was on. Half
    of the time another manager looks."""
    window, history = Window("cephfs"), History()
    for at, (by_rank, ranks) in enumerate(epochs):
        rates = tuple(by_rank.get(rank, 0.0) for rank in ranks)
        seen = SubtreeSample(Directory(A, "a", 7), 10, sum(rates), 1, ranks, False, False, served=rates)
        history = history.plus((rank_sample(0, 300.0),), float(at))
        window.add(Observation("cephfs", (seen,)), history)
        if at == len(epochs) // 2:
            window = Window.resumed("cephfs", window.checkpoint(30.0))
    (row,) = window.summary({A: DirectoryFacts(Directory(A, "a", 7), 99, -1)}).directories
    return row


@pytest.mark.parametrize("last", [{0: 150.0}, {}, {1: 0.1}])
def test_a_load_is_where_it_was_served_in_all_epochs_and_not_in_the_last(last: dict[int, float]) -> None:
    found = served_by(*[({0: 150.0}, (0, 1))] * 29, (last, (0, 1)))
    assert found.load_ranks == (0,)
    assert found.by_rank == {0: found.requests}


def test_what_moved_is_where_it_was_served_since() -> None:
    moved = served_by(*[({0: 150.0}, (0, 1))] * 20, *[({1: 50.0, 2: 150.0}, (1, 2))] * 10)
    assert moved.load_ranks == (1,) * 5 + (2,) * 15


def test_a_change_of_ranks_begins_their_means_anew() -> None:
    window = Window("cephfs")
    window.add(*epoch(1, 90.0, at=0.0, ranks=2))
    window.add(*epoch(1, 10.0, at=10.0, ranks=3))
    summary = window.summary({})
    assert summary.loads == {0: 10.0, 1: 10.0, 2: 10.0}
    assert {rank: len(row) for rank, row in summary.series.items()} == {0: 1, 1: 1, 2: 1}


def test_a_rank_that_was_saturated_for_a_good_part_of_an_analysis_was_so_whatever_it_is_at_the_end() -> None:
    window, history = Window("cephfs"), History()
    for at in range(60):
        history = history.plus((rank_sample(0, 500.0), rank_sample(1, 500.0)), float(at))
        full = (0,) * (at < 40) + (1,) * (at >= 56)
        window.add(Observation("cephfs", (), saturated=full), history)
        window.add(Observation("cephfs", (), saturated=None), history)  # says nothing of how often it is
    assert window.summary({}).saturated == {0: pytest.approx(2 / 3), 1: pytest.approx(1 / 15)}
    found = judge(window.summary({}), SETTINGS, 1 << 30, None, lambda n, a: CALLS[n](a))
    assert found.verdict.saturated == (0,)
    assert [rank.saturated for rank in found.ranks] == [True, False]


def test_a_well_cluster_needs_no_wait() -> None:
    assert why_wait(FakeCluster().state, {}, {}, PLAN) is hold(FakeCluster().state, {}, {}) is None


SLOW = HealthCheck("2 MDSs report slow requests", ("mds.m1(mds.1): 3 slow requests are blocked > 30 secs",))
FULL = HealthCheck("1 pool(s) full", ("pool 'meta' is full (no space)",))
READ_ONLY = HealthCheck("1 MDSs are read only", ("mds.m1(mds.1): MDS in read-only mode",))


@pytest.mark.parametrize(
    ("change", "health", "silent", "word"),
    [
        ({"failed": (2,)}, {}, {}, "rank 2 has failed"),
        ({"failed": (0, 1), "joinable": False}, {}, {}, "run 'ceph fs set cephfs joinable true'"),
        ({"damaged": (1,)}, {}, {}, "damaged"),
        ({"max_mds": 3}, {}, {}, "resized from 4 to 3"),
        ({"max_mds": 6}, {}, {}, "start 2 more, or run 'ceph fs set cephfs max_mds 4'"),
        ({}, {"MDS_SLOW_REQUEST": SLOW}, {}, "MDS_SLOW_REQUEST"),
        ({}, {"MDS_READ_ONLY": READ_ONLY}, {}, "MDS_READ_ONLY"),
        ({}, {"POOL_FULL": FULL}, {}, "POOL_FULL: pool 'meta' is full (no space)"),
        ({}, {"OSD_FULL": HealthCheck("1 full osd(s)", ("osd.0 is full",))}, {}, "OSD_FULL: osd.0 is full"),
        ({}, {}, {3: 40.0}, "rank 3 (mds.m3) has said nothing for over 40 s"),
        ({"ranks_in": (0, 1, 2, 3, 4), "max_mds": 5}, {}, {}, "rank 4 has no MDS"),
        ({"ranks_in": (), "mds": (), "max_mds": 0}, {}, {}, "run 'ceph fs set cephfs down false'"),
        ({"ranks_in": (), "mds": (), "max_mds": 2}, {}, {}, "'cephfs' has no MDS: start one"),
    ],
)
def test_a_cluster_that_is_not_well_says_what_is_waited_for(
    change: dict[str, object], health: dict[str, HealthCheck], silent: dict[int, float], word: str
) -> None:
    state = replace(FakeCluster().state, **change)
    why = why_wait(state, health, silent, PLAN)
    assert why is not None and word in why and why.count("the plan") == 1
    assert why_wait(state, health, silent, SCHEDULER) == why.replace("the plan", "the scheduler")
    back = word.startswith(("MDS_SLOW_REQUEST", "start 2 more"))
    assert hold(state, health, silent) == Hold(why, back)


def test_mdss_that_follow_no_pin_are_waited_for_by_all() -> None:
    fs, health = FakeCluster().state, {"MDS_SLOW_REQUEST": SLOW}
    why = why_wait(fs, {}, {}, PLAN, pins=False)
    assert why is not None and "run 'ceph config set mds mds_bal_export_pin true': the plan goes on" in why
    assert hold(fs, {}, {}, pins=False) == hold(fs, health, {}, pins=False) == Hold(why, back=False)


@pytest.mark.parametrize(
    ("detail", "waits"),
    [
        (("fs other is degraded",), False),
        (("fs cephfs2 is degraded", "mds.z(mds.0): behind on trimming"), False),
        (("fs other is degraded", "fs cephfs is degraded"), True),
        (("mds.m2(mds.2): 1 slow requests",), True),
        (("mds.z(mds.2): 1 slow requests",), False),
        ((), True),
        (("in words that no release has used yet",), True),
    ],
)
def test_another_file_systems_trouble_is_no_reason_to_wait(detail: tuple[str, ...], waits: bool) -> None:
    health = {code: HealthCheck("1 of them", detail) for code in ("FS_DEGRADED", "MDS_SLOW_REQUEST")}
    assert (why_wait(FakeCluster().state, health, {}, PLAN) is not None) is waits


@given(st.text())
def test_whatever_the_name_it_is_one_line_of_utf8(name: str) -> None:
    shown = printable(name)
    shown.encode()
    assert len(shown.splitlines()) <= 1


def test_a_table_is_one_line_a_row_whatever_the_name() -> None:
    assert len(table(("Name",), [("a\nb",), ("c\x1b[1m",)]).splitlines()) == 3


def test_a_rank_that_only_hands_requests_on_serves_none() -> None:
    assert served(received=120.0, forwarded=120.0) == 0.0
    assert served(received=120.0, forwarded=20.0) == 100.0
    assert served(received=0.0, forwarded=3.0) == 0.0


def latencies(**totals: tuple[float, int]) -> Callable[[str], list[tuple[float, ...]]]:
    """Points of the latency counters: mean latency in ms and count, by kind of request."""
    told = {
        f"mds_server.req_{kind}_latency": [(0.0, 0.0, 0.0), (10.0, mean * 1e6 * n, float(n))]
        for kind, (mean, n) in totals.items()
    }
    return lambda path: told.get(path, [])


def test_the_latency_that_counts_is_that_of_the_quickest_common_kind() -> None:
    common = kinds(latencies(lookup=(8.0, 800), open=(900.0, 150), mkdir=(0.1, 3)), 10)
    assert quickest(common, 0.2, 95.0) == pytest.approx(0.008)
    assert quickest(kinds(latencies(open=(900.0, 150)), 10), 0.9, 15.0) == pytest.approx(0.9)
    assert quickest(kinds(latencies(), 10), 0.2, 10.0) == 0.2


@pytest.mark.parametrize(
    ("of", "requests", "fetches", "found"),
    [
        # Nearly all wait for a capability that a writer holds: the rank answers all else at once.
        ({"getattr": (12.0, 4800), "open": (0.4, 60), "lookup": (0.3, 80)}, 1000.0, 0.0, 0.3),
        ({"getattr": (12.0, 4800), "lookup": (0.3, 19)}, 1000.0, 0.0, 12.0),  # too few to tell
        ({"getattr": (12.0, 4800), "lookup": (0.3, 80)}, 1000.0, 50.0, 12.0),  # its cache is too small
        # Full ranks. MDSs take from each client in turn, so that one with little to do overtakes others.
        ({"create": (128.0, 9990), "getattr": (2.28, 53)}, 1004.0, 0.0, 128.0),
        ({"create": (64.0, 9950), "getattr": (0.7, 50)}, 1000.0, 0.0, 64.0),
        ({"create": (16.0, 9700), "lookup": (12.0, 300)}, 1000.0, 0.0, 16.0),
        ({"create": (1.3, 9700), "lookup": (0.9, 300)}, 1000.0, 0.0, 1.3),
        # Not full: what comes at any time would wait for half a request at least.
        ({"create": (1.3, 9700), "lookup": (0.4, 300)}, 1000.0, 0.0, 0.4),
    ],
)
def test_of_a_kind_that_waits_for_clients_the_few_of_others_tell(
    of: dict[str, tuple[float, int]], requests: float, fetches: float, found: float
) -> None:
    """In ms."""
    assert quickest(kinds(latencies(**of), 10), 0.01, requests, fetches) == pytest.approx(found / 1000.0)


class Fetching(FakeCluster):
    """Rank 0 answers 640 lookups/s, 64 at a time; of them so many a second fetch a directory."""

    fetches, active, reads, writes = 0.0, 0, 0.0, 0.0
    purging, purges = 0, 0.0
    counts_purges = True  # Reef does not

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        if path == "objecter.op_active":
            return [(0.0, 0.0), (5.0, float(self.active + 2)), (10.0, float(self.active - 2))]
        if path == "purge_queue.pq_executing_ops":
            return [(0.0, 0.0), (5.0, float(self.purging)), (10.0, float(self.purging))]
        if path == "purge_queue.pq_executed_ops" and not self.counts_purges:
            return []
        if path.endswith("latency"):
            count = 6400.0 if path in ("mds.reply_latency", "mds_server.req_lookup_latency") else 0.0
            return [(0.0, 0.0, 0.0), (10.0, count * 1e8, count)]
        counts = {"mds_server.handle_client_request": 640.0, "mds.dir_fetch_complete": self.fetches}
        counts |= {"objecter.op_r": self.reads, "objecter.op_w": self.writes}
        counts["purge_queue.pq_executed_ops"] = self.purges
        return [(0.0, 0.0), (10.0, 10.0 * counts.get(path, 0.0))]


@pytest.mark.parametrize(
    ("fetches", "active", "reads", "writes", "full"),
    [
        (0.0, 0, 0.0, 0.0, True),
        (64.0, 62, 64.0, 0.0, False),  # a slow pool: nearly all wait for it
        (64.0, 34, 64.0, 0.0, False),  # most
        (64.0, 4, 64.0, 0.0, True),  # a quick one
        (64.0, 62, 5.0, 95.0, True),  # of what is under way there nearly all is the journal
        (12.0, 62, 12.0, 0.0, True),  # so few that it is for something else
        (64.0, 62, 0.0, 0.0, True),  # nobody knows
    ],
)
def test_what_waits_for_the_metadata_pool_fills_no_rank(
    fetches: float, active: int, reads: float, writes: float, full: bool
) -> None:
    cluster = Fetching()
    cluster.fetches, cluster.active, cluster.reads, cluster.writes = fetches, active, reads, writes
    host: Any = cluster
    (sample, *_) = observe_ranks(host, host.state, 10.0, 11.0)
    assert sample.inside == pytest.approx(64.0), "its clients wait for it either way"
    assert fills(sample) == full


def fills(sample: RankSample) -> bool:
    rates, own, fetched = ([[value] * 3] for value in (sample.requests, sample.own, sample.fetches))
    marks = saturated_epochs(np.array(rates), np.array(own), np.array(fetched))
    return bool(saturated_ranks(marks)[0])


@pytest.mark.parametrize(
    ("active", "purging", "purges", "counts", "full"),
    [
        (200, 0, 0.0, True, False),  # 64 of 100 operations/s are reads of a slow metadata pool
        (200, 199, 36.0, True, True),  # all but one delete files in a slow data pool
        (200, 100, 36.0, True, False),  # both pools are slow
        (200, 199, 36.0, False, False),  # Reef does not tell
    ],
)
def test_what_deletes_files_waits_for_no_metadata(
    active: int, purging: int, purges: float, counts: bool, full: bool
) -> None:
    cluster = Fetching()
    cluster.fetches, cluster.active, cluster.reads, cluster.writes = 64.0, active, 64.0, 36.0
    cluster.purging, cluster.purges, cluster.counts_purges = purging, purges, counts
    host: Any = cluster
    (sample, *_) = observe_ranks(host, host.state, 10.0, 11.0)
    assert fills(sample) == full


def test_how_many_requests_are_of_a_kind_is_counted() -> None:
    both = latencies(lookup=(8.0, 60), link=(9.0, 20))
    assert (part(both, "link", 10, 8.0), part(both, "lookup", 10, 8.0)) == (0.25, 0.75)
    assert part(latencies(lookup=(8.0, 60)), "link", 10, 6.0) == part(latencies(), "link", 10, 0.0) == 0.0


def heat(seconds: float, half_life: float = 5.0, **loads: tuple[float, float]) -> Heat:
    """After so many seconds with a load (req/s) on each path, from what it had been before."""
    left = kept(seconds, half_life)
    each = half_life / math.log(2.0)
    of = {path: before * left + load * each * (1.0 - left) for path, (before, load) in loads.items()}
    return Heat(sum(of.values()), of, frozenset(loads), half_life)


def shares(found: Heat) -> dict[str, float]:
    return {path: value / found.total for path, value in found.of.items()}


def test_a_load_that_has_gone_does_not_count_by_the_heat_that_it_left() -> None:
    before = heat(60.0, a=(0.0, 100.0), b=(0.0, 0.0))
    now = heat(5.0, a=(before.of["a"], 0.0), b=(0.0, 100.0))
    assert shares(now)["a"] == pytest.approx(0.5, rel=1e-3)
    assert shares(now.since(before, 5.0)) == pytest.approx({"a": 0.0, "b": 1.0})
    assert min(now.since(before, 4.5).of.values()) >= 0.0, "MDSs answer when they can"


def test_a_load_that_stays_has_the_shares_that_it_had() -> None:
    before = heat(60.0, a=(0.0, 30.0), b=(0.0, 10.0))
    now = heat(5.0, a=(before.of["a"], 30.0), b=(before.of["b"], 10.0))
    assert shares(now.since(before, 5.0)) == pytest.approx({"a": 0.75, "b": 0.25})
    half = replace(before, asked=frozenset({"a"}), of={"a": before.of["a"]})
    assert shares(now.since(half, 5.0)) == pytest.approx({"a": 0.75, "b": 0.25}, rel=1e-3), (
        "b was not looked for"
    )


def test_where_subtrees_came_or_went_all_heat_of_these_counts() -> None:
    before = heat(60.0, **{"/p/a": (0.0, 30.0), "/p/b": (0.0, 10.0)})
    now = heat(5.0, **{"/p/a": (before.of["/p/a"], 0.0), "/p/b": (before.of["/p/b"], 10.0)})
    root, at = Subtree("/", 0, -1, False), {path: Subtree(path, 0, 0, False) for path in ("/p/a", "/p", "/q")}
    told = RankAnswer(105.0, now, (root,))
    gone = pytest.approx({"/p/a": 0.0, "/p/b": 1.0})
    assert shares(told.since(RankAnswer(100.0, before, (root,)))) == gone
    assert shares(told.since(RankAnswer(100.0, before, (root, at["/q"])))) == gone, "it is none of theirs"
    for came in ("/p/a", "/p"):
        assert told.since(RankAnswer(100.0, before, (root, at[came]))) == now
    assert told.since(None) == now
    assert told.since(told) == told.since(RankAnswer(103.0, before, (root,))) == now, (
        "nobody can tell so soon"
    )


@pytest.mark.parametrize(
    ("seconds", "was", "long"), [(15.0, 40.0, True), (5.0, 40.0, False), (15.0, 1.0, False)]
)
def test_what_is_hot_is_told_from_what_was_after_a_moment_or_where_little_was(
    seconds: float, was: float, long: bool
) -> None:
    """Clients that begin are not waited for."""
    root = Subtree("/", 0, -1, False)
    before, now = heat(60.0, a=(0.0, was)), heat(60.0, a=(0.0, 40.0))
    told = RankAnswer(100.0 + seconds, now, (root,))
    assert told.long_after(RankAnswer(100.0, before, (root,))) is long
    assert not told.long_after(None)


def test_where_next_to_nothing_was_added_all_heat_counts() -> None:
    before = heat(60.0, a=(0.0, 30.0), b=(0.0, 10.0))
    now = heat(5.0, a=(before.of["a"], 0.0), b=(before.of["b"], 0.2))
    assert now.since(before, 5.0) == now
    assert heat(1.0).since(heat(1.0), 1.0) == heat(1.0), "nothing at all"


def test_the_heat_of_what_has_moved_away_counts_once_and_goes() -> None:
    at = heat(60.0, **{"/a": (0.0, 30.0), "/a/b": (0.0, 20.0), "/c": (0.0, 10.0)})
    told = replace(at, total=at.of["/a"] + at.of["/c"])  # what is in /a/b is in /a as well
    left = told.less(["/a/b", "/a"])
    assert left.of == {"/c": at.of["/c"]} and left.total == pytest.approx(at.of["/c"])
    assert told.less([]) is told


def in_parts(seconds: float, before: Heat | None = None, **loads: float) -> Heat:
    """/p with its parts /p/j and /p/k in its subtree, beside /q: loads in req/s, after so many seconds."""
    own = {"/p/j": 0.0, "/p/k": 0.0, "/q": 0.0} | {path.replace("_", "/"): v for path, v in loads.items()}
    all_of_it = own | {"/p": own["/p/j"] + own["/p/k"]}
    was = {} if before is None else before.of
    at = heat(seconds, **{path: (was.get(path, 0.0), load) for path, load in all_of_it.items()})
    return replace(at, total=at.of["/p"] + at.of["/q"])


def test_the_heat_that_a_part_left_behind_is_not_what_it_was_taken_out_of() -> None:
    before = in_parts(60.0, _p_j=100.0, _p_k=400.0, _q=500.0)
    now = in_parts(5.0, before, _p_j=100.0, _q=500.0)
    found = shares(now.since(before, 5.0, frozenset({"/"})))
    assert found == pytest.approx({"/p": 1 / 6, "/p/j": 1 / 6, "/p/k": 0.0, "/q": 5 / 6}, abs=1e-3)
    served = requests({0: now.since(before, 5.0)}, {0: 600.0})
    assert served["/p"] - served["/p/j"] == pytest.approx(0.0, abs=1.0), "of its own it has nothing"


def test_a_part_in_a_subtree_of_its_own_takes_nothing_of_what_it_was_taken_out_of() -> None:
    """Its heat never counted there (MDBalancer::hit_dir)."""
    root, part = Subtree("/", 0, -1, False), Subtree("/p/k", 0, 0, False)
    was, left = heat(60.0, k=(0.0, 400.0)).of["k"], kept(5.0, 5.0)
    loads = {"/p": (100.0, 100.0), "/q": (500.0, 500.0)}
    each = 5.0 / math.log(2.0)
    before = heat(60.0, **{"/p/k": (0.0, 400.0)}, **{path: (0.0, load) for path, (_, load) in loads.items()})
    steady = {path: (load * each, load) for path, (_, load) in loads.items()}
    now = heat(5.0, **{"/p/k": (was, 0.0)}, **steady)
    assert now.of["/p/k"] == pytest.approx(left * was)
    found = RankAnswer(105.0, now, (root, part)).since(RankAnswer(100.0, before, (root, part)))
    assert shares(found) == pytest.approx({"/p": 1 / 6, "/p/k": 0.0, "/q": 5 / 6}, abs=1e-3)
    both = heat(5.0, **{"/p/k": (was, 0.0), "/p": (100.0 * each, 0.0), "/q": (500.0 * each, 500.0)})
    found = RankAnswer(105.0, both, (root, part)).since(RankAnswer(100.0, before, (root, part)))
    assert shares(found) == pytest.approx({"/p": 0.0, "/p/k": 0.0, "/q": 1.0}, abs=1e-3)


def test_the_heat_of_a_part_that_has_moved_away_does_not_stay_where_it_was_taken_out() -> None:
    told = in_parts(60.0, _p_j=100.0, _p_k=400.0, _q=500.0)
    left = told.less(["/p/k"], frozenset({"/"}))
    assert shares(left) == pytest.approx({"/p": 1 / 6, "/p/j": 1 / 6, "/q": 5 / 6}, abs=1e-3)
    beside = told.less(["/p/k"], frozenset({"/", "/p/k"}))
    assert beside.of["/p"] == told.of["/p"], "it was in a subtree of its own"


def test_a_ranks_heat_has_its_half_life_and_what_was_looked_for() -> None:
    counters = {"Decay Counters": [{"value": 4.0, "halflife": 7.0}, *({"value": 0.0, "halflife": 7.0},) * 4]}
    frag = {"pop_auth_subtree": counters, "pop_auth_subtree_nested": counters}
    answer = {"dirfrags": [{"path": "", **frag}, {"path": A, **frag}]}
    assert rank_heat(answer, frozenset({A, B})) == Heat(4.0, {A: 4.0}, frozenset({A, B}), 7.0)
    assert rank_heat({"dirfrags": []}, frozenset({A})) == Heat(0.0, {}, frozenset({A}), 0.0)


@pytest.mark.parametrize(
    ("period", "age", "told"), [(5.0, 21.0, {0: 20.0}), (10.0, 21.0, {}), (10.0, 41.0, {0: 40.0})]
)
def test_a_rank_is_silent_when_it_has_missed_four_reports(
    period: float, age: float, told: dict[int, float]
) -> None:
    class Reports(FakeCluster):
        def report_period(self) -> float:
            return period

        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            return [(1000.0 - (age if mds == "m0" else 1.0), 0.0)]

    host: Any = Reports()
    assert silent(host, host.state, 1000.0) == told


def test_a_rank_that_the_mon_misses_is_silent_also_to_a_manager_that_never_heard_of_it() -> None:
    class Restarted(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            return []

    host: Any = Restarted()
    laggy = tuple(replace(mds, laggy=mds.rank == 1) for mds in host.state.mds)
    fs = replace(host.state, mds=laggy)
    assert (found := silent(host, fs, 1000.0)) == {1: 0.0}
    said = "rank 1 (mds.m1) has said nothing to the mon (laggy)"
    assert silence(fs, found) == said, "how long that takes is mds_beacon_grace of the mons"
    assert silence(fs, {1: 20.0}) == "rank 1 (mds.m1) has said nothing for over 20 s"


def test_links_are_counted_on_a_rank_with_next_to_nothing_inside() -> None:
    """One client makes them, and waits for each: less than one request is inside."""

    class Links(FakeCluster):
        def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
            counts = {"mds_server.handle_client_request": 1500.0, "mds.reply_latency": 1500.0}
            kinds = {"mds_server.req_link_latency": 300.0, "mds_server.req_lookup_latency": 900.0}
            count = (counts | kinds).get(path, 0.0)
            if not path.endswith("latency"):
                return [(0.0, 0.0), (5.0, count)]
            return [(0.0, 0.0, 0.0), (5.0, 1e6 * count, count)]

    host: Any = Links()
    (first, *_) = observe_ranks(host, host.state, 5.0, 6.0)
    assert first.inside < 1.0 and first.links == pytest.approx(0.2)
    assert first.lookups == pytest.approx(0.6)


def test_in_an_analysis_the_pinned_parts_of_a_directory_count_for_it() -> None:
    """Clients are mounted at the root: where the children have pins, their parent's own counter is small."""

    def counters(value: float) -> dict[str, Any]:
        return {
            "Decay Counters": [{"value": value, "halflife": 5.0}, *({"value": 0.0, "halflife": 5.0},) * 4]
        }

    frags = [
        {"path": path, "pop_auth_subtree": counters(own), "pop_auth_subtree_nested": counters(nested)}
        for path, own, nested in (("", 1.0, 100.0), (A, 2.0, 90.0), (B, 8.0, 8.0))
    ]
    heat = {0: rank_heat({"dirfrags": frags}, frozenset({A, B}), ALL)}
    shares = attribute([Session(0, 7, "/", 10, 1.0, False)], {0: 1000.0}, heat, {A, B})
    assert shares[A].requests == pytest.approx(900.0) and shares[B].requests == pytest.approx(80.0)
