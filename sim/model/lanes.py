# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the groups' requests goes to which rank: entries put together, as long as nothing moves."""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Bools, Floats, Ints, sums


@dataclass(frozen=True)
class Asks:
    """Requests that go to another rank first. (rows,) each: the entry, that rank, the part of the entry's
    requests, and whether that rank answers them itself, from a replica; else it passes them on."""

    entry: Ints
    rank: Ints
    part: Floats
    answered: Bools


@dataclass(frozen=True)
class Lanes:
    """A lane is what a group asks of one rank. (lanes,): group, rank, the rank that is asked first, whether
    that is another one, the work of one request, and the part of the group's requests. (groups,) blocked: the
    part that nobody answers now. (entries,): rank, and whether anybody answers; own: the part that it answers
    itself."""

    group: Ints
    rank: Ints
    detour: Ints
    detours: Floats
    work: Floats
    part: Floats
    blocked: Floats
    ranks: int
    entry_rank: Ints
    entry_free: Bools
    asks: Asks
    own: Floats

    def waits(self, near: Floats, wait: Floats) -> Floats:
        """(groups,): s that a request takes in the mean. near: (lanes,) at the rank; wait: (ranks,)."""
        spent = self.part * (near + self.detours * wait[self.detour])
        return sums(self.group, spent, self.blocked.size)

    def loads(self, asked: Floats, forward_work: float) -> tuple[Floats, Floats]:
        """Work/s: (lanes,) at the rank, (ranks,) of passing on. asked: (groups,) requests/s."""
        requests = asked[self.group] * self.part
        passing = sums(self.detour, requests * self.detours * forward_work, self.ranks)
        return requests * self.work, passing

    def answering(self, requests: Floats) -> Floats:
        """(ranks,): those that each answers. requests: (entries,)"""
        asks = self.asks
        by = np.where(asks.answered, requests[asks.entry] * asks.part, 0.0)
        return sums(self.entry_rank, requests * self.own, self.ranks) + sums(asks.rank, by, self.ranks)

    def passed(self, requests: Floats) -> Floats:
        """(ranks,): those that each passes on. requests: (entries,)"""
        asks = self.asks
        return sums(asks.rank, np.where(asks.answered, 0.0, requests[asks.entry] * asks.part), self.ranks)

    def mean(self, values: Floats) -> Floats:
        """(entries,): the mean over those who answer. values: (ranks,)"""
        asks = self.asks
        by = np.where(asks.answered, values[asks.rank] * asks.part, 0.0)
        return values[self.entry_rank] * self.own + sums(asks.entry, by, self.own.size)


def lanes(
    group: Ints,
    part: Floats,
    rank: Ints,
    asks: Asks,
    free: Bools,
    work: Floats,
    groups: int,
    ranks: int,
) -> Lanes:
    """Put entries together. (entries,) each: group, part of its requests, the rank that has the authority,
    whether it answers now, and the work of one request."""
    blocked = sums(group[~free], part[~free], groups)
    heavy, works = np.unique(work, return_inverse=True)
    straight = np.maximum(0.0, 1.0 - sums(asks.entry, asks.part, group.size))
    entry = np.concatenate([np.arange(group.size), asks.entry])
    first = np.concatenate([rank, asks.rank])
    answers = np.concatenate([rank, np.where(asks.answered, asks.rank, rank[asks.entry])])
    parts = part[entry] * np.concatenate([straight, asks.part])
    kept = np.flatnonzero(free[entry] & (parts > 0.0))
    entry, first, answers, parts = entry[kept], first[kept], answers[kept], parts[kept]
    code = ((group[entry] * ranks + answers) * ranks + first) * heavy.size + works[entry]
    found, lane = np.unique(code, return_inverse=True)
    rest, which = np.divmod(found, heavy.size)
    rest, lane_first = np.divmod(rest, ranks)
    lane_group, lane_rank = np.divmod(rest, ranks)
    elsewhere = sums(asks.entry, np.where(asks.answered, asks.part, 0.0), group.size)
    return Lanes(
        group=lane_group,
        rank=lane_rank,
        detour=lane_first,
        detours=(lane_first != lane_rank).astype(np.float64),
        work=heavy[which] if heavy.size else np.zeros(0),
        part=sums(lane, parts, found.size),
        blocked=blocked,
        ranks=ranks,
        entry_rank=rank,
        entry_free=free,
        asks=asks,
        own=1.0 - elsewhere,
    )
