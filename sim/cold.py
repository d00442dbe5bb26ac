# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it true from cold? The blocks of the scheduler (docs/results/cold), run again on the model: five
minutes, clients without an end, the built-in balancer with and without mds_forward_all_requests_to_auth.

Nothing was fitted to these.
"""

import statistics
from pathlib import Path
from typing import Any

from experiments.common.cells import store
from experiments.common.figures import summary
from experiments.common.figures.limits import limits
from sim.calibrate import (
    FIRST,
    LAB,
    ROOT,
    WORKLOADS,
    Cell,
    Requests,
    cell_of,
    cluster_of,
    middle,
    place,
    told,
)
from sim.course import Course
from sim.fit import requests_of
from sim.load.bench import bench
from sim.policies import POLICIES
from sim.policies.base import DEFAULTS, Context, Policy

CELLS = ROOT / "docs/results/cold"
POLICY = {"builtin": "builtin", "builtin-to-auth": "builtin", "scheduler": "scheduler", "oracle": "nothing"}
TO_AUTH = "builtin-to-auth"
SECONDS = 300.0

Raw = dict[str, dict[str, Any]]


def block(folder: Path, workload: str) -> Raw:
    """A workload's cells that count, by balancer."""
    cells = {name: store.load(folder, f"{workload}-tentacle-5x12-{name}-1") for name in POLICY}
    return {name: cell for name, cell in cells.items() if limits(cell).counts}


def capacity(cells: Raw) -> float:
    """C, req/s: one for a block, whose runs came one after the other. md and dbench measured it for each, and
    these are further apart than what ranks were able to do."""
    return statistics.median(float(cell["capacity"]) for cell in cells.values())


def measured(cells: Raw) -> dict[str, Cell]:
    """Of a block."""
    found, able = {}, capacity(cells)
    for row in summary.rows(list(cells.values())):
        operations = row["op/s"] * SECONDS
        found[row["balancer"]] = Cell(
            row["op/s"] / able, row["mean IF"], row["inodes migrated"], row["forwards"] / operations
        )
    return found


def simulated(workload: str, balancer: str, requests: Requests, able: float, seed: int) -> Cell:
    """A cell on the model. able: C, req/s"""
    work = bench(workload)
    cluster = cluster_of(work, work.crowd(requests, seed, ends=False), able, seed, LAB)
    cluster.to_auth = balancer == TO_AUTH
    if balancer == "oracle":
        place(cluster, work)
    # Nobody was told C.
    policy: Policy = POLICIES[POLICY[balancer]](Context((), seed, None, DEFAULTS))
    course = Course(cluster, policy.decide, policy.every, (), seed, FIRST[seed])
    course.go(SECONDS, lambda part: None)
    return cell_of(cluster, course, work, requests, able)


def report() -> str:
    """The table, and what it amounts to, as Markdown."""
    real: dict[tuple[str, str], Cell] = {}
    model: dict[tuple[str, str], Cell] = {}
    requests = {name: requests_of(name) for name in WORKLOADS}
    for workload in WORKLOADS:
        cells = block(CELLS, workload)
        able = capacity(cells)
        for balancer, cell in measured(cells).items():
            real[workload, balancer] = cell
            runs = [simulated(workload, balancer, requests, able, seed) for seed in FIRST]
            model[workload, balancer] = middle(runs)
    return told(real, model, tuple(POLICY))
