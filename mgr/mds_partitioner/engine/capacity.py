# SPDX-License-Identifier: LGPL-2.1-or-later
"""The most requests a second one rank can serve (the C of Lunule's equation 2)."""

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats

DEFAULT_CAPACITY = 10_000.0


@dataclass(frozen=True)
class Capacity:
    """value: req/s; source: where it comes from, in words."""

    value: float
    source: str


def learned_capacity(rate: Floats, saturated: Bools) -> float | None:
    """req/s: the highest median rate in saturated epochs, among the ranks that were saturated often.

    rate, saturated: (ranks, epochs). Often: in at least half as many epochs as the most saturated rank.
    """
    counts = saturated.sum(axis=1)
    most = int(counts.max(initial=0))
    if most == 0:
        return None
    often = np.flatnonzero(2 * counts >= most)
    return max(float(np.median(rate[r, saturated[r]])) for r in often)


def choose_capacity(rate: Floats, saturated: Bools, option: float, earlier: float | None) -> Capacity:
    """The option when it is not 0, else what was learned now, else what was learned earlier, else the
    default."""
    if option > 0.0:
        return Capacity(option, "option")
    learned = learned_capacity(rate, saturated)
    if learned is not None:
        return Capacity(learned, "learned at saturation")
    if earlier is not None:
        return Capacity(earlier, "learned earlier")
    return Capacity(DEFAULT_CAPACITY, "default: no rank was seen saturated")
