# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who has authority over which directory, and what places it."""

import zlib
from dataclasses import dataclass

import numpy as np

from mds_partitioner.model import NO_PIN
from mds_partitioner.plan.ephemeral import fragment_ranks
from sim.model.arrays import Bools, Floats, Ints, sums
from sim.model.tree import ROOT, Tree

FIRST_INO = 1 << 40  # of users' directories
DISTRIBUTED_FACTOR = 2.0  # mds_export_ephemeral_distributed_factor
NOBODY = np.iinfo(np.int64).max  # a rank above all


@dataclass(frozen=True)
class Move:
    """Authority over a subtree that went from one rank to another.

    :ivar directory: its root
    :ivar inodes: that went along
    :ivar why: who ordered it
    :ivar forced: by no policy: its rank was stopped
    """

    time: float
    directory: int
    source: int
    target: int
    inodes: float
    why: str
    forced: bool = False


class Namespace:
    """The state of all directories. Arrays are (directories,)."""

    def __init__(self, tree: Tree, auth: Ints) -> None:
        """``auth``: the rank of each directory at first."""
        self.tree = tree
        self.auth = auth.copy()
        self.pin = np.full(tree.size, NO_PIN, dtype=np.int64)
        self.inodes = tree.inodes.copy()  # cached by the rank that has them
        self.cold = np.zeros(tree.size)  # of these, how many must be fetched first
        self.generation = np.zeros(tree.size, dtype=np.int64)  # how often it was made anew
        self.born = np.full(tree.size, -1e9)  # s
        self.freezing = np.zeros(tree.size, dtype=np.bool_)  # roots of subtrees that are to be frozen
        self.frozen = np.zeros(tree.size, dtype=np.bool_)
        self.replicated = np.zeros(tree.size, dtype=np.bool_)  # to all ranks
        # The lowest rank that clients have a capability of each from; capabilities of those above stay, too.
        self.lowest = np.full(tree.size, NOBODY)
        # The rank that each was on before, and how likely it has a replica of it since.
        self.left = np.zeros(tree.size, dtype=np.int64)
        self.stays = np.zeros(tree.size)
        self.distributed: dict[int, tuple[int, ...]] = {}  # ranks of the fragments of a distributed directory
        self.exporting: set[int] = set()  # roots of frozen subtrees
        self.version = 0  # of what clients notice: authority, freezing, cold directories
        self._bounds: Bools | None = None

    def ino(self, directory: int) -> int:
        """The inode number: never used twice."""
        return FIRST_INO + int(self.generation[directory]) * self.tree.size + directory

    @property
    def bounds(self) -> Bools:
        """Roots of subtrees: where authority changes, or a pin holds it."""
        if self._bounds is None:
            parent = self.tree.parent.copy()
            parent[ROOT] = ROOT
            self._bounds = (self.auth != self.auth[parent]) | (self.pin != NO_PIN)
            self._bounds[[ROOT, *self.exporting]] = True
            for directory in self.distributed:
                self._bounds[self.tree.kids(directory)] = True
        return self._bounds

    def members(self, directory: int) -> Ints:
        """What goes along when a directory does: all below it up to the next subtrees."""
        end = int(self.tree.end[directory])
        inside = np.flatnonzero(self.bounds[directory + 1 : end]) + directory + 1
        foreign = np.zeros(end - directory + 1, dtype=np.int64)
        np.add.at(foreign, inside - directory, 1)
        np.add.at(foreign, self.tree.end[inside] - directory, -1)
        return np.flatnonzero(np.cumsum(foreign)[:-1] == 0) + directory

    def home(self, directories: Ints) -> Ints:
        """The rank of each directory's own inode: its parent's, or that of the parent's fragment it is in."""
        parent = self.tree.parent[directories]
        scattered = np.isin(parent, list(self.distributed))
        return np.where(scattered, self.auth[directories], self.auth[parent])

    def answering(self, directories: Ints, names: Ints) -> Ints:
        """The rank that has a name's entry in each directory: of a distributed one, that of the fragment.

        :param names: the directory that is looked up, or the one that it is in for its files
        """
        within = np.isin(directories, list(self.distributed))
        return np.where(within, self.auth[names], self.auth[directories])

    def holds(self, ranks: Ints, directories: Ints, names: Ints) -> Floats:
        """The part of the lookups of a name in a directory of others that a rank answers; all alike.

        It has a replica of a directory below which it has authority.

        :param names: the directory that is looked up, or the one that it is in for its files
        """
        found = np.zeros(ranks.size)
        at = np.flatnonzero(names != directories)
        found[at] = self.stays_at(names[at], ranks[at])
        for row in at.tolist():
            below = self.auth[int(names[row]) : int(self.tree.end[names[row]])]
            if (below == ranks[row]).any():
                found[row] = 1.0
        return found

    def stays_at(self, directories: Ints, ranks: Ints) -> Floats:
        """How likely a rank has a replica of a directory that it has not the authority over."""
        former = np.where(self.left[directories] == ranks, self.stays[directories], 0.0)
        return np.where(self.replicated[directories], 1.0, former)

    def leave(self, directories: Ints, rank: int, chance: Floats) -> None:
        """They went away from a rank, which keeps replicas with these chances."""
        self.left[directories], self.stays[directories] = rank, chance
        self.version += 1

    def replicate(self, directories: Ints) -> None:
        """To all ranks, which clients are told."""
        self.replicated[directories] = True
        self.version += 1

    def used(self, directories: Ints) -> None:
        """Clients ask for these, and so have a capability of each from the rank that it is on now."""
        np.minimum.at(self.lowest, directories, self.auth[directories])

    def below(self, values: Floats) -> Floats:
        """The sum of the values of each directory and all of its subtree below it."""
        totals = values.copy()
        for level in reversed(self.tree.levels[1:]):
            inner = level[~self.bounds[level]]
            totals += sums(self.tree.parent[inner], totals[inner], totals.size)
        return totals

    def move(self, directory: int, target: int, now: float, why: str, forced: bool = False) -> Move:
        """Authority changes, at once."""
        members = self.members(directory)
        moved = Move(
            now, directory, int(self.auth[directory]), target, float(self.inodes[members].sum()), why, forced
        )
        self.auth[members] = target
        self._bounds = None
        self.version += 1
        return moved

    def set_pin(self, directory: int, rank: int) -> None:
        """``ceph.dir.pin``; it is followed on a tick."""
        self.pin[directory] = rank
        self._bounds = None

    def distribute(self, directory: int, max_mds: int) -> None:
        """``ceph.dir.pin.distributed`` over so many ranks, 0 for not any more; it is followed on a tick."""
        self.distributed.pop(directory, None)
        if max_mds:
            self.distributed[directory] = fragment_ranks(self.ino(directory), max_mds, DISTRIBUTED_FACTOR)
        self._bounds = None

    def wanted(self, directory: int) -> int:
        """The rank that a directory's own settings, or its distributed parent's, name; NO_PIN: none."""
        if self.pin[directory] != NO_PIN:
            return int(self.pin[directory])
        ranks = self.distributed.get(int(self.tree.parent[directory]))
        return NO_PIN if ranks is None else ranks[zlib.crc32(b"%d" % self.ino(directory)) % len(ranks)]

    def misplaced(self) -> list[tuple[int, int]]:
        """Directories that their settings place on another rank, and that rank."""
        found = [
            (int(d), int(self.pin[d])) for d in np.flatnonzero((self.pin != NO_PIN) & (self.pin != self.auth))
        ]
        for parent in self.distributed:
            for kid in self.tree.kids(parent).tolist():
                rank = self.wanted(kid)
                if self.pin[kid] == NO_PIN and rank not in (NO_PIN, self.auth[kid]):
                    found.append((kid, rank))
        return found

    def remake(self, directory: int, now: float) -> None:
        """It was deleted, and another one made in its place: on its parent's rank, or where a fragment is."""
        self.generation[directory] += 1
        self.born[directory] = now
        self.pin[directory] = NO_PIN
        placed = self.wanted(directory)
        self.auth[directory] = self.auth[self.tree.parent[directory]] if placed == NO_PIN else placed
        self.freezing[directory] = self.frozen[directory] = False
        self.cold[directory], self.lowest[directory] = 0.0, NOBODY
        self.replicated[directory], self.stays[directory] = False, 0.0
        self._bounds = None
        self.version += 1

    def on_its_way(self, directory: int) -> bool:
        """Is it to be exported already? Then it is not exported again (Migrator::export_dir)."""
        return bool(self.freezing[directory] or self.frozen[directory])

    def dismiss(self, rank: int) -> None:
        """Nobody has a capability from a rank that was stopped."""
        self.lowest[self.lowest == rank] = NOBODY

    def freeze(self, directory: int, members: Ints) -> None:
        """Nobody is answered about a subtree any more; it is one of its own as long as it is on its way."""
        self.freezing[directory] = False
        self.frozen[members] = True
        self.exporting.add(directory)
        self._bounds = None
        self.version += 1

    def thaw(self, directory: int, members: Ints) -> None:
        """The subtree answers again."""
        self.frozen[members] = False
        self.exporting.discard(directory)
        self._bounds = None
        self.version += 1

    def chill(self, which: Bools) -> None:
        """Nothing of these directories is in a cache any more."""
        self.cold[which] = self.inodes[which]
        self.version += 1

    def cool(self, cold: Floats) -> None:
        """Caches have so many inodes of each directory no more. cold: (directories,)."""
        self.version += bool(((cold > 0.0) != (self.cold > 0.0)).any())
        self.cold = cold

    def warm(self, inodes: float, requests: Floats) -> None:
        """Each request brings so many inodes of a cold directory into the cache. requests: (directories,)."""
        cold = self.cold > 0.0
        if cold.any():
            self.cold = np.maximum(0.0, self.cold - inodes * requests)
            self.version += bool((cold & (self.cold == 0.0)).any())
