# SPDX-License-Identifier: LGPL-2.1-or-later
"""Queues with known answers."""

import numpy as np
import pytest

from sim.closed_network import steady


def test_few_threads_are_served_without_waiting():
    one = steady(np.array([0.01, 0.02]), 1, 0.07)
    assert one.throughput == pytest.approx(1 / 0.1)


def test_many_threads_get_what_the_slowest_station_serves():
    many = steady(np.array([0.01, 0.02]), 10_000, 0.07)
    assert many.throughput == pytest.approx(1 / 0.02, rel=1e-3)
    assert many.waiting[1] > 9_000


@pytest.mark.parametrize("threads", [2, 10, 100])
def test_the_approximation_is_near_exact_mean_value_analysis(threads):
    demands, think = np.array([0.01, 0.02, 0.005]), 0.05
    waiting = np.zeros(3)
    for count in range(1, threads + 1):
        times = demands * (1 + waiting)
        throughput = count / (think + times.sum())
        waiting = throughput * times
    assert steady(demands, threads, think).throughput == pytest.approx(throughput, rel=0.06)


def test_no_thread_is_lost():
    demands = np.random.default_rng(1).random((50, 10)) * 1e-3
    found = steady(demands, 300, 0.005)
    assert found.waiting.sum(axis=1) + found.throughput * 0.005 == pytest.approx(np.full(50, 300.0))


@pytest.mark.parametrize("threads, demand, said", [(0, 0.1, "0 threads"), (1, -0.5, "-0.5 s")])
def test_what_no_queue_can_be(threads, demand, said):
    with pytest.raises(ValueError, match=said):
        steady(np.array([demand]), threads, 0.0)
