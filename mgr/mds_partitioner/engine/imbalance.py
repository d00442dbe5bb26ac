# SPDX-License-Identifier: LGPL-2.1-or-later
"""The imbalance factor (Lunule, section 3.2, equations 1 to 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats
from .bad_input import BadInputError
from .urgency import urgency

PAPERS_CLUSTER = 5  # ranks


@dataclass(frozen=True)
class Imbalance:
    """How uneven the ranks are: all numbers without unit.

    most: what the factor is at full urgency; factor, urgency: None where the capacity is unknown.
    """

    cov: float
    most: float
    urgency: float | None
    factor: float | None


def variation(loads: Floats) -> float:
    """Equation 1: corrected standard deviation over mean, 0 for an idle cluster and for one rank.

    loads: (ranks,), req/s. Range [0, sqrt(ranks)].
    """
    peak = float(loads.max(initial=0.0))
    if loads.size < 2 or peak == 0.0:
        return 0.0
    scaled = loads / peak  # no overflow or underflow whatever the unit
    cov = float(scaled.std(ddof=1) / scaled.mean())
    return min(cov, math.sqrt(loads.size))


def hot_ranks(loads: Floats, capacity: float | None, smoothness: float, threshold: float) -> Bools:
    """(ranks,): those of a large cluster each of which would be harmful as the one hot rank of five.

    Where all other ranks are even, one at x above the mean makes CoV / sqrt(n) = x / (n - 1). So the more
    ranks there are, the fuller one may be before the factor is above the threshold. But its clients wait as
    long in a cluster of 36 as in one of five, the paper's. In a cluster of at most five no rank could be hot
    unless the factor is above the threshold, too, and none is called so. None is while the capacity is
    unknown.

    loads, capacity, smoothness as in :func:`imbalance`; threshold: of the factor.
    """
    if loads.size <= PAPERS_CLUSTER or capacity is None or not loads.any():
        return np.zeros(loads.size, dtype=bool)
    urgent = np.array([urgency(float(load), capacity, smoothness) for load in loads])
    return np.asarray((loads / loads.mean() - 1.0) / (PAPERS_CLUSTER - 1) * urgent > threshold)


def halfway_to_hot(threshold: float) -> float:
    """How far above the mean, in parts of it, a rank is to come that takes from a hot one: half of what makes
    a full rank hot. threshold: of the factor."""
    return threshold * (PAPERS_CLUSTER - 1) / 2.0


def imbalance(loads: Floats, capacity: float | None, smoothness: float) -> Imbalance:
    """Equation 3. loads: (ranks,), req/s; capacity: the most one rank can serve, req/s, None: unknown."""
    if loads.size and not (np.isfinite(loads).all() and (loads >= 0).all()):
        raise BadInputError(
            "loads hold a NaN, an infinite or a negative number; allowed: finite numbers from 0"
        )
    known = capacity is None or (math.isfinite(capacity) and capacity > 0)
    if not (known and math.isfinite(smoothness) and smoothness > 0):
        raise BadInputError(f"capacity is {capacity}, smoothness {smoothness}; allowed: numbers above 0")
    cov = variation(loads)
    most = min(cov / math.sqrt(loads.size), 1.0) if loads.size else 0.0
    if capacity is None:
        return Imbalance(cov, most, None, None)
    urgent = urgency(float(loads.max(initial=0.0)), capacity, smoothness)
    return Imbalance(cov, most, urgent, most * urgent)
