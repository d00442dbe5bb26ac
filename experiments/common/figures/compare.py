# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ratios of two balancers, block by block."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.common.figures import markdown, paper, summary
from experiments.common.figures.figures import Cell
from experiments.common.figures.interval import shown
from lab.errors import LabError

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""By workload: a row a cell."""
BASE, LIMIT = "builtin", "oracle"
ALIKE = 1.2  # the higher C of two runs over the lower
BLOCK_S = 3_600.0  # between the beginnings of two runs of a block, at most: C changes with the hours
BEGAN = "began"  # Unix, s


def rows(cells: Sequence[Cell]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each cell, by workload."""
    names = dict.fromkeys(cell["workload"] for cell in cells)
    return {name: _rows([c for c in cells if c["workload"] == name]) for name in names}


def _rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    began = (int(min(span[0] for span in cell["spans"].values())) for cell in cells)
    return [row | {BEGAN: at} for row, at in zip(summary.rows(cells), began, strict=True)]


def values(found: Rows, workload: str, balancer: str, what: str) -> list[float]:
    """One figure of all runs that count and have it."""
    mine = [row for row in found.get(workload, ()) if row["balancer"] == balancer and row["counts"]]
    return [float(row[what]) for row in mine if row.get(what) is not None]


@dataclass(frozen=True)
class Ratio:
    """Of two balancers, block by block: runs of the same number, not more than ``BLOCK_S`` apart.

    :ivar changed: C of a block's two runs differs by more than ``ALIKE``
    """

    blocks: tuple[float, ...]
    left_out: int  # pairs of which a cell does not count, or that are no block
    changed: bool

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
    good = [(one, other) for one, other in pairs if _block(one, other)]
    changed = any(max(a["C"], b["C"]) > ALIKE * min(a["C"], b["C"]) for a, b in good)
    return Ratio(tuple(one[what] / other[what] for one, other in good), len(pairs) - len(good), changed)


def _block(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Do both count, and did they run one after the other?"""
    return bool(one["counts"] and other["counts"] and abs(one[BEGAN] - other[BEGAN]) <= BLOCK_S)


def shown_ratio(found: Ratio | None) -> str:
    """For a table."""
    return "-" if found is None else str(found)


def shown_ratios(
    found: Rows, workload: str, balancer: str, columns: Mapping[str, tuple[str, str]]
) -> list[str]:
    """A balancer's. columns: by their heads, which figure, to whom."""
    return [shown_ratio(ratio(found, workload, what, balancer, to)) for what, to in columns.values()]


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
    return markdown.table(["", *columns], lines)
