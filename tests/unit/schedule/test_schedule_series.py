# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves that follow one another, and what all of them bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from test_schedule_core import CAPACITY, LOOK, MANY, Cluster, hot

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.demand import HELD
from mds_partitioner.schedule.core.series import LONGEST, MUCH, RESTS, Series, level
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import View

HORIZON = Limits().horizon
USUAL = 100.0  # req/s
NEW = Series()


def after(
    rates: Sequence[float], *, restless: bool, series: Series = NEW, full: bool = True, at: float = 0.0
) -> Series:
    for rate in rates:
        at += LOOK
        series = series.seen(USUAL, rate, LOOK, restless=restless, full=full, at=at, horizon=HORIZON)
    return series


def dear(vain: int = 0) -> Series:
    found = after([0.0] * 7, restless=True, series=Series(vain=vain))
    assert found.dear
    return found


@pytest.mark.parametrize(
    ("rate", "looks", "much"), [(0.0, 6, False), (0.0, 7, True), (50.0, 12, False), (50.0, 15, True)]
)
def test_moves_are_dear_when_much_of_what_clients_got_through_is_lost(
    rate: float, looks: int, much: bool
) -> None:
    series = after([rate] * looks, restless=True)
    assert series.dear == much == (series.lost > MUCH * USUAL)
    assert bool(series.told(0.0)) == much


def test_what_clients_get_through_more_pays_for_what_they_lost() -> None:
    assert not after([0.0, 0.0, 300.0, *[0.0] * 5], restless=True).dear


@pytest.mark.parametrize(
    ("now", "full", "rests"),
    [
        (101.0, True, True),
        (110.0, True, False),
        (70.0, True, True),
        (70.0, False, False),
        (98.0, False, True),
    ],
    ids=[
        "nothing gained",
        "it will have paid",
        "worse, and clients wait",
        "the load has ended",
        "all but as before",
    ],
)
def test_when_clients_are_back_it_is_seen_what_dear_moves_have_brought(
    now: float, full: bool, rests: bool
) -> None:
    """In several looks: the first one may be of the time when something moved."""
    series = after([0.8 * USUAL, now], restless=False, series=dear(), full=full)
    assert series.dear and series.told(0.0)
    series = after([0.0, *[now] * HELD], restless=True, series=series)
    series = after(
        [now] * HELD, restless=False, series=replace(series, lost=dear().lost), full=full, at=100.0
    )
    assert (series.until == 100.0 + HELD * LOOK + RESTS) == rests == bool(series.told(120.0))
    assert not series.dear


def test_it_rests_for_twice_as_long_each_time_until_moves_have_brought_something() -> None:
    seconds, series = list[float](), NEW
    for _ in range(4):
        series = after([USUAL] * HELD, restless=False, series=dear(series.vain))
        seconds.append(series.until - HELD * LOOK)
        series = after([USUAL], restless=False, series=series, at=series.until)
    assert seconds == [RESTS, 2.0 * RESTS, 4.0 * RESTS, LONGEST]
    assert after([2.0 * USUAL] * HELD, restless=False, series=dear(3)).vain == 0


@pytest.mark.parametrize(
    ("rates", "rests"),
    [([90.0] * HELD, True), ([130.0] * HELD, False), ([70.0] * HELD, False), ([130.0, 130.0, 100.0], True)],
    ids=["as it was", "more", "less", "noise"],
)
def test_it_rests_until_the_load_is_another_one(rates: Sequence[float], rests: bool) -> None:
    series = after(rates, restless=False, series=Series(until=RESTS, served=USUAL))
    assert bool(series.told(LOOK * len(rates))) == rests
    assert not series.told(RESTS)


def test_what_short_pauses_follow_is_one_series() -> None:
    """Clients get through as much as ever in these, so nothing is paid back."""
    series = after([0.0] * 4, restless=True)
    series = after([USUAL], restless=False, series=series)
    assert after([0.0] * 4, restless=True, series=series).dear


def test_when_the_load_is_another_one_what_it_was_is_forgotten() -> None:
    """It has gone elsewhere while nothing moved: what moves bring is more than there was then."""
    series = after([0.0] * 4, restless=True)
    assert after([20.0], restless=False, series=series) == NEW
    series = after([90.0], restless=False, series=series)
    assert series.before == USUAL and series.lost > 0.0


def test_it_is_forgotten_in_the_time_in_which_moves_have_to_pay() -> None:
    series = after([USUAL] * 60, restless=False, series=after([0.0] * 6, restless=True))
    assert 0.5 < series.lost / (6 * LOOK * USUAL) < 0.65
    assert after([USUAL] * 600, restless=False, series=series) == NEW


@pytest.mark.parametrize(
    ("calm", "looks", "before"),
    [
        (100.0, (110.0, 90.0), 100.0),
        (110.0, (90.0, 100.0), 100.0),
        (40.0, (100.0, 100.0), 40.0),
        (100.0, (10.0, 100.0), 100.0),
    ],
    ids=["noise", "noise", "it has just fallen", "there was less on before"],
)
def test_what_moves_are_held_against(calm: float, looks: tuple[float, ...], before: float) -> None:
    assert level(calm, looks) == pytest.approx(before)


RESTING = Series(until=1e9, served=CAPACITY)


def with_series(inodes: float, series: Series) -> Cluster:
    cluster = hot(inodes=inodes)
    cluster.state = State(series=series, rates=dict.fromkeys(range(cluster.ranks), ()))
    return cluster


@pytest.mark.parametrize("series", [Series(CAPACITY, 3.0 * MUCH * CAPACITY), RESTING])
def test_no_rank_is_relieved_meanwhile(series: Series) -> None:
    cluster = with_series(5000.0, series)
    cluster.go(1 + (HELD if series.dear else 10))
    assert cluster.history == [] and cluster.state.acting
    cluster.state = replace(cluster.state, series=NEW)
    cluster.look()
    assert cluster.history


def test_what_costs_next_to_nothing_is_moved_though_others_rest() -> None:
    """A quarter of a second of what clients get through pays for 1,000 inodes, at a quarter of a request."""
    cluster = with_series(400.0, RESTING)
    decisions = [cluster.look() for _ in range(4)]
    moves = [len(decision.moves) for decision in decisions if decision.moves]
    assert moves and max(moves) <= 2
    assert "moves cost more than they brought" in next(d.why for d in decisions if d.moves)


def test_what_has_come_to_be_taken_apart_is_taken_apart_all_the_same() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: MANY})
    while not cluster.state.apart:
        cluster.look()
    cluster.state = replace(cluster.state, series=RESTING)
    cluster.go(6)
    assert cluster.state.split == {1}


def test_a_wait_forgets_nothing_unless_ranks_have_gone() -> None:
    cluster = hot()
    cluster.go(2)
    state, view = replace(cluster.state, series=RESTING), replace(cluster.view(), wait="slow requests")
    assert Scheduler(state, view, cluster.limits).decide()[0].series == RESTING
    fewer = replace(view, ranks=view.ranks[1:])
    assert Scheduler(state, fewer, cluster.limits).decide()[0].series == NEW


def test_a_long_wait_forgets_what_was_lost_before_it() -> None:
    cluster = hot()
    cluster.go(2)
    state = replace(cluster.state, series=replace(dear(), back=(USUAL,)))
    view = replace(cluster.view(), wait="it is not the time of day", now=cluster.state.at + HORIZON / 2.0)
    series = Scheduler(state, view, cluster.limits).decide()[0].series
    assert (series.lost, series.back) == (pytest.approx(dear().lost / 2.0), ())


def test_ranks_that_come_make_it_another_load() -> None:
    cluster = hot()
    cluster.go(2)
    state, view = replace(cluster.state, series=RESTING), replace(cluster.view(), now=cluster.now + LOOK)
    fewer = replace(state, rates={rank: rates for rank, rates in state.rates.items() if rank})
    assert Scheduler(state, view, cluster.limits).decide()[0].series.until == RESTING.until
    assert Scheduler(fewer, view, cluster.limits).decide()[0].series.until != RESTING.until


def test_while_something_is_about_to_be_taken_apart_it_is_not_judged() -> None:
    """As a whole it relieves nobody. What has gone meanwhile is not waited for."""
    cluster = Cluster({1: 500.0, 2: 1500.0, 3: 10.0}, held=frozenset({1, 2, 3}))
    cluster.go(3)
    then = replace(cluster.state, series=Series(CAPACITY, 2.0 * MUCH * CAPACITY), apart=frozenset({1}))
    view = replace(cluster.view(), now=cluster.now + LOOK)
    for state, judged in (
        (then, 0),
        (replace(then, apart=frozenset({9})), 1),
        (replace(then, acting=False), 1),
    ):
        assert len(Scheduler(state, view, cluster.limits).decide()[0].series.back) == judged


def test_nothing_is_lost_by_what_is_only_advised() -> None:
    cluster = hot()
    cluster.go(3)

    def series(view: View) -> Series:
        state = replace(cluster.state, series=Series(before=9000.0))
        return Scheduler(state, view, cluster.limits).decide()[0].series

    view = replace(cluster.view(), now=cluster.now + LOOK)
    assert series(view).lost > 0.0
    assert series(replace(view, advised=True)).lost == 0.0
