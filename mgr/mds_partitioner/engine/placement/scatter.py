# SPDX-License-Identifier: LGPL-2.1-or-later
"""Heavy subvolumes whose directories come and go: on one rank, or the parent's fragments hashed over all."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from .bounds import badness, worth
from .instance import Instance, Placement, changed, spread_over_mask
from .proposal import Proposal, propose

MOST_TRIED = 8
Fragments = Mapping[int, tuple[int, ...]]  # by heavy: the rank of each fragment, which nobody chooses


def scattered(
    instance: Instance, offers: Fragments, chosen: Collection[int], now: Collection[int]
) -> Instance:
    """The problem that is left when the chosen heavies' fragments are where their hashes put them; one that
    is scattered now and not chosen has nowhere to stay."""
    fixed, heavy = instance.fixed.copy(), instance.heavy.copy()
    fixed[list(chosen)], heavy[list(chosen)] = True, False
    several = {**instance.current.several, **dict.fromkeys(now, ()), **{h: offers[h] for h in chosen}}
    return replace(instance, fixed=fixed, heavy=heavy, current=Placement(instance.current.single, several))


def propose_scattered(
    instance: Instance, offers: Fragments, now: Collection[int]
) -> tuple[Proposal, frozenset[int]]:
    """The proposal, and the heavies that it scatters: none, or some of the heaviest, where that gains enough.

    now: those that are scattered already.
    """
    ways = [frozenset(now)]
    offered = [h for h in instance.heavies if h in offers][:MOST_TRIED]
    ways += [frozenset(offered[:n]) for n in range(len(offered) + 1)] if offered else []
    tried = [(propose(scattered(instance, offers, chosen, now)), chosen) for chosen in dict.fromkeys(ways)]
    costs = [badness(instance, proposal.after) for proposal, _ in tried]
    at = min(range(len(tried)), key=costs.__getitem__)
    best, chosen = tried[at if worth(costs[0], costs[at], instance) else 0]
    before = spread_over_mask(instance)
    worthwhile = bool(np.any(changed(before, best.after)))
    return replace(best, before=before, worthwhile=worthwhile), chosen
