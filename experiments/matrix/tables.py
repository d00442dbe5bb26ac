# SPDX-License-Identifier: LGPL-2.1-or-later
"""The answer in numbers: balancers against the built-in one, the oracle, and the paper's figures."""

import csv
import io
import statistics

from experiments.common.figures import compare, paper
from experiments.common.figures.compare import BASE, LIMIT, Rows, ratio, shown_ratio, values
from experiments.common.figures.markdown import table

_OWN = ("subvolume-pinning", "lunule-mindex", "lunule")


def text(found: Rows) -> str:
    """All of it, in Markdown."""
    low, high = (100 * paper.IF_LOWER[key] for key in ("least", "most"))
    lower = f"the paper: {low:.1f} to {high:.1f} % lower"
    all_of_them = (
        ("op/s against the built-in balancer", paper.OPS, BASE),
        ("op/s, best ten seconds, against the built-in balancer", paper.PEAK, BASE),
        ("op/s / C, each with its own cluster's C, against the built-in balancer", paper.RANKS_WORTH, BASE),
        (f"op/s against the oracle (the goal: {paper.ORACLE_GOAL:g})", paper.OPS, LIMIT),
        ("p99 of completion times against the built-in balancer", paper.P99, BASE),
        (f"Mean IF against the built-in balancer ({lower})", paper.MEAN_IF, BASE),
    )
    parts = [
        ("Our best policy", best_of_ours(found)),
        *((name, compare.of_one(found, name)) for name in _OWN),
        *((title, against_all(found, what, against)) for title, what, against in all_of_them),
        ("Beside the paper's figures", beside_the_paper(found)),
    ]
    note = (
        "Medians of the ratios within blocks (95 % bootstrap interval of the median; of three blocks it is\n"
        "their range, which misses the true median one time in four; of two, one time in two). 1 of 3:\n"
        "blocks that count (docs/benchmarking.md says which). -: not measured, or clients were stopped at\n"
        "the limit."
    )
    return "\n\n".join([note, *(f"## {title}\n\n{part}" for title, part in parts if part)]) + "\n"


def best_of_ours(found: Rows) -> str:
    """Our policy with the most op/s in each workload, against the built-in balancer and the oracle."""
    columns = {
        "op/s / built-in": (paper.OPS, BASE),
        "op/s / oracle": (paper.OPS, LIMIT),
        "p99 completion / built-in": (paper.P99, BASE),
        "mean IF / built-in": (paper.MEAN_IF, BASE),
    }
    lines = []
    for workload in found:
        known = {name: runs for name in _OWN if (runs := values(found, workload, name, paper.OPS))}
        if known and any(values(found, workload, name, paper.OPS) for name in (BASE, LIMIT)):
            best = max(known, key=lambda name: statistics.median(known[name]))
            lines.append([workload, best, *compare.shown_ratios(found, workload, best, columns)])
    return table(["", "our best", *columns], lines)


def against_all(found: Rows, what: str, against: str) -> str:
    """A row a workload that has a ratio, a column a balancer."""
    names = dict.fromkeys(row["balancer"] for part in found.values() for row in part)
    balancers = [name for name in names if name != against]
    lines = [
        [workload, *(shown_ratio(ratio(found, workload, what, name, against)) for name in balancers)]
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
            shown_ratio(here),
            claim.differs,
        ]
        for claim, here in ours
        if here
    ]
    return table(["", "paper", "its figure", "here", "why they may differ"], lines)


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
