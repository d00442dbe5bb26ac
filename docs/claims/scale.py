# SPDX-License-Identifier: LGPL-2.1-or-later
"""Throughput at 1, 2, 4 and 8 ranks (Lunule's Figure 13a), as a part of linear, of the cells there are."""

import statistics
from collections.abc import Mapping, Sequence

from experiments.common.figures import figures, markdown
from experiments.common.figures.figures import Cell
from experiments.common.figures.limits import limits
from experiments.conditions.tables import whole

RANKS = (1, 2, 4, 8)
Peaks = Mapping[str, Mapping[int, Sequence[float]]]
"""By balancer and measure, then ranks: op/s of each run that counts."""
PEAK, WHOLE = "best ten seconds", "whole run"


def measured(cells: Sequence[Cell]) -> dict[str, dict[int, list[float]]]:
    """Both measures of every balancer."""
    found: dict[str, dict[int, list[float]]] = {}
    for balancer in dict.fromkeys(str(cell["balancer"]) for cell in cells):
        for measure, of in ((PEAK, _peak), (WHOLE, whole)):
            by_ranks: dict[int, list[float]] = {ranks: [] for ranks in RANKS}
            for cell in cells:
                if cell["balancer"] == balancer and limits(cell).counts:
                    by_ranks[cell["ranks"]].append(of(cell))
            found[f"{balancer}, {measure}"] = by_ranks
    return found


def _peak(cell: Cell) -> float:
    return max(ops for _, ops in figures.moving(cell, cell["spans"]["run"]))


def ratio_to_linear(peaks: Mapping[int, Sequence[float]], ranks: int) -> float | None:
    """Of medians: what so many ranks reach of so many times what one does; None: no run of either counts."""
    if not peaks[ranks] or not peaks[1]:
        return None
    return statistics.median(peaks[ranks]) / (ranks * statistics.median(peaks[1]))


def table(peaks: Peaks) -> str:
    """A row a balancer and measure, a column a number of ranks."""
    lines = [[name, *(_shown(mine, n) for n in RANKS)] for name, mine in peaks.items()]
    return markdown.table(["op/s (part of linear), by ranks", *map(str, RANKS)], lines)


def _shown(mine: Mapping[int, Sequence[float]], ranks: int) -> str:
    part = ratio_to_linear(mine, ranks)
    of_linear = "" if part is None else f" ({part:.2f})"
    return f"{statistics.median(mine[ranks]):,.0f}{of_linear}" if mine[ranks] else "none counts"
