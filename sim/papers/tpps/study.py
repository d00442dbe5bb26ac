# SPDX-License-Identifier: LGPL-2.1-or-later
"""Everything the report shows, computed once."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track

from sim.model.arrays import Floats
from sim.papers.tpps.detect import first_better, looking, records
from sim.papers.tpps.layer import Trace
from sim.papers.tpps.measure import (
    Measured,
    at_most_threads,
    critical,
    measured,
    response,
    sized,
    slowest_and_fastest,
)
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.systems import SYSTEMS, trace

T = TypeVar("T")

SIZES = (10, 100, 1_000, 10_000)  # entries of cache and ghost together
CACHES = ("LRU", "ARC", "two queues", "PARC")
VARIED = ("subtree", "hash", *CACHES, "1: T/4", "2: T, T/2, T/4")
THINKING = (0.002, 0.005, 0.010, 0.015)  # s
_FEW = 3  # runs, where many settings are compared
_TRIALS = 20_000


@dataclass(frozen=True)
class Laws:
    """The paper's mathematics, tried on random orders of n scores. records: found by Algorithm 1, mean;
    success: part of the orders in which Algorithm 2 finds the highest; formula: the paper's sum for it.
    """

    records: float
    success: float
    formula: float


@dataclass(frozen=True)
class Study:
    """shares: (seconds, namenodes) of one run by subtree; gap: (THREADS, 2), s, Figure 6;
    sizes: (SIZES,), mean response by cache, s; varied: req/s by changed setting and system;
    critical: threads a client from which T/4 serves more than T, by time to think, s (Figure 7).
    """

    setting: Setting
    shares: Floats
    systems: Mapping[str, Measured]
    gap: Floats
    sizes: Mapping[str, Floats]
    varied: Mapping[str, Mapping[str, float]]
    critical: Mapping[float, int | None]
    laws: Laws


def study(setting: Setting) -> Study:
    """Some two minutes on one core. Shows its progress on stderr."""
    all_windows: dict[str, list[Trace]] = {name: [] for name in SYSTEMS}
    for seed in _shown(range(setting.runs), "windows"):
        for name, system in SYSTEMS.items():
            all_windows[name].append(trace(setting, system, seed))
    return Study(
        setting,
        all_windows["subtree"][0].at_node,
        {name: measured(setting, windows) for name, windows in _shown(all_windows.items(), "measures")},
        slowest_and_fastest(setting, all_windows["subtree"]),
        {name: _by_size(setting, name) for name in _shown(CACHES, "sizes")},
        _varied(setting, {name: all_windows[name][:_FEW] for name in VARIED}),
        {
            think: _critical(replace(setting, think_s=think), all_windows)
            for think in _shown(THINKING, "thinking")
        },
        _laws(setting.namenodes),
    )


def changes(base: Setting) -> dict[str, Setting]:
    """What the paper does not give, one thing changed at a time."""
    return {
        "as assumed": base,
        "probe 0.25": replace(base, probe=0.25),
        "probe 1": replace(base, probe=1.0),
        "copy 0": replace(base, copy=0.0),
        "copy 1": replace(base, copy=1.0),
        "think_s 0.002": replace(base, think_s=0.002),
        "think_s 0.015": replace(base, think_s=0.015),
        "warning 0": replace(base, warning=0.0),
        "sudden_for_s 30": replace(base, sudden_for_s=30.0),
        "directory_files 100": replace(base, directory_files=100),
    }


def peak_minute(curve: Floats, at_least: float) -> int | None:
    """The first minute, from 1, in which a curve of minutes is at ``at_least``; None: never."""
    there = np.flatnonzero(curve >= at_least)
    return int(there[0]) + 1 if len(there) else None


def _shown(items: Iterable[T], what: str) -> Iterable[T]:
    console = Console(file=sys.stderr)
    return track(list(items), f"tpps: {what}", console=console, transient=True)


def _runs(setting: Setting, name: str) -> list[Trace]:
    return [trace(setting, SYSTEMS[name], seed) for seed in range(_FEW)]


def _by_size(setting: Setting, name: str) -> Floats:
    settings = [sized(setting, entries) for entries in SIZES]
    return np.array([response(one, at_most_threads(one, _runs(one, name))) for one in settings])


def _varied(setting: Setting, windows: Mapping[str, Sequence[Trace]]) -> dict[str, dict[str, float]]:
    found = {}
    for label, other in _shown(changes(setting).items(), "other settings"):
        # The price of a request does not change where it goes: the windows stay as they are.
        priced = replace(other, probe=setting.probe, copy=setting.copy, think_s=setting.think_s)
        found[label] = {
            name: at_most_threads(other, windows[name] if priced == setting else _runs(other, name))
            for name in VARIED
        }
    return found


def _critical(setting: Setting, windows: Mapping[str, Sequence[Trace]]) -> int | None:
    return critical(measured(setting, windows["1: T"]), measured(setting, windows["1: T/4"]))


def _laws(n: int) -> Laws:
    random = np.random.default_rng(0)
    found, won = 0, 0
    for _ in range(_TRIALS):
        scores = (random.permutation(n) + 1.0).tolist()
        found += len(records(scores, 0.0))
        index = first_better(scores, n, 0.0)
        won += index is not None and scores[index] == n
    k = looking(n)
    formula = k / n * math.fsum(1.0 / i for i in range(k, n))
    return Laws(found / _TRIALS, won / _TRIALS, formula)
