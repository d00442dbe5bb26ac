# SPDX-License-Identifier: LGPL-2.1-or-later
"""create-reread: eight private directories, files are created for a time, then read at random for a time."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import SEED, UNCACHED, Workload, home_of
from lab.clients.spec import ClientSpec, LoadSpec

_MIXES: Mapping[str, Mapping[str, float]] = {"create": {"create": 1.0}, "reread": {"stat": 3.0, "open": 1.0}}
_CACHES: Mapping[str, int | None] = {"create": None, "reread": UNCACHED}


@dataclass(frozen=True)
class CreateReread(Workload):
    """What creates in one cell makes larger directories for the next: every cell has its own cluster."""

    clients: int = 8

    @property
    def name(self) -> str:
        """create-reread."""
        return "create-reread"

    @property
    def phases(self) -> tuple[str, ...]:
        """Two."""
        return ("create", "reread")

    @property
    def ends(self) -> bool:
        """Never."""
        return False

    @property
    def fresh(self) -> bool:
        """Yes."""
        return True

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"c{k}" for k in range(self.clients))

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """1,000 files each."""
        return self.load("create", paths, "")

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients."""
        return LoadSpec(
            tuple(
                ClientSpec(
                    name=name,
                    path=paths[name],
                    mix=_MIXES[phase],
                    workers=4,
                    dirs=1,
                    files=1000,
                    cache=_CACHES[phase],
                )
                for name in self.subvolumes
            ),
            seed=SEED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes."""
        return {home_of(paths[name]): 1.0 for name in self.subvolumes}


CREATE_REREAD = CreateReread()
