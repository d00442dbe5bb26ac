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
ROWS = 256  # of a map, of a pixel or more


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
        map_of(loads, recording)
    values = factors(recording)
    factor.step(np.arange(values.size) * EPOCH, values, where="post")
    factor.set_ylabel("IF")
    factor.set_ylim(0.0, max(0.2, float(values.max(initial=0.0)) * 1.05))
    _moves(moves, recording)
    figure.savefig(path, dpi=110)


def map_of(axes: Axes, recording: Recording) -> None:
    """A colour for each rank and second; where there is not a row of pixels for each, the fullest of some."""
    seconds, ranks = recording.loads.shape
    some = -(-ranks // ROWS)
    rows = np.maximum.reduceat(recording.loads.T, np.arange(0, ranks, some), axis=0)
    image = axes.imshow(
        rows,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        vmin=0.0,
        extent=(0.0, seconds * SAMPLE, -0.5, rows.shape[0] * some - 0.5),
    )
    axes.figure.colorbar(image, ax=axes, location="top", aspect=60, label="req/s")
    axes.set_ylabel("rank" if some == 1 else f"rank (fullest of each {some})")


def _moves(axes: Axes, recording: Recording) -> None:
    """A line from exporter to importer for each, its width by inodes."""
    largest = max((move.inodes for move in recording.moves), default=1.0)
    for move in recording.moves:
        width = 0.4 + 2.0 * move.inodes / max(largest, 1.0)
        axes.vlines(move.time, move.source, move.target, color="grey", linewidth=width, alpha=0.5)
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
