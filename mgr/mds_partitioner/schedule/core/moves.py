# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves of pieces as a whole: the largest gain for the least migration, where it pays."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import accumulate

from ...engine.inside import INSIDE
from ...engine.urgency import urgency
from ...model import NO_PIN
from .candidates import candidates
from .choose import LEAST, Budget, Candidate, Choice, choose
from .evenness import waited
from .load import pressures
from .look import Look
from .view import Move

NEAR = 0.02  # above their share: full ranks are relieved down to that while another one has much room


def chosen(
    look: Look,
    may: Sequence[Candidate],
    budget: Budget,
    of: Collection[int],
    split: Collection[int] = (),
) -> tuple[list[Choice], list[int]]:
    """Moves, and ranks that none relieves.

    :param of: ranks that may be relieved
    :param split: inode numbers of what is taken apart now: its parts leave, and it does not as a whole
    """
    leaves = _leaving(look, split)
    # What leaves is all there until its parts are known, and go; or until these have gone.
    closed = look.doubted.union(leaves, look.expected.left)
    pressure = pressures(look.view.ranks)
    # What does not pay would take the place of others, and keep from what else helps.
    pays, gains = look.pays, gained(look, may)
    worth = [c for c in may if c.key not in split and pays(gains[c.key], c.inodes)]
    later = {c.rank for c in worth_it_later(look, may)}

    def take(
        band: float, ranks: Collection[int], small: Collection[int] = ()
    ) -> tuple[list[Choice], list[int]]:
        found, stuck = choose(
            worth, look.loads, look.capacity, pressure, band, budget, ranks, closed, small, leaves
        )
        if look.doubt > look.band or not stuck:
            return found, []  # what does not fit now may fit in a moment
        for_nobody = later.union(c.rank for c in may if pays(c.load, c.inodes)) - {c.rank for c in worth}
        # Nobody there waits for long enough: nor for what it would be taken apart for.
        return found, [rank for rank in stuck if rank not in for_nobody]

    found, stuck = take(look.band, of)
    if stuck and not found:
        found, stuck = take(look.band, of, set(stuck) - _patient(look, may))
    if found or not look.idle:
        return found, stuck
    full = look.full & look.loads.keys()
    found, others = take(NEAR, full.intersection(of))
    # So near its share a rank needs relief only as another one has room: of what is stuck one is enough.
    return found, stuck if found else list(dict.fromkeys([*stuck, *others[:1]]))


def gained(look: Look, may: Sequence[Candidate]) -> dict[int, float]:
    """req/s that each of these would bring, by key: what waits for it at its rank."""
    urgent = {rank: _urgency(look, rank) for rank in look.capacity}
    return {c.key: c.load * urgent.get(c.rank, 0.0) for c in may}


def worth_it_later(look: Look, may: Sequence[Candidate]) -> dict[Candidate, float]:
    """Of these, what is worth a move when the load has been uneven for so many s, if it fits somewhere."""
    room = max((look.shares[rank] - load for rank, load in look.loads.items()), default=0.0)
    gains = gained(look, may)
    later = (c for c in may if c.load <= room and look.will_pay(gains[c.key], c.inodes))
    return {c: c.inodes * look.price / gains[c.key] for c in later}


def _leaving(look: Look, split: Collection[int]) -> dict[int, float]:
    """req/s by rank of what is taken apart now."""
    found: dict[int, float] = {}
    for piece in map(look.pieces.__getitem__, split):
        if piece.rank is not None:
            found[piece.rank] = found.get(piece.rank, 0.0) + look.expected.load(piece)
    return found


def sources(look: Look) -> Collection[int]:
    """Where the unevenness as a whole does no harm, ranks that are not full may stay as they are, if there is
    one that is. Nothing goes from where something is not yet."""
    full = frozenset[int]() if look.view.harmful else look.full & look.loads.keys()
    return (full or look.loads.keys()) - set(look.expected.ahead.values())


def paying(look: Look, choices: Sequence[Choice]) -> tuple[Move, ...]:
    """Those that bring more than they cost, up to the first that would be one pin too many."""
    pay = [c for c in choices if pays_off(look, c.source, c.gain, look.pieces[c.key].inodes)]
    new = accumulate(look.pieces[choice.key].pin == NO_PIN for choice in pay)
    last = {past.move.ino: past.move for past in look.state.past} if pay else {}
    may = (choice for choice, pins in zip(pay, new) if pins <= look.budgets.pins())
    return tuple(_move(look, choice, last.get(choice.key)) for choice in may)


def pays_off(look: Look, rank: int, gain: float, inodes: float) -> bool:
    """Does it bring more than it costs to relieve a rank of so many req/s, and move the inodes? Clients of
    one that is not full gain little."""
    return look.pays(gain * _urgency(look, rank), inodes)


def _patient(look: Look, may: Sequence[Candidate]) -> set[int]:
    """Ranks with something large that only rests, or that nobody has looked into yet: hundreds of small ones
    need not go in its place.

    :param may: what may be moved now
    """
    now, shares = {c.key for c in may}, look.shares
    later = (c for c in candidates(look, resting=True) if c.load >= LEAST * shares.get(c.rank, math.inf))
    return {c.rank for c in later if c.key not in now or look.pieces[c.key].parts is None}


def _urgency(look: Look, rank: int) -> float:
    """Of relieving it, 0 to 1. A rank that is full of few requests holds back few: of so many inside one is
    being served, and what the others wait for is the most that can be gained for those who ask one by one."""
    if waited(look, rank):
        return 1.0
    view = next(r for r in look.view.ranks if r.rank == rank)
    if rank in look.busy or not look.capacity[rank]:
        # What it exports makes it look crowded, for that long; 0: it did that easily.
        return 1.0 - 1.0 / max(INSIDE, min(view.inside, view.crowd or math.inf))
    return urgency(view.requests, look.capacity[rank], look.limits.smoothness)


def _move(look: Look, choice: Choice, last: Move | None) -> Move:
    """``last``: of the same piece"""
    piece = look.pieces[choice.key]
    load, gain = look.expected.load(piece), choice.gain
    costs = piece.inodes * look.price
    why = f"{load:.0f} req/s, relieves rank {choice.source} by {gain:.0f} req/s, costs {costs:.0f} requests"
    if last is not None and last.source == choice.target:
        why = f"{why}; back where it came from"
    return Move(piece.ino, piece.path, choice.source, choice.target, load, gain, piece.inodes, why)
