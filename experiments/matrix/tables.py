# SPDX-License-Identifier: LGPL-2.1-or-later
"""The answer in numbers: balancers against the built-in one, the oracle, and the paper's figures."""

import csv
import io
import statistics

from experiments.common.figures import paper
from experiments.common.figures.compare import BASE, LIMIT, Rows, of_one, ratio, shown_ratio, table, values

_OWN = ("subvolume-pinning", "lunule-mindex", "lunule")


def text(found: Rows) -> str:
    """All of it, in Markdown."""
    low, high = (100 * paper.IF_LOWER[key] for key in ("least", "most"))
    parts = [
        ("Our best policy", best_of_ours(found)),
        *((name, of_one(found, name)) for name in _OWN),
        ("op/s against the built-in balancer", against_all(found, paper.OPS, BASE)),
        (
            "op/s, best ten seconds, against the built-in balancer",
            against_all(found, paper.PEAK, BASE),
        ),
        (
            "op/s / C, each with the C of its own cluster, against the built-in balancer",
            against_all(found, paper.RANKS_WORTH, BASE),
        ),
        (
            f"op/s against the oracle (the goal: {paper.ORACLE_GOAL:g})",
            against_all(found, paper.OPS, LIMIT),
        ),
        (
            "p99 of completion times against the built-in balancer",
            against_all(found, paper.P99, BASE),
        ),
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
                shown_ratio(ratio(found, workload, paper.OPS, best, BASE)),
                shown_ratio(ratio(found, workload, paper.OPS, best, LIMIT)),
                shown_ratio(ratio(found, workload, paper.P99, best, BASE)),
                shown_ratio(ratio(found, workload, paper.MEAN_IF, best, BASE)),
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


def against_all(found: Rows, what: str, against: str) -> str:
    """A row a workload that has a ratio, a column a balancer."""
    names = dict.fromkeys(row["balancer"] for part in found.values() for row in part)
    balancers = [name for name in names if name != against]
    lines = [
        [
            workload,
            *(shown_ratio(ratio(found, workload, what, name, against)) for name in balancers),
        ]
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
