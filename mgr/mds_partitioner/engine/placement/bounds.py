# SPDX-License-Identifier: LGPL-2.1-or-later
"""What no placement can beat, and how a placement is measured."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from .instance import Instance, Placement, rank_loads

CACHE_SLACK = 1.1


def water_level(base: Floats, volume: float) -> float:
    """The level that a divisible volume reaches when poured over ranks already filled up to base; >=
    max(base)."""
    return max(float(base.max()), float(base.sum() + volume) / base.size)


def fixed_part(instance: Instance, values: Floats) -> Floats:
    """(usable,): what the immovable subvolumes put on each usable rank."""
    return rank_loads(instance.current, values * instance.fixed, instance.ranks)[: instance.usable]


def lower_bound(instance: Instance) -> float:
    """Workload points: the mean of the usable ranks, the largest unsplittable subvolume, the fullest by
    fixed ones."""
    movable = ~instance.fixed
    largest = float(instance.w[movable & ~instance.heavy].max(initial=0.0))
    mean = water_level(fixed_part(instance, instance.w), float(instance.w[movable].sum()))
    return max(mean, largest)


def room_a_rank(instance: Instance) -> float:
    """Inodes: the cache, or, where all working sets together do not fit, an even share of them with some
    slack."""
    base = fixed_part(instance, instance.s)
    even = float(base.sum() + instance.s[~instance.fixed].sum()) / instance.usable
    return max(instance.cache, CACHE_SLACK * even)


@dataclass(frozen=True)
class Score:
    """fullest: workload points on the fullest usable rank; overflow: inodes above the room, over usable
    ranks."""

    fullest: float
    overflow: float


def score(instance: Instance, placement: Placement) -> Score:
    loads = rank_loads(placement, instance.w, instance.ranks)[: instance.usable]
    inodes = rank_loads(placement, instance.s, instance.ranks)[: instance.usable]
    overflow = np.maximum(inodes - room_a_rank(instance), 0.0).sum()
    return Score(float(loads.max()), float(overflow))


def worth(old: Score, new: Score, instance: Instance) -> bool:
    """Whether going from old to new gains enough: fitting the caches first, then the fullest rank.

    No chain of worthwhile steps comes back to where it began, so planning again cannot play ping-pong.
    """
    room = room_a_rank(instance)
    if new.overflow < old.overflow - instance.min_gain * room:
        return True
    fits_as_well = new.overflow <= old.overflow + 1e-9 * room
    return fits_as_well and old.fullest > new.fullest * (1.0 + instance.min_gain) + 1e-9
