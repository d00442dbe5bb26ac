# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler that ships, shown the modelled cluster: pieces are subvolumes, or what is below them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from mds_partitioner.judge.fullness import Fullness, fullness
from mds_partitioner.judge.verdict import Verdict
from mds_partitioner.model import NO_PIN, RankSample
from mds_partitioner.observe.heat import GONE, TOLD, stands_for
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.meanwhile import unseen
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import Piece, View
from mds_partitioner.schedule.looker import rank_view
from mds_partitioner.schedule.rounds import GLANCE
from mds_partitioner.schedule.watch import APART, CALM, meanwhile
from mds_partitioner.verify.guards import SCHEDULER, why_wait
from sim.model.arrays import Floats, Ints
from sim.model.cluster import Cluster
from sim.model.tree import Tree
from sim.policies.answers import Answers, Told
from sim.policies.base import Context, Orders, Pin, Policy
from sim.policies.manager import Manager, engine, fs_state
from sim.policies.nursery import Nursery

LOOK = 5  # s


@dataclass(frozen=True)
class _Last:
    """What ranks told last: when, s, and the popularity. (directories,) each."""

    at: Floats
    popularity: Floats


class Schedule(Policy):
    """``scheduler start --mode act``: looks every 5 s, which is how often MDSs report, and in between while
    something is under way. MDSs answer ``late`` s of the scenario's table after they were asked, at once when
    it says nothing."""

    name = "scheduler"
    every = GLANCE

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._manager = Manager(replace(context.settings, epoch=LOOK), context.mask)
        settings = context.settings
        self._limits = Limits(deadline=float(settings.arrival_timeout), smoothness=settings.smoothness)
        self._state = State()
        self._found = Fullness()
        self._ours: dict[int, int] = {}  # pins that were set, by directory
        self._begun = False
        self._nursery = Nursery()
        self.seen = View(-LOOK, (), ())
        self._answers = Answers(float(context.extra.get("late", 0.0)))
        self._last: _Last | None = None
        self._asked: dict[int, float] = {}  # when, s, by rank
        self._heat: Floats = np.zeros(0)

    def decide(self, cluster: Cluster) -> Orders:
        """One look."""
        if cluster.now >= self.seen.now + LOOK:
            self._manager.sample(cluster)
            self._nursery.look(cluster, self.seen, self._state.split)
            view = self.seen = self._view(cluster, self._manager.judge(cluster))
        elif self._state.moving:
            view = self._glance(cluster)
        else:
            return Orders()
        self._state, decision = Scheduler(self._state, view, self._limits).decide()
        of_ino = {cluster.names.ino(d): d for d in range(cluster.tree.size)} if decision.moves else {}
        pins = []
        for move in decision.moves:
            directory = of_ino[move.ino]
            pins.append(Pin(directory, move.pin, move.why))
            self._ours[directory] = move.pin
        first, self._begun = not self._begun, True
        said = [f"{m.path} from {m.source} to {m.target}: {m.why}" for m in decision.moves]
        return Orders(
            pins=tuple(pins),
            distribute=self._nursery.distribute(cluster, decision),
            to_auth=True if first else None,
            said=(decision.why, *said),
        )

    def _glance(self, cluster: Cluster) -> View:
        moving = {move.ino for move in self._state.moving}
        pieces = self._pieces(cluster, self._manager.history.latest)
        view = self.seen.glanced(cluster.now, {p.ino: p.rank for p in pieces if p.ino in moving})
        self.seen = replace(self.seen, pieces=view.pieces)
        return replace(view, wait=self._wait(cluster))

    def _wait(self, cluster: Cluster) -> str:
        return why_wait(fs_state(cluster, self.context.mask), {}, {}, SCHEDULER) or ""

    def _view(self, cluster: Cluster, verdict: Verdict) -> View:
        wait = self._wait(cluster)
        latest = self._manager.history.latest
        told = self._answers.popularity(cluster)
        spared = self._spared(cluster)
        self._heat, self._last = self._hot(cluster, told, spared)
        pieces = self._pieces(cluster, latest)
        awaited = {move.target for move in self._state.moving}
        self._found = found = fullness(self._manager.history.series(), self._found, engine, awaited)
        allowed = None if self.context.mask is None else set(self.context.mask)
        ranks = tuple(
            rank_view(s, found, self.context.settings.rank_capacity)
            for s in latest
            if allowed is None or s.rank in allowed
        )
        return View(
            cluster.now,
            ranks,
            pieces,
            verdict.harms({rank.rank for rank in ranks}),
            wait,
            told=frozenset(p.ino for p in pieces if p.rank not in spared) if spared else None,
        )

    def _spared(self, cluster: Cluster) -> Collection[int]:
        """Ranks that are not asked in this look, as in the module."""
        now, there = cluster.now, {piece.ino for piece in self.seen.pieces}
        rests = meanwhile(self._state)
        blind = unseen(self._state, there, now, self._limits) if self.seen.pieces else frozenset[int]()
        spared = {rank for rank in blind if now - self._asked.get(rank, -CALM) < rests}
        self._asked |= dict.fromkeys(set(range(cluster.ranks)) - spared, now)
        return spared

    def _hot(
        self, cluster: Cluster, told: Told | None, spared: Collection[int]
    ) -> tuple[Floats, _Last | None]:
        """(directories,) popularity without that of loads that have gone, as Heat.since, and of what has
        moved since it was told, as Heat.less; and what that is held against next time."""
        size = cluster.tree.size
        if told is None:
            return np.zeros(size), None
        hot, auth, before = told.popularity, told.auth, self._last
        new = ~np.isin(auth, list(spared))
        at, popularity = np.full(size, told.at), hot
        if before is not None:
            gap = told.at - before.at
            left = np.power(0.5, gap / cluster.physics.half_life)
            added = np.maximum(hot - left * before.popularity, 0.0)
            enough = np.bincount(auth, weights=added) >= TOLD * np.bincount(auth, weights=hot)
            now = added / np.maximum(1.0 - left, 1e-9)
            hot = np.where(enough[auth] & (now < GONE * hot) & (gap >= APART), now, hot)
            hot = np.where(new, hot, self._heat)
            at, popularity = np.where(new, at, before.at), np.where(new, popularity, before.popularity)
        return np.where(auth == cluster.names.auth, hot, 0.0), _Last(at, popularity)

    def _pieces(self, cluster: Cluster, latest: tuple[RankSample, ...]) -> tuple[Piece, ...]:
        heat, names, tree = self._heat, cluster.names, cluster.tree
        on = np.bincount(names.auth, weights=heat, minlength=cluster.ranks)
        most = [stands_for(float(of), cluster.physics.half_life) for of in on]
        rates = dict.fromkeys(range(cluster.ranks), 0.0)
        rates |= {s.rank: min(s.requests, most[s.rank]) for s in latest}
        each: Floats = np.divide(
            heat * np.array([rates[r] for r in names.auth.tolist()]),
            on[names.auth],
            out=np.zeros(heat.size),
            where=on[names.auth] > 0.0,
        )
        found: list[Piece] = []
        for root in tree.roots.tolist():
            if self._answers.read(cluster, root):
                self._add(found, cluster, root, each, 0)
        return tuple(found)

    def _add(self, found: list[Piece], cluster: Cluster, directory: int, each: Floats, within: int) -> None:
        names, tree = cluster.names, cluster.tree
        ino = names.ino(directory)
        (inner, kids), split = _children(tree, directory), ino in self._state.split
        parts = [kid for kid in kids if self._answers.read(cluster, kid)] if split else []
        below = _all(tree, directory)
        if parts:
            below = np.setdiff1d(below, np.concatenate([_all(tree, kid) for kid in parts]))
        ranks = np.unique(names.auth[directory if split else below])
        rank = int(ranks[0]) if ranks.size == 1 else None
        pin = int(names.pin[directory])
        held = "" if pin < 0 or self._ours.get(directory) == pin else "an operator pinned it"
        found.append(
            Piece(
                ino=ino,
                path=tree.path(directory),
                rank=rank,
                requests=float(each[below].sum()),
                inodes=float(names.inodes[below].sum()),
                within=within,
                held=held,
                parts=self._nursery.lasting(cluster, inner, kids),
                scatters=self._nursery.scatters(ino, rank),
                pin=NO_PIN if held else pin,
                unknown=split and len(parts) < len(kids),
            )
        )
        for kid in parts:
            self._add(found, cluster, kid, each, ino)


def _children(tree: Tree, directory: int) -> tuple[int, list[int]]:
    """The first directory that does not have just one, from this one down, and those in it, as brood."""
    kids = tree.kids(directory)
    while kids.size == 1:
        directory = int(kids[0])
        kids = tree.kids(directory)
    return directory, kids.tolist()


def _all(tree: Tree, directory: int) -> Ints:
    """A directory, and what is below it."""
    return np.arange(directory, int(tree.end[directory]))
