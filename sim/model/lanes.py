# SPDX-License-Identifier: LGPL-2.1-or-later
"""What of the groups' requests goes to which rank: entries put together, as long as nothing moves."""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Bools, Floats, Ints, sums


@dataclass(frozen=True)
class Lanes:
    """A lane is what a group asks of one rank. (lanes,): group, rank, another rank that is asked first, the
    part for which it is, the work of one request, and the part of the group's requests. (groups,) blocked:
    the part that nobody answers now. (entries,): rank, the one asked first, its part, and whether anybody
    answers."""

    group: Ints
    rank: Ints
    detour: Ints
    detours: Floats
    work: Floats
    part: Floats
    blocked: Floats
    ranks: int
    entry_rank: Ints
    entry_detour: Ints
    entry_detours: Floats
    entry_free: Bools

    def waits(self, near: Floats, wait: Floats) -> Floats:
        """(groups,): s that a request takes in the mean. near: (lanes,) at the rank; wait: (ranks,)."""
        spent = self.part * (near + self.detours * wait[self.detour])
        return sums(self.group, spent, self.blocked.size)

    def loads(self, asked: Floats, forward_work: float) -> tuple[Floats, Floats]:
        """Work/s: (lanes,) at the rank, (ranks,) of passing on. asked: (groups,) requests/s."""
        requests = asked[self.group] * self.part
        passing = sums(self.detour, requests * self.detours * forward_work, self.ranks)
        return requests * self.work, passing


def lanes(
    group: Ints,
    part: Floats,
    rank: Ints,
    detour: Ints,
    away: Floats,
    free: Bools,
    work: Floats,
    groups: int,
    ranks: int,
) -> Lanes:
    """Put entries together. (entries,) each: group, part of its requests, the rank that answers, the rank
    that is asked first, the part of the requests for which it is, whether the first answers now, and the work
    of one request."""
    blocked = sums(group[~free], part[~free], groups)
    heavy, works = np.unique(work, return_inverse=True)
    code = ((group * ranks + rank) * ranks + np.where(away > 0.0, detour, rank)) * heavy.size + works
    kept, lane = np.unique(code[free], return_inverse=True)
    rest, which = np.divmod(kept, heavy.size)
    rest, lane_detour = np.divmod(rest, ranks)
    lane_group, lane_rank = np.divmod(rest, ranks)
    lane_part = sums(lane, part[free], kept.size)
    detoured = sums(lane, (part * away)[free], kept.size)
    return Lanes(
        group=lane_group,
        rank=lane_rank,
        detour=lane_detour,
        detours=np.divide(detoured, lane_part, out=np.zeros(kept.size), where=lane_part > 0.0),
        work=heavy[which] if heavy.size else np.zeros(0),
        part=lane_part,
        blocked=blocked,
        ranks=ranks,
        entry_rank=rank,
        entry_detour=detour,
        entry_detours=away,
        entry_free=free,
    )
