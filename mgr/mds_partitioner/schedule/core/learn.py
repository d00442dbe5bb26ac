# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a look teaches: from the state before to the state with what the view shows taken in. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...engine.inside import CROWD
from . import meanwhile
from .arrivals import followed, settled
from .demand import BEGINS, HELD, Demand, first
from .elastic import elasticity
from .load import capacities, pressed
from .noise import BAND, band
from .reunite import highest, quiet
from .series import Series, level
from .state import FIRST, KEPT, Limits, Past, State, parted
from .together import seen
from .toll import Toll, usual
from .turns import Served, Stay, Told, lasting, remembered, shared_out, stays
from .view import Piece, RankView, View
from .wakes import Wake, grown, jumped, woken

FORGETS = 0.1  # of how it was before something moved, in a look: loads go meanwhile, too
RISES = 4.0  # times what its pieces are expected to ask for, at most: else that is not known yet
LEAST = 0.1  # times, likewise: with less a rank is about to serve nothing
REPORTED = 1.5  # looks, in which each rank has told what it serves since
MISSING = 2.5  # times what is usual between two looks: some were not taken, or they are rarer from now on
RARER = 1.5  # times that, at most, is what is usual after one such


def looked(state: State, view: View, limits: Limits) -> State:
    """With what the view shows taken in."""
    if view.wait:
        there = {r.rank: state.rates[r.rank] for r in view.ranks if r.rank in state.rates}
        waited = max(0.0, view.now - state.at) if state.at >= 0.0 else 0.0
        same = there.keys() == state.rates.keys()
        series = state.series.later(waited, limits.horizon) if same else Series()
        return replace(state, at=view.now, rates=there, before=(), crowded={}, waited=view.now, series=series)
    awaited = {past.move.ino for past in state.past if past.under_way or past.settled < 0.0}
    where = {piece.ino: piece.rank for piece in view.pieces if piece.ino in awaited}
    remembered = (p for p in state.past if p.arrived < 0.0 or view.now - p.begun <= limits.memory)
    past = tuple(
        followed(p, where, view, state, limits) if p.under_way or p.settled < 0.0 else p for p in remembered
    )
    # What is new takes no load along: its ranks are seen as they are.
    moving = [p.move for p in past if p.under_way and p.move.load > 0.0 and not state.hangs(p, view.now)]
    stale = frozenset(rank for move in moving for rank in (move.source, move.target))
    # By their last reports they have it.
    stale |= {left.move.source for left in parted(past, state.split, view.now, REPORTED * state.dt)}
    if not view.measured:
        return replace(state, past=past, stale=state.stale | stale)
    return _taught(
        _Lesson(state, view, past, bool(moving), stale, limits.memory, limits.horizon).learned(), view
    )


@dataclass(frozen=True)
class _Lesson:
    """A look at which something was measured, and what follows of it.

    :ivar state: before it
    :ivar past: with how far each got
    :ivar moving: something is under way
    :ivar stale: the ranks that it moves from or to
    :ivar memory: s for which it is remembered what woke
    :ivar horizon: s, in which moves have to pay
    """

    state: State
    view: View
    past: tuple[Past, ...]
    moving: bool
    stale: frozenset[int]
    memory: float
    horizon: float

    def learned(self) -> State:
        """The state after it, but for what arrived pieces teach."""
        state, view = self.state, self.view
        return replace(
            state,
            at=view.now,
            dt=self.dt,
            pace=max(FIRST, min(self.dt, RARER * state.pace)),
            past=settled(self._reweighed, view, self.demand, self.stale),
            demand=self.demand,
            told=self._told_at(),
            rest=self.rest,
            scale=self._scales(),
            stale=self.stale,
            rates=self.rates,
            moved=self.moved,
            band=band([(row, self.moved[rank]) for rank, row in self.rates.items()], state.band),
            capacity=self._capacities(),
            latency={r.rank: _latency(r, state, self.stale) for r in view.ranks},
            grown=_grown(view, state, self.demand, self.stale),
            crowded=self._crowded(),
            began=state.began if state.began >= 0.0 else view.now,
            calm=self._calm(),
            calms=state.calms if self.restless or view.again else (*state.calms, self.requests)[-KEPT:],
            toll=self.toll,
            series=self._series(),
            asleep=self.sleep[0],
            wakes=self.wakes,
            stay={parent: part for parent, part in self.stay.items() if parent in state.split},
            before=self._before,
            quiet=quiet(
                state.quiet, state.split, view.pieces, self.demand, self.past, self.share, self.peak, self.dt
            ),
            peak=self.peak,
            linked=state.linked.seen(view.ranks, view.pieces, view.now),
            wholes=seen(state.wholes, state.split, state.placed, view, self.stale),
        )

    @cached_property
    def dt(self) -> float:
        """s between two looks at new reports."""
        if self.view.again and self.state.at >= 0.0:
            return self.state.dt
        return self.view.now - self.state.at if self.state.at >= 0.0 else FIRST

    def _rates(self, rank: int) -> tuple[float, ...]:
        """req/s of a rank, at the looks before."""
        before = self.state.rates.get(rank, ())
        return before[:-1] if self.view.again else before

    @cached_property
    def rates(self) -> dict[int, tuple[float, ...]]:
        """The same with this look."""
        return {r.rank: (*self._rates(r.rank), r.requests)[-KEPT:] for r in self.view.ranks}

    @cached_property
    def moved(self) -> dict[int, tuple[bool, ...]]:
        """By rank, at the same looks: did something move from or to it?"""
        return {rank: self._moved(rank)[-len(row) :] for rank, row in self.rates.items()}

    def _moved(self, rank: int) -> tuple[bool, ...]:
        before = self.state.moved.get(rank, ())
        return (*(before[:-1] if self.view.again else before), rank in self.stale | self.state.stale)

    @cached_property
    def requests(self) -> float:
        """req/s of all ranks."""
        return sum(r.requests for r in self.view.ranks)

    @cached_property
    def share(self) -> float:
        """The same of a rank, on the mean."""
        return self.requests / max(1, len(self.view.ranks))

    @cached_property
    def peak(self) -> float:
        """The same at its most of late."""
        return highest(self.state.peak, self.share, self.dt)

    @cached_property
    def told(self) -> list[Piece]:
        """Parts on one rank that has told their popularity anew."""
        parts = (p for p in self.view.pieces if p.within and p.rank is not None)
        return [p for p in parts if self._anew(p.ino)]

    @cached_property
    def stay(self) -> dict[int, Stay]:
        """How much of what was taken out of a directory stays on the same of its parts."""
        known = [p for p in self.told if p.ino not in self._coming]
        return stays(known, self.state.before, self.state.stay, self.view.now, self.stale)

    @cached_property
    def shared(self) -> dict[int, float]:
        """req/s of each piece, by what its siblings have, too."""
        lasts = lasting(self.view.pieces, self._before, self.view.now)
        return shared_out(self.view.pieces, self.stay, lasts)

    @cached_property
    def _parted(self) -> set[int]:
        """What is left of directories of which parts came to be known, with a good part of the load."""
        before, came = self.state.demand, defaultdict[int, float](float)
        for piece in self.view.pieces:
            if piece.within in before and piece.ino not in before:
                came[piece.within] += self.shared[piece.ino]
        return {head for head, load in came.items() if load > BAND * before[head].mean}

    @cached_property
    def demand(self) -> dict[int, Demand]:
        """By inode number."""
        full = {r.rank for r in self.view.ranks if r.full}
        before, shared, dt, now = self.state.demand, self.shared, self.dt, self.view.now
        hidden, changed = {None, *self.stale}, self.state.stale  # by moves: then it is a new load
        found = {}
        for piece in self.view.pieces:
            ino, rank = piece.ino, piece.rank
            known = None if ino in self._parted else before.get(ino)
            if known is None or (rank in changed and rank not in hidden):
                found[ino] = first(shared[ino], dt)
            elif ino in self._meanwhile and ino not in self._coming:
                found[ino] = meanwhile.corrected(known, self._meanwhile[ino] / _usual(self.state.scale, rank))
            elif rank in hidden or not self._anew(ino):
                found[ino] = known  # an old answer tells nothing once more
            else:
                span = max(dt, now - self.state.told.get(ino, now))
                found[ino] = known.seen(shared[ino], span, now, 1 if rank in full else HELD)
        return found

    @cached_property
    def _coming(self) -> dict[int, Past]:
        """What is not seen yet where it goes to, by inode number."""
        return {past.move.ino: past for past in self.past if past.settled < 0.0}

    @cached_property
    def _meanwhile(self) -> dict[int, float]:
        """req/s of parts on ranks that something moves from or to, by inode number."""
        coming, scale, demand = self._coming, self.state.scale, self.state.demand
        blurred = [p for p in self.told if p.rank in self.stale and p.ino not in self._parted]
        parts = [part for part in blurred if meanwhile.known(coming.get(part.ino))]
        before = {p.ino: demand[p.ino].mean * _usual(scale, p.rank) for p in parts if p.ino in demand}
        before |= {ino: past.move.load for ino, past in coming.items() if past.move.load > 0.0}
        return meanwhile.shared_meanwhile(parts, self.shared, before)

    @cached_property
    def _reweighed(self) -> tuple[Past, ...]:
        """What was begun, by what is known of it meanwhile."""
        rates = self._meanwhile

        def now(past: Past) -> Past:
            rate = rates.get(past.move.ino) if past.settled < 0.0 else None
            return past if rate is None else meanwhile.reweighed(past, rate)

        return tuple(map(now, self.past))

    @cached_property
    def rest(self) -> dict[int, float]:
        """By rank: req/s that are no piece's."""
        shown: dict[int | None, float] = defaultdict(float)
        for piece in self.view.pieces:
            shown[piece.rank] += piece.requests
        return {r.rank: self._rest(r, shown[r.rank]) for r in self.view.ranks}

    def _rest(self, rank: RankView, seen: float) -> float:
        """req/s of a rank that are no piece's. ``seen``: that are, req/s."""
        known, found = self.state.rest.get(rank.rank), max(0.0, rank.requests - seen)
        if known is not None and rank.rank in self.stale:
            return known
        last = self._rates(rank.rank)
        # Clients that begin look up the way to what they use, and then no more.
        if known is not None and last and rank.requests > BEGINS * last[-1] and found <= seen:
            return min(known, found)
        return found

    @cached_property
    def sleep(self) -> tuple[dict[int, bool], tuple[Wake, ...]]:
        """What sleeps after this look, and what woke in it."""
        state = self.state
        asleep, wakes = woken(state.asleep, state.demand, self.demand, self.view)
        return asleep, tuple(replace(wake, pressed=wake.ino in self._pressed) for wake in wakes)

    @cached_property
    def _pressed(self) -> frozenset[int]:
        """Inode numbers of what is where there is little room."""
        ranks = pressed(self.view.ranks)
        return frozenset(piece.ino for piece in self.view.pieces if piece.rank in ranks)

    @cached_property
    def wakes(self) -> tuple[Wake, ...]:
        """All that is remembered."""
        now = self.view.now
        known = (w for w in self.state.wakes if now - w.at <= self.memory)
        return (*(grown(w, self.demand, self._pressed, now) for w in known), *self.sleep[1])

    @cached_property
    def toll(self) -> Toll:
        """What moving costs."""
        return _toll(self.state, self.past, self.requests, self.dt)

    @property
    def restless(self) -> bool:
        """Is what clients get through less than usual, or may be?"""
        return bool(self.moving or self.toll.due)

    @property
    def _parting(self) -> bool:
        """Is something about to be taken apart? As a whole it relieves nobody."""
        return self.state.acting and any(p.ino in self.state.apart for p in self.view.pieces)

    def _calm(self) -> float:
        calm = self.state.calm
        return max(self.requests, calm + (self.requests - calm) * FORGETS) if self.restless else self.requests

    def _series(self) -> Series:
        state, view = self.state, self.view
        if view.again or view.advised:  # nobody follows advice
            return state.series
        known = state.series if state.rates.keys() == {r.rank for r in view.ranks} else Series()
        return known.seen(
            level(state.calm, state.calms),
            self.requests,
            self.dt,
            restless=self.restless or self._parting,
            full=any(r.full for r in view.ranks),
            at=view.now,
            horizon=self.horizon,
        )

    def _scales(self) -> dict[int, float]:
        own: dict[int | None, float] = defaultdict(float)
        expected: dict[int | None, float] = defaultdict(float)
        shared, demand = self.shared, self.demand
        for piece in self.view.pieces:
            ino, rank = piece.ino, piece.rank
            own[rank] += shared[ino] - piece.requests
            expected[rank] += demand[ino].mean
        jumps = jumped(self.wakes, self.view.now, self.requests)
        served = {r.rank: r.requests - self.rest[r.rank] + own[r.rank] for r in self.view.ranks}
        return {r: _scale(r, self.state, expected[r], served[r], self.stale, jumps) for r in served}

    def _crowded(self) -> dict[int, float]:
        """A single report of many may be of a stall of a second; how it was while no look was taken is not
        known."""
        usual, now = self.state.pace, self.view.now
        missing = self.dt > MISSING * usual
        began, before = (now, {}) if missing else (now - min(self.dt, usual), self.state.crowded)
        return {r.rank: before.get(r.rank, began) for r in self.view.ranks if r.inside >= CROWD}

    def _capacities(self) -> dict[int, float]:
        able, known = capacities(self.view.ranks), self.state.capacity
        # Of ranks that served nothing when it was first looked at, none was known.
        return {r: (known.get(r) or able[r]) if r in self.stale else able[r] for r in able}

    def _told_at(self) -> dict[int, float]:
        before, now = self.state.told, self.view.now
        return {ino: now if self._anew(ino) else before.get(ino, now) for ino in self.demand}

    def _anew(self, ino: int) -> bool:
        """Has its rank told its popularity in this look?"""
        return self.view.told is None or ino in self.view.told

    @cached_property
    def _before(self) -> tuple[Told, ...]:
        known, now = self.state.before, self.view.now
        new = {p.ino: Served(p.rank, p.requests, now) for p in self.told if p.rank is not None}
        both = {**known[-1].served, **new} if known else new
        pieces = {p.ino for p in self.view.pieces}
        return remembered(known, Told(now, {ino: served for ino, served in both.items() if ino in pieces}))


def _usual(scale: Mapping[int, float], rank: int | None) -> float:
    """Times what its pieces are expected to have, that a rank serves; 1: it is not known, or next to none."""
    known = 1.0 if rank is None else scale.get(rank, 1.0)
    return known if known >= LEAST else 1.0


def _toll(state: State, past: Sequence[Past], requests: float, dt: float) -> Toll:
    """With what this look tells. requests: req/s that clients got through in the last ``dt`` s."""
    under_way = [p for p in past if p.begun <= state.at and p.move.load > 0.0 and not p.lost]
    arrived = sum(p.move.inodes for p in under_way if p.arrived > state.at)
    moving = arrived or state.toll.due or any(p.under_way for p in under_way)
    before = usual(state.calm, state.calms)
    return state.toll.seen(before, requests, dt, arrived) if moving else replace(state.toll, lost=0.0)


def _scale(
    rank: int, state: State, expected: float, served: float, stale: Collection[int], jumps: bool
) -> float:
    """A long mean comes late where all of a rank's load rises or falls together.

    :param expected: of its pieces, req/s
    :param served: of them now, req/s
    :param jumps: the load has gone elsewhere: what a rank serves now is what counts
    """
    before = state.scale.get(rank, 1.0)
    if rank in stale:
        return before
    now = min(RISES, max(0.0, served) / expected) if expected else 1.0
    new = jumps or rank in state.stale or rank not in state.scale
    return now if new else (before + now) / 2.0


def _latency(rank: RankView, state: State, stale: Collection[int]) -> float:
    """s; of a rank that served nothing, as it was."""
    before = state.latency.get(rank.rank, 0.0)
    if not rank.requests or (rank.rank in stale and before):
        return before
    now = rank.inside / rank.requests
    return (before + now) / 2.0 if before and rank.rank not in state.stale else now


def _grown(
    view: View, state: State, demand: Mapping[int, Demand], stale: Collection[int]
) -> dict[tuple[int, int], float]:
    """Of ranks that are seen as they are now, what became of all siblings that stayed: what others use is
    used by other clients."""
    found = {key: value for key, value in state.grown.items() if key[0] not in stale}
    now, before = defaultdict[tuple[int, int], float](float), defaultdict[tuple[int, int], float](float)
    seen = state.stale - frozenset(stale)
    for piece in view.pieces if seen else ():
        if piece.rank is None or piece.rank not in seen or piece.ino in state.untold:
            continue
        known = state.demand.get(piece.ino)
        if known is not None:
            before[piece.rank, piece.within] += known.mean
            now[piece.rank, piece.within] += demand[piece.ino].mean
    return found | {key: now[key] / value for key, value in before.items() if value > 0.0}


def _taught(state: State, view: View) -> State:
    """With what those teach that have arrived, when both ranks are seen as they are now."""
    told = state.elastic.keys() | state.untold.keys()
    there, last = {p.ino: p for p in view.pieces if p.ino in told}, {p.move.ino: p for p in state.past}
    untold: dict[int, float] = {}
    elastic = {ino: value for ino, value in state.elastic.items() if ino in there}
    for ino, before in state.untold.items():
        past = last.get(ino)
        if past is None or past.lost or ino not in there:
            continue
        source, target = past.move.source, past.move.target
        if past.under_way or {source, target} & state.stale:
            untold[ino] = before
            continue
        stayed = state.grown.get((source, there[ino].within))
        if there[ino].rank == target and before > 0.0 and stayed is not None:
            latencies = state.latency.get(source, 0.0), state.latency.get(target, 0.0)
            value = elasticity(state.demand[ino].mean / before, stayed, *latencies)
            elastic |= {} if value is None else {ino: value}
    return replace(state, elastic=elastic, untold=untold)
