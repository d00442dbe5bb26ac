# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the busiest directories have an ephemeral pin: MDSs show one only when they have followed it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from ..ceph.filesystem import FileSystem
from ..model import NO_PIN, Directory, FsState
from ..observe.children import Placed
from .asking import SOON, Asking, Lesson, Questions

FRESH = 60.0  # s, for which what was read is good
LATE = 10.0  # s since it was asked first, in which an answer is looked for soon: its rank may hang
NEVER = (float("-inf"), None)


class Ephemerals:
    """Of one file system.

    :ivar asked: when these were asked for that nothing was ever answered of, Unix, s, by inode number;
        replaced as a whole, so readers need no lock
    """

    def __init__(self, asking: Asking) -> None:
        self.asked: dict[int, float] = {}
        self._asking = asking
        self._found: dict[int, tuple[float, Placed]] = {}  # by inode number; when it was asked for, Unix, s

    def look(self, fs: FsState, busiest: Collection[Directory], now: float, within: float) -> None:
        """Ask these, once a minute each. Others are forgotten: nothing of them is about to be moved.

        :param now: Unix, s
        :param within: s that answers are waited for
        """
        there = {d.ino for d in busiest}
        self._found = {ino: kept for ino, kept in self._found.items() if ino in there}
        due = [d for d in busiest if not 0.0 <= now - self._found.get(d.ino, NEVER)[0] <= FRESH]
        questions: Questions = {("ephemeral", d.ino): partial(self._ask, of=d, now=now) for d in due}
        self.asked = {d.ino: min(now, self.asked.get(d.ino, now)) for d in due if d.ino not in self._found}
        self._asking.ask(fs, questions, within)

    def settle(self) -> None:
        """What was answered is known to those who decide."""
        pending = self._asking.pending("ephemeral")
        self.asked = {ino: at for ino, at in self.asked.items() if ino in pending}

    def awaited(self, now: float) -> frozenset[int]:
        """Inode numbers of those of which an answer is about to come. ``now``: Unix, s"""
        return frozenset(ino for ino, at in self.asked.items() if now - at < SOON)

    def missing(self, now: float) -> bool:
        """Is one to be looked for soon?"""
        return any(now - at < LATE for at in self.asked.values())

    def _ask(self, mount: FileSystem, of: Directory, now: float) -> Lesson:
        at = Placed(of.path, of.ino, NO_PIN, *mount.ephemeral_pins(of.path))  # no more: a full MDS is slow
        return lambda: self._found.update({of.ino: (now, at)})

    @property
    def found(self) -> dict[str, Placed]:
        """Those that have one, by path."""
        return {at.path: at for _, at in self._found.values() if at.distributed or at.random}
