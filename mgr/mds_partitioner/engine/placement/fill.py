# SPDX-License-Identifier: LGPL-2.1-or-later
"""One rank for each item that gets one: keep what can stay, place the rest, and only if need be start
over."""

import numpy as np

from ..arrays import Ints
from .evict import evict
from .instance import TOLERANCE
from .localsearch import improve
from .lpt import place
from .relabel import relabel
from .task import Task, fullest, moves, overflow, totals

MOST_ROUNDS = 20


def fill(task: Task, target: float, enough: float) -> Ints:
    """(items,): a rank for each.

    target: workload points to bring the ranks down to; enough: where looking for something better ends. Items
    stay where they are unless their rank is above the target or its cache is too small. Where that does not
    get the fullest rank down to enough, a placement from scratch is compared: it wins only by fitting the
    caches better or by a fullest rank more than the tolerance lower, else the one that moves less wins.
    """
    little = polish(task, relieve(task, target), enough)
    if fits(task, little, enough):
        return little
    scratch = place(task, np.full_like(task.cur, -1))
    scratch = relabel(task, scratch, max(fullest(task, scratch), enough))
    scratch = polish(task, scratch, enough)
    return scratch if better(task, scratch, little) else little


def relieve(task: Task, target: float) -> Ints:
    """Take from the ranks above the target what they hold too much, and place it; in rounds.

    The first round moves the largest items. Where one of these overfills its new rank a little, the next
    rounds move items small enough for the room that is left elsewhere, until the target is met or a round
    gains nothing.
    """
    rank = place(task, evict(task, task.cur, target))
    for _ in range(MOST_ROUNDS):
        if fits(task, rank, target):
            break
        widest = target - float(totals(task.base_w, task.w, rank).min())
        again = place(task, evict(task, rank, target, largest=widest / 2.0))
        if excess(task, again, target) >= excess(task, rank, target):
            break
        rank = again
    return rank


def excess(task: Task, rank: Ints, target: float) -> tuple[float, float]:
    """What a round is to lower: inodes without room, then workload points above the target, over all
    ranks."""
    above = np.maximum(totals(task.base_w, task.w, rank) - target, 0.0)
    return overflow(task, rank), float(above.sum())


def fits(task: Task, rank: Ints, enough: float) -> bool:
    return fullest(task, rank) <= enough and overflow(task, rank) == 0.0


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
    for i, home in zip(moved.tolist(), task.cur[moved].tolist(), strict=True):
        points, need = float(task.w[i]), float(task.s[i])
        if load[home] + points <= limit and inodes[home] + need <= task.room:
            away = int(result[i])
            load[home] += points
            inodes[home] += need
            load[away] -= points
            inodes[away] -= need
            result[i] = home
    return result


def better(task: Task, new: Ints, old: Ints) -> bool:
    """Fits the caches better, or else a fullest rank lower by more than the tolerance, or else fewer
    moves."""
    over_new, over_old = overflow(task, new), overflow(task, old)
    if abs(over_new - over_old) > TOLERANCE * task.room:
        return over_new < over_old
    full_new, full_old = fullest(task, new), fullest(task, old)
    if max(full_new, full_old) > min(full_new, full_old) * (1.0 + TOLERANCE):
        return full_new < full_old
    return moves(task, new) < moves(task, old)
