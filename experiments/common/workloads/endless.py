# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that work for a fixed time, not a fixed amount."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.common.workloads.base import Workload
from lab.clients.spec import LoadSpec


@dataclass(frozen=True)
class Endless(Workload):
    """Another workload; a client that has done its part begins anew."""

    of: Workload

    @property
    def name(self) -> str:
        """That of the other."""
        return self.of.name

    @property
    def phases(self) -> tuple[str, ...]:
        """Those of the other."""
        return self.of.phases

    @property
    def ends(self) -> bool:
        """Never."""
        return False

    @property
    def fresh(self) -> bool:
        """As the other."""
        return self.of.fresh

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """Those of the other."""
        return self.of.subvolumes

    @property
    def packages(self) -> tuple[str, ...]:
        """Those of the other."""
        return self.of.packages

    def inputs(self) -> Mapping[str, str]:
        """Those of the other."""
        return self.of.inputs()

    def data(self, paths: Mapping[str, str]) -> LoadSpec | None:
        """That of the other."""
        return self.of.data(paths)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """The clients of the other, without an end."""
        return _without_end(self.of.load(phase, paths, tag))

    def calibration(self, paths: Mapping[str, str]) -> LoadSpec:
        """The same of those that C is measured with."""
        return _without_end(self.of.calibration(paths))

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """In the same parts as the other's."""
        return self.of.demand(paths)


def _without_end(load: LoadSpec) -> LoadSpec:
    drawn = (replace(c, operations=None) if c.job == "mix" else c for c in load.clients)
    return replace(load, clients=tuple(replace(c, repeat=True) for c in drawn))
