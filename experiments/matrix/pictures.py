# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of cells over time: a line a balancer, the median of its runs, and a band of all."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.common.figures import figures
from experiments.common.figures.factor import THRESHOLD
from experiments.common.figures.figures import Cell
from experiments.common.pictures import COLOURS, canvas

Series = list[tuple[float, float]]
"""By seconds since a phase began."""
Of = Callable[[Cell, str, float], Series]
"""Of a cell's phase, with the capacity of a rank, req/s."""
_COLUMNS = 4


def throughput(cell: Cell, phase: str, capacity: float) -> Series:
    """op/s of all clients, mean of ten seconds."""
    span = cell["spans"][phase]
    return [(t - span[0], ops) for t, ops in figures.moving(cell, span)]


def imbalance(cell: Cell, phase: str, capacity: float) -> Series:
    """IF."""
    start, end = cell["spans"][phase]
    return [(t - start, value) for t, value in figures.imbalance(cell, capacity) if start < t <= end]


def migrated(cell: Cell, phase: str, capacity: float) -> Series:
    """Inodes since the phase began."""
    return [(t, float(inodes)) for t, inodes in figures.migrated(cell, cell["spans"][phase])]


ROWS: tuple[tuple[str, Of], ...] = (
    ("op/s, mean of 10 s", throughput),
    ("imbalance factor", imbalance),
    ("inodes migrated", migrated),
)


def compared(cells: Sequence[Cell], title: str, path: Path) -> None:
    """One workload: a column a phase; op/s, IF and inodes migrated."""
    phases = list(cells[0]["spans"])
    with canvas(len(ROWS), len(phases), title, path, sharex="col", sharey="row") as axes:
        for panels, (label, of) in zip(axes, ROWS, strict=True):
            panels[0].set_ylabel(label)
            for panel, phase in zip(panels, phases, strict=True):
                _lines(panel, cells, of, phase)
        for panel, phase in zip(axes[0], phases, strict=True):
            panel.set_title(phase)
        _finish(axes, axes[-1])


def throughputs(cells: Sequence[Cell], title: str, path: Path) -> None:
    """A panel a workload, as the paper's Figure 7."""
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    columns = min(_COLUMNS, len(workloads))
    with canvas(-(-len(workloads) // columns), columns, title, path) as axes:
        for panel in list(axes.flat)[len(workloads) :]:
            panel.set_axis_off()
        for panel, workload in zip(axes.flat, workloads, strict=False):
            _lines(panel, [cell for cell in cells if cell["workload"] == workload], throughput, "run")
            panel.set_title(workload)
        axes[0][0].set_ylabel("op/s, mean of 10 s")
        _finish(axes, axes.flat)


def _lines(panel: Any, cells: Sequence[Cell], of: Of, phase: str) -> None:
    capacity = statistics.median(cell["capacity"] for cell in cells)
    for name in dict.fromkeys(cell["balancer"] for cell in cells):
        runs = [of(cell, phase, capacity) for cell in cells if cell["balancer"] == name]
        _band(panel, [run for run in runs if run], name)
    if of is imbalance:
        panel.axhline(THRESHOLD, color="#444444", linestyle=":", linewidth=1)
    panel.set_ylim(bottom=0)


def _band(panel: Any, runs: Sequence[Series], name: str) -> None:
    """Runs end at different times: each second has the median of those that still are."""
    by_second = [figures.by_second(run) for run in runs]
    seconds = sorted(set().union(*by_second))
    columns = [[run[second] for run in by_second if second in run] for second in seconds]
    colour = COLOURS[name]
    panel.plot(seconds, [statistics.median(c) for c in columns], color=colour, linewidth=1.6, label=name)
    low, high = [min(c) for c in columns], [max(c) for c in columns]
    panel.fill_between(seconds, low, high, color=colour, alpha=0.15, linewidth=0)


def _finish(axes: Any, lowest: Any) -> None:
    for panel in lowest:
        panel.set_xlabel("seconds")
    handles, labels = axes[0][0].get_legend_handles_labels()
    across = _COLUMNS if axes.shape[1] == 1 else len(labels)
    axes[0][0].figure.legend(handles, labels, loc="outside lower center", ncols=across, frameon=False)
