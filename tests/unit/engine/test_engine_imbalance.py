# SPDX-License-Identifier: LGPL-2.1-or-later
"""The imbalance factor (Lunule, equations 1 to 3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mds_partitioner.engine.bad_input import BadInputError
from mds_partitioner.engine.imbalance import hot_ranks, imbalance

LOADS = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)
CAPACITY = st.floats(1.0, 1e6)
THRESHOLD = 0.075


def factor(loads: list[float], capacity: float = 16_000.0, smoothness: float = 0.2) -> float:
    return imbalance(np.array(loads, dtype=float), capacity, smoothness).factor


@given(LOADS, CAPACITY)
def test_it_is_between_0_and_1(loads: list[float], capacity: float) -> None:
    assert 0.0 <= factor(loads, capacity) <= 1.0


@given(st.integers(1, 40), CAPACITY)
def test_an_idle_cluster_is_balanced(ranks: int, capacity: float) -> None:
    assert factor([0.0] * ranks, capacity) == 0.0


@given(st.floats(0, 1e6), CAPACITY)
def test_a_single_rank_is_balanced(load: float, capacity: float) -> None:
    assert factor([load], capacity) == 0.0


@given(st.integers(1, 40), st.floats(0, 1e6), CAPACITY)
def test_equal_loads_are_balanced(ranks: int, load: float, capacity: float) -> None:
    assert factor([load] * ranks, capacity) < 1e-9


@given(LOADS, CAPACITY, st.floats(0.001, 1000.0))
def test_loads_and_capacity_in_another_unit_do_not_change_it(
    loads: list[float], capacity: float, unit: float
) -> None:
    scaled = factor([load * unit for load in loads], capacity * unit)
    assert scaled == pytest.approx(factor(loads, capacity), abs=1e-9)


@given(LOADS)
def test_the_order_of_the_ranks_does_not_matter(loads: list[float]) -> None:
    assert factor(sorted(loads)) == pytest.approx(factor(loads), abs=1e-9)


@given(LOADS, CAPACITY, st.floats(1.1, 10.0))
def test_more_capacity_makes_the_same_loads_less_urgent(
    loads: list[float], capacity: float, more: float
) -> None:
    assert factor(loads, capacity * more) <= factor(loads, capacity)


def test_the_case_the_built_in_balancer_calls_balanced_triggers() -> None:
    assert factor([13530, 14567, 15625, 11610, 2692]) > THRESHOLD


def test_the_same_case_far_below_capacity_is_benign() -> None:
    assert factor([13530, 14567, 15625, 11610, 2692], capacity=160_000) < THRESHOLD


def test_it_is_the_papers_formula_by_hand() -> None:
    cov = math.sqrt(((30 - 20) ** 2 + (10 - 20) ** 2) / 1) / 20
    urgency = 1 / (1 + math.exp((1 - 2 * 30 / 100) / 0.2))
    assert factor([30, 10], capacity=100) == pytest.approx(cov / math.sqrt(2) * urgency)


def test_one_busy_rank_of_many_over_its_capacity_is_nearly_1() -> None:
    assert factor([50_000.0] + [0.0] * 9, capacity=10_000) == pytest.approx(1.0, abs=1e-3)


def test_urgency_is_half_at_half_the_capacity() -> None:
    assert imbalance(np.array([50.0, 0.0]), 100.0, 0.2).urgency == pytest.approx(0.5)


@given(LOADS)
def test_smoothness_near_0_makes_urgency_a_step(loads: list[float]) -> None:
    peak = max(loads)
    assume(peak > 1.0)
    assert imbalance(np.array(loads), peak / 0.6, 1e-4).urgency == pytest.approx(1.0)
    assert imbalance(np.array(loads), peak / 0.4, 1e-4).urgency == pytest.approx(0.0)


def hot(loads: list[float], capacity: float | None = 300.0) -> list[int]:
    return np.flatnonzero(hot_ranks(np.array(loads), capacity, 0.2, THRESHOLD)).tolist()


def test_of_five_ranks_at_most_the_factor_sees_every_hot_one() -> None:
    assert factor([131.0, 92.3, 92.3, 92.2, 92.2], capacity=100) > THRESHOLD
    assert factor([129.0, 92.8, 92.8, 92.7, 92.7], capacity=100) < THRESHOLD
    assert hot([131.0, 92.3, 92.3, 92.2, 92.2], 100.0) == []


@pytest.mark.parametrize("ranks", [6, 36, 256])
def test_a_rank_is_as_hot_among_many_as_among_five(ranks: int) -> None:
    def beside_even(fullest: float) -> list[float]:
        mean = 300.0 / fullest
        return [300.0] + [(ranks * mean - 300.0) / (ranks - 1)] * (ranks - 1)

    assert hot(beside_even(1.31)) == [0]
    assert hot(beside_even(1.29)) == [], "full, and not far above the mean"
    assert hot(beside_even(1.31), capacity=1000.0) == [], "far above the mean, and not full"
    assert hot(beside_even(1.31), capacity=None) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_loads_that_cannot_be_are_refused(bad: float) -> None:
    with pytest.raises(BadInputError, match="allowed"):
        factor([1.0, bad])


@pytest.mark.parametrize(("capacity", "smoothness"), [(0.0, 0.2), (-1.0, 0.2), (math.nan, 0.2), (1.0, 0.0)])
def test_a_capacity_or_smoothness_that_cannot_be_is_refused(capacity: float, smoothness: float) -> None:
    with pytest.raises(BadInputError, match="allowed"):
        factor([1.0, 2.0], capacity, smoothness)
