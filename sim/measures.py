# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a recording amounts to: pure numbers, that assertions and tables are made of."""

from collections.abc import Sequence

import numpy as np

from mds_partitioner.engine.imbalance import imbalance
from mds_partitioner.engine.urgency import SMOOTHNESS
from sim.course import SAMPLE, Recording
from sim.model.arrays import Bools, Floats
from sim.model.namespace import Move

EPOCH = 10.0  # s: what balance is judged over, as the module does


def epochs(recording: Recording) -> tuple[Floats, Floats, Floats]:
    """(epochs,) when each began, s; (epochs, ranks) loads, req/s; (epochs, ranks) capacity, 0 where a rank
    was away for any part of it. What is left at the end is no epoch."""
    loads, capacity = _by_epoch(recording.loads).mean(axis=1), _by_epoch(recording.capacity).min(axis=1)
    return np.arange(loads.shape[0]) * EPOCH, loads, capacity


def _by_epoch(samples: Floats) -> Floats:
    """(epochs, samples, ranks)"""
    size = round(EPOCH / SAMPLE)
    count = samples.shape[0] // size
    return samples[: count * size].reshape(count, size, samples.shape[1])


def factors(recording: Recording) -> Floats:
    """(epochs,): the imbalance factor of the ranks that are there. One that is slower counts as full when it
    has its share of its own capacity."""
    _, loads, capacity = epochs(recording)
    found = []
    for load, able in zip(loads, capacity, strict=True):
        there = able > 0.0
        most = float(able.max(initial=0.0))
        used = load[there] / able[there] * most
        found.append(imbalance(used, most, SMOOTHNESS).factor or 0.0 if used.size > 1 else 0.0)
    return np.array(found)


def fullest(recording: Recording) -> Floats:
    """(epochs,): the fullest rank's part of its capacity, over that of all ranks together; 1 when idle."""
    _, loads, capacity = epochs(recording)
    return _most(loads, capacity)


def crowded(recording: Recording) -> Floats:
    """(epochs,): the same of the requests that ranks have inside."""
    return _most(_by_epoch(recording.inside).mean(axis=1), epochs(recording)[2])


def _most(loads: Floats, capacity: Floats) -> Floats:
    there = capacity > 0.0
    used = np.divide(loads, capacity, out=np.zeros_like(loads), where=there)
    whole = np.where(there, loads, 0.0).sum(axis=1)
    all_of = np.divide(whole, capacity.sum(axis=1), out=np.zeros_like(whole), where=whole > 0.0)
    found: Floats = np.divide(used.max(axis=1), all_of, out=np.ones_like(whole), where=all_of > 0.0)
    return found


def within(times: Floats, since: float, until: float) -> Bools:
    """Which of them."""
    return np.asarray((times >= since) & (times < until))


def returns(moves: Sequence[Move], soon: float) -> list[Move]:
    """Moves that bring a directory back to the rank that it left less than ``soon`` s ago."""
    left: dict[tuple[int, int], float] = {}
    found = []
    for move in moves:
        if move.forced:
            continue
        before = left.get((move.directory, move.target))
        if before is not None and move.time - before < soon:
            found.append(move)
        left[move.directory, move.source] = move.time
    return found


def thrashing(recording: Recording, since: float, until: float) -> float:
    """How much loads go up and come down again, as asim measures it (total variation up or down, whichever
    is less), for the rank that has most of it; in parts of the mean load of a rank."""
    times, loads, capacity = epochs(recording)
    loads = loads[within(times, since, until)][:, capacity.max(axis=0, initial=0.0) > 0.0]
    if loads.shape[0] < 2 or not loads.any():
        return 0.0
    steps = np.diff(loads, axis=0)
    up, down = np.maximum(steps, 0.0).sum(axis=0), np.maximum(-steps, 0.0).sum(axis=0)
    return float(np.minimum(up, down).max() / loads.mean())


def answered(recording: Recording, since: float) -> float:
    """Requests from a second on."""
    return float(recording.loads[round(since / SAMPLE) :].sum()) * SAMPLE
