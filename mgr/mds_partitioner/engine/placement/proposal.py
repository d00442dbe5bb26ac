# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether to move only what must move, or to rebalance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..names import MASK
from .bounds import badness, worth
from .instance import Instance, Placement, changed, spread_over_mask
from .keep import keep
from .rebalance import rebalance


@dataclass(frozen=True)
class Proposal:
    """before: where everything counts as being; after: the plan; ideal: what a rebalance would do; pool:
    the heavies' common ranks that the plan asks for (mode MASK), or None; worthwhile: there is something to
    do."""

    before: Placement
    after: Placement
    ideal: Placement
    pool: tuple[int, ...] | None
    worthwhile: bool


def pool_of(instance: Instance, placement: Placement) -> tuple[int, ...] | None:
    """The pool after a rebalance; without heavies the mask stays what it is."""
    if instance.mode == MASK and instance.heavies:
        return placement.several[instance.heavies[0]]
    return instance.mask


def after_plan(instance: Instance, plan: tuple[Placement, tuple[int, ...] | None]) -> Instance:
    return replace(instance, current=plan[0], mask=plan[1])


def settled_mask(instance: Instance) -> tuple[int, ...] | None:
    """The current mask without ranks that are not usable."""
    return None if instance.mask is None else instance.usable_part(instance.mask) or None


def evened(instance: Instance) -> Proposal:
    """A rebalance, whatever that gains: for what a plan moves beside the heavies that it splits."""
    ideal = rebalance(instance)
    return Proposal(spread_over_mask(instance), ideal, ideal, pool_of(instance, ideal), worthwhile=True)


def propose(instance: Instance) -> Proposal:
    """Rebalance when that gains enough over moving only what must move; repeat while another round gains
    enough.

    The repetition makes the answer stable: planning again from it proposes nothing.
    """
    before = spread_over_mask(instance)
    kept, ideal = keep(instance), rebalance(instance)
    plan = (ideal, pool_of(instance, ideal))
    if kept is not None and not worth(badness(instance, kept), badness(instance, ideal), instance):
        plan = (kept, settled_mask(instance))
    now = badness(instance, plan[0])
    while now > 1.0 + instance.min_gain:
        again = rebalance(after_plan(instance, plan))
        if not worth(now, badness(instance, again), instance):
            break
        plan = (again, pool_of(instance, again))
        now = badness(instance, again)
    worthwhile = bool(np.any(changed(before, plan[0])))
    return Proposal(before, plan[0], ideal, plan[1], worthwhile)
