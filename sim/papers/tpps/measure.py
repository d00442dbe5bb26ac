# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every system over all runs and numbers of threads."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sim.model.arrays import Floats
from sim.papers.tpps.layer import Trace, served
from sim.papers.tpps.setting import Setting

THREADS = tuple(range(10, 101, 10))  # of each client
MOST = THREADS[-1]
MORE = 0.05  # by this part, in Figure 7


@dataclass(frozen=True)
class Measured:
    """One system. throughput: (runs, THREADS), req/s; over_time: (runs, minutes), req/s at MOST threads;
    missed: (runs,), part of the requests that a namenode looks up; chosen: (runs,), choices of the strategy.
    """

    throughput: Floats
    over_time: Floats
    missed: Floats
    chosen: Floats

    def response(self, setting: Setting) -> Floats:
        """(runs, THREADS), s: the mean over requests, thinking not counted (Little's law)."""
        threads = np.array(THREADS) * setting.clients
        return threads / self.throughput - setting.think_s


def measured(setting: Setting, windows: Iterable[Trace]) -> Measured:
    """One system's runs, by what a request costs in ``setting``."""
    throughput, over_time, missed, chosen = [], [], [], []
    for window in windows:
        by_threads = [served(setting, window, each * setting.clients).throughput for each in THREADS]
        throughput.append([one.mean() for one in by_threads])
        over_time.append(by_threads[-1].reshape(-1, 60).mean(axis=1))
        missed.append(window.missed)
        chosen.append(len(window.chosen))
    return Measured(*(np.array(each, dtype=float) for each in (throughput, over_time, missed, chosen)))


def slowest_and_fastest(setting: Setting, windows: Iterable[Trace]) -> Floats:
    """Figure 6: mean response of a request at the slowest and at the fastest namenode, s; (THREADS, 2)."""
    found: list[list[tuple[float, float]]] = []
    for window in windows:
        rows = []
        for each in THREADS:
            settled = served(setting, window, each * setting.clients)
            asked = settled.throughput[:, None] * window.at_node
            times = settled.waiting.sum(axis=0) / asked.sum(axis=0)
            rows.append((float(times.max()), float(times.min())))
        found.append(rows)
    mean: Floats = np.array(found).mean(axis=0)
    return mean


def critical(longer: Measured, shorter: Measured) -> int | None:
    """Figure 7: from how many threads a client on the shorter period serves more, by MORE; None: never."""
    more = shorter.throughput.mean(axis=0) >= (1.0 + MORE) * longer.throughput.mean(axis=0)
    return next((each for index, each in enumerate(THREADS) if more[index:].all()), None)


def sized(setting: Setting, entries: int) -> Setting:
    """With a cache and a ghost of ``entries`` together, 8 to 2, and as many prefetched as the ghost holds."""
    ghost = max(1, entries // 5)
    return replace(setting, cache=entries - ghost, ghost=ghost, prefetched=ghost)


def at_most_threads(setting: Setting, windows: Iterable[Trace]) -> float:
    """req/s at MOST threads a client: the mean of the windows."""
    return float(np.mean([served(setting, one, MOST * setting.clients).throughput.mean() for one in windows]))


def response(setting: Setting, throughput: float) -> float:
    """Mean response at MOST threads a client, s, thinking not counted (Little's law)."""
    return MOST * setting.clients / throughput - setting.think_s
