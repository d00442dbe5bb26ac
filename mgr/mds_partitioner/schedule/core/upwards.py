# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is left of a directory that was taken apart goes to the highest rank, if it is not there.

Clients ask the lowest rank that they know a part from (apart.py). No rank's load shows what it costs that
requests are passed on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...model import NO_PIN
from .apart import FEW, home
from .look import Look
from .reunite import due
from .sleepers import LEFT
from .state import State
from .turns import siblings
from .view import Decision, Move, Piece

PASSED = 0.1  # of what is asked of parts on higher ranks: with less clients know where these are
MOST = 1.25  # of a rank's share, of what is not to be moved away from there: to pass on costs as much


def raised(look: Look, decision: Decision, most_pins: float = math.inf) -> tuple[State, Decision]:
    """One that goes, while nothing moves. Its parts on the same rank get pins there first, or they would go
    along. No advice is given of it.

    :param most_pins: what needs more of these waits
    """
    still = look.view.measured and not (look.view.advised or look.state.awaited)
    if decision.something or not still or not look.state.split:
        return look.state, decision
    pace, goal = look.budgets.unhurried(), home(look)
    kids = siblings(look.view.pieces)
    pieces = [
        p for p in look.view.pieces if p.ino in look.state.split and _low(look, p, goal, kids.get(p.ino, ()))
    ]
    most = max(0, min(pace.moves, int(look.limits.pins * LEFT) - look.view.pins))
    for found in sorted(pieces, key=lambda p: (p.inodes, p.ino)):
        along = [kid for kid in kids[found.ino] if kid.rank == found.rank and kid.pin == NO_PIN]
        if len(along) > most_pins:
            continue
        fits = found.inodes <= pace.inodes or pace.idle
        moves = _kept(look, found, along) if along else [_upwards(look, found, goal)] if fits else []
        if moves[:most]:
            told = f"what is left of {found.path} goes to the highest rank; {decision.why}"
            state = look.begun(moves[:most]).state
            return state, replace(decision, moves=tuple(moves[:most]), why=told)
    return look.state, decision


def _low(look: Look, piece: Piece, goal: int, kids: Sequence[Piece]) -> bool:
    """Is it in parts, on a rank below one that has much of these, which passes requests for them on, and may
    it leave? All parts are known then, and no more of them have to be pinned than are elsewhere."""
    own, away = piece.rank, {*look.together, *look.state.placed, *look.linked}
    may = piece.ino not in away and not piece.held and not piece.unknown
    if not may or own is None or own >= goal or piece.at_most > look.limits.inodes:
        return False
    if piece.ino in due(look.state.quiet) or piece.ino in _gone_up(look.state, goal):
        return False
    along = [kid for kid in kids if kid.rank == own and kid.pin == NO_PIN]
    refused = {past.move.ino for past in look.state.past if past.move.keeps and past.lost}
    if len(along) > max(FEW, len(kids) - len(along)) or any(k.held or k.ino in refused for k in along):
        return False
    above = sum(look.expected.load(kid) for kid in kids if kid.rank is not None and kid.rank > own)
    forwards = next((r.forwards for r in look.view.ranks if r.rank == own), 0.0)
    passes = forwards >= PASSED * above > 0.0 and above >= look.band * look.asked.share
    return passes and _fits(look, piece, goal, forwards)


def _fits(look: Look, piece: Piece, goal: int, forwards: float) -> bool:
    """Is there room; or could other things make some, for less than what is passed on now?"""
    own, load, share = look.expected.load(piece), look.loads[goal], look.shares[goal]
    if goal not in look.full | look.doubted and load + own <= (1.0 + look.band / 2.0) * share:
        return True
    fixed = {*look.state.split, *look.together, *look.state.placed}
    stays = (p for p in look.view.pieces if p.rank == goal and (p.held or p.ino in fixed))
    others = look.state.rest.get(goal, 0.0) + sum(map(look.expected.load, stays))
    if goal in look.doubted:
        return False
    if own > share:  # it fills any rank, and one that passes nothing on serves more of it
        return others <= (MOST - 1.0) * share
    return own + others <= MOST * share and forwards >= own


def _gone_up(state: State, goal: int) -> set[int]:
    """Inode numbers of what was sent there, or from there, within the time that moves are remembered, come or
    not."""
    moves = (past.move for past in state.past if not past.move.keeps)
    return {move.ino for move in moves if goal in (move.source, move.target)}


def _kept(look: Look, piece: Piece, along: Sequence[Piece]) -> list[Move]:
    """Pins for what would go along."""
    rank = piece.rank
    assert rank is not None
    why = f"so that it stays when {piece.path} goes to a higher rank"
    past = look.state.past
    kept = {p.move.ino for p in past if p.arrived < 0.0 or (p.move.keeps and not p.lost)}
    new = (kid for kid in along if kid.ino not in kept)
    return [Move(kid.ino, kid.path, rank, rank, 0.0, 0.0, 0.0, why, keeps=True) for kid in new]


def _upwards(look: Look, piece: Piece, goal: int) -> Move:
    assert piece.rank is not None
    why, load = "clients of its parts ask the lowest rank they know", look.expected.load(piece)
    return Move(piece.ino, piece.path, piece.rank, goal, load, 0.0, piece.inodes, why)
