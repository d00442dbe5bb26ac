# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster's directories as the module finds them through libcephfs (ceph/filesystem.py)."""

from functools import cached_property

from mds_partitioner.errors import NotFound
from sim.model.namespace import FIRST_INO, Namespace
from sim.model.tree import GROUP, ROOT, VOLUMES

WALL = 1_600_000_000.0  # seconds since the Unix epoch at the begin of a run


class Mount:
    """What the stages ask of a mount."""

    def __init__(self, names: Namespace) -> None:
        self._names = names

    @cached_property
    def _subvolumes(self) -> dict[str, int]:
        tree = self._names.tree
        return {name: int(root) for name, root in zip(tree.names, tree.roots, strict=True)}

    def directory(self, path: str) -> int:
        """The number of a directory. :raises NotFound: there is none of that path"""
        names = path.strip("/").split("/") if path != "/" else []
        found = (ROOT, VOLUMES, GROUP)[min(len(names), 2)]
        for depth, name in enumerate(names[2:]):
            below = self._names.tree.kids(found)
            if depth == 0 and name in self._subvolumes:
                found = self._subvolumes[name]
            elif depth and name[1:].isdigit() and int(name[1:]) < below.size:
                found = int(below[int(name[1:])])
            else:
                raise NotFound(f"cannot stat {path!r}: No such file or directory")
        return found

    def by_ino(self, ino: int) -> int | None:
        """The number of a directory; None: it was deleted."""
        found = (ino - FIRST_INO) % self._names.tree.size
        return found if self._names.ino(found) == ino else None

    def ino(self, path: str) -> int:
        """FileSystem.ino."""
        return self._names.ino(self.directory(path))

    def pin(self, path: str) -> int:
        """FileSystem.pin."""
        return int(self._names.pin[self.directory(path)])

    def born(self, path: str) -> float:
        """FileSystem.born."""
        return WALL + float(self._names.born[self.directory(path)])

    def rentries(self, path: str) -> int:
        """FileSystem.rentries."""
        at, names = self.directory(path), self._names
        return int(names.inodes[at : int(names.tree.end[at])].sum())

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """FileSystem.rentries_and_pin."""
        return self.rentries(path), self.pin(path)

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        """FileSystem.ephemeral_pins."""
        return self.directory(path) in self._names.distributed, False

    def entries(self, path: str) -> int:
        """FileSystem.entries. Files are not modelled one by one: they keep no directory from being listed."""
        return len(self._names.tree.kids(self.directory(path)))

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        kids = self._names.tree.kids(self.directory(path)).tolist()
        return [(f"d{k}", self._names.ino(kid)) for k, kid in enumerate(kids)]
