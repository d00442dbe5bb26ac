# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures 6, 7 and 9: a panel a workload, a line a balancer: the median of its runs, and a band of all."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.common.figures import figures
from experiments.common.figures.factor import THRESHOLD
from experiments.common.figures.figures import Cell
from experiments.common.plots.canvas import COLOURS, canvas

Series = list[tuple[float, float]]
_COLUMNS = 4


def imbalance(cell: Cell, capacity: float) -> Series:
    """IF by seconds since the run began."""
    start, end = cell["spans"]["run"]
    return [(t - start, value) for t, value in figures.imbalance(cell, capacity) if start < t <= end]


def throughput(cell: Cell, capacity: float) -> Series:
    """op/s of all clients, mean of ten seconds."""
    span = cell["spans"]["run"]
    return [(t - span[0], ops) for t, ops in figures.moving(cell, span)]


def band(axes: Any, runs: Sequence[Series], label: str, colour: str) -> None:
    """Runs end at different times: each second has the median of those that still are."""
    by_second = [figures.by_second(run) for run in runs]
    seconds = sorted(set().union(*by_second))
    columns = [[run[second] for run in by_second if second in run] for second in seconds]
    axes.plot(seconds, [statistics.median(c) for c in columns], color=colour, linewidth=1.6, label=label)
    axes.fill_between(
        seconds, [min(c) for c in columns], [max(c) for c in columns], color=colour, alpha=0.15, linewidth=0
    )


def draw(
    cells: Sequence[Cell], series: Callable[[Cell, float], Series], label: str, title: str, path: Path
) -> None:
    """All workloads that there are cells of."""
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    columns = min(_COLUMNS, len(workloads))
    with canvas(-(-len(workloads) // columns), columns, title, path) as axes:
        for panel in list(axes.flat)[len(workloads) :]:
            panel.set_axis_off()
        for panel, workload in zip(axes.flat, workloads, strict=False):
            mine = [cell for cell in cells if cell["workload"] == workload]
            capacity = statistics.median(cell["capacity"] for cell in mine)
            for balancer in dict.fromkeys(cell["balancer"] for cell in mine):
                runs = [series(cell, capacity) for cell in mine if cell["balancer"] == balancer]
                band(panel, [run for run in runs if run], balancer, COLOURS[balancer])
            if series is imbalance:
                panel.axhline(THRESHOLD, color="#444444", linestyle=":", linewidth=1)
            panel.set_title(workload)
            panel.set_xlabel("seconds")
            panel.set_ylim(bottom=0)
        axes[0][0].set_ylabel(label)
        handles, labels = axes[0][0].get_legend_handles_labels()
        across = 4 if columns == 1 else len(labels)
        axes[0][0].figure.legend(handles, labels, loc="outside lower center", ncols=across, frameon=False)
