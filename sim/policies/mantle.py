# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Mantle policies that ship, run by the module's own sandbox as stock MDSs run them, with the hints that
the module writes."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from mds_partitioner.policy.beats import metrics
from mds_partitioner.policy.hints import Hints, make_hints, policy_object, push_due
from mds_partitioner.policy.policies import source_of
from mds_partitioner.policy.sandbox.decide import Sandbox
from sim.model.cluster import Cluster
from sim.model.counters import Beat
from sim.model.migrator import Order
from sim.policies.base import NOTHING, Context, Orders, Policy
from sim.policies.exports import LEAST, choose
from sim.policies.manager import Manager, fs_state

LONGEST_UPTIME = 1e6  # s
# A host's uptime, as Lua gets it on an MDS: from the error that a file gives which is no Lua.
CLOCK = """loadfile = function(path)
  return nil, path .. ":1: unexpected symbol near '" .. string.format("%.2f", mds[whoami].uptime) .. "'"
end """


class Mantle(Policy):
    """``balance on`` with one of the shipped policies."""

    shipped: ClassVar[str]

    def __init__(self, context: Context) -> None:
        """``file`` in the scenario's table of the policy: the path of a text in place of the shipped one."""
        super().__init__(context)
        given = context.extra.get("file")
        self._source = source_of(self.shipped) if given is None else Path(given).read_text()
        self._manager = Manager(context.settings, context.mask)
        self._hints: Hints | None = None
        self._pushed = -np.inf
        rng = np.random.default_rng([context.seed, 1])
        self._booted = rng.uniform(0.0, LONGEST_UPTIME, 1024)
        self._sandbox: Sandbox | None = None

    def decide(self, cluster: Cluster) -> Orders:
        """A beat: the module looks after its hints, then every rank decides for itself."""
        beat = cluster.beat()
        if cluster.degraded:
            return NOTHING
        self._push(cluster)
        assert self._sandbox is not None
        ranks = np.flatnonzero(cluster.exists).tolist()
        self._sandbox.see([self._metrics(beat, rank) for rank in ranks])
        names = cluster.names
        heat = names.below(cluster.counters.popularity)
        orders: list[Order] = []
        said = []
        for rank in ranks:
            if beat.popularity[rank] < LEAST:
                continue  # it could give nothing, whatever it decides
            answer = self._sandbox.decide(rank)
            targets = {to: amount for to, amount in enumerate(answer.targets) if amount > 0.0}
            line = "; ".join(text for _, text in answer.log)
            if targets:
                orders += choose(names, rank, heat, targets, 0.0, line)
                said.append(f"rank {rank}: {line}")
        return Orders(exports=tuple(orders), deciding=tuple(ranks), said=tuple(said))

    def close(self) -> None:
        """End the process that policies run in."""
        if self._sandbox is not None:
            self._sandbox.__exit__(None, None, None)

    def _push(self, cluster: Cluster) -> None:
        """New hints when they are due, as balancer.py does it."""
        settings, now = self.context.settings, cluster.now
        self._manager.sample(cluster)
        verdict = self._manager.judge(cluster)
        wanted = make_hints(fs_state(cluster, self.context.mask), settings, verdict.capacity.value, ())
        if self._hints is not None and not push_due(self._hints, wanted, settings, now - self._pushed):
            return
        self._hints, self._pushed = wanted, now
        text = CLOCK + policy_object(self.shipped, wanted, self._source)[1]
        if self._sandbox is None:
            self._sandbox = Sandbox(text)
        else:
            self._sandbox.load(text)

    def _metrics(self, beat: Beat, rank: int) -> dict[str, float]:
        heat = float(beat.popularity[rank])
        seen = metrics(heat, heat, float(beat.rate[rank]), float(beat.queue[rank]), float(beat.cpu[rank]))
        return seen | {"uptime": float(self._booted[rank]) + beat.time}


class Lunule(Mantle):
    """mantle/lunule.lua."""

    name = shipped = "lunule"


class GreedySpill(Mantle):
    """mantle/greedyspill.lua."""

    name = shipped = "greedyspill"
