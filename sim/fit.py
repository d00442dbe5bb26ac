# SPDX-License-Identifier: LGPL-2.1-or-later
"""What passing a request on, and an inode that leaves or comes, cost an MDS, read off the recorded cells.

A rank that has used up its CPU quota for ten seconds tells what one unit of CPU time was spent on: answers,
forwards, inodes. These are fitted by least squares, on the workloads that may be fitted on, and from counters
and CPU times alone: no throughput of one balancer is compared with another's.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import least_squares, linear_sum_assignment

from sim.model.arrays import Floats

CELLS = Path(__file__).resolve().parents[1] / "docs/results/bench"
SPAN = 10  # samples, one a second
FULL = 0.85  # of its quota: the lab's own measure of a saturated MDS is 0.9 in its best ten seconds
COUNTERS = ("replies", "forwards", "exported_inodes", "imported_inodes")
# An inode is a fraction of a request: enough to tell which of the daemons a rank was.
ROUGHLY = np.array([1.0, 0.5, 0.2, 0.2])


@dataclass(frozen=True)
class Fitted:
    """Each is work in the time of one answer, and ``relief`` and ``full`` parts of C; see Physics.

    :ivar full: what a full rank answers that all threads wait for
    """

    forward_work: float
    export_work: float
    import_work: float
    relief: float
    full: float


@dataclass(frozen=True)
class Fit:
    """:ivar error: standard errors; :ivar spans: ten seconds of a full rank that it was made from"""

    value: Fitted
    error: Fitted
    spans: int


def fit(workloads: Sequence[str]) -> Fit:
    """By least squares with a soft L1 loss: single seconds of a busy machine are far off."""
    rows = np.array([row for workload in workloads for row in _rows(workload)])
    counted, full_ranks = rows[:, :-1], rows[:, -1]

    def residuals(x: Floats) -> Floats:
        work = counted @ np.array([1.0, *x[:3]])
        return np.asarray(work / (1.0 + x[3] * (1.0 - 1.0 / full_ranks)) / x[4] - 1.0)

    found = least_squares(
        residuals, [0.5, 0.2, 0.2, 0.2, 1.0], bounds=(0.0, 3.0), loss="soft_l1", f_scale=0.1
    )
    variance = np.linalg.pinv(found.jac.T @ found.jac) * np.mean(residuals(found.x) ** 2)
    return Fit(Fitted(*found.x), Fitted(*np.sqrt(np.diag(variance))), len(rows))


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


def _rows(workload: str) -> Iterator[list[float]]:
    """Of each span of a full rank: answers, forwards, inodes that left and came, each a second and in parts
    of C; and how many ranks were full."""
    for path in sorted(CELLS.glob(f"{workload}-tentacle-5x12-*.json.gz")):
        with gzip.open(path) as file:
            cell = json.load(file)
        begin, end = cell["spans"]["run"]
        samples = [sample for sample in cell["samples"] if begin <= sample["t"] <= end]
        counters, used, times = _counters(samples), _used(cell, samples), np.array([s["t"] for s in samples])
        for first in range(0, len(samples) - SPAN, SPAN):
            last = first + SPAN
            seconds = times[last] - times[first]
            part = (used[:, last] - used[:, first]) / seconds / (cell["mds_cpu"] / 100.0)
            rates = (counters[:, last] - counters[:, first]) / seconds / cell["capacity"]
            full = part > FULL
            yield from ([*rate, float(full.sum())] for rate in rates[full])


def _counters(samples: Sequence[Any]) -> Floats:
    """(ranks, samples, counters)."""
    ranks = sorted(samples[0]["ranks"], key=int)
    return np.array(
        [[[sample["ranks"][rank][name] for name in COUNTERS] for sample in samples] for rank in ranks],
        dtype=np.float64,
    )


def _used(cell: Any, samples: Sequence[Any]) -> Floats:
    """(ranks, samples): CPU s of each rank's MDS. Cells have them by daemon; which of them a rank was is told
    by how much it did."""
    times = [line["t"] for line in cell["cpu"]]
    daemons = sorted(name for name in cell["cpu"][-1]["used"] if name.startswith("mds."))
    at = [sample["t"] for sample in samples]
    used = np.array(
        [np.interp(at, times, [line["used"].get(d, 0.0) for line in cell["cpu"]]) for d in daemons]
    )
    counters = _counters(samples)
    did, spent = (counters[:, -1] - counters[:, 0]) @ ROUGHLY, used[:, -1] - used[:, 0]
    _, which = linear_sum_assignment(np.abs(did[:, None] / did.sum() - spent[None, :] / spent.sum()))
    return np.asarray(used[which])


def told(found: Fit, workloads: Sequence[str]) -> str:
    """A line a value, as Markdown."""
    names = Fitted.__dataclass_fields__
    lines = [
        f"| {name} | {value:.2f} | {error:.2f} |"
        for name, value, error in zip(names, astuple(found.value), astuple(found.error), strict=True)
    ]
    head = f"Fitted on {', '.join(workloads)}: {found.spans} times ten seconds of a full rank."
    return "\n".join([head, "", "| | value | standard error |", "|---|---:|---:|", *lines, ""])
