# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories that the scheduler has placed, or taken apart, were deleted: there is nothing to undo of
these, and nothing to remember."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..act.run import Run, in_force
from ..ceph.host import Host
from ..errors import PartitionerError
from ..model import FsState
from ..plan.plan import DISTRIBUTED_STEP
from ..verify.whereabouts import MdsWhereabouts

A_ROUND = 10  # directories that are looked up in a round


class Deleted:
    """Of one file system. What is read elsewhere is replaced as a whole, so readers need no lock.

    :ivar inos: inode numbers of what was deleted
    :ivar moved: of what was looked up and is there, but not listed: it was renamed into something else
    """

    def __init__(self, host: Host) -> None:
        self._where = MdsWhereabouts(host)
        self._turn: dict[int, int] = {}  # the round that looked it up last, by inode number
        self._searched: dict[int, int] = {}  # the same of what passes for moved
        self._rounds = 0
        self.inos: frozenset[int] = frozenset()
        self.moved: frozenset[int] = frozenset()

    def look(self, fs: FsState, absent: Collection[int]) -> None:
        """Look a few up, those first that were looked up longest ago. In doubt none was deleted.

        :param absent: inode numbers of what was placed, or taken apart, and was not listed
        """
        self._rounds += 1
        self._turn = {ino: self._turn.get(ino, 0) for ino in absent}
        self.inos &= self._turn.keys()
        self.moved &= self._turn.keys()
        left = (ino for ino in sorted(self._turn, key=lambda ino: self._turn[ino]) if ino not in self.inos)
        for _, ino in zip(range(A_ROUND), left):
            self._turn[ino] = self._rounds
            try:
                gone = self._where.deleted(fs, ino)
                self.inos |= {ino} if gone else frozenset()
                self.moved = self.moved - {ino} if gone else self.moved | {ino}
            except PartitionerError:
                return  # who does not answer now will not answer for the next one either
        self._search(fs)

    def _search(self, fs: FsState) -> None:
        """Of what passes for moved MDSs may have some to purge: looked for until one is there, as each MDS is
        asked."""
        self._searched = {ino: self._searched.get(ino, 0) for ino in self.moved}
        for ino in sorted(self.moved, key=lambda ino: self._searched[ino])[:A_ROUND]:
            self._searched[ino] = self._rounds
            try:
                if not self._where.vanished(fs, ino):
                    return
            except PartitionerError:
                return
            self.inos, self.moved = self.inos | {ino}, self.moved - {ino}


def absent(runs: Iterable[Run], fscid: int, listed: Collection[int]) -> set[int]:
    """Inode numbers of what the scheduler has placed and that was not listed, and of what it distributed
    something in."""
    steps = [(run.plan, run.plan.steps[i]) for run, i, _ in in_force(runs, fscid) if run.plan.scheduled]
    placed = {step.ino for _, step in steps}
    placed |= {plan.rows[step.row].ino for plan, step in steps if step.kind == DISTRIBUTED_STEP}
    return {ino for ino in placed if ino and ino not in listed}
