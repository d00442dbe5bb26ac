# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that read the files of one directory, which no pin divides."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload, home_of
from lab.clients.spec import ClientSpec, LoadSpec


@dataclass(frozen=True)
class Crowd(Workload):
    """One directory of one subvolume."""

    operations: int  # a client
    files: int
    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """Of its clients."""
        return "crowd"

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One, which all clients mount."""
        return ("crowd",)

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """One client makes all."""
        return LoadSpec((self._client(paths, 0),), seed=SEED)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients."""
        return LoadSpec(tuple(self._client(paths, k) for k in range(self.clients)), seed=SEED)

    def _client(self, paths: Mapping[str, str], number: int) -> ClientSpec:
        return ClientSpec(
            name=f"crowd{number}",
            path=paths["crowd"],
            mix={"open": 1.0},
            operations=self.operations,
            workers=WORKERS,
            dirs=1,
            files=self.files,
            cache=UNCACHED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """Of all clients."""
        return {home_of(paths["crowd"]): float(self.operations * self.clients)}
