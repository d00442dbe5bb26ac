# SPDX-License-Identifier: LGPL-2.1-or-later
"""The picture of a comparison: op/s, IF and inodes migrated over time, a line a balancer."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.figures import figures
from experiments.common.figures.factor import THRESHOLD
from experiments.common.figures.figures import Cell
from experiments.common.plots.canvas import COLOURS


def draw(cells: Sequence[Cell], title: str, path: Path) -> None:
    """One line a balancer: the median over its runs; a band from the lowest to the highest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    capacity = statistics.median(cell["capacity"] for cell in cells)
    names = list(dict.fromkeys(cell["balancer"] for cell in cells))
    phases = list(cells[0]["spans"])
    figure, axes = pyplot.subplots(
        3,
        len(phases),
        sharex="col",
        sharey="row",
        squeeze=False,
        figsize=(5.5 * len(phases) + 1, 9),
        layout="constrained",
    )
    try:
        for column, phase in enumerate(phases):
            for name in names:
                colour = COLOURS[name]
                runs = [cell for cell in cells if cell["balancer"] == name]
                _band(axes[0][column], [_ops(c, phase) for c in runs], name, colour)
                _band(axes[1][column], [_factor(c, phase, capacity) for c in runs], name, colour)
                _band(axes[2][column], [_migrated(c, phase) for c in runs], name, colour)
            axes[0][column].set_title(phase)
            axes[1][column].axhline(THRESHOLD, color="#444444", linestyle=":", linewidth=1)
            axes[2][column].set_xlabel("seconds since the phase began")
        for row, label in enumerate(("op/s, mean of 10 s", "imbalance factor", "inodes migrated")):
            axes[row][0].set_ylabel(label)
        for one in axes.flat:
            one.grid(alpha=0.25)
            one.spines[["top", "right"]].set_visible(False)
            one.set_ylim(bottom=0)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.suptitle(title)
        figure.savefig(path, dpi=110)
    finally:
        pyplot.close(figure)


Series = list[tuple[float, float]]


def _ops(cell: Cell, phase: str) -> Series:
    span = cell["spans"][phase]
    return [(t - span[0], ops) for t, ops in figures.moving(cell, span)]


def _factor(cell: Cell, phase: str, capacity: float) -> Series:
    start, end = cell["spans"][phase]
    return [(t - start, value) for t, value in figures.imbalance(cell, capacity) if start < t <= end]


def _migrated(cell: Cell, phase: str) -> Series:
    start, end = cell["spans"][phase]
    seen = [s for s in cell["samples"] if start <= s["t"] <= end]
    totals = [(s["t"], sum(r["exported_inodes"] for r in s["ranks"].values())) for s in seen]
    return [(t - start, value - totals[0][1]) for t, value in totals]


def _band(axes: Any, runs: Sequence[Series], label: str, colour: str) -> None:
    """Runs are brought to whole seconds; only seconds that all of them have are drawn."""
    by_second = [figures.by_second(run) for run in runs]
    seconds = sorted(set.intersection(*(set(run) for run in by_second))) if by_second else []
    columns = [[run[second] for run in by_second] for second in seconds]
    axes.plot(seconds, [statistics.median(c) for c in columns], color=colour, linewidth=1.8, label=label)
    axes.fill_between(seconds, [min(c) for c in columns], [max(c) for c in columns], color=colour, alpha=0.15)
