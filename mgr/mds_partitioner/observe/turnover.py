# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories' subdirectories come and go while an analysis looks on."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import CephError, NotFound
from ..filesystem import FileSystem

MOST_LISTED = 2000  # subdirectories; a directory with more is not looked at
DEEPEST = 16
CHURN = 0.1  # part of all subdirectories seen that were gone later


@dataclass
class _Seen:
    now: frozenset[int] = frozenset()
    ever: set[int] = field(default_factory=set)
    lost: int = 0


class Turnover:
    """Remembers inode numbers of subdirectories from look to look: those of the busiest directories only."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}

    def look(self, fs: FileSystem, paths: list[str]) -> None:
        """List these directories, each down to the first that has not just one subdirectory."""
        found = dict(entry for path in paths for entry in _listed(fs, path))
        self._seen = {ino: seen for ino, seen in self._seen.items() if ino in found or seen.lost}
        for ino, below in found.items():
            seen = self._seen.setdefault(ino, _Seen())
            seen.lost += len(seen.now - below)
            seen.now = below
            if len(seen.ever) < MOST_LISTED:
                seen.ever |= below

    def churning(self) -> tuple[int, ...]:
        """Inode numbers of the directories that lost a good part of their subdirectories."""
        lost = {ino: seen.lost / max(len(seen.ever), 1) for ino, seen in self._seen.items() if seen.lost}
        return tuple(sorted(ino for ino, part in lost.items() if part >= CHURN))


def _listed(fs: FileSystem, path: str) -> Iterator[tuple[int, frozenset[int]]]:
    """Inode number and subdirectories' inode numbers, from a directory down."""
    try:
        ino = fs.ino(path)
        for _ in range(DEEPEST):
            below = fs.subdirectories(path)
            if len(below) > MOST_LISTED:
                return
            yield ino, frozenset(child for _, child in below)
            if len(below) != 1:
                return
            path, ino = f"{path}/{below[0][0]}", below[0][1]
    except (NotFound, CephError):  # gone meanwhile, or not to be listed: nothing was learned
        return
