# SPDX-License-Identifier: LGPL-2.1-or-later
"""What no placement can beat, and how a placement is measured."""

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from .instance import Instance, Placement, rank_loads

CACHE_SLACK = 1.25
NOISE = 1.15  # times their bound: requests come and go as inodes do not, and are no reason to move up to that


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
    given = np.zeros_like(instance.fixed)
    given[list(instance.given)] = True
    movable = np.logical_or(~instance.fixed, given)
    largest = float(instance.w[movable & ~instance.heavy & ~given].max(initial=0.0))
    mean = water_level(fixed_part(instance, instance.w * ~given), float(instance.w[movable].sum()))
    return max(mean, largest)


def room_a_rank(instance: Instance) -> float:
    """Inodes: the cache, or, where all working sets together do not fit, an even share of them with some
    slack."""
    base = fixed_part(instance, instance.s)
    even = float(base.sum() + instance.s[~instance.fixed].sum()) / instance.usable
    return max(instance.cache, CACHE_SLACK * even)


def by_requests(instance: Instance) -> Instance:
    """The problem, were requests all that counts."""
    return replace(instance, w=instance.q)


def badness(instance: Instance, placement: Placement) -> float:
    """What a plan is to lower: the fullest usable rank's workload or requests, whichever is the larger
    multiple of its lower bound (of requests, of NOISE times that), plus the part by which the working sets on
    some usable rank exceed its room.
    """
    loads = rank_loads(placement, instance.w, instance.ranks)[: instance.usable]
    busy = rank_loads(placement, instance.q, instance.ranks)[: instance.usable]
    lower, least_busy = max(lower_bound(instance), 1e-300), max(lower_bound(by_requests(instance)), 1e-300)
    return max(float(loads.max()) / lower, float(busy.max()) / (NOISE * least_busy)) + crammed(
        instance, placement
    )


def crammed(instance: Instance, placement: Placement) -> float:
    """The part of its room by which the working sets on some usable rank exceed it; 0 where all fit.

    A subvolume too large for any rank counts as filling one: nothing can be done about the rest of it.
    """
    room = room_a_rank(instance)
    sizes = np.where(instance.heavy | instance.fixed, instance.s, np.minimum(instance.s, room))
    inodes = rank_loads(placement, sizes, instance.ranks)[: instance.usable]
    return max(0.0, float(inodes.max()) / room - 1.0)


def worth(old: float, new: float, instance: Instance) -> bool:
    """Whether going from one badness to another gains enough.

    Each worthwhile step lowers the badness by the least gain, so no chain of them comes back to where it
    began: planning again cannot play ping-pong.
    """
    return old > new * (1.0 + instance.min_gain) + 1e-9
