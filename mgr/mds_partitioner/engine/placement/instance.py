# SPDX-License-Identifier: LGPL-2.1-or-later
"""The planner's problem and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..names import FANOUT

GONE = -1
SEVERAL = -2
TOLERANCE = 0.005


@dataclass(frozen=True)
class Placement:
    """single: (subvolumes,), its one rank number, or SEVERAL; several: the ranks (none, one or more) of the
    rest, in equal parts; a rank that is there twice has two of them."""

    single: Ints
    several: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Instance:
    """A planning problem.

    usable: ranks that may be given out; ranks: ranks that exist; w: workload points, q: points by what is
    asked for alone, s: working set in inodes, fixed: stays where it is, heavy: gets several ranks (never
    both), (subvolumes,) each; current: heavies are in its `several`; mask: ranks that the heavies share now
    (mode MASK), or None; children: how many pieces a heavy has, where known (mode FANOUT); cache: inodes a
    rank holds; closed: usable ranks that give and do not take, never all of them; given: heavies that are
    fixed as their ranks were found already: what can be reached is what it is without that.
    """

    usable: int
    ranks: int
    w: Floats
    q: Floats
    s: Floats
    fixed: Bools
    heavy: Bools
    current: Placement
    mode: str
    mask: tuple[int, ...] | None
    children: Mapping[int, int]
    cache: float
    min_gain: float
    closed: frozenset[int] = frozenset()
    given: frozenset[int] = frozenset()

    @property
    def heavies(self) -> list[int]:
        """The heavies, the heaviest first."""
        index = np.flatnonzero(self.heavy)
        heaviest: list[int] = index[np.argsort(-self.w[index], kind="stable")].tolist()
        return heaviest

    def usable_part(self, ranks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(r for r in ranks if 0 <= r < self.usable))


def spread_over_mask(instance: Instance) -> Placement:
    """The current placement with each heavy that lies within the mask on all of the mask's ranks.

    The balancer moves a masked heavy's pieces about within the mask, so any part of it counts as in place.
    What a fanout plan has put on its own ranks stays there: it leaves a mask as it is that has others, too.
    """
    mask = instance.mask
    if mask is None:
        return instance.current
    existing = tuple(r for r in mask if r != GONE)
    own = instance.usable_part(mask) if instance.mode == FANOUT else existing
    several = dict(instance.current.several)
    for h in instance.heavies:
        if several[h] and set(several[h]) <= set(existing):
            several[h] = own if set(several[h]) <= set(own) else existing
    return Placement(instance.current.single, several)


def rank_loads(placement: Placement, values: Floats, ranks: int) -> Floats:
    """(ranks,): the values' sum on each rank; a subvolume on k ranks puts a k-th of its value on each."""
    alone = placement.single >= 0
    loads = np.bincount(placement.single[alone], weights=values[alone], minlength=ranks).astype(np.float64)
    for i, own in placement.several.items():
        for r in own:
            if r != GONE:
                loads[r] += values[i] / len(own)
    return loads


def changed(before: Placement, after: Placement) -> Bools:
    """(subvolumes,): on other ranks than before."""
    differs = before.single != after.single
    for i in before.several.keys() | after.several.keys():
        differs[i] = set(ranks_of(before, i)) != set(ranks_of(after, i))
    return np.asarray(differs)


def ranks_of(placement: Placement, i: int) -> tuple[int, ...]:
    own = int(placement.single[i])
    return placement.several[i] if own == SEVERAL else (own,)


def moved_inodes(before: Placement, after: Placement, s: Floats) -> float:
    """Inodes that change rank; of a subvolume on several ranks, only the part that is not on the same
    rank."""
    several = before.several.keys() | after.several.keys()
    differs = before.single != after.single
    differs[list(several)] = False
    total = float(s[differs].sum())
    for i in several:
        old, new = ranks_of(before, i), ranks_of(after, i)
        if old != new:
            common = (set(old) & set(new)) - {GONE}
            stay = sum(min(old.count(r) / len(old), new.count(r) / len(new)) for r in common)
            total += float(s[i]) * (1.0 - stay)
    return total
