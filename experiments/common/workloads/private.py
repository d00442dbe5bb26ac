# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that work in private directories, a subvolume each."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload, home_of
from lab.clients.spec import ClientSpec, LoadSpec


@dataclass(frozen=True)
class Private(Workload):
    """One directory a client."""

    kind: str
    op: str
    operations: int  # a client
    files: int  # prepared
    zipf: float = 0.0
    clients: int = CLIENTS
    workers: int = WORKERS
    rate: float | None = None  # op/s at most, a client

    @property
    def name(self) -> str:
        """Of the kind."""
        return self.kind

    @property
    def fresh(self) -> bool:
        """What was created would move with the directories of the next cell."""
        return self.op == "create"

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"{self.kind}{k}" for k in range(self.clients))

    def data(self, paths: Mapping[str, str]) -> LoadSpec | None:
        """Every client fills its own."""
        return None if self.op == "create" else self.load("run", paths, "")

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients; those that create do it in a directory of this cell."""
        return LoadSpec(
            tuple(
                ClientSpec(
                    name=name,
                    path=paths[name],
                    mix={self.op: 1.0},
                    operations=self.operations,
                    workers=self.workers,
                    rate=self.rate,
                    dirs=1,
                    files=self.files,
                    zipf=self.zipf,
                    cache=UNCACHED,
                    home=f"/{tag}" if self.op == "create" else "",
                )
                for name in self.subvolumes
            ),
            seed=SEED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes."""
        return {home_of(paths[name]): float(self.operations) for name in self.subvolumes}


MD = Private("md", "create", operations=4_500, files=1)
"""mdtest's creates, each client in a private empty directory."""
# Of 10,000 files by Zipf's law, the 2,000 most popular get 80 % of the draws.
EIGHTY_TWENTY = 0.95
ZIPF = Private("zipf", "open", operations=12_000, files=10_000, zipf=EIGHTY_TWENTY)
"""filebench's reads from 10,000 private files, 80 % of them from 20 % of the files."""
# Twelve subvolumes: ranks that serve 1 to 2 can have 1 to 2 of them.
ZIPF12 = Private("zipf12", "open", operations=12_000, files=10_000, zipf=EIGHTY_TWENTY, clients=12)
