# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule's choice of subtrees (3.3 and 4.1): migration indexes, and three searches for an amount."""

import numpy as np

from sim.model.arrays import Floats, Ints, sums
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.model.tree import ROOT
from sim.model.visits import Seen
from sim.policies.exports import subtrees_of

SIBLING = 0.5  # the probability that a first visit counts for a sibling, too: not in the paper
TOLERANCE = 0.1  # of an amount (4.1)


def indexes(names: Namespace, seen: Seen, rng: np.random.Generator) -> Floats:
    """(directories,): mIndex (equation 4) of each directory with all of its subtree below it. Which sibling a
    first visit counts for is drawn: among many that nobody visited, chance says which come first.

    Where nobody visited anything, beta is as if there had been one visit: the paper divides by none.
    """
    visits, visited, firsts = names.below(seen.visits), names.below(seen.visited), names.below(seen.firsts)
    unvisited = names.below(seen.unvisited)
    alpha = np.divide(names.below(seen.revisited), visited, out=np.zeros_like(visits), where=visited > 0.0)
    beta = unvisited / np.maximum(visits, 1.0)
    credited = rng.poisson(_of_siblings(names, firsts, unvisited))
    return np.asarray(alpha * visits + beta * (firsts + credited))


def _of_siblings(names: Namespace, firsts: Floats, unvisited: Floats) -> Floats:
    """(directories,): expected first visits that count for a directory because its siblings on the same rank
    had them; only those get some that hold anything unvisited."""
    family = names.tree.parent * (int(names.auth.max()) + 1) + names.auth
    family[ROOT] = 0
    _, family = np.unique(family, return_inverse=True)
    able = unvisited > 0.0
    able[ROOT] = False
    count = int(family.max()) + 1
    others = sums(family, np.where(np.arange(family.size) == ROOT, 0.0, firsts), count)[family] - firsts
    many = sums(family, able.astype(np.float64), count)[family] - 1.0
    found = np.divide(SIBLING * others, many, out=np.zeros_like(firsts), where=able & (many > 0.0))
    return np.maximum(0.0, found)


class Selector:
    """One exporter's, in one epoch. chosen: directories that go, and where."""

    def __init__(self, names: Namespace, rank: int, index: Floats) -> None:
        """index: (directories,) mIndex"""
        self._tree, self._index = names.tree, index
        still = ~names.freezing & ~names.frozen
        self._free = (names.auth == rank) & ~names.bounds & still & (index > 0.0)
        mine = subtrees_of(names, rank)
        top = mine[(mine != ROOT) & (index[mine] > 0.0)]
        self._top: Ints = np.concatenate([top, self._kids(ROOT)]) if ROOT in mine else top
        self.total = float(index[self._top].sum())
        self.chosen: dict[int, int] = {}
        self._gone: set[int] = set()  # what goes, and all above it

    def select(self, part: float, target: int, why: str) -> list[Order]:
        """Subtrees worth this part of all that the exporter has."""
        before = len(self.chosen)
        self._find(self._top, part * self.total, target)
        return [Order(d, target, why) for d in list(self.chosen)[before:]]

    def _kids(self, directory: int) -> Ints:
        kids = self._tree.kids(directory)
        found: Ints = kids[self._free[kids]]
        return found

    def _find(self, among: Ints, need: float, target: int) -> None:
        among = among[~np.isin(among, list(self.chosen))]
        among = among[np.argsort(-self._index[among], kind="stable")]
        values = self._index[among]
        # What something was taken from is not what its index says any more.
        entire = ~np.isin(among, list(self._gone))
        near = np.flatnonzero(entire & (np.abs(values - need) <= TOLERANCE * need))
        if near.size:
            self._take(int(among[near[np.argmin(np.abs(values[near] - need))]]), target)
            return
        larger = among[values > need]
        if larger.size and self._split(int(larger[-1]), need, target):
            return
        for directory, value in zip(among[entire].tolist(), values[entire].tolist(), strict=True):
            if value <= need * (1.0 + TOLERANCE):
                self._take(directory, target)
                need -= value

    def _split(self, directory: int, need: float, target: int) -> bool:
        """Take a part of it; indexes do not add up, so it is the same part of what the parts are worth."""
        kids, before = self._kids(directory), len(self.chosen)
        if kids.size:
            worth = float(self._index[kids].sum())
            self._find(kids, need * worth / float(self._index[directory]), target)
        return len(self.chosen) > before

    def _take(self, directory: int, target: int) -> None:
        self.chosen[directory] = target
        while directory >= 0 and directory not in self._gone:
            self._gone.add(directory)
            directory = int(self._tree.parent[directory])
