# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it true from cold? The blocks of the scheduler, run again on the model: five
minutes, clients without an end, the built-in balancer with and without mds_forward_all_requests_to_auth.

Nothing was fitted to these.
"""

import statistics
from collections.abc import Mapping
from dataclasses import replace
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

CELLS = ROOT / "docs/results"
PLACES: Mapping[str, int] = {"cold": 12, "scheduler/eight": 8, "scheduler/five": 5}
"""Folders of blocks, and what of a core each rank had, %."""
POLICY = {"builtin": "builtin", "builtin-to-auth": "builtin", "scheduler": "scheduler", "oracle": "nothing"}
TO_AUTH = "builtin-to-auth"
SECONDS = 300.0

Raw = dict[str, dict[str, Any]]


def block(folder: Path, quota: int, workload: str) -> Raw:
    """A workload's cells that are there and count, by balancer."""
    keys = {name: f"{workload}-tentacle-5x{quota}-{name}-1" for name in POLICY}
    cells = {
        name: store.load(folder, key) for name, key in keys.items() if store.path_of(folder, key).exists()
    }
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


def simulated(
    workload: str, balancer: str, requests: Requests, able: float, seed: int, quota: int = 12
) -> Cell:
    """A cell on the model. able: C, req/s; quota: of a core that each rank has, %"""
    work = bench(workload)
    physics = replace(LAB, cpu=float(quota))
    cluster = cluster_of(work, work.crowd(requests, seed, ends=False), able, seed, physics)
    cluster.to_auth = balancer == TO_AUTH
    if balancer == "oracle":
        place(cluster, work)
    # Nobody was told C.
    policy: Policy = POLICIES[POLICY[balancer]](Context((), seed, None, DEFAULTS))
    course = Course(cluster, policy.decide, policy.every, (), seed, FIRST[seed])
    course.go(SECONDS, lambda part: None)
    return cell_of(cluster, course, work, requests, able)


def report() -> str:
    """A table for each quota, and what it amounts to, as Markdown."""
    requests = {name: requests_of(name) for name in WORKLOADS}
    return "\n".join(
        f"### Ranks with {quota} % of a core\n\n{_report(CELLS / folder, quota, requests)}"
        for folder, quota in PLACES.items()
    )


def _report(folder: Path, quota: int, requests: Requests) -> str:
    real: dict[tuple[str, str], Cell] = {}
    model: dict[tuple[str, str], Cell] = {}
    for workload in WORKLOADS:
        cells = block(folder, quota, workload)
        if "builtin" not in cells:
            continue  # there is nothing to lay it beside
        able = capacity(cells)
        for balancer, cell in measured(cells).items():
            real[workload, balancer] = cell
            runs = [simulated(workload, balancer, requests, able, seed, quota) for seed in FIRST]
            model[workload, balancer] = middle(runs)
    return told(real, model, tuple(POLICY))
