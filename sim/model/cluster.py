# SPDX-License-Identifier: LGPL-2.1-or-later
"""One cluster, a step of time after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.load.crowd import Crowd
from sim.model.arrays import Bools, Floats, Ints, sums
from sim.model.asking import Asking, asks
from sim.model.contacts import Contacts
from sim.model.counters import Beat, Counters
from sim.model.lanes import Lanes, lanes
from sim.model.migrator import Migrator, Order
from sim.model.namespace import Move, Namespace
from sim.model.physics import Physics
from sim.model.queues import flow
from sim.model.tree import ROOT, Tree
from sim.model.visits import Visits


@dataclass(frozen=True)
class Unsafe:
    """An order that must not be given."""

    time: float
    what: str


class Cluster:
    """Ranks are numbered as in Ceph. (ranks,): capacity, work/s; exists; up; until: s, when a dead one is
    back; backlog: requests that wait and whose clients do not."""

    def __init__(
        self, tree: Tree, auth: Ints, capacity: Floats, exists: Bools, crowd: Crowd, physics: Physics
    ) -> None:
        """exists: those of the ranks that are there from the beginning."""
        self.tree, self.physics, self.crowd = tree, physics, crowd
        self.names = Namespace(tree, auth)
        self.names.born[crowd.passing] = 0.0
        self.counters = Counters(self.names, physics, capacity.size)
        self.visits: Visits | None = None  # recorded since somebody asked
        self.migrator = Migrator(self.names, physics, capacity.size)
        self.capacity, self.exists, self.up = capacity.copy(), exists.copy(), exists.copy()
        self.until = np.full(capacity.size, np.inf)
        self.backlog = np.zeros(capacity.size)
        self.masked = np.zeros(capacity.size, dtype=np.bool_)  # ranks that an operator took out of balancing
        self.to_auth = False  # mds_forward_all_requests_to_auth
        self.direct = False  # clients know who answers: an oracle's privilege
        self.now = 0.0
        self.moves: list[Move] = []
        self.unsafe: list[Unsafe] = []
        self.served = np.zeros(capacity.size)  # requests answered by each rank since the run began
        self.asked = 0.0  # requests that clients made since then
        self.contacts = Contacts(len(crowd.groups), capacity.size)
        self._wait = 1.0 / np.maximum(capacity, 1.0)
        self._there = np.zeros(len(crowd.groups))
        self._steps = 0
        self._cached: tuple[object, Lanes] | None = None

    @property
    def ranks(self) -> int:
        """How many there may ever be."""
        return int(self.capacity.size)

    @property
    def degraded(self) -> bool:
        """Is a rank without an MDS? Then nobody balances (MDBalancer::handle_heartbeat)."""
        return bool((self.exists & ~self.up).any())

    def step(self) -> None:
        """One step of time."""
        dt, now, before = self.physics.step, self.now, self.crowd.version
        for directory in self.crowd.turn(now, self._beside()):
            self._remake(directory)
        if self.crowd.version != before:
            self.crowd.meet(self.names.replicated)
        self._revive()
        if _due(self._steps, self.physics.tick, dt):
            self.migrator.pins(now, self.up)
            self._replicate()
        capacity = np.where(self.up, self.capacity, 0.0)
        taken = self.migrator.step(now, self.up, capacity, dt)
        self._book(self.migrator.ended)
        for move in self.migrator.ended:
            self._leave(move)
        self.migrator.ended.clear()
        self._serve(capacity, taken, dt)
        self._steps += 1
        self.now = self._steps * dt
        if _due(self._steps, self.physics.report, dt):
            self.counters.report(self.now)

    def _serve(self, capacity: Floats, taken: Floats, dt: float) -> None:
        crowd = self.crowd
        lanes = self._lanes()
        self._release(lanes)
        there = crowd.there(self.now)
        self._mount(there)
        threads, think, rate = crowd.threads(there), crowd.think, crowd.arrivals(there)
        left = np.maximum(0.0, capacity - taken / dt)
        physics = self.physics
        if physics.relief:
            self.contacts.note(lanes, threads, self.now)
            left *= 1.0 + physics.relief * self.contacts.away(threads, self.now)
        found = flow(lanes, threads, think, self._wait, left, self.backlog, physics.forward_work, dt)
        self._wait = found.wait
        free = lanes.entry_free
        closed = found.asked[crowd.group] * crowd.part * dt
        arriving = rate[crowd.group] * crowd.part * dt
        stuck = np.where(free, 0.0, closed + arriving)
        closed = np.where(free, closed * lanes.mean(found.fit), 0.0)
        arriving = np.where(free, arriving, 0.0)
        crowd.stuck += stuck
        self.asked += float(closed.sum() + arriving.sum() + stuck.sum())
        open_in = lanes.answering(arriving)
        open_out = np.minimum(self.backlog + open_in, np.maximum(0.0, (left - found.load) * dt))
        self.backlog = self.backlog + open_in - open_out
        drained = np.divide(open_out, open_in, out=np.zeros(self.ranks), where=open_in > 0.0)
        served = lanes.answering(closed) + open_out
        self.served += served
        self._count(lanes, closed, closed + arriving * lanes.mean(drained), served, taken, found.inside)

    def _mount(self, there: Floats) -> None:
        """Clients that were not there before mount. there: (groups,) part of each group's clients."""
        new = float((np.maximum(0.0, there - self._there) * self.crowd.clients).sum())
        self._there = there
        if new:
            self.counters.mount(new * self.physics.mounting)

    def _lanes(self) -> Lanes:
        """As before as long as nothing has changed."""
        crowd, names = self.crowd, self.names
        version = (names.version, crowd.version, self.to_auth, self.direct, self.up.tobytes())
        if self._cached is None or self._cached[0] != version:
            rank = names.answering(crowd.directory, crowd.name)
            work = np.where(names.cold[crowd.directory] > 0.0, 1.0 + self.physics.cold_work, 1.0)
            free = ~names.frozen[crowd.directory] & self.up[rank]
            names.used(crowd.directory[free & (crowd.part > 0.0)])
            found = lanes(
                group=crowd.group,
                part=crowd.part,
                rank=rank,
                asks=asks(self._asking(), rank, self.up),
                free=free,
                work=work,
                groups=len(crowd.groups),
                ranks=self.ranks,
            )
            self._cached = (version, found)
        return self._cached[1]

    def _asking(self) -> Asking:
        return Asking(self.crowd, self.names, self.physics, self.counters.reads, self.to_auth, self.direct)

    def _leave(self, move: Move) -> None:
        """A subtree went. Requests for what is in it still wait at the exporter: to pass them on it looks for
        the directories that it has just dropped (MDCache::find_ino_peers), and has replicas of them from then
        on, which clients' capabilities hold there. Whether any request waits for one follows from how many
        do in the mean."""
        members, reads = self.names.members(move.directory), self.counters.reads
        total = float(reads[self.names.auth == move.source].sum() + reads[members].sum())
        if total:
            stuck = sums(self.crowd.directory, self.crowd.stuck, self.tree.size)[members]
            waiting = stuck + self.counters.queue[move.source] * reads[members] / total
            self.names.leave(members, move.source, -np.expm1(-waiting))

    def _replicate(self) -> None:
        """Directories that are read so much are replicated to all ranks, once and for all
        (MDBalancer::hit_dir; mds_bal_unreplicate_threshold is 0)."""
        reads, names = self.counters.reads, self.names
        heat = names.below(reads) + 10.0 * reads
        hot = np.flatnonzero((heat >= self.physics.replicate) & (reads > 0.0) & ~names.replicated)
        if hot.size:
            names.replicate(hot)
            self.counters.ease(hot, (1.0 - 1.0 / self.exists.sum()) / 2.0)

    def _release(self, lanes: Lanes) -> None:
        """Requests that waited for a directory which answers again go to its rank."""
        stuck = self.crowd.stuck
        if stuck.any():
            free = np.where(lanes.entry_free, stuck, 0.0)
            self.backlog += sums(lanes.entry_rank, free, self.ranks)
            stuck[lanes.entry_free] = 0.0

    def _count(
        self, lanes: Lanes, closed: Floats, answered: Floats, served: Floats, taken: Floats, inside: Floats
    ) -> None:
        """closed, answered: (entries,) requests of the step; served, taken: (ranks,) requests, work."""
        counters = self.counters
        passed = lanes.passed(closed)
        counters.received += served + passed
        counters.passed += passed
        counters.latency += served * self._wait
        work = served + passed * self.physics.forward_work + taken
        counters.busy += np.divide(work, self.capacity, out=np.zeros(self.ranks), where=self.capacity > 0.0)
        counters.queue = inside + self.backlog
        self._note(answered, lanes.own)

    def _note(self, answered: Floats, own: Floats | float = 1.0) -> None:
        """What directories notice of the requests answered in the step. (entries,) answered; own: the part
        that the authority answered, which alone counts for its popularity."""
        crowd = self.crowd
        if self.visits is not None:
            self.visits.count(crowd, answered)
        crowd.count(answered, self.now, self.physics.dispersion)
        requests = sums(crowd.directory, answered, self.tree.size)
        heat = answered * crowd.heat * own
        hot = sums(crowd.directory, heat, self.tree.size)
        reads = sums(crowd.directory, np.where(crowd.looks_up, heat, 0.0), self.tree.size)
        self.counters.count(hot, reads, requests, self.physics.step)
        if crowd.grows.any():
            self.names.inodes += sums(crowd.directory, answered * crowd.makes, self.tree.size)
        self.names.warm(self.physics.cold_inodes, requests)

    # what others do

    def order(self, orders: Sequence[Order], deciding: Sequence[int]) -> None:
        """A balancer's exports. deciding: the ranks that decided now, whose older orders are void."""
        for rank in deciding:
            self.migrator.forget(rank, self.now)
        for order in orders:
            self._check(order.directory, order.target, order.why)
        self.migrator.order([o for o in orders if 0 <= o.target < self.ranks])

    def pin(self, directory: int, rank: int, why: str) -> None:
        """Set ``ceph.dir.pin``."""
        if rank >= 0:
            self._check(directory, rank, why)
        self.names.set_pin(directory, rank)

    def distribute(self, directory: int, on: bool) -> None:
        """Set ``ceph.dir.pin.distributed``, or take it away."""
        self.names.distribute(directory, int(self.exists.sum()) if on else 0)

    def place(self, directory: int, rank: int, why: str, forced: bool = False) -> None:
        """Move at once and for nothing: an oracle's privilege, and what a stopping rank has left."""
        self._book([self.names.move(directory, rank, self.now, why, forced)])

    def beat(self) -> Beat:
        """What the ranks tell each other now."""
        return self.counters.beat(self.now)

    def _check(self, directory: int, rank: int, why: str) -> None:
        """A target must be an active rank that nobody took out."""
        where = f"{self.tree.path(directory)} to rank {rank} ({why})"
        if not 0 <= rank < self.ranks or not self.exists[rank]:
            self.unsafe.append(Unsafe(self.now, f"{where}: there is no such rank"))
        elif not self.up[rank]:
            self.unsafe.append(Unsafe(self.now, f"{where}: it is down"))
        elif self.masked[rank]:
            self.unsafe.append(Unsafe(self.now, f"{where}: it is masked out"))

    def record_visits(self) -> Visits:
        """Which inodes are visited, from the first time that somebody asks."""
        if self.visits is None:
            self.visits = Visits(self.tree.size)
        return self.visits

    # what befalls ranks

    def die(self, rank: int) -> None:
        """Its MDS is gone; a standby takes over."""
        self.up[rank], self.until[rank] = False, self.now + self.physics.takeover

    def add(self, rank: int) -> None:
        """It is active from now on."""
        self.exists[rank] = self.up[rank] = True

    def stop(self, rank: int) -> None:
        """It leaves: what it has goes to rank 0. Pins that name it wait for it (handle_export_pins)."""
        self.exists[rank] = self.up[rank] = False
        self.names.dismiss(rank)
        for directory in np.flatnonzero(self.names.bounds & (self.names.auth == rank)).tolist():
            self.place(directory, ROOT, "its rank was stopped", forced=True)

    def slow(self, rank: int, times: float) -> None:
        """Its capacity changes."""
        self.capacity[rank] *= times

    def _revive(self) -> None:
        for rank in np.flatnonzero(self.until <= self.now).tolist():
            self.up[rank], self.until[rank] = True, np.inf
            own = self.names.auth == rank
            self.names.chill(own)

    def _remake(self, directory: int) -> None:
        self.names.remake(directory, self.now)
        self.counters.forget(directory)
        if self.visits is not None:
            self.visits.forget(directory)

    def _book(self, moves: Sequence[Move]) -> None:
        for move in moves:
            self.counters.exported[move.source] += move.inodes
            self.counters.imported[move.target] += move.inodes
        self.moves += moves

    def _beside(self) -> Ints:
        """Directories on the rank that was given one last."""
        if not self.moves:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self.names.auth == self.moves[-1].target)


def _due(steps: int, every: float, dt: float) -> bool:
    """Is a step the last of a period?"""
    return steps > 0 and steps % max(1, round(every / dt)) == 0
