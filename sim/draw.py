# SPDX-License-Identifier: LGPL-2.1-or-later
"""A picture of a run: each rank's load, the imbalance factor, and the moves, over time."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.course import SAMPLE, Recording
from sim.measures import EPOCH, factors

mpl.use("Agg")
FEW = 12  # ranks that a line each can be told apart


def draw(recording: Recording, path: Path) -> None:
    """Write the picture."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    loads, factor, moves = figure.subplots(3, 1, sharex=True, height_ratios=(3, 1, 2))
    figure.suptitle(f"{recording.scenario}, {recording.policy}, seed {recording.seed}")
    times = np.arange(recording.loads.shape[0]) * SAMPLE
    if recording.loads.shape[1] <= FEW:
        for rank, load in enumerate(recording.loads.T):
            loads.plot(times, load, linewidth=1.0, label=f"rank {rank}")
        loads.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        loads.set_ylabel("req/s")
    else:
        image = loads.imshow(
            recording.loads.T,
            aspect="auto",
            origin="lower",
            interpolation="nearest",
            extent=(0.0, float(times[-1]) + SAMPLE, -0.5, recording.loads.shape[1] - 0.5),
        )
        figure.colorbar(image, ax=loads, label="req/s")
        loads.set_ylabel("rank")
    values = factors(recording)
    factor.step(np.arange(values.size) * EPOCH, values, where="post")
    factor.set_ylabel("IF")
    factor.set_ylim(0.0, max(0.2, float(values.max(initial=0.0)) * 1.05))
    _moves(moves, recording)
    figure.savefig(path, dpi=110)


def _moves(axes: Axes, recording: Recording) -> None:
    """A line from exporter to importer for each, its width by inodes."""
    largest = max((move.inodes for move in recording.moves), default=1.0)
    for move in recording.moves:
        width = 0.4 + 2.0 * move.inodes / max(largest, 1.0)
        axes.plot([move.time, move.time], [move.source, move.target], color="grey", linewidth=width)
    axes.scatter(
        [m.time for m in recording.moves], [m.target for m in recording.moves], s=12, marker="v", label="to"
    )
    axes.scatter(
        [m.time for m in recording.moves], [m.source for m in recording.moves], s=6, marker="o", label="from"
    )
    axes.set_ylabel("moves by rank")
    axes.set_ylim(-0.7, recording.loads.shape[1] - 0.3)
    axes.set_xlabel("s")
    if recording.moves:
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
