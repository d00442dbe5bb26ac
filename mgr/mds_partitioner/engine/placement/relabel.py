# SPDX-License-Identifier: LGPL-2.1-or-later
"""Giving the groups of a placement made from scratch the ranks where most of their items already are."""

import numpy as np

from ..arrays import Floats, Ints
from .task import Task


def kept_items(task: Task, group: Ints) -> Floats:
    """(groups, ranks): items of the group that are on the rank now, and as a fraction below 1 their
    inodes."""
    on = task.cur >= 0
    cells = group[on] * task.ranks + task.cur[on]
    count = np.bincount(cells, minlength=task.ranks**2).astype(np.float64)
    inodes = np.bincount(cells, weights=task.s[on], minlength=task.ranks**2)
    total = max(float(inodes.sum()), 1.0)
    return np.asarray((count + inodes / (2.0 * total)).reshape(task.ranks, task.ranks))


def relabel(task: Task, group: Ints, limit: float) -> Ints:
    """(items,): the groups on other ranks, so that most stay, no rank above the limit or its cache because
    of it.

    Leaving every group on the rank of its own number is always one of the choices.
    """
    from scipy.optimize import linear_sum_assignment  # half a second of start-up, and rarely needed

    work = np.bincount(group, weights=task.w, minlength=task.ranks)
    inodes = np.bincount(group, weights=task.s, minlength=task.ranks)
    fits = (work[:, None] + task.base_w[None, :] <= limit) & (
        inodes[:, None] + task.base_s[None, :] <= task.room
    )
    fits |= np.eye(task.ranks, dtype=bool)
    kept = np.where(fits, kept_items(task, group), -2.0 * (task.w.size + 1))
    rows, ranks = linear_sum_assignment(kept, maximize=True)
    to = np.empty(task.ranks, dtype=np.int64)
    to[rows] = ranks
    return to[group]
