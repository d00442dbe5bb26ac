# SPDX-License-Identifier: LGPL-2.1-or-later
"""How far above its share a rank may be: as far as its rate goes up and down by itself."""

import pytest

from mds_partitioner.schedule.core.noise import BAND, ENOUGH, WIDEST, band

STILL = (False,) * 8


@pytest.mark.parametrize(
    ("rates", "expected"),
    [((100.0,) * 8, BAND), ((90.0, 110.0) * 4, WIDEST), ((94.0, 100.0, 106.0, 100.0) * 2, 0.126)],
)
def test_the_band_is_as_wide_as_the_noise(rates: tuple[float, ...], expected: float) -> None:
    assert band([(rates, STILL)] * 4) == pytest.approx(expected, abs=0.001)


def test_what_moves_do_to_a_rank_is_no_noise() -> None:
    falls, moves = (400.0, 360.0, 320.0, 280.0, 240.0, 240.0, 240.0, 240.0), (True,) * 6 + (False,) * 2
    assert band([(falls, moves)] * 4) == BAND < band([(falls, STILL)] * 4)


def test_nothing_is_known_of_noise_while_something_always_moves() -> None:
    assert band([((90.0, 110.0) * 4, (True,) * 8)] * 4) == BAND


def test_what_was_known_of_noise_holds_until_enough_is_seen_anew() -> None:
    """The one step after moves may be anything."""
    moves = (True,) * 6 + (False,) * 2
    assert band([((90.0, 110.0) * 4, moves)] * (ENOUGH - 1), 0.15) == 0.15
    assert band([((90.0, 110.0) * 4, moves)] * ENOUGH, 0.15) == WIDEST


def test_ranks_of_which_no_noise_is_known_count_as_no_quiet_ones() -> None:
    noisy, moves = ((90.0, 110.0) * 4, STILL), ((100.0,) * 8, (True,) * 8)
    assert band([noisy, noisy, moves, moves]) == band([noisy, noisy])
