# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is read off a phase. All but moves: of its second half, when what it began with is over."""

from collections.abc import Callable
from typing import Final

import numpy as np

from sim.measures import returns
from sim.papers.line.evaluation import CACHE, THINK, Phase, threads

Measure = Callable[[Phase], float]
SOON: Final = 120.0  # s: a directory that comes back within it was moved for nothing


def _late(phase: Phase) -> slice:
    return slice(phase.loads.shape[0] // 2, None)


def throughput(phase: Phase) -> float:
    """All ranks, req/s."""
    return float(phase.loads[_late(phase)].sum(axis=1).mean())


def latency(phase: Phase) -> float:
    """Of a request, ms: closed-loop threads over throughput, less what they think (Little)."""
    return 1000.0 * (threads() / max(throughput(phase), 1e-9) - THINK)


def fluctuation(phase: Phase) -> float:
    """How much a rank's requests/s differ from second to second: mean standard deviation over mean."""
    late = phase.loads[_late(phase)]
    return float(late.std(axis=0).mean() / late.mean())


def fullest(phase: Phase) -> float:
    """The busiest rank's part of all requests."""
    loads = phase.loads[_late(phase)].mean(axis=0)
    return float(loads.max() / loads.sum())


def of_rank(rank: int) -> Measure:
    """One rank's requests/s."""

    def measure(phase: Phase) -> float:
        return float(phase.loads[_late(phase), rank].mean())

    return measure


def most_cached(phase: Phase) -> float:
    """Of the rank that has most at the end, inodes."""
    return float(phase.cached[-1].max())


def least_cached(phase: Phase) -> float:
    return float(phase.cached[-1].min())


def ranks_at_limit(phase: Phase) -> float:
    """Whose caches are full at the end."""
    return float((phase.cached[-1] > 0.99 * CACHE).sum())


def fetched(phase: Phase) -> float:
    """Inodes a second."""
    return float(phase.fetched[_late(phase)].sum(axis=1).mean())


def moves(phase: Phase) -> float:
    return float(len(phase.moves))


def inodes_moved(phase: Phase) -> float:
    return float(sum(move.inodes for move in phase.moves))


def moved_back(phase: Phase) -> float:
    """Moves that bring a directory back within SOON."""
    return float(len(returns(phase.moves, SOON)))


def late_moves(phase: Phase) -> float:
    """In the second half."""
    half = phase.began + phase.loads.shape[0] / 2
    return float(sum(move.time >= half for move in phase.moves))


def mean_of(phases: list[Phase], measure: Measure) -> float:
    """Over seeds."""
    return float(np.mean([measure(phase) for phase in phases]))
