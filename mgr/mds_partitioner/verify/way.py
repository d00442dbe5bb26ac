# SPDX-License-Identifier: LGPL-2.1-or-later
"""The way to a directory, as caches and backtraces tell it, and where it breaks off."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import takewhile

from ..ceph.filesystem import FileSystem
from ..errors import NotFound, Unavailable
from ..observe.backtrace import Parent


@dataclass(frozen=True)
class Way:
    """Down to a directory. What no MDS has in cache is told by its backtrace.

    :ivar top: inode number of what it begins with; above: its path, "" for the root; None: it was deleted
    :ivar steps: inode numbers from there down, and what the backtrace of each says
    """

    top: int
    above: str | None
    steps: tuple[tuple[int, Parent], ...] = ()

    @property
    def path(self) -> str | None:
        """Where it leads to; None: it was deleted. An MDS calls that "~mds0/stray1/..." while it has it."""
        path = None if self.above is None else self._places(self.above)[-1][0]
        return path if path and path.startswith("/") else None

    def lost(self, mount: FileSystem) -> tuple[tuple[int, Parent], ...]:
        """The steps from the first on that is not where its backtrace says; none: the directory is there.

        :raises Unavailable: what that should be in is not there either, or not any more
        """
        places = self._places(self.above or "")
        if _is(mount, *places[-1]):
            return ()
        there = list(takewhile(lambda place: _is(mount, *place), places))
        # Once more: else it may have been renamed in between, with all that is in it.
        if not there or not _is(mount, *there[-1]):
            raise renamed(repr(places[-1][0]))
        return self.steps[len(there) - 1 :]

    def _places(self, above: str) -> list[tuple[str, int]]:
        """Path and inode number of each, from the top down."""
        places = [(above or "/", self.top)]
        for ino, parent in self.steps:
            above = f"{above}/{os.fsdecode(parent.name)}"
            places.append((above, ino))
        return places


def _is(mount: FileSystem, path: str, ino: int) -> bool:
    try:
        return mount.ino(path) == ino
    except NotFound:
        return False


def renamed(what: str) -> Unavailable:
    """Of a directory that is neither where it should be nor known to be deleted."""
    return Unavailable(f"{what} is being renamed: where it is now is looked at again")
