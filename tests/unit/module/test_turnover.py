# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories whose subdirectories come and go, and where a distributed directory's fragments are."""

import errno
from dataclasses import dataclass, field
from typing import cast

import pytest

from mds_partitioner.ceph.filesystem import FileSystem
from mds_partitioner.errors import CephError, NotFound
from mds_partitioner.judge.history import History
from mds_partitioner.judge.window import Window
from mds_partitioner.model import Churning, Observation
from mds_partitioner.observe.turnover import LISTINGS, MOST_LISTED, Turnover
from mds_partitioner.plan.ephemeral import fragment_ranks


@dataclass
class Tree:
    """Directories by path; each new one has a new inode number."""

    inos: dict[str, int] = field(default_factory=lambda: {"/s": 1})
    last: int = 1
    files: int = 0  # in each directory
    listings: list[str] = field(default_factory=list)

    def make(self, *paths: str) -> None:
        """Make directories."""
        for path in paths:
            self.last += 1
            self.inos[path] = self.last

    def remove(self, path: str) -> None:
        """Remove a directory and all below it."""
        self.inos = {p: i for p, i in self.inos.items() if p != path and not p.startswith(f"{path}/")}

    def ino(self, path: str) -> int:
        """FileSystem.ino."""
        if path not in self.inos:
            raise NotFound(path)
        return self.inos[path]

    def entries(self, path: str) -> int:
        """FileSystem.entries: it has files, too."""
        return len(self._below(path)) + self.files

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        self.listings.append(path)
        return self._below(path)

    def _below(self, path: str) -> list[tuple[str, int]]:
        self.ino(path)
        return sorted(
            (p.removeprefix(f"{path}/"), i)
            for p, i in self.inos.items()
            if p.startswith(f"{path}/") and "/" not in p.removeprefix(f"{path}/")
        )


def looked(tree: Tree, turnover: Turnover, *paths: str) -> None:
    turnover.look(cast("FileSystem", tree), list(paths))


def test_directories_made_anew_all_the_time_are_noticed() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make("/s/uuid", "/s/uuid/a0", "/s/uuid/b0")
    for i in range(3):
        looked(tree, turnover, "/s")
        tree.remove(f"/s/uuid/a{i}")
        tree.make(f"/s/uuid/a{i + 1}")
    looked(tree, turnover, "/s")
    assert [c.ino for c in turnover.churning()] == [tree.inos["/s/uuid"]]


def test_how_many_there_are_at_a_time_is_known_whatever_the_last_listing_shows() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make("/s/uuid")
    for _ in range(4):  # clients in step: all of them, then none
        tree.make("/s/uuid/a", "/s/uuid/b", "/s/uuid/c", "/s/uuid/d")
        looked(tree, turnover, "/s")
        for name in "abcd":
            tree.remove(f"/s/uuid/{name}")
        looked(tree, turnover, "/s")
    assert turnover.churning() == (Churning(tree.inos["/s/uuid"], 2.0),)


def test_what_lasts_beside_what_comes_and_goes_is_told_apart() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make(*(f"/s/d{i}" for i in range(3)))
    for i in range(3 * LISTINGS):
        new = [f"/s/tmp{i}.{k}" for k in range(2)]
        tree.make(*new)
        looked(tree, turnover, "/s")
        for path in new:
            tree.remove(path)
        if i > 5:
            (found,) = turnover.churning()
            assert (found.lasting, round(found.at_once)) == (3, 2)
    assert turnover.within("/s", split=False) == turnover.churning()
    assert not turnover.within("/other", split=True)


@pytest.mark.parametrize("again", [False, True])
def test_what_lasts_can_be_relied_on_beside_little_that_comes_and_goes(again: bool) -> None:
    tree, turnover = Tree(), Turnover()
    tree.make("/s/tmp", *(f"/s/d{i}" for i in range(5)))
    for _ in range(3 * LISTINGS):
        looked(tree, turnover, "/s")
        tree.remove("/s/tmp")
        if again:
            tree.make("/s/tmp")
        assert not turnover.churning()


def test_what_comes_and_goes_beside_more_that_stays_is_known_of_what_is_seen_as_its_parts() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make(*(f"/s/old{i}" for i in range(40)), *(f"/s/job{i}" for i in range(16)))
    for _ in range(3 * LISTINGS):
        looked(tree, turnover, "/s")
        for i in range(16):
            tree.remove(f"/s/job{i}")
            tree.make(f"/s/job{i}")
    assert not turnover.churning() and not turnover.within("/s", split=False)
    assert turnover.within("/s", split=True) == (Churning(1, 16.0, 40),)


def test_one_that_was_removed_from_what_grows_says_not_that_all_that_is_new_will_go() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make(*(f"/s/old{i}" for i in range(9)))
    looked(tree, turnover, "/s")
    tree.remove("/s/old3")
    for i in range(6):
        tree.make(f"/s/new{i}")
        looked(tree, turnover, "/s")
        assert not turnover.within("/s", split=True) or i == 0


@pytest.mark.parametrize(("lives", "young"), [(20, 4), (90, 12)])
def test_what_stays_beside_what_comes_and_goes_is_told_from_it(lives: int, young: int) -> None:
    """Three that stay, and as many others at a time that live for so many listings each."""
    tree, turnover = Tree(), Turnover()
    stay = [f"/s/d{i}" for i in range(3)]
    tree.make(*stay)
    for i in range(12 * lives):
        if i % (lives // young) == 0:
            tree.make(f"/s/job{i}")
        tree.remove(f"/s/job{i - lives}")
        looked(tree, turnover, "/s")
        told = turnover.outlived().get(1, frozenset())
        assert told <= {tree.inos[path] for path in stay}
    assert told == {tree.inos[path] for path in stay}
    tree.remove("/s/d1")
    looked(tree, turnover, "/s")
    assert turnover.outlived()[1] == {tree.inos["/s/d0"], tree.inos["/s/d2"]}


def test_one_of_the_same_name_is_another_directory() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make("/s/uuid", "/s/uuid/tree", "/s/uuid/tree/x", "/s/uuid/tree/y")
    looked(tree, turnover, "/s")
    tree.remove("/s/uuid/tree")
    tree.make("/s/uuid/tree", "/s/uuid/tree/x", "/s/uuid/tree/y")
    looked(tree, turnover, "/s")
    assert [c.ino for c in turnover.churning()] == [tree.inos["/s/uuid"]]


def test_growth_and_a_single_loss_among_many_are_no_churn() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make("/s/uuid", *(f"/s/uuid/d{i}" for i in range(30)))
    for i in range(30, 60):
        looked(tree, turnover, "/s")
        tree.make(f"/s/uuid/d{i}")
    tree.remove("/s/uuid/d3")
    looked(tree, turnover, "/s")
    assert turnover.churning() == ()


def test_a_directory_that_is_gone_teaches_nothing() -> None:
    tree, turnover = Tree(), Turnover()
    looked(tree, turnover, "/gone", "/s")
    assert turnover.churning() == ()


def test_what_has_too_many_files_is_not_listed() -> None:
    tree, turnover = Tree(files=MOST_LISTED), Turnover()
    tree.make("/s/a", "/s/b")
    looked(tree, turnover, "/s")
    assert tree.listings == []
    tree.files -= 2
    looked(tree, turnover, "/s")
    assert tree.listings == ["/s"]


def test_directories_take_turns_where_not_all_can_be_listed() -> None:
    busy = [f"/b{i}" for i in range(7)]
    tree, turnover = Tree(files=MOST_LISTED - 2), Turnover()
    tree.make(*busy, *(f"{path}/{name}" for path in busy for name in "xy"))
    for _ in range(3):
        looked(tree, turnover, *busy)
        tree.remove("/b6/x")
        tree.make("/b6/x")
    assert tree.listings[:7] == busy and len(tree.listings) <= 9
    for _ in range(3):
        looked(tree, turnover, *busy)
    assert [c.ino for c in turnover.churning()] == [tree.inos["/b6"]]


def test_what_was_lost_long_ago_is_forgotten() -> None:
    tree, turnover = Tree(), Turnover()
    tree.make(*(f"/s/d{i}" for i in range(20)))
    for hour in range(30):
        looked(tree, turnover, "/s")
        tree.remove(f"/s/d{hour % 20}")
        tree.make(f"/s/d{hour % 20}")
        for _ in range(LISTINGS * 3):
            looked(tree, turnover, "/s")
    assert turnover.churning() == (), "one in half an hour"
    for _ in range(LISTINGS + 2):
        looked(tree, turnover)
    assert not turnover._seen


def test_an_analysis_keeps_what_came_and_went() -> None:
    window = Window("cephfs")
    window.add(Observation("cephfs", ()), History())
    window.add(Observation("cephfs", (), churning=(Churning(5, 2.0),)), History())
    assert window.summary({}).churning == (Churning(5, 2.0),)


@pytest.mark.parametrize(
    ("ino", "max_mds", "factor", "ranks"),
    [  # by a C++ program made of rjhash64 and the loop of MDCache::hash_into_rank_bucket
        (1099511627776, 4, 2.0, "2 0 1 2 1 2 3 0"),
        (1099511628282, 5, 2.0, "3 0 3 0 2 3 1 2 3 1 2 2 0 0 3 0"),
        (1099511627777, 3, 1.0, "1 2 1 0"),
        (1099511627778, 4, 0.5, "2 2"),
        (1, 1, 2.0, "0"),
    ],
)
def test_fragments_are_where_ceph_puts_them(ino: int, max_mds: int, factor: float, ranks: str) -> None:
    assert fragment_ranks(ino, max_mds, factor) == tuple(map(int, ranks.split()))


def test_bursts_do_not_change_all_the_time_what_is_relied_on() -> None:
    """Forty that last; of each four listings one shows some that are there for a moment only."""
    tree, turnover = Tree(), Turnover()
    tree.make(*(f"/s/d{i}" for i in range(40)))
    told = []
    for i in range(6 * LISTINGS):
        new = [f"/s/tmp{i}.{k}" for k in range(60)] if i % 4 == 0 else []
        tree.make(*new)
        looked(tree, turnover, "/s")
        for path in new:
            tree.remove(path)
        told.append(bool(turnover.churning()))
    assert sum(now != before for before, now in zip(told, told[1:])) <= 2


@pytest.mark.parametrize(("code", "lost"), [(errno.ESHUTDOWN, True), (errno.EACCES, False)])
def test_a_mount_that_is_lost_is_told_so_that_it_is_made_anew(code: int, lost: bool) -> None:
    class Refusing(Tree):
        def entries(self, path: str) -> int:
            raise CephError("it cannot be listed", code)

    def look() -> None:
        looked(Refusing(), Turnover(), "/s")

    if lost:
        with pytest.raises(CephError):
            look()
    else:
        look()
