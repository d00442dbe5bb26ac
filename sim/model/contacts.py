# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which clients have to do with which rank."""

import numpy as np

from sim.model.arrays import Floats
from sim.model.lanes import Lanes

LASTS = 10.0  # s after its last request that a client counts: a span of those that relief is fitted on


class Contacts:
    """When each group last asked each rank, to answer or to pass on."""

    def __init__(self, groups: int, ranks: int) -> None:
        self._last = np.full((groups, ranks), -np.inf)  # s

    def note(self, lanes: Lanes, threads: Floats, now: float) -> None:
        """What a step's threads ask. threads: (groups,)."""
        active = threads[lanes.group] * lanes.part > 0.0
        for ranks in (lanes.rank, lanes.detour):
            self._last[lanes.group[active], ranks[active]] = now

    def away(self, threads: Floats, now: float) -> Floats:
        """(ranks,): the part of the threads at work whose clients do not ask a rank. threads: (groups,)."""
        everybody = float(threads.sum())
        if not everybody:
            return np.zeros(self._last.shape[1])
        recent = now - self._last < LASTS
        return np.asarray(1.0 - threads @ recent / everybody)
