# SPDX-License-Identifier: LGPL-2.1-or-later
"""Next epoch's load of each rank (Lunule, section 3.2: linear regression over the load history)."""

import numpy as np

from .arrays import Floats


def forecast(loads: Floats) -> Floats:
    """One least-squares line a rank, all ranks in one multi-output fit, read one epoch on; never below 0.

    loads: (ranks, epochs), req/s, oldest first. Returns (ranks,), req/s. One epoch only: that epoch's load.
    """
    start, slope = _lines(loads)
    return np.asarray(np.maximum(start + slope * loads.shape[1], 0.0))


def growth(loads: Floats) -> Floats:
    """(ranks,): what the same lines rise by in an epoch, req/s. loads: as in :func:`forecast`."""
    return _lines(loads)[1]


def _lines(loads: Floats) -> tuple[Floats, Floats]:
    """(ranks,) each: at the first epoch, req/s, and what it rises by in one; level with one epoch only."""
    epochs = loads.shape[1]
    if epochs < 2:
        return loads[:, -1].copy(), np.zeros(loads.shape[0])
    from sklearn.linear_model import LinearRegression  # a second of start-up: paid by the first forecast

    line = LinearRegression().fit(np.arange(epochs, dtype=np.float64).reshape(-1, 1), loads.T)
    return np.asarray(line.intercept_).reshape(-1), np.asarray(line.coef_).reshape(-1)
