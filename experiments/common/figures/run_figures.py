# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of runs that end by themselves, and of who was busy: pure functions of a cell."""

import math
from typing import Any

from experiments.common.figures import figures
from experiments.common.figures.figures import Cell
from lab.clients.latency_histogram import merged, percentile

SATURATED = 0.9  # of an MDS's quota
_MACHINE = 0.9  # of all cores
_CORES = 2  # of the machine of all cells that do not say it
BUSIEST = "busiest MDS, part of its quota"


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


def busiest_mds(cell: Cell, window: int = 5) -> float:
    """The highest CPU use of an MDS over ten seconds, as a part of its quota."""
    lines, own = cell["cpu"], cell.get("mds_cpu_own", {})
    best = 0.0
    for first, last in zip(lines, lines[window:], strict=False):
        for who, used in last["used"].items():
            if who.startswith("mds."):
                rate = (used - first["used"].get(who, 0.0)) / (last["t"] - first["t"])
                best = max(best, rate * 100 / (own.get(who) or cell["mds_cpu"]))
    return best


def counts(cell: Cell) -> bool:
    """Whether an MDS was the limit, and the machine was not: else a cell says little about balancers."""
    room = cores(cell, "busy") <= _MACHINE * cell.get("cpus", _CORES)
    return room and busiest_mds(cell) > SATURATED


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
        BUSIEST: busiest_mds(cell),
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
    if not counts(cell):
        return ["does not count"] * len(cell["spans"])
    return [f"{figures.throughput(cell, span):,.0f}" for span in cell["spans"].values()]
