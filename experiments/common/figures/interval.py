# SPDX-License-Identifier: LGPL-2.1-or-later
"""How sure a median of a few blocks is."""

import statistics
from collections.abc import Sequence

import numpy as np
from scipy import stats

_SEED = 2021  # so that the same cells give the same interval
_RESAMPLES = 2_000


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % bootstrap interval of the median, by percentiles; None: one value has none.

    Of three values it is their range, which misses the true median one time in four (2 / 2^3).
    """
    if len(values) < 2:
        return None
    if len(set(values)) == 1:
        return values[0], values[0]
    found = stats.bootstrap(
        (np.asarray(values, dtype=float),),
        np.median,
        n_resamples=_RESAMPLES,
        method="percentile",
        random_state=_SEED,
    ).confidence_interval
    return float(found.low), float(found.high)


def shown(values: Sequence[float], left_out: int = 0) -> str:
    """Median (interval), and how many blocks count if some do not."""
    if not values:
        return f"none of {left_out} counts" if left_out else "-"
    found = interval(values)
    text = f"{statistics.median(values):.2f}"
    text += f" ({found[0]:.2f} to {found[1]:.2f})" if found else ""
    return f"{text}, {len(values)} of {len(values) + left_out}" if left_out else text
