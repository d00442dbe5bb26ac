# SPDX-License-Identifier: LGPL-2.1-or-later
"""All clients of a run, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.load.clients import Clients
from sim.load.pattern import Past, Pattern
from sim.model.arrays import Bools, Floats, Ints, sums
from sim.model.tree import Tree


@dataclass(frozen=True)
class Group:
    """Clients that share directories, and the range of their entries."""

    kind: Clients
    pattern: Pattern
    entries: slice


class Crowd:
    """An entry is a directory that a group uses. (groups,): threads, think, rate, busy. (entries,): group,
    directory, part; stuck: requests that wait for a directory that does not answer."""

    def __init__(self, groups: Sequence[Group], directories: Ints, counts: Floats) -> None:
        """counts: (groups,) clients of each."""
        self.groups = tuple(groups)
        sizes = [group.entries.stop - group.entries.start for group in groups]
        self.group: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.directory = directories
        self.part = np.zeros(directories.size)
        self.stuck = np.zeros(directories.size)
        self.version = 0  # of the parts
        self.clients = counts
        self.think: Floats = np.array([g.kind.think for g in groups])
        self.closed: Bools = np.array([g.kind.rate is None for g in groups])
        self._threads: Floats = counts * [g.kind.threads for g in groups]
        self._rate: Floats = counts * [g.kind.rate or 0.0 for g in groups]
        self._limit: Floats = counts * [g.kind.requests for g in groups]
        self.heat: Floats = np.array([g.kind.heat for g in groups])[self.group]
        self.grows: Bools = np.array([g.kind.does == "create" for g in groups])[self.group]
        self.answered = np.zeros(len(groups))  # requests so far
        self.ended = np.full(len(groups), np.inf)  # s, when a group had made all its requests
        self._kinds = list({id(g.kind): g.kind for g in groups}.values())
        at = {id(kind): i for i, kind in enumerate(self._kinds)}
        self._kind_of: Ints = np.array([at[id(g.kind)] for g in groups])
        self._live = list(range(len(groups)))  # patterns that may still change

    @property
    def passing(self) -> Ints:
        """Directories that come and go."""
        own = [self.directory[g.entries] for g in self.groups if g.kind.uses == "churn"]
        return np.concatenate(own) if own else np.zeros(0, dtype=np.int64)

    def there(self, now: float) -> Floats:
        """(groups,): part of the clients that are at work."""
        parts = np.array([kind.there(now) for kind in self._kinds])[self._kind_of]
        return np.where(self.answered < self._limit, parts, 0.0)

    def threads(self, there: Floats) -> Floats:
        """(groups,): closed-loop threads that do not wait for a directory."""
        waiting = sums(self.group, self.stuck, len(self.groups))
        return np.where(self.closed, np.maximum(0.0, self._threads * there - waiting), 0.0)

    def arrivals(self, there: Floats) -> Floats:
        """(groups,): open-loop requests/s."""
        return self._rate * there

    def finished(self) -> bool:
        """Has everybody who has an end come to it?"""
        return bool(
            np.isfinite(self._limit).any() and (self.answered >= self._limit)[np.isfinite(self._limit)].all()
        )

    def count(self, answered: Floats, now: float) -> None:
        """Requests that were answered. answered: (entries,)."""
        before = self.answered < self._limit
        self.answered += sums(self.group, answered, len(self.groups))
        self.ended[before & (self.answered >= self._limit)] = now

    def turn(self, now: float, beside: Ints) -> list[int]:
        """Patterns go on; the directories that are made anew.

        :param beside: directories on the rank that was given one last
        """
        remade: list[int] = []
        for g in tuple(self._live):
            group = self.groups[g]
            own = self.directory[group.entries]
            places = _places(own, beside) if group.kind.uses == "adversary" else ()
            past = Past(now, float(self.answered[g]), float(self.clients[g]), places)
            parts = group.pattern.parts(past)
            if parts is not None:
                self.part[group.entries] = parts
                self.version += 1
            remade += [int(own[place]) for place in group.pattern.remade(past)]
            if group.pattern.settled:
                self._live.remove(g)
        return remade


def _places(own: Ints, some: Ints) -> tuple[int, ...]:
    return tuple(np.flatnonzero(np.isin(own, some)).tolist())


def gather(kinds: Sequence[Clients], tree: Tree, seed: int) -> Crowd:
    """The clients of a scenario. The same seed gives the same."""
    groups: list[Group] = []
    directories: list[Ints] = []
    counts: list[float] = []
    at = 0
    for k, kind in enumerate(kinds):
        rng = np.random.default_rng([seed, k])
        for own, clients, place in _shares(kind, tree):
            groups.append(Group(kind, kind.pattern(own.size, place, rng), slice(at, at + own.size)))
            directories.append(own)
            counts.append(clients)
            at += own.size
    return Crowd(groups, np.concatenate(directories), np.array(counts))


def _shares(kind: Clients, tree: Tree) -> list[tuple[Ints, float, float]]:
    """Each group's directories, clients, and place among those who do the same."""
    first, last = kind.on
    if not kind.apart:
        own = np.concatenate([tree.leaves(s) for s in range(first, last)])
        if kind.uses != "scan":
            return [(own, float(kind.count), 0.0)]
        return [(own, 1.0, k / kind.count) for k in range(kind.count)]
    used = min(kind.count, last - first)
    return [(tree.leaves(first + k), kind.count / used, k / used) for k in range(used)]
