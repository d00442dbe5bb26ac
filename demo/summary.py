# SPDX-License-Identifier: LGPL-2.1-or-later
"""Before and after: the numbers, the table, and the file for machines."""

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from demo.record import Record, Span
from demo.scene import RANKS
from experiments.common.figures.factor import factors


@dataclass(frozen=True)
class Part:
    """One part of the timeline in numbers."""

    seconds: float
    ops: float
    """op/s of all clients, by their own logs."""
    errors: int
    p95_ms: float | None
    loads: list[float]
    """Mean req/s by rank."""
    imbalance_factor: float
    """Mean over the part's moments, all with one capacity."""
    fullest_share: float
    """The fullest rank's part of all requests, 0 to 1."""


@dataclass(frozen=True)
class Capacity:
    """The most req/s that a rank can serve, and where that number is from."""

    value: float
    source: str


def part(record: Record, span: Span, capacity: Capacity) -> Part:
    """Measure a part of the timeline."""
    rows = [m.loads for m in record.within(span)]
    loads = [statistics.fmean(column) for column in zip(*rows, strict=True)]
    total = sum(loads)
    return Part(
        seconds=round(span.end - span.start, 1),
        ops=record.throughput(span),
        errors=record.errors(span),
        p95_ms=record.p95(span),
        loads=loads,
        imbalance_factor=statistics.fmean(factors(rows, capacity.value)) if rows else 0.0,
        fullest_share=max(loads) / total if total else 0.0,
    )


def table(before: Part, after: Part) -> Table:
    """For people."""
    shown = Table(title="before and after", title_justify="left")
    shown.add_column("")
    for column in ("before", "after", "after/before"):
        shown.add_column(column, justify="right")
    shown.add_row(
        "throughput of all clients",
        f"{before.ops:,.0f} op/s",
        f"{after.ops:,.0f} op/s",
        _ratio(before.ops, after.ops),
    )
    if before.p95_ms is not None and after.p95_ms is not None:
        shown.add_row(
            "p95 latency of an operation",
            f"{before.p95_ms:.0f} ms",
            f"{after.p95_ms:.0f} ms",
            _ratio(before.p95_ms, after.p95_ms),
        )
    shown.add_row("imbalance factor", f"{before.imbalance_factor:.3f}", f"{after.imbalance_factor:.3f}", "")
    shown.add_row(
        "fullest rank's part of the load", f"{before.fullest_share:.0%}", f"{after.fullest_share:.0%}", ""
    )
    for rank, (old, new) in enumerate(zip(before.loads, after.loads, strict=True)):
        shown.add_row(f"rank {rank}", f"{old:,.0f} req/s", f"{new:,.0f} req/s", "")
    return shown


def sequel(parts: Mapping[str, Part]) -> Table:
    """For people: what came after each change that no plan had known."""
    shown = Table(title="and then", title_justify="left")
    for column in ("", "op/s", "p95, ms", "fullest rank", *(f"rank {r}" for r in range(RANKS))):
        shown.add_column(column, justify="right" if column else "left")
    for name, at in parts.items():
        p95 = "-" if at.p95_ms is None else f"{at.p95_ms:.0f}"
        loads = (f"{load:,.0f}" for load in at.loads)
        shown.add_row(name, f"{at.ops:,.0f}", p95, f"{at.fullest_share:.0%}", *loads)
    return shown


def _ratio(before: float, after: float) -> str:
    return f"{after / before:.2f}" if before else "-"


def value(record: Record, before: Part, after: Part, capacity: Capacity) -> dict[str, Any]:
    """For machines."""
    return {
        "throughput_ratio": after.ops / before.ops if before.ops else None,
        "capacity": asdict(capacity),
        "before": asdict(before),
        "after": asdict(after),
    }


def series(record: Record, span: Span, capacity: Capacity) -> dict[str, Any]:
    """The timeline, its times in seconds since its start."""
    moments = record.within(span)
    calculated = factors([m.loads for m in moments], capacity.value)

    def at(t: float) -> float:
        return round(t - span.start, 1)

    return {
        "ops": [[at(t), ops] for t, ops in record.seconds(span)],
        "loads": [[at(m.t), [round(x, 1) for x in m.loads]] for m in moments],
        "imbalance_factor": [[at(m.t), round(f, 4)] for m, f in zip(moments, calculated, strict=True)],
        "marks": {name: at(t) for name, t in record.marks.items()},
    }
