# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler costs the manager with 36 ranks and 3,000 subvolumes: `make bench-schedule-cost`.

The loops that ship run on the unit tests' cluster. What MDSs answer is text of the size that real ones
give, and reading it counts; what the cluster in memory costs itself is measured and taken off.
"""

import argparse
import json
import logging
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fake_cluster import LOG, Directory
from scheduled import NOGROUP, Cluster, LoadedMount, Manager

from experiments.common.provenance import made_by
from mds_partitioner.ceph.host import told_each
from mds_partitioner.errors import NotFound
from mds_partitioner.model import FsState
from mds_partitioner.schedule.record import ACT

RANKS, SUBVOLUMES = 36, 3_000
SEED = 2023
WARM = 170  # s, until all directories were read once
SECONDS = 120  # of each state
COUNTERS = {"element": {"value": 0.0}}
DECAY = {name: {"value": 1.5, "halflife": 5.0} for name in ("meta_load", "IRD", "IWR", "READDIR", "FETCH")}


class Complaint(logging.Handler):
    """Where the module warns, the cluster in memory is not as a real one: what is measured is no cost."""

    def emit(self, record: logging.LogRecord) -> None:
        """:raises SystemExit: the module warned"""
        sys.exit(f"the module warns of the cluster in memory: {record.getMessage()}")


class Free:
    """CPU seconds that the cluster in memory took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._deep = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._deep += 1
        began = time.process_time()
        try:
            yield
        finally:
            self._deep -= 1
            if not self._deep:
                self.seconds += time.process_time() - began


class Large(Cluster):
    """Found by path at once; what it answers is as long as what MDSs answer."""

    def __init__(self, loads: Sequence[float], ranks: int, capacity: float) -> None:
        super().__init__(loads, ranks, capacity)
        self.free = Free()
        self._demands: tuple[float, Mapping[int, float]] = (-1.0, {})
        self.inos = {d.path: ino for ino, d in self.directories.items()}

    def spread(self) -> None:
        """Every directory goes to a rank, in turns by its load, and has no pin."""
        room = [0.0] * len(self.state.ranks_in)
        for ino in sorted(self.load, key=lambda ino: -self.load[ino]):
            rank = room.index(min(room))
            room[rank] += self.load[ino]
            self.directories[ino].rank = rank

    def on_fs(self, fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        """Host.on_fs."""
        return call(Quick(self))

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        """Host.counter."""
        with self.free():
            return super().counter(mds, path)

    def demand(self, rank: int) -> float:
        """req/s that are asked of a rank."""
        return self.demands()[rank]

    def demands(self) -> Mapping[int, float]:
        """The same of all; what moves in a second counts in the next."""
        if self._demands[0] != self.steady:
            found: dict[int, float] = defaultdict(float)
            for ino, load in self.load.items():
                found[self.directories[ino].rank] += load
            self._demands = self.steady, found
        return self._demands[1]

    def tell_each(
        self, fs: FsState, names: list[str], prefix: str, *, within: float, **arguments: Any
    ) -> dict[str, Any]:
        """Host.tell_each: the text is read."""
        with self.free():
            told = {name: self._answer(fs, name, prefix, arguments) for name in names}
            texts = {name: json.dumps(answer) for name, answer in told.items()}
        return told_each(prefix, texts)

    def _at(self, path: str) -> Directory:
        return self.directories[self.inos[path]]

    def _answer(self, fs: FsState, name: str, prefix: str, arguments: Mapping[str, Any]) -> Any:
        rank = int(name[1:])
        if prefix == "dump loads":
            return {"dirfrags": list(self._dirfrags(rank))}
        if prefix != "get subtrees":
            return self.tell(fs, name, prefix, **arguments)
        # Rank 0 has the root, so everybody's bounds; the others have their own.
        own = (d for ino, d in self.directories.items() if ino in self.load and rank in (0, d.rank))
        roots = [_subtree(d, rank) for d in own if d.rank != 0 or d.pin >= 0 or d.scattered]
        return [_subtree(Directory("", rank=0), rank), *roots]

    def _dirfrags(self, rank: int) -> Any:
        yield _dirfrag("", 0.0, self.demand(rank))
        for ino, load in self.load.items():
            if self.directories[ino].rank == rank:
                yield _dirfrag(self.directories[ino].path, load, load)

    def pass_time(self) -> None:
        """A pin is followed at once, an ephemeral one, too."""
        for d in self.directories.values():
            d.rank = d.pin if d.pin >= 0 else d.rank
            d.scattered = d.distributed == "1"


class Quick(LoadedMount):
    """What costs nothing but a call."""

    def __init__(self, cluster: Large) -> None:
        super().__init__(cluster)
        self._large = cluster

    def ino(self, path: str) -> int:
        """Inode number by path."""
        if path not in self._large.inos:
            raise NotFound(f"cannot stat {path!r}")
        return self._large.inos[path]

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        return 10_000

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        if path == "/volumes":
            return [("_nogroup", 3)]
        below = self._large.load if path == NOGROUP else ()
        return [(self._large.directories[ino].path.rpartition("/")[2], ino) for ino in below]


def _dirfrag(path: str, own: float, nested: float) -> dict[str, Any]:
    """As ``dump loads`` of 20.2 shows one."""
    heats = {"pop_me": own, "pop_nested": nested, "pop_auth_subtree": own, "pop_auth_subtree_nested": nested}
    shown = {
        name: {"Decay Counters": [{"value": heat, "halflife": 5.0}, *({"value": 0.0, "halflife": 5.0},) * 4]}
        for name, heat in heats.items()
    }
    return {"path": path, "dirfrag": "0x10000000000", "inode": "0x10000000000", "load": DECAY} | shown


def _subtree(at: Directory, rank: int) -> dict[str, Any]:
    """As in ``get subtrees``."""
    where = {
        "path": at.path, "dirfrag": "0x10000000000", "snapid_first": 2, "projected_version": "1",
        "version": "1", "committing_version": "1", "committed_version": "1", "is_rep": False,
        "dir_auth": str(at.rank), "states": ["auth", "complete"], "is_auth": True,
        "auth_state": {"replicas": {"1": 1}}, "is_auth_pinned": False, "is_frozen": False, "nref": 2,
    }  # fmt: skip
    return {
        "is_auth": at.rank == rank, "auth_first": at.rank, "auth_second": -2, "export_pin": at.pin,
        "distributed_ephemeral_pin": at.scattered, "random_ephemeral_pin": False, "export_pin_target": at.pin,
        "dir": where,
    }  # fmt: skip


def _cost(manager: Manager, cluster: Large, seconds: int) -> dict[str, float]:
    """Parts of a core, by loop."""
    spent = dict.fromkeys(("look", "read", "move"), 0.0)
    for _ in range(seconds):
        loops = {"look": manager.rounds.tick, "read": manager.rounds.read, "move": manager.mover.tick}
        for name, work in loops.items():
            began, free = time.process_time(), cluster.free.seconds
            work()
            spent[name] += time.process_time() - began - (cluster.free.seconds - free)
        cluster.pass_time()
        cluster.wall += 1.0
        cluster.steady += 1.0
    return {name: round(100 * value / seconds, 2) for name, value in spent.items()}


def _state(loads: Sequence[float], *, spread: bool) -> dict[str, float]:
    """What it costs there, and how many directories were moved."""
    cluster = Large(loads, RANKS, 1.3 * sum(loads) / RANKS)
    if spread:
        cluster.spread()
    manager = Manager(cluster, spent=lambda: time.thread_time() - cluster.free.seconds)
    manager.scheduling.start(manager.fs, ACT)
    _cost(manager, cluster, WARM if spread else 10)
    cost = _cost(manager, cluster, SECONDS)
    moved = sum(d.pin >= 0 for d in cluster.directories.values())
    return cost | {"all": round(sum(cost.values()), 2), "moved": moved}


def measure() -> dict[str, Any]:
    """Percent of a core, the engine's part included: from cold, and when it is even."""
    chosen = random.Random(SEED)
    heavy = [chosen.paretovariate(1.2) for _ in range(SUBVOLUMES)]
    even = [min(load, 50.0) for load in heavy]
    return {
        "even, nothing to do": _state(even, spread=True),
        "a directory is more than a rank can serve, nothing to do": _state(heavy, spread=True),
        "from cold, all on rank 0": _state(even, spread=False),
    }


def main(argv: Sequence[str]) -> int:
    """Print, and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("docs/results/schedule-cost.json"))
    args = parser.parse_args(argv)
    LOG.addHandler(Complaint(logging.WARNING))
    value = {
        "command": "make bench-schedule-cost",
        **made_by(["scheduler"]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average_at_start": [round(x, 2) for x in os.getloadavg()],
        "ranks": RANKS,
        "subvolumes": SUBVOLUMES,
        "percent_of_a_core": measure(),
    }
    args.out.write_text(json.dumps(value, indent=1) + "\n")
    print(json.dumps(value, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
