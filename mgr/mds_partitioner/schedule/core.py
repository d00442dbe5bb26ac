# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decides, look after look, what to move next: no I/O, no clock, no thread. Its memory is a value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from statistics import median

from ..engine.urgency import urgency
from ..model import NO_PIN
from .apart import come, opened
from .budgets import Budgets
from .choose import Budget, Candidate, Choice, choose, shares
from .demand import HELD
from .elastic import TOLD
from .expectation import Expectation
from .learn import looked
from .load import capacities, pressures, utilisations
from .newcomers import placed
from .reunite import Reunion, due, joined
from .scatter import scatter
from .sleepers import ASLEEP, EMPTY, LEFT, SEEN, Stakes, expected, spread
from .state import Limits, Past, Scattered, State
from .view import Decision, Move, Piece, Scatter, View

BAND = 0.1  # above its share: nearer than that is even
WIDEST = 0.3  # that noise makes of it
MEDIAN_STEP = 0.954  # of the distances of two draws, in standard deviations (normal)
NOISES = 2.0  # standard deviations of what is measured that are no difference
FAR = 0.85  # an importer has at most this part of the exporter's utilisation
GROWN = 30.0  # s, until a rank's load is what it will be
URGENT = 0.7  # beside a rank so much emptier, one look at a full one is enough (FoundationDB)
REALLY = 2.0  # times: a load that changed so much is another load


class Scheduler:
    """One look.

    Invariant, whatever the looks are:

    1. nothing is ordered while the view says wait, nor to a rank that it does not show, nor a piece that is
       held or on several ranks;
    2. no piece is ordered again while it is under way, and within its rest only when its load has really
       changed since it arrived; within an hour it does not go back to where it came from otherwise, but once
       when its move made it worse and no other rank will do;
    3. what is under way counts at its target until it was seen there;
    4. never more under way than the limits allow, but for one piece that is larger than all of them;
    5. what nobody uses is moved only while there is nothing else to do, once an hour at most, and where that
       is likely to save more than it costs;
    6. only what could not be moved as a whole, and has no lasting parts, or has given them away, is
       scattered, and once;
    7. what is too large for every rank is taken apart on the highest, but where it is when it is too much to
       be moved once more, or did not come there;
    8. it is one again when little was asked of it for a day, while there is nothing else to do; a pin is
       taken off only of what stays where it is.
    """

    def __init__(self, state: State, view: View, limits: Limits) -> None:
        self._view, self._limits = view, limits
        self._pieces = {piece.ino: piece for piece in view.pieces}
        self._state = looked(state, view, limits)
        known = {r.rank: self._state.capacity[r.rank] for r in view.ranks if r.rank in self._state.capacity}
        self._capacity = capacities(view.ranks) | known
        self._full = {r.rank for r in view.ranks if r.full}
        self._expected = Expectation(self._state, view, limits)
        self._placed = 0  # new ones, in this look

    def _now(self, state: State) -> State:
        """From here on it is so."""
        self._state, self._expected = state, Expectation(state, self._view, self._limits)
        return state

    def decide(self) -> tuple[State, Decision]:
        """The next state, and what to do."""
        early = self._not_yet()
        if early is not None:
            return early[0], Decision(why=early[1])
        state, view = self._state, self._view
        new = self._new() if view.measured else ()
        if view.measured:
            state, why = self._uneven()
        elif self._pieces.keys() <= state.demand.keys():
            why = "nothing was measured since"
        else:
            return state, Decision(why="what is new is not measured yet")
        decision = Decision(why=why)
        if state.acting:
            state, decision = self._act(state, self._expected.loads())
        if view.measured and not (new or decision.something or state.moving):
            state, decision = self._ahead(state, decision)
            if not (decision.something or state.acting):
                state, decision = self._reunite(state, decision)
        if not new:
            return state, decision
        told = f"{len(new)} new directories get a rank; {decision.why}"
        return state, replace(decision, moves=(*new, *decision.moves), why=told)

    def _not_yet(self) -> tuple[State, str] | None:
        """Why nothing is decided in this look, whatever the load is, and the state then."""
        state, view = self._state, self._view
        if view.wait:
            return replace(state, held=0), view.wait
        if len(view.ranks) < 2:
            return state, "one rank only"
        if not any(r.requests for r in view.ranks):
            return replace(state, held=0, acting=False), "idle"
        young = self._young()
        if young is not None:
            why = f"rank {young} has come, or come back, just now: its load is not yet what it will be"
            return replace(state, held=0), why
        return None

    def _young(self) -> int | None:
        """A rank that is new here, or was away: clients that waited for it come by and by."""
        seen = {r.rank: len(self._state.rates.get(r.rank, ())) for r in self._view.ranks}
        least = min(seen, key=lambda rank: (seen[rank], rank))
        enough = max(2, round(GROWN / self._state.dt))
        return least if seen[least] < enough <= max(seen.values()) else None

    def _act(self, state: State, load: Mapping[int, float]) -> tuple[State, Decision]:
        here = come(state, self._pieces)
        if here:
            return opened(state, here, self._pieces), Decision(split=here, why=self._parts(here))
        under_way = state.moving
        inodes = self._budgets.inodes()
        budget = Budget(self._budgets.moves(), inodes, not under_way and inodes > 0.0)
        may = self._candidates()
        chosen, stuck = self._chosen(may, load, budget)
        wanted = () if self._budgets.spent() else self._split(may, stuck, load)
        higher = self._higher(wanted, load)
        split = tuple(ino for ino in wanted if ino not in higher)
        lifted = self._lifted(higher, load, budget)
        if lifted:
            # What goes besides is chosen as if all this were in its parts already.
            state = self._now(replace(state, apart=state.apart | {m.ino for m in lifted}))
            load, inodes = self._expected.loads(), inodes - sum(m.inodes for m in lifted)
            left = Budget(budget.moves - len(lifted), inodes, idle=False)
            chosen, stuck = self._chosen(self._candidates(), load, left)
        moves = tuple(self._move(c) for c in self._within_pins([c for c in chosen if self._pays(c)]))
        scattered = () if moves or wanted else self._scatter(stuck, load)
        ordered = (*lifted, *moves)
        past = (*state.past, *map(self._begun, ordered))
        untold = {**state.untold, **{move.ino: state.demand[move.ino].mean for move in moves}}
        state = opened(replace(state, past=past, untold=untold), split, self._pieces)
        if not scattered:
            why = self._parts([m.ino for m in lifted], "to be ") if lifted else ""
            return state, Decision(ordered, split, why or self._said(moves, split, under_way, stuck))
        done = {s.ino: Scattered(s.ranks, self._view.now) for s in scattered}
        state = replace(state, scattered={**state.scattered, **done})
        more = f" (and {len(scattered) - 1} more)" if len(scattered) > 1 else ""
        return state, Decision(why=f"{scattered[0].why}{more}", scatter=scattered)

    def _chosen(
        self, may: Sequence[Candidate], load: Mapping[int, float], budget: Budget
    ) -> tuple[list[Choice], list[int]]:
        """Moves, and ranks that none relieves."""
        # Where the unevenness as a whole does no harm, ranks that are not full may stay as they are.
        sources = None if self._view.harmful else self._full & load.keys()
        pressure = pressures(self._view.ranks)
        return choose(may, load, self._capacity, pressure, self._band, budget, sources)

    @property
    def _budgets(self) -> Budgets:
        return Budgets(self._state, self._view, self._limits, self._placed)

    def _said(
        self, moves: Sequence[Move], split: Sequence[int], under_way: Sequence[Move], stuck: Sequence[int]
    ) -> str:
        if moves:
            return f"{_moves(moves)} of {sum(m.inodes for m in moves):.0f} inodes"
        if split:
            return self._parts(split)
        if under_way:
            return f"{_moves(under_way)} under way"
        if self._budgets.spent():
            return self._budgets.spent()
        if stuck:
            return f"nothing on rank {stuck[0]} fits elsewhere, or it rests"
        return "nothing is worth a move"

    def _new(self) -> tuple[Move, ...]:
        """What is new is given a rank before it has a load: it waits for no sign, and relieves nobody."""
        if not any(piece.fresh for piece in self._view.pieces):
            return ()
        known = {past.move.ino for past in self._state.past}
        room = max(0, min(self._budgets.moves(), self._budgets.pins()))
        found = placed(self._view.pieces, known, self._expected.loads(), self._capacity)[:room]
        inodes = accumulate(move.inodes for move in found)
        moves = tuple(m for m, taken in zip(found, inodes) if taken <= self._limits.inodes)
        self._placed = len(moves)
        self._now(replace(self._state, past=(*self._state.past, *map(self._begun, moves))))
        return moves

    def _ahead(self, state: State, decision: Decision) -> tuple[State, Decision]:
        """What sleeps is spread while there is nothing else to do."""
        view, limits = self._view, self._limits
        resting = {p.move.ino for p in state.past}
        pace = self._budgets.unhurried()
        moves = min(pace.moves, int(limits.pins * LEFT - view.pins))
        sleepers = self._asleep()
        since = max(state.began, view.now - limits.memory)
        late = expected(state.wakes, view.now, since, len(sleepers), limits.horizon)
        by = Stakes(self._price, pace.inodes, moves, pace.idle)
        found = spread(sleepers, self._capacity, late, resting, by)
        if not found:
            return state, decision
        past = (*state.past, *map(self._begun, found))
        why = f"{_moves(found)} of what nobody uses now, as what slept woke lately; {decision.why}"
        return replace(state, past=past), replace(decision, moves=tuple(found), why=why)

    def _reunite(self, state: State, decision: Decision) -> tuple[State, Decision]:
        """What is in parts for nothing becomes one again, at the pace of what sleeps."""
        over = due(state.quiet)
        if not over or len(state.wakes) >= SEEN:  # what sleeps is spread where it wakes
            return state, decision
        load = self._expected.loads()
        most = 1.0 + self._band / 2.0  # a little more does not send them away again
        room = {rank: most * share - load[rank] for rank, share in shares(load, self._capacity).items()}
        resting = {past.move.ino for past in state.past}
        reunion = Reunion(self._view.pieces, state.split, over, resting, room)
        whole = reunion.whole()
        if whole:
            more = f" (and {len(whole) - 1} more)" if len(whole) > 1 else ""
            why = f"{self._pieces[whole[0]].path}{more} is seen as a whole again; {decision.why}"
            return joined(state, whole), replace(decision, whole=whole, why=why)
        asked = {piece.ino: self._expected.load(piece) for piece in self._view.pieces}
        found = reunion.moves(asked, self._budgets.unhurried())
        if not found:
            return state, decision
        why = f"{_moves(found)} of parts of what was little used for a day; {decision.why}"
        past = (*state.past, *map(self._begun, found))
        return replace(state, past=past), replace(decision, moves=found, why=why)

    def _asleep(self) -> list[Piece]:
        """Pieces that nobody uses and that may be moved; those under way where they will be. MDSs export
        nothing that is empty: it would be pinned for nothing, and counted where it stays."""
        away = self._state.split | self._state.apart | self._state.scattered.keys()
        may = (p for p in self._view.pieces if p.rank is not None and not p.held and p.ino not in away)
        idle = (
            p
            for p in may
            if p.inodes > EMPTY and self._state.demand[p.ino].mean <= ASLEEP * self._expected.share
        )
        return [
            replace(p, rank=self._expected.bound[p.ino].target) if p.ino in self._expected.bound else p
            for p in idle
        ]

    def _uneven(self) -> tuple[State, str]:
        """Is it time to act? A little above its share a rank may be for ever."""
        state = self._state
        more = self._expected.more()
        ranks = [replace(r, requests=r.requests + more.get(r.rank, 0.0)) for r in self._view.ranks]
        relative = utilisations(ranks, self._capacity)
        top = max(relative, key=lambda r: (relative[r], -r))
        lowest = min(relative.values())
        if not (relative[top] > 1.0 + self._band and lowest < FAR * relative[top]):
            return replace(state, held=0, acting=False), self._even
        full = any(r.full and relative[r.rank] > 1.0 for r in ranks)
        held = state.held + 1
        urgent = full and lowest < URGENT * relative[top]
        harm = full or self._view.harmful
        acting = (state.acting and harm) or urgent or (self._view.harmful and held >= HELD)
        why = f"rank {top} has {relative[top]:.2f} times its share"
        return replace(state, held=held, acting=acting), why

    @property
    def _even(self) -> str:
        blurred = f", as far as its noise lets be told: {self._band:.0%} of a share"
        return "even" + (blurred if self._band > BAND else "")

    @cached_property
    def _band(self) -> float:
        """How far above its share a rank may be."""
        rates = [row for r in self._view.ranks if (row := self._state.rates.get(r.rank))]
        mean = sum(sum(row) / len(row) for row in rates) / len(rates) if rates else 0.0
        noise = median(map(_noise, rates)) if rates else 0.0
        return max(BAND, min(WIDEST, NOISES * noise / mean if mean else 0.0))

    def _candidates(self, *, resting: bool = False) -> list[Candidate]:
        """What may be moved now, and where not to. resting: also what may be moved later."""
        last = {past.move.ino: past for past in self._state.past}
        # What is new was placed without a load, and what is lost was not moved.
        times = Counter(p.move.ino for p in self._state.past if p.move.load > 0.0 and not p.lost)
        turned, pins_left = self._turned(), self._budgets.pins()
        found = []
        for piece in self._view.pieces:
            if piece.held or piece.rank is None or piece.ino in self._state.split:
                continue
            if piece.ino in self._state.scattered or piece.ino in self._state.apart:
                continue  # a pin would end that; or it is another piece soon
            if piece.pin == NO_PIN and pins_left <= 0:
                continue
            past, avoid, back = last.get(piece.ino), -1, False
            if past is not None and not self._changed(past, piece, turned, times[piece.ino]):
                rest = self._limits.rest if times[piece.ino] <= 1 else self._limits.memory
                rests = self._view.now - past.arrived < rest
                wrong = (
                    not past.lost and piece.rank in self._full and times[piece.ino] == 1
                )  # its rank can do less than was thought
                if past.settled < 0.0 or (rests and not wrong and not resting):
                    continue
                avoid, back = past.move.source, wrong and self._worse(past)
            load = self._expected.load(piece)
            # What nobody has looked into yet is not squeezed in as a whole: it is known in a moment.
            divisible = piece.parts is None or piece.parts > 1
            found.append(Candidate(piece.ino, piece.rank, load, piece.inodes, divisible, avoid, back))
        return found

    def _begun(self, move: Move) -> Past:
        return Past(move, self._view.now, latency=self._state.latency.get(move.source, 0.0))

    def _worse(self, past: Past) -> bool:
        """Do its clients wait longer than they did, and than they would where it came from?"""
        now = self._state.latency
        there, back = now.get(past.move.target, 0.0), now.get(past.move.source, 0.0)
        return 0.0 < past.latency < there and there > TOLD * back

    def _turned(self) -> dict[int, float]:
        """By rank: when something on it that counts last changed for good, or something else was spread over
        several ranks; steady clock, s."""
        spread = max((s.begun for s in self._state.scattered.values() if not s.lost), default=-1.0)
        found = dict.fromkeys((r.rank for r in self._view.ranks), spread)
        for piece in self._view.pieces:
            demand = self._state.demand[piece.ino]
            if piece.rank is not None and demand.mean >= self._band * self._expected.share:
                found[piece.rank] = max(found.get(piece.rank, -1.0), demand.turned)
        return found

    def _changed(self, past: Past, piece: Piece, turned: Mapping[int, float], times: int) -> bool:
        """Is its load, or what it shares a rank with, really another one since it arrived? What others do
        counts once: they do not send it around."""
        if past.settled < 0.0 or past.lost or piece.rank is None:
            return False
        demand = self._state.demand[piece.ino]
        # What slept, or was new, when it moved was not moved for its load: that is as new as a stranger's.
        before, looks = (past.settled, HELD) if past.move.load > 0.0 else (0.0, 1)
        low, high = sorted((max(before, 1e-9), max(demand.mean, 1e-9)))
        own = high >= REALLY * low and demand.seconds >= looks * self._state.dt
        return own or (times <= 1 and turned.get(piece.rank, -1.0) > past.arrived)

    def _within_pins(self, choices: Sequence[Choice]) -> list[Choice]:
        """Up to the first that would be one pin too many."""
        new = accumulate(self._pieces[choice.key].pin == NO_PIN for choice in choices)
        return [choice for choice, pins in zip(choices, new) if pins <= self._budgets.pins()]

    def _pays(self, choice: Choice) -> bool:
        """Does it bring more than it costs? Clients of a rank that is not full gain little by its relief."""
        gain = choice.gain * self._urgency(choice.source)
        return gain * self._limits.horizon >= self._pieces[choice.key].inodes * self._price

    def _urgency(self, rank: int) -> float:
        """Of relieving it, 0 to 1."""
        if rank in self._full or not self._capacity[rank]:
            return 1.0
        requests = next(r.requests for r in self._view.ranks if r.rank == rank)
        return urgency(requests, self._capacity[rank], self._limits.smoothness)

    @cached_property
    def _price(self) -> float:
        """Requests that moving an inode costs."""
        return self._state.toll.or_else(self._limits.price)

    def _move(self, choice: Choice) -> Move:
        piece = self._pieces[choice.key]
        load, gain = self._expected.load(piece), choice.gain
        why = f"{load:.0f} req/s, relieves rank {choice.source} by {gain:.0f} req/s"
        last = next((p.move for p in reversed(self._state.past) if p.move.ino == piece.ino), None)
        if last is not None and last.source == choice.target:
            why = f"{why}; back where it came from"
        return Move(piece.ino, piece.path, choice.source, choice.target, load, gain, piece.inodes, why)

    def _higher(self, wanted: Sequence[int], load: Mapping[int, float]) -> list[int]:
        """Of what is to be taken apart, what goes to the highest rank before: most of its load will be on
        other ranks, and it is little enough to be moved once more."""
        highest, most, asked = max(load), self._most_that_fits(load), self._expected.load
        pieces = [p for p in map(self._pieces.__getitem__, wanted) if p.rank != highest and asked(p) > most]
        return [piece.ino for piece in pieces if piece.inodes <= self._limits.inodes]

    def _most_that_fits(self, load: Mapping[int, float]) -> float:
        """req/s of a piece that is not too large for every rank."""
        return (1.0 + self._band) * max(shares(load, self._capacity).values())

    def _lifted(self, higher: Sequence[int], load: Mapping[int, float], budget: Budget) -> tuple[Move, ...]:
        """Of what goes to the highest rank, what goes now."""
        highest, share, left = max(load), shares(load, self._capacity), budget.inodes
        found: list[Move] = []
        for piece in (self._pieces[ino] for ino in higher):
            alone = budget.idle and not found
            if piece.rank is None or len(found) >= budget.moves or not (alone or piece.inodes <= left):
                break
            asks = self._expected.load(piece)
            gain = min(asks, load[piece.rank] - share[piece.rank])
            why = f"{asks:.0f} req/s, to be taken apart: clients of its parts ask the lowest rank they know"
            found.append(Move(piece.ino, piece.path, piece.rank, highest, asks, gain, piece.inodes, why))
            left -= piece.inodes
        return tuple(found)

    def _parts(self, split: Sequence[int], when: str = "") -> str:
        more = f" and {len(split) - 1} more are" if len(split) > 1 else " is"
        return f"{self._pieces[split[0]].path}{more} {when}looked at as parts: as a whole it fits nowhere"

    def _split(
        self, may: Sequence[Candidate], stuck: Sequence[int], load: Mapping[int, float]
    ) -> tuple[int, ...]:
        """What is looked at as its parts: all that fits on no rank, of full ones and of that with most to do;
        else the largest piece of a rank that nothing relieves, if it has a good part of the load."""
        share, band = shares(load, self._capacity), self._band
        pressure = pressures(self._view.ranks)
        top = max(load, key=lambda r: (pressure[r], load[r], -r))
        parts = [c for c in may if (self._pieces[c.key].parts or 0) > 1]
        most = self._most_that_fits(load)
        large = tuple(c.key for c in parts if c.rank in {top, *self._full} and c.load > most)
        if large:
            return large
        for rank in stuck:
            own = [c for c in parts if c.rank == rank and c.load >= band * share[rank]]
            if own:
                return (max(own, key=lambda c: (c.load, -c.key)).key,)
        return ()

    def _waits(self, rank: int | None, load: Mapping[int, float]) -> bool:
        """Would a move relieve it that is only not to be made yet? Clients ask the wrong ranks for what is in
        fragments elsewhere, so that is for what nothing else will help."""
        later = self._candidates(resting=True)
        one = Budget(1, math.inf, True)
        pressure = pressures(self._view.ranks)
        return bool(
            rank is not None and choose(later, load, self._capacity, pressure, self._band, one, {rank})[0]
        )

    def _may_scatter(self, piece: Piece) -> bool:
        """Its parts may go to these ranks, and it was not tried yet."""
        if piece.held or not piece.scatters or piece.ino in self._state.scattered:
            return False
        along = self._along(piece)
        if piece.parts != 0 and not (piece.files and along is not None):
            return False
        inodes = piece.inodes + sum(p.inodes for p in along or ())
        pays = self._expected.load(piece) * self._limits.horizon >= inodes * self._price
        if inodes > self._limits.inodes or not pays:
            return False
        return set(piece.scatters) <= {r.rank for r in self._view.ranks}

    def _along(self, piece: Piece) -> list[Piece] | None:
        """Of what is seen as its parts, those that would go along with its files; None: it is not, or too
        much is asked of them."""
        if piece.ino not in self._state.split:
            return None
        beside = (p for p in self._view.pieces if p.within == piece.ino and p.rank == piece.rank)
        along = [p for p in beside if p.pin == NO_PIN]
        asked = sum(map(self._expected.load, along))
        return along if asked <= self._band * self._expected.share else None

    def _scatter(self, stuck: Sequence[int], load: Mapping[int, float]) -> tuple[Scatter, ...]:
        """Of what comes and goes on ranks that nothing else relieves, what brings most. It need not rest: it
        does not come back from there."""
        pieces = (p for p in self._view.pieces if p.rank in stuck and p.ino not in self._expected.bound)
        may = [
            (piece, self._expected.load(piece))
            for piece in pieces
            if self._may_scatter(piece) and not (piece.files and self._waits(piece.rank, load))
        ]
        return scatter(may, load, shares(load, self._capacity), self._band)


def _moves(moves: Sequence[Move]) -> str:
    return f"{len(moves)} move{'' if len(moves) == 1 else 's'}"


def _noise(rates: Sequence[float]) -> float:
    """Standard deviation of a rate, req/s, from how it differs from look to look: one jump does not count."""
    steps = [abs(b - a) for a, b in zip(rates, rates[1:])]
    return median(steps) / MEDIAN_STEP if steps else 0.0
