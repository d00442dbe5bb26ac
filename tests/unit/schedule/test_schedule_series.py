# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moves that follow one another, and what all of them bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from test_schedule_core import LOOK, hot

from mds_partitioner.schedule.core.series import MUCH, RESTS, Series
from mds_partitioner.schedule.core.state import Limits, State

HORIZON = Limits().horizon
USUAL = 100.0  # req/s
NEW = Series()


def after(rates: Sequence[float], *, restless: bool, series: Series = NEW, at: float = 0.0) -> Series:
    for rate in rates:
        at += LOOK
        series = series.seen(USUAL, rate, LOOK, restless=restless, at=at, horizon=HORIZON)
    return series


@pytest.mark.parametrize(
    ("rate", "looks", "dear"), [(0.0, 6, False), (0.0, 7, True), (50.0, 12, False), (50.0, 15, True)]
)
def test_moves_are_dear_when_much_of_what_clients_got_through_is_lost(
    rate: float, looks: int, dear: bool
) -> None:
    series = after([rate] * looks, restless=True)
    assert series.dear == dear == (series.lost > MUCH * USUAL)
    assert bool(series.told(0.0)) == dear


def test_what_clients_get_through_more_pays_for_what_they_lost() -> None:
    assert after([0.0, 0.0, 300.0, *[0.0] * 5], restless=True).dear is False
    assert after([0.0] * 7, restless=True).dear


@pytest.mark.parametrize(
    ("now", "rests"),
    [(101.0, True), (110.0, False), (85.0, True), (70.0, False)],
    ids=["nothing gained", "it will have paid", "worse than before", "the load has ended"],
)
def test_when_clients_are_back_it_is_seen_what_dear_moves_have_brought(now: float, rests: bool) -> None:
    series = after([now], restless=False, series=after([0.0] * 7, restless=True), at=100.0)
    assert (series.until == 105.0 + RESTS) == rests and bool(series.told(105.0)) == rests
    assert not series.dear


@pytest.mark.parametrize(
    ("rate", "later", "rests"), [(90.0, 0.0, True), (130.0, 0.0, False), (100.0, RESTS, False)]
)
def test_it_rests_until_that_is_over_or_the_load_is_another_one(
    rate: float, later: float, rests: bool
) -> None:
    series = after([rate], restless=False, series=Series(until=RESTS, served=100.0), at=later)
    assert bool(series.told(later + LOOK)) == rests


def test_what_short_pauses_follow_is_one_series() -> None:
    """Clients get through as much as ever in these, so nothing is paid back."""
    series, at = Series(), 0.0
    for _ in range(2):
        series = after([0.0] * 4, restless=True, series=series, at=at)
        at += 5 * LOOK
        series = after([USUAL], restless=False, series=series, at=at)
    assert series.until > at


def test_when_the_load_is_another_one_what_it_was_is_forgotten() -> None:
    """It has gone elsewhere while nothing moved: what moves bring is more than there was then."""
    series = after([0.0] * 4, restless=True)
    assert after([20.0], restless=False, series=series) == Series()
    series = after([90.0], restless=False, series=series)
    assert series.before == USUAL and series.lost > 0.0


def test_it_is_forgotten_in_the_time_in_which_moves_have_to_pay() -> None:
    series = after([0.0] * 6, restless=True)
    series = after([USUAL] * 60, restless=False, series=series)
    assert 0.5 < series.lost / (6 * LOOK * USUAL) < 0.65


@pytest.mark.parametrize("series", [Series(1000.0, 2.0 * MUCH * 1000.0), Series(until=1e9, served=1000.0)])
def test_nothing_is_moved_for_its_load_meanwhile(series: Series) -> None:
    cluster = hot()
    cluster.state = State(series=series)
    cluster.go(4)
    assert cluster.history == [] and cluster.state.acting
    cluster.state = replace(cluster.state, series=Series())
    cluster.look()
    assert cluster.history
