# SPDX-License-Identifier: LGPL-2.1-or-later
"""As Figure 12: requests of each rank over time, stacked; one panel a run."""

from collections.abc import Sequence
from pathlib import Path

from experiments.common.figures import figures
from experiments.common.figures.figures import Cell
from experiments.common.pictures import RANK_COLOURS, canvas

_COLUMNS = 4


def draw(cells: Sequence[Cell], title: str, path: Path, marks: Sequence[float] = ()) -> None:
    """marks: seconds since the beginning at which something was changed."""
    columns = min(_COLUMNS, len(cells))
    with canvas(-(-len(cells) // columns), columns, title, path, sharey=True) as axes:
        for panel in list(axes.flat)[len(cells) :]:
            panel.set_axis_off()
        for panel, cell in zip(axes.flat, cells, strict=False):
            start, end = next(iter(cell["spans"].values()))[0], list(cell["spans"].values())[-1][1]
            rows = [(t - start, loads) for t, loads in figures.known_loads(cell) if start < t <= end]
            ranks = range(cell["ranks"])
            panel.stackplot(
                [t for t, _ in rows],
                [[max(0.0, loads[rank]) for _, loads in rows] for rank in ranks],
                colors=RANK_COLOURS,
                labels=[f"rank {rank}" for rank in ranks],
                alpha=0.85,
            )
            for mark in marks:
                panel.axvline(mark, color="#444444", linestyle=":", linewidth=1)
            panel.set_title(cell["balancer"])
            panel.set_xlabel("seconds")
        axes[0][0].set_ylabel("requests served, req/s")
        axes[0][0].legend(frameon=False, fontsize=8, loc="upper left")
