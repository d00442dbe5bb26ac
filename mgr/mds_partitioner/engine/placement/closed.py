# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks that give and do not take: what a saturated one is asked for is more than was seen of it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from ..arrays import Ints
from .evict import evict
from .heavies import Choice, Stage, weighed
from .instance import TOLERANCE
from .task import Task


def over_open(
    task: Task, closed: Collection[int], target: float, fill: Callable[[Task, float], Ints]
) -> Ints:
    """(items,): a rank for each, as ``fill`` gives them out over the ranks that are not closed. On a closed
    one stays what is within the target (workload points) and its room.

    fill: is also told what the ranks that are left cannot be brought below, 0 without closed ones.
    """
    if not closed:
        return fill(task, 0.0)
    taking = np.array([r not in closed for r in range(task.ranks)])
    there = (task.cur >= 0) & ~taking[task.cur]
    rank = np.where(there, evict(task, task.cur, target), task.cur)
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
    had, gets = np.zeros(stage.base_w.size), np.zeros(stage.base_w.size)
    for points, home, own in zip(np.maximum(stage.w, stage.q).tolist(), stage.homes, chosen.ranks):
        had[list(home)] += points / max(len(home), 1)
        gets[list(own)] += points / len(own)
    filled = {r for r in closed if gets[r] > had[r] * (1.0 + TOLERANCE)}
    if not filled:
        return chosen
    emptiest = min((r for r in range(had.size) if r not in closed), key=lambda r: float(stage.base_w[r]))
    ranks = tuple(tuple(r for r in own if r not in filled) or (emptiest,) for own in chosen.ranks)
    return weighed(stage, ranks)
