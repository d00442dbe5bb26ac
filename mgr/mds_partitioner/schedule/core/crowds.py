# SPDX-License-Identifier: LGPL-2.1-or-later
"""All ranks serve what they can, but on one of them many more requests wait than on the others.

A full rank serves as much however many wait at it, so by what ranks serve this is even, and who asks at the
crowded one waits longest. What waits is rate x latency (Little). It is shared out by capacity, as the load
is: then all wait alike, and all ranks together serve no less, since an MDS that has more requests at once
serves a little more (load.py). But a rank may do little as its requests cost more: all others would wait
behind these wherever they go. So plainly more must be inside, too. Where a rank is not full, few requests
less are far fewer that wait: that is for what ranks serve to tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ...engine.inside import CROWD
from .candidates import candidates
from .choose import Budget, Candidate, Choice, choose
from .demand import HELD
from .load import pressures, shares
from .look import Look
from .state import Crowd, State
from .view import Decision, Move, count

CROWDED = 2.0  # times what waits at the others, each for its share: that is not noise, and worth moves
STEP = 0.1  # of the rank's requests that go first: where all use all, so few may be all that waits
MOST = 0.5  # of them that go at once; twice as many each time that others took their place
HELPS = 0.98  # of its share that waited there before: what is left when it helps, at most
VAIN = 2  # times that it may not help: then others fill the rank whatever goes


@dataclass(frozen=True)
class Waiting:
    """How much waits where.

    :ivar latency: s, by rank; mean: of all requests
    :ivar inside: requests, by rank
    :ivar loads: by rank: its requests in times of the mean latency, req/s; their sum is that of the requests
    :ivar shares: of these, by rank, by capacity
    """

    latency: Mapping[int, float]
    inside: Mapping[int, float]
    mean: float
    loads: Mapping[int, float]
    shares: Mapping[int, float]

    def times(self, rank: int) -> float:
        """What it has, in times of its share."""
        return self.loads[rank] / self.shares[rank] if self.shares[rank] else 1.0

    def beside(self, rank: int) -> float:
        """The same, in times of what the others have on the mean."""
        others, share = (sum(of.values()) - of[rank] for of in (self.loads, self.shares))
        return self.times(rank) * share / others if others > 0.0 else math.inf

    def more(self, rank: int) -> float:
        """Requests inside, in times of what the others have on the mean."""
        others = sum(self.inside.values()) - self.inside[rank]
        return self.inside[rank] * (len(self.inside) - 1) / others if others > 0.0 else math.inf


def waiting(look: Look) -> Waiting | None:
    """None: nobody is known to wait."""
    requests = {r.rank: r.requests for r in look.view.ranks}
    latency = {rank: look.state.latency.get(rank, 0.0) for rank in requests}
    inside = {rank: requests[rank] * latency[rank] for rank in requests}
    served = sum(requests.values())
    mean = sum(inside.values()) / served if served else 0.0
    if not mean:
        return None
    loads = {rank: inside[rank] / mean for rank in inside}
    return Waiting(latency, inside, mean, loads, shares(loads, look.capacity))


def relieved(look: Look, decision: Decision) -> tuple[State, Decision]:
    """The state then, and with what takes some that wait elsewhere: a little, when that was needed for some
    looks, and then a little more when all that was moved is seen as it is now, as long as it helps. Of advice
    it is not known who would wait where."""
    state = look.state
    if decision.something or state.awaited or look.expected.moved:
        return state, decision
    found = None if look.view.advised or state.held else waiting(look)
    bad = [] if found is None else _crowded(look, found)
    if found is None or not bad:
        return replace(state, crowd=Crowd()), decision
    times = {rank: found.times(rank) for rank in bad}
    top = state.crowd.rank if state.crowd.rank in bad else max(bad, key=lambda r: (times[r], -r))
    crowd = _again(state.crowd, top, times[top])
    state = replace(state, crowd=crowd)
    if crowd.vain >= VAIN:
        vain = {**state.vain, top: look.view.now}
        return replace(state, crowd=Crowd(), vain=vain), decision
    if crowd.looks < HELD:
        return state, decision
    moves = _moves(look.then(state), found, top)
    if not moves:  # what it has rests, or does not pay: the next one has its turn
        after = min(bad, key=lambda rank: (rank <= top, rank))
        return replace(state, crowd=Crowd(after) if after != top else replace(crowd, looks=0)), decision
    why = (
        f"{count(moves)}, as requests wait {1000.0 * found.latency[top]:.0f} ms on rank {top}, and "
        f"{1000.0 * found.mean:.0f} ms on the mean; {decision.why}"
    )
    # Who gets some gives none: where all clients ask all ranks they wait there next, and so on for ever.
    vain = {**state.vain, **{move.target: look.view.now for move in moves}}
    state = replace(state, crowd=replace(crowd, eased=crowd.eased + 1, times=times[top]), vain=vain)
    return look.then(state).begun(moves).state, replace(decision, moves=moves, why=why)


def easing(state: State) -> bool:
    """Is something to be taken from a crowded rank, now or soon?"""
    return state.crowd.looks > 0


def _again(before: Crowd, top: int, times: float) -> Crowd:
    """With one more look at the rank where most wait; times: its share that waits there"""
    if before.rank != top:
        return Crowd(top, 1)
    vain = before.vain + (times >= HELPS * before.times)
    return replace(before, looks=before.looks + 1, vain=vain, times=math.inf)


def _crowded(look: Look, found: Waiting) -> list[int]:
    """Ranks where many more wait than elsewhere, for what they can do, of those that have something to give,
    now or when it has rested; [] while a rank is not full."""
    if not look.full >= found.loads.keys():
        return []
    rest = look.limits.rest
    crowds = [
        r
        for r in found.loads
        if found.inside[r] >= CROWD
        and min(found.beside(r), found.more(r)) > CROWDED
        and look.view.now - look.state.vain.get(r, -math.inf) >= rest
    ]
    give = {c.rank for c in (candidates(look, resting=True) if crowds else ())}
    return [rank for rank in crowds if rank in give]


def _moves(look: Look, found: Waiting, top: int) -> tuple[Move, ...]:
    """From that rank, towards its share."""
    times, served = found.latency[top] / found.mean, look.asked.served
    part = min(MOST, STEP * 2.0**look.state.crowd.eased)
    most = part * next(r.requests for r in look.view.ranks if r.rank == top)
    moved = {past.move.ino: past for past in look.state.past if past.move.load > 0.0}

    def rests(ino: int) -> bool:
        return ino in moved and look.view.now - moved[ino].arrived < look.limits.rest

    own = sorted(
        (c for c in candidates(look) if c.rank == top and not rests(c.key)),
        key=lambda c: served(look.pieces[c.key]),
    )
    may = [
        c._replace(
            load=served(look.pieces[c.key]) * times,
            avoid=moved[c.key].move.source if c.key in moved else c.avoid,
            back=False,
        )
        for c in own
    ]
    inodes = look.budgets.inodes()
    budget = Budget(look.budgets.moves(), inodes, inodes > 0.0)
    pressure = pressures(look.view.ranks)

    def paying(some: Sequence[Candidate]) -> list[Choice]:
        rest = look.capacity, pressure, look.band, budget, [top], look.doubted, [top]
        chosen, _ = choose(some, found.loads, *rest)
        return [c for c in chosen if look.pays(c.gain, look.pieces[c.key].inodes)]

    small = [c for c in may if served(look.pieces[c.key]) <= most]
    pay = paying(small) or paying(may[len(small) : len(small) + 1])  # one alone may be more than a step
    taken = accumulate(served(look.pieces[c.key]) for c in pay)
    step = [c for c, so_far in zip(pay, taken) if so_far <= most] or pay[:1]
    return tuple(_move(look, found, choice) for choice in step[: max(0, look.budgets.pins())])


def _move(look: Look, found: Waiting, choice: Choice) -> Move:
    """Its rank serves others then: it is relieved of what waits, not of requests."""
    piece, latency = look.pieces[choice.key], found.latency
    load = look.asked.served(piece)
    why = (
        f"{load:.0f} req/s that wait {1000.0 * latency[choice.source]:.0f} ms on rank {choice.source}, and "
        f"{1000.0 * latency[choice.target]:.0f} ms on rank {choice.target}"
    )
    return Move(piece.ino, piece.path, choice.source, choice.target, load, 0.0, piece.inodes, why)
