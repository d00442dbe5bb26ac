# SPDX-License-Identifier: LGPL-2.1-or-later
"""One look: what is known in it, and what follows of that at once. A value: nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from ...engine.inside import CHANGED, CROWD, with_fewer
from ...judge.fullness import MORE
from .budgets import Budgets
from .demand import HELD
from .expectation import Asked, Expectation
from .load import EMPTY, busy, capacities, crawls, highest, levelled, served, shares
from .state import KEPT, Limits, Past, State
from .together import members
from .view import Move, Piece, RankView, View

SETTLES = 2.0  # looks, after which what moved is in none of a rank's reports
LATE = 30.0  # s: noise that comes and goes does not count
SOON = 6  # looks, within which it is known what a full rank can do, unless it exports all the time
LEAST = 4  # looks: one more than teach that a rank has become slower
NEW = 20.0  # s, at most, until what a rank can do is known anew: reports come every 5 s


@dataclass(frozen=True)
class Look:
    """What all parts of a decision go by. What ``at`` makes holds for all of it, whatever is ordered.

    :ivar state: with what this look has taught, and what was decided so far
    :ivar pieces: by inode number
    :ivar linked: what is not divided, or stays as a part where it is, for the sake of hard links: inode
        numbers
    :ivar full: ranks that serve as much as they can
    :ivar crawling: ranks that have served far less than their share for a while, though requests wait there
    :ivar capacity: what each rank can serve, req/s
    :ivar band: how far above its share a rank may be, in parts of it
    :ivar asked: what pieces are asked for where they are
    :ivar expected: what will be asked for when all that is under way has arrived
    :ivar placed: new directories that got a rank in it
    """

    state: State
    view: View
    limits: Limits
    pieces: Mapping[int, Piece]
    linked: frozenset[int]
    full: frozenset[int]
    crawling: frozenset[int]
    capacity: Mapping[int, float]
    band: float
    asked: Asked
    expected: Expectation
    placed: int = 0

    @classmethod
    def at(cls, state: State, view: View, limits: Limits) -> Look:
        """The look that has taught this state."""
        able, asked = _able(state, view), Asked(state, view)
        crawling = _crawling(state, view, able)
        return cls(
            state=state,
            view=view,
            limits=limits,
            pieces={piece.ino: piece for piece in view.pieces},
            linked=state.linked.held(view.pieces),
            full=frozenset(r.rank for r in view.ranks if r.full),
            crawling=crawling,
            capacity=able | levelled(view.ranks, able, crawling),
            band=state.band,
            asked=asked,
            expected=Expectation(asked, limits, state.past, state.scattered, state.apart),
        )

    def then(self, state: State) -> Look:
        """The same, when it has come to that. What was not ordered anew is not made anew."""
        if state is self.state:
            return self
        return replace(self, state=state, expected=self.expected.then(state))

    def when(self, ahead: Mapping[int, int]) -> Look:
        """The same, when pieces have gone to these ranks, by inode number, that will go there."""
        return replace(self, expected=replace(self.expected, ahead=ahead)) if ahead else self

    def begun(self, moves: Iterable[Move]) -> Look:
        """The same, when these have been ordered."""
        latency = self.state.latency
        new = (Past(m, self.view.now, latency=latency.get(m.source, 0.0)) for m in moves)
        return self.then(replace(self.state, past=(*self.state.past, *new)))

    @cached_property
    def together(self) -> Mapping[int, int]:
        """What is moved with others only, by inode number: what all of it is of (together.py)."""
        ranks = {rank.rank for rank in self.view.ranks}
        return members(self.state.wholes, self.pieces, self.state.placed, ranks)

    @cached_property
    def kept(self) -> frozenset[int]:
        """Inode numbers of what is not moved for the sake of hard links."""
        return self.state.linked.kept(self.view.pieces, self.linked)

    @cached_property
    def busy(self) -> frozenset[int]:
        """Ranks that serve as much as they can, or nearly do."""
        return busy(self.view.ranks, self.capacity)

    @property
    def loads(self) -> dict[int, float]:
        """What will be asked for by rank, req/s."""
        return self.expected.loads

    @cached_property
    def shares(self) -> dict[int, float]:
        """req/s of these that each rank should have."""
        return shares(self.loads, self.capacity)

    @cached_property
    def idle(self) -> bool:
        """Has a rank much room, for some looks, beside a full one? With many ranks full ones may have
        hardly more than their share then."""
        above = any(self.loads[r] > self.shares[r] for r in self.full & self.loads.keys())
        return above and any(map(self._idles, self.loads.keys() - self.full - self.doubted))

    def empty(self, rank: int) -> bool:
        """Has a rank much room now?"""
        return rank not in self.full and self.loads.get(rank, math.inf) < EMPTY * self.shares.get(rank, 0.0)

    @cached_property
    def doubted(self) -> frozenset[int]:
        """Ranks that may be slower than is known, crawl, do not answer, or are full and nobody knows yet of
        how much: they seem to have room, and would get more."""
        state, now, soon = self.state, self.view.now, self.state.held <= SOON
        most, share = highest(self.view.ranks), self.shares
        falls = {r.rank for r in self.view.ranks if (soon and r.full and r.able is None) or self._falls(r)}
        falls |= {r.rank for r in self.view.ranks if r.rank in share and crawls(r, share[r.rank], most)}
        # What it served while it exported says little of what it can do.
        falls = {rank for rank in falls if not _moved(state, now, rank, SETTLES * state.dt)}
        there = (falls | self.view.mute) & share.keys()
        return frozenset(rank for rank in there if self.loads[rank] < share[rank])

    @cached_property
    def trusted(self) -> dict[int, float]:
        """What ranks can serve, req/s, of which there is no doubt: what is sent somewhere in advance goes to
        one of these."""
        sick = self.doubted | self.crawling | self.view.mute
        return {rank: able for rank, able in self.capacity.items() if rank not in sick}

    @cached_property
    def doubt(self) -> float:
        """What these can do, in parts of what all can."""
        return sum(self.capacity[r] for r in self.doubted) / sum(self.capacity[r] for r in self.loads)

    @cached_property
    def price(self) -> float:
        """Requests that moving an inode costs."""
        return self.state.toll.or_else(self.limits.price)

    @cached_property
    def lasts(self) -> float:
        """s for which what is uneven is likely to stay so: as long as it has been by now, within limits; less
        where loads go elsewhere by themselves."""
        limits, been = self.limits, self.state.held * self.state.pace
        usual = max(limits.horizon, min(been, limits.memory))
        return min(usual, self.state.roams.lasts(self.view.now))

    def pays(self, gain: float, inodes: float) -> bool:
        """Do so many req/s bring more for as long as that than moving the inodes costs?"""
        return gain * self.lasts >= inodes * self.price

    def will_pay(self, gain: float, inodes: float) -> bool:
        """The same, were it uneven for as long as counts: it does not pay yet, and will."""
        longest = min(max(self.limits.horizon, self.limits.memory), self.state.roams.lasts(self.view.now))
        return gain * longest >= inodes * self.price and not self.pays(gain, inodes)

    @cached_property
    def budgets(self) -> Budgets:
        """What may be begun now."""
        return Budgets(self.state, self.view, self.limits, self.placed)

    def _idles(self, rank: int) -> bool:
        share, late = self.shares[rank], _late(self.state, rank, LATE)
        room, lately = (1.0 - 2.0 * self.band) * share, _late(self.state, rank, 0.0, HELD)
        if rank not in self.state.stale and self.loads[rank] < room and lately and max(lately) < room:
            return True
        return bool(late) and self.empty(rank) and fmean(late) < EMPTY * share

    def _falls(self, rank: RankView) -> bool:
        """Is it full of as many requests as ever, and serves less, or less than so many fewer would make?"""
        could = CHANGED * (rank.capacity or 0.0)
        as_many = rank.inside >= CROWD or rank.crowd < MORE * rank.inside
        before = max(_late(self.state, rank.rank, NEW, LEAST), default=0.0)
        if not rank.full or rank.crowd == math.inf or before < could:
            return False
        return rank.requests < (could if as_many else could * with_fewer(rank.inside, rank.crowd))


def _able(state: State, view: View) -> dict[int, float]:
    """What each rank can serve, req/s, as it was found for each."""
    learned = state.capacity
    return capacities(view.ranks) | {r.rank: learned[r.rank] for r in view.ranks if r.rank in learned}


def _crawling(state: State, view: View, able: Mapping[int, float]) -> frozenset[int]:
    share, most = shares(served(view.ranks), able), highest(view.ranks)
    return frozenset(r.rank for r in view.ranks if _crawls(state, view.now, r, share[r.rank], most))


def _crawls(state: State, now: float, rank: RankView, share: float, most: float) -> bool:
    """For a while, and not because something moves from or to it: then its cache is cold, or it waits?"""
    if not crawls(rank, share, most) or _moved(state, now, rank.rank, LATE):
        return False
    late = _late(state, rank.rank, LATE)
    return bool(late) and fmean(late) < EMPTY * share


def _late(state: State, rank: int, seconds: float, least: int = 2) -> tuple[float, ...]:
    """req/s at the looks of so many seconds; () when it was not seen for as long."""
    looks = min(KEPT, max(least, round(seconds / state.dt)))
    rates = state.rates.get(rank, ())
    return rates[-looks:] if len(rates) >= looks else ()


def _moved(state: State, now: float, rank: int, seconds: float) -> bool:
    """Does something that has a load move from or to it, or did within so many seconds?"""
    moved = (p for p in state.past if rank in (p.move.source, p.move.target) and p.move.load)
    return rank in state.stale or any(0.0 <= now - p.arrived < seconds for p in moved if p.arrived >= 0.0)
