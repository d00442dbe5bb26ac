# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks that what stays there fills beyond what the others come to: nothing can be done about the rest of it,
which would pass for the height that all others may have."""

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from .bounds import fixed_part, largest_item
from .instance import GONE, Instance

TINY = 1e-300


def without_excess(instance: Instance) -> Instance:
    """The problem, on each usable rank no more of what is fixed than the others get when these are even."""
    return replace(instance, w=_cut(instance, instance.w), q=_cut(instance, instance.q))


def _cut(instance: Instance, values: Floats) -> Floats:
    """(subvolumes,): of what is on such a rank, each the same part; of what is on several, by the fullest."""
    base, fixed = fixed_part(instance, values), instance.fixed
    level = max(_level(base, float(values[~fixed].sum())), largest_item(instance, values))
    part = np.ones(instance.ranks)
    part[: instance.usable] = level / np.maximum(base, max(level, TINY))
    single = np.where(fixed & (instance.current.single >= 0), instance.current.single, GONE)
    cut = values.copy()
    for i, own in instance.current.several.items():
        if fixed[i]:
            cut[i] *= min((float(part[r]) for r in own if r != GONE), default=1.0)
    over = np.flatnonzero(part < 1.0)
    alone = np.bincount(single[single >= 0], weights=values[single >= 0], minlength=instance.ranks)[over]
    # What several have less than their part here is left to what has this rank alone.
    more = level - fixed_part(instance, cut)[over] + alone
    part[over] = np.minimum(more / np.maximum(alone, TINY), 1.0)
    return np.where(single >= 0, cut * part[single], cut)


def _level(base: Floats, volume: float) -> float:
    """The lowest that the fuller of the ranks that get something can be."""
    sums = np.cumsum(np.sort(base))
    return float(((sums + volume) / np.arange(1, base.size + 1)).min())
