# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it true? The cells that were measured on real Ceph (docs/results/bench), run again on the model.

No parameter is fitted to what is compared: all are what sim/model/physics.py says. How many requests an
operation takes is counted in the cells; MDSs answered them, and it hardly depends on the balancer.
"""

import csv
import functools
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path, PurePosixPath

import numpy as np
from prettytable import PrettyTable, TableStyle

from experiments.common.balancers.oracle import spread
from sim.course import SAMPLE, Course
from sim.errors import SimError
from sim.fit import requests_of
from sim.load.bench import Bench, bench, kind_of
from sim.load.crowd import Crowd
from sim.measures import EPOCH
from sim.model.arrays import Floats
from sim.model.cluster import Cluster
from sim.model.physics import Physics
from sim.placement import recorded
from sim.policies import POLICIES
from sim.policies.base import DEFAULTS, NOTHING, Context, Orders, Policy
from sim.policies.mantle import Mantle
from sim.policies.plan import Plan

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / "docs/results/bench/cells.csv"
# The last change of mantle/lunule.lua before the second and third runs of its cells, by the cells' dates.
LUNULE = "5dcb9d9"
FITTED = ("web", "zipf", "mix")  # that free parameters may be fitted on; docs/simulator.md says why these
CHECKED = ("cnn", "nlp", "md", "dbench")  # that tell whether the model is true
WORKLOADS = ("cnn", "nlp", "web", "zipf", "md", "mix", "dbench")
BALANCERS = ("none", "builtin", "greedyspill", "lunule", "dir-hash", "subvolume-pinning", "oracle")
RANKS = 5
LONGEST = 150.0  # s; twice a phase's 75
ANALYSIS, IN_PLACE = 25.0, 250.0  # s: line's analysis under load, and until its plan is carried out
# s from the clients' begin to the first beat, by seed. The lab switched the balancer on before, so it was not
# any time of ten seconds: web's, zipf's and mix's first imports under the built-in one, less a tick's wait.
FIRST = {1: 0.9, 2: 2.7, 3: 4.5}
# An MDS has 12 % of a core. relief, and what a full rank answers in parts of C, are fitted (sim/fit.py).
LAB, FULL = Physics(step=0.1, cpu=12.0, relief=0.64, targets=True, replicate=8000.0), 0.94
# Standard deviation of what ranks of one quota do while a cell's clients run, of their mean. Fitted likewise.
APART = 0.09
NOISE = 1.2  # a difference below a fifth says nothing (docs/evidence.md)


@dataclass(frozen=True)
class Cell:
    """A workload under a balancer: operations for each request/s that one rank serves, mean imbalance factor
    (at full urgency), inodes moved while the clients ran, forwards for each operation."""

    speed: float
    factor: float
    moved: float
    forwards: float


Cells = Mapping[tuple[str, str], Cell]
Requests = Mapping[str, float]
"""For an operation, by the kind of client that does it."""


def measured(path: Path) -> Cells:
    """Medians of the runs that count; what has none is not there."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in _counted(path):
        rows[row["workload"], row["balancer"]].append(row)
    total = {name: float(bench(name).operations.sum()) for name in WORKLOADS}
    return {key: _median(found, total[key[0]]) for key, found in rows.items() if key[1] in BALANCERS}


def _counted(path: Path) -> list[dict[str, str]]:
    """Runs in which an MDS was the limit, and the machine was not (docs/benchmarking.md)."""
    with path.open() as file:
        return [row for row in csv.DictReader(file) if row["counts"] == "True"]


def _median(rows: list[dict[str, str]], operations: float) -> Cell:
    """Of a cell's runs. operations: of a whole run."""

    def median(value: Callable[[dict[str, str]], float]) -> float:
        return statistics.median(map(value, rows))

    return Cell(
        speed=median(lambda row: float(row["op/s / C"])),
        factor=median(lambda row: float(row["mean IF"])),
        moved=median(lambda row: float(row["inodes migrated"])),
        forwards=median(lambda row: float(row["forwards"]) / _done(row, operations)),
    )


def _done(row: Mapping[str, str], all_of_them: float) -> float:
    """Operations of a cell, which may have been stopped before its clients' end."""
    return min(all_of_them, float(row["op/s"]) * LONGEST)


@functools.cache
def capacity(workload: str) -> float:
    """C, req/s: the median of the workload's cells. A create takes twice as long as a lookup, so md's runs
    have more beats than zipf's."""
    return statistics.median(float(row["C"]) for row in _counted(CELLS) if row["workload"] == workload)


def cluster_of(work: Bench, crowd: Crowd, able: float, seed: int, physics: Physics) -> Cluster:
    """All on rank 0. able: C, req/s"""
    exists = np.ones(RANKS, dtype=np.bool_)
    auth, drawn = np.zeros(work.tree.size, dtype=np.int64), np.random.default_rng([seed, 5])
    each = FULL * able * drawn.normal(1.0, APART, RANKS)
    return Cluster(work.tree, auth, each, exists, crowd, physics)


def _cluster(work: Bench, requests: Requests, seed: int, physics: Physics) -> Cluster:
    return cluster_of(work, work.crowd(requests, seed), capacity(work.name), seed, physics)


def simulated(workload: str, balancer: str, requests: Requests, seed: int, physics: Physics = LAB) -> Cell:
    """A cell on the model."""
    work = bench(workload)
    cluster = _cluster(work, requests, seed, physics)
    policy: Policy | None = None
    if balancer == "oracle":
        place(cluster, work)
    elif balancer == "subvolume-pinning":
        _planned(cluster, work, requests, seed)
    elif balancer == "dir-hash":
        _hashed(cluster, work)
    elif balancer != "none":
        policy = _policy(workload, balancer, seed)
    try:
        decide = _idle if policy is None else policy.decide
        course = Course(cluster, decide, EPOCH, (), seed, FIRST[seed])
        course.go(LONGEST, lambda part: None)
    finally:
        if isinstance(policy, Mantle):
            policy.close()
    return cell_of(cluster, course, work, requests, capacity(workload))


def _policy(workload: str, balancer: str, seed: int) -> Policy:
    context = _context(workload, seed)
    if balancer != "lunule":
        return POLICIES[balancer](context)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(lunule_then())
        file.flush()
        return POLICIES[balancer](replace(context, extra={**context.extra, "file": file.name}))


@functools.cache
def lunule_then() -> str:
    """lunule.lua as it was when its cells were measured.

    :raises SimError: this is no clone of the project with its history
    """
    argv = ["git", "show", f"{LUNULE}:mantle/lunule.lua"]
    shown = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if shown.returncode:
        raise SimError(
            f"lunule's cells were measured with the file of commit {LUNULE}: {shown.stderr.strip()}"
        )
    return shown.stdout


def _idle(cluster: Cluster) -> Orders:
    return NOTHING


def _context(workload: str, seed: int) -> Context:
    settings = replace(DEFAULTS, rank_capacity=capacity(workload))
    return Context((), seed, None, settings, {"analyze": ANALYSIS})


def cell_of(cluster: Cluster, course: Course, work: Bench, requests: Requests, able: float) -> Cell:
    """What came of a course. able: C, req/s"""
    loads = np.array(course.loads)
    each = np.array([requests[kind_of(spec)] for spec in work.specs])
    operations = float((cluster.crowd.answered / each).sum())
    epochs = [load for load in _epochs(loads) if load.any()]
    return Cell(
        speed=operations / (loads.shape[0] * SAMPLE) / able,
        factor=float(np.mean([_factor(load) for load in epochs])),
        moved=sum(move.inodes for move in cluster.moves),
        forwards=float(cluster.counters.passed.sum() / operations),
    )


def _epochs(loads: Floats) -> list[Floats]:
    """Of ten seconds each, as the cells' factors are. loads: (samples, ranks)."""
    length = round(EPOCH / SAMPLE)
    return [loads[at : at + length].mean(axis=0) for at in range(0, loads.shape[0], length)]


def _factor(loads: Floats) -> float:
    """CoV / sqrt(n), which the cells' factor is when a rank is full."""
    return float(loads.std(ddof=1) / loads.mean() / np.sqrt(loads.size))


def place(cluster: Cluster, work: Bench) -> None:
    """The lab's oracle: pins by path, in place before the clients begin."""
    pins = spread(work.demand, RANKS)
    for directory, path in enumerate(work.paths):
        above = (path, *map(str, PurePosixPath(path).parents))
        rank = next((pins[place] for place in above if place in pins), 0)
        cluster.names.move(directory, rank, 0.0, "oracle")
    cluster.to_auth = True


def _planned(cluster: Cluster, work: Bench, requests: Requests, seed: int) -> None:
    """What ``partition`` makes of an analysis under the same load, all on rank 0; then in place."""
    # Clients go on: what nobody uses any more has nothing in a cache, and would not move.
    crowd = work.crowd(requests, seed, ends=False)
    before = cluster_of(work, crowd, capacity(work.name), seed, cluster.physics)
    course = Course(before, Plan(_context(work.name, seed)).decide, Plan.every, (), seed)
    course.go(ANALYSIS + IN_PLACE, lambda part: None)
    cluster.names.auth[:] = before.names.auth
    cluster.names.pin[:] = before.names.pin
    cluster.names.distributed = dict(before.names.distributed)
    cluster.to_auth = True


def _hashed(cluster: Cluster, work: Bench) -> None:
    """What the workload's directories are in is distributed (experiments/common/balancers), and in place.
    Where that is goes by inode numbers, so it is taken from the cell."""
    found = recorded(work.name)
    at = {path: number for number, path in enumerate(work.paths)}
    for path in {path.rpartition("/")[0] for path in work.demand}:
        cluster.distribute(at[path], True)
    names = cluster.names
    for directory, path in enumerate(work.paths):
        names.auth[directory] = found.rank(PurePosixPath(path))
    for directory in names.distributed:
        for kid in cluster.tree.kids(directory).tolist():
            names.set_pin(kid, int(names.auth[kid]))  # it stays there


def report() -> str:
    """The table, and what it amounts to, as Markdown."""
    real, requests = measured(CELLS), {name: requests_of(name) for name in WORKLOADS}
    model: dict[tuple[str, str], Cell] = {}
    for workload, balancer in real:
        model[workload, balancer] = middle([simulated(workload, balancer, requests, seed) for seed in FIRST])
    return told(real, model, BALANCERS)


def middle(runs: Sequence[Cell]) -> Cell:
    """The median of each figure."""
    return Cell(*(statistics.median(getattr(run, f) for run in runs) for f in Cell.__dataclass_fields__))


def told(real: Cells, model: Cells, balancers: Sequence[str]) -> str:
    """The table, and what it amounts to."""
    return f"{table(real, model, balancers)}\n\n{_amounts(real, model, balancers)}\n"


def table(real: Cells, model: Cells, balancers: Sequence[str]) -> str:
    """A row a cell."""
    found = PrettyTable(
        [
            *("workload", "balancer", "op/s of built-in's", "model's", "op/s of oracle's", "in the model"),
            *("mean IF", "modelled IF", "inodes", "modelled inodes", "forwards/op", "modelled forwards/op"),
        ]
    )
    found.set_style(TableStyle.MARKDOWN)
    for key in sorted(real, key=lambda key: (WORKLOADS.index(key[0]), balancers.index(key[1]))):
        found.add_row([*key, *_row(key, real, model)])
    return str(found.get_string())


def _row(key: tuple[str, str], real: Cells, model: Cells) -> list[str]:
    one, other = real[key], model[key]
    found = []
    for base in ((key[0], "builtin"), (key[0], "oracle")):
        ratios = (cells[key].speed / cells[base].speed for cells in (real, model) if base in real)
        found += [f"{ratio:.2f}" for ratio in ratios] or ["-", "-"]
    return [
        *found,
        *(f"{cell.factor:.2f}" for cell in (one, other)),
        *(f"{cell.moved:,.0f}" for cell in (one, other)),
        *(f"{cell.forwards:.2f}" for cell in (one, other)),
    ]


def _amounts(real: Cells, model: Cells, balancers: Sequence[str]) -> str:
    """What the table amounts to, for the workloads that parameters are fitted on and for those that check."""
    return "\n\n".join(
        f"**{name}** ({', '.join(group)}): {_amount(group, balancers, real, model)}"
        for name, group in (("Fitted", FITTED), ("Checked", CHECKED))
    )


def _amount(workloads: Sequence[str], balancers: Sequence[str], real: Cells, model: Cells) -> str:
    """How often the order of two balancers is right where the measured difference is above the noise, and the
    median error of the ratios to the built-in balancer."""
    pairs = [
        (workload, one, other)
        for workload in workloads
        for one, other in combinations((name for name in balancers if (workload, name) in real), 2)
        if _apart(real[workload, one].speed, real[workload, other].speed)
    ]
    wrong = [
        f"{workload}: {one} and {other}"
        for workload, one, other in pairs
        if (real[workload, one].speed > real[workload, other].speed)
        != (model[workload, one].speed > model[workload, other].speed)
    ]
    median = statistics.median(errors(workloads, real, model))
    right = len(pairs) - len(wrong)
    lines = [f"order of two balancers right in {right} of {len(pairs)} pairs that differ by"]
    lines += [f"a fifth; median error of the ratio to the built-in balancer {median:.0%}."]
    lines += [f"Wrong: {'; '.join(wrong)}."] if wrong else []
    return " ".join(lines)


def _apart(one: float, other: float) -> bool:
    return max(one, other) / min(one, other) >= NOISE


def errors(workloads: Sequence[str], real: Cells, model: Cells) -> list[float]:
    """How wrong each ratio to the built-in balancer is, as a part of the measured one."""
    return [
        abs(
            (model[workload, balancer].speed / model[workload, "builtin"].speed)
            / (real[workload, balancer].speed / real[workload, "builtin"].speed)
            - 1.0
        )
        for workload, balancer in real
        if workload in workloads and balancer not in ("builtin", "none")
    ]
