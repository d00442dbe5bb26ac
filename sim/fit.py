# SPDX-License-Identifier: LGPL-2.1-or-later
"""What passing a request on, and an inode that leaves or comes, cost an MDS, read off the recorded cells.

A rank that has used up its CPU quota for ten seconds tells what one unit of CPU time was spent on: answers,
forwards, inodes that leave. One that nobody asks yet tells what an inode that comes takes. These are fitted
on the workloads that may be fitted on, and from counters and CPU times alone: no throughput of one balancer
is compared with another's.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import least_squares, linear_sum_assignment

from experiments.common.figures.markdown import table
from sim.load.bench import bench
from sim.model.arrays import Bools, Floats

CELLS = Path(__file__).resolve().parents[1] / "docs/results/bench"
SPAN = 10  # samples, one a second
FULL = 0.85  # of its quota: the lab's own measure of a saturated MDS is 0.9 in its best ten seconds
COUNTERS = ("replies", "forwards", "exported_inodes", "imported_inodes")
# An inode is a fraction of a request: enough to tell which of the daemons a rank was.
ROUGHLY = np.array([1.0, 0.5, 0.2, 0.2])
TOGETHER = 4  # samples; CPU times are taken every two seconds
ASKED = 0.03  # answers and forwards in parts of C: below it nobody asks a rank
LEAST = 1000.0  # inodes that tell what one takes


@dataclass(frozen=True)
class Fitted:
    """Each is work in the time of one answer, and ``relief`` and ``full`` parts of C; see Physics.

    :ivar full: what a full rank answers that all clients ask
    """

    forward_work: float
    export_work: float
    import_work: float
    relief: float
    full: float


@dataclass(frozen=True)
class Fit:
    """:ivar error: standard errors; :ivar spans: ten seconds of a full rank that it was made from; :ivar
    imports: by ranks that nobody asked yet, likewise"""

    value: Fitted
    error: Fitted
    spans: int
    imports: int


@dataclass(frozen=True)
class _Run:
    """A cell while its clients ran. times: (samples,) s; counters: (ranks, samples, counters); used: (ranks,
    samples) s of its quota that each rank's MDS has used; capacity: C, req/s."""

    times: Floats
    counters: Floats
    used: Floats
    capacity: float


def fit(workloads: Sequence[str]) -> Fit:
    """By least squares with a soft L1 loss: single seconds of a busy machine are far off."""
    rows = np.array([row for workload in workloads for row in _rows(workload)])
    counted, away = rows[:, :-1], rows[:, -1]
    imports = np.array([found for workload in workloads for found in _imports(workload)])
    inode = imports[:, 0].sum() / imports[:, 1].sum()

    def residuals(x: Floats) -> Floats:
        work = counted @ np.array([1.0, *x[:2], inode])
        return np.asarray(work / (1.0 + x[2] * away) / x[3] - 1.0)

    found = least_squares(residuals, [0.5, 0.2, 0.2, 1.0], bounds=(0.0, 3.0), loss="soft_l1", f_scale=0.1)
    variance = np.linalg.pinv(found.jac.T @ found.jac) * np.mean(residuals(found.x) ** 2)
    error = np.sqrt(np.diag(variance))
    off = imports[:, 0] - inode * imports[:, 1]
    inode_error = float(np.sqrt((off**2).sum()) / imports[:, 1].sum())
    return Fit(_fitted(found.x, inode), _fitted(error, inode_error), len(rows), len(imports))


def _fitted(x: Floats, import_work: float) -> Fitted:
    forward, export, relief, full = (float(value) for value in x)
    return Fitted(forward, export, import_work, relief, full)


def requests_of(workload: str) -> float:
    """That MDSs answered for an operation: the median of the workload's cells."""
    return median(
        float(replies[:, -1].sum() - replies[:, 0].sum()) / sum(sum(one[2].values()) for one in done.values())
        for done, replies in _answered(workload)
    )


def _answered(workload: str) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Of each cell: its clients' lines, and (ranks, samples) replies."""
    for path in sorted(CELLS.glob(f"{workload}-tentacle-5x12-*.json.gz")):
        with gzip.open(path) as file:
            cell = json.load(file)
        begin, end = cell["spans"]["run"]
        samples = [sample for sample in cell["samples"] if begin <= sample["t"] <= end]
        yield cell["done"], _counters(samples)[:, :, COUNTERS.index("replies")]


def _runs(workload: str) -> Iterator[_Run]:
    for path in sorted(CELLS.glob(f"{workload}-tentacle-5x12-*.json.gz")):
        with gzip.open(path) as file:
            cell = json.load(file)
        begin, end = cell["spans"]["run"]
        samples = [sample for sample in cell["samples"] if begin <= sample["t"] <= end]
        times = np.array([sample["t"] for sample in samples])
        yield _Run(times, _counters(samples), _used(cell, samples), cell["capacity"])


def apart(workloads: Sequence[str], cost: Fitted) -> float:
    """The standard deviation of what full ranks of a run do, each in its mean over the run and in parts of
    theirs, while all but one are full or all."""
    work = np.array([1.0, cost.forward_work, cost.export_work, cost.import_work])
    found = []
    for run in (run for workload in workloads for run in _runs(workload)):
        does: dict[int, list[float]] = defaultdict(list)
        for full, rates in _spans(run):
            if full.sum() >= full.size - 1:
                done = rates @ work
                for rank in np.flatnonzero(full).tolist():
                    does[rank].append(float(done[rank] / done[full].mean()))
        if len(does) > 1:
            found.append(float(np.var([np.mean(values) for values in does.values()], ddof=1)))
    return float(np.sqrt(np.mean(found)))


def private(workload: str) -> float:
    """The part of the clients' threads whose client shares its directories with nobody. Who shares them asks
    every rank that has some; who does not, the one that has them."""
    specs = bench(workload).specs
    users = Counter(spec.path for spec in specs)
    own = sum(spec.workers for spec in specs if users[spec.path] == 1)
    return own / sum(spec.workers for spec in specs)


def _rows(workload: str) -> Iterator[list[float]]:
    """Of each span of a full rank: answers, forwards, inodes that left and came, each a second and in parts
    of C; and the part of the clients that do not ask it, as far as others are full, too."""
    own = private(workload)
    for full, rates in (span for run in _runs(workload) for span in _spans(run)):
        away = own * (1.0 - 1.0 / max(1, full.sum()))
        yield from ([*rate, away] for rate in rates[full])


def _spans(run: _Run) -> Iterator[tuple[Bools, Floats]]:
    """Which ranks are full, and (ranks, counters) what each did a second, in parts of C."""
    for first in range(0, run.times.size - SPAN, SPAN):
        last = first + SPAN
        seconds = run.times[last] - run.times[first]
        full = (run.used[:, last] - run.used[:, first]) / seconds > FULL
        yield full, (run.counters[:, last] - run.counters[:, first]) / seconds / run.capacity


def _imports(workload: str) -> Iterator[tuple[float, float]]:
    """Of each rank that imports and that nobody asks yet: work beyond an idle rank's, in answers, and inodes.
    A second of an MDS's quota is C answers: a full one has 0.93 of it, and answers 0.94 C."""
    for run in _runs(workload):
        asked = np.diff(run.counters[:, :, :2].sum(axis=2), axis=1) / np.diff(run.times) / run.capacity
        came = np.diff(run.counters[:, :, COUNTERS.index("imported_inodes")], axis=1)
        idle = _idle(run)
        for rank in np.flatnonzero((came > 0.0).any(axis=1)).tolist():
            first = int(np.argmax(came[rank] > 0.0))
            busy = np.flatnonzero(asked[rank, first:] > ASKED)
            begin, end = max(0, first - TOGETHER), first + int(busy[0]) if busy.size else run.times.size - 1
            inodes = float(came[rank, begin:end].sum())
            seconds = run.used[rank, end] - run.used[rank, begin]
            seconds -= idle * (run.times[end] - run.times[begin])
            if inodes >= LEAST and (asked[rank, begin:end] <= ASKED).all():
                yield float(seconds * run.capacity), inodes


def _idle(run: _Run) -> float:
    """What of its quota a rank uses that does nothing."""
    moved = np.diff(run.counters[:, ::SPAN].sum(axis=2), axis=1)
    parts = np.diff(run.used[:, ::SPAN], axis=1) / np.diff(run.times[::SPAN])
    return float(np.median(parts[moved == 0.0])) if (moved == 0.0).any() else 0.0


def _counters(samples: Sequence[Any]) -> Floats:
    """(ranks, samples, counters)."""
    ranks = sorted(samples[0]["ranks"], key=int)
    return np.array(
        [[[sample["ranks"][rank][name] for name in COUNTERS] for sample in samples] for rank in ranks],
        dtype=np.float64,
    )


def _used(cell: Any, samples: Sequence[Any]) -> Floats:
    """(ranks, samples): s of its quota that each rank's MDS has used. Cells have CPU times by daemon; which
    of them a rank was is told by when it did how much."""
    times = [line["t"] for line in cell["cpu"]]
    daemons = sorted(name for name in cell["cpu"][-1]["used"] if name.startswith("mds."))
    at = [sample["t"] for sample in samples]
    used = np.array(
        [np.interp(at, times, [line["used"].get(d, 0.0) for line in cell["cpu"]]) for d in daemons]
    ) / (cell["mds_cpu"] / 100.0)
    did = np.diff(_counters(samples)[:, ::TOGETHER] @ ROUGHLY, axis=1) / cell["capacity"]
    spent = np.diff(used[:, ::TOGETHER], axis=1)
    _, which = linear_sum_assignment(np.abs(did[:, None] - spent[None]).sum(axis=2))
    return np.asarray(used[which])


def told(found: Fit, workloads: Sequence[str]) -> str:
    """A line a value, as Markdown."""
    names = Fitted.__dataclass_fields__
    lines = [
        (name, f"{value:.2f}", f"{error:.2f}")
        for name, value, error in zip(names, astuple(found.value), astuple(found.error), strict=True)
    ]
    head = f"Fitted on {', '.join(workloads)}: {found.spans} times ten seconds of a full rank, and"
    head += f"\nimports by {found.imports} ranks that nobody asked yet."
    return f"{head}\n\n{table(('', 'value', 'standard error'), lines)}\n"
