# SPDX-License-Identifier: LGPL-2.1-or-later
"""The figures of each cell of a workload."""

import statistics
from collections.abc import Sequence
from typing import Any

from experiments.common.figures import correction, figures, run_figures
from experiments.common.figures.factor import THRESHOLD
from experiments.common.figures.figures import Cell

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
        "counts": run_figures.counts(cell),
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
