# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ceph's own balancer: MDBalancer::prep_rebalance (src/mds/MDBalancer.cc of 20.2), in our words.

Its defaults: mds_bal_mode 0, mds_bal_min_rebalance 0.1. bal_rank_mask is what an operator left for balancing:
a rank outside exports all of its load, and imports nothing. What a rank holds for others counts in
all.meta_load; here it is taken for what it has itself.
"""

from dataclasses import dataclass, field

import numpy as np

from sim.model.arrays import Bools, Floats
from sim.model.cluster import Cluster
from sim.model.counters import Beat
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.policies.base import NOTHING, Context, Orders, Policy
from sim.policies.exports import choose

MIN_REBALANCE = 0.1  # mds_bal_min_rebalance
QUEUE = 10.0  # of mds_load_t::mds_load: load of a request that waits
TINY = 0.001


def mds_load(beat: Beat) -> Floats:
    """(ranks,): mds_load_t::mds_load in mds_bal_mode 0."""
    return np.asarray(beat.popularity + beat.rate + QUEUE * beat.queue)


@dataclass
class Match:
    """Who hands how much to whom. (ranks,) load, target; by_rank[exporter][importer]: amounts."""

    load: Floats
    target: Floats
    exported: Floats = field(init=False)
    imported: Floats = field(init=False)
    by_rank: dict[int, dict[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exported, self.imported = np.zeros(self.load.size), np.zeros(self.load.size)

    def surplus(self, rank: int) -> float:
        """What it may still give."""
        return float(self.load[rank] - self.target[rank] - self.exported[rank])

    def room(self, rank: int) -> float:
        """What it may still take."""
        return float(self.target[rank] - self.load[rank] - self.imported[rank])

    def give(self, exporter: int, importer: int) -> None:
        """As much as goes."""
        amount = min(self.surplus(exporter), self.room(importer))
        if amount > 0.0:
            row = self.by_rank.setdefault(exporter, {})
            row[importer] = row.get(importer, 0.0) + amount
            self.exported[exporter] += amount
            self.imported[importer] += amount


def match(load: Floats, target: Floats, exporters: list[int], came: dict[int, list[int]], odd: bool) -> Match:
    """The matrix of a beat.

    :param target: (ranks,) what each should have
    :param exporters: by load, the smallest first
    :param came: of each rank, the ranks that it has subtrees from, which get some back first
    :param odd: the beat's number is odd: the largest exporters first
    """
    found = Match(load, target)
    for exporter in reversed(exporters):
        for origin in came.get(exporter, ()):
            if found.surplus(exporter) > TINY and found.room(origin) > TINY:
                found.give(exporter, origin)
    order = list(reversed(exporters)) if odd else exporters
    importers = [int(r) for r in np.argsort(load, kind="stable") if load[r] < target[r]]
    e = i = 0
    while e < len(order) and i < len(importers):
        if found.surplus(order[e]) < TINY:
            e += 1
        elif found.room(importers[i]) < TINY:
            i += 1
        else:
            found.give(order[e], importers[i])
    return found


def homes(names: Namespace) -> dict[int, list[int]]:
    """By rank: the ranks that it has subtrees from."""
    roots = np.flatnonzero(names.bounds)[1:]
    came: dict[int, set[int]] = {}
    for rank, home in zip(names.auth[roots], names.auth[names.tree.parent[roots]], strict=True):
        if rank != home:
            came.setdefault(int(rank), set()).add(int(home))
    return {rank: sorted(found) for rank, found in came.items()}


class BuiltIn(Policy):
    """``balance_automate`` with no policy named."""

    name = "builtin"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._beat = 0
        self._under: dict[int, int] = {}  # the last beat at which a rank was not above the mean

    def decide(self, cluster: Cluster) -> Orders:
        """A beat; nobody balances a degraded cluster."""
        beat = cluster.beat()
        if cluster.degraded:
            return NOTHING
        self._beat += 1
        ranks = np.flatnonzero(cluster.exists)
        load = mds_load(beat)[ranks]
        masked_in = ~self.outside(cluster)[ranks]
        if not masked_in.any():
            return NOTHING
        mean = float(load.sum() / masked_in.sum())
        exporters = self._exporters(load, mean, masked_in)
        names, heat = cluster.names, cluster.names.below(cluster.counters.popularity)
        target = np.where(masked_in, mean, 0.0)
        found = match(load, target, exporters, homes(names), self._beat % 2 == 1)
        orders: list[Order] = []
        said = []
        for exporter, row in sorted(found.by_rank.items()):
            scale = float(beat.popularity[exporter] / load[exporter])
            targets = {to: amount * scale for to, amount in row.items()}
            why = f"load {load[exporter]:.0f}, mean {mean:.0f}"
            orders += choose(names, exporter, heat, targets, mean * scale, f"builtin: {why}")
            said.append(f"rank {exporter}: {why}: " + told(targets))
        return Orders(exports=tuple(orders), deciding=tuple(ranks.tolist()), said=tuple(said))

    def outside(self, cluster: Cluster) -> Bools:
        """(ranks,): those outside bal_rank_mask."""
        return cluster.masked

    def _exporters(self, load: Floats, mean: float, masked_in: Bools) -> list[int]:
        """Ranks above the mean for two beats, and those outside the mask, by load."""
        for rank in np.flatnonzero(masked_in & (load < mean * (1.0 + MIN_REBALANCE))).tolist():
            self._under[rank] = self._beat
        return [
            int(rank)
            for rank in np.argsort(load, kind="stable")
            if (load[rank] >= mean or not masked_in[rank])
            and not (rank in self._under and self._beat - self._under[int(rank)] < 2)
        ]


def told(targets: dict[int, float]) -> str:
    """Amounts by rank, for people."""
    return ", ".join(f"{amount:.0f} to {to}" for to, amount in sorted(targets.items()))
