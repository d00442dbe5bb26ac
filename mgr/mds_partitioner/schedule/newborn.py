# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories were made since the scheduler looks, and are there to stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from ..ceph.filesystem import FileSystem
from ..errors import NotFound
from ..model import Directory, FsState
from ..observe.turnover import PASSING
from ..plan.families import OLD, SKEW
from .asking import Asking, Lesson, Questions
from .insides import YOUNG

NEW = 60.0  # s, for which a directory is new
MOST_NEW = 200  # directories of which in a round it is asked when they were made
REMEMBERED = 600.0  # s, for which one that was made and removed is remembered
SOON = 60.0  # s: what is gone by then was removed soon; it is seen when all are listed again
SEVERAL = 5  # that went later, within REMEMBERED: before more new ones are expected to


@dataclass(frozen=True)
class _Born:
    """One that was made. Unix, s.

    :ivar found: when; last: when it was there last; gone: when it was there no more, -1 for not yet
    """

    parent: str
    found: float
    last: float
    gone: float = -1.0

    @property
    def passed(self) -> bool:
        """It was removed so soon that it would have been pinned for nothing."""
        return 0.0 <= self.gone <= self.found + SOON

    @property
    def left(self) -> bool:
        """It was removed, and had been there for long enough to be pinned, also where others pass."""
        return self.gone >= 0.0 and (not self.passed or self.last >= self.found + YOUNG)

    def seen(self, there: bool, now: float) -> _Born:
        """Whether it is there."""
        if self.gone >= 0.0:
            return self
        return replace(self, last=now) if there else replace(self, gone=now)


class Newborn:
    """Of one file system."""

    def __init__(self, asking: Asking, began: float) -> None:
        """``began``: when it began to look, Unix, s."""
        self._asking, self._began = asking, began
        self._unknown: dict[int, tuple[Directory, float]] = {}  # it may be new, if made after that, Unix, s
        self._born: dict[int, _Born] = {}  # by inode number
        self._went: dict[str, float] = {}  # when something of that path was seen to be gone, Unix, s

    def look(
        self,
        fs: FsState,
        before: Mapping[int, str],
        there: Mapping[int, Directory],
        born: Mapping[int, float],
        now: float,
    ) -> None:
        """What is listed for the first time may be older: split meanwhile, or renamed to be here. Where there
        were others before, the clock of the client that made it may be late. What has the name of one that
        went is likely to go as that did.

        :param before: paths of what was listed before, by inode number
        :param there: what is now, by inode number
        :param born: of those of which it is known, Unix, s, by inode number
        :param now: Unix, s
        """
        self._began = min(self._began, now)  # the clock may have been put back
        # A child is seen when it is so old that it lasts.
        after, of_children = (max(self._began, now - new) for new in (NEW, NEW + OLD))
        went = {path: now for ino, path in before.items() if ino not in there}
        self._went = went | {p: at for p, at in self._went.items() if 0.0 <= now - at <= REMEMBERED}
        made = (d for d in there.values() if before and d.path not in self._went)
        came = [d for d in made if d.ino not in before]
        listed = {_parent(d) for d in there.values() if d.ino in before} if came else set()
        since = {
            d.ino: (d, of_children if d.ino in born else after - SKEW if _parent(d) in listed else after)
            for d in came
        }
        unknown = {ino: (d, at) for ino, (d, at) in since.items() if born.get(ino, now) >= at}
        self._unknown = {ino: of for ino, of in self._unknown.items() if ino in there} | unknown
        self._born = {
            ino: born.seen(ino in there, now)
            for ino, born in self._born.items()
            if 0.0 <= now - born.found <= REMEMBERED
        }
        some = islice(self._unknown.items(), MOST_NEW)
        asked: Questions = {
            ("new", ino): partial(self._ask, of=d, after=after, now=now) for ino, (d, after) in some
        }
        for (what, of), why in self._asking.ask(fs, asked).items():
            old = self._unknown.pop(int(of), None) if what == "new" else None
            if old is not None and not isinstance(why, NotFound):
                self._unknown[int(of)] = old  # it is asked once more, after the others

    def _ask(self, mount: FileSystem, of: Directory, after: float, now: float) -> Lesson:
        new = after <= mount.born(of.path) <= now + SKEW
        made = new and not any(mount.ephemeral_pins(of.path))

        def learn() -> None:
            self._unknown.pop(of.ino, None)
            if made:
                self._born[of.ino] = _Born(_parent(of), now, now)

        return learn

    def fresh(self, now: float) -> frozenset[int]:
        """Inode numbers of those that were made lately; where others like them are removed soon, of those
        that have outlived that; where more such are removed than stay, of none. now: Unix, s"""
        passed = [b for b in self._born.values() if b.passed]
        passing = _most(passed, Counter(b.parent for b in self._born.values() if not b.passed))
        stayed = Counter(b.parent for b in self._born.values() if b.gone < 0.0 and b.found < now - SOON)
        leaving = _most([b for b in self._born.values() if b.left], stayed, SEVERAL)
        return frozenset(
            ino
            for ino, b in self._born.items()
            if b.gone < 0.0 and b.parent not in leaving
            if (YOUNG if b.parent in passing else 0.0) <= now - b.found <= NEW
        )


def _most(went: Iterable[_Born], stay: Mapping[str, int], least: int = 1) -> set[str]:
    """Parents of which so many went, and more than stay. ``stay``: how many, by parent"""
    count = Counter(b.parent for b in went)
    return {of for of, n in count.items() if n >= least and n > PASSING * stay.get(of, 0)}


def _parent(of: Directory) -> str:
    return of.path.rpartition("/")[0]
