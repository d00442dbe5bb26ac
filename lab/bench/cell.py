# SPDX-License-Identifier: LGPL-2.1-or-later
"""One cell of the matrix: a fresh cluster, a workload, a balancer; what was measured, as plain data."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lab.api import Lab
from lab.bench.balancers import BALANCERS, Setting
from lab.bench.sampling import Sampling
from lab.bench.workloads import Workload
from lab.clients.run import Line
from lab.demo import module
from lab.errors import LabError
from lab.progress import Progress
from mds.build import built

WARM_UP_S = 15.0  # all on rank 0, nobody balances: what C is measured in
UNSETTLED_S = 5.0  # of the warm-up, not counted


@dataclass(frozen=True)
class Order:
    """What to measure."""

    workload: Workload
    balancer: str
    run: int
    release: str = "tentacle"
    ranks: int = 4
    mds_cpu: int = 15  # % of a core, each MDS
    seconds: float = 75.0  # each phase, at most
    hook: bool = False  # MDSs built from mds/

    @property
    def key(self) -> str:
        """File name of its result."""
        mds = f"{self.release}-hook" if self.hook else self.release
        return f"{self.workload.name}-{mds}-{self.ranks}x{self.mds_cpu}-{self.balancer}-{self.run}"


def measure(order: Order, progress: Progress) -> dict[str, Any]:
    """Run a cell; nothing of its lab is left when this returns or raises."""
    workload = order.workload
    with Lab.up(
        name=f"bench-{os.getpid()}",
        release=order.release,
        mds=order.ranks,
        mgr=1,
        mds_binary=built(order.release) if order.hook else None,
        progress=progress,
    ) as lab:
        module.enable(lab, {})
        paths = lab.make_subvolumes(workload.names())
        with progress.step(f"prepare {workload.name}"):
            lab.prepare(workload.load(workload.phases[0], paths))
        lab.set_mds_cpu(order.mds_cpu)
        began = os.getloadavg()
        lines: list[Line] = []
        with Sampling(lab.sandbox, mindex=order.hook) as sampling:
            spans, capacity = _phases(lab, order, paths, lines, sampling, progress)
    return {
        "key": order.key,
        "workload": workload.name,
        "balancer": order.balancer,
        "run": order.run,
        "release": order.release,
        "hook": order.hook,
        "ranks": order.ranks,
        "mds_cpu": order.mds_cpu,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_start": [round(x, 2) for x in began],
        "capacity": round(capacity, 1),
        "spans": {name: [round(t, 2) for t in span] for name, span in spans.items()},
        "clients": _seconds(lines),
        "samples": sampling.lines,
    }


def _phases(
    lab: Lab,
    order: Order,
    paths: dict[str, str],
    lines: list[Line],
    sampling: Sampling,
    progress: Progress,
) -> tuple[dict[str, tuple[float, float]], float]:
    """Run all phases. When each began and ended (Unix, s), and C (req/s)."""
    spans: dict[str, tuple[float, float]] = {}
    capacity = 0.0
    for number, phase in enumerate(order.workload.phases):
        with lab.clients(order.workload.load(phase, paths), on_line=lines.append) as clients:
            _until_working(lines, order.workload.clients)
            if number == 0:
                with progress.step("warm up on rank 0"):
                    warm = time.time()
                    time.sleep(WARM_UP_S)
                capacity = _rate(sampling.lines, warm + UNSETTLED_S)
                BALANCERS[order.balancer](lab, Setting(paths, order.ranks, capacity))
            start = time.time()
            with progress.step(f"{phase.name}, {order.balancer}, run {order.run}"):
                while clients.running and time.time() < start + order.seconds:
                    time.sleep(0.2)
            spans[phase.name] = (start, time.time())
            clients.stop()
    return spans, capacity


def _until_working(lines: Sequence[Line], clients: int) -> None:
    began = len(lines)
    deadline = time.monotonic() + 60
    while len({line["client"] for line in lines[began:] if "ops" in line}) < clients:
        if time.monotonic() > deadline:
            raise LabError("the clients do not get going")
        time.sleep(0.2)


def _rate(samples: Sequence[dict[str, Any]], since: float) -> float:
    """Requests that rank 0 served a second since a time."""
    seen = [s for s in samples if s["t"] >= since and "0" in s["ranks"]]
    if len(seen) < 2:
        raise LabError("rank 0 was not sampled")
    first, last = seen[0], seen[-1]
    served = [s["ranks"]["0"]["requests"] - s["ranks"]["0"]["forwards"] for s in (first, last)]
    return float(served[1] - served[0]) / float(last["t"] - first["t"])


def _seconds(lines: Sequence[Line]) -> list[list[float]]:
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
