# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sub-problem of items that get one rank each, around a load that is already there."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints


@dataclass(frozen=True)
class Task:
    """w: workload points, s: inodes, cur: current rank or -1, (items,) each; base_w, base_s: (ranks,);
    room: inodes."""

    w: Floats
    s: Floats
    cur: Ints
    base_w: Floats
    base_s: Floats
    room: float

    @property
    def ranks(self) -> int:
        return self.base_w.size


def totals(base: Floats, values: Floats, rank: Ints) -> Floats:
    """(ranks,): base plus the values of the items on each rank; items at -1 are on none."""
    placed = rank >= 0
    return np.asarray(base + np.bincount(rank[placed], weights=values[placed], minlength=base.size))


def fullest(task: Task, rank: Ints) -> float:
    return float(totals(task.base_w, task.w, rank).max())


def overflow(task: Task, rank: Ints) -> float:
    """Inodes above the room, over all ranks."""
    return float(np.maximum(totals(task.base_s, task.s, rank) - task.room, 0.0).sum())


def moves(task: Task, rank: Ints) -> int:
    """How many items are not where they were."""
    return int(((rank != task.cur) & (task.cur >= 0)).sum())
