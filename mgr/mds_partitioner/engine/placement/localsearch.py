# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves and swaps that lower the fullest rank: for small instances, where LPT alone may be some percent
off."""

import numpy as np

from ..arrays import Floats, Ints
from .task import Task, totals

LARGEST_STEP = 200_000  # pairs of items and places that one step compares
MOST_PAIRS = 4_000_000
MOST_STEPS = 400


def improve(task: Task, rank: Ints, enough: float) -> Ints:
    """Take steps while each lowers a fullest rank, down to enough (workload points); skipped for large
    instances."""
    result = rank.copy()
    pairs = task.w.size / task.ranks * (task.ranks + task.w.size)
    if not 0 < pairs <= LARGEST_STEP:
        return result
    for _ in range(min(MOST_STEPS, int(MOST_PAIRS / pairs))):
        load = totals(task.base_w, task.w, result)
        if float(load.max()) <= enough:
            break
        inodes = totals(task.base_s, task.s, result)
        if not step(task, result, load, inodes):
            break
    return result


def step(task: Task, rank: Ints, load: Floats, inodes: Floats) -> bool:
    """Do, in rank, the best single move or swap out of the fullest rank; False when none lowers it."""
    top = int(load.argmax())
    own = np.flatnonzero((rank == top) & (task.w > 0.0))
    if not own.size:
        return False
    move = best_move(task, own, top, load, inodes)
    swap = best_swap(task, own, rank, load, inodes)
    if min(move[0], swap[0]) >= load[top] * (1.0 - 1e-9):
        return False
    if move[0] <= swap[0]:
        rank[move[1]] = move[2]
    else:
        rank[swap[1]], rank[swap[2]] = rank[swap[2]], top
    return True


def best_move(task: Task, own: Ints, top: int, load: Floats, inodes: Floats) -> tuple[float, int, int]:
    """(higher of the two ranks afterwards, item, its new rank)."""
    after = np.maximum(load[None, :] + task.w[own][:, None], load[top] - task.w[own][:, None])
    fits = inodes[None, :] + task.s[own][:, None] <= task.room
    fits[:, top] = False
    after = np.where(fits, after, np.inf)
    i, r = np.unravel_index(int(after.argmin()), after.shape)
    return float(after[i, r]), int(own[i]), int(r)


def best_swap(task: Task, own: Ints, rank: Ints, load: Floats, inodes: Floats) -> tuple[float, int, int]:
    """(higher of the two ranks afterwards, item of the fullest rank, item that takes its place)."""
    top = int(rank[own[0]])
    others = np.flatnonzero(rank != top)
    if not others.size:
        return np.inf, -1, -1
    there = rank[others]
    gain = task.w[own][:, None] - task.w[others][None, :]
    grow = task.s[own][:, None] - task.s[others][None, :]
    after = np.maximum(load[top] - gain, load[there][None, :] + gain)
    fits = (inodes[there][None, :] + grow <= task.room) & (inodes[top] - grow <= task.room) & (gain > 0.0)
    after = np.where(fits, after, np.inf)
    i, j = np.unravel_index(int(after.argmin()), after.shape)
    return float(after[i, j]), int(own[i]), int(others[j])
