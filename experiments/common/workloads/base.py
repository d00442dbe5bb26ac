# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every workload tells: its clients, their data, and what an oracle may know about them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from lab.clients.spec import LoadSpec

SEED = 2021
UNCACHED = 10  # dentries: hardly a cache, as the paper mounts its clients: every access is asked of an MDS
CLIENTS = 10
WORKERS = 4  # threads a client


@dataclass(frozen=True)
class Workload(ABC):
    """Data made before the clock starts, and clients that work on it in one phase or more."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the cells' files."""

    @property
    def phases(self) -> tuple[str, ...]:
        """Each is measured by itself."""
        return ("run",)

    @property
    def ends(self) -> bool:
        """Whether the clients end by themselves; else a phase lasts as long as it is told to."""
        return True

    @property
    def fresh(self) -> bool:
        """Whether every cell needs a cluster of its own, because it changes the data of the next."""
        return False

    @property
    @abstractmethod
    def subvolumes(self) -> tuple[str, ...]:
        """To be made; the mapping ``paths`` elsewhere has the path of each."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Of Debian, that clients need in the lab."""
        return ()

    def inputs(self) -> Mapping[str, str]:
        """Texts that clients replay, by their paths in the sandbox."""
        return {}

    @abstractmethod
    def data(self, paths: Mapping[str, str]) -> LoadSpec | None:
        """Clients that prepare the data, once a cluster; None: there is nothing to prepare."""

    @abstractmethod
    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """The clients of a phase; what only this cell makes is named by the tag."""

    def calibration(self, paths: Mapping[str, str]) -> LoadSpec:
        """The clients that C is measured with, and an analysis made: they fill a rank."""
        return self.load(self.phases[0], paths, "calibration")

    @abstractmethod
    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """Operations in each directory during a run, by its path in the file system, for the oracle."""


def home_of(subvolume_path: str) -> str:
    """The directory of a subvolume, right below its group's: what a subvolume's path is in."""
    return subvolume_path.rpartition("/")[0]
