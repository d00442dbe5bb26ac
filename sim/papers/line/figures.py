# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each rank's requests and cached inodes over LINE's three phases, as its slides show them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.common.pictures import RANK_COLOURS, canvas
from sim.papers.line.evaluation import PHASE, Phase

_SMOOTHED = 10  # s


def draw(runs: Mapping[str, Sequence[Phase]], path: Path) -> None:
    """A column a run: requests/s above, cached inodes below."""
    with canvas(2, len(runs), "LINE's evaluation: eight ranks, 42 clients", path, sharey="row") as axes:
        for column, (name, phases) in enumerate(runs.items()):
            loads = np.concatenate([phase.loads for phase in phases])
            loads = loads.reshape(-1, _SMOOTHED, loads.shape[1]).mean(axis=1)
            cached = np.concatenate([phase.cached for phase in phases]) / 1e6
            for rank in range(loads.shape[1]):
                colour, label = RANK_COLOURS[rank], str(rank)
                times = (np.arange(loads.shape[0]) + 0.5) * _SMOOTHED
                axes[0][column].plot(times, loads[:, rank], lw=0.8, color=colour, label=label)
                axes[1][column].plot(cached[:, rank], lw=1, color=colour)
            for row in (0, 1):
                for k in range(1, len(phases)):
                    axes[row][column].axvline(k * PHASE, color="#999999", lw=1, ls="--")
            axes[0][column].set_title(name)
            axes[1][column].set_xlabel("seconds")
        axes[0][0].set_ylabel("requests/s, mean of 10 s")
        axes[1][0].set_ylabel("inodes cached, millions")
        axes[0][-1].legend(frameon=False, fontsize=7, ncols=2, title="rank", title_fontsize=7)
