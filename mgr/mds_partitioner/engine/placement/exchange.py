# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exchanging an item of an overfull rank for a smaller one of a rank with room: what eviction alone cannot
do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Ints
from .task import Task, totals

PARTNERS = 128
NOTHING = -1


@dataclass(frozen=True)
class Trade:
    """item leaves the overfull rank for the partner rank, and back comes other (NOTHING: none); gain:
    points."""

    item: int
    partner: int
    other: int
    gain: float


class Shelves:
    """The items by rank, by ascending workload, while they are exchanged."""

    def __init__(self, task: Task, rank: Ints) -> None:
        self.task, self.rank = task, rank.copy()
        self.load = totals(task.base_w, task.w, rank)
        self.inodes = totals(task.base_s, task.s, rank)
        order = np.lexsort((task.w, rank))
        ends = np.searchsorted(rank[order], np.arange(task.ranks + 1))
        self._items = [order[ends[r] : ends[r + 1]] for r in range(task.ranks)]

    def items(self, r: int) -> Ints:
        return self._items[r]

    def offers(self, r: int) -> Ints:
        """What rank r can give back, by ascending workload: nothing, or one of its items."""
        return np.concatenate(([NOTHING], self._items[r]))

    def do(self, trade: Trade, top: int) -> None:
        self._put(trade.item, top, trade.partner)
        if trade.other != NOTHING:
            self._put(trade.other, trade.partner, top)

    def _put(self, item: int, old: int, new: int) -> None:
        w, s = self.task.w, self.task.s
        self._items[old] = self._items[old][self._items[old] != item]
        at = int(np.searchsorted(w[self._items[new]], w[item]))
        self._items[new] = np.insert(self._items[new], at, item)
        self.rank[item] = new
        self.load[old] -= w[item]
        self.load[new] += w[item]
        self.inodes[old] -= s[item]
        self.inodes[new] += s[item]


def exchange(task: Task, rank: Ints, target: float) -> Ints:
    """Relieve the fullest rank trade by trade, with the emptiest ranks, none of which goes above the target.

    Ends when the target (workload points) is met, or the fullest rank finds no trade. (items,) in and out.
    """
    shelves = Shelves(task, rank)
    for _ in range(4 * task.ranks):
        top = int(shelves.load.argmax())
        excess = float(shelves.load[top]) - target
        if excess <= 1e-9 * target:
            break
        trade = find(shelves, top, excess, target)
        if trade is None:
            break
        shelves.do(trade, top)
    return shelves.rank


def find(shelves: Shelves, top: int, excess: float, target: float) -> Trade | None:
    """The first trade with one of the emptiest ranks that gains the whole excess, else the one that gains
    most."""
    best: Trade | None = None
    for partner in np.argsort(shelves.load, kind="stable")[:PARTNERS].tolist():
        gap = target - float(shelves.load[partner])
        if gap <= 0.0 or partner == top:
            break
        trade = trade_with(shelves, top, partner, excess, gap)
        if trade is not None and trade.gain >= excess * (1.0 - 1e-9):
            return trade
        if trade is not None and (best is None or trade.gain > best.gain):
            best = trade
    return best


def trade_with(shelves: Shelves, top: int, partner: int, excess: float, gap: float) -> Trade | None:
    """The trade that gains at least the excess with the least, or else the one that gains most; within the
    gap."""
    w, s, room = shelves.task.w, shelves.task.s, shelves.task.room
    offers = shelves.offers(partner)
    offered_w = np.where(offers == NOTHING, 0.0, w[offers])
    offered_s = np.where(offers == NOTHING, 0.0, s[offers])
    own = shelves.items(top)
    for_enough = np.searchsorted(offered_w, w[own] - excess * (1.0 - 1e-9), side="right") - 1
    for_most = np.searchsorted(offered_w, w[own] - gap, side="left")
    items = np.concatenate((own, own))
    at = np.clip(np.concatenate((for_enough, for_most)), 0, offers.size - 1)
    gain, grow = w[items] - offered_w[at], s[items] - offered_s[at]
    fits = (shelves.inodes[partner] + grow <= room) & (shelves.inodes[top] - grow <= room)
    good = np.flatnonzero(fits & (gain > 1e-9 * gap) & (gain <= gap))
    if not good.size:
        return None
    enough = good[gain[good] >= excess * (1.0 - 1e-9)]
    k = int(enough[gain[enough].argmin()] if enough.size else good[gain[good].argmax()])
    return Trade(int(items[k]), partner, int(offers[at[k]]), float(gain[k]))
