# SPDX-License-Identifier: LGPL-2.1-or-later
"""The directories below a heavy one that can be spread over ranks."""

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import NotFound
from ..filesystem import FileSystem

Lasts = Callable[[float, float, int], bool]  # born, parent born, the parent's inode number


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
    """

    chain: tuple[Placed, ...]
    born: float
    children: tuple[Child, ...]
    ranks: tuple[int, ...] = ()
    vanished: int = 0

    @property
    def parent(self) -> Placed:
        """The directory whose children can be spread."""
        return self.chain[-1]


def placed(fs: FileSystem, path: str) -> Placed:
    """A directory's own settings. :raises NotFound: it is gone."""
    distributed, random = fs.ephemeral_pins(path)
    return Placed(path, fs.ino(path), fs.pin(path), distributed, random)


def brood(fs: FileSystem, path: str, lasts: Lasts, most: int | None = None) -> Brood:
    """From ``path`` down to the first directory that has several children, or whose only one does not last.

    A subvolume's own directory holds one directory, named by a UUID, with the data in it.

    :param most: where there are more children, none is looked at
    """
    chain, born = [placed(fs, path)], fs.born(path)
    children, vanished = _children(fs, path, most)
    while len(children) == 1 and not vanished and lasts(children[0].born, born, chain[-1].ino):
        path, born = children[0].path, children[0].born
        chain.append(placed(fs, path))
        children, vanished = _children(fs, path, most)
    return Brood(tuple(chain), born, tuple(children), vanished=vanished)


def _children(fs: FileSystem, path: str, most: int | None) -> tuple[list[Child], int]:
    """Those that could be looked at, and how many were gone before."""
    found: list[Child] = []
    names, vanished = fs.subdirectories(path), 0
    for name, ino in names if most is None or len(names) <= most else ():
        child = f"{path}/{name}"
        try:
            rentries, pin = fs.rentries_and_pin(child)
            found.append(Child(child, ino, rentries, pin, fs.born(child)))
        except NotFound:
            vanished += 1
    return found, vanished
