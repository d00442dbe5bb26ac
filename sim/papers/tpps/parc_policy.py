# SPDX-License-Identifier: LGPL-2.1-or-later
"""PARC on the simulator's clusters: a replicated cache in front of namenodes by subtree (sections IV, V)."""

from dataclasses import replace

import numpy as np

from sim.model.arrays import Floats, Ints, sums
from sim.model.cluster import Cluster
from sim.model.service import Service
from sim.model.trips import Trip, Trips
from sim.papers.tpps.caches import Outcome, Parc
from sim.papers.tpps.measure import sized
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.strategy import Period, algorithm_2
from sim.papers.tpps.subtree_policy import namenodes, subtrees
from sim.policies.base import Orders
from sim.policies.service import Placed, Placement, at_home, files_of

AT_ONCE = (1, 2, 4)  # the strategy runs over the window, its half and its quarter
MOST_DRAWN = 1_000  # requests a second that the cache is shown


class ParcLayer(Placed):
    """A read asks the layer first, on a server taken at random: all of them have the same in it. For what is
    not there the file's namenode is asked. The cache, its part of all files and the strategy are those of
    ``sim paper tpps``; the files are those of the scenario's directories.

    What a model of mean values cannot tell: which file of a directory is asked for (here: all alike, so that
    a directory is hot and never a file), and in which order; the cache is shown a sample of the requests.
    That entries become stale when files are made and deleted is not modelled, nor told in the paper.
    """

    name = "parc"

    def place(self, cluster: Cluster, servers: Ints) -> Placement:
        return Layer(cluster, servers, self.context.seed)


def setting_of(namenodes: int, files: int) -> Setting:
    """The paper's setting for other numbers of namenodes and files; the cache has the same part of them."""
    base = Setting()
    entries = files * (base.cache + base.ghost) // base.files
    return sized(replace(base, namenodes=namenodes, files=files), entries)


class Layer(Placement):
    """The cache, the strategy that fills it, and the namenodes behind it."""

    def __init__(self, cluster: Cluster, servers: Ints, seed: int) -> None:
        tree = cluster.tree
        self._rng = np.random.default_rng([seed, 4])
        self._files = files_of(tree)  # (directories,)
        self._first: Ints = np.cumsum(self._files) - self._files  # (directories,) file of each
        self._directory_of: Ints = np.repeat(np.arange(tree.size), self._files)  # (files,)
        self._node_of = namenodes(tree, servers.size)[self._directory_of]  # (files,)
        self._home = subtrees(tree, servers, cluster.ranks)
        self._setting = setting_of(int(servers.size), int(self._files.sum()))
        self._cache = Parc(self._setting.cache, self._setting.ghost)
        self._periods = [
            Period(self._setting, algorithm_2, self._setting.window_s / part, self._rng) for part in AT_ONCE
        ]
        self._before = np.zeros(tree.size)  # requests of each directory
        super().__init__(self._trips(cluster, 0.0))

    def go_on(self, cluster: Cluster) -> Orders:
        """The layer has seen a second's requests."""
        assert isinstance(cluster, Service)
        drawn = self._drawn(cluster.requests - self._before)
        self._before = cluster.requests.copy()
        outcomes = [self._cache.request(file) for file in drawn.tolist()]
        missed = drawn[[outcome is not Outcome.HIT for outcome in outcomes]]
        for period in self._periods:
            choice = period.step(cluster.now, missed, self._node_of)
            if choice is not None:
                self._cache.prefetch(choice.files)
        return Orders(trips=self._trips(cluster, outcomes.count(Outcome.FILL) / max(1, len(outcomes))))

    def _drawn(self, requests: Floats) -> Ints:
        """Files of a sample of a second's requests. requests: (directories,)"""
        total = float(requests.sum())
        count = min(MOST_DRAWN, int(total))
        if not count:
            return np.zeros(0, dtype=np.int64)
        directories = self._rng.choice(requests.size, count, p=requests / total)
        inside = np.floor(self._rng.random(count) * self._files[directories]).astype(np.int64)
        return np.asarray(self._first[directories] + inside)

    def _trips(self, cluster: Cluster, fills: float) -> Trips:
        """fills: entries that a read writes into every replica, in the mean."""
        held = self._directory_of[np.fromiter(self._cache.files(), np.int64, len(self._cache))]
        hit = (sums(held, np.ones(held.size), self._files.size) / self._files)[:, None]
        there = cluster.exists & cluster.up
        replica = there / np.count_nonzero(there)
        missed = (1.0 - hit) * self._home
        read = Trip(
            answered=hit * replica + missed,
            waits=replica + missed,
            work=self._setting.probe * replica + self._setting.copy * fills * there + missed,
        )
        return Trips(read, at_home(self._home))
