# SPDX-License-Identifier: LGPL-2.1-or-later
"""Giving the groups of a placement made from scratch the ranks where most of their items already are."""

from collections.abc import Collection

import numpy as np

from ..arrays import Bools, Floats, Ints
from .task import Task


def kept(task: Task, group: Ints) -> tuple[Floats, Floats]:
    """(groups, ranks) each: items of the group that are on the rank now, and their inodes as parts of all."""
    on = task.cur >= 0
    cells = group[on] * task.ranks + task.cur[on]
    count = np.bincount(cells, minlength=task.ranks**2).astype(np.float64)
    inodes = np.bincount(cells, weights=task.s[on], minlength=task.ranks**2)
    total = max(float(inodes.sum()), 1.0)
    return count.reshape(task.ranks, task.ranks), (inodes / total).reshape(task.ranks, task.ranks)


def fewest_moves(task: Task, group: Ints, limit: float) -> Ints:
    """(items,): the groups on other ranks, so that most items stay, and of equal choices most inodes."""
    items, inodes = kept(task, group)
    return _relabel(task, group, _fitting(task, group, limit), items + inodes / 2.0)


def fewest_inodes(task: Task, group: Ints, limit: float, closed: Collection[int]) -> Ints:
    """(items,): the groups on other ranks, so that most inodes stay; closed: ranks to which nothing comes."""
    items, inodes = kept(task, group)
    sizes = np.bincount(group, minlength=task.ranks)
    takes = np.isin(np.arange(task.ranks), list(closed), invert=True)
    fits = _fitting(task, group, limit) & (takes[None, :] | (items == sizes[:, None]))
    return _relabel(task, group, fits, inodes)


def _fitting(task: Task, group: Ints, limit: float) -> Bools:
    """(groups, ranks): no rank is above the limit (workload points) or its cache because of it."""
    work = np.bincount(group, weights=task.w, minlength=task.ranks)
    inodes = np.bincount(group, weights=task.s, minlength=task.ranks)
    within = work[:, None] + task.base_w[None, :] <= limit
    return np.asarray(within & (inodes[:, None] + task.base_s[None, :] <= task.room))


def _relabel(task: Task, group: Ints, fits: Bools, kept: Floats) -> Ints:
    """(items,): on other ranks, so that what is kept is most. Leaving every group on the rank of its own
    number is always one of the choices."""
    from scipy.optimize import linear_sum_assignment  # half a second of start-up, and rarely needed

    may = fits | np.eye(task.ranks, dtype=bool)
    rows, ranks = linear_sum_assignment(np.where(may, kept, -2.0 * (task.w.size + 1)), maximize=True)
    to = np.empty(task.ranks, dtype=np.int64)
    to[rows] = ranks
    return to[group]
