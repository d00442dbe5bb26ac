# SPDX-License-Identifier: LGPL-2.1-or-later
"""The picture: op/s, load a rank and IF over time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.common.figures.factor import THRESHOLD
from experiments.common.pictures import RANK_COLOURS, canvas

_SMOOTH_S = 5
_LINE = 13  # points


def draw(run: Mapping[str, Any], path: Path) -> None:
    """Draw a run (what the JSON file holds) as a PNG."""
    series = run["series"]
    title = (
        f"{len(series['loads'][0][1])} MDS ranks at {run['cpu_percent']} % of a core each, "
        f"{run['subvolumes']} subvolumes, Ceph {run['release']}"
    )
    shape = {"figsize": (10, 8), "gridspec_kw": {"height_ratios": (2, 3, 2)}}
    with canvas(3, 1, title, path, sharex=True, **shape) as panels:
        ops, load, factor = panels.flat
        _ops(ops, run)
        _load(load, series)
        _factor(factor, run)
        for axes in (ops, load, factor):
            _marks(axes, series["marks"], labelled=axes is ops)
            axes.set_ylim(bottom=0)
        factor.set_xlabel("seconds")
        factor.set_xlim(0, series["ops"][-1][0])


def _ops(axes: Any, run: Mapping[str, Any]) -> None:
    times, values = zip(*run["series"]["ops"], strict=True)
    axes.plot(times, values, color="#bbbbbb", linewidth=1, label="each second")
    axes.plot(times, _smooth(values), color="#222222", linewidth=1.8, label=f"mean of {_SMOOTH_S} s")
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, ncols=2, fontsize=8)
    axes.set_ylabel("clients, op/s")
    axes.margins(y=0.25)


def _smooth(values: Sequence[float]) -> list[float]:
    """Centred moving mean, of what there is at the ends."""
    reach = _SMOOTH_S // 2
    windows = (values[max(0, i - reach) : i + reach + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def _load(axes: Any, series: Mapping[str, Any]) -> None:
    times, rows = zip(*series["loads"], strict=True)
    for rank, values in enumerate(zip(*rows, strict=True)):
        axes.plot(
            times,
            values,
            color=RANK_COLOURS[rank],
            linewidth=1.8,
            marker=".",
            label=f"rank {rank}",
        )
    axes.set_ylabel("load of a rank, req/s")
    axes.legend(loc="upper left", frameon=True, framealpha=0.9, ncols=len(rows[0]))
    axes.margins(y=0.2)


def _factor(axes: Any, run: Mapping[str, Any]) -> None:
    times, values = zip(*run["series"]["imbalance_factor"], strict=True)
    axes.plot(times, values, color="#d55e00", linewidth=1.8, marker=".")
    axes.axhline(THRESHOLD, color="#444444", linestyle=":", linewidth=1)
    axes.annotate(
        f"threshold {THRESHOLD}",
        (0, THRESHOLD),
        xytext=(4, 3),
        textcoords="offset points",
        fontsize=8,
        color="#444444",
    )
    axes.set_ylabel("imbalance factor")
    axes.annotate(
        f"C = {run['capacity']['value']:.0f} req/s a rank, {run['capacity']['source']}",
        (0.995, 0.93),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=8,
        color="#444444",
    )


def _marks(axes: Any, marks: Mapping[str, float], *, labelled: bool) -> None:
    for number, (name, t) in enumerate(marks.items()):
        axes.axvline(t, color="#777777", linestyle="--", linewidth=1)
        if labelled:
            axes.annotate(
                name,
                (t, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(3, -2 - _LINE * (number % 2)),  # two lines: marks may be near each other
                textcoords="offset points",
                va="top",
                fontsize=9,
                color="#333333",
                backgroundcolor="#ffffffcc",
            )
