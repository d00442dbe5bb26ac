# SPDX-License-Identifier: LGPL-2.1-or-later
"""Heavy subvolumes that are split by directory: where their parts are, and where they go (mode fanout)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Ints
from .names import FANOUT
from .placement.instance import GONE, Placement, rank_loads
from .placement.spread import assign_children, parents, shares
from .plan_request import PlanRequest


@dataclass(frozen=True)
class Fanout:
    """By heavy: the parent's rank number, the rank number of each child, the part on each rank, (ranks,)."""

    parent: Mapping[int, int]
    children: Mapping[int, Ints]
    shares: Mapping[int, Floats]


def fanout(request: PlanRequest, after: Placement, chosen: Collection[int]) -> Fanout:
    """Where the children of the heavies that are split by directory go; chosen: those that are scattered."""
    instance, families = request.instance, request.children
    split = [i for i in families if instance.heavy[i] and i not in chosen and after.several[i]]
    if instance.mode != FANOUT:
        split = []
    own = {i: tuple(sorted(set(after.several[i]))) for i in split}
    fair = float(instance.w.sum()) / instance.usable
    brings = {i: families[i].staying * float(max(instance.w[i], instance.q[i])) for i in split}
    parent = parents(own, brings, fair)
    children = {i: assign_children(families[i], own[i], parent[i]) for i in split}
    parts = {
        i: shares(families[i], children[i], parent[i], instance.ranks)
        for i in split
        if families[i].weights.size
    }
    return Fanout(parent, children, parts)


def standing(request: PlanRequest) -> dict[int, Floats]:
    """(ranks,) for each heavy that is split by directory: the part of it on each rank now. A child without a
    rank is where its parent is; where that one is on several, all is in equal parts."""
    instance = request.instance
    if instance.mode != FANOUT:
        return {}
    found: dict[int, Floats] = {}
    for i, family in request.children.items():
        own = instance.current.several.get(i, ())
        if not instance.heavy[i] or family.scattered or not family.weights.size:
            continue
        if family.parent != GONE:
            now = np.where(family.current == GONE, family.parent, family.current)
            found[i] = shares(family, now, family.parent, instance.ranks)
        elif own and GONE not in own:
            found[i] = np.asarray(np.bincount(own, minlength=instance.ranks) / len(own))
    return found


def split_loads(
    request: PlanRequest, placement: Placement, parts: Mapping[int, Floats], values: Floats
) -> Floats:
    """(ranks,): the values' sum on each rank, of a split heavy by its parts."""
    whole = values.copy()
    whole[list(parts)] = 0.0
    loads = rank_loads(placement, whole, request.instance.ranks)
    for i, part in parts.items():
        loads += values[i] * part
    return loads
