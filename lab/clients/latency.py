# SPDX-License-Identifier: LGPL-2.1-or-later
"""Latencies of operations and what is said about them each second."""

import math
import threading
from collections import Counter
from collections.abc import Sequence

from lab.clients.latency_histogram import bucket

_PERCENTILES = (50, 95, 99)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of sorted values."""
    if not ordered:
        raise ValueError("no values")
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Count and percentiles in milliseconds."""
    ordered = sorted(seconds)
    values: dict[str, float] = {"n": len(ordered)}
    for percent in _PERCENTILES if ordered else ():
        values[f"p{percent}"] = round(percentile(ordered, percent) * 1000, 3)
    return values


class Recorder:
    """Collects operations from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latencies: dict[str, list[float]] = {}
        self._errors: dict[str, int] = {}
        self._histogram: Counter[int] = Counter()
        self._done: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def done(self, op: str, seconds: float) -> None:
        """Count an operation that took so many seconds."""
        with self._lock:
            self._latencies.setdefault(op, []).append(seconds)
            self._histogram[bucket(seconds)] += 1
            self._done[op] += 1

    def failed(self, op: str, why: str) -> None:
        """Count an operation that failed."""
        with self._lock:
            text = f"{op}: {why}"
            self._errors[text] = self._errors.get(text, 0) + 1
            self._failed[text] += 1

    def take(self) -> dict[str, object]:
        """What was recorded since the last time."""
        with self._lock:
            latencies, self._latencies = self._latencies, {}
            errors, self._errors = self._errors, {}
            histogram, self._histogram = self._histogram, Counter()
        everything = [value for values in latencies.values() for value in values]
        return {
            "ops": len(everything),
            "errors": sum(errors.values()),
            "latency_ms": {"all": summary(everything)}
            | {op: summary(v) for op, v in sorted(latencies.items())},
            "histogram": dict(sorted(histogram.items())),
            **({"why": errors} if errors else {}),
        }

    def total(self) -> dict[str, object]:
        """All that was recorded: operations done, reasons of failures."""
        with self._lock:
            why = {"why": dict(self._failed)} if self._failed else {}
            return {"done": dict(sorted(self._done.items())), **why}
