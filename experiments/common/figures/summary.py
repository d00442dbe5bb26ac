# SPDX-License-Identifier: LGPL-2.1-or-later
"""The figures of each cell of a workload, and their medians and spreads over runs."""

import statistics
from collections.abc import Sequence
from typing import Any

from experiments.common.figures import correction, figures, markdown, run_figures
from experiments.common.figures.factor import THRESHOLD
from experiments.common.figures.figures import Cell
from experiments.common.figures.limits import TOLD, limits

CORRECTED = "op/s, corrected"


def rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The figures of each cell. IF with one C for all: the median of what they measured at saturation."""
    capacity = statistics.median(cell["capacity"] for cell in cells)
    best = {
        phase: max((ops for c in cells for _, ops in figures.moving(c, c["spans"][phase])), default=0.0)
        for phase in cells[0]["spans"]
    }
    return [_row(cell, capacity, best) for cell in cells]


def _row(cell: Cell, capacity: float, best: dict[str, float]) -> dict[str, Any]:
    factor = figures.imbalance(cell, capacity)
    row: dict[str, Any] = {
        "balancer": cell["balancer"],
        "run": cell["run"],
        "counts": limits(cell).counts,
        "C": cell["capacity"],
    }
    for phase, span in cell["spans"].items():
        of = "" if phase == "run" else f"{phase}: "
        balanced, moved = figures.balanced(factor, span, THRESHOLD), figures.first_migration(cell, span)
        own = max((ops for _, ops in figures.moving(cell, span)), default=0.0)
        inside = figures.within(factor, span)
        row |= {
            f"{of}op/s": figures.throughput(cell, span),
            f"{of}op/s / C": figures.throughput(cell, span) / cell["capacity"],
            f"{of}{CORRECTED}": correction.corrected(cell, figures.throughput(cell, span)),
            f"{of}op/s, best ten seconds": own,
            f"{of}mean IF": statistics.fmean(inside) if inside else None,
            f"{of}s to balance (IF at most {THRESHOLD:g})": balanced,
            f"{of}s of that after the first migration": None
            if balanced is None or moved is None or moved > balanced
            else balanced - moved,
            f"{of}s to 90 % of the best": figures.reached(cell, span, 0.9 * best[phase]),
            f"{of}s to 90 % of its own best": figures.reached(cell, span, 0.9 * own),
            f"{of}inodes migrated": figures.total(cell, "exported_inodes", span),
        }
    return (
        row
        | {
            "inodes migrated": figures.total(cell, "exported_inodes"),
            "part of them never visited after": figures.never_visited(cell),
            "subtree moves": figures.migrations(cell),
            "ping-pongs": figures.ping_pongs(cell),
            "forwards": figures.total(cell, "forwards"),
        }
        | (run_figures.row(cell) if "done" in cell else {})
    )


def table(cells: Sequence[Cell]) -> str:
    """A row a figure, a column a balancer: median (lowest to highest) over the runs that count."""
    found = rows(cells)
    names = list(dict.fromkeys(row["balancer"] for row in found))
    keys = [key for key in found[0] if key not in ("balancer", "run", "counts")]
    known = {key for row in found for key, value in row.items() if value is not None}
    keys = [key for key in keys if not key.endswith(CORRECTED) or key in known]
    runs = {name: [row for row in found if row["balancer"] == name] for name in names}
    told = (f"{sum(row['counts'] for row in mine)} of {len(mine)}" for mine in runs.values())
    lines = [["runs that count", *told]]
    for key in keys:
        # What tells whether a run counts is shown of those that do not, too.
        of = [[row[key] for row in mine if row["counts"] or key in TOLD] for mine in runs.values()]
        none = "never" if ": s " in key or key.startswith(("s ", "completion")) else "-"
        lines.append([key, *(_cell(values, none) for values in of)])
    return markdown.table(["", *names], lines)


def _cell(values: Sequence[float | None], none: str) -> str:
    """Median (lowest to highest); ``none`` stands for values that there are not."""
    known = [v for v in values if v is not None]
    if not known:
        return none if values else "-"
    middle = _shown(statistics.median(known))
    never = f", {none} in {len(values) - len(known)}" if len(known) < len(values) else ""
    if len(known) == 1:
        return middle + never
    return f"{middle} ({_shown(min(known))} to {_shown(max(known))}{never})"


def _shown(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 2 and value != int(value) else f"{value:,.0f}"
