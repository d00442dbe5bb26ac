# SPDX-License-Identifier: LGPL-2.1-or-later
"""TPPS (section IV-B): in each unit of time one namenode is looked at; if chosen, its hot files are told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Ints
from sim.papers.tpps.detect import first_better, records
from sim.papers.tpps.placement import Nodes
from sim.papers.tpps.setting import Setting

# (scores so far, how many there will be, warning level) -> whether the last of them is chosen
Rule = Callable[[Sequence[float], int, float], bool]


def algorithm_1(scores: Sequence[float], n: int, warning: float) -> bool:
    return len(scores) - 1 in records(scores, warning)


def algorithm_2(scores: Sequence[float], n: int, warning: float) -> bool:
    return first_better(scores, n, warning) == len(scores) - 1


@dataclass(frozen=True)
class Choice:
    """A namenode whose hottest files are to be prefetched, hottest first."""

    namenode: int
    files: list[int]


class Period:
    """One adjustment period after the other: T = n t, each namenode is looked at for t, in random order."""

    def __init__(self, setting: Setting, rule: Rule, length: float, random: np.random.Generator) -> None:
        """length: T, s."""
        self._setting = setting
        self._rule = rule
        self._unit = length / setting.namenodes
        self._random = random
        self._order = random.permutation(setting.namenodes)
        self._scores: list[float] = []
        self._seen = np.zeros(setting.files, dtype=np.int64)
        self._ends = self._unit

    def step(self, now: float, asked: Ints, nodes: Nodes) -> Choice | None:
        """A second has gone by. asked: (requests,), files that the namenodes were asked for in it."""
        np.add.at(self._seen, asked, 1)
        if now < self._ends:
            return None
        self._ends += self._unit
        choice = self._look(nodes)
        self._seen[:] = 0
        if len(self._scores) == self._setting.namenodes:
            self._scores = []
            self._order = self._random.permutation(self._setting.namenodes)
        return choice

    def _look(self, nodes: Nodes) -> Choice | None:
        n = self._setting.namenodes
        node = int(self._order[len(self._scores)])
        loads = np.bincount(nodes, weights=self._seen, minlength=n)
        self._scores.append(float(loads[node] / max(1.0, loads.sum())))
        if not self._rule(self._scores, n, self._setting.warning / n):
            return None
        return Choice(node, self._hottest(np.flatnonzero((nodes == node) & (self._seen > 0))))

    def _hottest(self, files: Ints) -> list[int]:
        order = np.argsort(-self._seen[files], kind="stable")[: self._setting.prefetched]
        return [int(file) for file in files[order]]
