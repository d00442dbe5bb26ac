# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one rank can serve: when it counts as saturated, what that teaches, how many ranks it asks for."""

from functools import partial

import numpy as np
import pytest
from engine.capacity import DEFAULT_CAPACITY, Capacity, choose_capacity
from engine.recommend import recommend
from engine.saturation import saturated_epochs, saturated_ranks
from hypothesis import given
from hypothesis import strategies as st

TABLE = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(
        *(
            st.lists(
                st.lists(st.floats(0, 1e4), min_size=shape[1], max_size=shape[1]),
                min_size=shape[0],
                max_size=shape[0],
            )
            for _ in range(3)
        )
    )
)


def epochs(rate: list[list[float]], latency: list[list[float]], queue: list[list[float]]) -> list[list[bool]]:
    tables = (np.array(table, dtype=float) for table in (rate, latency, queue))
    marks: list[list[bool]] = saturated_epochs(*tables).tolist()
    return marks


def test_a_queue_that_lasts_is_saturation_and_one_that_passes_is_not() -> None:
    fast = [[0.001] * 4]
    assert epochs([[100] * 4], fast, [[0, 3, 5, 0]]) == [[False, True, True, False]]
    assert epochs([[100] * 4], fast, [[0, 3, 0, 2]]) == [[False] * 4]


def test_a_rank_four_times_slower_than_the_fastest_is_saturated() -> None:
    idle = [[0.0, 0.0]] * 2
    assert epochs([[1000, 1000], [900, 900]], [[0.004, 0.003], [0.001, 0.001]], idle) == [
        [True, False],
        [False, False],
    ]


def test_a_slow_answer_under_a_light_load_is_no_saturation() -> None:
    idle = [[0.0, 0.0]] * 2
    assert not np.any(epochs([[100, 100], [90, 90]], [[0.016, 0.003], [0.001, 0.001]], idle))


def test_a_slow_rank_that_hardly_works_is_not_saturated() -> None:
    assert epochs([[1000], [5]], [[0.001], [1.0]], [[0], [9]]) == [[False], [False]]


@given(TABLE)
def test_an_epoch_without_requests_is_never_saturated(tables: tuple[list[list[float]], ...]) -> None:
    rate, latency, queue = (np.array(table) for table in tables)
    assert not (saturated_epochs(rate, latency, queue) & (rate == 0)).any()


def test_a_rank_is_saturated_by_its_last_three_epochs() -> None:
    marks = np.array([[True, True, False, False, True], [False, False, True, True, False]])
    assert saturated_ranks(marks).tolist() == [False, True]


def test_the_option_comes_before_what_was_learned() -> None:
    rate, marks = np.array([[500.0]]), np.array([[True]])
    assert choose_capacity(rate, marks, 700.0, 600.0) == Capacity(700.0, "option")
    assert choose_capacity(rate, marks, 0.0, 600.0) == Capacity(500.0, "learned at saturation")
    assert choose_capacity(rate, ~marks, 0.0, 600.0) == Capacity(600.0, "learned earlier")
    assert choose_capacity(rate, ~marks, 0.0, None).value == DEFAULT_CAPACITY
    assert choose_capacity(rate, ~marks, 0.0, None).source.startswith("default")


def test_capacity_is_the_median_rate_of_a_rank_that_was_saturated_often() -> None:
    rate = np.array([[400.0, 500.0, 450.0, 100.0], [9000.0, 1.0, 1.0, 1.0]])
    marks = np.array([[True, True, True, False], [True, False, False, False]])
    assert choose_capacity(rate, marks, 0.0, None).value == 450.0


def test_ranks_are_recommended_by_the_larger_of_load_and_working_set() -> None:
    advise = partial(recommend, capacity=1000.0, bytes_per_inode=1000.0, cache_limit=1e9, saturated=False)
    by_load = advise(load=3001.0, wss=10.0)
    assert (by_load.ranks, by_load.by_load, by_load.by_wss) == (5, 5, 1)
    by_wss = advise(load=10.0, wss=2_400_001.0)
    assert (by_wss.ranks, by_wss.by_load, by_wss.by_wss) == (4, 1, 4)
    assert "4 for a working set" in by_wss.reason


@given(st.floats(0, 1e6), st.floats(0, 1e9), st.booleans())
def test_the_recommended_ranks_keep_the_load_below_three_quarters(
    load: float, wss: float, saturated: bool
) -> None:
    advice = recommend(
        load=load, capacity=1000.0, wss=wss, bytes_per_inode=3e3, cache_limit=4e9, saturated=saturated
    )
    assert advice.ranks >= 1
    assert load / advice.ranks <= 750.0 * (1 + 1e-9)
    assert wss * 3e3 / advice.ranks <= 3.2e9 * (1 + 1e-9)
    assert advice.lower_bound == saturated
    assert ("at least" in advice.reason) == saturated


@pytest.mark.parametrize("saturated", [True, False])
def test_an_idle_file_system_needs_one_rank(saturated: bool) -> None:
    advice = recommend(
        load=0.0, capacity=1e4, wss=0.0, bytes_per_inode=3e3, cache_limit=4e9, saturated=saturated
    )
    assert advice.ranks == 1
