# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exports under way: they take their rank's time, freeze what moves, and end with another authority."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Bools, Floats, Ints
from sim.model.namespace import Move, Namespace
from sim.model.physics import Physics


@dataclass(frozen=True)
class Order:
    """An export that somebody wants. ``why`` says who and for what."""

    directory: int
    target: int
    why: str


@dataclass
class Export:
    """One under way. size: inodes; begins: s, when it freezes; members: what is frozen; send, take: work
    that is left for exporter and importer; done: s, not before."""

    order: Order
    source: int
    size: float
    begins: float
    send: float = 0.0
    take: float = 0.0
    done: float = 0.0
    members: Ints | None = None


class Migrator:
    """All ranks' exports."""

    def __init__(self, names: Namespace, physics: Physics, ranks: int) -> None:
        self._names, self._physics, self._ranks = names, physics, ranks
        self._queues: list[list[Order]] = [[] for _ in range(ranks)]
        self.exports: list[Export] = []
        self.ended: list[Move] = []

    def order(self, orders: Sequence[Order]) -> None:
        """A balancer's orders."""
        for order in orders:
            self._queues[int(self._names.auth[order.directory])].append(order)

    def forget(self, rank: int) -> None:
        """A rank decides anew: what it has not begun is forgotten (Migrator::clear_export_queue)."""
        self._queues[rank].clear()

    def pins(self, now: float, up: Bools) -> None:
        """A tick: everything that is pinned elsewhere sets off, however much it is."""
        under_way = {e.order.directory for e in self.exports}
        for directory, rank in self._names.misplaced():
            source = int(self._names.auth[directory])
            if directory not in under_way and rank < up.size and up[rank] and up[source]:
                self._begin(Order(directory, rank, "pin"), now)

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
        return np.asarray(capacity * dt - left)

    def _begin_queued(self, rank: int, queue: list[Order], now: float, up: Bools) -> None:
        going = sum(e.size for e in self.exports if e.source == rank)
        while queue and going <= self._physics.export_size:
            order = queue.pop(0)
            names = self._names
            here = names.auth[order.directory] == rank and not names.on_its_way(order.directory)
            if here and up[rank] and up[order.target]:
                going += self._begin(order, now).size

    def _begin(self, order: Order, now: float) -> Export:
        names = self._names
        source = int(names.auth[order.directory])
        size = self._cached(names.members(order.directory))
        export = Export(order, source, size, now + self._physics.export_delay)
        names.freezing[order.directory] = True
        self.exports.append(export)
        return export

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
