# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shape of the directory tree. Directories are numbered in preorder: all below one are a range."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.model.arrays import Floats, Ints

ROOT, VOLUMES, GROUP = 0, 1, 2  # "/", "/volumes", "/volumes/_nogroup"


@dataclass(frozen=True)
class Part:
    """Subvolumes of one kind. below: how many directories each directory has, level by level."""

    name: str
    subvolumes: int
    below: tuple[int, ...]
    inodes: float  # of each directory of the lowest level


@dataclass(frozen=True)
class Tree:
    """(directories,) each: the parent's number, the end of the range of all below, the level (root: 0), the
    inodes in it, and the number of its subvolume, -1 above them."""

    parts: tuple[Part, ...]
    parent: Ints
    end: Ints
    level: Ints
    inodes: Floats
    subvolume: Ints

    @property
    def size(self) -> int:
        """Directories."""
        return int(self.parent.size)

    @cached_property
    def roots(self) -> Ints:
        """(subvolumes,): the directory of each."""
        return np.flatnonzero(self.level == GROUP + 1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(subvolumes,)."""
        return tuple(f"{part.name}{k}" for part in self.parts for k in range(part.subvolumes))

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The directories of each level."""
        return tuple(np.flatnonzero(self.level == n) for n in range(int(self.level.max()) + 1))

    @cached_property
    def _kids(self) -> tuple[Ints, Ints]:
        order: Ints = np.argsort(self.parent[1:], kind="stable") + 1
        return order, np.asarray(np.searchsorted(self.parent[order], np.arange(self.size + 1)))

    def kids(self, directory: int) -> Ints:
        """The directories right below one."""
        order, starts = self._kids
        found: Ints = order[starts[directory] : starts[directory + 1]]
        return found

    def leaves(self, subvolume: int) -> Ints:
        """The lowest directories of a subvolume: those that have files."""
        root = int(self.roots[subvolume])
        below: Ints = np.arange(root, int(self.end[root]))
        found: Ints = below[self.end[below] == below + 1]
        return found

    def path(self, directory: int) -> str:
        """As an operator writes it."""
        if directory <= GROUP:
            return ("/", "/volumes", "/volumes/_nogroup")[directory]
        number = int(self.subvolume[directory])
        if self.level[directory] == GROUP + 1:
            return f"/volumes/_nogroup/{self.names[number]}"
        above = int(self.parent[directory])
        return f"{self.path(above)}/d{int(np.searchsorted(self.kids(above), directory))}"


def _sizes(below: Sequence[int]) -> list[int]:
    """How many directories the tree below one of each level has, itself included."""
    sizes = [1]
    for count in reversed(below):
        sizes.insert(0, 1 + count * sizes[0])
    return sizes


def _pattern(below: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Parent, end and level of one subvolume's directories, counted from its own."""
    parent, end, level = [-1], [0], [0]
    sizes = _sizes(below)

    def add(at: int, depth: int) -> None:
        if depth < len(below):
            for _ in range(below[depth]):
                parent.append(at)
                end.append(0)
                level.append(depth + 1)
                add(len(parent) - 1, depth + 1)
        end[at] = at + sizes[depth]

    add(0, 0)
    return parent, end, level


def plant(parts: Sequence[Part]) -> Tree:
    """The tree of these subvolumes, side by side in one group."""
    parents, ends, levels, inodes, subvolumes = (
        [[-1, 0, 1]],
        [[0, 0, 0]],
        [[0, 1, 2]],
        [[1.0] * 3],
        [[-1] * 3],
    )
    at, number = GROUP + 1, 0
    for part in parts:
        parent, end, level = map(np.array, _pattern(part.below))
        own = np.where(end == np.arange(end.size) + 1, part.inodes, 1.0)
        for _ in range(part.subvolumes):
            parents.append([GROUP, *(parent[1:] + at)])
            ends.append([*(end + at)])
            levels.append([*(level + GROUP + 1)])
            inodes.append([*own])
            subvolumes.append([number] * end.size)
            at, number = at + end.size, number + 1
    ends[0] = [at, at, at]
    return Tree(
        tuple(parts),
        np.concatenate(parents).astype(np.int64),
        np.concatenate(ends).astype(np.int64),
        np.concatenate(levels).astype(np.int64),
        np.concatenate(inodes).astype(np.float64),
        np.concatenate(subvolumes).astype(np.int64),
    )
