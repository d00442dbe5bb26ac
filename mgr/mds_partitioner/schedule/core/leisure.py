# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is done while there is nothing else to do: what sleeps is spread, what is in parts becomes one."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from .look import Look
from .reunite import Reunion, due, joined
from .sleepers import LEFT, SEEN, Stakes, expected, spread, weights
from .state import State
from .view import EMPTY, Decision, Piece, count
from .wakes import ASLEEP


def spare(look: Look, decision: Decision) -> tuple[State, Decision]:
    """The first of these that there is to be done."""
    for work in (_ahead, _reunite):
        state, found = work(look, decision)
        if found.something:
            return state, found
    return look.state, decision


def _ahead(look: Look, decision: Decision) -> tuple[State, Decision]:
    """What sleeps is spread."""
    state, view, limits = look.state, look.view, look.limits
    pace = look.budgets.unhurried()
    moves = min(pace.moves, int(limits.pins * LEFT - view.pins))
    sleepers = _asleep(look)
    since = max(state.began, view.now - limits.memory)
    used = {piece.ino: state.asleep.get(piece.ino, False) for piece in sleepers}
    late = expected(state.wakes, used, view.now, since, limits.horizon)
    by = Stakes(look.price, pace.inodes, moves, pace.idle)
    weight = weights(sleepers, state.wakes)
    capacity = {rank: able for rank, able in look.capacity.items() if rank not in look.crawling}
    closed = look.capacity.keys() - look.trusted.keys()
    found = spread(sleepers, weight, capacity, late, _resting(state), by, closed, _beside(look, used))
    if not found:
        return state, decision
    why = f"{count(found)} of what nobody uses now, as what slept woke lately; {decision.why}"
    return look.begun(found).state, replace(decision, moves=tuple(found), why=why)


def _reunite(look: Look, decision: Decision) -> tuple[State, Decision]:
    """What is in parts for nothing becomes one again, at the pace of what sleeps."""
    if look.state.acting:
        return look.state, decision
    state, over = look.state, due(look.state.quiet) - look.linked
    if not over or len(state.wakes) >= SEEN:  # what sleeps is spread where it wakes
        return state, decision
    most = 1.0 + look.band / 2.0  # a little more does not send them away again
    room = {rank: most * share - look.loads[rank] for rank, share in look.shares.items()}
    reunion = Reunion(look.view.pieces, state.split, over, _resting(state), room)
    whole = reunion.whole()
    if whole:
        more = f" (and {len(whole) - 1} more)" if len(whole) > 1 else ""
        why = f"{look.pieces[whole[0]].path}{more} is seen as a whole again; {decision.why}"
        return joined(state, whole), replace(decision, whole=whole, why=why)
    asked = {piece.ino: look.expected.load(piece) for piece in look.view.pieces}
    found = reunion.moves(asked, look.budgets.unhurried())
    if not found:
        return state, decision
    why = f"{count(found)} of parts of what was little used for a day; {decision.why}"
    return look.begun(found).state, replace(decision, moves=found, why=why)


def _resting(state: State) -> set[int]:
    return {past.move.ino for past in state.past}


def _beside(look: Look, asleep: Collection[int]) -> Iterator[Piece]:
    """All but these inode numbers, where they will be."""
    bound = look.expected.bound
    others = (piece for piece in look.view.pieces if piece.ino not in asleep)
    return (p._replace(rank=bound[p.ino].target) if p.ino in bound else p for p in others)


def _asleep(look: Look) -> list[Piece]:
    """Pieces that nobody uses and that may be moved; those under way where they will be. MDSs export nothing
    that is empty: it would be pinned for nothing, and counted where it stays."""
    state, bound = look.state, look.expected.bound
    away = state.split | state.apart | state.placed | look.together.keys() | look.kept
    may = (p for p in look.view.pieces if p.rank is not None and not p.held and p.ino not in away)
    little = ASLEEP * look.asked.share
    # Nor what alone would leave no room for what is wanted elsewhere.
    fits = (p for p in may if EMPTY < p.inodes <= look.limits.inodes)
    idle = (p for p in fits if state.demand[p.ino].mean <= little)
    return [p._replace(rank=bound[p.ino].target) if p.ino in bound else p for p in idle]
