# SPDX-License-Identifier: LGPL-2.1-or-later
"""How far above its share a rank may be: what is nearer than the noise of what is measured is even."""

from collections.abc import Sequence
from statistics import median

BAND = 0.1  # of a share, at least: nearer than that is even
WIDEST = 0.3  # that noise makes of it
MEDIAN_STEP = 0.954  # of the distances of two draws, in standard deviations (normal)
NOISES = 2.0  # standard deviations of what is measured that are no difference


def band(rates: Sequence[Sequence[float]]) -> float:
    """In parts of a share. rates: req/s of each rank at the last looks, oldest first."""
    if not rates:
        return BAND
    mean = sum(sum(row) / len(row) for row in rates) / len(rates)
    noise = median(map(_noise, rates))
    return max(BAND, min(WIDEST, NOISES * noise / mean if mean else 0.0))


def _noise(rates: Sequence[float]) -> float:
    """Standard deviation of a rate, req/s, from how it differs from look to look: one jump does not count."""
    steps = [abs(b - a) for a, b in zip(rates, rates[1:])]
    return median(steps) / MEDIAN_STEP if steps else 0.0
