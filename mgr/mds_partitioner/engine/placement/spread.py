# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which rank of a heavy subvolume each of its children gets, and its parent (mode FANOUT)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints
from .fill import fill
from .instance import TOLERANCE
from .task import Task

SAME = 0.02  # parents' loads that differ by less than this part of a fair share count as equal


@dataclass(frozen=True)
class Children:
    """What a heavy subvolume can be split into.

    weights: (children,), what those that last are asked for, in any unit; hottest: of that, the part, 0 to 1,
    that one child is known to have; current: (children,), rank number or GONE where it has none of its own;
    staying: the part of the subvolume, 0 to 1, that is wherever the
    parent is: children that come and go are made there; parent: the parent's rank number now, or GONE;
    fragments: rank number of each fragment that the parent would have if it were distributed, None when it
    cannot be; scattered: it is.
    """

    weights: Floats
    hottest: float
    current: Ints
    staying: float
    parent: int
    fragments: tuple[int, ...] | None
    scattered: bool

    @property
    def pieces(self) -> int:
        """Ranks that it can be split over: the part that stays with the parent is one piece, and so is the
        hottest child."""
        most, hottest = self.weights.size, (1.0 - self.staying) * self.hottest
        if hottest > 0.0:
            most = min(most, int(np.ceil(1.0 / hottest - TOLERANCE)))
        return int(min(most, 1.0 / self.staying + TOLERANCE)) if self.staying > 0.0 else most


def parents(own: Mapping[int, tuple[int, ...]], staying: Mapping[int, float], fair: float) -> dict[int, int]:
    """The rank of each heavy's parent, one of its own: those that bring much are on different ranks.

    Among equals the highest: clients ask the lowest rank that they know a directory from, and a child's inode
    stays with its parent. own, staying (points): by heavy; fair: points.
    """
    load: dict[int, float] = {}
    given = {}
    for h in sorted(own, key=lambda h: -staying[h]):
        given[h] = min(own[h], key=lambda r: (round(load.get(r, 0.0) / max(SAME * fair, 1e-300)), -r))
        load[given[h]] = load.get(given[h], 0.0) + staying[h]
    return given


def assign_children(children: Children, ranks: tuple[int, ...], parent: int) -> Ints:
    """(children,): one of the ranks each, by LPT on weights around what stays with the parent, staying
    while the balance is within tolerance."""
    weights = children.weights
    if not weights.size:
        return children.current.copy()
    place_of = {r: at for at, r in enumerate(ranks)}
    cur = np.array([place_of.get(r, -1) for r in children.current.tolist()], dtype=np.int64)
    base = np.zeros(len(ranks))
    base[place_of[parent]] = float(weights.sum()) * children.staying / (1.0 - children.staying)
    task = Task(weights, np.zeros_like(weights), cur, base, np.zeros(len(ranks)), room=1.0)
    even = float(weights.sum() + base.sum()) / len(ranks)
    enough = max(even, float(weights.max()), float(base.max())) * (1.0 + TOLERANCE)
    return np.array(ranks, dtype=np.int64)[fill(task, enough, enough)]


def shares(children: Children, assigned: Ints, parent: int, ranks: int) -> Floats:
    """(ranks,): the part of the subvolume on each rank when its children are so assigned; sums to 1."""
    weights = children.weights
    part = np.bincount(assigned, weights=weights, minlength=ranks) / float(weights.sum())
    part *= 1.0 - children.staying
    part[parent] += children.staying
    return np.asarray(part)
