# SPDX-License-Identifier: LGPL-2.1-or-later
"""The directories below a heavy one that can be spread over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from ..ceph.filesystem import FileSystem
from ..errors import NotFound
from ..model import NO_PIN, Directory
from .turnover import DEEPEST

AGAIN = 50  # directories that are looked for again in a round
At = TypeVar("At", "Child", Directory)


class Lasts(Protocol):
    """Does a directory last?"""

    def __call__(self, born: float, parent_born: float, parent: int, child: int = 0, /) -> bool:
        """Births in seconds since the Unix epoch; inode numbers. child: 0 where it counts only together with
        what comes beside it"""


@dataclass(frozen=True)
class Placed:
    """What a directory's own settings say of its place."""

    path: str
    ino: int
    pin: int
    distributed: bool  # ceph.dir.pin.distributed
    random: bool  # ceph.dir.pin.random


@dataclass(frozen=True)
class Child:
    """A directory right below the one that can be split."""

    path: str
    ino: int
    rentries: int
    pin: int
    born: float  # seconds since the Unix epoch
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Brood:
    """A heavy directory as it can be split.

    :ivar chain: the heavy directory, and those from it down to the one whose children can be spread
    :ivar ranks: where the last of the chain is itself
    :ivar born: when the last of the chain was made, seconds since the Unix epoch
    :ivar vanished: children that were listed, and gone before they were looked at
    :ivar unread: children that were not looked at yet
    :ivar unlisted: the last of the chain has too many entries for its children to be listed
    :ivar silent: ranks that did not say what is on them
    """

    chain: tuple[Placed, ...]
    born: float
    children: tuple[Child, ...]
    ranks: tuple[int, ...] = ()
    vanished: int = 0
    unread: tuple[Directory, ...] = ()
    unlisted: bool = False
    silent: tuple[int, ...] = ()

    @property
    def parent(self) -> Placed:
        """The directory whose children can be spread."""
        return self.chain[-1]


def placed(fs: FileSystem, path: str) -> Placed:
    """A directory's own settings. :raises NotFound: it is gone."""
    distributed, random = fs.ephemeral_pins(path)
    return Placed(path, fs.ino(path), fs.pin(path), distributed, random)


def brood(
    fs: FileSystem,
    path: str,
    lasts: Lasts,
    may: Callable[[FileSystem, str], bool] | None = None,
    known: Mapping[int, Child] = {},
    limit: int | None = None,
    levels: int = DEEPEST,
    pins: Mapping[int, int] = {},
) -> Brood:
    """From ``path`` down to the first directory that has several children, or whose only one does not last or
    was given a rank of its own.

    A subvolume's own directory holds one directory, named by a UUID, with the data in it.

    :param may: one be listed? None: each
    :param known: those that need not be looked at again, by inode number
    :param limit: how many of the others are looked at, where there are several
    :param levels: directories of which each is the only one in the other, at most; the last may have one, too
    :param pins: that we have set, by inode number
    """
    chain, born = [placed(fs, path)], fs.born(path)
    found = _children(fs, path, may, known, limit)
    while len(chain) < levels and (only := found.only) is not None and lasts(only.born, born, chain[-1].ino):
        if is_apart(fs, only.path, only.ino, pins):
            break
        path, born = only.path, only.born
        chain.append(placed(fs, path))
        found = _children(fs, path, may, known, limit)
    left_out = found.vanished, tuple(found.unread), found.unlisted
    return Brood(tuple(chain), born, tuple(found.seen), (), *left_out)


def is_apart(fs: FileSystem, path: str, ino: int, pins: Mapping[int, int]) -> bool:
    """Has a directory a rank of its own that we gave it? An operator may have taken it off since.

    :param pins: that we have set, by inode number
    :raises NotFound: it is gone
    """
    return pins.get(ino, NO_PIN) != NO_PIN and fs.pin(path) != NO_PIN


def looked_at(fs: FileSystem, at: Directory) -> Child:
    """A child as it is now. :raises NotFound: it is gone"""
    rentries, pin = fs.rentries_and_pin(at.path)
    return Child(at.path, at.ino, rentries, pin, fs.born(at.path))


def still(fs: FileSystem, before: Brood, found: Brood) -> Brood:
    """What is there of a brood that cannot be listed again, also if one that it is in was renamed.

    :param found: of the same directory, as far as it can be listed
    :raises NotFound: its parent is gone
    """
    there = [at.ino for at in before.chain]
    shared, lowest = [(i, at) for i, at in enumerate(found.chain, 1) if at.ino in there][-1]
    left = there.index(lowest.ino)
    was = before.chain[left].path

    def now(path: str) -> str:
        return lowest.path + path.removeprefix(was)

    chain = *found.chain[:shared], *(placed(fs, now(at.path)) for at in before.chain[left + 1 :])
    kids = [replace(kid, path=now(kid.path)) for kid in before.children]
    unread = tuple(Directory(now(kid.path), now(kid.path), kid.ino) for kid in before.unread)
    return replace(before, chain=chain, children=tuple(found_again(fs, kids)), unread=unread)


def remembered(fs: FileSystem, found: Brood, paths: Iterable[str]) -> Brood:
    """One that cannot be listed, with those of its children that are at these paths, to be read."""
    below = [path for path in paths if path.rpartition("/")[0] == found.parent.path]
    there = (Directory(path, path, ino) for path in below if (ino := _ino(fs, path)) is not None)
    return replace(found, unread=tuple(there))


def found_again(fs: FileSystem, before: Sequence[At]) -> list[At]:
    """Those that are there. Some are looked for in a round, in turn: the next ones are the first of these."""
    found = list(before[AGAIN:])
    found.extend(at for at in before[:AGAIN] if _there(fs, at))
    return found


def _there(fs: FileSystem, at: Directory | Child) -> bool:
    """Is this very directory still at its path?"""
    return _ino(fs, at.path) == at.ino


def _ino(fs: FileSystem, path: str) -> int | None:
    try:
        return fs.ino(path)
    except NotFound:
        return None


@dataclass
class _Children:
    """See ``Brood``."""

    seen: list[Child] = field(default_factory=list)
    vanished: int = 0
    unread: list[Directory] = field(default_factory=list)
    unlisted: bool = False

    @property
    def only(self) -> Child | None:
        """The only one that there is."""
        return self.seen[0] if len(self.seen) == 1 and not (self.vanished or self.unread) else None


def _children(
    fs: FileSystem,
    path: str,
    may: Callable[[FileSystem, str], bool] | None,
    known: Mapping[int, Child],
    limit: int | None,
) -> _Children:
    if may is not None and not may(fs, path):
        return _Children(unlisted=True)
    names, found = fs.subdirectories(path), _Children()
    left = len(names) if limit is None or len(names) == 1 else limit
    for name, ino in names:
        child = Directory(f"{path}/{name}", f"{path}/{name}", ino)
        if ino in known and known[ino].path == child.path:
            found.seen.append(known[ino])
        elif left <= 0:
            found.unread.append(child)
        else:
            left -= 1
            try:
                found.seen.append(looked_at(fs, child))
            except NotFound:
                found.vanished += 1
    return found
