# SPDX-License-Identifier: LGPL-2.1-or-later
"""Latencies of a whole run in few numbers that add up over clients: counts by logarithmic bucket."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

_STEPS = 16  # a factor of 2: a bucket is 4.4 % wide
_LEAST_S = 1e-6


def bucket(seconds: float) -> int:
    """The bucket of a latency."""
    return math.floor(math.log2(max(seconds, _LEAST_S) / _LEAST_S) * _STEPS)


def middle(number: int) -> float:
    """A latency in seconds that stands for a bucket; at most 2.2 % off."""
    return float(_LEAST_S * 2 ** ((number + 0.5) / _STEPS))


def merged(histograms: Iterable[Mapping[str, int]]) -> Counter[int]:
    """Sum of histograms as JSON has them (bucket numbers are texts)."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        for number, count in histogram.items():
            total[int(number)] += count
    return total


def percentile(histogram: Mapping[int, int], percent: float) -> float | None:
    """Nearest-rank percentile in seconds; None of nothing."""
    wanted = max(1, math.ceil(sum(histogram.values()) * percent / 100))
    seen = 0
    for number in sorted(histogram):
        seen += histogram[number]
        if seen >= wanted:
            return middle(number)
    return None
