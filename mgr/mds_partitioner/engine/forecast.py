# SPDX-License-Identifier: LGPL-2.1-or-later
"""Next epoch's load of each rank (Lunule, section 3.2: linear regression over the load history)."""

import numpy as np

from .arrays import Floats


def forecast(loads: Floats) -> Floats:
    """One least-squares line a rank, all ranks in one multi-output fit, read one epoch on; never below 0.

    loads: (ranks, epochs), req/s, oldest first. Returns (ranks,), req/s. One epoch only: that epoch's load.
    """
    epochs = loads.shape[1]
    if epochs < 2:
        return loads[:, -1].copy()
    from sklearn.linear_model import LinearRegression  # a second of start-up: paid by the first forecast

    times = np.arange(epochs, dtype=np.float64).reshape(-1, 1)
    line = LinearRegression().fit(times, loads.T)
    predicted = np.asarray(line.predict(np.array([[float(epochs)]])), dtype=np.float64)
    return np.maximum(predicted.reshape(-1), 0.0)


def growth(loads: Floats) -> Floats:
    """(ranks,): what the same lines rise by in an epoch, req/s. loads: as in :func:`forecast`."""
    epochs = loads.shape[1]
    if epochs < 2:
        return np.zeros(loads.shape[0])
    return np.asarray(np.polyfit(np.arange(epochs), loads.T, 1)[0])
