# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves of pieces as a whole: the largest gain for the least migration, where it pays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate

from ..engine.urgency import urgency
from ..model import NO_PIN
from .choose import LEAST, Budget, Candidate, Choice, choose
from .load import pressures
from .look import Look
from .view import Move

NEAR = 0.02  # above their share: full ranks are relieved down to that while another one has much room


def chosen(
    look: Look, may: Sequence[Candidate], budget: Budget, of: Collection[int] | None = None
) -> tuple[list[Choice], list[int]]:
    """Moves, and ranks that none relieves. ``of``: ranks that may be relieved; None: all"""
    pressure = pressures(look.view.ranks)
    worth = [c for c in may if c.load >= LEAST * look.shares.get(c.rank, 0.0) or _crumb_pays(look, c)]

    def take(band: float, ranks: Collection[int] | None) -> tuple[list[Choice], list[int]]:
        found, stuck = choose(worth, look.loads, look.capacity, pressure, band, budget, ranks, look.doubted)
        return found, [] if look.doubt > look.band else stuck  # what does not fit now may fit in a moment

    found, stuck = take(look.band, of)
    if found or not look.idle:
        return found, stuck
    full = look.full & look.loads.keys()
    found, others = take(NEAR, full if of is None else full.intersection(of))
    return found, list(dict.fromkeys([*stuck, *others]))


def sources(look: Look) -> Collection[int] | None:
    """Where the unevenness as a whole does no harm, ranks that are not full may stay as they are, if there is
    one that is."""
    return None if look.view.harmful else (look.full & look.loads.keys()) or None


def paying(look: Look, choices: Sequence[Choice]) -> tuple[Move, ...]:
    """Those that bring more than they cost, up to the first that would be one pin too many."""
    pay = [choice for choice in choices if _pays(look, choice)]
    new = accumulate(look.pieces[choice.key].pin == NO_PIN for choice in pay)
    return tuple(_move(look, choice) for choice, pins in zip(pay, new) if pins <= look.budgets.pins())


def _pays(look: Look, choice: Choice) -> bool:
    """Clients of a rank that is not full gain little by its relief."""
    gain = choice.gain * _urgency(look, choice.source)
    return look.pays(gain, look.pieces[choice.key].inodes)


def _crumb_pays(look: Look, crumb: Candidate) -> bool:
    """Thousands that do not would take the places of others, and keep from what else helps."""
    gain = crumb.load * _urgency(look, crumb.rank) if crumb.rank in look.capacity else 0.0
    return look.pays(gain, crumb.inodes)


def _urgency(look: Look, rank: int) -> float:
    """Of relieving it, 0 to 1."""
    if rank in look.full or not look.capacity[rank]:
        return 1.0
    requests = next(r.requests for r in look.view.ranks if r.rank == rank)
    return urgency(requests, look.capacity[rank], look.limits.smoothness)


def _move(look: Look, choice: Choice) -> Move:
    piece = look.pieces[choice.key]
    load, gain = look.expected.load(piece), choice.gain
    why = f"{load:.0f} req/s, relieves rank {choice.source} by {gain:.0f} req/s"
    last = next((p.move for p in reversed(look.state.past) if p.move.ino == piece.ino), None)
    if last is not None and last.source == choice.target:
        why = f"{why}; back where it came from"
    return Move(piece.ino, piece.path, choice.source, choice.target, load, gain, piece.inodes, why)
