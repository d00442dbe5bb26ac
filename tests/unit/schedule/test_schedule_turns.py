# SPDX-License-Identifier: LGPL-2.1-or-later
"""Siblings that are used in turn, and others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import permutations
from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.turns import (
    NEW,
    SOME,
    UNKNOWN,
    Served,
    by_chance,
    shared_out,
    stays,
)
from mds_partitioner.schedule.core.view import Piece, RankView, View

PARENT = 9


def parts(rates: Sequence[float], rank: int = 0, parent: int = PARENT) -> list[Piece]:
    return [Piece(100 + i, f"/p/{i}", rank, rate, 50.0, parent) for i, rate in enumerate(rates)]


def rates(pieces: Sequence[Piece]) -> dict[int, float]:
    return {piece.ino: piece.requests for piece in pieces}


def before(of: Sequence[float]) -> dict[int, Served]:
    return {piece.ino: Served(0, piece.requests) for piece in parts(of)}


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ((90.0, 5.0, 5.0), (900.0, 50.0, 50.0), 1.0),
        ((100.0, 0.0, 0.0), (0.0, 0.0, 100.0), 0.0),
        ((80.0, 20.0, 0.0, 0.0), (80.0, 0.0, 20.0, 0.0), (0.8 - 0.35) / (1.0 - 0.35)),
        ((50.0, 50.0, 0.0), (0.0, 50.0, 50.0), 0.0),
    ],
)
def test_how_much_stays_is_what_is_on_the_same_ones_and_would_not_be_by_chance(
    then: tuple[float, ...], now: tuple[float, ...], same: float
) -> None:
    found = stays(parts(now), before(then), {})
    assert found == pytest.approx({PARENT: same})
    later = stays(parts(now), before(then), {PARENT: 1.0})
    assert later == pytest.approx({PARENT: 1.0 + NEW * (same - 1.0)}), "one look says little"


@given(st.lists(st.floats(0.0, 100.0), min_size=2, max_size=5), st.data())
def test_by_chance_is_the_mean_over_all_who_could_have_had_it(then: list[float], data: st.DataObject) -> None:
    now = data.draw(st.lists(st.floats(0.0, 100.0), min_size=len(then), max_size=len(then)))
    assume(sum(then) > 1.0 and sum(now) > 1.0)
    shares = [rate / sum(then) for rate in then]
    orders = [[rate / sum(now) for rate in order] for order in permutations(now)]
    mean = fmean(sum(map(min, shares, order)) for order in orders)
    assert by_chance(then, now) == pytest.approx(mean)


def test_of_siblings_that_are_alike_nothing_is_learned() -> None:
    assert stays(parts((50.0, 50.0, 50.0)), before((50.0, 50.0, 50.0)), {PARENT: 0.4}) == {PARENT: 0.4}


def test_of_few_of_idle_and_of_new_ones_nothing_is_learned() -> None:
    few = (1.0,) * (SOME - 1)
    assert stays(parts(few), before(few), {PARENT: 0.4}) == {PARENT: 0.4}
    assert stays(parts((0.0,) * SOME), before((1.0,) * SOME), {}) == {}
    assert stays(parts((1.0,) * SOME), {}, {}) == {}


@pytest.mark.parametrize(("stay", "hot"), [({PARENT: 1.0}, 90.0), ({PARENT: 0.0}, 30.0), ({}, 60.0)])
def test_what_does_not_stay_is_shared_out_alike(stay: Mapping[int, float], hot: float) -> None:
    assert UNKNOWN == 0.5
    found = shared_out(parts((90.0, 0.0, 0.0)), stay)
    assert found[100] == pytest.approx(hot) and sum(found.values()) == pytest.approx(90.0)
    alone = parts((90.0, 0.0, 0.0), parent=0)
    assert shared_out(alone, stay) == rates(alone), "who has nothing in common has nothing to share"


def view(look: int, pieces: Sequence[Piece], told: Collection[int] | None = None) -> View:
    served = {rank: sum(p.requests for p in pieces if p.rank == rank) for rank in range(3)}
    ranks = tuple(RankView(rank, load, 0.1) for rank, load in served.items())
    return View(5.0 * look, ranks, tuple(pieces), told=None if told is None else frozenset(told))


def looked_at(views: Sequence[View]) -> State:
    state = State(split=frozenset({PARENT}))
    for each in views:
        state, _ = Scheduler(state, each, Limits()).decide()
    return state


def test_a_scan_is_known_after_some_looks_and_nothing_is_learned_where_nobody_was_asked() -> None:
    def scan(look: int) -> list[Piece]:
        return parts([90.0 if part == look % 6 else 1.0 for part in range(6)])

    state = looked_at([view(look, scan(look)) for look in range(6)])
    assert state.stay[PARENT] < 0.1
    assert all(known.mean == pytest.approx(95.0 / 6.0, rel=0.2) for known in state.demand.values())
    same = [view(look, scan(0), told=() if look else None) for look in range(6)]
    assert PARENT not in looked_at(same).stay, "what was told once stays the same"


@pytest.mark.parametrize(("told", "mean"), [((100, 101), 90.0), ((), 10.0)])
def test_what_was_told_once_is_no_news_in_each_look(told: Collection[int], mean: float) -> None:
    """Who has something now and then may have had it just when MDSs were asked."""
    before = [view(look, parts((10.0, 10.0))) for look in range(3)]
    state = looked_at([*before, *(view(look, parts((90.0, 10.0)), told=told) for look in range(3, 8))])
    assert state.demand[100].mean == pytest.approx(mean)


def test_what_is_told_now_and_then_counts_for_all_of_that_time() -> None:
    """Every 30 s: the mean follows as it does where it is told in each look."""
    means = []
    for every in (1, 6):
        told = [(100, 101) if look % every == 0 else () for look in range(31)]
        views = [
            view(look, parts((10.0 if look == 0 else 16.0, 10.0)), told=of) for look, of in enumerate(told)
        ]
        means.append(looked_at(views).demand[100].mean)
    assert means[1] == pytest.approx(means[0], rel=0.02)


@pytest.mark.parametrize(("goes_on", "rate"), [(False, 60.0), (True, 600.0)])
def test_what_has_moved_says_nothing_of_a_load_that_stays(goes_on: bool, rate: float) -> None:
    """Whoever moved it: it has another load there; or the same, while others go on."""
    then = (600.0, *(90.0 if part % 2 else 10.0 for part in range(8)))
    others = (*then[2:], then[1]) if goes_on else then[1:]
    now = [p._replace(rank=1 if p.ino == 100 else 0) for p in parts((rate, *others))]
    found = stays(now, before(then), {})
    assert found == stays(now[1:], before(then), {})
    assert found == pytest.approx({PARENT: 0.0 if goes_on else 1.0})
