# SPDX-License-Identifier: LGPL-2.1-or-later
"""Longest processing time first: the largest item goes to the emptiest rank (Graham 1969)."""

from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from ..arrays import Floats, Ints
from .task import Task, totals

Entry = tuple[float, int, int]


def place(task: Task, rank: Ints) -> Ints:
    """Give each item at -1 the least loaded rank whose cache has room for it; (items,) in and out.

    Largest first, an item being as large as its workload or its working set makes it, whichever takes the
    larger part of a rank. Among equally loaded ranks the one with fewest new items, then the lowest. Where
    no cache has room, the rank with the most room left.
    """
    waiting = np.flatnonzero(rank < 0)
    if not waiting.size:
        return rank
    scale = max(float(task.base_w.sum() + task.w.sum()) / task.ranks, 1e-300)
    size = np.maximum(task.w[waiting] / scale, task.s[waiting] / task.room)
    waiting = waiting[np.argsort(-size, kind="stable")]
    inodes = task.s[waiting]
    smallest_left = np.minimum.accumulate(inodes[::-1])[::-1].tolist()
    room = (task.room * (1.0 + 1e-9) - totals(task.base_s, task.s, rank)).tolist()
    load = totals(task.base_w, task.w, rank).tolist()
    heap: list[Entry] = [(points, 0, r) for r, points in enumerate(load)]
    heapify(heap)
    given = []
    for points, need, smallest in zip(task.w[waiting].tolist(), inodes.tolist(), smallest_left, strict=True):
        r = take(heap, room, points, need, smallest)
        room[r] -= need
        given.append(r)
    result = rank.copy()
    result[waiting] = given
    return result


def take(heap: list[Entry], room: list[float], points: float, need: float, smallest: float) -> int:
    """The rank for one item; its entry in the heap (least loaded first) grows by points.

    Ranks without room for the smallest item left are dropped from the heap.
    """
    if heap and room[heap[0][2]] >= need:
        load, count, r = heap[0]
        heapreplace(heap, (load + points, count + 1, r))
        return r
    passed: list[Entry] = []
    while heap and room[heap[0][2]] < need:
        entry = heappop(heap)
        if room[entry[2]] >= smallest:
            passed.append(entry)
    if heap:
        load, count, r = heap[0]
        heapreplace(heap, (load + points, count + 1, r))
    else:
        r = max(range(len(room)), key=room.__getitem__)
        passed = [(load + points * (own == r), count + (own == r), own) for load, count, own in passed]
    for entry in passed:
        heappush(heap, entry)
    return r


def lumpy_level(base: Floats, largest: Floats, rest: float) -> float:
    """The fullest rank when the largest items go by LPT on top of base and the rest flows in like water.

    base: (ranks,); largest: descending; rest: the other items' sum; all in workload points.
    """
    heap: list[float] = base.tolist()
    heapify(heap)
    for points in largest.tolist():
        heapreplace(heap, heap[0] + points)
    return max(*heap, (sum(heap) + rest) / len(heap))
