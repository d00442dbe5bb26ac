# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories' subdirectories come and go while an analysis looks on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..ceph.filesystem import FileSystem
from ..ceph.mounts import LOST
from ..errors import CephError, NotFound
from ..model import Churning

MOST_LISTED = 2000  # entries; a directory with more is not looked at: to list one takes some 8 us of the CPU
MOST_PARTS = 10_000  # entries of one that is listed for what it can be divided into, once a minute
MAINLY = 0.5  # of its entries are directories, if there are more than are listed of any
LISTINGS = 60  # after which half of what was lost is forgotten, and looks after which one not listed is
A_LOOK = 5000  # entries that are listed in one look; what is left is listed in the next
DEEPEST = 64  # directories of which each is the only one in the other
CHURN = 0.1  # part of all subdirectories seen that were gone later
PASSING = 0.5  # of those that last: where fewer come and go beside them, these can be relied on
AGAIN = 0.25  # the same where more did before: it does not change all the time
OUTLIVED = 3.0  # times as many as come and go at a time went while one was there: it is none of these


@dataclass
class _Seen:
    """Of one directory. top: the busy one that it is, or is below."""

    top: str
    now: frozenset[int] = frozenset()
    ever: set[int] = field(default_factory=set)
    always: frozenset[int] = frozenset()  # in all listings of late
    lasted: int = MOST_LISTED  # how many were in all of those before
    lost: int = 0
    went: int = 0  # the same, of which nothing is forgotten
    came: dict[int, int] = field(default_factory=dict)  # of those now: how many had gone by then
    outlived: frozenset[int] = frozenset()  # of those now: they stayed while so many others went
    listings: int = 0
    passes: bool = False  # what is in it cannot be relied on
    mean: float = 0.0  # of the subdirectories that a listing shows
    at: int = 0  # the look that listed it last


class Turnover:
    """Remembers inode numbers of subdirectories from look to look: those of the busiest directories only."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._turn: dict[str, int] = {}  # by path: the last look that listed it
        self._looks = 0

    def look(self, fs: FileSystem, paths: list[str]) -> dict[str, str]:
        """List these directories, each down to the first that has not just one subdirectory; those first that
        were listed longest ago, as many as A_LOOK allows. The paths of those first ones, by these."""
        left, lowest = A_LOOK, dict[str, str]()
        for path in self.begin(paths):
            if left <= 0:
                break
            found = below(fs, path)
            self.learn(path, found.subdirectories)
            lowest[path] = found.lowest
            left -= found.cost
        return lowest

    def begin(self, paths: Sequence[str]) -> list[str]:
        """A look at these begins: the order in which they are to be listed."""
        self._looks += 1
        self._turn = {path: self._turn.get(path, 0) for path in paths}
        self._seen = {
            ino: seen
            for ino, seen in self._seen.items()
            if seen.top in self._turn or (seen.lost and self._looks - seen.at <= LISTINGS)
        }
        return sorted(paths, key=lambda path: self._turn[path])

    def learn(self, path: str, found: Mapping[int, frozenset[int]]) -> None:
        """What was ``below`` one of these."""
        if path in self._turn:
            self._turn[path] = self._looks
            self._learn(path, found)

    def _learn(self, top: str, found: Mapping[int, frozenset[int]]) -> None:
        self._seen = {ino: s for ino, s in self._seen.items() if s.top != top or ino in found or s.lost}
        for ino, below in found.items():
            seen = self._seen.setdefault(ino, _Seen(top))
            gone = len(seen.now - below)
            seen.lost, seen.went = seen.lost + gone, seen.went + gone
            seen.always = seen.always & below if seen.listings else below
            seen.now, seen.at, seen.listings = below, self._looks, seen.listings + 1
            seen.mean += (len(below) - seen.mean) / min(seen.listings, LISTINGS)
            if len(seen.ever) < MOST_LISTED:
                seen.ever |= below
            seen.passes = _passes(ino, seen)
            seen.came = {child: seen.came.get(child, seen.went) for child in below}
            seen.outlived = (seen.outlived & below) | _outlived(ino, seen)
            if seen.listings % LISTINGS == 0:
                seen.lost, seen.ever = seen.lost // 2, set(below)
                seen.lasted, seen.always = len(seen.always), below

    def churning(self) -> tuple[Churning, ...]:
        """The directories that lost a good part of their subdirectories, by inode number: one that is removed
        beside several that stay says nothing of these."""
        return tuple(_churning(ino, seen) for ino, seen in sorted(self._seen.items()) if seen.passes)

    def outlived(self) -> dict[int, frozenset[int]]:
        """Of each of these the subdirectories that stay all the same."""
        return {ino: seen.outlived for ino, seen in self._seen.items() if seen.passes}

    def within(self, top: str, *, split: bool) -> tuple[Churning, ...]:
        """The same, of a busy directory, and of what is below it. split: what stays in it is seen by itself,
        so there may be as much of that as there is."""
        seen = ((ino, seen) for ino, seen in self._seen.items() if seen.top == top)
        return tuple(_churning(*of) for of in seen if of[1].passes or (split and _renewed(*of)))


def _passes(ino: int, seen: _Seen) -> bool:
    found = _churning(ino, seen)
    least = AGAIN if seen.passes else PASSING
    return _loses(seen) and found.at_once > least * found.lasting


def _renewed(ino: int, seen: _Seen) -> bool:
    """Did as many go as come and go at a time?"""
    return _loses(seen) and seen.went >= _churning(ino, seen).at_once


def _outlived(ino: int, seen: _Seen) -> frozenset[int]:
    often = OUTLIVED * max(1.0, _churning(ino, seen).at_once)
    return frozenset(child for child, went in seen.came.items() if seen.went - went >= often)


def _loses(seen: _Seen) -> bool:
    return seen.lost >= max(CHURN * len(seen.ever), 1.0)


def _churning(ino: int, seen: _Seen) -> Churning:
    lasting = min(len(seen.always), seen.lasted)
    return Churning(ino, max(0.0, seen.mean - lasting), lasting)


def listable(fs: FileSystem, path: str) -> bool:
    """May it be listed for the directories that it can be divided into? :raises NotFound: it is gone"""
    entries = fs.entries(path)
    return entries <= MOST_LISTED or (entries <= MOST_PARTS and fs.subdirs(path) >= MAINLY * entries)


def listed(fs: FileSystem, path: str) -> tuple[list[tuple[str, int]] | None, int]:
    """Names and inode numbers of a directory's subdirectories, and how many entries had to be listed for it.

    None: it has too many entries. :raises NotFound: it is gone
    """
    entries = fs.entries(path)
    return (None, 0) if entries > MOST_LISTED else (fs.subdirectories(path), entries)


class Below(NamedTuple):
    """A directory down to the first that has not just one subdirectory: inode numbers of subdirectories by
    their parent's; how many entries were listed; and the path of that first one."""

    subdirectories: dict[int, frozenset[int]]
    cost: int
    lowest: str


def below(fs: FileSystem, path: str) -> Below:
    """What is below a directory, as far as it can be listed. :raises CephError: the mount is lost"""
    found: dict[int, frozenset[int]] = {}
    cost = 0
    try:
        ino = fs.ino(path)
        for _ in range(DEEPEST):
            kids, entries = listed(fs, path)
            cost += entries
            if kids is None:
                break
            found[ino] = frozenset(child for _, child in kids)
            if len(kids) != 1:
                break
            path, ino = f"{path}/{kids[0][0]}", kids[0][1]
    except (NotFound, CephError) as e:  # gone meanwhile, or not to be listed: what was seen counts
        if e.code in LOST:
            raise
    return Below(found, cost, path)
