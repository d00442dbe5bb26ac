# SPDX-License-Identifier: LGPL-2.1-or-later
"""The imbalance factor (Lunule, section 3.2, equations 1 to 3)."""

import math
from dataclasses import dataclass

import numpy as np

from .arrays import Floats
from .bad_input import BadInputError


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


def urgency(peak: float, capacity: float, smoothness: float) -> float:
    """Equation 2: how much an imbalance hurts, in (0, 1); 0.5 where the busiest rank is at half its capacity.

    peak, capacity: req/s (peak above capacity is allowed); smoothness: the paper's S, above 0.
    """
    exponent = (1.0 - 2.0 * peak / capacity) / smoothness
    if exponent > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(exponent))


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
