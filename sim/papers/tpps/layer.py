# SPDX-License-Identifier: LGPL-2.1-or-later
"""One window: where requests end up second by second, with and without the layer in front."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.closed_network import Steady, steady
from sim.model.arrays import Floats, Ints
from sim.papers.tpps.caches import Cache, Outcome
from sim.papers.tpps.load import Second
from sim.papers.tpps.placement import Nodes
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.strategy import Choice, Period


@dataclass(frozen=True)
class Trace:
    """What each second asks of the namenodes; work follows from it, whatever a request costs.

    at_node: (seconds, namenodes), part of all requests that is looked up there; probed: the layer is asked
    first; fills: (seconds,), entries written a request; read: (seconds, namenodes), entries read to be
    prefetched, a second; chosen: namenodes chosen by the strategy, (second, namenode).
    """

    at_node: Floats
    probed: bool
    fills: Floats
    read: Floats
    chosen: tuple[tuple[int, int], ...]

    @property
    def missed(self) -> float:
        """Part of all requests that a namenode has to look up."""
        return float(self.at_node.sum(axis=1).mean())


def without_layer(setting: Setting, window: Sequence[Second], nodes: Nodes) -> Trace:
    """Every request is looked up at its file's namenode. nodes: (files,)."""
    at_node = np.array([_expected(setting, second, nodes, None) for second in window])
    return Trace(at_node, False, np.zeros(len(window)), np.zeros_like(at_node), ())


def with_layer(
    setting: Setting,
    window: Sequence[Second],
    nodes: Nodes,
    cache: Cache,
    periods: Sequence[Period],
    random: np.random.Generator,
) -> Trace:
    """The layer is asked first; the strategy's periods watch what the namenodes still get."""
    at_node, fills, read, chosen = [], [], np.zeros((len(window), setting.namenodes)), []
    for t, second in enumerate(window):
        at_node.append(_expected(setting, second, nodes, cache))
        sample = second.sample(setting.sampled, setting.files, random)
        outcomes = [cache.request(file) for file in sample.tolist()]
        fills.append(outcomes.count(Outcome.FILL) / len(outcomes))
        asked = sample[[outcome is not Outcome.HIT for outcome in outcomes]]
        for choice in _choices(periods, t + 1.0, asked, nodes):
            read[t, choice.namenode] += cache.prefetch(choice.files)
            chosen.append((t, choice.namenode))
    return Trace(np.array(at_node), True, np.array(fills), read, tuple(chosen))


def served(setting: Setting, trace: Trace, threads: int) -> Steady:
    """What the threads of all clients together get in each second; see ``Steady``. threads: all clients'."""
    work = trace.at_node + trace.fills[:, None] * setting.copy
    if trace.probed:
        work = work + setting.probe / setting.namenodes
    # An entry that is prefetched is read once and written into every replica.
    busy = (trace.read + setting.copy * trace.read.sum(axis=1, keepdims=True)) / setting.capacity
    return steady(work / setting.capacity / np.maximum(0.01, 1.0 - busy), threads, setting.think_s)


def _choices(periods: Sequence[Period], now: float, asked: Ints, nodes: Nodes) -> list[Choice]:
    found = [period.step(now, asked, nodes) for period in periods]
    return [choice for choice in found if choice is not None]


def _expected(setting: Setting, second: Second, nodes: Nodes, cache: Cache | None) -> Floats:
    """Part of all requests that each namenode is asked for, exactly: a sample would look uneven by chance."""
    rest = np.bincount(nodes, minlength=setting.namenodes) / setting.files * second.rest
    missed = second.shares
    if cache is not None:
        held = np.array([cache.holds(file) for file in second.files.tolist()], dtype=bool)
        missed = np.where(held, 0.0, missed)
        # The rest of what is cached is taken to be spread as the files are.
        rest *= 1.0 - (len(cache) - held.sum()) / max(1, setting.files - len(held))
    at_node: Floats = rest
    np.add.at(at_node, nodes[second.files], missed)
    return at_node
