# SPDX-License-Identifier: LGPL-2.1-or-later
"""The proposal in which a heavy subvolume that is split by directory counts on each rank by what is asked of
its directories there. How many ranks it gets is found with equal parts, and what is around it then by these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .apart import placed_apart
from .arrays import Floats
from .fanout import Fanout, fanout, split_loads, standing
from .placement.bounds import badness, worth
from .placement.instance import TOLERANCE, Instance, Placement, changed, spread_over_mask
from .placement.keep import keep
from .placement.proposal import Proposal, evened, propose
from .placement.scatter import Fragments, propose_scattered, scattered
from .plan_request import PlanRequest

FINE = 1000  # equal parts of a heavy: rounding to them moves nothing that counts
Parts = Mapping[int, Floats]  # by heavy, (ranks,): the part of it on each rank


@dataclass(frozen=True)
class Settled:
    """scattered: heavies whose parent is distributed; spread: those that are split anew; before, after: of
    heavies that are split."""

    proposal: Proposal
    scattered: frozenset[int]
    spread: Fanout
    before: Parts
    after: Parts


def settle(request: PlanRequest) -> Settled:
    """Heavies that can stay as they stand do, unless to split them anew is better and gains enough over what
    there is. By equal parts alone that may seem so where one child has most of the load, and several heavies
    that are split one after the other meet on one rank: so their children are also placed together. That
    takes more pins, and is for what gains enough."""
    stands = standing(request)
    first = _around(request, stands, {}, propose)
    if not stands:
        return first
    stays = {h: part for h, part in stands.items() if _may_stay(request, h, part)}
    ways = (first, _around(request, stands, {}, evened))
    anew = min(ways, key=lambda way: round(_cost(request, way), 2))
    apart = _apart(request, stands, first.scattered)
    if worth(_cost(request, anew), _cost(request, apart), request.instance):
        anew = apart
    kept, cost = _around(request, stands, stays, propose), _cost(request, anew)
    better = cost * (1.0 + TOLERANCE) < _badness(request, kept)
    if better and worth(_badness_now(request, stays), cost, request.instance):
        return replace(anew, proposal=replace(anew.proposal, worthwhile=True))
    return replace(kept, proposal=replace(kept.proposal, ideal=anew.proposal.ideal))


def with_parts(placement: Placement, parts: Parts) -> Placement:
    """The same, each of these heavies in its parts."""
    return _with(placement, {h: _fine(part) for h, part in parts.items()})


def _around(
    request: PlanRequest, stands: Parts, stays: Parts, place: Callable[[Instance], Proposal]
) -> Settled:
    """The best there is while these stay as they stand. place: what is around those that are split."""
    whole, instance = request.instance, _with_fixed(request, stays)
    offers, now = _offers(request, instance)
    found, chosen = propose_scattered(instance, offers, now)
    spread = fanout(request, found.after, {*chosen, *stays})
    own = {h: found.after.several[h] for h in spread.parent}
    if own:
        split = {h: _fine(spread.shares[h]) if h in spread.shares else ranks for h, ranks in own.items()}
        rest = scattered(instance, {**offers, **split}, {*chosen, *split}, now)
        found = place(replace(rest, given=instance.given | split.keys()))
    own |= {h: whole.current.several[h] for h in stays}
    before, after = spread_over_mask(whole), _with(found.after, own)
    proposal = Proposal(
        before=before,
        after=after,
        ideal=after if found.after is found.ideal else _with(found.ideal, own),
        pool=found.pool,
        worthwhile=bool(np.any(changed(before, after))),
    )
    return Settled(proposal, chosen, spread, stands, {**spread.shares, **stays})


def _apart(request: PlanRequest, stands: Parts, chosen: frozenset[int]) -> Settled:
    """Each child by itself: how many ranks a heavy gets follows from where its children go. chosen: those
    that are scattered."""
    whole, (offers, now) = request.instance, _offers(request, request.instance)
    rest = scattered(whole, offers, chosen, now)
    after, spread = placed_apart(rest, {i: c for i, c in request.children.items() if rest.heavy[i]})
    before = spread_over_mask(whole)
    proposal = Proposal(before, after, after, whole.mask, bool(np.any(changed(before, after))))
    return Settled(proposal, chosen, spread, stands, spread.shares)


def _offers(request: PlanRequest, instance: Instance) -> tuple[Fragments, list[int]]:
    """The fragments of the heavies that can be scattered, and those of them that are."""
    families = request.children
    offers = {i: c.fragments for i, c in families.items() if c.fragments and instance.heavy[i]}
    return offers, [i for i in offers if families[i].scattered]


def _may_stay(request: PlanRequest, heavy: int, part: Floats) -> bool:
    """Is all of it on ranks that may be used?"""
    own, usable = request.instance.current.several[heavy], request.instance.usable
    return bool(own) and min(own) >= 0 and max(own) < usable and not part[usable:].any()


def _with_fixed(request: PlanRequest, stays: Parts) -> Instance:
    own = {h: _fine(part) for h, part in stays.items()}
    return replace(scattered(request.instance, own, own, ()), given=frozenset(own))


def _badness(request: PlanRequest, found: Settled) -> float:
    return badness(request.instance, with_parts(found.proposal.after, found.after))


def _cost(request: PlanRequest, found: Settled) -> float:
    """The badness; infinite where a closed rank would have more than it has."""
    for values in (request.instance.w, request.instance.q):
        before = split_loads(request, found.proposal.before, found.before, values)
        after = split_loads(request, found.proposal.after, found.after, values)
        if any(after[r] > before[r] * (1.0 + TOLERANCE) for r in request.instance.closed):
            return math.inf
    return _badness(request, found)


def _badness_now(request: PlanRequest, stays: Parts) -> float:
    """After the moves that nothing can avoid."""
    now = keep(_with_fixed(request, stays))
    return np.inf if now is None else badness(request.instance, now)


def _with(placement: Placement, several: Mapping[int, tuple[int, ...]]) -> Placement:
    return Placement(placement.single, {**placement.several, **several})


def _fine(part: Floats) -> tuple[int, ...]:
    return tuple(rank for rank, size in enumerate(part.tolist()) for _ in range(round(FINE * size)))
