# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ratios of two balancers, block by block."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.common.figures import paper, summary
from experiments.common.figures.figures import Cell
from experiments.common.figures.interval import shown
from lab.errors import LabError

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""By workload: a row a cell."""
BASE, LIMIT = "builtin", "oracle"


def rows(cells: Sequence[Cell]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each cell, by workload."""
    names = dict.fromkeys(cell["workload"] for cell in cells)
    return {name: summary.rows([c for c in cells if c["workload"] == name]) for name in names}


def values(found: Rows, workload: str, balancer: str, what: str) -> list[float]:
    """One figure of all runs that count and have it."""
    mine = [row for row in found.get(workload, ()) if row["balancer"] == balancer and row["counts"]]
    return [float(row[what]) for row in mine if row.get(what) is not None]


@dataclass(frozen=True)
class Ratio:
    """Of two balancers, block by block: runs of the same number."""

    blocks: tuple[float, ...]
    left_out: int  # blocks with a cell that does not count

    @property
    def median(self) -> float:
        """Of the blocks that count. :raises LabError: none does"""
        if not self.blocks:
            raise LabError(f"none of {self.left_out} blocks counts")
        return statistics.median(self.blocks)

    def __str__(self) -> str:
        return shown(self.blocks, self.left_out)


def ratio(found: Rows, workload: str, what: str, of: str, against: str) -> Ratio | None:
    """None: no block has both, or a run has no such figure: clients that were stopped never completed."""
    ours, theirs = (
        {row["run"]: row for row in found.get(workload, ()) if row["balancer"] == name}
        for name in (of, against)
    )
    pairs = [(ours[run], theirs[run]) for run in ours if run in theirs]
    if not pairs or not all(one.get(what) is not None and other.get(what) for one, other in pairs):
        return None
    good = [(one, other) for one, other in pairs if one["counts"] and other["counts"]]
    return Ratio(tuple(one[what] / other[what] for one, other in good), len(pairs) - len(good))


def shown_ratio(found: Ratio | None) -> str:
    """For a table."""
    return "-" if found is None else str(found)


def shown_ratios(
    found: Rows, workload: str, balancer: str, columns: Mapping[str, tuple[str, str]]
) -> list[str]:
    """A balancer's. columns: by their heads, which figure, to whom."""
    return [shown_ratio(ratio(found, workload, what, balancer, to)) for what, to in columns.values()]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown; nothing without a line."""
    if not lines:
        return ""
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*out, *("| " + " | ".join(line) + " |" for line in lines)])


def _corrected(found: Rows) -> bool:
    """Whether any run has op/s as they would be on a machine of one speed."""
    return any(row.get(summary.CORRECTED) is not None for part in found.values() for row in part)


def of_one(found: Rows, balancer: str) -> str:
    """One balancer's ratios to the built-in one and to the oracle, a row a workload."""
    columns = {
        "op/s / built-in": (paper.OPS, BASE),
        "op/s / C / built-in": (paper.RANKS_WORTH, BASE),
        "best ten seconds / built-in": (paper.PEAK, BASE),
        **({"op/s, corrected / built-in": (summary.CORRECTED, BASE)} if _corrected(found) else {}),
        "op/s / oracle": (paper.OPS, LIMIT),
        "op/s / C / oracle": (paper.RANKS_WORTH, LIMIT),
        "p99 completion / built-in": (paper.P99, BASE),
        "mean IF / built-in": (paper.MEAN_IF, BASE),
    }
    lines = [
        [workload, *shown_ratios(found, workload, balancer, columns)]
        for workload in found
        if values(found, workload, balancer, paper.OPS)
    ]
    return table(["", *columns], lines)
