# SPDX-License-Identifier: LGPL-2.1-or-later
"""How far above its share a rank may be: what is nearer than the noise of what is measured is even."""

from collections.abc import Sequence
from statistics import median

BAND = 0.1  # of a share, at least: nearer than that is even
WIDEST = 0.3  # that noise makes of it
ENOUGH = 6  # steps: the median of one or two is anything
MEDIAN_STEP = 0.954  # of the distances of two draws, in standard deviations (normal)
NOISES = 2.0  # standard deviations of what is measured that are no difference


def band(ranks: Sequence[tuple[Sequence[float], Sequence[bool]]], before: float = BAND) -> float:
    """In parts of a share.

    :param ranks: req/s of each at the last looks, oldest first, and whether something moved from or to it at
        these: that is no noise
    :param before: as it was found when that was known last
    """
    known = [steps for rates, moved in ranks if (steps := _steps(rates, moved))]
    if sum(map(len, known)) < ENOUGH:
        return before
    mean = sum(sum(rates) / len(rates) for rates, _ in ranks) / len(ranks)
    noise = median(median(steps) for steps in known) / MEDIAN_STEP
    return max(BAND, min(WIDEST, NOISES * noise / mean if mean else 0.0))


def _steps(rates: Sequence[float], moved: Sequence[bool]) -> list[float]:
    """req/s by which a rate differs from look to look, by itself: of the median one jump does not count."""
    looks = list(zip(rates, moved))
    return [abs(b - a) for (a, before), (b, now) in zip(looks, looks[1:]) if not (before or now)]
