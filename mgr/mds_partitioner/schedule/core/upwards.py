# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is left of a directory that was taken apart goes to the highest rank that has room, if it is lower.

Clients ask the lowest rank that they know a part from (apart.py). No rank's load shows what it costs that
requests are passed on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...model import NO_PIN
from .apart import FEW, quick
from .budgets import Pace
from .look import Look
from .moves import pays_off
from .reunite import is_due
from .state import HANGS, Quiet, State
from .turns import siblings
from .view import EMPTY, Decision, Move, Piece

PASSED = 0.1  # of what is asked of parts on higher ranks: with less clients know where these are
MOSTLY = 0.5  # of that: else the next rank would pass on as much
MANY = 1024  # parts that may get pins where they are, when all wait for what is passed on
MOST = 1.25  # of a rank's share, of what is not to be moved away from there: to pass on costs as much


def raised(look: Look, decision: Decision, *, first: bool = False) -> tuple[State, Decision]:
    """Those that go, while none of their parts moves, nor anything else from or to their ranks. Their parts
    on the same rank get pins there first, or they would go along. No advice is given of it.

    :param first: nothing was moved for its load yet in this look. What needs many pins waits for that, and
        what is on a rank that may be relieved of more than it passes on
    """
    seen = look.view.measured and not look.view.advised
    if decision.something or not seen or not look.state.split:
        return look.state, decision
    kids, fixed = siblings(look.view.pieces), _fixed(look)
    split = (p for p in look.view.pieces if p.ino in look.state.split and _may(look, p, kids.get(p.ino, ())))
    may = [p for p in split if not (first and _has_too_much(look, p))]
    moves, told, gone = list[Move](), "", defaultdict[int | None, float](float)
    for found in sorted(may, key=lambda p: (p.inodes, p.ino)):
        goal = _goal(look, found, kids.get(found.ino, ()), fixed, gone[found.rank])
        family = {found.ino, found.within, *(kid.ino for kid in kids.get(found.ino, ()))}
        if goal is None or any(move.ino in family for move in moves):
            continue
        along = [kid for kid in kids[found.ino] if kid.rank == found.rank and kid.pin == NO_PIN]
        if first and len(along) > FEW:
            continue
        kept, pace = _kept(look, found, along), _pace(look, found)
        if kept and len(kept) + (found.pin == NO_PIN) > _pins(look, found):
            continue  # some of them alone would be pinned for nothing
        fits = found.inodes <= pace.inodes or pace.idle
        step = (kept if along else [_upwards(look, found, goal)] if fits else [])[: max(0, pace.moves)]
        if not step:
            continue
        told = told or f"what is left of {found.path} goes to rank {goal}; {decision.why}"
        moves += step
        fixed[goal] += look.expected.load(found)
        gone[found.rank] += _above(look, found, kids[found.ino], goal)
        look = replace(look.begun(step), placed=look.placed + len(step))
    return look.state, replace(decision, moves=tuple(moves), why=told or decision.why)


def ahead(look: Look) -> Look:
    """The same, where what is left of those whose parts get their ranks now counts where it goes after them:
    else parts would be sent to the rank that it fills, and leave it again."""
    if look.view.advised or not look.state.split:
        return look
    kids, fixed, found = siblings(look.view.pieces), _fixed(look), dict[int, int]()
    loads = dict(look.loads)
    split = (piece for piece in look.view.pieces if piece.ino in look.state.split)
    for piece in sorted(split, key=lambda p: (p.inodes, p.ino)):
        if piece.rank is None or not _parts_go(look, piece, kids.get(piece.ino, ())):
            continue
        higher = (rank for rank in _higher(look, piece) if rank not in look.doubted)
        goal = next((r for r in higher if _fits(look, piece, r, 0.0, fixed[r], loads[r])), None)
        if goal is not None:
            found[piece.ino], own = goal, look.expected.load(piece)
            fixed[goal], loads[goal], loads[piece.rank] = (
                fixed[goal] + own,
                loads[goal] + own,
                loads[piece.rank] - own,
            )
    return look.when(found)


def _parts_go(look: Look, piece: Piece, kids: Sequence[Piece]) -> bool:
    """Are its parts under way, or will be, as its rank has too much? When they have come it is seen what is
    passed on."""
    rank, bound, load = piece.rank, look.expected.bound, look.expected.load
    whole = look.state.wholes.get(piece.ino)
    if whole is None or (whole.apart >= 0.0 and look.view.now - whole.apart > HANGS):
        return False  # what moves now is one of them, and not all that
    if rank not in look.loads or piece.ino in bound or not _may_leave(look, piece):
        return False
    if sum(kid.rank == rank and kid.pin == NO_PIN for kid in kids) > FEW:
        return False
    if sum(map(load, kids)) < max(load(piece), look.band * look.asked.share):
        return False  # little is passed on when they have gone
    above = look.loads[rank] > (1.0 + look.band) * look.shares[rank]
    return any(kid.ino in bound for kid in kids) or (above and all(kid.rank == rank for kid in kids))


def without(look: Look, gone: Collection[int]) -> Look:
    """The same, but for those of which no part goes: what is left stays then as well.

    :param gone: inode numbers of what goes, or is under way
    """
    if not look.expected.ahead:
        return look
    within = {piece.within for piece in look.view.pieces if piece.ino in gone}
    kept = {ino: rank for ino, rank in look.expected.ahead.items() if ino in within}
    return look if kept == look.expected.ahead else replace(look, expected=replace(look.expected, ahead=kept))


def _has_too_much(look: Look, piece: Piece) -> bool:
    """Has its rank more above its share than it passes on, and than what is left of it takes along to where
    there is room? Parts go before that, too."""
    rank = piece.rank
    if rank not in look.loads:
        return False
    room = ((1.0 + look.band / 2.0) * look.shares[r] - look.loads[r] for r in _higher(look, piece))
    along = min(look.expected.load(piece), max((0.0, *room)))
    return look.loads[rank] - look.shares[rank] > _forwards(look, rank) + along


def _forwards(look: Look, rank: int) -> float:
    """req/s that it passes on."""
    return next((r.forwards for r in look.view.ranks if r.rank == rank), 0.0)


def _hardly_serves(look: Look, rank: int | None) -> bool:
    """Does a full rank that gives nothing pass on as much as it serves, or more? All wait for it then."""
    full = (r for r in look.view.ranks if r.rank == rank and r.full and rank not in look.state.stale)
    return any(r.forwards >= r.requests for r in full)


def _pace(look: Look, piece: Piece) -> Pace:
    """All clients of a full rank wait for what it passes on; for that of another one nobody does."""
    budgets, pins = look.budgets, _pins(look, piece)
    if piece.rank not in look.busy:
        pace = budgets.unhurried()
        return replace(pace, moves=min(pace.moves, pins))
    inodes = budgets.inodes()
    return Pace(min(budgets.moves(), pins), inodes, inodes > 0.0 and not budgets.arriving)


def _pins(look: Look, piece: Piece) -> int:
    """Directories that may be pinned for it: half of all are left to what somebody waits for."""
    return look.budgets.pins() if piece.rank in look.busy else look.budgets.pins_of_the_new()


def _goal(
    look: Look, piece: Piece, kids: Sequence[Piece], fixed: Mapping[int | None, float], others: float
) -> int | None:
    """Where it goes: to the highest rank that is not much slower than others, or to the next, where that one
    has no room, if most of its parts on higher ranks are not above. None: it stays.

    :param others: what is asked of parts, on higher ranks, of those that leave its rank now: they have a part
        of what is passed on
    """
    own = piece.rank
    if own is None:
        return None
    everything = _above(look, piece, kids, math.inf)
    for goal in _higher(look, piece):
        above = _above(look, piece, kids, goal)
        forwards = _forwards(look, own) * (above / (above + others) if above else 0.0)
        passes = forwards >= PASSED * above > 0.0 and above >= look.band * look.asked.share
        passes = passes and pays_off(look, own, min(forwards, above), piece.inodes)
        if goal in look.doubted or not passes or above < MOSTLY * everything:
            return None
        if _fits(look, piece, goal, forwards, fixed.get(goal, 0.0), look.loads[goal]):
            return goal
    return None


def _higher(look: Look, piece: Piece) -> list[int]:
    """Ranks that it may go to, the highest first."""
    least = max(-1 if piece.rank is None else piece.rank, _gone_up(look.state, piece.ino))
    return sorted((rank for rank in quick(look) if rank > least), reverse=True)


def _above(look: Look, piece: Piece, kids: Sequence[Piece], goal: float) -> float:
    """req/s that its parts are asked for on higher ranks up to that one."""
    own, load = -1 if piece.rank is None else piece.rank, look.expected.load
    return sum(load(kid) for kid in kids if kid.rank is not None and own < kid.rank <= goal)


def _may(look: Look, piece: Piece, kids: Sequence[Piece]) -> bool:
    """May it leave now? No more of its parts have to be pinned than are elsewhere, but where all wait for
    what is passed on."""
    if not _may_leave(look, piece) or _moves(look, piece, kids):
        return False
    along = [kid for kid in kids if kid.rank == piece.rank and kid.pin == NO_PIN]
    refused = {past.move.ino for past in look.state.past if past.move.keeps and past.lost}
    many = min(MANY, look.budgets.pins_of_the_new()) if _hardly_serves(look, piece.rank) else FEW
    few = len(along) <= max(FEW, many, len(kids) - len(along))
    return few and not any(k.held or k.ino in refused for k in along)


def _may_leave(look: Look, piece: Piece) -> bool:
    """At all: all its parts are known then, and it is not too much."""
    state, ino = look.state, piece.ino
    quiet = is_due(state.quiet.get(ino, Quiet()))
    away = ino in look.together or ino in state.placed or ino in look.linked or quiet
    return not (away or piece.held or piece.unknown or piece.at_most > look.limits.inodes)


def _moves(look: Look, piece: Piece, kids: Sequence[Piece]) -> bool:
    """Is it under way, or a part of it, or anything from or to its rank? What hangs is no reason to wait for
    others alone; nor is what is empty, and comes when it is not."""
    parts = {kid.ino for kid in kids}
    coming = (past.move for past in look.budgets.coming)
    own = (m.ino == piece.ino or (m.ino in parts and (m.load > 0.0 or m.inodes > EMPTY)) for m in coming)
    return any(own) or any(piece.rank in (m.source, m.target) for m in look.state.awaited)


def _fixed(look: Look) -> dict[int | None, float]:
    """By rank: req/s of what is not to be moved away from there, or is on its way there and stays then."""
    found: dict[int | None, float] = defaultdict(float)
    bound = look.expected.bound
    fixed = {*look.state.split, *look.together, *look.state.placed}
    for piece in look.view.pieces:
        if piece.held or piece.ino in fixed:
            rank = bound[piece.ino].target if piece.ino in bound else piece.rank
            found[rank] += look.expected.load(piece)
    return found


def _fits(look: Look, piece: Piece, goal: int, forwards: float, fixed: float, load: float) -> bool:
    """Is there room; or could other things make some, for less than what is passed on now?

    :param fixed: req/s of what stays there; load: of all that is there
    """
    own, share = look.expected.load(piece), look.shares[goal]
    if goal not in look.full and load + own <= (1.0 + look.band / 2.0) * share:
        return True
    others = look.state.rest.get(goal, 0.0) + fixed
    if own > share:  # it fills any rank, and one that passes nothing on serves more of it
        return others <= (MOST - 1.0) * share
    return own + others <= MOST * share and forwards >= own


def _gone_up(state: State, ino: int) -> int:
    """The highest rank that it was sent to, or from, within the time that moves are remembered, come or not;
    -1: none."""
    moves = (past.move for past in state.past if past.move.ino == ino and not past.move.keeps)
    return max((max(move.source, move.target) for move in moves), default=-1)


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
