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
    AHEAD,
    LASTS,
    MOST,
    NEW,
    OUTSTANDS,
    SOME,
    UNKNOWN,
    Served,
    Stay,
    Told,
    by_chance,
    lasting,
    remembered,
    shared_out,
    stays,
)
from mds_partitioner.schedule.core.view import Piece, RankView, View

PARENT = 9


def parts(rates: Sequence[float], rank: int = 0, parent: int = PARENT) -> list[Piece]:
    return [Piece(100 + i, f"/p/{i}", rank, rate, 50.0, parent) for i, rate in enumerate(rates)]


def rates(pieces: Sequence[Piece]) -> dict[int, float]:
    return {piece.ino: piece.requests for piece in pieces}


def told(of: Sequence[float], at: float = 0.0) -> Told:
    return Told(at, {piece.ino: Served(0, piece.requests, at) for piece in parts(of)})


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
    soon = stays(parts(now), [told(then)], {}, AHEAD - 1.0)[PARENT]
    assert (soon.part, soon.looks) == (pytest.approx(same), 0)
    again = stays(parts(now), [told(then)], {PARENT: Stay(1.0)}, AHEAD - 1.0)[PARENT]
    assert again.part == pytest.approx(1.0 + NEW * (same - 1.0)), "one look says little"
    late = stays(parts(now), [told(then)], {PARENT: Stay(1.0)}, AHEAD)[PARENT]
    assert (late.part, late.looks) == (pytest.approx(same), 1), "what was so long ago says more"
    last = stays(parts(now), [told(then)], {PARENT: Stay(1.0, MOST)}, AHEAD)[PARENT]
    assert (last.part, last.looks) == (pytest.approx(1.0 + (same - 1.0) / MOST), MOST)
    assert stays(parts(now), [told(then)], {PARENT: last}, AHEAD - 1.0) == {PARENT: last}


def test_it_is_held_against_the_newest_that_is_long_enough_ago() -> None:
    looks = [told((100.0, 0.0, 0.0), 0.0), told((0.0, 100.0, 0.0), 5.0), told((0.0, 0.0, 100.0), 10.0)]
    found = stays(parts((0.0, 100.0, 0.0)), looks, {}, 5.0 + AHEAD)
    assert found == {PARENT: Stay(1.0, 1)}


def test_no_more_looks_are_remembered_than_are_asked_for() -> None:
    known: tuple[Told, ...] = ()
    for look in range(100):
        known = remembered(known, told((1.0,), 5.0 * look))
    assert [known[-1].at - each.at for each in known] == [30.0, 25.0, 20.0, 15.0, 10.0, 5.0, 0.0]
    assert known[-1].at - known[0].at >= LASTS > known[-1].at - known[1].at


def test_what_a_sibling_had_all_the_time_is_its_own() -> None:
    looks = [told((90.0, 5.0, 5.0), 0.0), told((60.0, 5.0, 35.0), 15.0), told((90.0, 10.0, 0.0), LASTS)]
    now = parts((90.0, 10.0, 0.0))
    lasts = lasting(now, looks, LASTS)
    assert lasts == {100: 60.0, 101: 5.0, 102: 0.0}
    assert OUTSTANDS * 100.0 / 3.0 > 60.0, "one of three cannot have much more than they all have"
    assert lasting(now, looks, LASTS - 1.0) == {}, "nobody knows yet"
    assert lasting(now, [told((90.0, 5.0, 5.0), 0.0), Told(LASTS, looks[0].served)], LASTS) == {}, "told once"
    assert lasting(now, (), 0.0) == {}


@pytest.mark.parametrize("anew", [True, False])
def test_of_what_was_away_for_a_look_nobody_knows_what_it_had_all_the_time(anew: bool) -> None:
    """A directory that does not seem to last for a moment is no part then. ``anew``: it is told of at once
    when it is one again."""
    both, one = parts((90.0, 5.0, 5.0)), parts((90.0, 5.0))
    looks = [both, both, one, *[both] * 6]
    views = [
        view(look, of, None if look < 2 or anew else {part.ino for part in one})
        for look, of in enumerate(looks)
    ]
    state = looked_at(views)
    assert len(state.before) == 7 and state.at == views[-1].now
    old = [told((90.0, 5.0, 5.0)), told((90.0, 5.0), 15.0), told((90.0, 5.0, 5.0), LASTS)]
    assert lasting(both, old, LASTS) == {100: 90.0, 101: 5.0}


def test_only_what_outstands_its_siblings_is_its_own_for_that() -> None:
    """Where clients are many, somebody is with each at all times."""
    found = shared_out(parts((95.0, 1.0, 1.0, 3.0)), {PARENT: Stay(0.0)}, {100: 90.0, 103: 3.0})
    assert found == pytest.approx({100: 92.5, 101: 2.5, 102: 2.5, 103: 2.5})
    alike = shared_out(parts((40.0, 30.0, 20.0, 10.0)), {PARENT: Stay(0.0)}, {100: 40.0, 101: 30.0})
    assert alike == pytest.approx(dict.fromkeys((100, 101, 102, 103), 25.0))


@given(st.lists(st.floats(0.0, 100.0), min_size=2, max_size=5), st.data())
def test_by_chance_is_the_mean_over_all_who_could_have_had_it(then: list[float], data: st.DataObject) -> None:
    now = data.draw(st.lists(st.floats(0.0, 100.0), min_size=len(then), max_size=len(then)))
    assume(sum(then) > 1.0 and sum(now) > 1.0)
    shares = [rate / sum(then) for rate in then]
    orders = [[rate / sum(now) for rate in order] for order in permutations(now)]
    mean = fmean(sum(map(min, shares, order)) for order in orders)
    assert by_chance(then, now) == pytest.approx(mean)


def test_of_siblings_that_are_alike_nothing_is_learned() -> None:
    known = {PARENT: Stay(0.4)}
    assert stays(parts((50.0, 50.0, 50.0)), [told((50.0, 50.0, 50.0))], known, AHEAD) == known


def test_of_few_of_idle_and_of_new_ones_nothing_is_learned() -> None:
    few = (1.0,) * (SOME - 1)
    known = {PARENT: Stay(0.4)}
    assert stays(parts(few), [told(few)], known, AHEAD) == known
    assert stays(parts((0.0,) * SOME), [told((1.0,) * SOME)], {}, AHEAD) == {}
    assert stays(parts((1.0,) * SOME), [told(())], {}, AHEAD) == {}
    assert stays(parts((1.0,) * SOME), [], known, AHEAD) == known


@pytest.mark.parametrize(
    ("stay", "hot"), [({PARENT: Stay(1.0)}, 90.0), ({PARENT: Stay(0.0)}, 30.0), ({}, 60.0)]
)
def test_what_does_not_stay_is_shared_out_alike(stay: Mapping[int, Stay], hot: float) -> None:
    assert UNKNOWN.part == 0.5
    found = shared_out(parts((90.0, 0.0, 0.0)), stay, {})
    assert found[100] == pytest.approx(hot) and sum(found.values()) == pytest.approx(90.0)
    alone = parts((90.0, 0.0, 0.0), parent=0)
    assert shared_out(alone, stay, {100: 90.0}) == rates(alone), (
        "who has nothing in common has nothing to share"
    )


def test_an_empty_one_that_nobody_uses_has_no_part_of_what_others_have() -> None:
    """It is not moved for that: MDSs export nothing that is empty, so it would be waited for."""
    homes = [p._replace(inodes=1.0) if p.ino > 102 else p for p in parts((90.0, 0.0, 0.0, 0.0, 6.0))]
    found = shared_out(homes, {PARENT: Stay(0.0)}, {})
    assert found == pytest.approx({100: 24.0, 101: 24.0, 102: 24.0, 103: 0.0, 104: 24.0})


@pytest.mark.parametrize(("used", "known", "idle"), [(4, False, False), (4, True, True), (6, False, True)])
def test_what_nobody_uses_is_not_moved_until_it_is_known_whether_its_turn_comes(
    used: int, known: bool, idle: bool
) -> None:
    """Of twenty homes in a directory that was just taken apart so many are used."""
    homes = parts((*(400.0 / used,) * used, *(0.0,) * (20 - used)))
    ranks = RankView(0, 400.0, 20.0, True, 400.0, 20.0), *(RankView(rank, 0.0) for rank in (1, 2, 3))
    state = State(split=frozenset({PARENT}), stay={PARENT: Stay(0.2, 3)} if known else {})
    pieces = (Piece(PARENT, "/p", 0, 0.0, 1.0), *homes)
    _, decision = Scheduler(state, View(5.0, ranks, pieces, True), Limits()).decide()
    moved = {move.ino for move in decision.moves}
    assert moved and any(ino >= 100 + used for ino in moved) is idle


def test_what_is_used_as_little_as_all_its_siblings_is_moved() -> None:
    """Of these it is never known whether they are used in turn."""
    ranks = RankView(0, 400.0, 20.0, True, 400.0, 20.0), *(RankView(rank, 0.0) for rank in (1, 2, 3))
    pieces = (Piece(PARENT, "/p", 0, 0.0, 1.0), *parts((0.8,) * 500))
    _, decision = Scheduler(
        State(split=frozenset({PARENT})), View(5.0, ranks, pieces, True), Limits()
    ).decide()
    assert decision.moves


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
    assert state.stay[PARENT].part < 0.1
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
    found = stays(now, [told(then)], {}, AHEAD)
    assert found == stays(now[1:], [told(then)], {}, AHEAD)
    assert found[PARENT].part == pytest.approx(0.0 if goes_on else 1.0)
