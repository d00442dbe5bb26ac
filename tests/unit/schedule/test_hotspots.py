# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hot spots of four ranks, where a directory with an eighth of all requests is hot."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.schedule.hotspots import (
    CYCLICAL,
    MEMORY,
    PERMANENT,
    SUDDEN,
    UNKNOWN,
    Glimpse,
    Hotspot,
    first_hotter,
    hotspots,
    remembered,
)
from mds_partitioner.schedule.view import Piece, RankView, View

LOOK = 5.0  # s
RANKS = 4


def seen(seconds: float, part: Callable[[float], float], noise: float = 0.0) -> list[Hotspot]:
    """Directory 1 has so much of all requests; directory 2 a little."""
    times = [i * LOOK for i in range(int(seconds / LOOK))]
    shaken = [part(t) * (1.0 + noise * ((i * 7) % 11 - 5) / 5) for i, t in enumerate(times)]
    return hotspots([Glimpse(t, {1: p, 2: 0.05}) for t, p in zip(times, shaken)], RANKS)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_one_that_is_always_hot_is_permanent(noise: float) -> None:
    (spot,) = seen(900, lambda t: 0.4, noise)
    assert (spot.ino, spot.kind, spot.since, spot.every) == (1, PERMANENT, 0.0, None)


def test_one_that_was_hot_from_the_first_look_on_is_not_judged_early() -> None:
    (spot,) = seen(100, lambda t: 0.4)
    assert (spot.kind, spot.since) == (UNKNOWN, 0.0)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("at", [60.0, 300.0, 580.0])
def test_one_that_has_become_hot_is_sudden_from_the_first_look_on(at: float, noise: float) -> None:
    (spot,) = seen(at + 2 * LOOK, lambda t: 0.4 if t >= at else 0.01, noise)
    assert spot.kind == SUDDEN and spot.since in (at, at + LOOK)


def test_one_that_has_cooled_down_is_none() -> None:
    assert seen(900, lambda t: 0.4 if 100 <= t < 200 else 0.01) == []


def test_one_that_comes_every_two_minutes_is_cyclical_from_the_third_time_on() -> None:
    def part(t: float) -> float:
        return 0.5 if t % 120 >= 90 else 0.01

    assert [spot.kind for spot in seen(230, part)] == [SUDDEN], "its second time"
    (spot,) = seen(350, part)
    assert (spot.kind, spot.every, spot.since) == (CYCLICAL, 120.0, 330.0)
    (spot,) = seen(380, part)
    assert (spot.kind, spot.part) == (CYCLICAL, 0.01), "also while it is cool"


def test_one_that_did_not_come_when_it_was_to_is_not_cyclical_any_more() -> None:
    def part(t: float) -> float:
        return 0.5 if t % 120 >= 90 and t < 400 else 0.01

    assert [spot.kind for spot in seen(455, part)] == [CYCLICAL]
    assert seen(480, part) == []


def test_one_that_comes_now_and_then_is_not_cyclical() -> None:
    (spot,) = seen(900, lambda t: 0.5 if t in (100.0, 130.0, 500.0) or t >= 890.0 else 0.01)
    assert spot.kind == SUDDEN


def test_many_that_are_alike_are_no_hot_spots() -> None:
    even = [Glimpse(i * LOOK, dict.fromkeys(range(10), 0.1)) for i in range(100)]
    assert hotspots(even, RANKS) == []


def test_the_first_that_is_hotter_than_the_first_third() -> None:
    assert first_hotter([1, 2, 3, 2, 2, 4, 9, 9], 0.0) == 5
    assert first_hotter([1, 2, 3, 2, 2, 3, 2, 2], 0.0) is None
    assert first_hotter([0, 0, 0, 1, 9], 2.0) == 4, "it must be hot, too"
    assert first_hotter([], 0.0) is None


def test_a_look_is_remembered_for_an_hour_and_an_idle_one_is_none() -> None:
    def view(at: float, requests: float) -> View:
        pieces = (Piece(1, "/a", 0, requests, 1.0), Piece(2, "/b", 0, 0.0, 1.0))
        return View(at, (RankView(0, 2.0 * requests),), pieces)

    kept = remembered((), view(0.0, 10.0))
    assert kept == (Glimpse(0.0, {1: 0.5}),)
    assert remembered(kept, view(5.0, 0.0)) == kept
    assert [g.at for g in remembered(kept, view(MEMORY + 1.0, 10.0))] == [MEMORY + 1.0]


@given(st.lists(st.dictionaries(st.integers(1, 4), st.floats(0.0, 1.0)), max_size=60), st.integers(1, 8))
def test_whatever_is_seen_each_is_named_once_and_began_when_it_was_looked_at(
    rows: list[dict[int, float]], ranks: int
) -> None:
    found = hotspots([Glimpse(i * LOOK, row) for i, row in enumerate(rows)], ranks)
    assert len({spot.ino for spot in found}) == len(found)
    assert all(0.0 <= spot.since <= LOOK * len(rows) for spot in found)
