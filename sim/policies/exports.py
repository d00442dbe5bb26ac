# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which subtrees go when a rank wants to hand over so much popularity: MDBalancer::try_rebalance and
find_exports (src/mds/MDBalancer.cc of 20.2), in our words.

Left out: idle imports sent home (mds_bal_idle_threshold is 0), replicated directories, the limit of 0.1 s,
the order in which an MDS comes upon its directories (here: by number).
"""

from collections.abc import Mapping

import numpy as np

from mds_partitioner.model import NO_PIN
from sim.model.arrays import Floats, Ints
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.model.tree import ROOT

LEAST = 10.0  # MIN_OFFLOAD
LEAST_BACK = 5.0  # MIN_REEXPORT
MIN_START, NEED_MIN, NEED_MAX = 0.2, 0.8, 1.2  # mds_bal_min_start, mds_bal_need_min, mds_bal_need_max
MID_CHUNK, MIN_CHUNK = 0.3, 0.001  # mds_bal_midchunk, mds_bal_minchunk


class Search:
    """One rank's search of one beat.

    :ivar chosen: directories that go, and where
    """

    def __init__(self, names: Namespace, rank: int, heat: Floats) -> None:
        """heat: (directories,) pop_auth_subtree.meta_load"""
        self._tree, self._heat = names.tree, heat
        # What may go as a part of a subtree of this rank; (directories,).
        here = (names.auth == rank) & ~names.bounds & ~names.freezing & ~names.frozen
        self._free = here & (heat >= LEAST * MIN_CHUNK)
        self.chosen: dict[int, int] = {}

    def find(self, directory: int, amount: float, have: float, target: int) -> float:
        """Choose below a directory until it is enough; what is had then."""
        need = amount - have
        if need < amount * MIN_START:
            return have
        least, most = need * NEED_MIN, need * NEED_MAX
        kids = self._tree.kids(directory)
        kids = kids[self._free[kids]]
        heats = self._heat[kids]
        fitting = np.flatnonzero((heats > least) & (heats < most))
        if fitting.size:
            return self.take(int(kids[fitting[0]]), target, have)
        small = heats <= need
        smaller = kids[small][np.argsort(-heats[small], kind="stable")]
        large = int((self._heat[smaller] >= need * MID_CHUNK).sum())
        have = self._take_some(smaller[:large], target, have, least)
        for bigger in kids[~small].tolist():
            if have > least:
                return have
            have = self.find(bigger, amount, have, target)
        return self._take_some(smaller[large:], target, have, least)

    def _take_some(self, directories: Ints, target: int, have: float, least: float) -> float:
        """One after the other until there is more than the least."""
        for directory in directories.tolist():
            if have > least:
                return have
            have = self.take(directory, target, have)
        return have

    def take(self, directory: int, target: int, have: float) -> float:
        """It goes; what is had then."""
        self.chosen[directory] = target
        self._free[directory] = False
        return have + float(self._heat[directory])


def subtrees_of(names: Namespace, rank: int) -> Ints:
    """Roots of a rank's subtrees that nothing holds in place and that are not on their way."""
    still = ~names.freezing & ~names.frozen
    mine = np.flatnonzero(names.bounds & (names.auth == rank) & (names.pin == NO_PIN) & still)
    found: Ints = mine[~np.isin(names.tree.parent[mine], list(names.distributed))]
    return found


def choose(
    names: Namespace, rank: int, heat: Floats, targets: Mapping[int, float], mean: float, why: str
) -> tuple[Order, ...]:
    """The exports of a rank.

    :param heat: (directories,) pop_auth_subtree.meta_load
    :param targets: popularity for each rank
    :param mean: the popularity that each rank should have, as the balancer has it; 0 where it has none
    """
    tree = names.tree
    imports = sorted((float(heat[d]), d) for d in subtrees_of(names, rank).tolist())
    wanted = {
        to: amount
        for to, amount in sorted(targets.items())
        if amount >= LEAST and amount * 10 * len(targets) >= mean
    }
    search = Search(names, rank, heat)
    had = dict.fromkeys(wanted, 0.0)
    for to in wanted:  # what was imported from there goes back first
        home = [(h, d) for h, d in imports if d != ROOT and names.auth[tree.parent[d]] == to]
        whole(search, home, to, wanted, had, 0.0)
    for to in wanted:
        rest = [(h, d) for h, d in imports if d != ROOT and d not in search.chosen]
        whole(search, rest, to, wanted, had, LEAST_BACK)
    for to, amount in wanted.items():
        for _, directory in reversed([item for item in imports if item[1] not in search.chosen]):
            if amount - had[to] < LEAST:
                break
            had[to] = search.find(directory, amount, had[to], to)
    return tuple(Order(d, to, why) for d, to in search.chosen.items())


def whole(
    search: Search,
    subtrees: list[tuple[float, int]],
    to: int,
    wanted: Mapping[int, float],
    had: dict[int, float],
    least: float,
) -> None:
    """Whole subtrees as long as they fit."""
    for heat, directory in subtrees:
        left = wanted[to] - had[to]
        if left < LEAST:
            return
        if directory not in search.chosen and heat <= left and (least == 0.0 or heat > least):
            had[to] = search.take(directory, to, had[to])
