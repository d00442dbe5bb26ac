# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which items leave a rank that holds too much."""

import numpy as np

from ..arrays import Floats, Ints
from .task import Task, totals


def fewest(values: Floats, excess: float) -> Ints:
    """Indices of as few values as sum to the excess: the largest ones, and at the end the smallest that is
    enough."""
    order = np.argsort(-values, kind="stable")
    sizes = values[order]
    left = excess - (np.cumsum(sizes) - sizes)
    enough = np.flatnonzero(sizes >= left)
    if not enough.size:
        return order
    first = int(enough[0])
    last = int(np.searchsorted(-sizes, -left[first], side="right")) - 1
    return np.append(order[:first], order[last])


def evict_one(
    task: Task, rank: Ints, *, values: Floats, base: Floats, limit: float, largest: float = np.inf
) -> Ints:
    """A copy of rank with the items at -1 that put a rank above the limit; only items up to the largest
    leave."""
    excess = totals(base, values, rank) - limit
    result = rank.copy()
    order = np.argsort(rank, kind="stable")
    ends = np.searchsorted(rank[order], np.arange(task.ranks + 1))
    for r in np.flatnonzero(excess > 1e-9 * limit):
        own = order[ends[r] : ends[r + 1]]
        own = own[(values[own] > 0.0) & (values[own] <= largest)]
        result[own[fewest(values[own], float(excess[r]))]] = -1
    return result


def evict(task: Task, rank: Ints, target: float, largest: tuple[float, float] = (np.inf, np.inf)) -> Ints:
    """(items,): a copy of rank, with -1 for what must leave: too much workload, then too large working sets.

    target: workload points a rank may keep; largest: no item of more points leaves for the target, none of
    more inodes for the room.
    """
    kept = evict_one(task, rank, values=task.w, base=task.base_w, limit=target, largest=largest[0])
    return evict_one(task, kept, values=task.s, base=task.base_s, limit=task.room, largest=largest[1])


def movers(cur: Ints, w: Floats, ranks: int) -> "Crowd":
    """The items that have a rank, grouped by it, for counting how many would have to leave."""
    has = np.flatnonzero(cur >= 0)
    order = has[np.lexsort((w[has], cur[has]))]
    own = cur[order]
    sums = np.cumsum(w[order])
    starts = np.searchsorted(own, np.arange(ranks))
    before = np.concatenate(([0.0], sums))[starts]
    return Crowd(own, sums - before[own], ranks)


class Crowd:
    """Items by rank, each with the sum of its rank's items up to its own size."""

    def __init__(self, rank: Ints, sums: Floats, ranks: int) -> None:
        self._rank, self._sums, self._ranks = rank, sums, ranks

    def leavers(self, room: Floats) -> Ints:
        """(ranks,): how many of the largest items must leave each rank to fit into its room (workload
        points)."""
        out = self._sums > room[self._rank] * (1.0 + 1e-9)
        return np.bincount(self._rank[out], minlength=self._ranks)
