# SPDX-License-Identifier: LGPL-2.1-or-later
"""A hot set that jumps: groups of subvolumes by turns, a minute each; what was hot is idle then."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.common.workloads.base import Workload
from experiments.common.workloads.private import EIGHTY_TWENTY, Private
from lab.clients.spec import LoadSpec

TURN_S = 60.0
WORKERS = 8  # as many in all as ten clients with four each


@dataclass(frozen=True)
class Jumps(Workload):
    """So many groups of as many subvolumes, with a client in each."""

    groups: int = 5
    each: int = 5
    files: int = 4_000

    @property
    def name(self) -> str:
        """Of the cells' files."""
        return "jumps"

    @property
    def _private(self) -> Private:
        clients = self.groups * self.each
        return Private(self.name, "open", 12_000, self.files, zipf=EIGHTY_TWENTY, clients=clients)

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """Group by group."""
        return self._private.subvolumes

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """Every client fills its own."""
        return self._private.load("run", paths, "")

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients, each with the turn of its group."""
        all_the_time = self._private.load(phase, paths, tag)
        return replace(
            all_the_time,
            clients=tuple(
                replace(client, workers=WORKERS, turn=k // self.each, turns=self.groups, turn_seconds=TURN_S)
                for k, client in enumerate(all_the_time.clients)
            ),
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes: pins by turns, so that every group is spread over the ranks."""
        return self._private.demand(paths)


JUMPS = Jumps()
