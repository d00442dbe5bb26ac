# SPDX-License-Identifier: LGPL-2.1-or-later
"""CephFS-Vanilla: the balancer of Ceph 12.2 (src/mds/MDBalancer.cc, src/mds/MDSRank.h), in our words.

What differs from 20.2's (sim/policies/builtin.py): its req_rate is the number of requests since the MDS
began, not those of a second (MDSRank::get_req_rate of Luminous), and soon outweighs all else in a load. Any
rank above the mean is an exporter in the matrix; each rank looks after itself whether it is far enough above
it for two beats. Amounts below a fifth of the mean are left out. Whole imports only go back to where they
came from. There is no mask.

The matrix is matched as 20.2 does it, which goes on where 12.2 stops: at an exporter that has nothing left.
"""

from collections.abc import Mapping

import numpy as np

from sim.model.arrays import Floats
from sim.model.cluster import Cluster
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.model.tree import ROOT
from sim.policies.base import NOTHING, Context, Orders, Policy
from sim.policies.builtin import MIN_REBALANCE, QUEUE, homes, match, told
from sim.policies.exports import LEAST, Search, subtrees_of, whole

LEAST_PART = 0.2  # of the mean: MDBalancer::try_rebalance
BEATS = 2  # above the mean


class Vanilla(Policy):
    """``mds_bal_mode`` 0, as the paper ran it."""

    name = "vanilla"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._beat = 0
        self._under: dict[int, int] = {}  # the last beat at which a rank was not far above the mean

    def decide(self, cluster: Cluster) -> Orders:
        """A beat; nobody balances a degraded cluster."""
        beat = cluster.beat()
        if cluster.degraded:
            return NOTHING
        self._beat += 1
        ranks = np.flatnonzero(cluster.exists)
        loads = (beat.popularity + cluster.counters.received + QUEUE * beat.queue)[ranks]
        mean = float(loads.mean())
        exporters = [int(r) for r in np.argsort(loads, kind="stable") if loads[r] >= mean]
        rows = match(
            loads, np.full(loads.size, mean), exporters, homes(cluster.names), self._beat % 2 == 1
        ).by_rank
        names, heat = cluster.names, cluster.names.below(cluster.counters.popularity)
        orders: list[Order] = []
        said = []
        for rank in ranks.tolist():
            if not self._over(rank, float(loads[rank]), mean) or rank not in rows:
                continue
            scale = float(beat.popularity[rank] / loads[rank])
            targets = {to: amount * scale for to, amount in rows[rank].items()}
            why = f"load {loads[rank]:.0f}, mean {mean:.0f}"
            orders += choose(names, rank, heat, targets, mean * scale, f"vanilla: {why}")
            said.append(f"rank {rank}: {why}: {told(targets)}")
        return Orders(exports=tuple(orders), deciding=tuple(ranks.tolist()), said=tuple(said))

    def _over(self, rank: int, load: float, mean: float) -> bool:
        """Is it far enough above the mean, for long enough?"""
        if load < mean * (1.0 + MIN_REBALANCE):
            self._under[rank] = self._beat
        return rank not in self._under or self._beat - self._under[rank] >= BEATS


def choose(
    names: Namespace, rank: int, heat: Floats, targets: Mapping[int, float], mean: float, why: str
) -> tuple[Order, ...]:
    """The exports of a rank (MDBalancer::try_rebalance of 12.2). heat: (directories,); targets and mean are
    popularity."""
    tree = names.tree
    mine = subtrees_of(names, rank)
    search = Search(names, rank, heat)
    for to, amount in sorted(targets.items()):
        if amount < LEAST or amount < LEAST_PART * mean:
            continue
        home = [(float(heat[d]), d) for d in mine.tolist() if d != ROOT and names.auth[tree.parent[d]] == to]
        had = {to: 0.0}
        whole(search, home, to, {to: amount}, had, 0.0)
        for directory in mine.tolist():
            if amount - had[to] < LEAST:
                break
            if directory not in search.chosen:
                had[to] = search.find(directory, amount, had[to], to)
    return tuple(Order(d, to, why) for d, to in search.chosen.items())
