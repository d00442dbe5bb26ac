# SPDX-License-Identifier: LGPL-2.1-or-later
"""dbench: what a Windows client did in an office benchmark, recorded by Samba's authors.

The load file is fetched with apt from Debian's package dbench, kept in the lab's cache, and never committed.
"""

import functools
import itertools
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.common.workloads.base import CLIENTS, SEED, UNCACHED, WORKERS, Workload, home_of
from lab import process, rootfs
from lab.clients import loadfile
from lab.clients.spec import ClientSpec, LoadSpec
from lab.errors import LabError

SOURCE = "/tmp/client.txt"
_FILE = "usr/share/dbench/client.txt"


def _run(argv: list[str], where: Path) -> None:
    done = subprocess.run(
        argv, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LabError(f"dbench's load file could not be fetched: {process.last_line(done.stderr)}")


def fetched() -> Path:
    """dbench's client.txt in the cache, fetched if it is not there."""
    kept = rootfs.cache_dir() / "dbench" / "client.txt"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as name:
            work = Path(name)
            _run(["apt-get", "download", "-q", "dbench"], work)
            (package,) = work.glob("dbench_*.deb")
            _run(["dpkg-deb", "-x", package.name, "."], work)
            (work / _FILE).rename(kept)
    return kept


@functools.cache
def beginning(operations: int) -> str:
    """The lines of the load file up to so many metadata operations."""
    taken: list[str] = []
    with fetched().open() as lines:
        left = itertools.count(operations, -1)
        for line in lines:
            if any(True for _ in loadfile.operations([line])):
                if next(left) == 0:
                    break
                taken.append(line)
    return "".join(taken)


@dataclass(frozen=True)
class Dbench(Workload):
    """A subvolume a client; each of its workers is one client of dbench."""

    operations: int  # a worker
    clients: int = CLIENTS

    @property
    def name(self) -> str:
        """Dbench."""
        return "dbench"

    @property
    def fresh(self) -> bool:
        """What was made would move with the directories of the next cell."""
        return True

    @property
    def subvolumes(self) -> tuple[str, ...]:
        """One a client."""
        return tuple(f"dbench{k}" for k in range(self.clients))

    def inputs(self) -> Mapping[str, str]:
        """The part of the load file that is replayed."""
        return {SOURCE: beginning(self.operations)}

    def data(self, paths: Mapping[str, str]) -> None:
        """The load file makes its files itself."""

    def load(self, phase: str, paths: Mapping[str, str], tag: str) -> LoadSpec:
        """All clients, in directories of this cell."""
        return LoadSpec(
            tuple(
                ClientSpec(
                    name=name,
                    path=paths[name],
                    job="dbench",
                    source=SOURCE,
                    home=f"/{tag}",
                    workers=WORKERS,
                    cache=UNCACHED,
                )
                for name in self.subvolumes
            ),
            seed=SEED,
        )

    def demand(self, paths: Mapping[str, str]) -> dict[str, float]:
        """The same for all subvolumes."""
        return {home_of(paths[name]): float(self.operations * WORKERS) for name in self.subvolumes}


DBENCH = Dbench(operations=3_000)
