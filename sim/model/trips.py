# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a request brings to the ranks where it is not authority over subtrees that says who answers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.load.crowd import Crowd
from sim.model.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class Trip:
    """Of one request for each directory, in the mean over its files. (directories, ranks) each.

    :ivar answered: the part that each rank answers; their sum is 1
    :ivar waits: how many times its client waits for each rank
    :ivar work: what each rank does for it, in requests
    """

    answered: Floats
    waits: Floats
    work: Floats


@dataclass(frozen=True)
class Trips:
    """Of requests that read, and of those that make a file."""

    read: Trip
    create: Trip


@dataclass(frozen=True)
class Asked:
    """The clients' trips while some ranks are up: ``queues.Ways``.

    (entries, ranks) answered, waits, work: of one request, as in ``Trip``; 0 at ranks that are down.
    (entries,) part: of its group's requests. starts: (groups,) the first entry of each.
    """

    answered: Floats
    entry_waits: Floats
    work: Floats
    part: Floats
    starts: tuple[int, ...]

    @cached_property
    def free(self) -> Floats:
        """(entries,): the part of the requests that anybody answers."""
        part = self.answered.sum(axis=1)
        return np.where(part > 1.0 - 1e-9, 1.0, part)

    @cached_property
    def blocked(self) -> Floats:
        """(groups,): the part that nobody answers now."""
        return self._by_group(self.part * (1.0 - self.free))

    @cached_property
    def _group_waits(self) -> Floats:
        return self._by_group(self.part[:, None] * self.entry_waits)

    @cached_property
    def _group_work(self) -> Floats:
        return self._by_group(self.part[:, None] * self.work)

    @cached_property
    def group(self) -> Ints:
        """(groups * ranks,): every group asks every rank."""
        return np.repeat(np.arange(len(self.starts)), self.work.shape[1])

    @cached_property
    def rank(self) -> Ints:
        """(groups * ranks,)."""
        return np.tile(np.arange(self.work.shape[1]), len(self.starts))

    def waits(self, near: Floats, wait: Floats) -> Floats:
        """(groups,): s that a request takes in the mean. near: (groups * ranks,)."""
        return np.asarray((self._group_waits * near.reshape(self._group_waits.shape)).sum(axis=1))

    def loads(self, asked: Floats, forward_work: float) -> tuple[Floats, Floats]:
        """Work/s: (groups * ranks,); forwards are part of the trips. asked: (groups,) requests/s."""
        work = asked[:, None] * self._group_work
        return work.ravel(), np.zeros(work.shape[1])

    def _by_group(self, values: Floats) -> Floats:
        """(groups, ...): sums over the entries of each."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))


def asked(trips: Trips, crowd: Crowd, up: Bools) -> Asked:
    """What the crowd's entries ask now. up: (ranks,)."""
    creates: Ints = np.flatnonzero(crowd.grows)

    def of(read: Floats, create: Floats) -> Floats:
        found = read[crowd.directory]
        found[creates] = create[crowd.directory[creates]]
        return found * up

    return Asked(
        answered=of(trips.read.answered, trips.create.answered),
        entry_waits=of(trips.read.waits, trips.create.waits),
        work=of(trips.read.work, trips.create.work),
        part=crowd.part.copy(),
        starts=tuple(group.entries.start for group in crowd.groups),
    )
