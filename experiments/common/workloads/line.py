# SPDX-License-Identifier: LGPL-2.1-or-later
"""line: the evaluation of LINE's partitioner (Oh, Ceph Days Korea 2023), its files by 250.

Its table: light, 20 clients with 50,000 files each, one thread; moderate, 20 with 500,000, one thread; heavy,
2 with 5,000,000, 16 threads; each client has a subvolume of its own; eight ranks. Half of each kind reads
(getattr and read), half writes (create, write, delete). Data is left out, as everywhere in the bench.

The slides' three phases are three balancers under one load that does not change: built in, pinned, and
pinned with the built-in one in a rank mask. Here these are cells of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.common.workloads.base import SEED, UNCACHED, Workload
from lab.clients.spec import ClientSpec, LoadSpec
from lab.clients.tree import directory

FILES = 200  # in a directory
OPERATIONS = 3_000  # a thread
# A client keeps its directories, or every operation would ask their parent for one, and hardly a file.
CACHED = 1 / 40  # of the files, in dentries
_READS: Mapping[str, float] = {"stat": 1.0, "open": 1.0}
_WRITES: Mapping[str, float] = {"create": 1.0, "unlink": 1.0}


@dataclass(frozen=True)
class Kind:
    """Clients that are alike but for what they do: the first half reads, the second writes."""

    name: str
    clients: int
    dirs: int  # a client
    threads: int


KINDS = (Kind("light", 20, 1, 1), Kind("moderate", 20, 10, 1), Kind("heavy", 2, 100, 16))


@dataclass(frozen=True)
class Line(Workload):
    """All kinds at once."""

    kinds: tuple[Kind, ...] = KINDS

    @property
    def name(self) -> str:
        """Of the cells' files."""
        return "line"

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"{kind.name}{k}" for kind in self.kinds for k in range(kind.clients))

    def data(self, paths: Mapping[str, str]) -> LoadSpec:
        """Every client fills its own."""
        return self.load("run", paths, "")

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients. Those that write delete as much as they create, so nothing grows from cell to cell."""
        return LoadSpec(
            tuple(_client(kind, k, paths) for kind in self.kinds for k in range(kind.clients)), seed=SEED
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """By threads: each has one operation under way. The same for all directories of a client."""
        return {
            client.path + directory(client, k): float(OPERATIONS * client.workers) / client.dirs
            for client in self.load("run", paths, "").clients
            for k in range(client.dirs)
        }


def _client(kind: Kind, number: int, paths: Mapping[str, str]) -> ClientSpec:
    name = f"{kind.name}{number}"
    return ClientSpec(
        name=name,
        path=paths[name],
        mix=_READS if number < kind.clients // 2 else _WRITES,
        operations=OPERATIONS * kind.threads,
        workers=kind.threads,
        dirs=kind.dirs,
        files=FILES,
        cache=max(UNCACHED, round(CACHED * kind.dirs * FILES)),
    )


LINE = Line()
