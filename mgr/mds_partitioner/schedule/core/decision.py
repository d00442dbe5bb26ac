# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decides, look after look, what to move next: no I/O, no clock, no thread. Its memory is a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from . import apart
from .candidates import candidates
from .choose import Budget, Candidate, Choice
from .crowds import easing, relieved
from .evenness import beyond, doubtful, uneven
from .learn import looked
from .leisure import spare
from .look import Look
from .moves import chosen, gained, paying, sources, worth_it_later
from .newcomers import ranks_of_new
from .scatter import refused, scattered
from .state import KEPT, Crowd, Limits, Scattered, State
from .together import found_better, homewards
from .upwards import ahead, raised, without
from .view import EMPTY, Beside, Decision, Move, Scatter, View, count

GROWN = 30.0  # s, until a rank's load is what it will be
MOSTLY = 0.5  # of what is asked of a rank, or of what is no piece's: then it is told what that is for
READ = 30.0  # s, after which a pin that was set is seen


class Scheduler:
    """One look.

    Invariant, whatever the looks are:

    1. nothing is ordered while the view says wait, nor to a rank that it does not show, nor a piece that is
       held or on several ranks;
    2. no piece is ordered again while it is under way, and within its rest only when its load has really
       changed since it arrived; within an hour it does not go back to where it came from otherwise, but once
       when its move made it worse, or left that rank with much room, and no other rank will do;
    3. what is under way counts at its target until it was seen there;
    4. never more under way than the limits allow, but for one piece that is larger than all of them, and a
       part for what is new;
    5. what nobody uses is moved only while there is nothing else to do, once an hour at most, and where that
       is likely to save more than it costs;
    6. only what could not be moved as a whole, and has no lasting parts, or has given them away, is
       scattered, and once;
    7. what is too large for every rank is taken apart where it is, but what has many parts on the highest
       that is not slow, and that nothing else comes to for that, unless it is too much to be moved once more,
       or did not come there, or all that are higher are full;
    8. what waits at a rank is shared out only while all are full, the load itself is even, and all that was
       moved is seen as it is now;
    9. moves that have cost much are not followed by others that relieve a rank until it is seen what they
       have brought; if that is not worth it, for a while only by what costs next to nothing;
    10. it is one again when little was asked of it for a day, while there is nothing else to do; a pin is
       taken off only of what stays where it is.
    """

    def __init__(self, state: State, view: View, limits: Limits) -> None:
        self._look = Look.at(looked(state, view, limits), view, limits)

    def decide(self) -> tuple[State, Decision]:
        """The next state, and what to do."""
        early = _not_yet(self._look)
        if early is not None:
            return early[0], Decision(why=early[1])
        look, new = _place(self._look)
        if look.view.measured:
            state, why = uneven(look)
        elif look.pieces.keys() <= look.state.demand.keys():
            state, why = look.state, "nothing was measured since"
        else:
            return look.state, Decision(why="what is new is not measured yet")
        state, decision = _decided(look.then(state), why)
        if not new:
            spent = look.budgets.spent_on_the_new() if any(p.fresh for p in look.view.pieces) else ""
            return state, replace(decision, why=f"{decision.why}; {spent}") if spent else decision
        get = "new directory gets" if len(new) == 1 else "new directories get"
        told = f"{len(new)} {get} a rank; {decision.why}"
        return state, replace(decision, moves=(*new, *decision.moves), why=told)


def _decided(look: Look, why: str) -> tuple[State, Decision]:
    """What is done with what is not new; why: it acts, or does not"""
    state, decision = _arranged(look, Decision(why=why))
    if state.acting and not decision.something:
        state, decision = _balance(look.then(state))
    state, decision = raised(look.then(state), decision)
    if look.view.measured and not look.view.again:
        state, decision = relieved(look.then(state), decision)
    busy = decision.something or state.awaited or easing(state) or state.series.dear
    if look.view.measured and not busy:
        state, decision = spare(look.then(state), decision)
    return state, decision


def _not_yet(look: Look) -> tuple[State, str] | None:
    """Why nothing is decided in this look, whatever the load is, and the state then."""
    state, view = replace(look.state, even=False), look.view
    if view.wait:
        return replace(state, held=0, crowd=Crowd()), view.wait
    if len(view.ranks) < 2:
        return replace(state, held=0, acting=False, crowd=Crowd()), "one rank only"
    if not any(r.requests for r in view.ranks):
        return replace(state, held=0, acting=False, crowd=Crowd()), "idle"
    young = _young(look)
    if young is not None:
        why = f"rank {young} has come, or come back, just now: its load is not yet what it will be"
        return replace(state, held=0, crowd=Crowd()), why
    return None


def _young(look: Look) -> int | None:
    """A rank that is new here, or was away: clients that waited for it come by and by."""
    seen = {r.rank: len(look.state.rates.get(r.rank, ())) for r in look.view.ranks}
    least = min(seen, key=lambda rank: (seen[rank], rank))
    enough = min(KEPT, max(2, round(GROWN / look.state.dt)))  # no more looks than that are remembered
    return least if seen[least] < enough <= max(seen.values()) else None


def _place(look: Look) -> tuple[Look, tuple[Move, ...]]:
    """What is new is given a rank before it has a load: it waits for no sign, and relieves nobody."""
    if not (look.view.measured and any(piece.fresh for piece in look.view.pieces)):
        return look, ()
    known = {past.move.ino for past in look.state.past}
    budgets = look.budgets
    room = max(0, min(budgets.moves(), budgets.pins_of_the_new(), budgets.unhurried_today()))
    away = look.together.keys() | look.state.split | look.kept
    single = [p for p in look.view.pieces if p.ino not in away]
    found = ranks_of_new(single, known, look.loads, look.trusted)[:room]
    empty = [m for m in found if m.inodes <= EMPTY]
    others = sorted((m for m in found if m.inodes > EMPTY), key=lambda m: m.inodes)
    taken, left = accumulate(move.inodes for move in others), budgets.of_the_new()
    moves = (*empty, *(m for m, so_far in zip(others, taken) if so_far <= left))
    return replace(look.begun(moves), placed=len(moves)), moves


def _arranged(look: Look, decision: Decision) -> tuple[State, Decision]:
    """What is in parts goes to one rank, if that is quicker; or what is left of it to the highest, if that
    takes few pins, and relieves its rank of more than moves can: what ranks serve is another matter then."""
    state, decision = _gathered(look, decision)
    return raised(look.then(state), decision, first=True)


def _gathered(look: Look, decision: Decision) -> tuple[State, Decision]:
    """What is better off on one rank goes there, as the budgets allow."""
    state, budgets = look.state, look.budgets
    may = max(0, min(budgets.moves(), budgets.pins()))
    if look.view.measured and not look.view.advised and may:
        wholes = found_better(state.wholes, look.view.pieces, look.linked, look.view.now)
        state = replace(state, wholes=wholes) if wholes != state.wholes else state
    look = look.then(state)
    if not look.together:
        return state, decision
    coming = {past.move.ino for past in budgets.coming}
    # What is under way to there, or did not come; a pin that was just set is not read yet.
    resting = {
        (p.move.ino, p.move.target)
        for p in state.past
        if look.view.now - max(p.begun, p.arrived) < (look.limits.rest if p.lost else READ)
    }
    asked = {ino: look.expected.load(look.pieces[ino]) for ino in look.together}
    home = homewards(look.together, look.pieces, asked, look.loads.keys())
    may_go = [m for m in home if m.ino not in look.linked]
    found = [m for m in may_go if m.ino not in coming and (m.ino, m.target) not in resting]
    left, moves = budgets.inodes(), list[Move]()
    for move in found[:may]:
        alone = not (budgets.arriving or moves) and left > 0.0
        if move.inodes <= left or alone:
            moves.append(move)
            left -= move.inodes
    if not moves:
        return state, decision
    return look.begun(moves).state, Decision(tuple(moves), why=f"{count(moves)}: {moves[0].why}")


def _balance(look: Look) -> tuple[State, Decision]:
    """What is done about it that the load is uneven."""
    slower = doubtful(look)
    if slower is not None:
        return look.state, Decision(
            why=f"rank {slower} is full, and serves less than it should: it is soon known what it can do"
        )
    state, decision = _act(look)
    if decision.something or state.awaited or beyond(look):
        return state, decision
    return replace(state, acting=False), decision  # a rank is idle, and nothing fits there


def _act(look: Look) -> tuple[State, Decision]:
    """The next moves; else what is taken apart; else what is scattered."""
    here, why = apart.at_once(look)
    if here:
        return apart.opened(look.state, here, look.pieces), Decision(split=here, why=why)
    dear = look.state.series.told(look.view.now)
    if dear:
        return _cheap(look, dear)
    under_way, inodes = look.state.awaited, look.budgets.inodes()
    budget = Budget(look.budgets.moves(), inodes, not under_way and inodes > 0.0, look.budgets.late())
    may = candidates(look)
    look, found, stuck = _first(look, may, budget)
    wanted = apart.wanted(look, may, stuck)
    higher = apart.higher(look, wanted)
    split = tuple(ino for ino in wanted if ino not in higher)
    lifted = apart.lifted(look, higher, budget)
    if lifted or split:
        # What goes besides is chosen as if all this were in its parts already.
        look = look.then(replace(look.state, apart=look.state.apart | {m.ino for m in lifted}))
        left = inodes - sum(m.inodes for m in lifted)
        rest = replace(budget, moves=budget.moves - len(lifted), inodes=left, idle=budget.idle and not lifted)
        found, stuck = chosen(look, candidates(look), rest, sources(look), split)
    moves = paying(look, found)
    spread = () if moves or wanted else scattered(look, [rank for rank in stuck if rank in look.busy])
    if stuck and not (moves or wanted or spread):
        moves = paying(look, chosen(look, candidates(look, left=True), budget, stuck)[0])
    ordered = (*lifted, *moves)
    state = apart.opened(_begun(look, ordered, moves), split, look.pieces)
    if spread:
        return _with_scattered(state, look.view.now, spread)
    if lifted:
        return state, Decision(ordered, split, apart.told(look, [m.ino for m in lifted], "to be "))
    return state, Decision(ordered, split, _said(look, moves, split, under_way, stuck))


def _cheap(look: Look, dear: str) -> tuple[State, Decision]:
    """Of moves only those that cost next to nothing. dear: why"""
    look = look.then(apart.opened(look.state, (), look.pieces))
    most = look.state.series.cheap(look.price)
    may = [candidate for candidate in candidates(look) if candidate.inodes <= most]
    budget = Budget(look.budgets.moves(), min(most, look.budgets.inodes()), False)
    look, found, _ = _first(look, may, budget)
    moves = paying(look, found)
    if not moves:
        return look.state, Decision(why=dear)
    told = f"{count(moves)} of {sum(m.inodes for m in moves):,.0f} inodes; {dear}"
    return _begun(look, moves, moves), Decision(moves, why=told)


def _begun(look: Look, moves: Sequence[Move], relief: Sequence[Move]) -> State:
    """relief: of these moves, those that are made for their load"""
    demand, state = look.state.demand, look.begun(moves).state
    return replace(state, untold={**state.untold, **{move.ino: demand[move.ino].mean for move in relief}})


def _first(look: Look, may: Sequence[Candidate], budget: Budget) -> tuple[Look, list[Choice], list[int]]:
    """What is expected when the first moves are made, these, and ranks that none relieves."""
    later = ahead(look)
    found, stuck = chosen(later, may, budget, sources(later))
    less = without(later, {choice.key for choice in found} | look.expected.bound.keys())
    return (later, found, stuck) if less is later else (less, *chosen(less, may, budget, sources(less)))


def _with_scattered(state: State, now: float, spread: Sequence[Scatter]) -> tuple[State, Decision]:
    done = {s.ino: Scattered(s.ranks, now, inodes=s.inodes) for s in spread}
    more = f" (and {len(spread) - 1} more)" if len(spread) > 1 else ""
    decision = Decision(why=f"{spread[0].why}{more}", scatter=tuple(spread))
    return replace(state, scattered={**state.scattered, **done}), decision


def _said(
    look: Look, moves: Sequence[Move], split: Sequence[int], under_way: Sequence[Move], stuck: Sequence[int]
) -> str:
    if moves:
        return f"{count(moves)} of {sum(m.inodes for m in moves):,.0f} inodes"
    if split:
        return apart.told(look, split)
    if under_way:
        return f"{count(under_way)} under way"
    if look.budgets.spent():
        return look.budgets.spent()
    if not look.pieces:
        return "no directory is known that could be moved"
    roams = look.state.roams
    if look.lasts < look.limits.horizon:
        goes = f"what fills rank {roams.rank} goes elsewhere by itself, after {roams.usual:.0f} s on the mean"
        return f"{goes}: 'mds_partitioner balance on' is for loads as quick as that"
    return _too_much(look, stuck[0]) if stuck else _not_worth(look)


def _not_worth(look: Look) -> str:
    """Why nothing is moved though it could be."""
    later = worth_it_later(look, candidates(look))
    if not later:
        return "nothing is worth a move"
    takes, rank = min((seconds, of.rank) for of, seconds in later.items())
    return f"what is on rank {rank} is worth a move when the load has been uneven for {takes:,.0f} s"


def _too_much(look: Look, rank: int) -> str:
    """Why nothing relieves a rank."""
    if rank in look.view.untold:
        return f"rank {rank} has too much: its MDS has not told yet of what ('dump loads')"
    if any(p.rank == rank and p.ino in look.linked for p in look.view.pieces):
        why = "what hard links may be made in is not divided, nor parted from what they may lead to"
        return f"rank {rank} has too much: {why}"
    if rank not in apart.crowded(look):
        return f"rank {rank} has more than its share, but is far from full: nothing on it is taken apart"
    beside = look.state.rest.get(rank, 0.0)
    if beside > look.shares[rank]:  # whatever is moved
        told = f"as far as its MDS tells, {beside:.0f} req/s are for what {_rested(look, rank, beside)}"
        return f"rank {rank} has too much: {told}"
    own = [c for c in candidates(look) if c.rank == rank]
    gains = gained(look, own)
    if own and not any(pays(gains[c.key], c.inodes) for c in own for pays in (look.pays, look.will_pay)):
        return f"rank {rank} has too much: what is on it costs more to move than that brings within an hour"
    most = max((p for p in look.view.pieces if p.rank == rank), key=look.expected.load, default=None)
    if most is not None and look.expected.load(most) >= MOSTLY * look.loads[rank]:
        why = refused(look, most) or "it fits nowhere else"
        has = f"{look.expected.load(most):.0f} of its {look.loads[rank]:.0f} req/s are for {most.path}"
        return f"rank {rank} has too much: {has}: {why}"
    return f"rank {rank} has too much: what is on it fits nowhere else, or was moved lately"


def _rested(look: Look, rank: int, rest: float) -> str:
    """What these are that are no piece's, by what most of them are. rest: req/s"""
    known = look.view.beside.get(rank, Beside())
    if known.uncounted > MOSTLY * rest:
        return "it counts in no directory, as locks of files, and lookups of names that are not there"
    if known.purged > MOSTLY * rest:
        return "the volumes module deletes ('/volumes/_deleting'): it ends by itself"
    return "cannot be moved, as files right in '/', or what is on several ranks"
