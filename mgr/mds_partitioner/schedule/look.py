# SPDX-License-Identifier: LGPL-2.1-or-later
"""One look: what is known in it, and what follows of that at once. A value: nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from .budgets import Budgets
from .choose import shares
from .expectation import Expectation
from .load import capacities
from .noise import band
from .state import Limits, Past, State
from .view import Move, Piece, View

EMPTY = 0.7  # of its share, at most, has a rank that has next to nothing
LATE = 6  # looks: noise that comes and goes does not count


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
        """The same, when it has come to that."""
        return replace(self, state=state)

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
    def full(self) -> frozenset[int]:
        """Ranks that serve as much as they can."""
        return frozenset(r.rank for r in self.view.ranks if r.full)

    @cached_property
    def capacity(self) -> dict[int, float]:
        """What each rank can serve, req/s."""
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
        """Has a rank next to nothing, and had of late, beside a full one? With many ranks, or noise, full
        ones may have hardly more than their share then."""
        if not any(self.loads[r] > self.shares[r] for r in self.full & self.loads.keys()):
            return False
        late = {r: rates[-LATE:] for r, rates in self.state.rates.items()}
        has = {r: max(load, fmean(late.get(r) or [load])) for r, load in self.loads.items()}
        return any(has[r] < EMPTY * self.shares[r] for r in has)

    @cached_property
    def band(self) -> float:
        """How far above its share a rank may be, in parts of it."""
        rates: Mapping[int, tuple[float, ...]] = self.state.rates
        return band([row for r in self.view.ranks if (row := rates.get(r.rank))])

    @property
    def price(self) -> float:
        """Requests that moving an inode costs."""
        return self.state.toll.or_else(self.limits.price)

    @property
    def budgets(self) -> Budgets:
        """What may be begun now."""
        return Budgets(self.state, self.view, self.limits, self.placed)
