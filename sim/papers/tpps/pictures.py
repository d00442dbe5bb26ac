# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's figures, drawn from a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.pictures import RANK_COLOURS, canvas
from sim.model.arrays import Floats
from sim.papers.tpps.measure import MOST, THREADS
from sim.papers.tpps.study import SIZES, Study

_K = 1_000.0
# The answer time below which a request counts as well served (V-E).
_WELL_MS = 10.0
_PERIODS = {"1: T": "T = window", "1: T/2": "T = 1/2", "1: T/4": "T = 1/4"}
_AT_ONCE = {"2: T": "once: 1", "2: T, T/2": "twice: 1, 1/2", "2: T, T/2, T/4": "three times: 1, 1/2, 1/4"}
_CACHES = {"subtree": "none", "LRU": "LRU", "ARC": "ARC", "two queues": "the paper's ARC", "PARC": "PARC"}
_TIMES = {
    "1: T": "Algorithm 1, T = window",
    "1: T, T/2, T/4": "Algorithm 1, 1, 1/2, 1/4",
    "2: T, T/2, T/4": "Algorithm 2, 1, 1/2, 1/4",
    "PARC": "PARC",
}
_FRAMEWORK = {
    "subtree": "subtree",
    "hash": "hash",
    "PARC": "layer on\nsubtree",
    "PARC on hash": "layer on\nhash",
}


def draw(study: Study, out: Path) -> list[str]:
    """Every picture into ``out``; their names, in the order of the paper's figures."""
    figures = {
        "fig05-load.png": _load,
        "fig06-skew.png": _skew,
        "fig07-08-strategies.png": _strategies,
        "fig09-caches.png": _caches,
        "fig10-quickness.png": _quickness,
        "fig11-framework.png": _framework,
    }
    for name, figure in figures.items():
        figure(study, out / name)
    return list(figures)


def _load(study: Study, path: Path) -> None:
    title = "Figure 5: part of all requests that each namenode gets (subtree, one window)"
    minutes = len(study.shares) / 60.0
    with canvas(1, 1, title, path) as axes:
        extent = (0.0, minutes, -0.5, study.setting.namenodes - 0.5)
        panel = axes[0][0]
        image = panel.imshow(
            100 * study.shares.T,
            aspect="auto",
            origin="lower",
            extent=extent,
            cmap="viridis",
            interpolation="none",
        )
        panel.figure.colorbar(image, ax=panel, label="% of all requests")
        panel.set(xlabel="minutes", ylabel="namenode", yticks=range(study.setting.namenodes))


def _skew(study: Study, path: Path) -> None:
    with canvas(
        1, 1, "Figure 6: answer time at the slowest and the fastest namenode (subtree)", path
    ) as axes:
        panel = axes[0][0]
        for column, label in enumerate(("slowest", "fastest")):
            panel.plot(
                THREADS, _K * study.gap[:, column], color=RANK_COLOURS[column], label=label, marker="o"
            )
        panel.set(xlabel="threads of each client", ylabel="ms", ylim=(0, None))
        panel.legend()


def _strategies(study: Study, path: Path) -> None:
    titles = ("Figure 7: Algorithm 1 by period", "Figure 8: Algorithm 2 by runs at once")
    with canvas(1, 2, "Prefetching alone, by strategy: mean, lowest and highest of 20 windows", path) as axes:
        for panel, title, names in zip(axes[0], titles, (_PERIODS, _AT_ONCE), strict=True):
            for index, (name, label) in enumerate(names.items()):
                _bars(panel, THREADS, study.systems[name].throughput / _K, RANK_COLOURS[index], label, index)
            panel.set(title=title, xlabel="threads of each client", ylabel="1,000 req/s", ylim=(0, None))
            panel.legend()


def _caches(study: Study, path: Path) -> None:
    with canvas(1, 2, "Figure 9: mean answer time by cache", path) as axes:
        for index, (name, label) in enumerate(_CACHES.items()):
            times = _K * study.systems[name].response(study.setting)
            _bars(axes[0][0], THREADS, times, RANK_COLOURS[index], label, index)
            if name in study.sizes:
                axes[0][1].plot(
                    SIZES, _K * study.sizes[name], color=RANK_COLOURS[index], label=label, marker="o"
                )
        axes[0][0].set(title="as assumed", xlabel="threads of each client")
        axes[0][1].set(
            title=f"by size, {MOST} threads", xlabel="entries of cache and ghost", xscale="log", yscale="log"
        )
        for panel in axes[0]:
            panel.axhline(_WELL_MS, color="#444444", linestyle=":", linewidth=1)
            panel.set_ylabel("ms")
            panel.legend()


def _quickness(study: Study, path: Path) -> None:
    title = f"Figure 10: throughput over a window, {MOST} threads, mean of {study.setting.runs} windows"
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for index, (name, label) in enumerate(_TIMES.items()):
            curve = study.systems[name].over_time.mean(axis=0) / _K
            panel.plot(
                np.arange(1, len(curve) + 1), curve, color=RANK_COLOURS[index], label=label, marker="o"
            )
        panel.set(xlabel="minute", ylabel="1,000 req/s", ylim=(0, None))
        panel.legend(fontsize="small")


def _framework(study: Study, path: Path) -> None:
    title = f"Figure 11: throughput, {MOST} threads, mean, lowest and highest of {study.setting.runs} windows"
    with canvas(1, 1, title, path) as axes:
        panel = axes[0][0]
        for index, (name, label) in enumerate(_FRAMEWORK.items()):
            runs = study.systems[name].throughput[:, -1] / _K
            spread = [[runs.mean() - runs.min()], [runs.max() - runs.mean()]]
            panel.bar([label], [runs.mean()], yerr=spread, color=RANK_COLOURS[index], capsize=4)
        panel.set_ylabel("1,000 req/s")


def _bars(panel: Any, x: Sequence[int], runs: Floats, colour: str, label: str, turn: int) -> None:
    mean = runs.mean(axis=0)
    spread = [mean - runs.min(axis=0), runs.max(axis=0) - mean]
    # Beside each other, so that no bar hides another.
    shifted = np.array(x) + 0.8 * (turn - 1)
    panel.errorbar(shifted, mean, yerr=spread, color=colour, label=label, capsize=2, marker="o", markersize=3)
