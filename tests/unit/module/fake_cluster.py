# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster in memory: pins that move directories after a while, a key/value store that can fail."""

from __future__ import annotations

import errno
import json
import logging
import re
import sys
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from mds_partitioner.act.executor import Executor
from mds_partitioner.act.halts import Halts
from mds_partitioner.act.journal import Journal
from mds_partitioner.act.run import Run, owned_distributed, steps_in_force
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, JournalError, NotFound, PartitionerError, Unavailable
from mds_partitioner.model import FsState, HealthCheck, MdsInfo
from mds_partitioner.options import Settings
from mds_partitioner.plan.circumstances import DISTRIBUTES
from mds_partitioner.plan.plan import CONFIG_STEP, FS_STEP, MASK_STEP, PIN_STEP, Plan, Prediction, Row, Step
from mds_partitioner.plan.ranks import parse_ranks
from mds_partitioner.verify.guards import FOLLOWS_PINS, Hold

LOG = logging.getLogger("test")
SETTINGS = Settings(
    epoch=10,
    analyze_duration=600,
    rank_capacity=0.0,
    imbalance_threshold=0.075,
    smoothness=0.2,
    role_threshold=0.01,
    min_gain=0.05,
    max_moves=2,
    epoch_capacity=100.0,
    hint_interval=60,
    hint_dead_band=0.1,
    selection="mindex",
    rest_period=600,
    arrival_timeout=300,
    rentries_per_epoch=200,
    ranks_per_epoch=8,
    tell_concurrency=8,
    bytes_per_inode=3072,
    engine_python=sys.executable,
    engine_deadline=60,
    engine_memory=2 << 30,
    engine_nice=10,
)


class Crash(BaseException):
    """The manager dies here."""


@dataclass
class Store:
    """The mon's key/value store. ``fail``: refuse writes. See FakeCluster.crash_at."""

    cluster: FakeCluster
    data: dict[str, str] = field(default_factory=dict)
    fail: bool = False

    def put(self, key: str, value: str) -> None:
        """Store, unless told to fail."""
        if self.fail:
            raise JournalError("the mon refused 'config-key set'")
        assert len(value.encode()) <= 64 * 1024, "the mon takes 64 KiB a key"
        self.cluster.event(f"put {_part(key)}")
        self.data[key] = value

    def delete(self, key: str) -> None:
        """Remove a key."""
        self.data.pop(key, None)

    def items(self, prefix: str) -> dict[str, str]:
        """Keys with a prefix."""
        return {key: value for key, value in self.data.items() if key.startswith(prefix)}


@dataclass
class Directory:
    """A directory of the fake file system."""

    path: str
    pin: int = -1
    rank: int = 0
    mask: str = "-1"
    distributed: str = "0"
    random: bool = False
    scattered: bool = False  # its fragments are where their hashes say


class Mount:
    """What the module does on a mount."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def ino(self, path: str) -> int:
        """Inode number by path, of which links on the way are followed."""
        for link, target in self._cluster.links.items():
            if path.startswith(f"{link}/"):
                path = target + path.removeprefix(link)
        return self._cluster.ino_at(path)

    def over_link(self, path: str) -> bool:
        """Is there a symbolic link on the way?"""
        return any(path.startswith(f"{link}/") for link in self._cluster.links)

    def name_in(self, path: str, name: str) -> str:
        """Case does not count."""
        return name.lower()

    def pin(self, path: str) -> int:
        """ceph.dir.pin."""
        return self._cluster.directories[self.ino(path)].pin

    def mask(self, path: str) -> str:
        """ceph.dir.bal.mask."""
        return self._cluster.directories[self.ino(path)].mask

    def entries(self, path: str) -> int:
        """ceph.dir.entries."""
        return 0 if self.ino(path) in self._cluster.empty else 7

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        """ceph.dir.pin.distributed and .random."""
        directory = self._cluster.directories[self.ino(path)]
        return directory.distributed == "1", directory.random

    def load(self, path: str) -> None:
        """The MDS reads it."""
        self._cluster.trimmed.discard(self.ino(path))

    def set_attribute(self, path: str, ino: int, attribute: str, value: str, may: Callable[[], bool]) -> None:
        """Set ceph.dir.pin, ceph.dir.pin.distributed or ceph.dir.bal.mask."""
        assert self.ino(path) == ino
        if not may():
            raise Unavailable(f"{attribute} of {path!r} was not set: it is not as it was")
        kind = {
            "ceph.dir.pin": "pin",
            "ceph.dir.bal.mask": "mask",
            "ceph.dir.pin.distributed": "distributed",
        }[attribute]
        if path in self._cluster.refused:
            raise CephError(f"cannot set {attribute} of {path!r}: Operation not permitted")
        if kind == "mask" and not self._cluster.hook:
            raise CephError(f"cannot set {attribute} of {path!r}: Invalid argument", errno.EINVAL)
        self._cluster.event(f"{kind} {path} {value}")
        setattr(self._cluster.directories[ino], kind, int(value) if kind == "pin" else value)


def ended(call: Callable[[], Any]) -> Future[Any]:
    """A call that has ended."""
    future: Future[Any] = Future()
    try:
        future.set_result(call())
    except PartitionerError as e:
        future.set_exception(e)
    return future


class FakeCluster:
    """Stands for Host, and for what the MDSs say (Whereabouts)."""

    def __init__(self, directories: int = 4, ranks: int = 4, lag: int = 1) -> None:
        self.directories = {100 + i: Directory(f"/volumes/_nogroup/s{i}") for i in range(directories)}
        self.state = FsState(
            name="cephfs",
            fscid=1,
            max_mds=ranks,
            ranks_in=tuple(range(ranks)),
            mds=tuple(MdsInfo(r, f"m{r}", "up:active") for r in range(ranks)),
            failed=(),
            damaged=(),
            balance_automate=False,
            balancer="",
            bal_rank_mask="-1",
        )
        self.store = Store(self)
        self.objects: dict[str, str] = {}
        self.pool_ids = {20, 30}
        self.options: dict[str, str] = {}
        self.configured: dict[str, Any] = {"mds_bal_interval": 10, "mds_cache_memory_limit": 4 << 30}
        self.configured |= {FOLLOWS_PINS: True, DISTRIBUTES: True}
        self.told: dict[str, dict[str, str]] = {}  # options of MDSs that answer, by their names
        self.why: str | None = None
        self.busy = False  # what was begun may go on all the same
        self.empty: set[int] = set()  # directories with nothing in them
        self.trimmed: set[int] = set()  # directories that are in no MDS's cache
        self.links: dict[str, str] = {}  # symbolic links, and what they lead to, whole
        self.checks: dict[str, HealthCheck] = {}
        self.refused: set[str] = set()  # paths whose attributes the MDSs do not let us set
        self.hook = True  # stock MDSs show a mask that is there, and take none
        self.events: list[str] = []
        self.watch: Callable[[str], None] = lambda text: None  # told of each event
        self.crash_at: int | None = None
        self.lag = lag
        self.managers = self.ticks = 0
        self._moving: dict[int, int] = {}
        self._spreading: dict[int, int] = {}

    def event(self, text: str) -> None:
        """Something durable happens now; a crash may come instead."""
        if self.crash_at is not None and len(self.events) >= self.crash_at:
            self.crash_at = None
            raise Crash
        self.events.append(text)
        self.watch(text)

    def file_systems(self) -> list[FsState]:
        """Host.file_systems."""
        return [self.state]

    def fs(self, name: str | None) -> FsState:
        """Host.fs."""
        return self.state

    def fs_by_id(self, fscid: int) -> FsState | None:
        """Host.fs_by_id."""
        return self.state if self.state.fscid == fscid else None

    def fs_of_mon(self, fscid: int) -> FsState | None:
        """Host.fs_of_mon."""
        return self.fs_by_id(fscid)

    def fs_unless_removed(self, fscid: int) -> FsState | None:
        """Host.fs_unless_removed."""
        return self.fs_by_id(fscid) or self.fs_of_mon(fscid)

    def on_fs(self, fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        """Host.on_fs."""
        return call(Mount(self))

    def begin_on_fs(self, fs: FsState, question: Callable[[Any], Any]) -> Future[Any]:
        """Host.begin_on_fs: answered at once."""
        return ended(lambda: self.on_fs(fs, question))

    def mon(self, prefix: str, **arguments: str) -> str:
        """Host.mon: fs get, fs set."""
        if prefix == "fs get":
            return json.dumps({"id": self.state.fscid, "mdsmap": self._mdsmap()})
        assert prefix == "fs set", prefix
        if arguments["fs_name"] != self.state.name:
            raise CephError(f"no file system '{arguments['fs_name']}'", 2)
        name, value = arguments["var"], arguments["val"]
        self.event(f"set {name} {value}")
        self.state = replace(self.state, **{name: value == "true" if name == "balance_automate" else value})
        return ""

    def _mdsmap(self) -> dict[str, Any]:
        state = self.state
        nothing: dict[str, Any] = {"info": {}, "failed": [], "damaged": []}
        return nothing | {
            "fs_name": state.name,
            "max_mds": state.max_mds,
            "in": list(state.ranks_in),
            "flags_state": {"balance_automate": state.balance_automate},
            "balancer": state.balancer,
            "bal_rank_mask": state.bal_rank_mask,
            "metadata_pool": state.metadata_pool,
        }

    def has_hook(self, fs: FsState) -> bool:
        """Host.has_hook."""
        return self.hook

    def report_period(self) -> float:
        """Host.report_period."""
        return 5.0

    def health(self) -> dict[str, HealthCheck]:
        """Host.health."""
        return self.checks

    def in_flight(self, fscid: int, ino: int) -> None:
        """Host.in_flight: whatever was given up has ended."""

    def hangs(self, fscid: int, ino: int) -> bool:
        """Host.hangs: likewise."""
        return False

    def mon_in_flight(self, **arguments: str) -> bool:
        """Host.mon_in_flight: likewise."""
        return False

    def config(self, option: str, mds: str = "") -> Any:
        """Host.config."""
        return self.configured.get(f"{mds}/{option}", self.configured[option])

    def tell_each(
        self, fs: FsState, names: list[str], prefix: str, *, within: float = 16.0, **arguments: Any
    ) -> dict[str, Any]:
        """Host.tell_each: config get."""
        assert prefix == "config get" and set(arguments) == {"var"}, prefix
        return {name: self.told.get(name, Unavailable(f"mds.{name} did not answer")) for name in names}

    def mds_option(self, option: str) -> str:
        """Host.mds_option."""
        return self.options.get(option, "")

    def set_mds_option(self, option: str, value: str) -> None:
        """Host.set_mds_option."""
        self.event(f"option {option} {value}")
        self.options[option] = value

    def write_object(self, pool: int, name: str, text: str) -> None:
        """Host.write_object."""
        self.event(f"write {name}")
        self.objects[name] = text

    def pools(self) -> dict[int, str]:
        """Host.pools."""
        return {pool: f"pool{pool}" for pool in self.pool_ids}

    def remove_object(self, pool: int, name: str) -> None:
        """Host.remove_object."""
        self.event(f"remove {name}")
        self.objects.pop(name, None)

    def ino_at(self, path: str) -> int:
        """Inode number by path as MDSs have it: they follow no link."""
        for ino, directory in self.directories.items():
            if directory.path == path:
                return ino
        raise NotFound(f"cannot stat {path!r}")

    def there(self, fs: FsState, path: str, rank: int) -> bool:
        """Whereabouts.there: of what is in its cache."""
        ino = self.ino_at(path)
        return self.directories[ino].rank == rank and ino not in self.trimmed

    def within(self, fs: FsState, path: str, ranks: Collection[int]) -> bool:
        """Whereabouts.within."""
        return self.directories[self.ino_at(path)].rank in ranks

    def scattered(self, fs: FsState, path: str) -> bool:
        """Whereabouts.scattered."""
        return self.directories[self.ino_at(path)].scattered

    def path_of(self, fs: FsState, ino: int) -> str | None:
        """Whereabouts.path_of."""
        directory = self.directories.get(ino)
        return directory.path if directory else None

    def under_way(self) -> int:
        """Directories that are not on the rank of their pin, or not in their mask."""
        return sum(d.rank != _wanted(d) for d in self.directories.values())

    def pass_time(self) -> None:
        """The MDSs move what is pinned elsewhere and in a cache, ``lag`` ticks after the pin was set."""
        if not self.configured[FOLLOWS_PINS]:
            return
        for ino, directory in self.directories.items():
            spreads = self.configured[DISTRIBUTES] and directory.distributed == "1" and directory.pin < 0
            waited = self._spreading.get(ino, 0) + 1 if spreads else 0
            self._spreading[ino], directory.scattered = waited, waited > self.lag
        for ino, directory in self.directories.items():
            if directory.rank == _wanted(directory):
                self._moving.pop(ino, None)
            if directory.rank == _wanted(directory) or ino in self.trimmed:
                continue
            self._moving[ino] = self._moving.get(ino, 0) + 1
            if self._moving[ino] > self.lag:
                directory.rank = _wanted(directory)

    def snapshot(self) -> tuple[Any, ...]:
        """Everything an operator could have set, and where directories are."""
        placed = tuple(
            (ino, d.path, d.pin, d.mask, d.distributed, d.rank) for ino, d in sorted(self.directories.items())
        )
        state = self.state
        options = {name: value for name, value in self.options.items() if value}
        return (
            placed,
            state.bal_rank_mask,
            state.balance_automate,
            state.balancer,
            tuple(self.objects),
            options,
        )


def _wanted(directory: Directory) -> int:
    """The rank that the MDSs will have a directory on."""
    if directory.pin >= 0:
        return directory.pin
    ranks = (directory.rank,) if directory.mask == "-1" else parse_ranks(directory.mask)
    return directory.rank if directory.rank in ranks else ranks[0]


def _part(key: str) -> str:
    """A key of a plan without the plan's id and the manager's incarnation."""
    return re.sub(r"^plan/[^/]+/((?:step/)?[^/]+).*", r"\1", key)


class Manager:
    """One manager's memory: lost when it dies."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.cluster.managers += 1
        self.journal = Journal(cluster.store, cluster.managers)
        self.runs, self.unreadable = self.journal.load()
        self.halts = Halts()
        host: Any = cluster
        self.executor = Executor(
            host,
            self.journal,
            cluster,
            lambda fs: None if cluster.why is None else Hold(cluster.why, cluster.busy),
            lambda fscid: owned_distributed(steps_in_force(self.runs, fscid)),
            lambda: self.runs,
            lambda _: "",
            LOG,
            self.halts,
        )

    def interrupt(self, run: Run, **changes: Any) -> None:
        """An operator's order to stop or hold, journaled."""
        run.memory.untold = changes
        self.journal.interrupt(run)

    def tick(self, run: Run) -> None:
        """One tick of the mover, then of the MDSs."""
        self.executor.tick(run, SETTINGS, Now(1000.0 + self.cluster.ticks, float(self.cluster.ticks)))
        self.cluster.ticks += 1
        self.cluster.pass_time()


def row(cluster: FakeCluster, ino: int, new: int) -> Row:
    """A light subvolume that is to move."""
    path, rank = cluster.directories[ino].path, cluster.directories[ino].rank
    return Row(path.rpartition("/")[2], path, ino, 10.0, 1.0, 10, 5.0, "light", (rank,), (new,), "rebalance")


def plan(
    cluster: FakeCluster,
    moves: dict[int, int],
    mask: str | None = None,
    *,
    name: str = "p",
    masks: dict[int, str] | None = None,
    option: str | None = None,
) -> Plan:
    """Pins directories (by inode), or masks them; with a mask, switches the balancer on; sets an option."""
    rows = tuple(row(cluster, ino, rank) for ino, rank in moves.items())
    steps = [
        Step(0, PIN_STEP, i, r.path, r.ino, str(r.new[0]), str(cluster.directories[r.ino].pin), r.current[0])
        for i, r in enumerate(rows)
    ]
    for ino, value in (masks or {}).items():
        directory = cluster.directories[ino]
        steps.append(Step(0, MASK_STEP, -1, directory.path, ino, value, directory.mask, directory.rank))
    if mask is not None:
        old = cluster.state
        steps.append(Step(1, FS_STEP, -1, "bal_rank_mask", 0, mask, old.bal_rank_mask))
        steps.append(Step(1, FS_STEP, -1, "balance_automate", 0, "true", str(old.balance_automate).lower()))
    if option is not None:
        steps.append(Step(1, CONFIG_STEP, -1, option, 0, "true", cluster.mds_option(option)))
    nothing = Prediction(0.0, 0.0, 0, 0.0, 0, 0.0, 0.0, {}, {}, 0.0)
    return Plan(name, "cephfs", 1, 1.0, "mask", (), False, "", rows, tuple(steps), nothing)
