# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `plan` call: new ranks for every subvolume, why, and what they gain."""

import math
from dataclasses import dataclass, replace

import numpy as np

from . import reasons
from .arrays import Bools, Floats
from .by_children import Settled, settle, with_parts
from .fanout import split_loads
from .imbalance import Imbalance, imbalance
from .inputs import Args, Json
from .names import FANOUT
from .placement.bounds import crammed, lower_bound
from .placement.instance import SEVERAL, Placement, changed, moved_inodes, ranks_of, spread_over_mask
from .placement.proposal import Proposal
from .placement.rebalance import homes, too_small
from .plan_request import PlanRequest, read_plan


def new_ranks(request: PlanRequest, after: Placement, moved: Bools) -> list[list[int]]:
    """The ranks of each subvolume; one that does not move has exactly what it was said to have."""
    ranks = request.ranks
    names = [[ranks[r]] if r >= 0 else [] for r in after.single.tolist()]
    for i in after.several:
        names[i] = sorted({ranks[r] for r in ranks_of(after, i)})
    for i in np.flatnonzero(~moved).tolist():
        names[i] = list(dict.fromkeys(request.current[i]))
    return names


def move_reasons(request: PlanRequest) -> list[str]:
    """Why each subvolume moves, if it does."""
    instance = request.instance
    single = instance.current.single
    codes = np.full(instance.w.size, reasons.REBALANCE, dtype=object)
    codes[single >= instance.usable] = reasons.RANK_NOT_ALLOWED
    codes[(single < 0) & (single != SEVERAL)] = reasons.RANK_GONE
    for i, own in instance.current.several.items():
        codes[i] = several_reason(own, instance.usable, bool(instance.heavy[i]))
    names: list[str] = codes.tolist()
    return names


def several_reason(own: tuple[int, ...], usable: int, heavy: bool) -> str:
    if not own:
        return reasons.HEAVY if heavy else reasons.UNPLACED
    if min(own) < 0:
        return reasons.RANK_GONE
    if max(own) >= usable:
        return reasons.RANK_NOT_ALLOWED
    return reasons.HEAVY if heavy else reasons.REBALANCE


def stay_reasons(request: PlanRequest, proposal: Proposal) -> list[str]:
    """Why each subvolume stays, if it does."""
    instance = request.instance
    small = too_small(instance, homes(instance))
    wanted = changed(spread_over_mask(instance), proposal.ideal)
    large = (instance.s > instance.cache) & ~instance.heavy
    rebalanced = proposal.after is proposal.ideal
    codes = np.full(instance.w.size, reasons.ALREADY_THERE, dtype=object)
    if not rebalanced:
        codes[wanted] = reasons.GAIN_TOO_SMALL
    codes[small] = reasons.TOO_SMALL
    codes[large] = reasons.TOO_LARGE
    names: list[str] = codes.tolist()
    return names


def reason_codes(request: PlanRequest, proposal: Proposal, moved: Bools) -> list[str]:
    """One code a subvolume: the operator's for a fixed one, else why it moves or stays."""
    moving, staying = move_reasons(request), stay_reasons(request, proposal)
    moves = moved.tolist()
    return [
        code if code is not None else moving[i] if moves[i] else staying[i]
        for i, code in enumerate(request.fixed)
    ]


def by_rank(request: PlanRequest, loads: Floats) -> list[float]:
    """The loads in ascending order of rank."""
    order = np.argsort(np.array(request.ranks))
    values: list[float] = loads[order].tolist()
    return values


def fullest(request: PlanRequest, loads: Floats) -> dict[str, Json]:
    """The fullest rank, the lowest of equals, and its workload points."""
    values = by_rank(request, loads)
    at = int(np.argmax(values))
    return {"rank": sorted(request.ranks)[at], "value": values[at]}


def heavy_ranks(request: PlanRequest, proposal: Proposal) -> list[int]:
    """Mode mask: the mask the plan asks for, [] for none; mode fanout: every rank that has a heavy
    subvolume."""
    instance = request.instance
    if instance.mode != FANOUT:
        return sorted(request.ranks[r] for r in proposal.pool or () if r >= 0)
    return sorted({request.ranks[r] for h in instance.heavies for r in proposal.after.several[h]})


def factor_or_most(uneven: Imbalance) -> float:
    """The imbalance factor, or where the capacity is unknown the most that it can be."""
    return uneven.most if uneven.factor is None else uneven.factor


@dataclass(frozen=True)
class Outcome:
    """What is found, and before and after it the workload (points) and the load (req/s), (ranks,) each, and
    the imbalance factor; alarms: it makes uneven what is not, though all has a usable rank with room for it.
    """

    found: Settled
    work: tuple[Floats, Floats]
    load: tuple[Floats, Floats]
    uneven: tuple[float, float]
    alarms: bool


def _outcome(request: PlanRequest) -> Outcome:
    found = settle(request)
    proposal, values = found.proposal, (request.instance.w, request.reqs)
    before = [split_loads(request, proposal.before, found.before, value) for value in values]
    after = [split_loads(request, proposal.after, found.after, value) for value in values]
    work, load = zip(before, after if proposal.worthwhile else before)
    was, becomes = (factor_or_most(imbalance(loads, request.capacity, request.smoothness)) for loads in load)
    usable = float(load[0][: request.instance.usable].sum())
    stays = math.isclose(usable, float(request.reqs.sum())) and not crammed(request.instance, proposal.before)
    alarms = stays and was <= request.threshold < becomes
    return Outcome(found, work, load, (was, becomes), alarms)


def plan(args: Args) -> dict[str, Json]:
    """Plan, with the classes that `classify` found. Vectors over ranks are over all_ranks in ascending order;
    loads in req/s, workload in points.

    With "worthwhile" false nothing is to be done and every subvolume keeps its current ranks. In mode mask
    the heavies' new mask, "heavy_ranks", may be all there is to do. Requests that are even stay so while the
    caches are large enough: to even working sets is then no gain.
    """
    request = read_plan(args)
    outcome = _outcome(request)
    if outcome.alarms:
        outcome = _outcome(replace(request, instance=replace(request.instance, min_gain=math.inf)))
    found, work, load, uneven = outcome.found, outcome.work, outcome.load, outcome.uneven
    proposal, spread = found.proposal, found.spread
    moved = changed(proposal.before, proposal.after)
    return {
        "new": new_ranks(request, proposal.after, moved),
        "reason": reason_codes(request, proposal, moved),
        "heavy_ranks": heavy_ranks(request, proposal),
        "children_ranks": {
            str(i): [request.ranks[r] for r in given.tolist()] for i, given in spread.children.items()
        },
        "parent_rank": {str(i): request.ranks[r] for i, r in spread.parent.items()},
        "scattered": sorted(found.scattered),
        "lower_bound": lower_bound(request.instance),
        "fullest_before": fullest(request, work[0]),
        "fullest_after": fullest(request, work[1]),
        "load_before": by_rank(request, load[0]),
        "load_after": by_rank(request, load[1]),
        "rank_workload_before": by_rank(request, work[0]),
        "rank_workload_after": by_rank(request, work[1]),
        "imbalance_before": uneven[0],
        "imbalance_after": uneven[1],
        "triggered_before": uneven[0] > request.threshold,
        "triggered_after": uneven[1] > request.threshold,
        "inodes_to_move": moved_inodes(
            with_parts(proposal.before, found.before),
            with_parts(proposal.after, found.after),
            request.instance.s,
        ),
        "worthwhile": proposal.worthwhile,
    }
