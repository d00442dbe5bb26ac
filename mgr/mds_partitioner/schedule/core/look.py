# SPDX-License-Identifier: LGPL-2.1-or-later
"""One look: what is known in it, and what follows of that at once. A value: nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from ...engine.inside import CHANGED, CROWD
from ...judge.fullness import MORE
from .budgets import Budgets
from .expectation import Expectation
from .load import EMPTY, busy, capacities, crawls, levelled, served, shares
from .noise import band
from .state import KEPT, Limits, Past, State
from .together import members
from .view import Move, Piece, RankView, View

SETTLES = 2.0  # looks, after which what moved is in none of a rank's reports
LATE = 30.0  # s: noise that comes and goes does not count
SOON = 6  # looks, within which it is known what a full rank can do, unless it exports all the time
LEAST = 4  # looks: one more than teach that a rank has become slower
NEW = 20.0  # s, at most, until what a rank can do is known anew: reports come every 5 s
MAKE_LOADS = ("demand", "rest", "scale", "elastic", "latency", "capacity", "past", "scattered", "apart")
"""What of the state ``LOADS`` follow of, besides the view: all that expectation.py reads, and capacity."""
LOADS = frozenset(("pieces", "linked", "full", "capacity", "expected", "loads", "shares"))


@dataclass(frozen=True)
class Look:
    """What all parts of a decision go by.

    :ivar state: with what this look has taught
    :ivar placed: new directories that got a rank in it
    """

    state: State
    view: View
    limits: Limits
    placed: int = 0

    def then(self, state: State) -> Look:
        """The same, when it has come to that. What that does not change is not made anew."""
        if state is self.state:
            return self
        new = replace(self, state=state)
        if all(getattr(state, of) is getattr(self.state, of) for of in MAKE_LOADS):
            vars(new).update({name: known for name, known in vars(self).items() if name in LOADS})
        return new

    def begun(self, moves: Iterable[Move]) -> Look:
        """The same, when these have been ordered."""
        latency = self.state.latency
        new = (Past(m, self.view.now, latency=latency.get(m.source, 0.0)) for m in moves)
        return self.then(replace(self.state, past=(*self.state.past, *new)))

    @cached_property
    def pieces(self) -> dict[int, Piece]:
        """By inode number."""
        return {piece.ino: piece for piece in self.view.pieces}

    @cached_property
    def together(self) -> Mapping[int, int]:
        """What is moved with others only, by inode number: what all of it is of (together.py)."""
        ranks = {rank.rank for rank in self.view.ranks}
        return members(self.state.wholes, self.pieces, self.state.placed, ranks)

    @cached_property
    def linked(self) -> frozenset[int]:
        """What is not divided, or stays as a part where it is, for the sake of hard links: inode numbers."""
        return self.state.linked.held(self.view.pieces)

    @cached_property
    def full(self) -> frozenset[int]:
        """Ranks that serve as much as they can."""
        return frozenset(r.rank for r in self.view.ranks if r.full)

    @cached_property
    def busy(self) -> frozenset[int]:
        """The same, and those that nearly do."""
        return busy(self.view.ranks, self.capacity)

    @cached_property
    def capacity(self) -> dict[int, float]:
        """What each rank can serve, req/s."""
        return self._able | levelled(self.view.ranks, self._able, self.crawling)

    @cached_property
    def crawling(self) -> frozenset[int]:
        """Ranks that have served far less than their share for a while, though requests wait there."""
        share = shares(served(self.view.ranks), self._able)
        return frozenset(r.rank for r in self.view.ranks if self._crawls(r, share[r.rank]))

    @cached_property
    def _able(self) -> dict[int, float]:
        """The same, as it was found for each."""
        ranks, learned = self.view.ranks, self.state.capacity
        return capacities(ranks) | {r.rank: learned[r.rank] for r in ranks if r.rank in learned}

    @cached_property
    def expected(self) -> Expectation:
        """What will be asked for when all that is under way has arrived."""
        return Expectation(self.state, self.view, self.limits)

    @cached_property
    def loads(self) -> dict[int, float]:
        """The same by rank, req/s."""
        return self.expected.loads()

    @cached_property
    def shares(self) -> dict[int, float]:
        """req/s of these that each rank should have."""
        return shares(self.loads, self.capacity)

    @cached_property
    def idle(self) -> bool:
        """Has a rank much room, and had of late, beside a full one? With many ranks, or noise, full
        ones may have hardly more than their share then."""
        above = any(self.loads[r] > self.shares[r] for r in self.full & self.loads.keys())
        return above and any(map(self._idles, self.loads.keys() - self.full))

    def empty(self, rank: int) -> bool:
        """Has a rank much room now?"""
        return rank not in self.full and self.loads.get(rank, math.inf) < EMPTY * self.shares.get(rank, 0.0)

    @cached_property
    def doubted(self) -> frozenset[int]:
        """Ranks that may be slower than is known, crawl, or are full and nobody knows yet of how much: they
        seem to have room, and would get more."""
        # What it served while it exported says little of what it can do.
        told = [r for r in self.view.ranks if not self._moved(r.rank, SETTLES * self.state.dt)]
        soon = self.state.held <= SOON
        falls = {r.rank for r in told if (soon and r.full and r.able is None) or self._falls(r)}
        falls |= {r.rank for r in told if r.rank in self.shares and crawls(r, self.shares[r.rank])}
        return frozenset(rank for rank in falls if self.loads[rank] < self.shares[rank])

    @property
    def doubt(self) -> float:
        """What these can do, in parts of what all can."""
        return sum(self.capacity[r] for r in self.doubted) / sum(self.capacity[r] for r in self.loads)

    @cached_property
    def band(self) -> float:
        """How far above its share a rank may be, in parts of it."""
        rates: Mapping[int, tuple[float, ...]] = self.state.rates
        return band([row for r in self.view.ranks if (row := rates.get(r.rank))])

    @property
    def price(self) -> float:
        """Requests that moving an inode costs."""
        return self.state.toll.or_else(self.limits.price)

    def pays(self, gain: float, inodes: float) -> bool:
        """Do so many req/s bring more within the horizon than moving the inodes costs?"""
        return gain * self.limits.horizon >= inodes * self.price

    @property
    def budgets(self) -> Budgets:
        """What may be begun now."""
        return Budgets(self.state, self.view, self.limits, self.placed)

    def _late(self, rank: int, seconds: float, least: int = 2) -> tuple[float, ...]:
        """req/s at the looks of so many seconds; () when it was not seen for as long."""
        looks = min(KEPT, max(least, round(seconds / self.state.dt)))
        rates = self.state.rates.get(rank, ())
        return rates[-looks:] if len(rates) >= looks else ()

    def _idles(self, rank: int) -> bool:
        late = self._late(rank, LATE)
        return bool(late) and self.empty(rank) and fmean(late) < EMPTY * self.shares[rank]

    def _crawls(self, rank: RankView, share: float) -> bool:
        """For a while, and not because something moves from or to it: then its cache is cold, or it waits?"""
        late = () if self._moved(rank.rank, LATE) else self._late(rank.rank, LATE)
        return bool(late) and crawls(rank, share) and fmean(late) < EMPTY * share

    def _moved(self, rank: int, seconds: float) -> bool:
        """Does something that has a load move from or to it, or did within so many seconds?"""
        moved = (p for p in self.state.past if rank in (p.move.source, p.move.target) and p.move.load)
        return rank in self.state.stale or any(
            0.0 <= self.view.now - p.arrived < seconds for p in moved if p.arrived >= 0.0
        )

    def _falls(self, rank: RankView) -> bool:
        """Is it full of as many requests as ever, and serves less?"""
        could = CHANGED * (rank.capacity or 0.0)
        as_many = rank.inside >= CROWD or rank.crowd < MORE * rank.inside
        before = max(self._late(rank.rank, NEW, LEAST), default=0.0)
        return rank.full and rank.crowd < math.inf and as_many and rank.requests < could <= before
