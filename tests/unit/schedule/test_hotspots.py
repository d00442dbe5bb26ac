# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hot spots of four ranks, where a directory with an eighth of the usual load is hot."""

import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.schedule.core.view import Piece, RankView, View
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

LOOK = 5.0  # s
ALL = 1000.0  # req/s
RANKS = 4


def seen(seconds: float, part: Callable[[float], float], noise: float = 0.0) -> list[Hotspot]:
    """Directory 1 has so much of all requests; directory 2 a little."""
    times = [i * LOOK for i in range(int(seconds / LOOK))]
    shaken = [part(t) * (1.0 + noise * ((i * 7) % 11 - 5) / 5) for i, t in enumerate(times)]
    return hotspots([Glimpse(t, ALL, {1: p * ALL, 2: 0.05 * ALL}) for t, p in zip(times, shaken)], RANKS)


def film(seconds: float, loads: Callable[[float], Mapping[int, float]], look: float = LOOK) -> list[Hotspot]:
    """Directories have these req/s, and nothing else has any."""
    shown = [(i * look, loads(i * look)) for i in range(int(seconds / look) + 1)]
    return hotspots([Glimpse(t, sum(now.values()), now) for t, now in shown], RANKS)


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
    even = [Glimpse(i * LOOK, ALL, dict.fromkeys(range(10), 0.1 * ALL)) for i in range(100)]
    assert hotspots(even, RANKS) == []


def test_what_is_always_the_same_is_not_cyclical_because_all_others_pause() -> None:
    def loads(t: float) -> dict[int, float]:
        on = t % 120 < 40
        return {**dict.fromkeys(range(10), 50.0), **dict.fromkeys(range(10, 20), 440.0 if on else 0.0)}

    found = film(600, loads)
    assert {spot.ino for spot in found if spot.kind == CYCLICAL} == set(range(10, 20))
    assert not [spot for spot in found if spot.ino < 10]


def test_what_is_alone_but_for_its_pauses_is_cyclical_and_next_to_nothing_is_never_hot() -> None:
    (spot,) = film(700, lambda t: {1: 1000.0 if t % 120 < 40 else 0.0})
    assert (spot.kind, spot.every) == (CYCLICAL, 120.0)
    assert film(700, lambda t: {1: 0.1}) == []


def test_what_came_once_does_not_hide_what_is_always_hot() -> None:
    found = film(1800, lambda t: {1: 150.0, 2: 4000.0 if 600 <= t < 640 else 0.0, 3: 20.0})
    assert [(spot.ino, spot.kind) for spot in found] == [(1, PERMANENT)]


@pytest.mark.parametrize("look", [5.0, 30.0])
@pytest.mark.parametrize("period", [120.0, 300.0, 407.0])
def test_a_cycle_is_one_also_if_it_comes_a_little_early_or_late_or_not_once(
    look: float, period: float
) -> None:
    chance = random.Random(7)
    begins = [(n + chance.uniform(-0.03, 0.03)) * period for n in range(1, 11) if n != 6]

    def loads(t: float) -> dict[int, float]:
        return {1: 900.0 if any(0 <= t - begin < period / 3 for begin in begins) else 0.0, 2: 100.0}

    times = [period * (4.5 + i / 4) for i in range(20)]
    named = [any(s.ino == 1 and s.kind == CYCLICAL for s in film(t, loads, look)) for t in times]
    assert sum(named) >= 0.9 * len(named)


def test_what_comes_by_chance_is_hardly_ever_called_cyclical() -> None:
    named = 0
    for seed in range(100):
        chance, at, begins = random.Random(seed), 0.0, []
        while at < 2000:
            at += chance.expovariate(1 / 200.0)
            begins.append(at)

        def loads(t: float, begins: list[float] = begins) -> dict[int, float]:
            return {1: 900.0 if any(0 <= t - begin < 40 for begin in begins) else 0.0, 2: 100.0}

        named += any(spot.kind == CYCLICAL for spot in film(2000, loads))
    assert named <= 10


def test_the_first_that_is_hotter_than_the_first_third() -> None:
    assert first_hotter([1, 2, 3, 2, 2, 4, 9, 9], 0.0) == 5
    assert first_hotter([1, 2, 3, 2, 2, 3, 2, 2], 0.0) is None
    assert first_hotter([0, 0, 0, 1, 9], 2.0) == 4, "it must be hot, too"
    assert first_hotter([], 0.0) is None


def test_a_look_is_remembered_for_an_hour_also_an_idle_one() -> None:
    def view(at: float, requests: float) -> View:
        pieces = (Piece(1, "/a", 0, requests, 1.0), Piece(2, "/b", 0, 0.0, 1.0))
        return View(at, (RankView(0, 2.0 * requests),), pieces)

    kept = remembered((), view(0.0, 10.0))
    assert kept == (Glimpse(0.0, 20.0, {1: 10.0}),)
    assert remembered(kept, view(5.0, 0.0)) == (*kept, Glimpse(5.0, 0.0, {}))
    assert [g.at for g in remembered(kept, view(MEMORY + 1.0, 10.0))] == [MEMORY + 1.0]


@given(st.lists(st.dictionaries(st.integers(1, 4), st.floats(0.0, 1e9)), max_size=60), st.integers(1, 8))
def test_whatever_is_seen_each_is_named_once_and_began_when_it_was_looked_at(
    rows: list[dict[int, float]], ranks: int
) -> None:
    found = hotspots([Glimpse(i * LOOK, sum(row.values()), row) for i, row in enumerate(rows)], ranks)
    assert len({spot.ino for spot in found}) == len(found)
    assert all(0.0 <= spot.since <= LOOK * len(rows) for spot in found)
