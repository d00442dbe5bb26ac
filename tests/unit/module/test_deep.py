# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories of which each is the only one in the other: how far down they are followed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from fake_cluster import Directory
from scheduled import BEGINNING, NOGROUP, Cluster, LoadedMount, Manager

from mds_partitioner import clock
from mds_partitioner.model import Directory as ModelDirectory
from mds_partitioner.observe.children import brood
from mds_partitioner.observe.turnover import DEEPEST
from mds_partitioner.schedule.asking import Asking
from mds_partitioner.schedule.catalogue import Known
from mds_partitioner.schedule.fragments import LOW, flat
from mds_partitioner.schedule.insides import LOWEST, Inside, InsideReader, children
from mds_partitioner.schedule.owned import Owned
from mds_partitioner.schedule.record import ACT

TOP = f"{NOGROUP}/s0"
AT_MOST = LOWEST - TOP.count("/") - 1  # directories between a subvolume and what is told apart in it


class Deep(Cluster):
    """A subvolume, 100, with so many directories in one another, 300 and so on, and in the last of them some
    that are busy, 200 and so on.

    :ivar depths: that MDSs were asked for
    """

    def __init__(self, between: int, load: float = 100.0, number: int = 4) -> None:
        super().__init__([0.0, 20.0, 20.0, 20.0, 20.0])
        self.parent = TOP + "".join(f"/d{i}" for i in range(between))
        self.depths: list[int] = []
        for i in range(between):
            self.directories[300 + i] = Directory("/".join(self.parent.split("/")[: TOP.count("/") + 2 + i]))
        for i in range(number):
            self.directories[200 + i], self.load[200 + i] = Directory(f"{self.parent}/c{i:02d}"), load

    def tell_each(
        self, fs: Any, names: list[str], prefix: str, *, within: float = 8.0, **arguments: Any
    ) -> dict[str, Any]:
        """Host.tell_each."""
        self.depths += [arguments["depth"]] if prefix == "dump loads" else []
        return super().tell_each(fs, names, prefix, within=within, **arguments)

    @property
    def fullest(self) -> float:
        """req/s that are asked of a rank, at most."""
        return max(map(self.demand, self.state.ranks_in))


@pytest.mark.parametrize("between", [0, 1, 4, AT_MOST])
def test_what_is_some_levels_down_is_taken_apart(between: int) -> None:
    cluster = Deep(between)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert manager.scheduling.get(manager.fs).split == (100,)
    assert cluster.fullest < cluster.capacity
    assert max(cluster.depths) == TOP.count("/") + between + 1 <= LOWEST


@pytest.mark.parametrize("between", [AT_MOST + 1, 58])
def test_for_what_is_lower_no_mds_tells_more_and_it_is_moved_as_a_whole(
    between: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Deep(between)
    asked = Counter[str]()

    class Counted(LoadedMount):
        def born(self, path: str) -> float:
            asked[path] += 1
            return super().born(path)

    monkeypatch.setattr(cluster, "on_fs", lambda fs, call, ino=None: call(Counted(cluster)))
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert not manager.scheduling.get(manager.fs).split
    assert max(cluster.depths) == TOP.count("/")
    assert max(path.count("/") for path in asked) == LOWEST


@pytest.mark.parametrize("remembered", [True, False])
def test_what_was_taken_apart_lower_down_stays_so(remembered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an older version, or a plan of an operator's."""
    cluster = Deep(AT_MOST + 5, 25.0, 16)
    with monkeypatch.context() as before:
        before.setattr("mds_partitioner.schedule.insides.LOWEST", 64)
        manager = Manager(cluster)
        manager.scheduling.start(manager.fs, ACT)
        manager.run(200)
    assert cluster.fullest < cluster.capacity
    if not remembered:
        for key in [key for key in cluster.store.data if key.startswith("schedule")]:
            cluster.store.delete(key)
    after = Manager(cluster)
    after.scheduling.start(after.fs, ACT)
    cluster.load |= {ino: 110.0 for ino in range(200, 216) if cluster.directories[ino].rank == 3}
    cluster.wall, cluster.steady = cluster.wall + 3700.0, cluster.steady + 3700.0
    assert cluster.fullest > cluster.capacity
    after.run(300)
    assert after.scheduling.watch(after.fs).state.split == {100}
    assert cluster.fullest < 0.9 * cluster.capacity


class Endless:
    """Each has one directory."""

    asked = 0

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        self.asked += 1
        return [("d", 7)]

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        return 1

    subdirs = rentries = entries

    def born(self, path: str) -> float:
        """FileSystem.born."""
        return 1.0

    def ino(self, path: str) -> int:
        """FileSystem.ino."""
        return 7

    def pin(self, path: str) -> int:
        """FileSystem.pin."""
        return -1

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """FileSystem.rentries_and_pin."""
        return 3, -1

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        """FileSystem.ephemeral_pins."""
        return False, False


def test_nobody_follows_them_without_end() -> None:
    mount: Any = Endless()
    assert len(brood(mount, "/a", lambda *_: True).chain) == DEEPEST
    found = brood(mount, "/a", lambda *_: True, levels=3)
    assert [at.path for at in found.chain] == ["/a", "/a/d", "/a/d/d"]
    assert [kid.path for kid in found.children] == ["/a/d/d/d"]
    mount.asked = 0
    assert children(mount, "/a", lambda *_: True, 3) == 0 and mount.asked == 3
    c = Known().circumstances(Cluster().state, Owned(), 2.0)
    assert flat(mount, TOP, c, 0, [], {}) == LOW and mount.asked <= 3 + LOWEST


@pytest.mark.parametrize(("pins", "found"), [({}, 0), ({200: 2}, 4)])
def test_what_has_a_pin_of_ours_is_counted_however_low_it_is(pins: dict[int, int], found: int) -> None:
    cluster = Deep(20)
    host: Any = cluster
    insides = InsideReader(Asking(host), clock.read)
    of = [ModelDirectory(TOP, "s0", 100)]
    owned = Owned(pins, paths={cluster.directories[ino].path: pin for ino, pin in pins.items()})
    insides.look(cluster.state, Inside((), of, of, {}, ()), owned, BEGINNING, first=True)
    assert insides.counts[100][1] == found
    _, seen = insides.broods[100]
    assert {kid.path.count("/") for kid in seen.children} == {
        cluster.parent.count("/") + 1 if pins else LOWEST
    }
