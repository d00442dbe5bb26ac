# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is in a directory is listed as often as its entries allow: also where /volumes is a plain tree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from fake_cluster import Directory
from scheduled import Cluster, LoadedMount

from mds_partitioner.ceph.volumes import VOLUMES
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError
from mds_partitioner.observe.directories import Everything, Foremost
from mds_partitioner.observe.listing import COUNTED, MOST_ENTRIES, SELDOM
from mds_partitioner.observe.turnover import MOST_LISTED

APP, DATA, HOME = 300, 301, 302


class Tree(LoadedMount):
    """/volumes/appA with a directory in it, beside /home; and what is asked of them."""

    def __init__(self) -> None:
        cluster = Cluster([])
        cluster.directories = {2: Directory(VOLUMES), APP: Directory(f"{VOLUMES}/appA")}
        cluster.directories |= {DATA: Directory(f"{VOLUMES}/appA/data"), HOME: Directory("/home")}
        super().__init__(cluster)
        self.cluster, self.files = cluster, cluster.files
        self.listed, self.counted = Counter[str](), Counter[str]()

    def subdirs(self, path: str) -> int:
        """FileSystem.subdirs."""
        return len(super().subdirectories(path))

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        self.counted[path] += 1
        return super().entries(path)

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        self.listed[path] += 1
        return super().subdirectories(path)


@pytest.fixture
def tree() -> Any:
    return Tree()


def inos(find: Any, tree: Any, now: float = 0.0) -> set[int]:
    return {d.ino for d in find(tree, now)}


def test_a_group_with_a_million_files_is_not_listed_and_told(tree: Any) -> None:
    tree.files[APP] = 1_000_000
    every = Everything()
    assert inos(every, tree) == {HOME} and every.whole
    assert every.too_many == {f"{VOLUMES}/appA": 1_000_001}
    assert inos(every, tree, 2 * SELDOM) == {HOME} and not tree.listed[f"{VOLUMES}/appA"]
    tree.files[APP] = 1
    assert inos(every, tree, 3 * SELDOM) == {HOME, DATA} and not every.too_many


def test_what_was_known_of_a_group_counts_while_it_has_too_many_files(tree: Any) -> None:
    tree.cluster.directories[400] = Directory(f"{VOLUMES}/appA/new")
    every = Everything()
    assert inos(every, tree) == {HOME, DATA, 400}
    tree.files[APP] = MOST_ENTRIES
    del tree.cluster.directories[400]
    assert inos(every, tree, COUNTED) == {HOME, DATA}


def test_a_group_with_many_files_is_listed_seldom(tree: Any) -> None:
    """Also when a directory comes: with files that come and go one may at any time."""
    tree.files[APP] = MOST_LISTED
    every = Everything()
    assert inos(every, tree) == {HOME, DATA}
    tree.cluster.directories[400] = Directory(f"{VOLUMES}/appA/new")
    for now, new in ((5.0, False), (SELDOM - 1.0, False), (SELDOM, True), (SELDOM + 5.0, True)):
        assert (400 in inos(every, tree, now)) is new
    assert tree.listed[f"{VOLUMES}/appA"] == 2


def test_groups_among_many_files_are_looked_for_seldom(tree: Any) -> None:
    tree.files[2] = MOST_LISTED
    every = Everything()
    assert inos(every, tree) == {HOME, DATA}
    tree.cluster.directories |= {500: Directory(f"{VOLUMES}/appB"), 501: Directory(f"{VOLUMES}/appB/data")}
    assert inos(every, tree, 5.0) == {HOME, DATA}
    assert inos(every, tree, SELDOM) == {HOME, DATA, 501}
    tree.files[2] = MOST_ENTRIES
    assert inos(every, tree, 3 * SELDOM) == {HOME, DATA, 501}
    assert every.too_many == {VOLUMES: MOST_ENTRIES + 2}
    del tree.cluster.directories[500], tree.cluster.directories[501]
    assert inos(every, tree, 3 * SELDOM + 5.0) == {HOME, DATA}


def test_an_analysis_lists_no_group_with_a_million_files(tree: Any) -> None:
    tree.files[APP] = 1_000_000
    find = Foremost(lambda: Now(0.0, 0.0))
    assert [d.path for d in find(tree)] == ["/home"] and not tree.listed[f"{VOLUMES}/appA"]
    tree.files[APP] = MOST_LISTED
    times = iter((0.0, 0.0, 10.0, 10.0, 20.0, 20.0))
    find = Foremost(lambda: Now(0.0, next(times)))
    for _ in range(3):
        assert [d.path for d in find(tree)] == [f"{VOLUMES}/appA/data"]
    assert tree.listed[f"{VOLUMES}/appA"] == 1


@pytest.mark.parametrize(("long", "entries"), [(2, 150_000), (APP, 1_000_000)])
def test_an_analysis_tells_what_it_did_not_list_and_looks_there_again(
    tree: Any, long: int, entries: int
) -> None:
    """What can be listed is better than nothing."""
    path = tree.cluster.directories[long].path
    tree.files[long] = entries - 1
    times = iter((0.0, 0.0, 10.0, 20.0, 30.0))
    find = Foremost(lambda: Now(0.0, next(times)))
    for _ in range(2):
        assert [d.path for d in find(tree)] == ["/home"]
        assert find.too_many == {path: entries} and not tree.listed[path]
    tree.files[long] = 0
    for _ in range(2):
        assert [d.path for d in find(tree)] == [f"{VOLUMES}/appA/data"] and not find.too_many


def test_an_analysis_takes_directories_beside_groups_only_when_all_of_these_were_listed(tree: Any) -> None:
    class Slow(Tree):
        now = 0.0

        def subdirectories(self, path: str) -> list[tuple[str, int]]:
            self.now += 10.0
            return super().subdirectories(path)

    slow: Any = Slow()
    slow.cluster.directories[400] = Directory(f"{VOLUMES}/aaa")
    find = Foremost(lambda: Now(0.0, slow.now))
    assert [[d.path for d in find(slow)] for _ in range(2)] == [[], [f"{VOLUMES}/appA/data"]]


def test_of_what_has_few_entries_they_are_counted_once_a_minute(tree: Any) -> None:
    every = Everything()
    for now in (0.0, 10.0, COUNTED - 1.0):
        inos(every, tree, now)
    assert set(tree.counted.values()) == {1}
    inos(every, tree, COUNTED)
    assert set(tree.counted.values()) == {2}
    assert tree.listed == dict.fromkeys(("/", VOLUMES, f"{VOLUMES}/appA"), 4)


def test_a_file_in_the_place_of_volumes_is_no_group(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no such attribute."""

    def entries(path: str) -> int:
        if path == VOLUMES:
            raise CephError("No data available", 61)
        return 1

    del tree.cluster.directories[2]
    monkeypatch.setattr(tree, "entries", entries)
    assert inos(Everything(), tree) == {HOME}
