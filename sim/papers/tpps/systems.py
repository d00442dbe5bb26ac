# SPDX-License-Identifier: LGPL-2.1-or-later
"""The systems that are compared: a placement, a cache in front or none, a strategy or none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sim.papers.tpps import caches, layer, load, placement
from sim.papers.tpps.placement import Nodes
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.strategy import Period, Rule, algorithm_1, algorithm_2


@dataclass(frozen=True)
class System:
    """place: file to namenode; cache: made for each run; rule: over periods of window / ``parts`` at once."""

    place: Callable[[Setting], Nodes]
    cache: Callable[[Setting], caches.Cache] | None = None
    rule: Rule | None = None
    parts: tuple[int, ...] = ()


def _foretold(rule: Rule, *parts: int) -> System:
    return System(placement.by_subtree, lambda s: caches.PrefetchedOnly(s.cache), rule, parts)


def _parc(place: Callable[[Setting], Nodes]) -> System:
    return System(place, lambda s: caches.Parc(s.cache, s.ghost), algorithm_2, (1, 2, 4))


SYSTEMS: Mapping[str, System] = {
    "subtree": System(placement.by_subtree),
    "hash": System(placement.by_hash),
    # What names alone take is not counted: LRU and ARC have the room of both queues for entries.
    "LRU": System(placement.by_subtree, lambda s: caches.lru(s.cache + s.ghost)),
    "ARC": System(placement.by_subtree, lambda s: caches.arc(s.cache + s.ghost)),
    "two queues": System(placement.by_subtree, lambda s: caches.TwoQueues(s.cache, s.ghost)),
    "PARC": _parc(placement.by_subtree),
    "PARC on hash": _parc(placement.by_hash),
    "1: T": _foretold(algorithm_1, 1),
    "1: T/2": _foretold(algorithm_1, 2),
    "1: T/4": _foretold(algorithm_1, 4),
    "1: T, T/2, T/4": _foretold(algorithm_1, 1, 2, 4),
    "2: T": _foretold(algorithm_2, 1),
    "2: T, T/2": _foretold(algorithm_2, 1, 2),
    "2: T, T/2, T/4": _foretold(algorithm_2, 1, 2, 4),
}


def trace(setting: Setting, system: System, seed: int) -> layer.Trace:
    """One window. The same seed gives every system the same hot spots and every cache the same requests."""
    spots = load.hot_spots(setting, np.random.default_rng([seed, 0]))
    window = load.seconds(setting, spots)
    nodes = system.place(setting)
    if system.cache is None:
        return layer.without_layer(setting, window, nodes)
    periods = _periods(setting, system, seed)
    requests = np.random.default_rng([seed, 1])
    return layer.with_layer(setting, window, nodes, system.cache(setting), periods, requests)


def _periods(setting: Setting, system: System, seed: int) -> list[Period]:
    if system.rule is None:
        return []
    return [
        Period(setting, system.rule, setting.window_s / part, np.random.default_rng([seed, 2, part]))
        for part in system.parts
    ]
