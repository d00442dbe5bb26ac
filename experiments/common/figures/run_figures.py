# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of runs that end by themselves, and of who was busy: pure functions of a cell."""

import math
from typing import Any

from experiments.common.figures import figures
from experiments.common.figures.figures import Cell
from experiments.common.figures.limits import limits
from lab.clients.latency_histogram import merged, percentile


def completions(cell: Cell) -> list[float | None]:
    """Seconds that each client worked until it was ready; None: it was stopped before."""
    return [None if ended is None else ended - began for began, ended, *_ in cell["done"].values()]


def completion(cell: Cell, percent: float) -> float | None:
    """Nearest-rank percentile of completion times, s; None: so many clients were not ready at the end."""
    times = sorted(math.inf if t is None else t for t in completions(cell))
    found = times[max(0, math.ceil(len(times) * percent / 100) - 1)]
    return None if math.isinf(found) else found


def latency(cell: Cell, percent: float) -> float | None:
    """Percentile of all operations' latencies, ms; at most 2.2 % off."""
    found = percentile(merged([cell["histogram"]]), percent)
    return None if found is None else found * 1000


def errors(cell: Cell) -> int:
    """Operations that failed, or ended otherwise than recorded."""
    return sum(sum(why.values()) for *_, why in cell["done"].values())


def cores(cell: Cell, who: str) -> float:
    """Cores that a kind of process used on average while the cell ran; "busy": the whole machine."""
    first, last = cell["cpu"][0], cell["cpu"][-1]
    elapsed = float(last["t"] - first["t"])
    if who == "busy":
        return float(last["busy"] - first["busy"]) / elapsed
    return float(last["used"].get(who, 0.0) - first["used"].get(who, 0.0)) / elapsed


def row(cell: Cell) -> dict[str, Any]:
    """All of it for a table."""
    return {
        "completion p50, s": completion(cell, 50),
        "completion p99, s": completion(cell, 99),
        "clients ready": sum(t is not None for t in completions(cell)),
        "latency p50, ms": latency(cell, 50),
        "latency p95, ms": latency(cell, 95),
        "latency p99, ms": latency(cell, 99),
        "failed operations": errors(cell),
        "slow requests": figures.total(cell, "slow"),
        **limits(cell).told,
        "clients, cores": cores(cell, "clients"),
        "OSD, cores": cores(cell, "osd"),
        "MDSs, cores": sum(cores(cell, who) for who in cell["cpu"][-1]["used"] if who.startswith("mds.")),
        "manager, cores": cores(cell, "mgr"),
        "engine, cores": cores(cell, "engine"),
        "machine, cores": cores(cell, "busy"),
        "pins": cell["pins"],
        "switched on in, s": cell["seconds"]["switch_on"],
    }


def throughputs(cell: Cell) -> list[str]:
    """op/s of each phase, for a table."""
    if not limits(cell).counts:
        return ["does not count"] * len(cell["spans"])
    return [f"{figures.throughput(cell, span):,.0f}" for span in cell["spans"].values()]
