# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the busiest directories have an ephemeral pin: MDSs show one only when they have followed it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from ..ceph.filesystem import FileSystem
from ..model import NO_PIN, Directory, FsState
from ..observe.children import Placed
from .asking import Asking, Lesson, Questions, fresh

NEVER = (float("-inf"), None)


class Ephemerals:
    """Of one file system."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._found: dict[int, tuple[float, Placed]] = {}  # by inode number; when it was asked for, Unix, s

    def look(self, fs: FsState, busiest: Collection[Directory], now: float, within: float) -> None:
        """Ask these. Others are forgotten: nothing of them is about to be moved. See ``ask``"""
        there = {d.ino for d in busiest}
        self._found = {ino: kept for ino, kept in self._found.items() if ino in there}
        self.ask(fs, busiest, now, within)

    def ask(self, fs: FsState, busy: Collection[Directory], now: float, within: float) -> None:
        """Ask these, once a minute each.

        :param now: Unix, s
        :param within: s that answers are waited for
        """
        due = [d for d in busy if not fresh(self._found.get(d.ino, NEVER)[0], now)]
        questions: Questions = {("ephemeral", d.ino): partial(self._ask, of=d, now=now) for d in due}
        self._asking.ask(fs, questions, within)

    def _ask(self, mount: FileSystem, of: Directory, now: float) -> Lesson:
        at = Placed(of.path, of.ino, NO_PIN, *mount.ephemeral_pins(of.path))  # no more: a full MDS is slow
        return lambda: self._found.update({of.ino: (now, at)})

    @property
    def found(self) -> dict[str, Placed]:
        """Those that have one, by path."""
        return {at.path: at for _, at in self._found.values() if at.distributed or at.random}
