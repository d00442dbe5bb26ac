# SPDX-License-Identifier: LGPL-2.1-or-later
"""What points leave uneven: single items go from the fullest rank, by points or requests, where they make it
less full."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints
from .bounds import NOISE
from .task import Task, totals

EMPTIEST = 16  # ranks that are looked at as targets
MOST_STEPS = 16  # a rank, on the mean


@dataclass(frozen=True)
class Requests:
    """q: points by requests alone, (items,); base_q: what is there already, (ranks,); points, requests: the
    lower bounds of both, which a rank's height is a multiple of; enough: the height at which to end; closed:
    ranks that take nothing."""

    q: Floats
    base_q: Floats
    points: float
    requests: float
    enough: float
    closed: frozenset[int] = frozenset()


def spread_requests(task: Task, rank: Ints, asked: Requests) -> Ints:
    """(items,): the ranks after as many steps as lower the fullest rank's height; none while the requests are
    even but for noise.

    A rank's height is the larger of its points and its requests, each in parts of its lower bound: three
    fifths of the points are of inodes, which do not tell who is busy.
    """
    result = rank.copy()
    points, requests = max(asked.points, 1e-300), max(asked.requests, 1e-300)
    size = np.stack((task.w / points, asked.q / requests))
    level = np.stack(
        (totals(task.base_w, task.w, rank) / points, totals(asked.base_q, asked.q, rank) / requests)
    )
    if float(level[1].max()) <= NOISE * asked.enough:
        return result
    inodes = totals(task.base_s, task.s, rank)
    may = np.array([r not in asked.closed for r in range(task.ranks)])
    members = [set(np.flatnonzero(rank == r).tolist()) for r in range(task.ranks)]
    for _ in range(MOST_STEPS * task.ranks):
        height = level.max(axis=0)
        top = int(height.argmax())
        if height[top] <= asked.enough or not members[top]:
            break
        own = np.array(sorted(members[top]))
        order = np.argsort(height, kind="stable")
        targets = order[may[order]][:EMPTIEST]
        here = (level[:, top, None] - size[:, own]).max(axis=0)
        there = (level[:, None, targets] + size[:, own, None]).max(axis=0)
        after = np.maximum(here[:, None], there)
        after[inodes[targets] + task.s[own, None] > task.room] = np.inf
        after[:, targets == top] = np.inf
        i, j = np.unravel_index(int(after.argmin()), after.shape)
        if after[i, j] >= height[top] * (1.0 - 1e-9):
            break
        item, to = int(own[i]), int(targets[j])
        result[item] = to
        members[top].remove(item)
        members[to].add(item)
        level[:, top] -= size[:, item]
        level[:, to] += size[:, item]
        inodes[top] -= task.s[item]
        inodes[to] += task.s[item]
    return result
