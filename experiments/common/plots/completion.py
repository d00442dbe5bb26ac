# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figure 11: how many of the clients were ready by when; all runs of a balancer together."""

from collections.abc import Sequence
from pathlib import Path

from experiments.common.figures import run_figures
from experiments.common.figures.figures import Cell
from experiments.common.plots.canvas import COLOURS, canvas


def draw(cells: Sequence[Cell], title: str, path: Path) -> None:
    """A curve that does not get to 1: some clients were stopped at the time limit."""
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for balancer in dict.fromkeys(cell["balancer"] for cell in cells):
            mine = [cell for cell in cells if cell["balancer"] == balancer]
            times = sorted(t for cell in mine for t in run_figures.completions(cell) if t is not None)
            total = sum(len(cell["done"]) for cell in mine)
            shares = [(k + 1) / total for k in range(len(times))]
            panel.step([0, *times], [0, *shares], where="post", color=COLOURS[balancer], label=balancer)
        panel.set_xlabel("completion time of a client, seconds")
        panel.set_ylabel("part of the clients")
        panel.set_ylim(0, 1.02)
        panel.legend(frameon=False, fontsize=8)
