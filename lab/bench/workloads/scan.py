# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that read a whole shared data set, each file once, then write a record file.

The paper's clients drift apart in hours; in a run of a minute they would walk in a convoy, all in the same
directory. So they begin spread over the data set, as jobs that were started at different times.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.bench.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload
from lab.clients.spec import ClientSpec, LoadSpec
from lab.clients.tree import directory


@dataclass(frozen=True)
class Scan(Workload):
    """One shared tree."""

    kind: str
    dirs: int
    files: int
    touch: str
    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """cnn or nlp."""
        return self.kind

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One, which all clients mount."""
        return (self.kind,)

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """One client fills it."""
        return LoadSpec((self._client(paths, 0, ""),), seed=SEED)

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
            files=self.files,
            workers=WORKERS,
            cache=UNCACHED,
            start=number / self.clients,
            record=f"/records/{tag}-{name}",
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all directories."""
        client = self._client(paths, 0, "")
        each = float(self.clients * (self.files + 1))
        return {paths[self.kind] + directory(client, k): each for k in range(self.dirs)}
