# SPDX-License-Identifier: LGPL-2.1-or-later
"""Longest processing time first: the largest item goes to the emptiest rank (Graham 1969)."""

from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from ..arrays import Floats, Ints
from .task import Task, totals

FEWEST_PASSED = 8
MOST_PASSED = 100_000
Entry = tuple[float, int, int]


def place(task: Task, rank: Ints) -> Ints:
    """Give each item at -1 the emptiest rank whose cache has room for it; (items,) in and out.

    An item is as large as its workload or its working set makes it, whichever takes the larger part of a rank
    (of the mean workload, of the room): the largest item goes first. Among equally full ranks
    the one with fewest new items, then the lowest. Where none of the emptiest has room, the one with the
    most room of these: what then does not fit is for the caller to move on.
    """
    waiting = np.flatnonzero(rank < 0)
    if not waiting.size:
        return rank
    scale = max(float(task.base_w.sum() + task.w.sum()) / task.ranks, 1e-300)
    work, inodes = task.w / scale, task.s / task.room
    waiting = waiting[np.argsort(-np.maximum(work[waiting], inodes[waiting]), kind="stable")]
    given = pack(
        work[waiting].tolist(),
        inodes[waiting].tolist(),
        totals(task.base_w / scale, work, rank).tolist(),
        totals(task.base_s / task.room, inodes, rank).tolist(),
    )
    result = rank.copy()
    result[waiting] = given
    return result


def pack(work: list[float], inodes: list[float], load: list[float], used: list[float]) -> list[int]:
    """A rank for each item in the order given.

    work, inodes: of the items, load, used: of the ranks, as parts of a rank; the ranks' lists are added to.
    """
    heap: list[Entry] = [(load[r], 0, r) for r in range(len(load))]
    heapify(heap)
    given = []
    passes = max(FEWEST_PASSED, MOST_PASSED // len(work))
    for points, need in zip(work, inodes):
        most = 1.0 + 1e-9 - need
        _, count, r = heappop(heap) if used[heap[0][2]] <= most else take(heap, used, most, passes)
        load[r] += points
        used[r] += need
        heappush(heap, (load[r], count + 1, r))
        given.append(r)
    return given


def take(heap: list[Entry], used: list[float], most: float, passes: int) -> Entry:
    """Take off the heap the emptiest rank that uses at most this, or of the first few the one that uses
    least."""
    passed: list[Entry] = []
    while heap and len(passed) < passes and used[heap[0][2]] > most:
        passed.append(heappop(heap))
    if heap and used[heap[0][2]] <= most:
        chosen = heappop(heap)
    else:
        chosen = min(passed, key=lambda entry: used[entry[2]])
        passed.remove(chosen)
    for entry in passed:
        heappush(heap, entry)
    return chosen


def resettle(task: Task, target: float, smallest: float) -> Ints:
    """Place the items of at least the smallest size anew, largest first; the others are where they are.

    Each stays on its rank if that is within target and room by the items placed so far, else it goes to the
    emptiest rank: so an item too large for the rest of its rank gets one that smaller items then make way
    for.
    """
    load, used = task.base_w.tolist(), task.base_s.tolist()
    big = np.flatnonzero(task.w >= smallest)
    big = big[np.argsort(-task.w[big], kind="stable")]
    result = task.cur.copy()
    for i, points, need, home in zip(
        big.tolist(), task.w[big].tolist(), task.s[big].tolist(), task.cur[big].tolist()
    ):
        stays = home >= 0 and load[home] + points <= target and used[home] + need <= task.room
        r = home if stays else min(range(len(load)), key=load.__getitem__)
        load[r] += points
        used[r] += need
        result[i] = r
    return result


def lumpy_level(base: Floats, largest: Floats, rest: float) -> float:
    """The fullest rank when the largest items go by LPT on top of base and the rest flows in like water.

    base: (ranks,); largest: descending; rest: the other items' sum; all in workload points.
    """
    heap: list[float] = base.tolist()
    heapify(heap)
    for points in largest.tolist():
        heapreplace(heap, heap[0] + points)
    return max(*heap, (sum(heap) + rest) / len(heap))
