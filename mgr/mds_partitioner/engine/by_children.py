# SPDX-License-Identifier: LGPL-2.1-or-later
"""The proposal in which a heavy subvolume that is split by directory counts on each rank by what is asked of
its directories there. How many ranks it gets is found with equal parts, and what is around it then by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Floats
from .fanout import Fanout, fanout, standing
from .placement.bounds import badness, worth
from .placement.instance import TOLERANCE, Instance, Placement, changed, spread_over_mask
from .placement.keep import keep
from .placement.proposal import Proposal, evened, propose
from .placement.scatter import propose_scattered, scattered
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
    there is. By equal parts alone that may seem so where one child has most of the load."""
    stands = standing(request)
    stays = {h: part for h, part in stands.items() if _may_stay(request, h, part)}
    if not stays:
        return _around(request, stands, {}, propose)
    ways = [_around(request, stands, {}, place) for place in (propose, evened)]
    anew = min(ways, key=lambda way: round(_badness(request, way), 2))
    kept, cost = _around(request, stands, stays, propose), _badness(request, anew)
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
    whole, families, instance = request.instance, request.children, _with_fixed(request, stays)
    offers = {i: c.fragments for i, c in families.items() if c.fragments and instance.heavy[i]}
    now = [i for i in offers if families[i].scattered]
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


def _may_stay(request: PlanRequest, heavy: int, part: Floats) -> bool:
    """Is all of it on ranks that may be used?"""
    own, usable = request.instance.current.several[heavy], request.instance.usable
    return bool(own) and min(own) >= 0 and max(own) < usable and not part[usable:].any()


def _with_fixed(request: PlanRequest, stays: Parts) -> Instance:
    own = {h: _fine(part) for h, part in stays.items()}
    return replace(scattered(request.instance, own, own, ()), given=frozenset(own))


def _badness(request: PlanRequest, found: Settled) -> float:
    return badness(request.instance, with_parts(found.proposal.after, found.after))


def _badness_now(request: PlanRequest, stays: Parts) -> float:
    """After the moves that nothing can avoid."""
    now = keep(_with_fixed(request, stays))
    return np.inf if now is None else badness(request.instance, now)


def _with(placement: Placement, several: Mapping[int, tuple[int, ...]]) -> Placement:
    return Placement(placement.single, {**placement.several, **several})


def _fine(part: Floats) -> tuple[int, ...]:
    return tuple(rank for rank, size in enumerate(part.tolist()) for _ in range(round(FINE * size)))
