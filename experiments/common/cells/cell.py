# SPDX-License-Identifier: LGPL-2.1-or-later
"""One cell of the matrix: a workload under a balancer; what was measured, as plain data."""

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from experiments.common import provenance
from experiments.common.balancers.balancers import BALANCERS, decided
from experiments.common.balancers.subtrees import Pin
from experiments.common.cells.cpu import CpuSampling
from experiments.common.cells.order import PROTOCOL, Order
from experiments.common.cells.sampling import Reference, Sampling
from experiments.common.cells.stage import Stage, until_working
from lab.clients.latency_histogram import merged
from lab.clients.run import ClientRun, Line
from lab.errors import LabError
from lab.progress import Progress

_POLL_S = 0.2


class ResetError(LabError):
    """The cell is fine, but the cluster is of no use for another."""

    def __init__(self, cell: dict[str, Any], why: LabError) -> None:
        super().__init__(str(why))
        self.cell = cell


Phases = Callable[[Stage, list[Line]], dict[str, tuple[float, float]]]
"""Runs the clients, adds their lines; when each phase began and ended (Unix, s)."""


def measure(stage: Stage, order: Order, phases: Phases | None = None) -> dict[str, Any]:
    """Run a cell, and bring the cluster back; ResetError, with the cell, if that does not succeed.

    phases: what the clients do instead of the workload's own phases.
    """
    began_load = os.getloadavg()
    made_by = provenance.made_by(("workload", "balancers", *BALANCERS[order.balancer].parts))
    targets = stage.export_targets()
    pins, took = _switch_on(stage, order)
    lines: list[Line] = []
    with (
        CpuSampling(stage.lab) as cpu,
        Reference(stage.lab.state) as reference,
        Sampling(stage.lab.sandbox, mindex=stage.cluster.hook) as sampling,
    ):
        spans = (phases or _own_phases(order))(stage, lines)
    # What was before a settled cell's clock is no part of it.
    since = min(span[0] for span in spans.values()) if order.settled else 0.0
    cell = _cell(order, stage, spans, lines) | {
        "histogram": histogram(lines, since),
        **made_by,
        "load_average_at_start": [round(x, 2) for x in began_load],
        "export_targets_at_start": targets,
        "pins": len(pins),
        "decisions": decided(stage.lab) if order.balancer == "scheduler" else None,
        "seconds": stage.seconds | {"switch_on": took},
        "cpus": os.cpu_count(),
        "mds_cpu_own": stage.lab.state.mds_cpu_own,
        "cpu": [line for line in cpu.lines if line["t"] >= since],
        "reference": [[at["t"], at["units"], at["cpu"]] for at in reference.lines if at["t"] >= since],
        "samples": compact([line for line in sampling.lines if line["t"] >= since]),
    }
    try:
        cell["seconds"]["reset"] = stage.reset(pins)
    except LabError as e:
        raise ResetError(cell, e) from None
    return cell


def _own_phases(order: Order) -> Phases:
    def phases(stage: Stage, lines: list[Line]) -> dict[str, tuple[float, float]]:
        return {phase: run_phase(stage, order, phase, lines) for phase in stage.cluster.workload.phases}

    return phases


def _switch_on(stage: Stage, order: Order) -> tuple[list[Pin], float]:
    began = time.monotonic()
    with stage.progress.step(f"switch on {order.balancer}"):
        # Pins that are made in advance are not part of the run: no quota slows them.
        stage.lab.set_mds_cpu(None)
        stage.forget_visits()
        pins = BALANCERS[order.balancer].switch_on(stage.setting)
        stage.limit()
    return pins, round(time.monotonic() - began, 1)


def run_phase(stage: Stage, order: Order, phase: str, lines: list[Line]) -> tuple[float, float]:
    """Run a phase; from when the first client began to when the last one ended or was stopped (Unix, s)."""
    load = order.cluster.workload.load(phase, stage.paths, f"{order.balancer}-{order.run}")
    mine: list[Line] = []
    with stage.lab.clients(load, on_line=mine.append) as clients:
        until_working(mine, load.first)
        _settle(order, clients, stage.progress)
        with stage.progress.step(f"{phase} of {order.key}"):
            start = time.time()
            # A client that fails ends, too: stopping the others says why.
            while time.time() < start + order.limit and clients.running:
                time.sleep(_POLL_S)
        stopped = time.time()
        clients.stop()
    lines += mine
    whole = [line for line in mine if "began" in line]
    began = start if order.settled else min(line["began"] for line in whole)
    return began, max(line["ended"] or stopped for line in whole)


def _settle(order: Order, clients: ClientRun, progress: Progress) -> None:
    """The balancer has the load before the clock starts."""
    if not order.settled:
        return
    with progress.step(f"{order.settled:.0f} s before the clock"):
        ready = time.monotonic() + order.settled
        while time.monotonic() < ready and clients.running:
            time.sleep(_POLL_S)


def _cell(
    order: Order, stage: Stage, spans: dict[str, tuple[float, float]], lines: Sequence[Line]
) -> dict[str, Any]:
    whole = [line for line in lines if "began" in line]
    return {
        "key": order.key,
        "protocol": PROTOCOL,
        "workload": order.cluster.workload.name,
        "balancer": order.balancer,
        "run": order.run,
        "release": order.cluster.release,
        "hook": order.cluster.hook,
        "ranks": order.cluster.ranks + order.cluster.standby,
        "mds_cpu": order.cluster.mds_cpu,
        "shares": order.cluster.shares,
        "limit": order.limit,
        "settled": order.settled,
        "paths": stage.paths,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "capacity": round(stage.capacity, 1),
        "spans": {name: [round(t, 2) for t in span] for name, span in spans.items()},
        "clients": seconds(lines),
        "done": {
            line["client"]: [line["began"], line["ended"], line["done"], line.get("why", {})]
            for line in whole
        },
    }


def seconds(lines: Sequence[Line]) -> list[list[float]]:
    """[Unix second, op/s of all clients, p95 in ms (weighted by operations), errors] a second."""
    found: dict[int, list[float]] = {}
    for line in lines:
        if "ops" not in line:
            continue
        row = found.setdefault(int(line["t"]), [0.0, 0.0, 0.0])
        row[0] += line["ops"]
        row[1] += line["ops"] * line["latency_ms"]["all"]["p95"] if line["ops"] else 0.0
        row[2] += line["errors"]
    return [
        [t, ops, round(weighted / ops, 2) if ops else 0.0, errors]
        for t, (ops, weighted, errors) in sorted(found.items())
    ]


def histogram(lines: Sequence[Line], since: float) -> dict[str, int]:
    """Operations of all clients from a time on (Unix, s), by bucket of their latency."""
    counts = merged(line["histogram"] for line in lines if "histogram" in line and line["t"] > since)
    return {str(number): count for number, count in sorted(counts.items())}


def compact(samples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Samples with the map of subtrees only where it is another one than before."""
    kept, last = [], None
    for sample in samples:
        changed = sample["subtrees"] is not None and sample["subtrees"] != last
        last = sample["subtrees"] if changed else last
        kept.append(sample | {"subtrees": sample["subtrees"] if changed else None})
    return kept
