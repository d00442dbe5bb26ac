# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that read a data set, or each a part of its own, each file once, then write a record file.

All of it: the paper's clients drift apart in hours; in a run of a minute they would walk in a convoy, all in
the same directory. So they begin spread over the data set, as jobs that were started at different times.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload
from lab.clients.spec import ClientSpec, LoadSpec
from lab.clients.tree import directory


@dataclass(frozen=True)
class Scan(Workload):
    """Directories side by side in one subvolume."""

    kind: str
    dirs: int
    files: int
    touch: str
    clients: int = CLIENTS
    apart: bool = False  # each client has so many directories of its own

    @property
    def name(self) -> str:
        """Of the kind."""
        return self.kind

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One, which all clients mount."""
        return (self.kind,)

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """One client makes all, or each its own."""
        makers = range(self.clients if self.apart else 1)
        return LoadSpec(tuple(self._client(paths, k, "") for k in makers), seed=SEED)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients scan."""
        return LoadSpec(tuple(self._client(paths, k, tag) for k in range(self.clients)), seed=SEED)

    def _client(self, paths: Mapping[str, str], number: int, tag: str) -> ClientSpec:
        name = f"{self.kind}{number}"
        return ClientSpec(
            name=name,
            path=paths[self.kind],
            job="scan",
            touch=self.touch,
            dirs=self.dirs,
            first_dir=number * self.dirs if self.apart else 0,
            files=self.files,
            workers=WORKERS,
            cache=UNCACHED,
            start=0.0 if self.apart else number / self.clients,
            record=f"/records/{tag}-{name}",
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all directories."""
        owners = range(self.clients if self.apart else 1)
        readers = 1 if self.apart else self.clients
        return {
            paths[self.kind] + directory(self._client(paths, owner, ""), k): float(readers * (self.files + 1))
            for owner in owners
            for k in range(self.dirs)
        }


CNN = Scan("cnn", dirs=100, files=120, touch="open")
"""MXNet's im2rec on ImageNet, scaled down: many directories, all files are opened."""
NLP = Scan("nlp", dirs=14, files=850, touch="open")
"""THUCTC's corpus, scaled down: 14 directories, very many files, all are opened."""
SCAN_APART = Scan("scan", dirs=100, files=200, touch="open", clients=8, apart=True)
"""As cnn, but every client has directories of its own: what the MDS hook was first measured with."""
