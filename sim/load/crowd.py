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
    directory, part; name: the directory in it that is looked up, itself for its files; stuck: requests that
    wait for a directory that does not answer."""

    def __init__(
        self,
        groups: Sequence[Group],
        directories: Ints,
        counts: Floats,
        seed: int,
        names: Ints | None = None,
    ) -> None:
        """counts: (groups,) clients of each. names: None: nobody looks up directories."""
        self.groups = tuple(groups)
        self._rng = np.random.default_rng([seed, 4])
        self._scans: Bools = np.array([g.kind.uses == "scan" for g in groups])
        sizes = [group.entries.stop - group.entries.start for group in groups]
        self.group: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.starts: Ints = np.array([group.entries.start for group in groups])  # first entries
        self.directory = directories
        self.name = directories if names is None else names
        self.part = np.zeros(directories.size)
        self.stuck = np.zeros(directories.size)
        self.version = 0  # of the parts
        self.met_hot = np.zeros(directories.size, dtype=np.bool_)  # replicated when the group began with it
        self._in_use = np.zeros(directories.size, dtype=np.bool_)
        self.clients = counts
        self.think: Floats = np.array([g.kind.think for g in groups])
        self.closed: Bools = np.array([g.kind.rate is None for g in groups])
        self._threads: Floats = counts * [g.kind.threads for g in groups]
        self._rate: Floats = counts * [g.kind.rate or 0.0 for g in groups]
        self._limit: Floats = counts * [g.kind.requests for g in groups]
        self.heat: Floats = np.array([g.kind.heat for g in groups])[self.group]
        made = np.array([1.0 / g.kind.each if g.kind.does == "create" else 0.0 for g in groups])
        self.makes: Floats = made[self.group]  # files a request
        self.grows: Bools = self.makes > 0.0
        # A client that uses more than it remembers learns anew each time who has a directory.
        sizes_seen = np.array([g.kind.remembers >= size for g, size in zip(groups, sizes, strict=True)])
        self.remembers: Bools = sizes_seen[self.group]
        self.looks_up: Bools = np.array([g.kind.does == "read" for g in groups])[self.group]
        # Of the requests of a scan, those of its threads for a directory that it has just begun with.
        begun = np.array([min(1.0, g.kind.threads / max(1, g.pattern.files)) for g in groups])
        self.begun: Floats = begun[self.group]
        self.answered = np.zeros(len(groups))  # requests so far
        self.ended = np.full(len(groups), np.inf)  # s, when a group had made all its requests
        self.files: Ints = np.array([g.pattern.files for g in groups])[self.group]  # of Pattern
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

    def meet(self, replicated: Bools) -> None:
        """Who begins with a directory looks its name up, and gets a capability of it from whoever answers;
        not again as long as it remembers. replicated: (directories,) to all ranks."""
        used = self.part > 0.0
        begun = used & ~self._in_use
        self.met_hot[begun] = replicated[self.directory[begun]]
        self._in_use = used

    def walked(self, answered: Floats) -> tuple[Floats, Floats]:
        """(entries,) each: the part of its directory's files that a client had met, and has met with these
        requests; of those that meet files in order. answered: (entries,)."""
        lives = np.maximum(1, self.files) * self.clients[self.group]
        begin = self.answered[self.group] / lives % 1.0
        return begin, np.minimum(1.0, begin + answered / lives)

    def count(self, answered: Floats, now: float, dispersion: float) -> None:
        """Requests that were answered. answered: (entries,).

        Clients of a scan drift apart because single requests take differently long: how far each gets is
        drawn (gamma distribution). The variance of a number of answers is their mean times ``dispersion``,
        the squared coefficient of variation of the time that one takes.
        """
        before = self.answered < self._limit
        through = sums(self.group, answered, len(self.groups))
        through[self._scans] = self._rng.gamma(through[self._scans] / dispersion, dispersion)
        self.answered += through
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
    return Crowd(groups, np.concatenate(directories), np.array(counts), seed)


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
