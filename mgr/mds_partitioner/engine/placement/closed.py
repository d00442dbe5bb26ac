# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks that give and do not take: what a saturated one is asked for is more than was seen of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from ..arrays import Floats, Ints
from .evict import evict
from .heavies import Choice, Stage, weighed
from .instance import TOLERANCE
from .task import Task, fullest, moves, totals


def over_open(
    task: Task, closed: Collection[int], target: float, fill: Callable[[Task, float], Ints]
) -> Ints:
    """(items,): a rank for each, as ``fill`` gives them out over the ranks that are not closed. On a closed
    one stays what is within the target (workload points) and its room.

    fill: is also told what the ranks that are left cannot be brought below, 0 without closed ones.
    """
    if not closed:
        return fill(task, 0.0)
    open_ = [r for r in range(task.ranks) if r not in closed]
    widest = target - float(totals(task.base_w, task.w, task.cur)[open_].min())
    # Nothing comes back to a closed rank: by the largest that is enough it may lose too much.
    tried = [_given_out(task, open_, target, most, fill) for most in (math.inf, widest / 2.0)]
    heights = [round(fullest(task, rank) / max(target, 1e-300), 2) for rank in tried]
    return min(zip(heights, tried), key=lambda found: (found[0], moves(task, found[1])))[1]


def _given_out(
    task: Task, open_: Sequence[int], target: float, most: float, fill: Callable[[Task, float], Ints]
) -> Ints:
    """The same. ``most``: points of an item that leaves a closed rank"""
    taking = np.isin(np.arange(task.ranks), open_)
    there = (task.cur >= 0) & ~taking[task.cur]
    rank = np.where(there, evict(task, task.cur, target, (most, math.inf)), task.cur)
    items = np.flatnonzero((rank < 0) | taking[rank])
    ranks = np.flatnonzero(taking)
    number = np.append(np.cumsum(taking) - 1, -1)  # of each rank among these; the last: of none
    part = Task(
        w=task.w[items],
        s=task.s[items],
        cur=number[rank[items]],
        base_w=task.base_w[ranks],
        base_s=task.base_s[ranks],
        room=task.room,
    )
    even = float(part.base_w.sum() + part.w.sum()) / ranks.size * (1.0 + TOLERANCE)
    rank[items] = ranks[fill(part, even)]
    return rank


def without_closed(stage: Stage, chosen: Choice, closed: Collection[int]) -> Choice:
    """The heavies' ranks without closed ones that would have more of them than they have."""
    had = _borne(stage, stage.homes)
    ranks = chosen.ranks
    emptiest = min((r for r in range(had.size) if r not in closed), key=lambda r: float(stage.base_w[r]))
    while True:  # what one does not take the others have more of
        gets = _borne(stage, ranks)
        filled = {r for r in closed if gets[r] > had[r] * (1.0 + TOLERANCE)}
        if not filled:
            return chosen if ranks is chosen.ranks else weighed(stage, ranks)
        ranks = tuple(tuple(r for r in own if r not in filled) or (emptiest,) for own in ranks)


def _borne(stage: Stage, ranks: Sequence[Sequence[int]]) -> Floats:
    """(ranks,): points of the heavies on each, if they are on these."""
    points = np.zeros(stage.base_w.size)
    for of, own in zip(np.maximum(stage.w, stage.q).tolist(), ranks):
        np.add.at(points, list(own), of / max(len(own), 1))  # one that has more of it is named more often
    return points
