# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is inside the directories that have most to do, and those that are split.

It is asked for side by side: each question waits at a full MDS for as long as any client's does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from itertools import accumulate
from typing import TypeVar

from ..ceph.filesystem import FileSystem
from ..clock import Now
from ..errors import NotFound
from ..model import NO_PIN, Directory, FsState
from ..observe.children import Brood, Child, Lasts, brood, is_apart, looked_at, remembered, still
from ..observe.turnover import A_LOOK, Turnover, below, listable
from ..plan.families import lasting
from .asking import FRESH, SOON, WITHIN, Asking, Lesson, Questions, fresh
from .owned import Owned

FIRST = 2  # of the busiest that are listed for what comes and goes, before the first decision
BROODS = 2  # directories whose children are listed, or read, in a round
AT_ONCE = 50  # children of each that are read side by side: some MDS is asked three times a child
YOUNG = 30.0  # s: what is younger may come and go, though nothing was seen to yet
SILENT = 300.0  # s, after which no answer is waited for of a child that was asked: it may be damaged
SOME, MOST = 8, 0.5  # children that stand for all; so many of them must last
# Levels from the root to the lowest directories that are told apart. For one of these all MDSs tell of all
# that is used down to its level, in each look, and serve nobody meanwhile. A subvolume's data is at the 5th.
LOWEST = 10
T = TypeVar("T")


@dataclass(frozen=True)
class Inside:
    """What a round should look into.

    :ivar busiest: in which something may come and go; of these, and of those to ``count``, the parts are
        counted
    :ivar split: whose children are read, those with most requests first
    :ivar requests: req/s by path; moving: inode numbers of what is being exported
    """

    busiest: Sequence[Directory]
    count: Sequence[Directory]
    split: Sequence[Directory]
    requests: Mapping[str, float]
    moving: Collection[int]


class InsideReader:
    """Of one file system. By inode number, with when it was read, Unix, s:

    :ivar broods: of what is split, with when it was listed
    :ivar counts: of lasting children of the busiest
    :ivar read: children that were read in the last look
    """

    def __init__(self, asking: Asking, now: Callable[[], Now]) -> None:
        self._asking, self._now = asking, now
        self._round = 0.0
        self._turns: dict[int, int] = {}  # how often children were to be read
        self._since: dict[int, float] = {}  # when these were asked first, steady clock, s
        self._entries: dict[str, int] = {}  # of those that are listed, by path
        self._tried: dict[int, float] = {}  # when a brood was to be read last
        self._came: dict[int, dict[Directory, Child | None]] = {}  # children that were read; None: it is gone
        self.turnover = Turnover()
        self.broods: dict[int, tuple[float, Brood]] = {}
        self.counts: dict[int, tuple[float, int]] = {}
        self.read: list[Child] = []

    @property
    def at_once(self) -> dict[int, float]:
        """How many subdirectories there are at once where they come and go, by inode number."""
        return {churning.ino: churning.at_once for churning in self.turnover.churning()}

    def look(self, fs: FsState, of: Inside, owned: Owned, now: float, *, first: bool) -> Lasts:
        """Look into these, as far as MDSs answer in time. What lasts, as far as is known now.

        :param now: Unix, s
        :param first: nothing is decided before it has been looked
        """
        before, self.read, self._round = self.turnover.outlived(), [], now
        lasts = _lasting(before, now)

        def count(mount: FileSystem, of: Directory) -> Lesson:
            number = children(mount, of.path, lasts, levels(of.path, owned), before, owned.pins)
            return lambda: self.counts.update({of.ino: (now, number)})

        within = SOON if first else WITHIN
        due = [d for d in of.split if self._due(d.ino, now)]
        turn = sorted(due, key=lambda d: self._tried.get(d.ino, 0.0))[:BROODS]
        before_now = {ino: min(at, now) for ino, at in self._tried.items()}  # the clock may be put back
        self._tried = before_now | {d.ino: now for d in turn}
        uncounted = [d for d in (*of.busiest, *of.count) if self._uncounted(d.ino, now)]
        paths = self._to_list(of.busiest[: FIRST if first else None])
        questions: Questions = {}
        for directory in turn:
            if self._stale(directory.ino, now):
                read = partial(self._read, of=directory, owned=owned, lasts=lasts, now=now)
                questions["brood", directory.ino] = read
        for directory in uncounted:
            questions["count", directory.ino] = partial(count, of=directory)
        for path in paths:
            questions["listed", path] = partial(self._list, path=path)
        self._asking.ask(fs, questions, within, patient=first)
        there = [d.ino for d in turn if d.ino not in of.moving]
        ends = self._now().steady + SOON if there else 0.0
        while there and self._read_children(fs, there, of, within, now) and self._now().steady < ends:
            pass
        if not self.at_once.keys() <= before.keys():  # what was counted may not last: it is counted again
            self.counts = {ino: kept for ino, kept in self.counts.items() if kept[0] != now}
        return _lasting(self.turnover.outlived(), now)

    def awaited(self, ino: int) -> bool:
        """Has it, or may it have, children that are still to be read? There may be too many to list."""
        if ino not in self.broods:
            return True
        found, late = self.broods[ino][1], self._now().steady - SILENT
        return found.unlisted or any(self._since.get(kid.ino, math.inf) > late for kid in found.unread)

    def forget(self, there: Collection[int]) -> None:
        """What is gone. ``there``: inode numbers of what is not."""
        self.broods = _kept(self.broods, there)
        self.counts = _kept(self.counts, there)
        self._tried = _kept(self._tried, there)
        unread = {kid.ino for _, found in self.broods.values() for kid in found.unread}
        self._turns, self._since = _kept(self._turns, unread), _kept(self._since, unread)

    def _to_list(self, busiest: Sequence[Directory]) -> list[str]:
        """Paths of those that are listed for what comes and goes: those first that were listed longest ago,
        as many as A_LOOK allows, by how many entries they had."""
        paths = self.turnover.begin([d.path for d in busiest])
        self._entries = {path: self._entries.get(path, 0) for path in paths}
        taken = accumulate(self._entries.values(), initial=0)
        return [path for path, so_far in zip(paths, taken) if so_far < A_LOOK]

    def _list(self, mount: FileSystem, path: str) -> Lesson:
        found, entries, _ = below(mount, path)

        def learn() -> None:
            self.turnover.learn(path, found)
            self._entries[path] = entries

        return learn

    def _uncounted(self, ino: int, now: float) -> bool:
        """Is it to be seen how many of its children last? Where few do others may be too young yet."""
        at, number = self.counts.get(ino, (0.0, 0))
        return not fresh(at, now, FRESH if number > 1 else YOUNG / 2.0)

    def _stale(self, ino: int, now: float) -> bool:
        """Are its children to be listed?"""
        return ino not in self.broods or not fresh(self.broods[ino][0], now)

    def _due(self, ino: int, now: float) -> bool:
        """The same, or are some to be read?"""
        return self._stale(ino, now) or bool(self.broods[ino][1].unread)

    def _read(self, mount: FileSystem, of: Directory, owned: Owned, lasts: Lasts, now: float) -> Lesson:
        """What was read of a child is good, but for a pin that is not ours: an operator may have removed it.
        Whether it has one now is among its facts. Of several children none is read here."""
        kept = self.broods.get(of.ino)
        before = None if kept is None else owned.since(*kept)
        read = () if before is None else before.children
        known = {k.ino: k for k in read if k.pin in (NO_PIN, owned.pins.get(k.ino))}
        lowest = levels(of.path, owned)
        found = brood(mount, of.path, lasts, listable, known, limit=0, levels=lowest, pins=owned.pins)
        if found.chain[0].ino != of.ino:
            raise NotFound(f"{of.path} is another one by now")
        if found.unlisted:  # another manager may have listed it, and given its children pins
            found = still(mount, before, found) if before and read else remembered(mount, found, owned.paths)
        old = {k.ino for k in read}

        def learn() -> None:
            kept = self.broods.get(of.ino)
            meanwhile = () if kept is None else (k for k in kept[1].children if k.ino not in old)
            self.broods[of.ino] = now, _with(found, meanwhile)

        return learn

    def _read_children(
        self, fs: FsState, inos: Sequence[int], inside: Inside, within: float, now: float
    ) -> bool:
        """Some of those of these directories that were listed, and not read. Was one?"""
        self._settle()
        away = {*inside.moving, *self._asking.pending("child")}

        def order(kid: Directory) -> tuple[int, float]:
            return self._turns.get(kid.ino, 0), -inside.requests.get(kid.path, 0.0)

        def turn(ino: int) -> list[Directory]:
            may = (kid for kid in self.broods[ino][1].unread if kid.ino not in away)
            return nsmallest(AT_ONCE, may, key=order)

        before, found = len(self.read), [(ino, turn(ino)) for ino in inos if ino in self.broods]
        at = self._now().steady
        for kid in (kid for _, unread in found for kid in unread):
            self._turns[kid.ino] = self._turns.get(kid.ino, 0) + 1
            self._since.setdefault(kid.ino, at)

        def question(mount: FileSystem, of: int, at: Directory) -> Lesson:
            try:
                child = looked_at(mount, at)
                gone = mount.ino(at.path) != at.ino  # another one has its name
            except NotFound:
                gone = True
            if gone:
                return lambda: self._came.setdefault(of, {}).update({at: None})

            def learn() -> None:
                self._came.setdefault(of, {})[at] = child
                if self._round == now:  # what came late may have got another pin since
                    self.read.append(child)

            return learn

        questions: Questions = {
            ("child", kid.ino): partial(question, of=ino, at=kid) for ino, unread in found for kid in unread
        }
        if questions:
            self._asking.ask(fs, questions, within)
        self._settle()
        return len(self.read) > before

    def _settle(self) -> None:
        """Take in the children that were read since; of one directory all at once: there may be thousands."""
        came, self._came = self._came, {}
        for of, read in came.items():
            if of not in self.broods:
                continue
            listed, found = self.broods[of]
            gone = {at for at, child in read.items() if child is None}.intersection(found.unread)
            left = tuple(kid for kid in found.unread if kid not in gone)
            found = replace(found, vanished=found.vanished + len(gone), unread=left)
            self.broods[of] = listed, _with(found, (child for child in read.values() if child is not None))


def _with(found: Brood, read: Iterable[Child]) -> Brood:
    """With those that were not read yet, and are now."""
    at = {(kid.path, kid.ino) for kid in found.unread}
    new = tuple(child for child in read if (child.path, child.ino) in at)
    gone = {child.ino for child in new}
    left = tuple(kid for kid in found.unread if kid.ino not in gone)
    return replace(found, children=(*found.children, *new), unread=left)


def _kept(known: Mapping[int, T], there: Collection[int]) -> dict[int, T]:
    return {ino: kept for ino, kept in known.items() if ino in there}


def levels(path: str, owned: Owned) -> int:
    """Of directories from one down, each the only one in the other: what is in the last is at LOWEST at most,
    or as low as what we pinned below."""
    return max(LOWEST, owned.lowest(path)) - path.count("/")


def children(
    mount: FileSystem,
    path: str,
    lasts: Lasts,
    most: int,
    outlived: Mapping[int, Collection[int]] = {},
    pins: Mapping[int, int] = {},
) -> int:
    """About how many lasting directories there are below one, where it first has several: a few stand for
    all. 0 where most do not last, or they are in one that does not, or in none of so many that each is the
    only one in the other. All that comes and goes beside some that last counts as one, and so does the only
    one that there is where we gave it a rank of its own.

    :param outlived: those that last, by inode number of where others come and go
    :param pins: that we have set, by inode number
    :raises NotFound: it is gone
    """
    for _ in range(most):
        names, born, ino = _names(mount, path), mount.born(path), mount.ino(path)
        stays = partial(_stays, mount, path, lasts, born, ino)
        if len(names) == 1 and is_apart(mount, f"{path}/{names[0][0]}", names[0][1], pins):
            return 1
        if ino in outlived:
            last = several([kid for kid in names if kid[1] in outlived[ino]], stays)
            return last + 1 if last else 0
        if len(names) > 1:
            return several(names, stays)
        if not names or not stays(names[0]):
            break
        path = f"{path}/{names[0][0]}"
    return 0


def _lasting(outlived: Mapping[int, Collection[int]], now: float) -> Lasts:
    return lasting(outlived, now - YOUNG, now, {ino for stay in outlived.values() for ino in stay})


def _names(mount: FileSystem, path: str) -> list[tuple[str, int]]:
    return mount.subdirectories(path) if listable(mount, path) else []


def _stays(mount: FileSystem, path: str, lasts: Lasts, born: float, ino: int, kid: tuple[str, int]) -> bool:
    """Does a child last, of a directory that was born then? What is gone does not."""
    try:
        return lasts(mount.born(f"{path}/{kid[0]}"), born, ino, kid[1])
    except NotFound:
        return False


def several(kids: Sequence[T], lasts: Callable[[T], bool]) -> int:
    """About how many of several last, by the first, the last and some in between; 0 where most do not."""
    last, number = len(kids) - 1, min(SOME, len(kids))
    few = [kids[i * last // (number - 1)] for i in range(number)] if number > 1 else kids
    stay = sum(map(lasts, few))
    return round(len(kids) * stay / number) if stay and stay >= MOST * number else 0
