# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster in memory whose directories have load, with the partitioner and the scheduler on it."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fake_cluster import LOG, SETTINGS, Directory, FakeCluster, Mount, Store

from mds_partitioner.act.events import Progress
from mds_partitioner.act.executor import Unwanted
from mds_partitioner.act.journal import Journal
from mds_partitioner.act.mover import Mover
from mds_partitioner.act.registry import Plans
from mds_partitioner.ceph.tick import TICK, USUAL_TICK
from mds_partitioner.clock import Now
from mds_partitioner.engine.calls import CALLS
from mds_partitioner.errors import JournalError
from mds_partitioner.model import ROOT, FsState
from mds_partitioner.partitioner import Partitioner
from mds_partitioner.plan.circumstances import FACTOR
from mds_partitioner.plan.ephemeral import fragment_ranks
from mds_partitioner.plan.plan import Plan
from mds_partitioner.planning import Planning
from mds_partitioner.policy.switch import balances
from mds_partitioner.ranks import Ranks
from mds_partitioner.schedule.ledger import Ledger
from mds_partitioner.schedule.options import SCHEDULER_OPTIONS, SchedulerSettings
from mds_partitioner.schedule.rounds import Rounds
from mds_partitioner.scheduling import Scheduling
from mds_partitioner.workers import GivenUp

DEFAULTS = SchedulerSettings(**{option["name"]: option["default"] for option in SCHEDULER_OPTIONS})
NOGROUP = "/volumes/_nogroup"
LATENCY = 0.001  # s, of a rank that is not full
BACKTRACE = struct.pack("<BBIQIBBIQIc", 5, 4, 31, 0, 1, 2, 2, 13, 1, 1, b"d")  # it is right in the root
BEGINNING = 1_800_000_000.0  # Unix, s
BOOTED = 1_000_000.0  # s that the host's steady clock is behind the scheduler's (clock.py)


class RealStore(Store):
    """Deletes are events, too; and the mon may refuse for a while."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self._refused = range(0)
        self._writes = 0
        self.unanswered = ""  # a part of keys whose writes come, and are not answered in time

    def refuse(self, after: int, count: int) -> None:
        """So many writes and removals, after some."""
        self._refused = range(self._writes + after, self._writes + after + count)

    def put(self, key: str, value: str) -> None:
        """Store, unless it is refused."""
        self._ask()
        super().put(key, value)
        if self.unanswered and self.unanswered in key:
            raise JournalError("the mon did not answer within 20 s")

    def delete(self, key: str) -> None:
        """Remove a key, unless it is refused."""
        self._ask()
        self.cluster.event("delete")
        super().delete(key)

    def _ask(self) -> None:
        self._writes += 1
        if self._writes in self._refused:
            raise JournalError("the mon refused it")


class LoadedMount(Mount):
    """Also what the catalogue asks a mount."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._made, self._files, self._below = cluster.made, cluster.files, cluster.below

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        return self.subdirs(path) + self._files.get(self.ino(path) if path.rstrip("/") else ROOT, 0)

    def subdirs(self, path: str) -> int:
        """FileSystem.subdirs."""
        return len(self.subdirectories(path))

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        path = path.rstrip("/")
        if path:
            self.ino(path)
        found = {d.path: ino for ino, d in self._cluster.directories.items()}
        return sorted((p.rpartition("/")[2], ino) for p, ino in found.items() if p.rpartition("/")[0] == path)

    def rentries(self, path: str) -> int:
        """FileSystem.rentries."""
        self.ino(path)
        return 1 + self._below.get(path, 999)  # the directory counts itself

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """FileSystem.rentries_and_pin."""
        return self.rentries(path), self.pin(path)

    def born(self, path: str) -> float:
        """FileSystem.born: long ago, if nothing else is told."""
        return self._made.get(self.ino(path), 1.0)


class Cluster(FakeCluster):
    """Everything is on rank 0; each directory has a load of its own, that clients wait for."""

    def __init__(
        self, loads: Sequence[float] = (100.0,) * 8, ranks: int = 4, capacity: float = 300.0
    ) -> None:
        super().__init__(directories=len(loads), ranks=ranks)
        self.store: RealStore = RealStore(self)
        self.directories |= {2: Directory("/volumes"), 3: Directory(NOGROUP)}
        self.load = {100 + i: load for i, load in enumerate(loads)}
        self.capacity = capacity
        self.wall, self.steady = BEGINNING, 100.0
        self.silent: set[str] = set()  # MDSs that do not answer
        self.odd: dict[str, Any] = {}  # what MDSs say to whatever they are asked; they do nothing
        self.unheard: set[str] = set()  # MDSs that do what they are told, and do not answer in time
        self.hurried: dict[str, float] = {}  # s between two ticks, of MDSs that were told at run time
        self.reports: dict[str, int] = {}  # that the manager has of an MDS, if not two
        self.passed: dict[str, float] = {}  # req/s that MDSs hand on to others
        self.made: dict[int, float] = {}  # Unix, s, by inode number
        self.churning: dict[int, int] = {}  # directories whose children come and go: how many there are
        self.last = 10_000  # the newest inode number
        self.files: dict[int, int] = {}  # that directories have, by inode number
        self.below: dict[str, int] = {}  # entries at any depth, by path
        self.configured[FACTOR] = 2.0
        self.asked = Counter[str]()  # how often the mon was, by option

    def incarnation(self) -> int:
        """Host.incarnation."""
        return self.managers

    def pass_time(self) -> None:
        """A directory without a pin goes where its parent is."""
        super().pass_time()
        self._churn()
        by_path = {d.path: d for d in self.directories.values()}
        for at in self.directories.values():
            parent = at.path.rpartition("/")[0]
            if at.pin < 0 and parent.startswith(f"{NOGROUP}/"):
                at.rank = by_path[parent].rank

    def _churn(self) -> None:
        """All that comes and goes is made anew."""
        for parent, number in self.churning.items():
            path = self.directories[parent].path
            gone = [ino for ino, d in self.directories.items() if d.path.startswith(f"{path}/t")]
            for ino in gone:
                del self.directories[ino]
            for i in range(number):
                self.last += 1
                self.directories[self.last] = Directory(f"{path}/t{i}", rank=self.directories[parent].rank)
                self.made[self.last] = self.wall

    def config(self, option: str) -> Any:
        """Host.config."""
        self.asked[option] += 1
        return self.configured[option]

    def now(self) -> Now:
        """clock.from_epoch."""
        return Now(self.wall, self.steady)

    def of_host(self) -> Now:
        """clock.read."""
        return Now(self.wall, self.steady - BOOTED)

    def file_systems(self) -> list[FsState]:
        """Host.file_systems."""
        return [self.state]

    def on_fs(self, fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        """Host.on_fs."""
        return call(LoadedMount(self))

    def has_hook(self, fs: FsState) -> bool:
        """Host.has_hook."""
        return False

    def demand(self, rank: int) -> float:
        """req/s that are asked of a rank."""
        return sum(load * self._part(ino, rank) for ino, load in self.load.items())

    def _part(self, ino: int, rank: int) -> float:
        """Of a directory's load that is on a rank."""
        at = self.directories[ino]
        if not at.scattered:
            return float(at.rank == rank)
        ranks = fragment_ranks(ino, self.state.max_mds, 2.0)
        return ranks.count(rank) / len(ranks)

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        """Host.counter: each MDS has just reported. A full rank has all that is asked of it inside."""
        asked = self.demand(int(mds[1:]))
        rate = min(self.capacity, asked)
        latency = 26.0 / rate if asked > self.capacity else LATENCY
        first, count = 2 - self.reports.get(mds, 2), 5 * rate
        if path == "mds.reply_latency":
            return [(self.wall - 5.0, 0.0, 0.0), (self.wall, count * latency * 1e9, count)][first:]
        passed = 5 * self.passed.get(mds, 0.0)
        values = {
            "mds_server.handle_client_request": count + passed,
            "mds.forward": passed,
            "mds_mem.ino": 1e6,
        }
        value = values.get(path, 0.0)
        return [(self.wall - 5.0, 0.0), (self.wall, value)][first:]

    def tell(self, fs: FsState, mds: str, prefix: str, **arguments: Any) -> Any:
        """Host.tell."""
        if prefix.startswith("config "):
            return self._configure(mds, prefix, **arguments)
        rank = int(mds[1:])
        if prefix == "dump dir":
            at = self._at(str(arguments["path"]))
            return [{"is_auth": at.rank == rank}]
        if prefix == "dump inode":
            found = self.directories.get(int(arguments["number"]))
            return {} if found is None else {"path": found.path}
        if prefix == "session ls":
            return [_session(i, d.path) for i, d in self.directories.items() if d.rank == rank]
        if prefix == "dump loads":
            return {"dirfrags": list(self._dirfrags(rank))}
        assert prefix == "get subtrees", prefix
        roots = [(i, d) for i, d in self.directories.items() if d.pin >= 0 or d.rank != self._above(d)]
        all_of_it = [(ROOT, Directory("")), *roots]
        found = [_subtree(d.path, ino, d.rank, d.pin) for ino, d in all_of_it if d.rank == rank]
        scattered = [(i, d) for i, d in self.directories.items() if d.scattered and self._part(i, rank)]
        return found + [_subtree(d.path, ino, rank, -1, ephemeral=True) for ino, d in scattered]

    def _configure(self, mds: str, prefix: str, var: str, val: Sequence[str] = ()) -> dict[str, Any]:
        """As CephContext::_do_command, config diff get, config set, config unset."""
        assert var == TICK
        if prefix == "config diff get":
            mon, told = self.options.get(TICK), self.hurried.get(mds)
            levels = {"mon": float(mon)} if mon else {}
            levels |= {} if told is None else {"override": told}
            final = {"final": list(levels.values())[-1]} if levels else {}
            return {
                "diff": {"fsid": {}} | ({var: {"default": USUAL_TICK} | levels | final} if levels else {})
            }
        self.event(" ".join((prefix, mds, *val)))
        if prefix == "config set":
            self.hurried[mds] = float(*val)
        else:
            assert prefix == "config unset"
            self.hurried.pop(mds, None)  # it is no error if it was not set
        return {}

    def object_attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        """Host.object_attribute: a backtrace, as long as the directory is there."""
        return BACKTRACE if int(name.partition(".")[0], 16) in self.directories else None

    def manager_addresses(self) -> frozenset[Any]:
        """Host.manager_addresses."""
        return frozenset()

    def tell_each(
        self, fs: FsState, names: list[str], prefix: str, *, within: float = 8.0, **arguments: Any
    ) -> dict[str, Any]:
        """Host.tell_each."""
        silent = GivenUp("no answer")
        able = (n for n in names if n not in self.silent and n not in self.odd)
        told = {n: self.tell(fs, n, prefix, **arguments) for n in able}
        heard = {n: told[n] for n in told if n not in self.unheard}
        return dict.fromkeys(names, silent) | heard | {n: self.odd[n] for n in names if n in self.odd}

    def _at(self, path: str) -> Directory:
        return next(d for d in self.directories.values() if d.path == path)

    def _dirfrags(self, rank: int) -> Any:
        yield {
            "path": "",
            "pop_auth_subtree": _heat(0.0),
            "pop_auth_subtree_nested": _heat(self.demand(rank)),
        }
        for ino, load in self.load.items():
            at = self.directories[ino]
            if self._part(ino, rank):
                own = load * self._part(ino, rank)
                me, heat = _heat(own), _heat(own + self._below(at))
                names = "pop_auth_subtree", "pop_auth_subtree_nested"
                yield {"path": at.path, "pop_me": me} | dict.fromkeys(names, heat)

    def _above(self, at: Directory) -> int:
        """The rank of the nearest directory that one is in."""
        around = [d for d in self.directories.values() if at.path.startswith(f"{d.path}/")]
        return max(around, key=lambda d: len(d.path)).rank if around else 0

    def _below(self, at: Directory) -> float:
        """req/s of what is below a directory and in its subtree."""
        below = ((d, ino) for ino, d in self.directories.items() if d.path.startswith(f"{at.path}/"))
        return sum(self.load.get(ino, 0.0) for d, ino in below if d.pin < 0 and d.rank == at.rank)


def _session(client: int, root: str) -> dict[str, Any]:
    return {
        "id": client,
        "entity": {"addr": {"addr": "10.0.0.1:0", "nonce": client}},
        "client_metadata": {"root": f"{root}/data"},
        "num_caps": 10,
        "request_load_avg": 5,
        "uptime": 900.0,
    }


def _heat(reads: float) -> dict[str, Any]:
    """Of a load that never changes; forgotten at once, so that one that does is seen as it is."""
    return {"Decay Counters": [{"value": value, "halflife": 1e-3} for value in (reads, *(0.0,) * 4)]}


def _subtree(path: str, ino: int, rank: int, pin: int, *, ephemeral: bool = False) -> dict[str, Any]:
    return {
        "is_auth": True,
        "auth_first": rank,
        "export_pin": pin,
        "distributed_ephemeral_pin": ephemeral,
        "random_ephemeral_pin": False,
        "dir": {"path": path, "dirfrag": f"{ino:#x}"},
    }


@dataclass
class Options:
    """The values in force; tests change them."""

    ours: SchedulerSettings = DEFAULTS


class Manager:
    """One manager: it dies with this object."""

    def __init__(
        self,
        cluster: Cluster,
        options: Options | None = None,
        spent: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.cluster, self.options = cluster, options or Options()
        cluster.managers += 1
        host: Any = cluster
        ranks = Ranks(host, _engine, lambda: SETTINGS, LOG, lambda: cluster.wall)
        nobody: Any = None
        self.woken = 0
        self.left = ""  # which MDS goes on without our policy
        self.failures = {"moves": 0, "looks": 0}
        journal = Journal(host.store, host.incarnation())
        plans = Plans(host, journal, cluster.of_host, LOG)
        self.ledger = ledger = Ledger(host, LOG, cluster.now)
        self.scheduling = Scheduling(*(host, ledger, plans, balances), lambda: self.options.ours, cluster.now)
        self.unwanted: Unwanted = self.scheduling.unwanted
        self.planning = Planning(host, nobody, nobody, plans, lambda: SETTINGS, cluster.of_host)
        self.told: Progress = lambda *_: None
        self.partitioner = Partitioner(
            *(host, journal, plans, cluster.of_host),
            on_progress=self._tell,
            scheduled=self.scheduling.in_the_way,
        )
        self.mover = Mover(
            *(host, journal, plans, lambda: SETTINGS, LOG, cluster.of_host),
            on_progress=self._tell,
            unwanted=self._unwanted,
            failed=lambda: self._failed("moves"),
        )
        self.rounds = Rounds(
            *(host, _engine, ranks, ledger, plans, self.partitioner.undo, balances),
            lambda: (SETTINGS, self.options.ours),
            LOG,
            cluster.now,
            left=lambda fs: self.left,
            planned=self._wake,
            failed=lambda: self._failed("looks"),
            spent=spent,
        )
        plans.load()
        ledger.begin()

    def _tell(self, *event: Any) -> None:
        self.told(*event)

    def _unwanted(self, plan: Plan) -> str | None:
        return self.unwanted(plan)

    def _failed(self, what: str) -> None:
        self.failures[what] += 1

    def _wake(self) -> None:
        """Every loop looks at once, that of the scheduler, too."""
        self.woken += 1

    def run(self, seconds: int) -> None:
        """Let time pass; the loops do what is due."""
        for _ in range(seconds):
            self.rounds.read()
            self.rounds.tick()
            self.mover.tick()
            self.cluster.pass_time()
            self.cluster.wall += 1.0
            self.cluster.steady += 1.0

    @property
    def fs(self) -> FsState:
        """As it is now."""
        return self.cluster.state


def _engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return CALLS[name](arguments)


def fewer(**changes: Any) -> Options:
    """The defaults, but for these."""
    return Options(replace(DEFAULTS, **changes))
