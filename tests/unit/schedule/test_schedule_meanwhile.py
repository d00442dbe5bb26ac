# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is known of parts while something moves from or to their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.demand import Demand
from mds_partitioner.schedule.core.learn import looked
from mds_partitioner.schedule.core.meanwhile import FROZEN, LATEST, reweighed, shared_meanwhile
from mds_partitioner.schedule.core.state import Limits, Past, State
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View

HEAD, LOOK = 9, 5.0
LIMITS = Limits(moves=4)


def parts(rates: Mapping[int, float], ranks: Mapping[int, int] | None = None) -> list[Piece]:
    """By inode number."""
    where = ranks or {}
    return [Piece(i, f"/p/{i}", where.get(i, 0), rate, 500.0, HEAD) for i, rate in rates.items()]


def coming(ino: int, target: int = 1, looks: int = 0, load: float = 100.0) -> Past:
    return Past(Move(ino, f"/p/{ino}", 0, target, load, load, 500.0, ""), 0.0, looks=looks)


def meanwhile(
    now: Mapping[int, float],
    was: Mapping[int, float],
    *,
    at: Mapping[int, int] | None = None,
    past: Sequence[Past] = (),
) -> dict[int, float]:
    known = {ino: Demand(rate, LOOK) for ino, rate in was.items()}
    return shared_meanwhile(parts(now, at), now, known, {p.move.ino: p for p in past})


def test_siblings_have_together_what_was_expected_and_share_it_as_they_do_now() -> None:
    assert meanwhile({1: 30.0, 2: 10.0, 3: 0.0}, {1: 40.0, 2: 40.0, 3: 40.0}) == {1: 90.0, 2: 30.0, 3: 0.0}


@pytest.mark.parametrize("part", [FROZEN, 0.99 * FROZEN, 0.0])
def test_of_ranks_that_are_frozen_nothing_is_learned(part: float) -> None:
    found = meanwhile({1: 100.0 * part, 2: 0.0}, {1: 50.0, 2: 50.0})
    assert found == ({1: pytest.approx(100.0), 2: 0.0} if part >= FROZEN else {})


@pytest.mark.parametrize(
    ("rank", "looks", "counts"),
    [(0, 0, True), (1, 0, False), (1, 1, True)],
    ids=["where it was", "just arrived", "told where it is"],
)
def test_what_has_just_arrived_was_told_where_it_was(rank: int, looks: int, counts: bool) -> None:
    found = meanwhile(
        {1: 0.0, 2: 10.0, 3: 30.0},
        dict.fromkeys((1, 2, 3), 40.0),
        at={1: rank},
        past=[coming(1, looks=looks)],
    )
    assert (1 in found) == counts
    assert sum(found.values()) == pytest.approx(120.0 if counts else 80.0)


def test_what_nobody_has_looked_at_before_has_no_part_in_it() -> None:
    assert meanwhile({1: 30.0, 2: 30.0}, {1: 50.0}) == {1: 50.0}


def test_what_is_under_way_counts_as_much_more_as_it_has_by_now() -> None:
    new, there = coming(1), replace(coming(2), settled=10.0)
    idle = replace(coming(3), move=replace(coming(3).move, load=0.0))
    found = reweighed([new, there, idle], {1: 1.5, 2: 1.5, 3: 1.5})
    assert [p.move.load for p in found] == [150.0, 100.0, 0.0]
    assert [p.move.load for p in reweighed([new], {1: 0.0})] == [100.0], "without a load it would be new"


def used(at: float, now: Mapping[int, float], where: Mapping[int, int], full: bool = True) -> View:
    """What a rank that is full shows of parts that are on three."""
    served = [sum(rate for i, rate in now.items() if where.get(i, 0) == rank) for rank in range(3)]
    ranks = tuple(RankView(r, served[r], 40.0 if r == 0 else 1.0, full and r == 0, 1000.0) for r in range(3))
    return View(at, ranks, (Piece(HEAD, "/p", 0, 0.0, 10.0), *parts(now, where)), True)


def test_a_rank_that_gives_without_a_pause_does_not_give_what_nobody_uses() -> None:
    """Of forty directories ten are used; the first look takes half of that for chance. As it gives all the
    time there is no look at which nothing moves."""
    rates = {100 + i: (100.0 if i < 10 else 0.0) for i in range(40)}
    state, where, given = State(split=frozenset({HEAD})), dict[int, int](), list[int]()
    under_way: list[Move] = []
    for look in range(1, 9):
        state, decision = Scheduler(state, used(LOOK * look, rates, where), LIMITS).decide()
        # One of them is always late.
        where |= {m.ino: m.target for m in under_way}
        under_way = [*under_way[-1:], *decision.moves] if decision.moves else []
        given += [m.ino for m in decision.moves]
    assert len([ino for ino in given if rates[ino]]) >= 5
    assert [ino for ino in given if not rates[ino]] == []


def test_what_is_expected_of_parts_follows_what_is_told_of_them_meanwhile() -> None:
    past = (coming(1, load=100.0),)
    known = {1: Demand(100.0, LOOK), 2: Demand(100.0, LOOK), 3: Demand(100.0, LOOK), HEAD: Demand(0.0, LOOK)}
    state = State(split=frozenset({HEAD}), past=past, demand=known, at=0.0)
    after = looked(state, used(LOOK, {1: 60.0, 2: 30.0, 3: 0.0}, {}), LIMITS)
    assert after.stale == {0, 1}
    assert sum(after.demand[i].mean for i in (1, 2, 3)) == pytest.approx(300.0)
    assert after.demand[1].mean > 100.0 > after.demand[3].mean
    assert after.past[0].move.load == pytest.approx(after.demand[1].mean)
    assert after.demand[1].turned < 0.0, "that it has changed for good is not said by that"
    untold = looked(state, replace(used(LOOK, {1: 60.0, 2: 30.0, 3: 0.0}, {}), told=frozenset()), LIMITS)
    assert {i: untold.demand[i] for i in known} == known
    assert LATEST < 1.0
