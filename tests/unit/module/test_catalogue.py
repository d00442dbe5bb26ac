# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler reads of directories, a part in each round."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from fake_cluster import Directory, ended
from scheduled import BACKTRACE, BEGINNING, NOGROUP, Cluster, LoadedMount

from mds_partitioner import clock
from mds_partitioner.ceph.volumes import VOLUMES
from mds_partitioner.clock import Now
from mds_partitioner.engine.reasons import EPHEMERAL_PIN
from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.model import NO_PIN, Churning
from mds_partitioner.model import Directory as ModelDirectory
from mds_partitioner.observe import listing
from mds_partitioner.observe.children import Brood
from mds_partitioner.observe.directories import Everything
from mds_partitioner.observe.listing import MOST_ENTRIES, SELDOM
from mds_partitioner.observe.turnover import MOST_LISTED, MOST_PARTS
from mds_partitioner.plan.fixed import Fixed, operators
from mds_partitioner.schedule import asking
from mds_partitioner.schedule.asking import FRESH, SOON, Asking
from mds_partitioner.schedule.catalogue import PAUSE, TRIES, Catalogue, Known, Wanted
from mds_partitioner.schedule.core.view import UNREAD_MASK, Piece, RankView, View
from mds_partitioner.schedule.deleted import A_ROUND as A_FEW
from mds_partitioner.schedule.deleted import Deleted
from mds_partitioner.schedule.fragments import REPLACED, Fragments, flat
from mds_partitioner.schedule.insides import AT_ONCE, FIRST, SILENT, Inside, InsideReader, several
from mds_partitioner.schedule.insides import children as count_children
from mds_partitioner.schedule.owned import Owned
from mds_partitioner.schedule.pieces import Settled
from mds_partitioner.schedule.reading import _to_count
from mds_partitioner.verify.whereabouts import ROOT

PARENT = "/volumes/_nogroup/s0"
CHILDREN = 2 * AT_ONCE + 20
NOTHING = Owned()


@dataclass
class Counting:
    """A host that counts what its mounts read."""

    cluster: Cluster
    read: Counter[str] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    asked: int = 0  # questions
    frozen: bool = False  # nothing is answered
    hangs: str = ""  # nor is a question by this name
    late: list[Any] = field(default_factory=list)
    hook: bool | None = False

    def has_hook(self, fs: Any) -> bool | None:
        """Host.has_hook."""
        return self.hook

    def on_fs(self, fs: Any, call: Any) -> Any:
        """Host.on_fs."""
        mount, read, listed = LoadedMount(self.cluster), self.read, self.listed

        class Counted:
            def __getattr__(self, name: str) -> Any:
                return getattr(mount, name)

            def born(self, path: str) -> float:
                """FileSystem.born: asked once a child that is looked at."""
                read[path] += 1
                return mount.born(path)

            def subdirectories(self, path: str) -> list[tuple[str, int]]:
                """FileSystem.subdirectories."""
                listed[path] += 1
                return mount.subdirectories(path)

        return call(Counted())

    def begin_on_fs(self, fs: Any, question: Any) -> Future[Any]:
        """Host.begin_on_fs; what is frozen, or hangs at a path, is answered by ``answer``."""
        self.asked += 1
        if self.frozen or (self.hangs and self.hangs in str(getattr(question, "func", ""))):
            future: Future[Any] = Future()
            future.set_running_or_notify_cancel()
            self.late.append((future, fs, question))
            return future
        return ended(lambda: self.on_fs(fs, question))

    def answer(self) -> None:
        """What hangs goes on and ends."""
        self.frozen, self.hangs = False, ""
        for future, fs, question in self.late:
            future.set_result(self.on_fs(fs, question))
        self.late.clear()


class Slow:
    """A clock by which half a second goes by whenever it is looked at."""

    steady = 0.0

    def __call__(self) -> Now:
        self.steady += 0.5
        return Now(BEGINNING, self.steady)


def children(known: Any) -> set[str]:
    return {d.path for d in known.directories if d.path.startswith(f"{PARENT}/")}


@pytest.mark.parametrize(
    ("going", "found"),
    [(set(), 64), ({0}, 56), ({63}, 56), ({0, 9, 18, 27}, 32), (set(range(37)), 0), (set(range(64)), 0)],
)
def test_a_few_children_stand_for_all(going: set[int], found: int) -> None:
    assert several(range(64), lambda kid: kid not in going) == found
    assert (several([], bool), several([1], bool), several([1, 1], bool)) == (0, 1, 2)


def below(read: Counter[str]) -> int:
    return sum(count for path, count in read.items() if path.startswith(f"{PARENT}/"))


def test_children_that_are_read_quickly_are_read_in_one_round() -> None:
    host: Any = Counting(cluster := with_children(CHILDREN))
    assert not brood_of(InsideReader(Asking(host), clock.read), cluster, 1.0).unread


def test_the_children_of_a_large_directory_are_read_a_part_in_each_round() -> None:
    cluster = Cluster([20.0] * 4)
    for i in range(CHILDREN):
        cluster.directories[200 + i] = Directory(f"{PARENT}/c{i:03d}")
    host: Any = Counting(cluster)
    times = count(0.0, SOON)  # MDSs take so long for some of them
    catalogue, now = Catalogue(host, BEGINNING, lambda: Now(BEGINNING, next(times))), BEGINNING
    wanted = Wanted(split=frozenset({100}))
    for _ in range(2):  # which directories there are; then, a part of what is in them
        catalogue.refresh(cluster.state, 200, wanted, Owned(), now)
    assert below(host.read) == len(children(catalogue.known)) == AT_ONCE
    for _ in range(2):
        before = below(host.read)
        catalogue.refresh(cluster.state, 200, wanted, Owned(), now)
        assert below(host.read) - before <= AT_ONCE
    assert len(children(catalogue.known)) == CHILDREN
    # A new one is read when they are listed again, and the others are not.
    cluster.directories[900] = Directory(f"{PARENT}/new")
    before = below(host.read)
    catalogue.refresh(cluster.state, 200, wanted, Owned(), now + FRESH / 2)
    assert below(host.read) == before
    catalogue.refresh(cluster.state, 200, wanted, Owned(), now + FRESH + 1)
    assert host.read[f"{PARENT}/new"] >= 1 and len(children(catalogue.known)) == CHILDREN + 1
    assert below(host.read) - before <= 3


def test_a_round_ends_early_where_parts_come_to_be_known_but_not_twice_in_a_row() -> None:
    """A manager that takes over finds many that are in parts; all else waits for none of them."""
    cluster = Cluster([20.0] * 6)
    for i in range(6):
        cluster.directories |= {200 + 2 * i + k: Directory(f"/volumes/_nogroup/s{i}/c{k}") for k in (0, 1)}
    host: Any = cluster
    catalogue = Catalogue(host, BEGINNING, clock.read)
    wanted = Wanted({"/volumes/_nogroup/s0": 20.0}, split=frozenset(range(100, 106)))
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, replace(wanted, split=frozenset()), Owned(), BEGINNING)
    early = [catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + 700.0) for _ in range(6)]
    assert early.count(True) == 2 and (True, True) not in zip(early, early[1:])
    assert {catalogue.known.within[200 + 2 * i] for i in range(6)} == set(range(100, 106))


@pytest.mark.parametrize(
    ("rates", "count", "early"),
    [
        ((20.0, 1.0), frozenset(), True),
        ((20.0, 20.0), frozenset(), True),
        ((20.0, 81.0), frozenset(), False),
        ((20.0, 81.0), frozenset({100}), True),
    ],
    ids=["most of the load", "a rank's share", "less", "a full rank has nothing else"],
)
def test_a_round_ends_early_where_what_fills_a_rank_is_found_to_have_parts(
    rates: tuple[float, float], count: frozenset[int], early: bool
) -> None:
    """At a full rank each of the other steps may take as long as is waited for."""
    cluster = Cluster([0.0] * 2)
    host: Any = cluster
    catalogue = Catalogue(host, BEGINNING, clock.read)
    wanted = Wanted({f"/volumes/_nogroup/s{i}": rate for i, rate in enumerate(rates)}, count=count)
    first = {path: rate for path, rate in wanted.requests.items() if path.endswith("s1")}
    for _ in range(3):
        catalogue.refresh(cluster.state, 200, Wanted(first), Owned(), BEGINNING + 600.0)
    assert catalogue.known.ripe and 100 not in catalogue.known.parts
    cluster.directories |= {200 + k: Directory(f"/volumes/_nogroup/s0/c{k}") for k in range(4)}
    ends = [catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + 610.0) for _ in range(2)]
    assert ends == [early, False] and catalogue.known.parts[100] == 4


@pytest.mark.parametrize("by_count", [False, True], ids=["a rank's share", "a full rank has nothing else"])
def test_of_what_ends_a_round_early_an_ephemeral_pin_is_known(by_count: bool) -> None:
    """It may be moved at once, or taken apart: MDSs show none that they have not followed yet."""
    cluster = Cluster([0.0] * 2)
    host: Any = cluster
    catalogue = Catalogue(host, BEGINNING, clock.read)
    for _ in range(3):
        catalogue.refresh(cluster.state, 200, Wanted({f"{NOGROUP}/s1": 1.0}), Owned(), BEGINNING + 600.0)
    cluster.directories[100].distributed = "1"
    cluster.directories |= {200 + k: Directory(f"{PARENT}/c{k}") for k in range(4)}
    rates, counted = ({"s0": 20.0, "s1": 81.0}, {100}) if by_count else ({"s0": 20.0, "s1": 1.0}, set())
    wanted = Wanted({f"{NOGROUP}/{name}": rate for name, rate in rates.items()}, count=frozenset(counted))
    assert catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + 610.0)
    c = catalogue.known.circumstances(cluster.state, Owned())
    at = ModelDirectory(PARENT, "s0", 100)
    assert catalogue.known.parts[100] == 4 and operators(Settled(at, -1, False), c) == Fixed(EPHEMERAL_PIN)


def test_of_very_many_children_the_busiest_are_read_first() -> None:
    host: Any = Counting(cluster := with_children(90))
    times = count(0.0, SOON)
    insides = InsideReader(Asking(host), lambda: Now(BEGINNING, next(times)))
    busy = {f"{PARENT}/c{i:02d}": 100.0 for i in (77, 83, 89)}
    found = brood_of(insides, cluster, 1.0, requests=busy)
    assert len(found.children) == AT_ONCE and {kid.path for kid in found.children} >= busy.keys()


def test_parts_are_counted_of_what_has_a_pin_of_ours_below_it_though_it_has_no_load() -> None:
    host: Any = Counting(cluster := with_children(3))
    catalogue = Catalogue(host, BEGINNING, clock.read)
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, Wanted(), Owned(), BEGINNING + 700.0)
    assert 100 not in catalogue.known.parts
    catalogue.refresh(cluster.state, 200, Wanted(count=frozenset({100})), Owned(), BEGINNING + 700.0)
    assert catalogue.known.parts[100] == 3


@pytest.fixture(autouse=True)
def impatient(monkeypatch: Any) -> None:
    """Nobody waits for what hangs."""
    monkeypatch.setattr(asking, "wait", lambda futures, seconds: None)


def test_before_the_first_decision_less_is_asked_for() -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING)
    assert not catalogue.known.ripe
    busy = {d.path: 20.0 - i for i, d in enumerate(catalogue.known.directories)}
    paths, ranks = list(busy), len(cluster.state.ranks_in)
    for late, listings in ((0.0, [2] * FIRST + [1] * (ranks - FIRST)), (5.0, [1] * ranks)):
        host.listed.clear()
        catalogue.refresh(cluster.state, len(busy), Wanted(busy), Owned(), BEGINNING + late)
        assert catalogue.known.ripe and len(catalogue.known.facts) == len(busy)
        # At first each is counted and two are listed once more for what comes and goes; then all are.
        assert [host.listed[path] for path in paths[:ranks]] == listings


def test_all_are_not_listed_again_at_once_when_that_takes_its_time() -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, Slow())
    for rounds, times in enumerate((1, *[1] * round(PAUSE - 1), 2, 2)):  # half a second each, as a listing
        catalogue.refresh(cluster.state, 2, Wanted(), Owned(), BEGINNING + rounds)
        assert host.listed["/"] == times
    assert len(catalogue.known.facts) == 2


@pytest.mark.parametrize(
    ("takes", "then"),
    [
        ([100.0] * 4, [0.0, 400.0, 800.0, 1200.0]),
        ([1.0, 300.0, 1.0, 1.0], [0.0, 11.0, 321.0, 332.0]),  # an MDS was away for five minutes
    ],
)
def test_a_listing_that_takes_minutes_takes_no_more_than_a_quarter_of_the_time(
    monkeypatch: pytest.MonkeyPatch, takes: list[float], then: list[float]
) -> None:
    cluster, at, began = Cluster([20.0] * 2), 0.0, list[float]()
    host: Any = Counting(cluster)

    def everything(self: Everything, mount: Any, now: float) -> list[ModelDirectory]:
        nonlocal at
        at += takes[len(began)]
        began.append(at - takes[len(began)])
        return [ModelDirectory(PARENT, PARENT, 100)]

    monkeypatch.setattr(Everything, "__call__", everything)
    catalogue = Catalogue(host, BEGINNING, lambda: Now(BEGINNING + at, at))
    while len(began) < len(takes):
        catalogue.refresh(cluster.state, 2, Wanted(), Owned(), BEGINNING + at)
        at += 10.0
    assert began == then


def test_a_listing_that_comes_late_counts_and_is_not_begun_twice() -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue, wanted = Catalogue(host, BEGINNING, Slow()), Wanted()
    host.frozen = True
    for at in (0.0, 5.0):
        with pytest.raises(Unavailable, match="the directories of 'cephfs' were not listed in time"):
            catalogue.refresh(cluster.state, 2, wanted, Owned(), BEGINNING + at)
        assert not catalogue.known.ripe and len(host.late) == 1, "all, once"
    host.answer()
    catalogue.refresh(cluster.state, 2, wanted, Owned(), BEGINNING + 10.0)
    assert len(catalogue.known.directories) == len(catalogue.known.facts) == 2
    cluster.directories[300] = Directory(f"{NOGROUP}/new")
    host.hangs = "_list"
    for at in range(100):
        catalogue.refresh(cluster.state, 2, wanted, Owned(), BEGINNING + at)
    assert len(catalogue.known.directories) == 2 and len(host.late) == 1
    host.answer()
    catalogue.refresh(cluster.state, 2, wanted, Owned(), BEGINNING + 300.0)
    assert len(catalogue.known.directories) == 3


@pytest.mark.parametrize(
    ("late", "new"), [(-1e5, False), (-200.0, True), (0.0, True), (200.0, True), (1e5, False)]
)
def test_what_is_new_is_so_also_if_the_clock_of_its_client_is_some_minutes_off(
    late: float, new: bool
) -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    cluster.wall, cluster.steady = BEGINNING + 5.0, 105.0
    cluster.directories[500], cluster.made[500] = Directory(f"{NOGROUP}/new"), BEGINNING + 4.0 + late
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), cluster.wall)
    assert (500 in catalogue.known.fresh) is new


def test_what_is_new_is_so_also_after_the_clock_was_put_back() -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING + 3600.0, cluster.now)
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING + 3600.0)
    for late, ino in ((5.0, 500), (10.0, 501)):
        cluster.wall, cluster.steady = BEGINNING + late, 3700.0 + late
        cluster.directories[ino], cluster.made[ino] = Directory(f"{NOGROUP}/new{ino}"), BEGINNING + late - 1.0
        catalogue.refresh(cluster.state, 9, Wanted(), Owned(), cluster.wall)
        assert ino in catalogue.known.fresh


@pytest.mark.parametrize("error", [Unavailable("the mount is lost"), CephError("EIO", errno.EIO)])
def test_what_is_new_is_so_also_if_it_could_not_be_asked_about_at_once(
    monkeypatch: pytest.MonkeyPatch, error: CephError
) -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    cluster.directories[500], cluster.made[500] = Directory(f"{NOGROUP}/new"), BEGINNING + 4.0

    def born(mount: LoadedMount, path: str) -> float:
        raise error

    for late, known in ((5.0, False), (10.0, True)):
        with monkeypatch.context() as patched:
            if not known:
                patched.setattr(LoadedMount, "born", born)
            cluster.wall, cluster.steady = BEGINNING + late, 100.0 + late
            catalogue.refresh(cluster.state, 9, Wanted(), Owned(), cluster.wall)
        assert (500 in catalogue.known.fresh) is known


def test_children_are_listed_again_when_the_clock_was_put_back() -> None:
    host: Any = Counting(cluster := with_children(2))
    insides = InsideReader(Asking(host), cluster.now)
    assert len(brood_of(insides, cluster, 3600.0).children) == 2
    cluster.directories[900] = Directory(f"{PARENT}/new")
    assert len(brood_of(insides, cluster, 5.0).children) == 3


@pytest.mark.parametrize(("age", "seen"), [(200.0, 35.0), (86_400.0, 125.0)])
def test_what_is_seen_as_its_parts_has_no_new_ones_that_were_made_before(age: float, seen: float) -> None:
    """age: of the directory, s; seen: when a child that was made in the first second lasts, s"""
    cluster = with_children(2)
    cluster.made |= {100: BEGINNING - age, 200: BEGINNING - age / 2.0, 201: BEGINNING + 1.0}
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    for late in (seen - 90.0, seen, seen + 5.0):
        cluster.wall, cluster.steady = BEGINNING + late, 100.0 + late
        catalogue.refresh(cluster.state, 9, Wanted(split=frozenset({100})), Owned(), cluster.wall)
    assert len(children(catalogue.known)) == 2 and catalogue.known.fresh == {201}


@pytest.mark.parametrize(("name", "new"), [("build", False), ("other", True)])
def test_what_is_made_anew_under_its_name_is_not_placed_as_new(name: str, new: bool) -> None:
    """As the directory of a build is."""
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    cluster.directories[500], cluster.made[500] = Directory(f"{NOGROUP}/build"), BEGINNING - 3600.0
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    del cluster.directories[500]
    cluster.directories[501], cluster.made[501] = Directory(f"{NOGROUP}/{name}"), BEGINNING + 4.0
    cluster.wall, cluster.steady = BEGINNING + 5.0, 105.0
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), cluster.wall)
    assert (501 in catalogue.known.fresh) is new


def test_what_is_new_where_such_are_removed_soon_has_to_outlive_that() -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)

    def look(late: float) -> frozenset[int]:
        cluster.wall = BEGINNING + late
        cluster.steady = 100.0 + late
        catalogue.refresh(cluster.state, 9, Wanted(), Owned(), cluster.wall)
        return catalogue.known.fresh

    def make(ino: int, late: float) -> None:
        cluster.directories[ino], cluster.made[ino] = Directory(f"{NOGROUP}/new{ino}"), BEGINNING + late

    look(0.0)
    make(500, 1.0)
    assert look(5.0) == {500}, "none was seen to go"
    del cluster.directories[500]
    look(10.0)
    make(501, 11.0)
    seen = [look(late) for late in range(15, 80, 5)]
    assert not any(501 in fresh for fresh in seen[:5])
    assert any(501 in fresh for fresh in seen), "it has outlived that"
    for ino in range(510, 520):
        make(ino, 81.0)
    assert {*range(510, 520)} <= look(85.0), "more stay than go"
    look(400.0)
    for ino in range(510, 520):
        del cluster.directories[ino]
    look(410.0)
    make(520, 700.0)
    assert look(705.0) == {520}, "those stayed for long enough to be placed"


@pytest.mark.parametrize("lives", [45, 90])
def test_jobs_that_remove_their_directories_after_a_minute_get_no_pins_for_them(lives: int) -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    seen: list[frozenset[int]] = []
    for late in range(0, 600, 5):
        job = 500 + late
        if late % 10 == 0:
            cluster.directories[job] = Directory(f"{NOGROUP}/job{job}")
            cluster.made[job] = BEGINNING + late
        cluster.directories.pop(job - lives, None)
        cluster.wall, cluster.steady = BEGINNING + late + 1.0, 100.0 + late
        catalogue.refresh(cluster.state, 20, Wanted(), Owned(), cluster.wall)
        seen.append(catalogue.known.fresh)
    assert any(seen[:20]), "nobody could know"
    assert not any(seen[40:])


@pytest.mark.parametrize("stay", [False, True])
def test_volumes_that_live_for_minutes_get_no_pins_beside_many_that_are_there_for_long(stay: bool) -> None:
    """A thousand are old; one is made each ten seconds, and lives for five minutes, or on."""
    cluster = Cluster([20.0] * 4)
    for ino in range(5000, 6000):
        cluster.directories[ino], cluster.made[ino] = Directory(f"{NOGROUP}/old{ino}"), BEGINNING - 1e7
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, cluster.now)
    seen: list[frozenset[int]] = []
    for late in range(0, 1500, 10):
        cluster.directories[10_000 + late] = Directory(f"{NOGROUP}/volume{late}")
        cluster.made[10_000 + late] = BEGINNING + late
        if not stay:
            cluster.directories.pop(10_000 + late - 300, None)
        cluster.wall, cluster.steady = BEGINNING + late + 1.0, 100.0 + late
        catalogue.refresh(cluster.state, 20, Wanted(), Owned(), cluster.wall)
        seen.append(catalogue.known.fresh)
    assert any(seen[:20]) and any(seen[60:]) is stay


def test_what_does_not_answer_keeps_nothing_else_back_and_is_asked_once() -> None:
    cluster = Cluster([20.0] * 4)
    cluster.directories |= {200 + i: Directory(f"{PARENT}/c{i}") for i in range(4)}
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING)
    busy = {d.path: 20.0 for d in catalogue.known.directories}
    wanted = Wanted(busy, split=frozenset({100}))
    host.hangs = "count"
    for tries in range(1, TRIES + 1):
        catalogue.refresh(cluster.state, len(busy), wanted, Owned(), BEGINNING + tries)
        assert catalogue.known.ripe == (tries == TRIES), "it is not decided on next to nothing, nor never"
        assert len(host.late) == len(busy) and catalogue.known.facts.keys() >= busy.keys()
    assert catalogue.known.parts == {100: 4}, "its children were read"
    host.answer()
    catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + 9.0)
    assert catalogue.known.parts == {100: 4, 101: 0, 102: 0, 103: 0}


def test_facts_that_come_late_are_of_when_they_were_asked_for_and_no_answer_to_a_doubt() -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING)
    host.hangs = "Facts._read"
    for late in (1.0, 2.0):
        catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING + late)
    assert not catalogue.known.facts and len(host.late) == 2
    catalogue.doubt({101})
    host.answer()
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING + 3.0)
    (path,) = catalogue.known.facts
    assert path == cluster.directories[100].path and catalogue.known.read[path] == BEGINNING + 1.0
    ours = Owned({100: 2}, {100: BEGINNING + 2.0})
    assert catalogue.known.pin(catalogue.known.facts[path].directory, ours) == 2, "set since"
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING + 4.0)
    assert len(catalogue.known.facts) == 2


def test_a_doubt_in_the_middle_of_a_round_is_not_lost() -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    begin = host.begin_on_fs

    def meanwhile(fs: Any, question: Any) -> Any:
        catalogue.doubt({100})
        return begin(fs, question)

    host.begin_on_fs = meanwhile
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING + 65.0)  # what is above is due
    assert [f.directory.ino for f in catalogue.known.facts.values()] == [101]
    host.begin_on_fs = begin
    catalogue.refresh(cluster.state, 1, Wanted(), Owned(), BEGINNING + 70.0)
    assert len(catalogue.known.facts) == 2


def test_what_places_a_new_directory_from_above_is_known_when_it_is() -> None:
    cluster = Cluster([20.0])
    host: Any = cluster
    catalogue = Catalogue(host, BEGINNING, lambda: Now(BEGINNING, 0.0))
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    cluster.directories |= {300: Directory("/volumes/g2", pin=3), 301: Directory("/volumes/g2/s")}
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING + 5.0)
    assert "/volumes/g2/s" in catalogue.known.facts and catalogue.known.above["/volumes/g2"].pin == 3


def test_nothing_is_known_of_what_is_below_something_that_was_not_read() -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    host.hangs = "Above._read"
    catalogue.refresh(cluster.state, 9, Wanted(), Owned(), BEGINNING)
    assert len(catalogue.known.directories) == 2 and not catalogue.known.facts
    host.answer()
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING + 5.0)
    assert len(catalogue.known.facts) == 2


def test_what_nobody_expects_of_a_question_takes_no_other_answer_away() -> None:
    cluster = Cluster([20.0])
    host: Any = Counting(cluster)
    seen: list[int] = []
    broken: Future[Any] = Future()
    broken.set_exception(KeyError("x"))
    host.begin_on_fs = lambda fs, question: question
    ask = Asking(host)
    questions: Any = {("a", 1): broken, ("b", 2): ended(lambda: lambda: seen.append(2))}
    with pytest.raises(KeyError):
        ask.ask(cluster.state, questions)
    assert seen == [2] and not ask.pending("a")


def test_what_was_read_of_children_is_known_at_once_and_not_held_against_a_doubt() -> None:
    cluster = Cluster([20.0])
    cluster.directories |= {200 + i: Directory(f"{PARENT}/c{i}") for i in range(4)}
    host: Any = Counting(cluster)
    catalogue, wanted = Catalogue(host, BEGINNING, clock.read), Wanted(split=frozenset({100}))
    for late in (0.0, 1.0):
        catalogue.refresh(cluster.state, 0, wanted, Owned(), BEGINNING + late)
    paths = [f"{PARENT}/c{i}" for i in range(4)]
    assert all(catalogue.known.facts[path].pin == -1 for path in paths)
    cluster.directories[202].pin = 3  # an operator's
    catalogue.doubt({202})
    catalogue.refresh(cluster.state, 0, wanted, Owned(), BEGINNING + 2.0)
    assert paths[2] not in catalogue.known.facts, "what was read before is no answer"
    catalogue.refresh(cluster.state, 9, wanted, Owned(), BEGINNING + 3.0)
    assert catalogue.known.facts[paths[2]].pin == 3


def test_nothing_is_asked_of_what_is_under_way() -> None:
    cluster = Cluster([20.0] * 4)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    catalogue.refresh(cluster.state, 0, Wanted(), Owned(), BEGINNING)
    busy = {d.path: 20.0 for d in catalogue.known.directories}
    host.listed.clear()
    catalogue.refresh(cluster.state, 9, Wanted(busy, moving=frozenset({101})), Owned(), BEGINNING)
    moving = cluster.directories[101].path
    assert not host.listed[moving] and all(host.listed[path] for path in busy if path != moving)
    assert catalogue.known.parts.keys() == {100, 102, 103}


@dataclass
class Sluggish(Counting):
    """Answers so many of its questions in a round; those after them are not begun."""

    answers: int = 6
    about: str = "_read_children"  # who asks them

    def begin_on_fs(self, fs: Any, question: Any) -> Future[Any]:
        """Host.begin_on_fs."""
        if self.about not in str(question.func):
            return super().begin_on_fs(fs, question)
        self.answers -= 1
        return super().begin_on_fs(fs, question) if self.answers >= 0 else Future()


def brood_of(
    insides: InsideReader,
    cluster: Cluster,
    at: float,
    owned: Owned = NOTHING,
    moving: Collection[int] = (),
    requests: dict[str, float] | None = None,
) -> Brood:
    """Of PARENT, after a look at it so many seconds after the beginning."""
    split = [ModelDirectory(PARENT, "s0", 100)]
    inside = Inside((), (), split, requests or {}, moving)
    insides.look(cluster.state, inside, owned, BEGINNING + at, first=True)
    return insides.broods[100][1]


def with_children(number: int) -> Cluster:
    cluster = Cluster([20.0])
    cluster.directories |= {200 + i: Directory(f"{PARENT}/c{i:02d}") for i in range(number)}
    return cluster


@pytest.mark.parametrize("answers", [1, 6])
def test_children_that_take_too_long_are_read_in_the_next_round(answers: int) -> None:
    """Also where only one of several was read: it is not taken for the only one that there is."""
    host: Any = Sluggish(cluster := with_children(20))
    insides = InsideReader(Asking(host), clock.read)
    for rounds in range(1, 4):
        host.answers = answers
        found = brood_of(insides, cluster, (FRESH + 1.0) * rounds)
        assert len(found.children) == answers * rounds == 20 - len(found.unread)
        assert [at.path for at in found.chain] == [PARENT]
    assert host.listed[PARENT] == 3, "listed again, though some are unread"
    del cluster.directories[found.unread[0].ino]
    host.answers = 20
    found = brood_of(insides, cluster, (FRESH + 1.0) * 3.0 + 5.0)
    assert (len(found.children), found.unread, found.vanished) == (19, (), 1)


def test_a_part_stays_one_when_we_pin_it_anew_whatever_is_read_then() -> None:
    host: Any = Sluggish(cluster := with_children(20))
    cluster.directories[200].pin = 2
    insides = InsideReader(Asking(host), clock.read)
    host.answers = 6
    before = Owned(pins={200: 2}, moved_at={200: BEGINNING - 50.0})
    assert next(kid.pin for kid in brood_of(insides, cluster, 10.0, before).children if kid.ino == 200) == 2
    owned, host.answers = Owned(pins={200: 3}, moved_at={200: BEGINNING + 12.0}), 6
    cluster.directories[200].pin = 3
    for at, answers in ((20.0, 6), (20.0 + FRESH + 1.0, 0)):
        host.answers = answers
        brood_of(insides, cluster, at, owned, moving={200})
        found = owned.since(*insides.broods[100])
        assert next(kid.pin for kid in found.children if kid.ino == 200) == 3


def test_of_children_that_are_exported_nothing_is_asked() -> None:
    host: Any = Counting(cluster := with_children(4))
    insides = InsideReader(Asking(host), clock.read)
    assert [kid.ino for kid in brood_of(insides, cluster, 1.0, moving={201}).unread] == [201]
    assert len(brood_of(insides, cluster, 2.0, moving={100}).unread) == 1, "nor of what is in it"
    assert not brood_of(insides, cluster, 3.0).unread


@dataclass
class Damaged(Counting):
    """Never answers a question about one of the children."""

    ino: int = 203

    def begin_on_fs(self, fs: Any, question: Any) -> Future[Any]:
        """Host.begin_on_fs."""
        at = getattr(question, "keywords", {}).get("at")
        self.hangs = "_read_children" if at is not None and at.ino == self.ino else ""
        return super().begin_on_fs(fs, question)


@pytest.mark.parametrize("fails", [False, True])
def test_a_child_that_does_not_answer_is_not_waited_for_for_ever(fails: bool) -> None:
    host: Any = Damaged(cluster := with_children(4))
    steady = 0.0
    catalogue = Catalogue(host, BEGINNING, lambda: Now(BEGINNING + steady, steady))
    found = list[tuple[bool, int]]()
    for steady in (0.0, 5.0, SILENT, SILENT + 10.0):
        at, wanted = BEGINNING + steady, Wanted(split=frozenset({100} if steady else ()))
        catalogue.refresh(cluster.state, 9, wanted, NOTHING, at)
        found.append((100 in catalogue.known.unknown, len(children(catalogue.known))))
        for future, _, _ in host.late if fails else ():
            future.set_exception(Unavailable("it is damaged"))
        host.late.clear()
    assert found == [(False, 0), (True, 3), (True, 3), (False, 3)]
    assert catalogue.known.strangers == {100}, "it may have a pin"


def test_a_listing_that_comes_late_takes_away_no_child_that_was_read_meanwhile() -> None:
    host: Any = Sluggish(cluster := with_children(20))
    insides, host.answers = InsideReader(Asking(host), clock.read), 5
    assert len(brood_of(insides, cluster, 0.0).children) == 5
    host.hangs, host.answers = "InsideReader._read ", 10
    assert len(brood_of(insides, cluster, FRESH + 1.0).children) == 15
    assert host.late
    host.answer()
    host.answers = 0
    assert len(brood_of(insides, cluster, FRESH + 5.0).children) == 15


def test_another_directory_of_the_same_name_is_not_taken_for_the_child() -> None:
    host: Any = Sluggish(cluster := with_children(4))
    insides, host.answers = InsideReader(Asking(host), clock.read), 0
    brood_of(insides, cluster, 0.0)
    cluster.directories[300] = replace(cluster.directories.pop(200), pin=1)
    host.answers = 4
    found = brood_of(insides, cluster, 5.0)
    assert ({kid.ino for kid in found.children}, found.vanished) == ({201, 202, 203}, 1)
    host.answers = 1
    assert {kid.ino for kid in brood_of(insides, cluster, FRESH + 6.0).children} == {300, 201, 202, 203}


def test_what_was_deleted_is_looked_up_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    host: Any = Cluster()
    deleted = Deleted(host)
    gone, there = set(range(900, 900 + 2 * A_FEW)), set(host.load)
    seen = []
    for _ in range(4):
        deleted.look(host.state, gone | there)
        seen.append(len(deleted.inos))
    assert max(after - before for before, after in zip([0, *seen], seen)) <= A_FEW
    assert deleted.inos == gone
    deleted.look(host.state, {900, 901})
    assert deleted.inos == {900, 901}, "the journal has the others no more"

    def silent(*_: object) -> bytes:
        raise Unavailable("no OSD answers")

    monkeypatch.setattr(host, "object_attribute", silent)
    deleted.look(host.state, gone)
    assert deleted.inos == {900, 901}, "in doubt it is there"


def test_what_mdss_have_not_come_to_purge_was_deleted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is there, and not listed, all MDSs are asked once in a round."""
    host: Any = (cluster := Cluster())
    cluster.directories[ROOT] = Directory("/")
    monkeypatch.setattr(host, "object_attribute", lambda *_: BACKTRACE)
    asked = Counter[int]()

    def heard(fs: Any, names: list[str], prefix: str, *, number: int) -> dict[str, Any]:
        asked[number] += 1
        return Cluster.tell_each(cluster, fs, names, prefix, number=number)

    monkeypatch.setattr(host, "tell_each", heard)
    deleted = Deleted(host)
    gone, there = set(range(900, 905)), set(host.load)
    for _ in range(2 * len(there | gone)):
        deleted.look(host.state, gone | there)
    assert (deleted.inos, deleted.moved) == (gone, there)
    assert sum(asked[ino] for ino in there) <= 2 * len(there | gone)
    assert all(asked[ino] for ino in there)


def test_what_could_be_distributed_is_looked_at_again_when_we_have_pinned_it() -> None:
    """A pin that is not known would not be taken off, and hold all of it."""
    host: Any = (cluster := Cluster([250.0, 20.0]))
    cluster.files[100], cluster.below[PARENT] = 5000, 5000
    catalogue, wanted = Catalogue(host, BEGINNING, clock.read), Wanted({PARENT: 250.0}, hot=frozenset({100}))
    for now in (BEGINNING, BEGINNING + 1.0):
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, now)
    assert catalogue.known.fragments[100].pin == NO_PIN
    cluster.directories[100].pin = 2
    ours = Owned(pins={100: 2}, moved_at={100: BEGINNING + 5.0})
    catalogue.refresh(cluster.state, 200, wanted, ours, BEGINNING + 10.0)
    assert catalogue.known.fragments[100].pin == 2


@pytest.mark.parametrize(("inside", "ino"), [("", ROOT), (PARENT, 100)])
def test_what_is_too_large_to_list_keeps_what_was_known(inside: str, ino: int) -> None:
    cluster = Cluster([20.0] * 4)
    cluster.directories |= {200 + i: Directory(f"{inside}/c{i}") for i in range(4)}
    host: Any = Counting(cluster)
    wanted, now = Wanted(split=frozenset({100})), BEGINNING
    catalogue = Catalogue(host, BEGINNING, lambda: Now(now, now - BEGINNING))  # a listing takes no time

    def found() -> set[int]:
        catalogue.refresh(cluster.state, 200, wanted, Owned(), now)
        return {d.ino for d in catalogue.known.directories if d.ino >= 200}

    found()
    assert found() == {200, 201, 202, 203}
    cluster.files[ino], now = MOST_LISTED, now + FRESH + 1
    del cluster.directories[203]
    cluster.directories[202].path = f"{inside}/elsewhere"
    listed = host.listed[inside or "/"]
    assert found() == {200, 201}
    assert host.listed[inside or "/"] == listed, "it was not listed again"
    cluster.files[ino], now = 0, now + FRESH + 1
    assert found() == {200, 201, 202}


@pytest.mark.parametrize(("above", "another"), [(PARENT, False), (PARENT, True), (f"{PARENT}/uuid", False)])
def test_what_is_too_large_to_list_keeps_its_parts_when_it_is_renamed(above: str, another: bool) -> None:
    cluster = Cluster([20.0])
    cluster.directories[300] = Directory(f"{PARENT}/uuid")
    cluster.directories |= {200 + i: Directory(f"{PARENT}/uuid/c{i}") for i in range(4)}
    host: Any = cluster
    catalogue = Catalogue(host, BEGINNING, lambda: Now(BEGINNING, 0.0))
    wanted, now = Wanted(split=frozenset({100})), BEGINNING
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, now)
    cluster.files[300], now = MOST_LISTED, now + FRESH + 1
    for at in cluster.directories.values():
        at.path = at.path.replace(above, f"{above}-old")
    if another:
        cluster.directories |= {900: Directory(above), 901: Directory(f"{above}/c0")}
    for _ in range(3):
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, now)
        now += 1.0
    parts = {ino for ino, of in catalogue.known.within.items() if of == 100}
    there = {cluster.directories[ino].path for ino in parts}
    assert parts == {200, 201, 202, 203} and there <= catalogue.known.facts.keys()


def test_what_was_not_read_yet_of_what_is_renamed_and_too_large_to_list_is_read_there() -> None:
    host: Any = Sluggish(cluster := with_children(4))
    insides, host.answers = InsideReader(Asking(host), clock.read), 1
    assert len(brood_of(insides, cluster, 0.0).unread) == 3
    cluster.files[100], host.answers = MOST_LISTED, 9
    for at in cluster.directories.values():
        at.path = at.path.replace(PARENT, f"{PARENT}-old")
    inside = Inside((), (), [ModelDirectory(f"{PARENT}-old", "s0-old", 100)], {}, ())
    insides.look(cluster.state, inside, NOTHING, BEGINNING + FRESH + 1.0, first=True)
    _, found = insides.broods[100]
    assert sorted(kid.path for kid in found.children) == [f"{PARENT}-old/c{i:02d}" for i in range(4)]


def test_what_is_too_large_to_list_has_the_pins_that_we_have_set_since() -> None:
    host: Any = (cluster := with_children(4))
    cluster.directories[200].pin = 2
    insides = InsideReader(Asking(host), clock.read)
    brood_of(insides, cluster, 0.0, Owned(pins={200: 2}))
    cluster.files[100] = MOST_LISTED
    owned = Owned(pins={200: 3}, moved_at={200: BEGINNING + 10.0})
    found = brood_of(insides, cluster, FRESH + 1.0, owned)
    assert [kid.pin for kid in found.children] == [3, NO_PIN, NO_PIN, NO_PIN]


@pytest.mark.parametrize(("pin", "parts"), [(2, {200}), (NO_PIN, {210, 211})])
def test_one_that_we_pinned_stays_a_part_when_it_is_the_only_one_left(pin: int, parts: set[int]) -> None:
    """Its load was that of no piece. ``pin``: an operator may have taken it off"""
    host: Any = (cluster := with_children(2))
    for kid in (200, 201):
        cluster.directories[kid].pin = 2
    cluster.directories |= {210 + i: Directory(f"{PARENT}/c00/d{i}") for i in range(2)}
    catalogue, owned = Catalogue(host, BEGINNING, clock.read), Owned(pins={200: 2, 201: 2})
    wanted = Wanted(split=frozenset({100}))
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, wanted, owned, BEGINNING)
    assert set(catalogue.known.within) == {200, 201}
    del cluster.directories[201]
    cluster.directories[200].pin = pin
    catalogue.refresh(cluster.state, 200, wanted, owned, BEGINNING + FRESH + 1.0)
    assert set(catalogue.known.within) == parts


@pytest.mark.parametrize(("pins", "found"), [({200: 2}, 1), ({}, 0), ({200: NO_PIN}, 0)])
def test_the_only_one_counts_where_we_pinned_it_though_it_has_files_only(
    pins: dict[int, int], found: int
) -> None:
    mount: Any = LoadedMount(cluster := with_children(1))
    cluster.directories[200].pin = pins.get(200, NO_PIN)
    assert count_children(mount, PARENT, lambda *_: True, 9, pins=pins) == found
    assert count_children(mount, PARENT, lambda *_: False, 9, {100: ()}, pins) == found


NEW = ("d99999", 109_999)


class Wide(LoadedMount):
    """A directory with very many in it."""

    def __init__(self, cluster: Cluster, path: str, subdirs: int, files: int) -> None:
        super().__init__(cluster)
        self._path, self.names = path, [(f"d{i}", 10_000 + i) for i in range(subdirs)]
        self.count = subdirs + files
        self.gone: set[str] = set()

    def ino(self, path: str) -> int:
        """FileSystem.ino."""
        parent, _, name = path.rpartition("/")
        if (parent or "/") != self._path or path in self.gone or not name.startswith("d"):
            return super().ino(path)
        return 10_000 + int(name[1:])

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        return self.count if path == self._path else super().entries(path)

    def subdirs(self, path: str) -> int:
        """FileSystem.subdirs."""
        return len(self.names) if path == self._path else super().subdirs(path)

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        return self.names if path == self._path else super().subdirectories(path)

    def born(self, path: str) -> float:
        """FileSystem.born: long ago."""
        return 1.0


@pytest.mark.parametrize(
    ("subdirs", "files", "known"),
    [
        (5_000, 0, True),
        (MOST_PARTS, 0, True),
        (3_000, 3_000, True),
        (3_000, 3_001, False),
        (10_001, 0, False),
    ],
)
def test_thousands_of_directories_are_known_but_not_those_among_as_many_files(
    subdirs: int, files: int, known: bool
) -> None:
    homes: Any = Wide(Cluster([20.0]), PARENT, subdirs, files)
    assert count_children(homes, PARENT, lambda *_: True, 1) == known * subdirs


def test_few_of_those_that_cannot_be_listed_any_more_are_looked_for_at_a_time() -> None:
    cluster = Cluster([20.0])
    cluster.directories |= {200 + i: Directory(f"/c{i:03d}") for i in range(120)}
    mount: Any = LoadedMount(cluster)
    every = Everything()
    assert len(every(mount, 0.0)) == 121
    cluster.files[ROOT] = MOST_LISTED
    for ino in range(200, 320):
        del cluster.directories[ino]
    assert [len(every(mount, SELDOM / 2)) - 1 for _ in range(4)] == [70, 20, 0, 0]


@pytest.mark.parametrize(("subdirs", "files"), [(3_000, 3_010), (10_001, 0), (1, MOST_ENTRIES - 1)])
def test_a_root_with_many_entries_is_listed_soon_and_then_seldom(subdirs: int, files: int) -> None:
    """Else the next manager would not know what is in it. Subvolumes are known before."""
    root: Any = Wide(Cluster([20.0]), "/", subdirs, files)
    every = Everything()
    assert len(every(root, 95.0)) == 1
    assert len(every(root, 100.0)) == 1 + subdirs and not every.too_many
    root.names.append(NEW)
    for late, new in ((1.0, False), (SELDOM - 1.0, False), (SELDOM, True), (SELDOM + 1.0, True)):
        assert (f"/{NEW[0]}" in {d.path for d in every(root, 100.0 + late)}) is new


def test_a_root_that_could_not_be_listed_is_listed_next(monkeypatch: pytest.MonkeyPatch) -> None:
    root: Any = Wide(Cluster([20.0]), "/", 3_000, 3_010)
    every, subdirectories = Everything(), root.subdirectories

    def fails(path: str) -> list[tuple[str, int]]:
        if path == "/":
            raise Unavailable("no answer")
        found: list[tuple[str, int]] = subdirectories(path)
        return found

    every(root, 0.0)
    with monkeypatch.context() as failing:
        failing.setattr(root, "subdirectories", fails)
        with pytest.raises(Unavailable):
            every(root, 5.0)
    assert len(every(root, 10.0)) == 3_001


def test_a_root_with_too_many_entries_is_told_and_what_was_known_of_it_counts() -> None:
    root: Any = Wide(Cluster([20.0]), "/", 3, 0)
    every = Everything()
    assert len(every(root, 0.0)) == 4
    root.count = MOST_ENTRIES + 1
    assert len(every(root, 2 * SELDOM)) == 4 and every.too_many == {"/": MOST_ENTRIES + 1}
    assert len(Everything()(root, 0.0)) == 1
    root.count = 3
    assert len(every(root, 3 * SELDOM)) == 4 and not every.too_many


def test_a_group_of_very_many_subvolumes_is_listed_seldom() -> None:
    group: Any = Wide(Cluster([20.0]), NOGROUP, MOST_PARTS + 9, 0)
    every = Everything()
    assert len(every(group, 0.0)) == MOST_PARTS + 9
    gone, _ = group.names.pop(0)
    group.gone.add(f"{NOGROUP}/{gone}")
    group.names.append(NEW)
    for late, new in ((1.0, False), (SELDOM - 1.0, False), (SELDOM + 0.5, True)):
        names = {d.name for d in every(group, late)}
        assert (NEW[0] in names, gone in names) == (new, False)


def test_one_of_very_many_subvolumes_that_is_new_is_found_at_once() -> None:
    group: Any = Wide(Cluster([20.0]), NOGROUP, MOST_PARTS + 9, 0)
    every, listings = Everything(), []
    subdirectories = group.subdirectories
    group.subdirectories = lambda path: listings.append(path) or subdirectories(path)
    every(group, 0.0)
    every(group, 5.0)
    group.names.append(NEW)
    assert NEW[0] in {d.name for d in every(group, 10.0)}
    every(group, 15.0)
    assert listings.count(NOGROUP) == 2, "at first, and when there was one more"


class Groups(LoadedMount):
    """Groups of one subvolume each; an MDS takes three seconds to list one."""

    def __init__(self, cluster: Cluster, many: int) -> None:
        super().__init__(cluster)
        self.many, self.now = many, 0.0

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        if path == VOLUMES:
            return [(f"g{i}", 20_000 + i) for i in range(self.many)]
        if not path.startswith(f"{VOLUMES}/g"):
            return super().subdirectories(path)
        self.now += 3.0
        return [("s", 30_000 + int(path.removeprefix(f"{VOLUMES}/g")))]


def test_nobody_waits_for_thousands_of_groups_that_a_full_mds_is_slow_to_list() -> None:
    mount: Any = Groups(Cluster([20.0]), 3)
    every, known = Everything(lambda: Now(0.0, mount.now)), []
    for _ in range(4):
        found = every(mount, mount.now)
        known.append((sum(d.name.endswith("/s") for d in found), every.whole))
    assert known == [(1, False), (2, False), (3, True), (3, True)]


def test_a_group_of_very_many_keeps_no_other_from_being_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for some of these takes a full MDS as long as a look at groups may take."""
    mount: Any = Groups(Cluster([20.0]), 3)
    listed, subdirectories = list[str](), mount.subdirectories

    def many(path: str) -> list[tuple[str, int]]:
        listed.append(path)
        found: list[tuple[str, int]] = subdirectories(path)
        of_g0 = [(f"d{i}", 40_000 + i) for i in range(MOST_PARTS + 9)]
        return of_g0 if path == f"{VOLUMES}/g0" else found

    monkeypatch.setattr(mount, "subdirectories", many)
    for counted in ("subdirs", "entries"):
        monkeypatch.setattr(mount, counted, lambda path: MOST_PARTS + 9 if path == f"{VOLUMES}/g0" else 1)

    def found_again(_: Any, old: list[ModelDirectory]) -> list[ModelDirectory]:
        mount.now += 5.0
        return old

    monkeypatch.setattr(listing, "found_again", found_again)
    every = Everything(lambda: Now(0.0, mount.now))
    for _ in range(9):
        every(mount, mount.now)
    at = [path for path in listed if path.startswith(f"{VOLUMES}/g")]
    assert [at.count(f"{VOLUMES}/g{i}") for i in range(3)] == [1, 3, 3]


def test_files_are_found_beside_the_trash_of_a_subvolume() -> None:
    """A directory counts it among its own; nobody is told of it."""

    class Trash(LoadedMount):
        def subdirs(self, path: str) -> int:
            return super().subdirs(path) + (path == PARENT)

    cluster = Cluster([20.0])
    cluster.directories[200], cluster.files[200] = Directory(f"{PARENT}/uuid"), 4000
    mount: Any = Trash(cluster)
    found = flat(mount, PARENT, Known().circumstances(cluster.state, Owned(), 2.0), 0, [], {})
    assert isinstance(found, Fragments) and found.ino == 200


@pytest.mark.parametrize(
    ("right", "at", "known"),
    [({}, 300, False), ({PARENT: 0.6}, 300, False), ({PARENT: 0.2}, 300, True), ({PARENT: 1.0}, 100, True)],
)
def test_a_directory_in_one_that_has_files_too_is_told_by_where_the_load_is(
    right: dict[str, float], at: int, known: bool
) -> None:
    cluster = Cluster([20.0])
    cluster.directories[300], cluster.files = Directory(f"{PARENT}/archive"), {100: 1000, 300: 2000}
    cluster.below = {PARENT: 3001, f"{PARENT}/archive": 2000}
    mount: Any = LoadedMount(cluster)
    found = flat(mount, PARENT, Known().circumstances(cluster.state, Owned(), 2.0), 0, [], right)
    assert isinstance(found, Fragments) and (found.ino, found.asked_for(right)) == (at, known)


def test_a_child_that_an_operator_unpinned_is_looked_at_again() -> None:
    cluster = Cluster([20.0] * 4)
    for i in range(4):
        cluster.directories[200 + i] = Directory(f"{PARENT}/c{i}")
    cluster.directories[201].pin = 2
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    wanted = Wanted(split=frozenset({100}))
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING)
    assert children(catalogue.known) == {f"{PARENT}/c{i}" for i in (0, 2, 3)}
    cluster.directories[201].pin = -1
    catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + FRESH + 1)
    assert len(children(catalogue.known)) == 4


def test_children_last_when_they_are_half_a_minute_old_and_none_was_seen_to_go() -> None:
    """Also those that were made since the scheduler began: nobody waits ten minutes for it."""
    host: Any = Counting(cluster := with_children(4))
    insides = InsideReader(Asking(host), clock.read)

    def lasts(at: float) -> Any:
        return insides.look(cluster.state, Inside((), (), (), {}, ()), Owned(), BEGINNING + at, first=False)

    made = BEGINNING + 10.0
    assert not lasts(39.0)(made, made - 5.0, 100)
    assert lasts(41.0)(made, made - 5.0, 100)
    assert not lasts(41.0)(made, made - 1000.0, 100), "its parent is much older: children come and go there"
    assert lasts(611.0)(made, made - 100_000.0, 100)


@pytest.mark.parametrize("remade", [False, True])
def test_what_is_in_a_directory_that_is_made_anew_time_and_again_is_no_part(remade: bool) -> None:
    """The tree of a benchmark's iteration: its parent lasts, and it is gone in a moment, with any pins."""
    host: Any = Counting(cluster := with_children(0))
    insides = InsideReader(Asking(host), cluster.now)
    cluster.made[100] = BEGINNING - 5.0

    def look(at: float, tree: int) -> None:
        names = [tree, *range(tree + 1, tree + 5)]
        paths = [f"{PARENT}/tree", *(f"{PARENT}/tree/d{i}" for i in range(4))]
        left = {ino: d for ino, d in cluster.directories.items() if not d.path.startswith(f"{PARENT}/tree")}
        cluster.directories = left | {ino: Directory(path) for ino, path in zip(names, paths)}
        cluster.made |= dict.fromkeys(names, BEGINNING + (0.0 if tree == 300 else 40.0))
        busy = [ModelDirectory(PARENT, PARENT, 100)]
        insides.look(cluster.state, Inside(busy, (), (), {}, ()), Owned(), BEGINNING + at, first=False)

    for at in (1.0, 40.0):
        look(at, 300)
    assert insides.counts[100][1] == 4
    look(41.0, 400 if remade else 300)
    look(120.0, 400 if remade else 300)
    assert insides.counts[100][1] == (0 if remade else 4)


@pytest.mark.parametrize("remade", [False, True])
def test_one_directory_of_files_that_is_replaced_time_and_again_is_not_distributed(remade: bool) -> None:
    cluster = Cluster([20.0])
    cluster.directories[300], cluster.files = Directory(f"{PARENT}/tree"), {300: 4000}
    mount: Any = LoadedMount(cluster)
    c = Known().circumstances(cluster.state, Owned(), 2.0)
    found = flat(mount, PARENT, c, 0, [Churning(100, 1.0)] if remade else [], {})
    assert (found == REPLACED) is remade


@pytest.mark.parametrize(("ours", "held"), [({}, True), ({100: "1"}, False)])
def test_an_ephemeral_pin_of_a_busy_directory_is_known_before_mdss_show_it(
    ours: dict[int, str], held: bool
) -> None:
    cluster = Cluster([20.0] * 2)
    host: Any = Counting(cluster)
    catalogue, owned = Catalogue(host, BEGINNING, cluster.now), Owned(distributed=ours)
    busy = Wanted({f"{NOGROUP}/s0": 20.0})

    def look(late: float, wanted: Wanted) -> bool:
        cluster.wall = BEGINNING + late
        catalogue.refresh(cluster.state, 9, wanted, owned, cluster.wall)
        c = catalogue.known.circumstances(cluster.state, owned)
        at = ModelDirectory(f"{NOGROUP}/s0", "s0", 100)
        return operators(Settled(at, -1, False), c) == Fixed(EPHEMERAL_PIN)

    look(0.0, Wanted())
    cluster.directories[100].distributed = "1"
    assert not look(5.0, Wanted()), "only what is busy is asked"
    assert look(10.0, busy) is held
    cluster.directories[100].distributed = "0"
    assert look(20.0, busy) is held, "and once a minute"
    assert not look(80.0, busy)


@pytest.mark.parametrize("full", [True, False])
def test_what_could_be_moved_from_a_full_rank_is_looked_into_though_others_have_more(full: bool) -> None:
    """Each rank has a larger one that an operator has pinned."""
    busy = tuple(Piece(i, f"/b{i}", i, 75.0, 100.0, held="pinned", parts=None) for i in range(4))
    home = tuple(Piece(i, f"/h{i}", 0, i - 9.0, 100.0, parts=None) for i in range(10, 14))
    rest = (Piece(20, "/r", 1, 70.0, 100.0, parts=None), Piece(21, "/k", 0, 74.0, 100.0, parts=3))
    ranks = tuple(RankView(i, 145.0 if i == 0 else 85.0, 20.0, full and i == 0) for i in range(4))
    view = View(0.0, ranks, (*busy, *home, *rest), harmful=True)
    assert _to_count(view) == {12, 13}
    hooked = replace(view, pieces=(*busy, home[0]._replace(held=UNREAD_MASK, parts=1)))
    assert _to_count(hooked) == {10}


def test_masks_are_read_after_a_wait_also_while_an_mds_does_not_answer() -> None:
    """A full one may be too slow for that; without masks nothing would be moved from it."""
    host: Any = Counting(cluster := Cluster([0.0] * 2), hook=True)
    catalogue, wanted = Catalogue(host, BEGINNING, clock.read), Wanted({f"{NOGROUP}/s0": 9.0})
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, BEGINNING)
    catalogue.doubt_above()
    host.hook = None
    catalogue.refresh(cluster.state, 200, wanted, NOTHING, BEGINNING + 100.0)
    assert catalogue.known.masks == {100: "-1"}


def test_masks_of_what_is_gone_are_forgotten() -> None:
    host: Any = Counting(cluster := Cluster([0.0] * 2), hook=True)
    catalogue, seen = Catalogue(host, BEGINNING, cluster.now), []
    for late, busy in ((0.0, 0), (5.0, 0), (100.0, 1), (105.0, 1)):
        if late == 100.0:
            del cluster.directories[100]
        cluster.wall, cluster.steady = BEGINNING + late, 100.0 + late
        wanted = Wanted({f"{NOGROUP}/s{busy}": 9.0})
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, cluster.wall)
        seen.append(catalogue.known.masks)
    assert (seen[1], seen[3]) == ({100: "-1"}, {101: "-1"})


def test_a_pin_that_we_set_after_it_was_read_is_known_also_after_a_wait() -> None:
    """What was read before the wait is as old as it is."""
    host: Any = (cluster := Cluster([0.0] * 20))
    catalogue, wanted = Catalogue(host, BEGINNING, clock.read), Wanted({f"{NOGROUP}/s0": 9.0})
    for _ in range(2):
        catalogue.refresh(cluster.state, 200, wanted, NOTHING, BEGINNING)
    moved = next(d for d in catalogue.known.directories if d.path == f"{NOGROUP}/s9")
    ours = Owned(pins={moved.ino: 2}, moved_at={moved.ino: BEGINNING + 20.0})
    assert catalogue.known.pin(moved, ours) == 2
    catalogue.doubt_above()
    catalogue.refresh(cluster.state, 1, wanted, ours, BEGINNING + 100.0)
    assert catalogue.known.pin(moved, ours) == 2


def test_no_mask_is_waited_for_of_mdss_that_have_no_hook_any_more() -> None:
    """Those that do not answer may have it still."""
    host: Any = Counting(cluster := Cluster([0.0] * 2), hook=True)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    for hook, masks in ((True, {}), (True, {100: "-1"}), (None, {100: "-1"}), (False, None)):
        host.hook = hook
        catalogue.refresh(cluster.state, 200, Wanted({f"{NOGROUP}/s0": 9.0}), NOTHING, BEGINNING)
        assert catalogue.known.masks == masks


@pytest.mark.parametrize("busy", [1, 40])
def test_facts_of_the_busiest_are_new_in_each_round_and_all_others_have_their_turn(busy: int) -> None:
    """One that grows by thousands a second would count as the little that it was some minutes ago."""
    cluster = Cluster([0.0] * 300)
    host: Any = Counting(cluster)
    catalogue, paths = Catalogue(host, BEGINNING, clock.read), [f"{NOGROUP}/s{i}" for i in range(300)]
    wanted = Wanted({path: 1000.0 - i for i, path in enumerate(paths[200 : 200 + busy])})
    rounds = iter(range(1000))

    def entries_after(entries: int, times: int) -> list[int]:
        cluster.below |= dict.fromkeys(paths, entries)
        for late in (next(rounds) for _ in range(times)):
            catalogue.refresh(cluster.state, 20, wanted, Owned(), BEGINNING + 10.0 * late)
        known = catalogue.known.facts
        return [known[path].rentries - 1 for path in paths if path in known]

    assert entries_after(3, 31) == [3] * 300
    soon = entries_after(1_000_000, 1)
    assert soon[200:216].count(1_000_000) >= min(busy, 10) and soon.count(1_000_000) == 20
    soon = entries_after(1_000_000, 1)
    assert soon[200 : 200 + min(busy, 16)] == [1_000_000] * min(busy, 16) and soon.count(1_000_000) >= 36
    assert entries_after(1_000_000, 32) == [1_000_000] * 300


@pytest.mark.parametrize("answers", [4, 8, 16, 40])
def test_where_mdss_are_slow_all_is_read_before_the_busiest_are_read_again(answers: int) -> None:
    cluster = Cluster([0.0] * 300)
    host: Any = Sluggish(cluster, about="Facts._read")
    catalogue, paths = Catalogue(host, BEGINNING, clock.read), [f"{NOGROUP}/s{i}" for i in range(300)]
    wanted = Wanted({path: 1000.0 - i for i, path in enumerate(paths[200:])})
    rounds = iter(range(1000))

    def after(times: int) -> list[float]:
        """When each was read, in seconds before the last of so many rounds."""
        for late in (6.0 * next(rounds) for _ in range(times)):
            host.answers = answers
            catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + late)
        known = catalogue.known.read
        return [BEGINNING + late - known[path] for path in paths if path in known]

    once, busy = -(-300 // answers), range(200, 216)
    assert len(after(once)) == 300
    known = after(-(-32 // answers) + 2)
    assert max(known[k] for k in busy) <= 6.0 * (32 / answers + 1)
    assert max(after(2 * once)) <= 12.0 * once


def test_thousands_are_read_the_first_time_as_soon_as_they_can_be() -> None:
    cluster = Cluster([0.0] * 2000)
    host: Any = Counting(cluster)
    catalogue = Catalogue(host, BEGINNING, clock.read)
    wanted = Wanted({f"{NOGROUP}/s{i}": 2000.0 - i for i in range(2000)})
    for late in range(10):
        catalogue.refresh(cluster.state, 200, wanted, Owned(), BEGINNING + 10.0 * late)
    assert len(catalogue.known.facts) == 2000


def test_facts_that_were_just_asked_for_are_not_asked_for_again_though_rounds_have_no_pauses() -> None:
    cluster = Cluster([0.0] * 60)
    host: Any = Counting(cluster)
    catalogue, wanted = (
        Catalogue(host, BEGINNING, clock.read),
        Wanted({f"{NOGROUP}/s{i}": 9.0 for i in range(10)}),
    )
    for late in range(4):
        catalogue.refresh(cluster.state, 20, wanted, Owned(), BEGINNING + late)
    assert len(catalogue.known.facts) == 60
    before = catalogue.known.read
    catalogue.refresh(cluster.state, 60, wanted, Owned(), BEGINNING + 5.0)
    assert catalogue.known.read == before
    catalogue.refresh(cluster.state, 60, wanted, Owned(), BEGINNING + 15.0)
    assert set(catalogue.known.read.values()) == {BEGINNING + 15.0}
