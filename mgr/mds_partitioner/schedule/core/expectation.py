# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pieces and ranks are asked for, and will be when all that is under way has arrived. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from .elastic import held_back, usual
from .state import Limits, Past, Scattered, State
from .view import Move, Piece, View

BUSY = 0.25  # of its share: a rank with less answers sooner than it will with a load


@dataclass(frozen=True)
class Asked:
    """Of pieces, where they are: what they get through there, and what full ranks hold back.

    :ivar state: as the look has taught it
    """

    state: State
    view: View
    _factors: dict[tuple[int, float], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # of what full ranks hold back

    def of(self, piece: Piece) -> float:
        """req/s that it would get through on the quickest rank; no more than any of its siblings does."""
        return self.by_ino[piece.ino]

    def served(self, piece: Piece) -> float:
        """req/s that it gets through."""
        return self._served[piece.ino]

    @cached_property
    def more(self) -> dict[int, float]:
        """By full rank, req/s: what it holds back."""
        found: dict[int, float] = {}
        asked, served = self.by_ino, self._served
        for piece, rank in self._hindered:
            found[rank] = found.get(rank, 0.0) + (asked[piece.ino] - served[piece.ino])
        return found

    @cached_property
    def share(self) -> float:
        """req/s that a rank has, on the mean."""
        return sum(r.requests for r in self.view.ranks) / len(self.view.ranks)

    @cached_property
    def _hindered(self) -> list[tuple[Piece, int]]:
        """Those on full ranks."""
        full = {r.rank for r in self.view.ranks if r.full}
        return [(p, r) for p in self.view.pieces if (r := p.rank) is not None and r in full]

    @cached_property
    def _served(self) -> dict[int, float]:
        demand, scale = self.state.demand, self.state.scale
        return {
            p.ino: demand[p.ino].mean * (1.0 if p.rank is None else scale.get(p.rank, 1.0))
            for p in self.view.pieces
        }

    @cached_property
    def by_ino(self) -> dict[int, float]:
        """``of`` each, by inode number."""
        served, elastic = self._served, self.state.elastic
        if not elastic:
            return served
        most, usually = self._most, self._usual
        found = dict(served)
        for piece, rank in self._hindered:
            own, within = served[piece.ino], piece.within
            alike = elastic.get(piece.ino, usually.get(within, 0.0))
            if alike:  # else it asks for no more elsewhere
                found[piece.ino] = max(own, min(own * self._held_back(rank, alike), most[within]))
        return found

    @cached_property
    def _usual(self) -> dict[int, float]:
        return usual(self.state.elastic, {p.ino: p.within for p in self.view.pieces})

    @cached_property
    def _most(self) -> dict[int, float]:
        """req/s that the busiest gets through, by what it was taken out of."""
        found, served = defaultdict[int, float](float), self._served
        for piece in self.view.pieces:
            found[piece.within] = max(found[piece.within], served[piece.ino])
        return found

    def _held_back(self, rank: int, elastic: float) -> float:
        if (rank, elastic) not in self._factors:
            self._factors[rank, elastic] = held_back(self._latency, rank, elastic)
        return self._factors[rank, elastic]

    @cached_property
    def _latency(self) -> dict[int, float]:
        """s, of ranks that have something to do: one that is idle answers as it will not with a load."""
        busy = (r.rank for r in self.view.ranks if r.requests >= BUSY * self.share)
        return {rank: self.state.latency.get(rank, 0.0) for rank in busy}


@dataclass(frozen=True)
class Expectation:
    """What is under way counts at its target. Of the state it knows what was ordered, and nothing else.

    :ivar asked: of each where it is
    :ivar past, scattered, apart: as in the state
    :ivar ahead: the rank of what is not ordered yet, but will be, by inode number
    """

    asked: Asked
    limits: Limits
    past: tuple[Past, ...]
    scattered: Mapping[int, Scattered]
    apart: frozenset[int]
    ahead: Mapping[int, int] = field(default_factory=dict)

    def then(self, state: State) -> Expectation:
        """The same, when what the state says was ordered."""
        before = self.past, self.scattered, self.apart
        now = state.past, state.scattered, state.apart
        if all(new is old for new, old in zip(now, before)):
            return self
        return replace(self, past=state.past, scattered=state.scattered, apart=state.apart)

    @cached_property
    def loads(self) -> dict[int, float]:
        """By rank, req/s."""
        ranks, rest = self.asked.view.ranks, self.asked.state.rest
        load = {r.rank: rest.get(r.rank, 0.0) for r in ranks}
        elsewhere, asked = self._elsewhere, self.asked.by_ino
        for piece in self.asked.view.pieces:
            if piece.ino in elsewhere:
                where, own = self._where(piece), self.load(piece)
                for rank in where:
                    if rank in load:
                        load[rank] += own / len(where)
            elif piece.rank in load:
                load[piece.rank] += asked[piece.ino]
        return load

    def load(self, piece: Piece) -> float:
        """Of a piece, req/s; of one that is under way, what it had before, if it was moved for that."""
        move = self.bound.get(piece.ino)
        if move is not None and move.load > 0.0:
            return move.load
        return self.asked.of(piece)

    @cached_property
    def bound(self) -> dict[int, Move]:
        """What is not seen where it goes to yet, by inode number."""
        return {p.move.ino: p.move for p in self.past if p.settled < 0.0}

    @property
    def left(self) -> set[int]:
        """Ranks where these are until then."""
        return {p.rank for p in self.asked.view.pieces if p.ino in self.ahead and p.rank is not None}

    @property
    def _elsewhere(self) -> set[int]:
        """Inode numbers of what may count on other ranks than where it is seen: few of thousands."""
        return {*self.bound, *self._scattering, *self.apart, *self.ahead}

    @property
    def moved(self) -> bool:
        """Was something moved for its load, or scattered, that is there, and not seen as it is now?"""
        seen = {p.ino for p in self.asked.view.pieces if p.rank is not None}
        hangs, now = self.asked.state.hangs, self.asked.view.now
        past = (p for p in self.past if p.settled < 0.0 < p.move.load and not hangs(p, now))
        return bool(self._scattering) or any(p.arrived < 0.0 or p.move.ino in seen for p in past)

    @cached_property
    def _scattering(self) -> dict[int, tuple[int, ...]]:
        """Where the equal parts will be of what MDSs may still be at, by inode number."""
        view = self.asked.view
        if self.asked.state.gathered:
            return {}
        placed = {
            ino: done.ranks
            for ino, done in self.scattered.items()
            if not done.lost and view.now - done.begun <= self.limits.deadline
        }
        there = (p.ino for p in view.pieces if p.ino in placed and p.rank is not None) if placed else ()
        return {ino: placed[ino] for ino in there}

    def _where(self, piece: Piece) -> tuple[int | None, ...]:
        """The rank of each equal part of its load."""
        if piece.ino in self._scattering:
            return self._scattering[piece.ino]
        if piece.ino in self.apart:
            return tuple(r.rank for r in self.asked.view.ranks)  # as it will be
        move = self.bound.get(piece.ino)
        return (self.ahead.get(piece.ino, piece.rank) if move is None else move.target,)
