# SPDX-License-Identifier: LGPL-2.1-or-later
"""The proposal in which a heavy subvolume that is split by directory counts on each rank by what is asked of
its directories there. How many ranks it gets is found with equal parts, and what is around it then by these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Floats
from .fanout import Fanout, fanout, standing
from .placement.bounds import badness, worth
from .placement.instance import Placement, changed, spread_over_mask
from .placement.proposal import Proposal, propose
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
    """Heavies that can stay as they stand do, unless to split them anew gains enough. By equal parts alone
    that may seem to gain where one child has most of the load."""
    stands = standing(request)
    anew = _around(request, stands, {})
    stays = {h: part for h, part in stands.items() if _may_stay(request, h, part)}
    if not stays:
        return anew
    kept = _around(request, stands, stays)
    if worth(_badness(request, kept), _badness(request, anew), request.instance):
        return replace(anew, proposal=replace(anew.proposal, worthwhile=True))
    return replace(kept, proposal=replace(kept.proposal, ideal=anew.proposal.ideal))


def with_parts(placement: Placement, parts: Parts) -> Placement:
    """The same, each of these heavies in its parts."""
    return _with(placement, {h: _fine(part) for h, part in parts.items()})


def _around(request: PlanRequest, stands: Parts, stays: Parts) -> Settled:
    """The best there is while these stay as they stand."""
    whole, families = request.instance, request.children
    kept = {h: _fine(part) for h, part in stays.items()}
    instance = scattered(whole, kept, kept, ())
    offers = {i: c.fragments for i, c in families.items() if c.fragments and instance.heavy[i]}
    now = [i for i in offers if families[i].scattered]
    found, chosen = propose_scattered(instance, offers, now)
    spread = fanout(request, found.after, {*chosen, *stays})
    own = {h: found.after.several[h] for h in spread.parent}
    if own:
        split = {h: _fine(spread.shares[h]) if h in spread.shares else ranks for h, ranks in own.items()}
        found = propose(scattered(instance, {**offers, **split}, {*chosen, *split}, now))
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


def _badness(request: PlanRequest, found: Settled) -> float:
    return badness(request.instance, with_parts(found.proposal.after, found.after))


def _with(placement: Placement, several: Mapping[int, tuple[int, ...]]) -> Placement:
    return Placement(placement.single, {**placement.several, **several})


def _fine(part: Floats) -> tuple[int, ...]:
    return tuple(rank for rank, size in enumerate(part.tolist()) for _ in range(round(FINE * size)))
