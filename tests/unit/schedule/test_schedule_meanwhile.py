# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is known of parts while something moves from or to their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.demand import Demand
from mds_partitioner.schedule.core.learn import looked
from mds_partitioner.schedule.core.meanwhile import FROZEN, LATEST, known, reweighed, shared_meanwhile
from mds_partitioner.schedule.core.state import Limits, Past, State
from mds_partitioner.schedule.core.turns import AHEAD, MOST, Served, Stay, Told, stays
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View

HEAD, LOOK = 9, 5.0
LIMITS = Limits(moves=4)


def parts(rates: Mapping[int, float], ranks: Mapping[int, int] | None = None) -> list[Piece]:
    """By inode number; on rank 0 unless told otherwise."""
    where = ranks or {}
    return [Piece(i, f"/p/{i}", where.get(i, 0), rate, 500.0, HEAD) for i, rate in rates.items()]


def coming(ino: int, source: int = 0, looks: int = 0, load: float = 100.0) -> Past:
    """It has arrived on rank 1 so many looks ago."""
    return Past(Move(ino, f"/p/{ino}", source, 1, load, load, 500.0, ""), 0.0, arrived=0.0, looks=looks)


def test_siblings_have_together_what_was_expected_and_share_it_as_they_do_now() -> None:
    now = {1: 30.0, 2: 10.0, 3: 0.0}
    assert shared_meanwhile(parts(now), now, dict.fromkeys(now, 40.0)) == {1: 90.0, 2: 30.0, 3: 0.0}


@pytest.mark.parametrize("part", [FROZEN, 0.99 * FROZEN, 0.0])
def test_of_ranks_that_are_frozen_nothing_is_learned(part: float) -> None:
    now = {1: 100.0 * part, 2: 0.0}
    found = shared_meanwhile(parts(now), now, {1: 50.0, 2: 50.0})
    assert found == ({1: pytest.approx(100.0), 2: 0.0} if part >= FROZEN else {})


def test_what_nobody_has_looked_at_before_has_no_part_in_it() -> None:
    now = {1: 30.0, 2: 30.0}
    assert shared_meanwhile(parts(now), now, {1: 50.0}) == {1: 50.0}


def test_what_is_on_its_way_or_was_told_of_where_it_was_tells_nothing() -> None:
    new = replace(coming(1), arrived=-1.0)
    assert [known(p) for p in (None, new, coming(1), coming(1, looks=1))] == [True, False, False, True]


def test_what_has_arrived_counts_as_it_is_there_though_it_never_counts_as_new() -> None:
    assert reweighed(coming(1, load=100.0), 300.0).move.load == 100.0 + LATEST * 200.0
    assert reweighed(coming(1, load=100.0), 0.0).move.load == 100.0 - LATEST * 100.0
    assert reweighed(coming(1, load=0.0), 300.0).move.load == 0.0


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


def after(rates: Mapping[int, float], past: Sequence[Past] = (), told: frozenset[int] | None = None) -> State:
    """A look later. 100 req/s were expected of each of four, of which the first moves from rank 0 to rank 1
    or has just come there."""
    moves = past or (replace(coming(1), arrived=-1.0),)
    where = {p.move.ino: 1 for p in moves if p.arrived >= 0.0}
    known = {**dict.fromkeys((1, 2, 3, 4), Demand(100.0, LOOK)), HEAD: Demand(0.0, LOOK)}
    state = State(split=frozenset({HEAD}), past=tuple(moves), demand=known, at=0.0)
    return looked(state, replace(used(LOOK, rates, where), told=told), LIMITS)


def means(state: State) -> list[float]:
    return [state.demand[ino].mean for ino in (1, 2, 3, 4)]


def test_what_stays_is_learned_and_what_is_frozen_on_its_way_counts_as_when_it_was_ordered() -> None:
    state = after({1: 0.0, 2: 90.0, 3: 60.0, 4: 0.0})
    assert state.stale == {0, 1}
    assert means(state)[0] == state.past[0].move.load == 100.0
    assert means(state)[1] > means(state)[2] > 100.0 > means(state)[3]
    assert sum(means(state)) == pytest.approx(400.0)
    assert state.demand[2].turned < 0.0, "that it has changed for good is not said by that"


def test_of_what_was_not_told_nothing_is_learned() -> None:
    assert means(after({1: 0.0, 2: 90.0, 3: 60.0, 4: 0.0}, told=frozenset())) == [100.0] * 4


def test_what_has_arrived_has_its_part_in_what_all_have() -> None:
    other = replace(coming(9), arrived=-1.0)  # so that its ranks give and get still
    state = after({1: 210.0, 2: 30.0, 3: 30.0, 4: 30.0}, (coming(1, looks=1), other))
    assert state.past[0].move.load > 100.0 == means(state)[0], "what it was ordered for is held against that"
    assert all(mean < 100.0 for mean in means(state)[1:])
    assert state.past[0].move.load + sum(means(state)[1:]) == pytest.approx(400.0)


def test_it_does_not_grow_from_look_to_look() -> None:
    """What was used by turns had its load multiplied in each of them."""
    state, other = State(split=frozenset({HEAD})), replace(coming(9), arrived=-1.0)
    known = {**dict.fromkeys((1, 2, 3, 4), Demand(100.0, LOOK)), HEAD: Demand(0.0, LOOK)}
    state = replace(state, past=(coming(1, looks=1), other), demand=known, at=0.0)
    for look in range(1, 9):
        rates = {1: 200.0 * (look % 2), 2: 100.0, 3: 100.0, 4: 100.0}
        state = looked(state, used(LOOK * look, rates, {1: 1}), LIMITS)
        assert state.past[0].move.load + sum(means(state)[1:]) == pytest.approx(400.0)
        assert 0.0 < state.past[0].move.load <= 200.0


def test_parts_of_a_part_are_not_counted_twice() -> None:
    """Part 1 is taken apart itself: what its own parts have is not its siblings'."""
    known = {**dict.fromkeys((2, 3, 4), Demand(100.0, LOOK)), 1: Demand(900.0, LOOK), HEAD: Demand(0.0, LOOK)}
    state = State(split=frozenset({HEAD, 1}), past=(replace(coming(2), arrived=-1.0),), demand=known, at=0.0)
    seen = used(LOOK, {1: 10.0, 2: 0.0, 3: 150.0, 4: 150.0}, {})
    inner = tuple(Piece(50 + i, f"/p/1/{i}", 0, 300.0, 500.0, 1) for i in range(3))
    found = looked(state, replace(seen, pieces=(*seen.pieces, *inner)), LIMITS)
    assert [found.demand[ino].mean for ino in (3, 4)] == [pytest.approx(100.0)] * 2


def test_a_rank_that_is_served_less_as_it_gives_does_not_pass_for_a_load_that_changes() -> None:
    """Each rank by itself has what it had; one of them freezes."""
    then = Told(0.0, {i: Served(i // 4, [80.0, 10.0, 5.0, 5.0][i % 4], 0.0) for i in range(8)})
    now = [
        Piece(i, "", i // 4, then.served[i].requests * (0.3 if i < 4 else 1.0), 50.0, HEAD) for i in range(8)
    ]
    assert stays(now, [then], {}, AHEAD)[HEAD].part < 0.7
    assert stays(now, [then], {}, AHEAD, {0})[HEAD].part == pytest.approx(1.0)


@pytest.mark.parametrize(
    "frozen", [{1: 0.0, 2: 1.0, 3: 1.0}, {1: 1.0, 2: 0.3, 3: 0.3}], ids=["it", "its rank"]
)
def test_what_is_frozen_is_not_taken_for_what_is_used_in_turn(frozen: Mapping[int, float]) -> None:
    """1 to 3 are on rank 0, and 1 moves from there; the others are on rank 1."""
    rates, where = {1: 100.0, 2: 60.0, 3: 20.0, 4: 90.0, 5: 50.0, 6: 20.0}, dict.fromkeys((4, 5, 6), 1)
    then = Told(0.0, {i: Served(where.get(i, 0), rate, 0.0) for i, rate in rates.items()})
    known = {**{i: Demand(rate, LOOK) for i, rate in rates.items()}, HEAD: Demand(0.0, LOOK)}
    past = (replace(coming(1), arrived=-1.0),)
    state = State(split=frozenset({HEAD}), past=past, demand=known, at=0.0, before=(then,))
    now = {i: rate * frozen.get(i, 1.0) for i, rate in rates.items()}
    assert looked(state, used(AHEAD, now, where), LIMITS).stay[HEAD].part == pytest.approx(1.0)


def test_ranks_that_serve_more_or_less_than_usual_are_held_against_that() -> None:
    """One of them has half of what its parts are expected to have, the other twice, as before."""
    rates, where = {1: 50.0, 2: 50.0, 3: 50.0, 4: 200.0, 5: 200.0}, dict.fromkeys((4, 5), 1)
    known = {**dict.fromkeys(rates, Demand(100.0, LOOK)), HEAD: Demand(0.0, LOOK)}
    state = State(
        split=frozenset({HEAD}),
        past=(replace(coming(1), arrived=-1.0),),
        demand=known,
        at=0.0,
        scale={0: 0.5, 1: 2.0},
        stay={HEAD: Stay(1.0, MOST)},
    )
    for look in range(1, 6):
        state = looked(state, used(LOOK * look, rates, where), LIMITS)
    assert [state.demand[ino].mean for ino in rates] == [pytest.approx(100.0)] * 5
