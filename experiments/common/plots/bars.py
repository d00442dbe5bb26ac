# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures 13b and 14: bars."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.common.figures import run_figures
from experiments.common.figures.figures import Cell
from experiments.common.plots.canvas import COLOURS, RANK_COLOURS, canvas


def throughputs(found: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """op/s by balancer: medians, with the lowest and the highest run."""
    names = [name for name, runs in found.items() if runs]
    middles = [statistics.median(found[name]) for name in names]
    spread = [
        [m - min(found[name]) for name, m in zip(names, middles, strict=True)],
        [max(found[name]) - m for name, m in zip(names, middles, strict=True)],
    ]
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        panel.bar(names, middles, yerr=spread, color=[COLOURS[name] for name in names], capsize=3)
        panel.tick_params(axis="x", rotation=40)
        panel.set_ylabel("op/s of all clients")


def hashed(cell: Cell, files: Mapping[str, float], title: str, path: Path) -> None:
    """Where directory hashing put the files, and where the requests went."""
    panels = (
        ("files (of split directories: shared alike)", run_figures.placed(cell, files)),
        ("requests", run_figures.requests(cell)),
    )
    with canvas(1, 2, title, path) as axes:
        for panel, (label, values) in zip(axes[0], panels, strict=True):
            shares = [100 * value / sum(values) for value in values]
            panel.bar([str(rank) for rank in range(len(shares))], shares, color=RANK_COLOURS[: len(shares)])
            panel.axhline(100 / len(shares), color="#444444", linestyle=":", linewidth=1)
            panel.set_title(label)
            panel.set_xlabel("rank")
        axes[0][0].set_ylabel("% of all")
