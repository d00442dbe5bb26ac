# SPDX-License-Identifier: LGPL-2.1-or-later
"""A closed network of queues: threads that ask, wait for the answer, think, and ask again."""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats

_HALVINGS = 50  # of the interval in which the throughput is


@dataclass(frozen=True)
class Steady:
    """Where the network settles.

    throughput: (...,), req/s; waiting: (..., stations), threads at each, the one in service counted.
    """

    throughput: Floats
    waiting: Floats


def steady(demands: Floats, threads: int, think: float) -> Steady:
    """Approximate mean value analysis (Schweitzer 1979), every case of ``demands`` at once.

    It holds that Q = X D (1 + Q (N - 1) / N) at each station, and that N = X Z + sum(Q); so Q follows from X,
    and X from a bisection. demands: D, (..., stations), s of work a request brings to each; think: Z, s.
    :raises ValueError: no thread, or a demand that is negative
    """
    if threads < 1:
        raise ValueError(f"{threads} threads: 1 or more are needed")
    if (demands < 0).any():
        raise ValueError(f"a demand of {demands.min()} s: it must be 0 or more")
    others = (threads - 1) / threads
    low = np.zeros(demands.shape[:-1])
    high = threads / (think + demands.sum(axis=-1))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        full = others * middle * demands.max(axis=-1) >= 1.0
        waiting = _waiting(np.where(full, 0.0, middle), demands, others)
        too_many = full | (middle * think + waiting.sum(axis=-1) > threads)
        low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    return Steady(low, _waiting(low, demands, others))


def _waiting(throughput: Floats, demands: Floats, others: float) -> Floats:
    used = throughput[..., None] * demands
    return used / (1.0 - others * used)
