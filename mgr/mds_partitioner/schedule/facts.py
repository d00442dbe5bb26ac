# SPDX-License-Identifier: LGPL-2.1-or-later
"""Statistics and pins of the directories that may be moved, some in each round: those that matter first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import zip_longest

from ..ceph.filesystem import FileSystem
from ..model import Directory, DirectoryFacts, FsState
from ..observe.directories import Rotation, facts
from .asking import Asking, Lesson

AGAIN = 0.9  # epochs, after which facts of the busiest are read again: rounds begin a little early or late
NEVER = float("-inf")
FACTS = "facts"  # what is asked


class Facts:
    """Of one file system. An answer counts if it was asked for last, and nothing was changed since."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._rotation = Rotation(())
        self._asked: dict[int, float] = {}  # when facts were asked for, Unix, s, by inode number
        self._answered: dict[int, float] = {}  # the same, of what was answered
        self._answers: dict[Directory, tuple[DirectoryFacts | None, float]] = {}
        self._read_at: dict[str, tuple[DirectoryFacts, float]] = {}  # facts, and when they were asked for

    def directories(self) -> tuple[Directory, ...]:
        """Every directory, by path."""
        return self._rotation.directories()

    def read(self, now: float) -> Mapping[str, tuple[DirectoryFacts, float]]:
        """What was read, and when it was asked for, Unix, s, by path. ``now``: the same"""
        self._read_at = {
            path: (fact, self._since(path, fact, now)) for path, fact in self._rotation.facts().items()
        }
        return self._read_at

    def _since(self, path: str, fact: DirectoryFacts, now: float) -> float:
        """When it was asked for, also of what was not relied on meanwhile."""
        known, at = self._read_at.get(path, (fact, now))
        return min(now, at) if known is fact else now  # the clock may have been put back

    def doubt(self, inos: AbstractSet[int]) -> None:
        """Somebody changed these directories' pins: they are read again, before all others."""
        self._rotation.doubt(p for p, f in self._rotation.facts().items() if f.directory.ino in inos)
        self._asked = {ino: at for ino, at in self._asked.items() if ino not in inos}

    def see(
        self,
        requests: Mapping[str, float],
        found: Sequence[Directory] | None,
        below: Sequence[Directory],
        read: Sequence[DirectoryFacts],
        now: float,
    ) -> None:
        """Take in which directories there are, as ``Rotation.see`` does. ``now``: of ``read``, Unix, s"""
        self._rotation.see(requests, found, below, read)
        kept = self._rotation.facts() if read else {}
        taken = (fact for fact in read if kept.get(fact.directory.path) is fact)
        self._answered |= {fact.directory.ino: now for fact in taken}

    def ask(
        self,
        fs: FsState,
        limit: int,
        busy: Sequence[Directory],
        away: AbstractSet[int],
        epoch: float,
        now: float,
    ) -> None:
        """Ask for those of some, and take in what is answered in time, and what was asked for before.

        :param limit: how many are asked for
        :param busy: those whose facts matter most
        :param away: inode numbers of those that do not answer for a while
        :param epoch: s from one round to the next; now: Unix, s
        """
        there = {d.ino: d for d in self.directories()}
        old = [d for d in busy if self._is_old(d, epoch, now) and there.get(d.ino) == d]
        known = [fact.directory for fact in self._rotation.facts().values()]
        lately = {d.ino for d in known if not self._is_old(d, epoch, now)}
        due = self._due(limit, old, lately, away | self._asking.pending(FACTS))
        self._asked |= {d.ino: now for d in due}
        self._asking.ask(fs, {(FACTS, d.ino): partial(self._read, of=d, now=now) for d in due})
        self._take_in(there)

    def _read(self, mount: FileSystem, of: Directory, now: float) -> Lesson:
        found = facts(mount, of)
        return lambda: self._answers.update({of: (found, now)})

    def _take_in(self, there: Mapping[int, Directory]) -> None:
        """What was answered. ``there``: the directories by inode number"""
        answers, self._answers = self._answers, {}
        good = {
            d: (found, at)
            for d, (found, at) in answers.items()
            if self._asked.get(d.ino) == at and there.get(d.ino) == d
        }
        self._asked = {ino: at for ino, at in self._asked.items() if ino in there}
        self._answered |= {d.ino: at for d, (_, at) in good.items()}
        self._answered = {ino: at for ino, at in self._answered.items() if ino in there}
        self._rotation.learn({d: found for d, (found, _) in good.items()})
        self._read_at |= {d.path: (found, at) for d, (found, at) in good.items() if found is not None}

    def _is_old(self, of: Directory, epoch: float, now: float) -> bool:
        """Were its facts not read in this epoch?"""
        return not 0.0 <= now - self._answered.get(of.ino, NEVER) < AGAIN * epoch

    def _due(
        self, limit: int, busy: Sequence[Directory], lately: AbstractSet[int], away: Collection[int]
    ) -> list[Directory]:
        """Whose facts are read, in the order in which they are asked for: slow MDSs answer the first few.
        What was never read is before all; then half at most are of ``busy``, which may grow by thousands a
        second, those first that were read longest ago, by turns with others, each of which has its turn.

        :param lately: inode numbers of what was read in this epoch: rounds may follow one another at once
        """
        new = self._rotation.unread(limit, away)
        left = limit - len(new)
        taken = {*away, *lately, *(d.ino for d in new)}
        may = {d.ino: d for d in busy if d.ino not in taken}.values()
        oldest = sorted(may, key=lambda d: self._answered.get(d.ino, NEVER))[: left // 2]
        others = self._rotation.due(left - len(oldest), taken | {d.ino for d in oldest})
        pairs = zip_longest(oldest, others)
        return [*new, *(d for pair in pairs for d in pair if d is not None)]
