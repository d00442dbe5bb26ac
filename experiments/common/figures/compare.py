# SPDX-License-Identifier: LGPL-2.1-or-later
"""The answer in numbers: balancers against the built-in one, the oracle, and the paper's figures."""

import csv
import io
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
_OWN = ("line", "lunule-mindex", "lunule")


def rows(cells: Sequence[Cell]) -> dict[str, list[dict[str, Any]]]:
    """The figures of each cell, by workload."""
    names = dict.fromkeys(cell["workload"] for cell in cells)
    return {name: summary.rows([c for c in cells if c["workload"] == name]) for name in names}


def as_csv(found: Rows) -> str:
    """A line a cell; what is not known is empty."""
    columns = list(dict.fromkeys(key for part in found.values() for row in part for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, ["workload", *columns], restval="", lineterminator="\n")
    writer.writeheader()
    for workload, part in found.items():
        for row in part:
            shown = {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow({"workload": workload, **shown})
    return text.getvalue()


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


def _shown(found: Ratio | None) -> str:
    return "-" if found is None else str(found)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown; nothing without a line."""
    if not lines:
        return ""
    out = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*out, *("| " + " | ".join(line) + " |" for line in lines)])


def against_all(found: Rows, what: str, against: str) -> str:
    """A row a workload that has a ratio, a column a balancer."""
    names = dict.fromkeys(row["balancer"] for part in found.values() for row in part)
    balancers = [name for name in names if name != against]
    lines = [
        [workload, *(_shown(ratio(found, workload, what, name, against)) for name in balancers)]
        for workload in found
    ]
    return table(["", *balancers], [line for line in lines if any(cell != "-" for cell in line[1:])])


def beside_the_paper(found: Rows) -> str:
    """Each of the paper's figures that there is one of ours for."""
    ours = [(c, ratio(found, c.workload, c.what, c.of, c.against)) for c in paper.CLAIMS]
    lines = [
        [
            f"{claim.workload}: {claim.of} / {claim.against}, {claim.what}",
            f"{claim.ratio:.2f}",
            f"{claim.figure} ({claim.where})",
            _shown(here),
            claim.differs,
        ]
        for claim, here in ours
        if here
    ]
    return table(["", "paper", "its figure", "here", "why they may differ"], lines)


def best_of_ours(found: Rows) -> str:
    """Our policy with the most op/s in each workload, against the built-in balancer and the oracle."""
    lines = []
    for workload in found:
        known = {name: values(found, workload, name, paper.OPS) for name in _OWN}
        known = {name: runs for name, runs in known.items() if runs}
        if not known:
            continue
        if not values(found, workload, BASE, paper.OPS) and not values(found, workload, LIMIT, paper.OPS):
            continue
        best = max(known, key=lambda name: statistics.median(known[name]))
        lines.append(
            [
                workload,
                best,
                _shown(ratio(found, workload, paper.OPS, best, BASE)),
                _shown(ratio(found, workload, paper.OPS, best, LIMIT)),
                _shown(ratio(found, workload, paper.P99, best, BASE)),
                _shown(ratio(found, workload, paper.MEAN_IF, best, BASE)),
            ]
        )
    head = [
        "",
        "our best",
        "op/s / built-in",
        "op/s / oracle",
        "p99 completion / built-in",
        "mean IF / built-in",
    ]
    return table(head, lines)


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
        [
            workload,
            *(_shown(ratio(found, workload, what, balancer, against)) for what, against in columns.values()),
        ]
        for workload in found
        if values(found, workload, balancer, paper.OPS)
    ]
    return table(["", *columns], lines)


def text(found: Rows) -> str:
    """All of it, in Markdown."""
    low, high = (100 * paper.IF_LOWER[key] for key in ("least", "most"))
    parts = [
        ("Our best policy", best_of_ours(found)),
        *((name, of_one(found, name)) for name in _OWN),
        ("op/s against the built-in balancer", against_all(found, paper.OPS, BASE)),
        ("op/s, best ten seconds, against the built-in balancer", against_all(found, paper.PEAK, BASE)),
        (
            "op/s / C, each with the C of its own cluster, against the built-in balancer",
            against_all(found, paper.RANKS_WORTH, BASE),
        ),
        (f"op/s against the oracle (the goal: {paper.ORACLE_GOAL:g})", against_all(found, paper.OPS, LIMIT)),
        ("p99 of completion times against the built-in balancer", against_all(found, paper.P99, BASE)),
        (
            f"Mean IF against the built-in balancer (the paper: {low:.1f} to {high:.1f} % lower)",
            against_all(found, paper.MEAN_IF, BASE),
        ),
        ("Beside the paper's figures", beside_the_paper(found)),
    ]
    note = (
        "Medians of the ratios within blocks (95 % bootstrap interval of the median; of three blocks it is\n"
        "their range, which misses the true median one time in four). 1 of 3: blocks that count; the others\n"
        "have a cell whose busiest MDS was not above 0.9 of its quota. -: not measured, or clients were\n"
        "stopped at the limit."
    )
    return "\n\n".join([note, *(f"## {title}\n\n{part}" for title, part in parts if part)]) + "\n"
