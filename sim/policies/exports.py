# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which subtrees go when a rank wants to hand over so much popularity: MDBalancer::try_rebalance and
find_exports (src/mds/MDBalancer.cc of 20.2), in our words.

Left out: idle imports sent home (mds_bal_idle_threshold is 0), replicated directories, the limit of 0.1 s,
the order in which an MDS comes upon its directories (here: by number).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mds_partitioner.model import NO_PIN
from sim.model.arrays import Floats
from sim.model.migrator import Order
from sim.model.namespace import Namespace
from sim.model.tree import ROOT

LEAST = 10.0  # MIN_OFFLOAD
LEAST_BACK = 5.0  # MIN_REEXPORT
MIN_START, NEED_MIN, NEED_MAX = 0.2, 0.8, 1.2  # mds_bal_min_start, mds_bal_need_min, mds_bal_need_max
MID_CHUNK, MIN_CHUNK = 0.3, 0.001  # mds_bal_midchunk, mds_bal_minchunk


@dataclass
class Search:
    """One rank's search of one beat.

    :ivar heat: (directories,) pop_auth_subtree.meta_load
    :ivar chosen: directories that go, and where
    """

    names: Namespace
    rank: int
    heat: Floats
    chosen: dict[int, int] = field(default_factory=dict)

    def find(self, directory: int, amount: float, have: float, target: int) -> float:
        """Choose below a directory until it is enough; what is had then."""
        need = amount - have
        if need < amount * MIN_START:
            return have
        least, most = need * NEED_MIN, need * NEED_MAX
        heats = self._candidates(directory)
        fitting = [d for d, heat in heats.items() if least < heat < most]
        if fitting:
            return self._take(fitting[0], target, have)
        smaller = sorted((d for d, heat in heats.items() if heat <= need), key=lambda d: -heats[d])
        large = [d for d in smaller if heats[d] >= need * MID_CHUNK]
        for d in large:
            have = self._take(d, target, have)
            if have > least:
                return have
        for d in (d for d, heat in heats.items() if heat > need):
            have = self.find(d, amount, have, target)
            if have > least:
                return have
        for d in smaller[len(large) :]:
            have = self._take(d, target, have)
            if have > least:
                return have
        return have

    def _candidates(self, directory: int) -> dict[int, float]:
        """The directories below one that may go, with their heat."""
        names, kids = self.names, self.names.tree.kids(directory)
        least = LEAST * MIN_CHUNK
        own = (names.auth[kids] == self.rank) & ~names.bounds[kids] & ~names.frozen[kids]
        found = kids[own & (self.heat[kids] >= least)]
        return {d: float(self.heat[d]) for d in found.tolist() if d not in self.chosen}

    def _take(self, directory: int, target: int, have: float) -> float:
        self.chosen[directory] = target
        return have + float(self.heat[directory])


def choose(
    names: Namespace, rank: int, heat: Floats, targets: Mapping[int, float], mean: float, why: str
) -> tuple[Order, ...]:
    """The exports of a rank.

    :param heat: (directories,) pop_auth_subtree.meta_load
    :param targets: popularity for each rank
    :param mean: the popularity that each rank should have, as the balancer has it; 0 where it has none
    """
    tree = names.tree
    parent = np.maximum(tree.parent, ROOT)
    pinned = (names.pin != NO_PIN) | np.isin(tree.parent, list(names.distributed))
    mine = np.flatnonzero(names.bounds & (names.auth == rank) & ~pinned & ~names.frozen)
    imports = sorted((float(heat[d]), d) for d in mine.tolist())
    wanted = {
        to: amount
        for to, amount in sorted(targets.items())
        if amount >= LEAST and amount * 10 * len(targets) >= mean
    }
    search = Search(names, rank, heat)
    had = dict.fromkeys(wanted, 0.0)
    for to in wanted:  # what was imported from there goes back first
        home = [(h, d) for h, d in imports if d != ROOT and names.auth[parent[d]] == to]
        _whole(search, home, to, wanted, had, 0.0)
    for to in wanted:
        rest = [(h, d) for h, d in imports if d != ROOT and d not in search.chosen]
        _whole(search, rest, to, wanted, had, LEAST_BACK)
    for to, amount in wanted.items():
        for _, directory in reversed([item for item in imports if item[1] not in search.chosen]):
            if amount - had[to] < LEAST:
                break
            had[to] = search.find(directory, amount, had[to], to)
    return tuple(Order(d, to, why) for d, to in search.chosen.items())


def _whole(
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
            search.chosen[directory] = to
            had[to] += heat
