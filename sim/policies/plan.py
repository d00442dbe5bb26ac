# SPDX-License-Identifier: LGPL-2.1-or-later
"""``partition``: analyze, plan, execute, with the module's own judge, planner, engine and executor core."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from mds_partitioner.act.core import Seen, StepCore, has_ended, next_step
from mds_partitioner.act.run import INTENT, RUNNING, Record
from mds_partitioner.ceph.filesystem import FileSystem
from mds_partitioner.engine.names import FANOUT
from mds_partitioner.judge.judgement import Judgement, judge
from mds_partitioner.judge.window import Window
from mds_partitioner.model import NO_PIN
from mds_partitioner.observe.children import Brood, Lasts, brood
from mds_partitioner.plan.circumstances import Circumstances, over, placing
from mds_partitioner.plan.plan import CONFIG_STEP, DISTRIBUTED_STEP, PIN_STEP, Step
from mds_partitioner.plan.plan import Plan as Made
from mds_partitioner.plan.planner import make_plan
from mds_partitioner.verify.guards import PLAN, why_wait
from sim.model.cluster import Cluster
from sim.model.namespace import DISTRIBUTED_FACTOR
from sim.policies.base import NOTHING, Context, Orders, Pin, Policy
from sim.policies.manager import FS, Manager, engine, fs_state
from sim.policies.mount import WALL, Mount
from sim.policies.observer import Observer, facts, ranks_of

CACHE_LIMIT = 4 << 30  # bytes, mds_cache_memory_limit
TO_AUTH = {True: "true", False: "false"}


class Plan(Policy):
    """Analyzes for ``analyze`` s of the scenario's table, plans with ``--heavy fanout --to-auth``, executes;
    again ``again`` s after that, if it is given."""

    name = "plan"
    every = 1.0

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        extra = context.extra
        self._analyze = float(extra.get("analyze", 60.0))
        self._again = float(extra["again"]) if "again" in extra else None
        self._manager = Manager(context.settings, context.mask)
        self._observer = Observer()
        self._window = Window(FS)
        self._begun, self._sampled = 0.0, -np.inf
        self._execution: Execution | None = None
        self._ours: dict[int, int] = {}  # pins that this module set, by inode number
        self._scattered: dict[int, str] = {}
        self._moved_at: dict[int, float] = {}

    def decide(self, cluster: Cluster) -> Orders:
        """A second of the module's life."""
        self._sample(cluster)
        if self._execution is not None:
            return self._execute(self._execution, cluster)
        if cluster.now - self._begun < self._analyze or not self._window.ready:
            return NOTHING
        return self._plan(cluster)

    def _sample(self, cluster: Cluster) -> None:
        if cluster.now - self._sampled < self.context.settings.epoch:
            return
        self._sampled = cluster.now
        self._manager.sample(cluster)
        if cluster.degraded:
            return
        saturated = self._manager.judge(cluster).saturated
        history = self._manager.history
        seen = self._observer.observe(cluster, history.latest)
        self._window.add(replace(seen, saturated=saturated), history)

    def _plan(self, cluster: Cluster) -> Orders:
        settings = self.context.settings
        judgement = judge(
            self._window.summary(facts(cluster)), settings, CACHE_LIMIT, self._manager.learned, engine
        )
        fs = fs_state(cluster, None)
        allowed = fs.ranks_in if self.context.mask is None else self.context.mask
        now = WALL + cluster.now
        made = make_plan(
            f"plan{cluster.now:.0f}",
            judgement,
            [r for r in allowed if r in fs.ranks_in],
            lambda judged: self._circumstances(cluster, judged),
            settings,
            engine,
            lambda path, lasts: brood_of(cluster, path, lasts),
            now,
            now,
        )
        self._execution = Execution(made)
        predicted = made.prediction
        said = (
            f"{len(made.steps)} steps, IF {predicted.imbalance_before:.3f} to {predicted.imbalance_after:.3f}"
        )
        return Orders(said=(f"{made.name}: {said}", *made.caveats))

    def _circumstances(self, cluster: Cluster, judged: Judgement) -> Circumstances:
        fs = fs_state(cluster, None)
        mount = cast(FileSystem, Mount(cluster.names))
        allowed = fs.ranks_in if self.context.mask is None else self.context.mask
        return Circumstances(
            fs=fs,
            ranks=tuple(r for r in allowed if r in fs.ranks_in),
            heavy_mode=FANOUT,
            force=False,
            owned=self._ours,
            moved_at=self._moved_at,
            owns_settings=False,
            to_auth=TO_AUTH[cluster.to_auth],
            owned_distributed=self._scattered,
            distributed_factor=DISTRIBUTED_FACTOR,
            above=placing(sorted(over(row.seen.directory for row in judged.directories)), mount),
        )

    def _execute(self, execution: "Execution", cluster: Cluster) -> Orders:
        orders = execution.tick(cluster, self.context)
        for step in execution.begun:
            if step.kind == PIN_STEP:
                self._ours[step.ino] = int(step.value)
            elif step.kind == DISTRIBUTED_STEP:
                self._scattered[step.ino] = step.value
            if step.row >= 0:
                self._moved_at[execution.plan.rows[step.row].ino] = WALL + cluster.now
        execution.begun.clear()
        ended = execution.ended
        if ended is not None and self._again is not None and cluster.now - ended >= self._again:
            self._execution, self._window = None, Window(FS)
            self._observer, self._begun = Observer(), cluster.now
        return orders


class Execution:
    """A plan under way. begun: steps whose value was set since somebody looked; ended: s, when it was."""

    def __init__(self, plan: Made) -> None:
        self.plan = plan
        self.records: dict[int, Record] = {}
        self.begun: list[Step] = []
        self.ended: float | None = None
        self._made: set[int] = set()
        self._since: dict[int, float] = {}

    def tick(self, cluster: Cluster, context: Context) -> Orders:
        """One pass over the steps, as act/executor.py makes it; nothing while the cluster is not well."""
        if self.ended is not None:
            return NOTHING
        fs = fs_state(cluster, None)
        if why_wait(fs, {}, {}, PLAN) is not None:
            return NOTHING
        orders = Orders()
        tried: set[int] = set()
        limit = context.settings.max_moves
        while (i := next_step(self.plan, RUNNING, self.records, tried, (), limit)) is not None:
            tried.add(i)
            orders = self._step(i, cluster, context, fs.ranks_in, orders)
        if has_ended(self.plan, RUNNING, self.records):
            self.ended = cluster.now
        return orders

    def _step(
        self, i: int, cluster: Cluster, context: Context, ranks: Sequence[int], orders: Orders
    ) -> Orders:
        step, record = self.plan.steps[i], self.records.get(i)
        seen = self._see(i, step, record, cluster)
        core = StepCore(step, record, seen, WALL + cluster.now, context.settings.arrival_timeout)
        what = core.forward(ranks, self.plan.force)
        if what.record is not None:
            self.records[i], self._since[i] = what.record, cluster.now
            self._made.discard(i)
            if what.record.state != INTENT and what.record.why:
                orders = replace(orders, said=(*orders.said, f"{step.target}: {what.record.why}"))
        if what.write is None:
            return orders
        self._made.add(i)
        self.begun.append(step)
        return _with(orders, step, what.write, cluster, self.plan.name)

    def _see(self, i: int, step: Step, record: Record | None, cluster: Cluster) -> Seen:
        value, arrived = look(step, cluster)
        if value is None:
            return Seen(None, f"{step.target!r} was deleted or replaced")
        waited = cluster.now - self._since.setdefault(i, cluster.now)
        awaited = record is not None and record.state == INTENT and value == step.value
        return Seen(value, arrived=awaited and arrived, made=i in self._made, waited=waited)


def look(step: Step, cluster: Cluster) -> tuple[str | None, bool]:
    """The present value of what a step is about, None when it is gone; and whether the MDSs follow it."""
    names = cluster.names
    if step.kind == CONFIG_STEP:
        return TO_AUTH[cluster.to_auth], True
    directory = Mount(names).by_ino(step.ino)
    if directory is None:
        return None, False
    if step.kind == DISTRIBUTED_STEP:
        on = directory in names.distributed
        there = not any(names.tree.parent[d] == directory for d, _ in names.misplaced())
        return ("1" if on else "0"), there
    pin = int(names.pin[directory])
    return str(pin), pin == NO_PIN or int(names.auth[directory]) == pin


def _with(orders: Orders, step: Step, value: str, cluster: Cluster, plan: str) -> Orders:
    """One change more."""
    if step.kind == CONFIG_STEP:
        return replace(orders, to_auth=value == "true")
    directory = Mount(cluster.names).by_ino(step.ino)
    assert directory is not None
    if step.kind == DISTRIBUTED_STEP:
        return replace(orders, distribute=(*orders.distribute, (directory, value == "1")))
    assert step.kind == PIN_STEP, step.kind
    return replace(orders, pins=(*orders.pins, Pin(directory, int(value), plan)))


def brood_of(cluster: Cluster, path: str, lasts: Lasts) -> Brood:
    """How a heavy directory can be split, as plan/circumstances.py reads it."""
    mount = Mount(cluster.names)
    found = brood(cast(FileSystem, mount), path, lasts)
    children = tuple(
        replace(child, ranks=ranks_of(cluster, mount.directory(child.path))) for child in found.children
    )
    own = (int(cluster.names.auth[mount.directory(found.parent.path)]),)
    return replace(found, children=children, ranks=own)
