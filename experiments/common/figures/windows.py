# SPDX-License-Identifier: LGPL-2.1-or-later
"""How fast the machine was in each part of a run, and what MDSs did with their CPU then."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from experiments.common.figures.figures import Cell

SECONDS = 30.0
SETTLED_S = 60.0  # of a run that are left out
_STILL = 100  # inodes that may move meanwhile: what exports cost is no request's


@dataclass(frozen=True)
class Window:
    """A part of a run."""

    speed: float  # what the reference load did in a second of CPU, units
    served: float  # requests, for a second of all MDSs' CPU, forwards among them


def windows(cell: Cell) -> list[Window]:
    """Of a run whose MDSs' CPU was sampled; without those in which more moved than a few inodes."""
    began, ended = cell["spans"]["run"]
    rows = [row for row in cell["cpu"] if began + SETTLED_S <= row["t"] <= ended]
    cuts = _apart(rows)
    found = [_window(cell, first, last) for first, last in pairwise(cuts)]
    return [window for window in found if window is not None]


def _apart(rows: Sequence[Any]) -> list[Any]:
    """Rows that are a window apart."""
    cuts = rows[:1]
    for row in rows:
        if row["t"] - cuts[-1]["t"] >= SECONDS:
            cuts = [*cuts, row]
    return list(cuts)


def _window(cell: Cell, first: Any, last: Any) -> Window | None:
    span = first["t"], last["t"]
    samples = [sample for sample in cell["samples"] if span[0] < sample["t"] <= span[1]]
    reference = [row[1:] for row in cell["reference"] if span[0] < row[0] <= span[1]]
    idle = sum(used for _, used in reference) <= 0
    if len(samples) < 2 or idle or _grown(samples, "exported_inodes") > _STILL:
        return None
    cpu = sum(last["used"][who] - first["used"].get(who, 0.0) for who in last["used"] if _is_mds(who))
    rate = _grown(samples, "requests") / (samples[-1]["t"] - samples[0]["t"])
    speed = sum(units for units, _ in reference) / sum(used for _, used in reference)
    return Window(speed, rate * (span[1] - span[0]) / cpu)


def _is_mds(who: str) -> bool:
    return who.startswith("mds.")


def _grown(samples: Sequence[Any], counter: str) -> float:
    first, last = (sum(rank[counter] for rank in samples[i]["ranks"].values()) for i in (0, -1))
    return float(last - first)


def about_their_run(runs: Sequence[Sequence[Window]], exponent: float) -> list[float]:
    """How far what MDSs served in a window is from their run's mean, in parts of it, each window brought to
    one speed of the machine by an exponent (0: as measured)."""
    found = []
    for run in runs:
        fixed = [window.served / window.speed**exponent for window in run]
        mean = statistics.fmean(fixed)
        found += [each / mean - 1 for each in fixed]
    return found
