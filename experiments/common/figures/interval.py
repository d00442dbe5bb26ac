# SPDX-License-Identifier: LGPL-2.1-or-later
"""How sure a median of a few blocks is."""

import math
import statistics
from collections.abc import Sequence

import numpy as np
from scipy import stats

_SEED = 2021  # so that the same cells give the same interval
_RESAMPLES = 2_000
_SURE = 1.96  # standard deviations, 95 %


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % bootstrap interval of the median, by percentiles; None: one value has none.

    Of few values it is their range, which misses the true median one time in four if they are three
    (2 / 2^3), one time in two if they are two.
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


def chance(repeated: Sequence[Sequence[float]]) -> float:
    """The factor by which one ratio is off in one case of twenty, by ratios that were measured again."""
    logs = [[math.log(ratio) for ratio in ratios] for ratios in repeated if len(ratios) > 1]
    squares = sum(statistics.variance(values) * (len(values) - 1) for values in logs)
    return math.exp(_SURE * math.sqrt(squares / sum(len(values) - 1 for values in logs)))


def shown(values: Sequence[float], left_out: int = 0) -> str:
    """Median (interval), and how many blocks count if some do not."""
    if not values:
        return f"none of {left_out} counts" if left_out else "-"
    found = interval(values)
    text = f"{statistics.median(values):.2f}"
    text += f" ({found[0]:.2f} to {found[1]:.2f})" if found else ""
    return f"{text}, {len(values)} of {len(values) + left_out}" if left_out else text
