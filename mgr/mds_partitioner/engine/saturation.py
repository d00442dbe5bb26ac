# SPDX-License-Identifier: LGPL-2.1-or-later
"""When a rank was saturated: it had more to do than it could, so its rate is its capacity."""

import numpy as np

from .arrays import Bools, Floats

LATENCY_FACTOR = 4.0
REAL_LOAD = 0.1
CONCURRENCY = 8.0
SLOW_CONCURRENCY = 2.0
RECENT_EPOCHS = 3


def saturated_epochs(rate: Floats, latency: Floats, queue: Floats) -> Bools:
    """(ranks, epochs): under real load, and either queueing in two epochs running, slow, or crowded.

    rate: req/s; latency: mean reply latency, s; queue: requests waiting; (ranks, epochs) each. Real load: at
    least a tenth of the highest rate in the window. Slow: at least four times the lowest latency that any
    rank had under real load, and by Little's law (rate x latency) at least two requests in the rank on
    average: four times next to nothing is still nothing, and would teach a tiny capacity. Crowded: at least
    eight requests, which a server that keeps up does not reach: M/M/1 has eight at a utilisation of 0.89.
    """
    busy = (rate >= REAL_LOAD * rate.max(initial=0.0)) & (rate > 0.0)
    waiting = queue > 0.0
    persistent = np.zeros_like(waiting)
    running = waiting[:, 1:] & waiting[:, :-1]
    persistent[:, 1:] |= running
    persistent[:, :-1] |= running
    measured = busy & (latency > 0.0)
    slow = np.zeros_like(waiting)
    if measured.any():
        slow = measured & (latency >= LATENCY_FACTOR * latency[measured].min())
    inside = rate * latency
    slow &= inside >= SLOW_CONCURRENCY
    crowded = inside >= CONCURRENCY
    return np.asarray(busy & (persistent | slow | crowded))


def saturated_ranks(epochs: Bools) -> Bools:
    """(ranks,): saturated in most of the last three epochs. epochs: (ranks, epochs)."""
    return np.asarray(epochs[:, -RECENT_EPOCHS:].mean(axis=1) > 0.5)
