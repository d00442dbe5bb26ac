# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loads that move with time: clients that work all the time, and others that work in their turn only.

Turns are laid out for runs of five minutes: after five minutes before the clock they begin anew.
A client that pauses keeps its session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.common.workloads.base import Workload
from experiments.common.workloads.crowd import Crowd
from experiments.common.workloads.mix import Mix
from experiments.common.workloads.private import EIGHTY_TWENTY, Private
from lab.clients.spec import LoadSpec

RUN_S = 300.0
FILES = 4_000


@dataclass(frozen=True)
class Moving(Workload):
    """Two workloads at once, each on data of its own."""

    kind: str
    always: Workload
    others: Workload
    turn: int  # the others'
    turns: int
    turn_seconds: float

    @property
    def name(self) -> str:
        """Of the kind."""
        return self.kind

    @property
    def _both(self) -> Mix:
        return Mix((self.always, self.others))

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """Those of both."""
        return self._both.subvolumes

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """That of both."""
        return self._both.data(paths)

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """The clients of both, the others with their turn."""
        always = self.always.load(phase, paths, tag)
        others = (
            replace(client, turn=self.turn, turns=self.turns, turn_seconds=self.turn_seconds)
            for client in self.others.load(phase, paths, tag).clients
        )
        return replace(always, clients=(*always.clients, *others))

    def calibration(self, paths: Mapping[str, str]) -> LoadSpec:
        """Both all the time: by themselves those with a rate would not fill a rank."""
        return self._both.load("run", paths, "calibration")

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """That of both: pins that stay, by what a run asks for."""
        return self._both.demand(paths)


def _readers(kind: str, clients: int, workers: int = 4, rate: float | None = None) -> Private:
    """rate: op/s of each; None: as fast as they are answered, 12,000 for the oracle."""
    operations = 12_000 if rate is None else round(rate * RUN_S)
    return Private(kind, "open", operations, FILES, EIGHTY_TWENTY, clients, workers, rate)


# Threads enough for five full ranks before and after.
LEAVING = Moving("leaving", _readers("stay", 5, workers=8), _readers("leave", 10), 0, 2, RUN_S / 2)
"""Two thirds of the clients, half of the threads, pause for good halfway."""
# What the others ask for leaves room on each rank, or it would make no difference where they are.
FLASH = Moving("flash", _readers("reader", 10, rate=100.0), Crowd(12_000, FILES), 1, 3, RUN_S / 3)
"""A crowd comes to one directory in the second of five minutes' three parts."""
CYCLE = Moving("cycle", _readers("always", 10, rate=50.0), _readers("cycle", 10), 2, 3, 40.0)
"""A load that comes every two minutes, for 40 s."""
