# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that go through a large data set: an entry each, not one for each directory that they will use."""

from collections.abc import Sequence

import numpy as np

from sim.load.crowd import Crowd, Group
from sim.load.pattern import Past, Scan
from sim.model.arrays import Floats, Ints


class Walk(Scan):
    """A scan of one entry, whose directory changes."""

    def parts(self, past: Past) -> Floats | None:
        """At each new directory."""
        return None if super().parts(past) is None else np.ones(1)


class WalkingCrowd(Crowd):
    """Moves the entries of those who walk."""

    def __init__(self, groups: Sequence[Group], ways: Sequence[Ints], seed: int) -> None:
        """ways: the directories of each group, in order."""
        starts = np.array([int(way[0]) for way in ways])
        super().__init__(groups, starts, np.ones(len(groups)), seed)
        self._ways = ways

    def turn(self, now: float, beside: Ints) -> list[int]:
        """Patterns go on."""
        remade = super().turn(now, beside)
        for group, way in zip(self.groups, self._ways, strict=True):
            assert isinstance(group.pattern, Walk)
            self.directory[group.entries] = way[group.pattern.at]
        return remade
