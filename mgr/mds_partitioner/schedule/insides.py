# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is inside the directories that have most to do, and those that are split.

It is asked for side by side: each question waits at a full MDS for as long as any client's does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from ..errors import NotFound, PartitionerError
from ..filesystem import FileSystem
from ..host import Host
from ..model import NO_PIN, Directory, FsState
from ..observe.children import Brood, Lasts, brood, still
from ..observe.turnover import MOST_LISTED, Turnover, listed
from ..plan.families import lasting

FIRST = 2  # of the busiest that are listed for what comes and goes, before the first decision
BROODS = 2  # directories whose children are listed in a round
A_ROUND = 50  # children of each that are read then: some MDS is asked three times a child
FRESH = 60.0  # s, for which what was read of children is good
DEEPEST = 16
SOME, MOST = 8, 0.5  # children that stand for all; so many of them must last
T = TypeVar("T")


class Insides:
    """Of one file system. By inode number, with when it was read, Unix, s:

    :ivar broods: of what is split
    :ivar counts: of lasting children of the busiest
    """

    def __init__(self, host: Host, began: float) -> None:
        """``began``: when it began to look, Unix, s."""
        self._host, self._began = host, began
        self._tried: dict[int, float] = {}  # when a brood was to be read last
        self.turnover = Turnover()
        self.broods: dict[int, tuple[float, Brood]] = {}
        self.counts: dict[int, tuple[float, int]] = {}

    @property
    def at_once(self) -> dict[int, float]:
        """How many subdirectories there are at once where they come and go, by inode number."""
        return {churning.ino: churning.at_once for churning in self.turnover.churning()}

    def look(
        self,
        fs: FsState,
        busiest: Sequence[Directory],
        split: Sequence[Directory],
        pins: Mapping[int, int],
        now: float,
        *,
        first: bool,
    ) -> Lasts:
        """Look into these. What lasts, as far as is known now.

        :param pins: that we have set, by inode number
        :param first: nothing is decided before it has been looked
        """
        before = self.at_once
        lasts = lasting(before, self._began, now)
        due = [d for d in busiest if now - self.counts.get(d.ino, (0.0, 0))[0] > FRESH]
        paths = [d.path for d in busiest[: FIRST if first else None]]
        ask: list[Callable[[FileSystem], int | None]] = [partial(_count, of=d, lasts=lasts) for d in due]
        ask.append(partial(self.turnover.look, paths=paths))
        counted = self._host.ask_fs(fs, ask)
        if self.at_once.keys() <= before.keys():  # else what was counted may not last: it is counted again
            self.counts |= {d.ino: (now, n) for d, n in zip(due, counted) if n is not None}
        lasts = lasting(self.at_once, self._began, now)
        self._read_broods(fs, split, lasts, pins, now)
        return lasts

    def forget(self, there: Collection[int]) -> None:
        """What is gone. ``there``: inode numbers of what is not."""
        self.broods = _kept(self.broods, there)
        self.counts = _kept(self.counts, there)
        self._tried = _kept(self._tried, there)

    def _read_broods(
        self, fs: FsState, split: Sequence[Directory], lasts: Lasts, pins: Mapping[int, int], now: float
    ) -> None:
        due = [d for d in split if self._due(d.ino, now)]
        turn = sorted(due, key=lambda d: self._tried.get(d.ino, 0.0))[:BROODS]
        self._tried |= {d.ino: now for d in turn}
        found = self._host.ask_fs(fs, [partial(self._brood, of=d, lasts=lasts, pins=pins) for d in turn])
        self.broods |= {d.ino: (now, read) for d, read in zip(turn, found) if read is not None}

    def _due(self, ino: int, now: float) -> bool:
        """Are its children to be read, or those of them that were left out?"""
        read_at, found = self.broods.get(ino, (float("-inf"), None))
        return now - read_at > FRESH or (found is not None and found.unread > 0)

    def _brood(self, mount: FileSystem, of: Directory, lasts: Lasts, pins: Mapping[int, int]) -> Brood | None:
        """What was read of a child is good, but for a pin that an operator may have removed: whether it has
        one now is among its facts. None: it cannot be read."""
        before = self.broods.get(of.ino)
        read = () if before is None else before[1].children
        known = {k.ino: k for k in read if k.pin in (NO_PIN, pins.get(k.ino))}
        try:
            found = brood(mount, of.path, lasts, MOST_LISTED, known, A_ROUND)
            return still(mount, before[1]) if found.unlisted and before is not None and read else found
        except PartitionerError:
            return None


def _kept(known: Mapping[int, T], there: Collection[int]) -> dict[int, T]:
    return {ino: kept for ino, kept in known.items() if ino in there}


def _count(mount: FileSystem, of: Directory, lasts: Lasts) -> int | None:
    """As ``children``; None: it is gone meanwhile, and what it had goes with it."""
    try:
        return children(mount, of.path, lasts)
    except PartitionerError:
        return None


def children(mount: FileSystem, path: str, lasts: Lasts) -> int:
    """About how many lasting directories there are below one, where it first has several: a few stand for
    all. 0 where most do not last. :raises NotFound: it is gone"""
    for _ in range(DEEPEST):
        names = listed(mount, path)[0] or []
        if len(names) != 1:
            break
        path = f"{path}/{names[0][0]}"
    if len(names) < 2:
        return 0
    born, ino = mount.born(path), mount.ino(path)

    def stays(kid: tuple[str, int]) -> bool:
        try:
            return lasts(mount.born(f"{path}/{kid[0]}"), born, ino)
        except NotFound:
            return False

    return several(names, stays)


def several(kids: Sequence[T], lasts: Callable[[T], bool]) -> int:
    """About how many of several last, by the first, the last and some in between; 0 where most do not."""
    last, number = len(kids) - 1, min(SOME, len(kids))
    few = [kids[i * last // (number - 1)] for i in range(number)] if number > 1 else kids
    stay = sum(map(lasts, few))
    return round(len(kids) * stay / number) if stay and stay >= MOST * number else 0
