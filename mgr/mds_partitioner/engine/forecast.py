# SPDX-License-Identifier: LGPL-2.1-or-later
"""Next epoch's load of each rank (Lunule, section 3.2: linear regression over the load history).

A line is wrong where a load has jumped, or comes and goes. So each rank's is tried on its last epochs, and
counts as far as it told these better than the epoch before each did (Bates and Granger, 1969: forecasts are
combined by the inverse of their squared errors).
"""

import numpy as np

from .arrays import Floats

TRIED = 4  # of the last epochs, each forecast from those before it
LEAST = 3  # epochs before one that is forecast: two always make a line
FADES = 0.5  # of an error's weight, with each epoch since


def forecast(loads: Floats) -> Floats:
    """The regression as far as it may be trusted, else the last epoch's load; never below 0.

    loads: (ranks, epochs), req/s, oldest first. Returns (ranks,), req/s.
    """
    last = loads[:, -1]
    return np.asarray(np.maximum(last + trust(loads) * (continued(loads) - last), 0.0))


def growth(loads: Floats) -> Floats:
    """(ranks,): what the same lines rise by in an epoch, as far as they may be trusted, req/s."""
    return trust(loads) * _lines(loads)[1]


def trust(loads: Floats) -> Floats:
    """(ranks,), 0 to 1: how far each rank's line may be trusted, by its last epochs; 1 until it was tried."""
    epochs = loads.shape[1]
    of_line, of_last = np.zeros(loads.shape[0]), np.zeros(loads.shape[0])
    for at in range(max(LEAST, epochs - TRIED), epochs):
        before, came, weight = loads[:, :at], loads[:, at], FADES ** (epochs - 1 - at)
        of_line += weight * (continued(before) - came) ** 2
        of_last += weight * (before[:, -1] - came) ** 2
    both = of_line + of_last
    return np.divide(of_last, both, out=np.ones_like(both), where=both > 0.0)


def continued(loads: Floats) -> Floats:
    """(ranks,): a least-squares line a rank, all ranks in one multi-output fit, read one epoch on, req/s; it
    may be below 0. With one epoch only: that epoch's load."""
    start, slope = _lines(loads)
    return np.asarray(start + slope * loads.shape[1])


def _lines(loads: Floats) -> tuple[Floats, Floats]:
    """(ranks,) each: at the first epoch, req/s, and what it rises by in one; level with one epoch only."""
    epochs = loads.shape[1]
    if epochs < 2:
        return loads[:, -1].copy(), np.zeros(loads.shape[0])
    from sklearn.linear_model import LinearRegression  # a second of start-up: paid by the first forecast

    line = LinearRegression().fit(np.arange(epochs, dtype=np.float64).reshape(-1, 1), loads.T)
    return np.asarray(line.intercept_).reshape(-1), np.asarray(line.coef_).reshape(-1)
