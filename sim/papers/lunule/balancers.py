# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule with and without its workload-aware migration planner."""

from abc import abstractmethod

import numpy as np

from sim.model.arrays import Floats
from sim.model.cluster import Cluster
from sim.model.counters import Beat
from sim.model.migrator import Order
from sim.papers.lunule.initiator import Initiator
from sim.papers.lunule.selection import Selector, indexes
from sim.policies.base import NOTHING, Context, Orders, Policy
from sim.policies.builtin import told
from sim.policies.exports import choose


class _Lunule(Policy):
    """An epoch is a beat. Only who exports anew forgets what it has queued, as in the authors' code."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._initiator = Initiator()

    def decide(self, cluster: Cluster) -> Orders:
        """An epoch; nobody balances a degraded cluster."""
        beat = cluster.beat()
        ready = self._look(cluster)
        if cluster.degraded:
            return NOTHING
        ranks = np.flatnonzero(cluster.exists & ~cluster.masked)
        found = self._initiator.decide(beat.rate[ranks], float(cluster.capacity[ranks].max()))
        orders: list[Order] = []
        deciding, said = [], []
        for row, load, exporter in zip(found.matrix, found.loads, ranks.tolist(), strict=True):
            amounts = {int(to): float(amount) for to, amount in zip(ranks, row, strict=True) if amount > 0.0}
            if amounts and ready:
                why = f"{self.name}: IF {found.factor:.3f}, load {load:.0f} req/s: {told(amounts)}"
                parts = {to: amount / float(load) for to, amount in amounts.items()}
                orders += self._select(cluster, beat, exporter, parts, why)
                deciding.append(exporter)
                said.append(f"rank {exporter}: {why}")
        return Orders(exports=tuple(orders), deciding=tuple(deciding), said=tuple(said))

    def _look(self, cluster: Cluster) -> bool:
        """An epoch ends. Can subtrees be chosen?"""
        return True

    @abstractmethod
    def _select(
        self, cluster: Cluster, beat: Beat, exporter: int, parts: dict[int, float], why: str
    ) -> list[Order]:
        """What goes. parts: of the exporter's load, by importer."""


class LunuleLight(_Lunule):
    """What is chosen is hot: as the balancer of Ceph chooses it."""

    name = "lunule-light"

    def _select(
        self, cluster: Cluster, beat: Beat, exporter: int, parts: dict[int, float], why: str
    ) -> list[Order]:
        heat = cluster.names.below(cluster.counters.popularity)
        targets = {to: part * float(beat.popularity[exporter]) for to, part in parts.items()}
        return list(choose(cluster.names, exporter, heat, targets, 0.0, why))


class LunulePaper(_Lunule):
    """What is chosen will be visited: by its migration index."""

    name = "lunule-paper"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._index: Floats | None = None
        self._rng = np.random.default_rng([context.seed, 5])

    def _look(self, cluster: Cluster) -> bool:
        """A window ends; none has before the first epoch."""
        first = cluster.visits is None
        seen = cluster.record_visits().end_window(cluster.names.inodes)
        self._index = None if first else indexes(cluster.names, seen, self._rng)
        return not first

    def _select(
        self, cluster: Cluster, beat: Beat, exporter: int, parts: dict[int, float], why: str
    ) -> list[Order]:
        assert self._index is not None
        selector = Selector(cluster.names, exporter, self._index)
        return [o for to, part in sorted(parts.items()) for o in selector.select(part, to, why)]
