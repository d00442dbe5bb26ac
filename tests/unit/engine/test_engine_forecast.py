# SPDX-License-Identifier: LGPL-2.1-or-later
"""Next epoch's load by linear regression (Lunule, section 3.2)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.engine.forecast import continued, forecast, growth, trust

LINES = st.lists(st.tuples(st.floats(0, 1e5), st.floats(-100, 100)), min_size=1, max_size=8)


@given(LINES, st.integers(2, 20))
def test_a_straight_line_is_continued_exactly_and_never_below_0(
    lines: list[tuple[float, float]], epochs: int
) -> None:
    times = np.arange(epochs + 1)
    loads = np.array([start + slope * times for start, slope in lines])
    expected = np.maximum(loads[:, -1], 0.0)
    assert forecast(loads[:, :-1]) == pytest.approx(expected, abs=1e-5)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_with_one_epoch_the_forecast_is_that_epoch(loads: list[float]) -> None:
    assert forecast(np.array(loads).reshape(-1, 1)).tolist() == loads


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.lists(st.lists(st.floats(0, 1e5), min_size=n, max_size=n), min_size=2, max_size=5)
    )
)
def test_a_rank_is_forecast_between_its_own_least_squares_line_and_its_last_epoch(
    loads: list[list[float]],
) -> None:
    epochs = len(loads[0])
    lines, found = continued(np.array(loads)), forecast(np.array(loads))
    assert len(found) == len(loads)
    for row, line, predicted in zip(loads, lines, found):
        slope, start = np.polyfit(np.arange(epochs), row, 1)
        assert line == pytest.approx(start + slope * epochs, abs=1e-4)
        lower, upper = sorted((max(0.0, line), row[-1]))
        assert lower - 1e-4 <= predicted <= upper + 1e-4


def test_a_line_that_was_wrong_lately_counts_less() -> None:
    steady, jumped = [100.0 + 10.0 * t for t in range(12)], [100.0] * 9 + [700.0] * 3
    loads = np.array([steady, jumped])
    lines, found = continued(loads), forecast(loads)
    assert found[0] == pytest.approx(220.0)  # as it always came
    assert lines[1] > 600.0 and growth(np.array([jumped]))[0] < 20.0
    # It has been 700 for two epochs, which the epoch before told and the line did not.
    assert abs(found[1] - 700.0) < abs(lines[1] - 700.0)
    assert trust(loads)[1] < 0.5 < trust(loads)[0] == 1.0


def test_what_was_wrong_just_now_counts_more_than_what_was_wrong_before() -> None:
    line = [10.0 * t for t in range(20)]
    long_ago, before, just_now = [*line], [*line], [*line]
    long_ago[2] += 30.0
    before[-3], just_now[-1] = before[-3] + 30.0, just_now[-1] - 30.0
    found = trust(np.array([long_ago, before, just_now]))
    assert found[0] > found[1] > found[2]


def test_a_falling_rank_is_not_forecast_below_0() -> None:
    assert forecast(np.array([[300.0, 200.0, 100.0, 0.0]])).tolist() == [0.0]


@given(LINES, st.integers(2, 20))
def test_a_straight_line_grows_by_its_slope(lines: list[tuple[float, float]], epochs: int) -> None:
    loads = np.array([start + slope * np.arange(epochs) for start, slope in lines])
    assert growth(loads) == pytest.approx(np.array([slope for _, slope in lines]), abs=1e-5)


def test_one_epoch_shows_no_growth() -> None:
    assert growth(np.array([[7.0], [9.0]])).tolist() == [0.0, 0.0]
