# SPDX-License-Identifier: LGPL-2.1-or-later
"""What pieces and ranks will be asked for, when all that is under way has arrived. No I/O."""

from __future__ import annotations

from functools import cached_property

from .elastic import held_back, usual
from .state import Limits, State
from .view import Piece, View

BUSY = 0.25  # of its share: a rank with less answers sooner than it will with a load


class Expectation:
    """Of one look: what is under way counts at its target, and what full ranks hold back counts as well."""

    def __init__(self, state: State, view: View, limits: Limits) -> None:
        self._state, self._view = state, view
        self._usual = usual(state.elastic, {p.ino: p.within for p in view.pieces})
        self._full = {r.rank for r in view.ranks if r.full}
        self._factors: dict[tuple[int, float], float] = {}  # of what full ranks hold back
        self.bound = {p.move.ino: p.move for p in state.past if p.settled < 0.0}
        placed = {
            ino: done.ranks
            for ino, done in state.scattered.items()
            if not done.lost and view.now - done.begun <= limits.deadline  # MDSs may still be at it
        }
        there = (p.ino for p in view.pieces if p.rank is not None and p.ino in placed)
        self._scattering = {ino: placed[ino] for ino in there}

    def loads(self) -> dict[int, float]:
        """By rank, req/s."""
        load = {r.rank: self._state.rest.get(r.rank, 0.0) for r in self._view.ranks}
        for piece in self._view.pieces:
            where = self._where(piece)
            for rank in where:
                if rank in load:
                    load[rank] += self.load(piece) / len(where)
        return load

    def more(self) -> dict[int, float]:
        """By full rank, req/s: what it holds back."""
        found: dict[int, float] = {}
        for piece in self._view.pieces:
            if piece.rank in self._full:
                more = self._asked[piece.ino] - self._served[piece.ino]
                found[piece.rank] = found.get(piece.rank, 0.0) + more
        return found

    def load(self, piece: Piece) -> float:
        """Of a piece, req/s; of one that is under way, what it had before, if it was moved for that."""
        move = self.bound.get(piece.ino)
        if move is not None and move.load > 0.0:
            return move.load
        return self._asked[piece.ino]

    def served(self, piece: Piece) -> float:
        """Of a piece, req/s: what it gets through where it is."""
        return self._served[piece.ino]

    @property
    def moved(self) -> bool:
        """Was something moved for its load, or scattered, that is there, and not seen as it is now?"""
        seen = {p.ino for p in self._view.pieces if p.rank is not None}
        hangs, now = self._state.hangs, self._view.now
        past = (p for p in self._state.past if p.settled < 0.0 < p.move.load and not hangs(p, now))
        return bool(self._scattering) or any(p.arrived < 0.0 or p.move.ino in seen for p in past)

    @cached_property
    def share(self) -> float:
        """req/s that a rank has now, on the mean."""
        return sum(r.requests for r in self._view.ranks) / len(self._view.ranks)

    def _where(self, piece: Piece) -> tuple[int | None, ...]:
        """The rank of each equal part of its load."""
        if piece.ino in self._scattering:
            return self._scattering[piece.ino]
        if piece.ino in self._state.apart:
            return tuple(r.rank for r in self._view.ranks)  # as it will be
        move = self.bound.get(piece.ino)
        return (piece.rank if move is None else move.target,)

    @cached_property
    def _served(self) -> dict[int, float]:
        """req/s that each piece gets through where it is, by inode number."""
        demand, scale = self._state.demand, self._state.scale
        return {
            p.ino: demand[p.ino].mean * (1.0 if p.rank is None else scale.get(p.rank, 1.0))
            for p in self._view.pieces
        }

    @cached_property
    def _asked(self) -> dict[int, float]:
        """req/s that each would get through on the quickest rank; no more than any of its siblings does."""
        on_full = ((p, r) for p in self._view.pieces if (r := p.rank) is not None and r in self._full)
        return self._served | {p.ino: self._unhindered(p, rank) for p, rank in on_full}

    def _unhindered(self, piece: Piece, rank: int) -> float:
        """Of one on a full rank."""
        served = self._served[piece.ino]
        elastic = self._state.elastic.get(piece.ino, self._usual.get(piece.within, 0.0))
        return max(served, min(served * self._held_back(rank, elastic), self._most[piece.within]))

    @cached_property
    def _most(self) -> dict[int, float]:
        """req/s that the busiest gets through, by what it was taken out of."""
        found: dict[int, float] = {}
        for piece in self._view.pieces:
            found[piece.within] = max(found.get(piece.within, 0.0), self._served[piece.ino])
        return found

    def _held_back(self, rank: int, elastic: float) -> float:
        if (rank, elastic) not in self._factors:
            self._factors[rank, elastic] = held_back(self._latency, rank, elastic)
        return self._factors[rank, elastic]

    @cached_property
    def _latency(self) -> dict[int, float]:
        """s, of ranks that have something to do: one that is idle answers as it will not with a load."""
        busy = (r.rank for r in self._view.ranks if r.requests >= BUSY * self.share)
        return {rank: self._state.latency.get(rank, 0.0) for rank in busy}
