# SPDX-License-Identifier: LGPL-2.1-or-later
"""What moving an inode costs, as it is learned."""

import pytest

from mds_partitioner.schedule.core.toll import KNOWN, MEMORY, MOST, WAITS, Toll, usual


def test_nothing_seen_is_the_guess() -> None:
    assert Toll().or_else(0.25) == 0.25


def test_what_is_missing_until_something_arrives_is_what_that_cost() -> None:
    toll = Toll().seen(1000.0, 400.0, 5.0, 0.0).seen(1000.0, 800.0, 5.0, 10_000.0)
    assert (toll.price, toll.inodes, toll.lost) == (0.4, 10_000.0, 0.0)
    assert toll.or_else(0.25) == pytest.approx((0.4 * 10_000 + 0.25 * KNOWN) / (10_000 + KNOWN))


def test_what_is_missing_until_clients_are_back_belongs_to_it() -> None:
    toll = Toll().seen(1000.0, 0.0, 5.0, 10_000.0)
    assert toll.price < 0.0, "they are not back yet"
    toll = toll.seen(1000.0, 900.0, 5.0, 0.0)
    assert (toll.price, toll.lost, toll.due) == (0.55, 0.0, 0.0)


def test_what_was_seen_long_ago_is_forgotten_by_inodes() -> None:
    toll = Toll().seen(1000.0, 1000.0, 5.0, MEMORY)
    for _ in range(40):
        toll = toll.seen(20_000.0, 16_000.0, 5.0, 20_000.0)
    assert toll.inodes == MEMORY
    assert toll.price == pytest.approx(1.0, abs=0.02)


def test_a_load_that_ends_meanwhile_is_not_what_moving_costs() -> None:
    toll = known = Toll(0.1, 10_000.0)
    toll = toll.seen(1000.0, 0.0, 5.0, 4000.0)
    for _ in range(WAITS):
        toll = toll.seen(1000.0, 0.0, 5.0, 0.0)
    assert toll == known


def test_nothing_costs_more_than_it_may() -> None:
    assert Toll().seen(1e9, 9e8, 5.0, 10.0).price == MOST


@pytest.mark.parametrize(
    ("looks", "least"),
    [
        ((1000.0, 0.0, 1000.0, 0.0, 1000.0), 0.0),
        ((0.0, 0.0, 100.0, 1000.0, 950.0), 950.0),
        ((), 1000.0),
    ],
    ids=["waves", "it has just begun", "the first look"],
)
def test_a_load_that_comes_in_waves_does_not_make_moving_dear(looks: tuple[float, ...], least: float) -> None:
    assert usual(1000.0, looks) == least
