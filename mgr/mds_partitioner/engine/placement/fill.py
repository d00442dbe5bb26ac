# SPDX-License-Identifier: LGPL-2.1-or-later
"""One rank for each item that gets one: keep what can stay, place the rest, and only if need be start
over."""

from functools import partial

import numpy as np

from ..arrays import Ints
from .evict import evict
from .exchange import exchange
from .instance import TOLERANCE
from .localsearch import improve
from .lpt import place, resettle
from .relabel import fewest_moves
from .task import Task, fullest, moves, overflow, totals

MOST_ROUNDS = 20
LARGE = 0.1  # of a rank
WORTH = 0.05  # of a rank: what moving all items instead of none must gain


def fill(task: Task, target: float, enough: float) -> Ints:
    """(items,): a rank for each.

    target: workload points to bring the ranks down to; enough: where looking for something better ends. Items
    stay where they are unless their rank is above the target or its cache is too small. Where that does not
    get the fullest rank down to enough, the large items are placed anew, and then all of them: which moves
    more, and is taken when it is better by a part of a rank.
    """
    if not task.w.size:
        return task.cur
    plan = polish(task, relieve(task, task.cur, target), enough)
    for attempt in (partial(anew_large, task, target), partial(anew, task, target, enough)):
        if fits(task, plan, enough):
            break
        other = polish(task, attempt(), enough)
        plan = min(plan, other, key=lambda rank: cost(task, rank, enough))
    return plan


def anew_large(task: Task, target: float) -> Ints:
    """The large items placed anew, and smaller ones moved out of their way."""
    large = LARGE * target
    return relieve(task, resettle(task, target, large), target, (large, np.inf))


def anew(task: Task, target: float, enough: float) -> Ints:
    """All items placed anew, each group of a rank on the rank where most of it is."""
    scratch = exchange(task, place(task, np.full_like(task.cur, -1)), target)
    return fewest_moves(task, scratch, max(fullest(task, scratch), enough))


def relieve(task: Task, start: Ints, target: float, largest: tuple[float, float] = (np.inf, np.inf)) -> Ints:
    """Take from the ranks above the target what they hold too much, and place it; in rounds.

    The first round moves the largest items (up to the largest: points, inodes). Where one of these
    overfills its new rank a little, the next rounds move items small enough for the room that is left
    elsewhere, until the target is met or a round gains nothing. At the end items are exchanged for somewhat
    smaller ones.
    """
    rank = place(task, evict(task, start, target, largest))
    for _ in range(MOST_ROUNDS):
        if fits(task, rank, target):
            break
        again = place(task, evict(task, rank, target, gaps(task, rank, target)))
        if excess(task, again, target) >= excess(task, rank, target):
            break
        rank = again
    return exchange(task, rank, target)


def gaps(task: Task, rank: Ints, target: float) -> tuple[float, float]:
    """Half of the widest room left on a rank, in workload points and in inodes."""
    widest = target - float(totals(task.base_w, task.w, rank).min())
    roomiest = task.room - float(totals(task.base_s, task.s, rank).min())
    return widest / 2.0, roomiest / 2.0


def excess(task: Task, rank: Ints, target: float) -> float:
    """What a round is to lower: what is above the target and beyond the caches, in ranks."""
    above = np.maximum(totals(task.base_w, task.w, rank) - target, 0.0)
    return overflow(task, rank) / task.room + float(above.sum()) / max(target, 1e-300)


def fits(task: Task, rank: Ints, enough: float) -> bool:
    return fullest(task, rank) <= enough and overflow(task, rank) <= TOLERANCE * task.room


def polish(task: Task, rank: Ints, enough: float) -> Ints:
    """Lower the fullest rank by local search, then take back moves that were not needed."""
    result = improve(task, rank, enough)
    return put_back(task, result, max(fullest(task, result), enough))


def put_back(task: Task, rank: Ints, limit: float) -> Ints:
    """Return moved items, the smallest first, to the ranks they were on while these stay within limit and
    cache."""
    load = totals(task.base_w, task.w, rank).tolist()
    inodes = totals(task.base_s, task.s, rank).tolist()
    moved = np.flatnonzero((rank != task.cur) & (task.cur >= 0))
    moved = moved[np.argsort(task.w[moved], kind="stable")]
    result = rank.copy()
    for i, home in zip(moved.tolist(), task.cur[moved].tolist()):
        points, need = float(task.w[i]), float(task.s[i])
        if load[home] + points <= limit and inodes[home] + need <= task.room:
            away = int(result[i])
            load[home] += points
            inodes[home] += need
            load[away] -= points
            inodes[away] -= need
            result[i] = home
    return result


def cost(task: Task, rank: Ints, enough: float) -> float:
    """What a placement is chosen by: its height, and its moves, all items moving being as bad as a part of
    a rank."""
    return height(task, rank, enough) + WORTH * moves(task, rank) / task.w.size


def height(task: Task, rank: Ints, enough: float) -> float:
    """The fullest rank as a multiple of enough, at least 1, plus what exceeds the room on the worst rank."""
    crammed = float(totals(task.base_s, task.s, rank).max()) / task.room - 1.0
    return max(1.0, fullest(task, rank) / max(enough, 1e-300)) + max(0.0, crammed)
