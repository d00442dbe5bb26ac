# SPDX-License-Identifier: LGPL-2.1-or-later
"""churn: trees made, used and deleted within seconds, as unpacking and building do; every client its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload, home_of
from lab.clients.spec import ClientSpec, LoadSpec


@dataclass(frozen=True)
class Churn(Workload):
    """A subvolume a client; each of its workers makes one tree after the other there."""

    dirs: int  # a tree
    files: int  # in each of them
    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """Of the cells' files."""
        return "churn"

    @property
    def ends(self) -> bool:
        """Never."""
        return False

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"churn{k}" for k in range(self.clients))

    def data(self, paths: Mapping[str, str]) -> None:
        """Nothing lasts but the subvolumes."""

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients, in directories of this cell: a tree that was left half done is in no other's way."""
        return LoadSpec(
            tuple(
                ClientSpec(
                    name=name,
                    path=paths[name],
                    job="churn",
                    home=f"/{tag}",
                    workers=WORKERS,
                    dirs=self.dirs,
                    files=self.files,
                    cache=UNCACHED,
                )
                for name in self.subvolumes
            ),
            seed=SEED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes, which last; what comes and goes in them is below their pins."""
        return {home_of(paths[name]): 1.0 for name in self.subvolumes}


CHURN = Churn(dirs=4, files=8)
"""104 operations a tree: some seconds at 20 op/s a worker."""
