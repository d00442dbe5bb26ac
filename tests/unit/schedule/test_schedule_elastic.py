# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that wait for their answers: with a directory each, or all in all directories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.elastic import MOST, elasticity, held_back, usual
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import Piece, RankView, View

CAPACITY, QUICKEST, RANKS, WAITING = 1000.0, 0.001, 5, 4.0  # WAITING: requests that a client has under way

Rates = Callable[[dict[int, int]], tuple[dict[int, float], dict[int, float]]]
"""From where pieces are to req/s of each, and requests inside each rank."""


def own(where: dict[int, int]) -> tuple[dict[int, float], dict[int, float]]:
    """Each piece has a client: a rank's are served in turns."""
    on = {rank: [p for p, r in where.items() if r == rank] for rank in range(RANKS)}
    rates = {p: min(WAITING / QUICKEST, CAPACITY) / len(on[r]) for p, r in where.items()}
    return rates, {rank: WAITING * len(pieces) for rank, pieces in on.items()}


def shared(where: dict[int, int]) -> tuple[dict[int, float], dict[int, float]]:
    """All clients ask for every piece alike: nearly all wait at the rank that has most of them."""
    count = {rank: sum(r == rank for r in where.values()) for rank in range(RANKS)}
    top = max(count.values())
    busiest = [rank for rank in count if count[rank] == top]
    each = CAPACITY / top
    waiting = WAITING * len(where) / len(busiest)
    inside = {r: waiting if r in busiest else 2.0 * QUICKEST * each * n for r, n in count.items()}
    return dict.fromkeys(where, each), inside


def played(rates: Rates, takes: int, looks: int = 120) -> tuple[dict[int, int], State, int]:
    """From cold: where pieces are at last, what was learned, and how many moves it took.

    Each second look is only at where things are.
    """
    where, state, moves = dict.fromkeys(range(1, 11), 0), State(), 0
    seen = View(0.0, (), ())
    under_way: dict[int, tuple[int, int]] = {}  # to which rank, and at which look it is there
    for look in range(looks):
        where |= {p: rank for p, (rank, at) in under_way.items() if at <= look}
        served, inside = rates(where)
        loads = {rank: sum(served[p] for p, r in where.items() if r == rank) for rank in range(RANKS)}
        full = {rank: inside[rank] >= WAITING and loads[rank] >= 0.95 * CAPACITY for rank in range(RANKS)}
        ranks = tuple(
            RankView(rank, loads[rank], inside[rank], full[rank], CAPACITY if full[rank] else None)
            for rank in range(RANKS)
        )
        pieces = tuple(Piece(p, f"/p{p}", r, served[p], 10_000.0) for p, r in where.items())
        harmful, now = any(full.values()), 2.5 * (look + 1)
        view = (
            View(now, ranks, pieces, harmful)
            if look % 2 == 0
            else replace(
                seen,
                now=now,
                pieces=tuple(p._replace(rank=where[p.ino]) for p in seen.pieces),
                measured=False,
            )
        )
        seen = view if view.measured else seen
        state, decision = Scheduler(state, view, Limits()).decide()
        # An exporter has one budget: what is ordered later arrives later.
        under_way |= {
            move.ino: (move.target, look + takes * (i + 1)) for i, move in enumerate(decision.moves)
        }
        moves += len(decision.moves)
    return where, state, moves


@pytest.mark.parametrize("takes", [1, 2, 4])
@pytest.mark.parametrize(("rates", "learned"), [(own, 1.0), (shared, 0.0)])
def test_both_kinds_of_clients_are_spread_evenly(rates: Rates, learned: float, takes: int) -> None:
    where, state, moves = played(rates, takes)
    assert sorted(list(where.values()).count(rank) for rank in range(RANKS)) == [2] * RANKS
    assert moves == 8, "no more than must be"
    assert usual(state.elastic, dict.fromkeys(state.elastic, 0)).get(0, 0.0) == pytest.approx(
        learned, abs=0.25
    )


@pytest.mark.parametrize(
    ("moved", "stayed", "source", "target", "found"),
    [
        (4.0, 1.0, 0.004, 0.001, 1.0),
        (2.0, 1.0, 0.004, 0.001, 0.5),
        (3.0, 3.0, 0.004, 0.001, 0.0),
        (0.5, 1.0, 0.004, 0.001, 0.0),
        (99.0, 1.0, 0.004, 0.001, 1.0),
        (4.0, 1.0, 0.0014, 0.001, None),
        (4.0, 0.0, 0.004, 0.001, None),
        (4.0, 1.0, 0.004, 0.0, None),
    ],
)
def test_elasticity(moved: float, stayed: float, source: float, target: float, found: float | None) -> None:
    seen = elasticity(moved, stayed, source, target)
    assert seen == (None if found is None else pytest.approx(found))


def test_what_is_held_back_is_bounded() -> None:
    latency = {0: 0.004, 1: 0.001, 2: 0.0, 3: 9.0}
    assert held_back(latency, 0, 1.0) == pytest.approx(4.0)
    assert held_back(latency, 0, 0.5) == pytest.approx(2.0)
    assert held_back(latency, 0, 0.0) == held_back(latency, 2, 1.0) == held_back(latency, 9, 1.0) == 1.0
    assert held_back(latency, 3, 1.0) == MOST
