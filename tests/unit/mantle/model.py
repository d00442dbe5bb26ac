# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster on stock MDSs under the real lunule.lua, where an order takes effect some beats late.

Harder than an MDS in two ways: the exporter serves a subtree until it has gone, so that nothing tells
that it is on its way; and an order that is repeated meanwhile finds other subtrees, never the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.mantle.support import LUA, Metrics, source

BEAT_S = 10.0
POPULARITY = 7.2  # meta_load for each req/s, steady
KEPT = 0.25  # of a popularity that is not renewed, after a beat: two half-lives of 5 s
# The error that a stock MDS's Lua gives for a file that is no Lua; here the file is part of the metrics.
CLOCK = """
loadfile = function(path)
  return nil, path .. ":1: unexpected symbol near '" .. string.format("%.2f", mds[whoami].uptime) .. "'"
end
"""
NO_CLOCK = 'loadfile = function(path) return nil, "cannot open " .. path end\n'


@dataclass
class Subtree:
    """demand, served: req/s; popularity: its meta_load; leaves: (beat, importer) once an order took it."""

    demand: float
    rank: int
    served: float = 0.0
    popularity: float = 0.0
    leaves: tuple[int, int] | None = None


@dataclass
class Model:
    """Beats of one cluster."""

    subtrees: list[Subtree]
    ranks: int
    delay: int  # beats
    capacity: float  # req/s, what the policy is told
    most: float = math.inf  # req/s that a rank serves
    clock: bool = True
    noise: float = 0.0  # of each metric, relative
    hints: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    beat: int = 0
    moved: float = 0.0  # demand that changed its rank, req/s
    last_move: int | None = None  # beat

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._booted = [self._random.uniform(0, 1e6) for _ in range(self.ranks)]
        self._text = (CLOCK if self.clock else NO_CLOCK) + source(
            "lunule", {"capacity": self.capacity, **self.hints}
        )
        for _ in range(20):
            self._serve()

    def loads(self) -> list[float]:
        """Demand by rank, req/s: what would be served if no rank were full."""
        loads = [0.0] * self.ranks
        for subtree in self.subtrees:
            loads[subtree.rank] += subtree.demand
        return loads

    def factor(self) -> float:
        """CoV of what is served over sqrt(n): the IF of a cluster whose busiest rank is full."""
        loads = [min(self.most, load) for load in self.loads()]
        mean = sum(loads) / len(loads)
        variance = sum((x - mean) ** 2 for x in loads) / (len(loads) - 1)
        return float(variance**0.5 / mean / len(loads) ** 0.5)

    def surplus(self) -> float:
        """Demand above the mean: the least that has to be moved, req/s."""
        loads = self.loads()
        mean = sum(loads) / len(loads)
        return sum(max(0.0, load - mean) for load in loads)

    def step(self) -> None:
        """A beat: a time of serving, what is due leaves, then everybody decides."""
        rates = self._serve()
        for subtree in self.subtrees:
            if subtree.leaves and subtree.leaves[0] <= self.beat:
                subtree.rank, subtree.leaves = subtree.leaves[1], None
                self.moved, self.last_move = self.moved + subtree.demand, self.beat
        seen = self._metrics(rates)
        mean = sum(rates) / self.ranks
        busy = [rank for rank in range(self.ranks) if seen[rank]["req_rate"] > 0.9 * mean]
        answers = LUA.answers(self._text, [(rank, seen, None) for rank in busy])
        for rank, answer in zip(busy, answers):
            for importer, amount in enumerate(answer.targets):
                self._export(rank, importer, amount)
        self.beat += 1

    def _serve(self) -> list[float]:
        loads = self.loads()
        part = [min(1.0, self.most / load) if load else 1.0 for load in loads]
        for subtree in self.subtrees:
            subtree.served = subtree.demand * part[subtree.rank]
            steady = POPULARITY * subtree.served
            subtree.popularity = KEPT * subtree.popularity + (1 - KEPT) * steady
        return [load * p for load, p in zip(loads, part)]

    def _metrics(self, rates: Sequence[float]) -> Metrics:
        heat = [0.0] * self.ranks
        for subtree in self.subtrees:
            heat[subtree.rank] += subtree.popularity

        def noisy(value: float) -> float:
            return value * (1 + self.noise * self._random.uniform(-1, 1))

        return [
            {
                "auth.meta_load": noisy(heat[rank]),
                "all.meta_load": noisy(heat[rank]),
                "req_rate": noisy(rates[rank]),
                "queue_len": 0.0,
                "cpu_load_avg": noisy(1.0 + 60 * rates[rank] / self.capacity),
                "uptime": self._booted[rank] + BEAT_S * self.beat,
            }
            for rank in range(self.ranks)
        ]

    def _export(self, exporter: int, importer: int, amount: float) -> None:
        """As find_exports picks one level of directories (MDBalancer.cc): mds_bal_need_min 0.8, _max 1.2."""
        if amount < 10:  # MIN_OFFLOAD
            return
        mine = [s for s in self.subtrees if s.rank == exporter and s.leaves is None]
        fits = [s for s in mine if 0.8 * amount < s.popularity < 1.2 * amount]
        smaller = sorted((s for s in mine if s.popularity <= amount), key=lambda s: -s.popularity)
        have, chosen = 0.0, fits[:1]
        for subtree in smaller if not fits else ():
            if have > 0.8 * amount:
                break
            chosen.append(subtree)
            have += subtree.popularity
        for subtree in chosen:
            subtree.leaves = (self.beat + 1 + self.delay, importer)
