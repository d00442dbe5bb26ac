# SPDX-License-Identifier: LGPL-2.1-or-later
"""Algorithms 1 and 2 on series whose answer is known, and against the mathematics behind them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.papers.tpps.detect import first_better, looking, records

N = 10
WARNING = 1.5 / N


def flat(length: int) -> list[float]:
    return np.random.default_rng(3).normal(1 / N, 0.01, length).tolist()


def test_n_over_e_are_looked_at():
    assert [looking(n) for n in (2, 3, 10, 100)] == [1, 1, 4, 37]


@pytest.mark.parametrize("n", [-1, 0, 1])
def test_one_candidate_is_no_choice(n):
    with pytest.raises(ValueError, match=f"{n} candidates"):
        looking(n)


def test_algorithm_1_finds_every_new_highest():
    assert records([0.1, 0.3, 0.2, 0.4, 0.4, 0.5], 0.0) == [0, 1, 3, 5]
    assert records([0.1, 0.3, 0.2, 0.4, 0.4, 0.5], 0.35) == [3, 5]


def test_algorithm_1_finds_one_in_a_falling_series_and_all_in_a_rising_one():
    falling = [float(score) for score in range(N, 0, -1)]
    assert len(records(falling, 0.0)) == 1
    assert len(records(falling[::-1], 0.0)) == N


def test_algorithm_1_finds_as_many_as_equation_4_says_over_all_orders():
    n = 6
    orders = list(itertools.permutations(range(1, n + 1)))
    mean = sum(len(records(order, 0.0)) for order in orders) / len(orders)
    assert mean == pytest.approx(sum(1 / i for i in range(1, n + 1)))


def test_algorithm_2_finds_the_highest_as_often_as_its_proof_says_over_all_orders():
    n = 7
    k = looking(n)
    won = [order[first_better(order, n, 0.0)] == n for order in itertools.permutations(range(1, n + 1))]
    assert sum(won) / len(won) == pytest.approx(k / n * sum(1 / i for i in range(k, n)))
    assert sum(won) / len(won) > 1 / math.e


def test_algorithm_2_takes_the_first_better_one_and_does_not_wait_for_the_best():
    assert first_better([0.1, 0.2, 0.3, 0.1, 0.2, 0.4, 0.9, 0.1, 0.1, 0.1], N, WARNING) == 5


def test_algorithm_2_takes_the_last_when_nobody_is_better_if_it_is_loaded():
    scores = [0.9, *[0.1] * 8]
    assert first_better([*scores, 0.2], N, WARNING) == N - 1
    assert first_better([*scores, 0.1], N, WARNING) is None


def test_algorithm_2_says_nothing_while_it_looks_and_while_nobody_is_better():
    assert first_better([0.1, 0.9, 0.3, 0.4], N, WARNING) is None
    assert first_better([0.1, 0.2, 0.3, 0.2, 0.2], N, WARNING) is None


def test_algorithm_2_refuses_more_scores_than_the_period_has():
    with pytest.raises(ValueError, match="11 scores in a period of 10"):
        first_better(flat(11), N, WARNING)


@given(st.lists(st.floats(0, 1), min_size=N, max_size=N))
def test_algorithm_2_is_online_what_is_chosen_stays_chosen(scores):
    so_far = [first_better(scores[:count], N, WARNING) for count in range(N + 1)]
    chosen = [index for index in so_far if index is not None]
    assert len(set(chosen)) <= 1
    assert all(scores[index] > WARNING for index in chosen)


def test_in_flat_noise_nothing_is_found():
    assert records(flat(60), WARNING) == []
