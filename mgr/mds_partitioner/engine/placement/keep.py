# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan that moves only what must move: what has no rank, or a rank that is gone or not usable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Bools, Ints
from .bounds import room_a_rank
from .closed import over_open
from .instance import SEVERAL, Instance, Placement, rank_loads
from .lpt import place
from .task import Task


def kept_heavy(instance: Instance, own: tuple[int, ...]) -> tuple[int, ...]:
    """The usable ranks of the mask for a heavy within the mask, else those that it is on."""
    mask = () if instance.mask is None else instance.mask
    within = instance.usable_part(mask) if set(own) <= set(mask) else ()
    return within or instance.usable_part(own)


def kept_several(instance: Instance) -> dict[int, tuple[int, ...]]:
    """Usable ranks of each subvolume that does not have exactly one; fixed ones as they are."""
    kept = {}
    for i, own in instance.current.several.items():
        if instance.fixed[i]:
            kept[i] = own
        else:
            kept[i] = kept_heavy(instance, own) if instance.heavy[i] else instance.usable_part(own)
    return kept


def keep(instance: Instance) -> Placement | None:
    """The current placement with only the unavoidable moves; None when a heavy has no rank that it could
    keep."""
    several = kept_several(instance)
    if any(not several[h] for h in instance.heavies):
        return None
    single = instance.current.single.copy()
    homeless = (single != SEVERAL) & ~instance.fixed & ((single < 0) | (single >= instance.usable))
    for i in [i for i, own in several.items() if not own and not instance.fixed[i]]:
        del several[i]
        homeless[i] = True
    return place_homeless(instance, Placement(single, several), homeless)


def place_homeless(instance: Instance, stay: Placement, homeless: Bools) -> Placement:
    """Add the homeless to those that stay, the largest first, on the emptiest ranks."""
    index = np.flatnonzero(homeless)
    if not index.size:
        return stay
    settled = replace(stay, single=np.where(homeless, SEVERAL, stay.single))
    n = instance.usable
    task = Task(
        w=instance.w[index],
        s=instance.s[index],
        cur=np.full(index.size, -1, dtype=np.int64),
        base_w=rank_loads(settled, instance.w, instance.ranks)[:n],
        base_s=rank_loads(settled, instance.s, instance.ranks)[:n],
        room=room_a_rank(instance),
    )
    single: Ints = stay.single.copy()
    single[index] = over_open(task, instance.closed, 0.0, lambda part, _: place(part, part.cur))
    return Placement(single, stay.several)
