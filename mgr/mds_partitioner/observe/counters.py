# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rates and levels from the points of a perf counter that the manager keeps: the last 20, one in 5 s."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

Point = tuple[float, ...]
NANOSECONDS = 1e9  # time counters are sent in nanoseconds


def unbroken(points: Sequence[Point], longest: float, shortest: float = 0.0) -> Sequence[Point]:
    """The newest points of a counter or time average, between which it only grew and no more than ``longest``
    seconds passed: of those before it began anew, or the clock was set, no rate can be told.

    A point has the time at which the manager took the report (``DaemonPerfCounters::update``). Of reports
    that waited, and came within less than ``shortest`` seconds of each other, only the last tells of then.
    """
    for at in range(len(points) - 1, 0, -1):
        (before, *old), (then, *new) = points[at - 1], points[at]
        if not 0.0 < then - before <= longest or any(b < a for a, b in zip(old, new)):
            points = points[at:]
            break
    later = [then[0] for then in points[1:]]
    return [p for p, then in zip(points, [*later, math.inf]) if then - p[0] >= shortest]


def _span(points: Sequence[Point], window: float) -> tuple[Point, Point] | None:
    """The newest point and, of those before it, the one that is nearest to ``window`` seconds older: reports
    that come a moment late leave out no interval."""
    if len(points) < 2:
        return None
    last = points[-1]
    first = min(points[:-1], key=lambda p: abs(last[0] - p[0] - window))
    return (first, last) if last[0] > first[0] else None


def rate(points: Sequence[Point], window: float) -> float:
    """Increase per second over the last ``window`` seconds; 0 with one point or after a restart."""
    span = _span(points, window)
    if span is None:
        return 0.0
    first, last = span
    return max(0.0, (last[1] - first[1]) / (last[0] - first[0]))


def rated(points: Sequence[Point], window: float) -> bool:
    """Is there a rate over the last ``window`` seconds? Not before the second report of a new session."""
    return _span(points, window) is not None


def mean_time(points: Sequence[Point], window: float) -> float:
    """Mean of a time average (seconds) over the last ``window`` seconds; 0 when nothing was counted."""
    return mean_and_count(points, window)[0]


def mean_and_count(points: Sequence[Point], window: float) -> tuple[float, float]:
    """The same, and of how many it is the mean."""
    span = _span(points, window)
    if span is None or len(span[1]) < 3:
        return 0.0, 0.0
    first, last = span
    count = last[2] - first[2]
    return (max(0.0, (last[1] - first[1]) / count / NANOSECONDS), count) if count > 0 else (0.0, 0.0)


def counted(points: Sequence[Point], window: float) -> float:
    """How many it is the mean of, per second."""
    span = _span(points, window)
    return mean_and_count(points, window)[1] / (span[1][0] - span[0][0]) if span else 0.0


def mean_level(points: Sequence[Point], window: float) -> float:
    """Mean of a gauge over the last ``window`` seconds, as reports found it; 0 when there is none."""
    lately = [value for at, value, *_ in points if points[-1][0] - at < window]
    return fmean(lately) if lately else 0.0


def level(points: Sequence[Point]) -> int:
    """The newest value of a gauge; 0 when there is none."""
    return int(points[-1][1]) if points else 0
