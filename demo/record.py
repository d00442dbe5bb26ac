# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is measured while the demo runs: the clients' logs and the ranks' loads."""

import threading
from dataclasses import dataclass, field
from typing import Any

from lab.clients.run import Line


@dataclass(frozen=True)
class RankMoment:
    """What one rank's counters said."""

    requests: float
    """req/s over the last epoch."""
    latency: float
    """Mean reply latency in seconds."""
    inodes: int


@dataclass(frozen=True)
class Moment:
    """All ranks' counters at one time (seconds since the Unix epoch)."""

    t: float
    ranks: tuple[RankMoment, ...]
    factor: float | None
    """IF as the module saw it then, with the capacity it knew then; None: it knew none."""

    @property
    def loads(self) -> list[float]:
        """req/s by rank."""
        return [rank.requests for rank in self.ranks]


def moment(t: float, answer: dict[str, Any]) -> Moment:
    """From the answer of the command imbalance."""
    ranks = sorted(answer["ranks"], key=lambda r: int(r["rank"]))
    return Moment(
        t,
        # null of one that has not told yet
        tuple(RankMoment(r["requests"] or 0.0, r["latency"] or 0.0, int(r["inodes"])) for r in ranks),
        answer["imbalance_factor"],
    )


@dataclass(frozen=True)
class Span:
    """A part of the timeline."""

    start: float
    end: float


@dataclass
class Record:
    """Everything measured. Lines come from the clients' thread, the rest from the story's."""

    moments: list[Moment] = field(default_factory=list)
    marks: dict[str, float] = field(default_factory=dict)
    """When something began, seconds since the Unix epoch."""
    _lines: list[Line] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_line(self, line: Line) -> None:
        """A client's second."""
        if "ops" in line:
            with self._lock:
                self._lines.append(line)

    def add_moment(self, new: Moment) -> None:
        """The ranks' counters, unless the manager has got no new ones since the last time."""
        if not self.moments or self.moments[-1].ranks != new.ranks:
            self.moments.append(new)

    def lines(self, span: Span) -> list[Line]:
        """The clients' seconds that ended within the span."""
        with self._lock:
            return [line for line in self._lines if span.start < line["t"] <= span.end]

    def throughput(self, span: Span) -> float:
        """op/s of all clients."""
        return float(sum(line["ops"] for line in self.lines(span))) / (span.end - span.start)

    def errors(self, span: Span) -> int:
        """Operations that failed."""
        return sum(int(line["errors"]) for line in self.lines(span))

    def p95(self, span: Span) -> float | None:
        """Mean of the clients' p95 latencies of each second, weighted by operations, in milliseconds."""
        parts = [(line["latency_ms"]["all"]["p95"], line["ops"]) for line in self.lines(span) if line["ops"]]
        total = sum(ops for _, ops in parts)
        return sum(p95 * ops for p95, ops in parts) / total if total else None

    def seconds(self, span: Span) -> list[tuple[float, float]]:
        """op/s of all clients in each second, by the second's end."""
        sums: dict[int, float] = {}
        for line in self.lines(span):
            sums[int(line["t"])] = sums.get(int(line["t"]), 0.0) + line["ops"]
        return [(float(t + 1), sums.get(t, 0.0)) for t in range(int(span.start) + 1, int(span.end))]

    def within(self, span: Span) -> list[Moment]:
        """The ranks' moments whose counters lie within the span."""
        return [m for m in self.moments if span.start < m.t <= span.end]
