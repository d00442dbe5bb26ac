# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exports under way: they take their rank's time, freeze what moves, and end with another authority."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Bools, Floats, Ints
from sim.model.namespace import Move, Namespace
from sim.model.physics import Physics

TARGET_HIT = 10.0  # MDSRank::hit_export_target; and by each inode 1
LATER_HITS = 3  # of an export: its first step hits the target, and so do three answers of the importer
TARGET_ENDS = 0.01  # MDSRank::update_targets: one that has decayed so far is given up
GOLDEN = 0.6180339887  # multiples of it are spread evenly over 0 to 1


@dataclass(frozen=True)
class Target:
    """How much a rank wants to export to another. value: at a time (s); known: s, when the map has it."""

    value: float
    time: float
    known: float

    def left(self, now: float, half_life: float) -> float:
        """What of the value has not decayed."""
        return self.value * math.exp2((self.time - now) / half_life)

    def hit(self, now: float, amount: float, half_life: float, known: float | None = None) -> "Target":
        """More of it."""
        return Target(self.left(now, half_life) + amount, now, self.known if known is None else known)


NO_TARGET = Target(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Order:
    """An export that somebody wants. ``why`` says who and for what."""

    directory: int
    target: int
    why: str


@dataclass
class Export:
    """One under way. size: inodes; locked: s, until then it waits for its target; begins: s, when it freezes;
    members: what is frozen; send, take: work that is left for exporter and importer; done: s, not before."""

    order: Order
    source: int
    size: float
    locked: float
    begins: float
    send: float = 0.0
    take: float = 0.0
    done: float = 0.0
    members: Ints | None = None


class Migrator:
    """All ranks' exports.

    An MDS exports only to ranks that the map has as its targets, and asks for a new one on its next tick
    (MDSRank::update_targets). Until then the export waits, in the state EXPORT_LOCKING, and its subtree is
    served, counted and chosen as before (Physics.targets).
    """

    def __init__(self, names: Namespace, physics: Physics, ranks: int) -> None:
        self._names, self._physics, self._ranks = names, physics, ranks
        self._queues: list[list[Order]] = [[] for _ in range(ranks)]
        # s, of a tick of each rank: they were not started at one moment.
        self._ticked = [physics.tick * (rank * GOLDEN % 1.0) for rank in range(ranks)]
        self._targets: dict[tuple[int, int], Target] = {}  # by exporter and importer
        self.exports: list[Export] = []
        self.ended: list[Move] = []

    def order(self, orders: Sequence[Order]) -> None:
        """A balancer's orders."""
        for order in orders:
            self._queues[int(self._names.auth[order.directory])].append(order)

    def forget(self, rank: int, now: float) -> None:
        """A rank decides anew: what it has not begun is forgotten (Migrator::clear_export_queue). Rank 0
        decides on its tick, which calls for the beat."""
        self._queues[rank].clear()
        if rank == 0:
            self._ticked[rank] = now

    def pins(self, now: float, up: Bools) -> None:
        """A tick: everything that is pinned elsewhere sets off, however much it is. New targets are asked for
        at its end."""
        under_way = self._under_way()
        for directory, rank in self._names.misplaced():
            source = int(self._names.auth[directory])
            if directory not in under_way and rank < up.size and up[rank] and up[source]:
                self._begin(Order(directory, rank, "pin"), now, now)

    def _under_way(self) -> set[int]:
        return {export.order.directory for export in self.exports}

    def step(self, now: float, up: Bools, capacity: Floats, dt: float) -> Floats:
        """(ranks,): the work that exports took in this step. capacity: (ranks,) work/s."""
        for rank, queue in enumerate(self._queues):
            if queue:
                self._begin_queued(rank, queue, now, up)
        left = capacity * dt
        for export in list(self.exports):
            if not (up[export.source] and up[export.order.target]):
                self._end(export)
            elif now >= export.begins:
                self._go_on(export, left, now)
            elif now >= export.locked:
                self._names.freezing[export.order.directory] = True
        return np.asarray(capacity * dt - left)

    def _begin_queued(self, rank: int, queue: list[Order], now: float, up: Bools) -> None:
        under_way = self._under_way()
        while queue and self._may_begin(rank, now):
            order = queue.pop(0)
            names = self._names
            here = names.auth[order.directory] == rank and not names.on_its_way(order.directory)
            if here and order.directory not in under_way and up[rank] and up[order.target]:
                under_way.add(order.directory)
                self._begin(order, now, self._next_tick(rank, now))

    def _may_begin(self, rank: int, now: float) -> bool:
        """Migrator::maybe_do_queued_export: one that waits for its target counts like all that may be under
        way."""
        own = [export for export in self.exports if export.source == rank]
        waiting = sum(export.locked > now for export in own)
        most = self._physics.export_size
        return sum(e.size for e in own if e.locked <= now) + waiting * most <= most

    def _next_tick(self, rank: int, now: float) -> float:
        """s; the first after now."""
        tick = self._physics.tick
        return self._ticked[rank] + tick * (math.floor((now - self._ticked[rank]) / tick) + 1)

    def _begin(self, order: Order, now: float, asks: float) -> None:
        """asks: s, when the exporter asks for a target that it does not have yet."""
        physics, source = self._physics, int(self._names.auth[order.directory])
        target = self._targets.get((source, order.target), NO_TARGET)
        lasts = target.left(now, physics.target_decay) > TARGET_ENDS
        known = target.known if lasts or not physics.targets else asks + physics.map_delay
        self._targets[source, order.target] = target.hit(now, TARGET_HIT, physics.target_decay, known)
        locked = max(now, known)
        size = self._cached(self._names.members(order.directory))
        self.exports.append(Export(order, source, size, locked, locked + physics.export_delay))

    def _cached(self, members: Ints) -> float:
        """Inodes of these directories that the exporter has."""
        return float((self._names.inodes - self._names.cold)[members].sum())

    def _go_on(self, export: Export, left: Floats, now: float) -> None:
        names, physics, directory = self._names, self._physics, export.order.directory
        if export.members is None:
            if names.frozen[directory] or names.auth[directory] != export.source:
                self._end(export)
                return
            export.members = members = names.members(directory)
            names.freeze(directory, members)
            inodes = self._cached(members)
            export.send, export.take = physics.export_work * inodes, physics.import_work * inodes
            export.done = now + physics.freeze
        export.send = _paid(export.send, left, export.source)
        if export.send == 0.0:
            export.take = _paid(export.take, left, export.order.target)
        if export.send == export.take == 0.0 and now >= export.done:
            self._end(export)
            order = export.order
            self.ended.append(names.move(directory, order.target, now, order.why))
            pair = (export.source, order.target)
            hits = TARGET_HIT * LATER_HITS + self.ended[-1].inodes
            self._targets[pair] = self._targets[pair].hit(now, hits, physics.target_decay)

    def _end(self, export: Export) -> None:
        self.exports.remove(export)
        self._names.freezing[export.order.directory] = False
        if export.members is not None:
            self._names.thaw(export.order.directory, export.members)


def _paid(work: float, left: Floats, rank: int) -> float:
    """What is left of some work when a rank has done what it can."""
    paid = min(work, float(left[rank]))
    left[rank] -= paid
    return work - paid
