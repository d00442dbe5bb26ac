# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's Figures 3 to 6, and two of our own. Every function writes one PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from experiments.common.pictures import RANK_COLOURS, canvas
from sim.model.arrays import Floats
from sim.papers.ilt.run import WINDOW, Outcome

_COLOUR: Final = {"Vesta": "#0072b2", "LH3": "#e69f00", "ILT": "#009e73"}
_SMOOTHED: Final = 500.0  # ms


def waiting(outcomes: Sequence[Outcome], title: str, path: Path) -> None:
    """Figures 3 to 5: requests waiting at each server, over time; one panel a system, one scale."""
    with canvas(1, len(outcomes), title, path, sharey=True) as axes:
        for panel, outcome in zip(axes[0], outcomes, strict=True):
            servers, windows = outcome.waiting.shape
            times = (np.arange(windows) + 0.5) * WINDOW / 1_000
            for server in range(servers):
                panel.plot(
                    times, outcome.waiting[server], lw=0.8, color=RANK_COLOURS[server], label=str(server)
                )
            panel.set_title(outcome.system)
            panel.set_yscale("symlog", linthresh=0.1)
            panel.set_xlabel("seconds")
        axes[0][0].set_ylabel("requests waiting, mean of 100 ms")
        axes[0][-1].legend(frameon=False, fontsize=7, ncols=2, title="server", title_fontsize=7)


def dispatcher(
    times: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    levels: Mapping[str, float],
    title: str,
    path: Path,
) -> None:
    """Figure 6: mean response (ms) against 1/C (ms); `levels` are responses without a dispatcher."""
    styles = ("-o", "-s", ":k")
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for (label, responses), style in zip(curves.items(), styles, strict=True):
            panel.plot(times, responses, style, ms=4, label=label)
        for label, level in levels.items():
            panel.axhline(level, color=_COLOUR[label], lw=1, label=label)
        panel.set_yscale("log")
        panel.set_xlabel("1/C, ms")
        panel.set_ylabel("mean response, ms")
        panel.legend(frameon=False, fontsize=7)


def rates(chosen: Sequence[float], responses: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Mean response (ms) of each system against the rate (requests/ms)."""
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for system, values in responses.items():
            panel.plot(chosen, values, "-o", ms=4, color=_COLOUR[system], label=system)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel("requests/ms, all clients")
        panel.set_ylabel("mean response, ms")
        panel.legend(frameon=False, fontsize=8)


def addition(outcomes: Sequence[Outcome], at: float, title: str, path: Path) -> None:
    """Mean response (ms) of what arrived in each half second; a server is added at `at` (ms)."""
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for outcome in outcomes:
            times, means = _means(outcome)
            panel.plot(times / 1_000, means, color=_COLOUR[outcome.system], label=outcome.system)
        panel.axvline(at / 1_000, color="#999999", lw=1, ls="--")
        panel.set_yscale("log")
        panel.set_xlabel("seconds, by arrival")
        panel.set_ylabel("mean response, ms")
        panel.legend(frameon=False, fontsize=8)


def _means(outcome: Outcome) -> tuple[Floats, Floats]:
    bins = (outcome.arrivals // _SMOOTHED).astype(int)
    counts = np.bincount(bins)
    seen = counts > 0
    means = np.bincount(bins, outcome.responses)[seen] / counts[seen]
    times = (np.flatnonzero(seen) + 0.5) * _SMOOTHED
    return times.astype(np.float64), means.astype(np.float64)
