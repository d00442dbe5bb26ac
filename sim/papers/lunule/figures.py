# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's figures, drawn from a study."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from experiments.common.pictures import COLOURS, RANK_COLOURS, canvas
from sim.measures import EPOCH
from sim.model.arrays import Floats
from sim.papers.lunule.experiment import MINUTE, Run
from sim.papers.lunule.published import LIGHT, LUNULE, SIXTEEN, SPILL, VANILLA
from sim.papers.lunule.setting import METADATA
from sim.papers.lunule.study import BALANCERS, DATA, HASHED, PHASE, PHASES, SCALES, WORKLOADS, Study

_K = 1_000.0
_SMOOTHED = 10  # s
_COLOURS: Final = {
    VANILLA: COLOURS["builtin"],
    SPILL: COLOURS["greedyspill"],
    LIGHT: COLOURS["lunule"],
    LUNULE: COLOURS["lunule-mindex"],
    HASHED: "#e69f00",
}
_BESIDE: Final = {"frameon": False, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}


def draw(study: Study, out: Path) -> list[str]:
    """Every picture into ``out``; their names, in the order of the paper's figures."""
    pictures: dict[str, Callable[[Study, Path], None]] = {
        "fig06-imbalance.png": _imbalance,
        "fig07-throughput.png": _throughput,
        "fig08-completion.png": _completion,
        "fig12-dynamics.png": _dynamics,
        "fig13-scale.png": _scale,
    }
    for name, picture in pictures.items():
        picture(study, out / name)
    return list(pictures)


def _imbalance(study: Study, path: Path) -> None:
    def by_minute(run: Run) -> Floats:
        epochs = run.factors
        return np.asarray(epochs[: epochs.size // 6 * 6].reshape(-1, 6).mean(axis=1))

    _panels(study, "Figure 6: imbalance factor, mean of a minute", "imbalance factor", by_minute, path)


def _throughput(study: Study, path: Path) -> None:
    title = "Figure 7: throughput, mean of a minute"
    _panels(study, title, "1,000 req/s", lambda run: run.throughput / _K, path)


def _panels(study: Study, title: str, unit: str, by_minute: Callable[[Run], Floats], path: Path) -> None:
    """A panel a workload, a line a balancer: the mean of its runs, as long as all of them last; the legend is
    the sixth."""
    with canvas(2, 3, title, path) as axes:
        for panel, name in zip(axes.flat, WORKLOADS, strict=False):
            for balancer in BALANCERS:
                runs = [by_minute(run) for run in study.single[name, balancer]]
                mean = np.mean([run[: min(map(len, runs))] for run in runs], axis=0)
                panel.plot(np.arange(mean.size) + 0.5, mean, label=balancer, color=_COLOURS[balancer], lw=1.4)
            panel.set(title=name, xlabel="minutes", ylabel=unit, ylim=(0, None))
        handles, labels = axes[0][0].get_legend_handles_labels()
        axes[1][2].set_axis_off()
        axes[1][2].legend(handles, labels, frameon=False, loc="center left")


def _completion(study: Study, path: Path) -> None:
    title = "Figure 8: time until the last client is through, with data access"
    with canvas(1, len(DATA), title, path) as axes:
        for panel, data in zip(axes[0], DATA, strict=True):
            hours = {
                b: [study.data[w, b, data].ended.max() / 3600.0 for w in METADATA] for b in (VANILLA, LUNULE)
            }
            _bars(panel, list(METADATA), hours)
            panel.set(title=f"a data operation takes {_K * data:.0f} ms", ylabel="hours")
        axes[0][0].get_legend().remove()


def _bars(panel: Any, groups: Sequence[str], values: dict[str, list[float]]) -> None:
    """Side by side in each group."""
    width = 0.8 / len(values)
    for turn, (name, heights) in enumerate(values.items()):
        places = np.arange(len(groups)) + (turn - (len(values) - 1) / 2) * width
        panel.bar(places, heights, width, color=_COLOURS[name], label=name)
    panel.set_xticks(range(len(groups)), groups)
    panel.legend(**_BESIDE)


def _dynamics(study: Study, path: Path) -> None:
    title = "Figure 12: Lunule, Zipf: each rank's requests, mean of 10 s"
    with canvas(1, 2, title, path) as axes:
        _ranks(axes[0][0], study.growing.loads, "a: a rank more at 10 and at 20 minutes")
        _ranks(axes[0][1], study.phases.loads, "b: ten clients more in each phase")
        for phase in range(1, PHASES):
            axes[0][1].axvline(phase * PHASE / MINUTE, color="#999999", lw=1, ls="--")
        axes[0][0].legend(title="rank", **_BESIDE)


def _ranks(panel: Any, loads: Floats, title: str) -> None:
    whole = loads[: loads.shape[0] // _SMOOTHED * _SMOOTHED].reshape(-1, _SMOOTHED, loads.shape[1])
    for rank, load in enumerate(whole.mean(axis=1).T / _K):
        times = (np.arange(load.size) + 0.5) * EPOCH / MINUTE
        panel.plot(times, load, lw=1, color=RANK_COLOURS[rank], label=str(rank))
    panel.set(title=title, xlabel="minutes", ylabel="1,000 req/s", ylim=(0, None))


def _scale(study: Study, path: Path) -> None:
    with canvas(
        1, 2, "Figure 13: best minute of Lunule by ranks (MD); Web beside pins by hash", path
    ) as axes:
        left, right = axes[0]
        peaks = [study.scale[ranks].peak / _K for ranks in SCALES]
        left.plot(SCALES, peaks, marker="o", color=_COLOURS[LUNULE], label="here")
        linear = [peaks[0] * ranks for ranks in SCALES]
        left.plot(SCALES, linear, ls=":", color="#444444", label="linear")
        left.plot([16], [SIXTEEN / _K], marker="x", ls="", color="#000000", label="the paper")
        left.set(title="a: MD", xlabel="ranks", ylabel="1,000 req/s", ylim=(0, None))
        left.legend(**_BESIDE)
        names = (VANILLA, LUNULE, HASHED)
        means = {b: [study.web[b, forwards].mean / _K for forwards in (0.0, 0.5)] for b in names}
        _bars(right, ["no forwards", "the simulator's"], means)
        right.set(title="b: Web", ylabel="1,000 req/s")
