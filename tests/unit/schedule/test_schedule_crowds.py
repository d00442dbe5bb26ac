# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks serve what they can, but on one of them many more requests wait than on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mds_partitioner.engine.inside import CROWD
from mds_partitioner.schedule.core.crowds import CROWDED, STEP, VAIN, easing
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.demand import HELD
from mds_partitioner.schedule.core.state import Crowd, Limits, Past, State
from mds_partitioner.schedule.core.view import Decision, Move, Piece, RankView, View

LOOK, SERVED = 5.0, 1000.0  # s, req/s of each rank
INSIDE = (4.0, 4.0, 4.0, 18.0, 18.0)
EACH = 20  # pieces on a rank


def ranks(inside: Sequence[float], served: Mapping[int, float], full: bool = True) -> tuple[RankView, ...]:
    return tuple(
        RankView(r, rate := served.get(r, SERVED), inside=n, full=full, capacity=rate)
        for r, n in enumerate(inside)
    )


def view(
    look: int, inside: Sequence[float] = INSIDE, served: Mapping[int, float] = {}, full: bool = True
) -> View:
    """Each rank has as many pieces, all alike."""
    pieces = (
        Piece(100 * r + k, f"/r{r}/{k:02d}", r, served.get(r, SERVED) / EACH, 100.0)
        for r in range(len(inside))
        for k in range(EACH)
    )
    return View(look * LOOK, ranks(inside, served, full), tuple(pieces))


def decided(views: Sequence[View], state: State | None = None) -> tuple[State, list[Decision]]:
    state, found = state or State(), []
    for each in views:
        state, decision = Scheduler(state, each, Limits()).decide()
        found.append(decision)
    return state, found


def arrived(seen: View, moves: Sequence[Move]) -> View:
    there = {m.ino: m.target for m in moves}
    return replace(seen, pieces=tuple(p._replace(rank=there.get(p.ino, p.rank)) for p in seen.pieces))


def test_after_some_looks_a_little_of_what_waits_goes_to_ranks_where_less_does() -> None:
    state, found = decided([view(look) for look in range(HELD + 1)])
    assert [bool(d.moves) for d in found] == [False] * (HELD - 1) + [True, False]
    moves = found[HELD - 1].moves
    assert {m.source for m in moves} == {3} and {m.target for m in moves} <= {0, 1, 2}
    assert "requests wait 18 ms on rank 3, and 10 ms on the mean" in found[HELD - 1].why
    assert all(m.load == pytest.approx(SERVED / EACH) and m.gain == 0.0 for m in moves)
    assert sum(m.load for m in moves) == pytest.approx(STEP * SERVED)
    assert (state.crowd.rank, state.crowd.eased) == (3, 1) and not found[HELD].moves, "it is under way"
    after, _ = decided([view(HELD + 1, [9.0] * 5)], replace(state, past=()))
    assert after.crowd == Crowd()


@pytest.mark.parametrize(("inside", "moves"), [((10.0, 10.0), False), ((42.0, 6.0), True)])
def test_where_requests_only_cost_more_they_stay_and_cheap_ones_do_not_wait_behind_them(
    inside: tuple[float, float], moves: bool
) -> None:
    """Listings of large directories on one rank, lookups on the other; as many clients on each."""
    _, found = decided([view(look, inside, {0: 200.0}) for look in range(3 * HELD)])
    assert any(decision.moves for decision in found) is moves


def test_as_long_as_it_helps_twice_as_much_goes_each_time_and_nothing_goes_on_or_back() -> None:
    state, views, gone, parts = State(), 0, dict[int, int](), []
    inside = list(INSIDE)
    while views < 60:
        moves = [Move(ino, "", 3, rank, 1.0, 0.0, 1.0, "") for ino, rank in gone.items()]
        state, (decision,) = decided([arrived(view(views, inside), moves)], state)
        views += 1
        if decision.moves and {m.source for m in decision.moves} == {3}:
            assert not gone.keys() & {m.ino for m in decision.moves}
            gone |= {m.ino: m.target for m in decision.moves}
            parts.append(len(decision.moves) / EACH)
            inside[3] -= sum(inside[3] / EACH for _ in decision.moves)
    assert parts[:2] == [STEP, 2.0 * STEP] and inside[3] < CROWDED * (sum(inside) - inside[3]) / 4.0


def test_where_it_does_not_help_it_ends_and_the_next_crowded_rank_has_its_turn() -> None:
    state, gone, sources = State(), list[Move](), list[int]()
    for look in range(100):
        state, (decision,) = decided([arrived(view(look), gone)], state)
        gone += decision.moves
        sources += {m.source for m in decision.moves}
    assert sources == [3] * VAIN + [4] * VAIN, "others fill the ranks, whatever goes"
    assert not easing(state) and state.vain.keys() >= {3, 4}
    later = [replace(arrived(view(0), gone), now=Limits().rest + 1000.0 + k * LOOK) for k in range(HELD)]
    assert any(d.moves for d in decided(later, state)[1]), "tried again when it has rested"


def test_where_all_clients_ask_all_ranks_what_waits_does_not_go_around() -> None:
    """They wait at the rank that is asked for most, and at the next one when that gives to it."""
    state, (*_, first) = decided([view(look) for look in range(HELD)])
    crowded = {move.target for move in first.moves}
    inside = [18.0 if rank in crowded else 4.0 for rank in range(5)]
    looks = [arrived(view(HELD + k, inside), first.moves) for k in range(3 * HELD)]
    state, found = decided(looks, state)
    assert crowded and not any(decision.moves for decision in found)
    later = [replace(each, now=each.now + Limits().rest) for each in looks]
    assert any(decision.moves for decision in decided(later, state)[1]), "later it may be another crowd"


@pytest.mark.parametrize("idle", [(), (0.0,), (1.0, 0.5)])
@pytest.mark.parametrize("many", [2, 5, 9])
def test_where_each_is_more_than_a_step_they_go_one_by_one(many: int, idle: Sequence[float]) -> None:
    state, gone, moves = State(), list[Move](), list[int]()
    for look in range(40):
        whole = view(look)
        left = [p for p in whole.pieces if p.rank != 3 or p.ino % 100 < many]
        pieces = tuple(p._replace(requests=SERVED / many) if p.rank == 3 else p for p in left)
        waits = 30.0 - 4.0 * len(gone)
        beside = tuple(Piece(900 + k, f"/idle/{k}", 3, load, 100.0) for k, load in enumerate(idle))
        each = replace(whole, pieces=(*pieces, *beside), ranks=ranks((4.0, 4.0, 4.0, waits, 4.0), {}))
        state, (decision,) = decided([arrived(each, gone)], state)
        moves += [len(decision.moves)] if decision.moves else []
        gone += decision.moves
    assert moves[:1] == [1] and {m.source for m in gone} == {3}


def test_what_was_deleted_when_it_had_come_is_not_waited_for() -> None:
    state, (*_, decision) = decided([view(look) for look in range(HELD)])
    come = arrived(view(HELD), decision.moves)
    state, _ = decided([come], state)
    inos = {m.ino for m in decision.moves}
    left = replace(view(HELD + 1), pieces=tuple(p for p in come.pieces if p.ino not in inos))
    looks = [replace(left, now=(HELD + 1 + k) * LOOK) for k in range(HELD)]
    _, found = decided(looks, state)
    assert any(d.moves for d in found)


def test_three_looks_of_three_ranks_are_no_crowd() -> None:
    each = [[4.0] * r + [30.0] + [4.0] * (4 - r) for r in range(5)]
    _, found = decided([view(look, each[look % 5]) for look in range(15)])
    assert not any(d.moves for d in found)


@pytest.mark.parametrize(
    "quiet",
    [
        view(0, full=False),
        replace(view(0), ranks=(*view(0, full=False).ranks[:1], *view(0).ranks[1:])),
        view(0, [0.95 * CROWD, 2.0, 2.0, 2.0, 2.0]),
        view(0, [10.0, 10.0, 10.0, 4.0, 0.95 * CROWDED * 8.5]),
        # A rank that can do less and has less waiting, so that all wait alike.
        view(0, [16.0, 16.0, 4.0, 4.0, 4.0], {2: 250.0, 3: 250.0, 4: 250.0}),
        view(0, [0.0] * 5),
        replace(view(0), advised=True),
        replace(view(0), wait="an operator paused it"),
    ],
    ids=[
        *("none is full", "one is not full", "few wait", "a bit worse"),
        *("unlike ranks", "idle", "advice", "paused"),
    ],
)
def test_nothing_is_done(quiet: View) -> None:
    _, found = decided([replace(quiet, now=look * LOOK) for look in range(3 * HELD)])
    assert not any(d.moves for d in found)


@pytest.mark.parametrize("ranks", [5, 16])
def test_one_crowded_rank_of_however_many_is_relieved(ranks: int) -> None:
    _, found = decided([view(look, [*[9.0] * (ranks - 1), 20.0]) for look in range(HELD)])
    assert {move.source for move in found[-1].moves} == {ranks - 1}


def test_one_look_in_between_that_is_not_so_begins_anew() -> None:
    bad, good = [view(look) for look in range(HELD - 1)], view(HELD - 1, [8.0] * 5)
    state, found = decided([*bad, good, *(view(HELD + look) for look in range(HELD - 1))])
    assert not any(d.moves for d in found) and state.crowd.looks == HELD - 1


def test_a_pause_in_between_begins_anew() -> None:
    paused = replace(view(HELD - 1), wait="an operator paused it")
    state, _ = decided([*(view(look) for look in range(HELD - 1)), paused])
    assert state.crowd == Crowd()


def test_where_nothing_may_be_taken_what_sleeps_is_not_held_up() -> None:
    held = tuple(piece._replace(held="pinned") for piece in view(0).pieces)
    state, found = decided([replace(view(look), pieces=held) for look in range(HELD)])
    assert not any(d.moves for d in found) and not easing(state)


def test_where_nothing_may_be_taken_the_next_crowded_rank_has_its_turn() -> None:
    held = tuple(p._replace(held="pinned" if p.rank == 3 else "") for p in view(0).pieces)
    _, found = decided([replace(view(look), pieces=held) for look in range(HELD)])
    assert {move.source for move in found[-1].moves} == {4}


@pytest.mark.parametrize("inside", [INSIDE, (4.0, 20.0, 4.0, 20.0, 20.0, 4.0, 4.0)])
@pytest.mark.parametrize("rests", [False, True])
def test_a_rank_of_which_nothing_may_be_taken_now_leaves_its_turn_to_the_others(
    rests: bool, inside: Sequence[float]
) -> None:
    """What is on rank 3 costs more than it brings, or has just come there."""
    dear = 100.0 if rests else 1e6
    come = [Move(300 + k, "", 0, 3, SERVED / EACH, 0.0, 1.0, "") for k in range(EACH)] if rests else []
    state, sources = State(past=tuple(Past(m, -60.0, -50.0, 2, m.load) for m in come)), set[int]()
    gone = list[Move]()
    for look in range(20 * HELD):
        whole = arrived(view(look, inside), gone)
        pieces = tuple(p._replace(inodes=dear) if p.ino // 100 == 3 else p for p in whole.pieces)
        state, (decision,) = decided([replace(whole, pieces=pieces)], state)
        gone += decision.moves
        sources |= {m.source for m in decision.moves}
    assert sources == {rank for rank, n in enumerate(inside) if n > 10.0} - {3}


def test_what_does_not_bring_what_it_costs_stays() -> None:
    dear = tuple(piece._replace(inodes=1e6) for piece in view(0).pieces)
    _, found = decided([replace(view(look), pieces=dear) for look in range(2 * HELD)])
    assert not any(d.moves for d in found)


def test_no_more_is_pinned_than_may_be() -> None:
    most = Limits().pins - 1
    _, found = decided([replace(view(look), pins=most) for look in range(HELD)])
    assert Counter(len(d.moves) for d in found) == {0: HELD - 1, 1: 1}
