# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster that a history acts on: file systems, pins that are followed late, the mon's store, two clocks.

It is only changed through ``Ceph`` (a manager's eyes and hands, in ceph.py) and ``Operator`` (operator.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Union

from mds_partitioner.clock import Now
from mds_partitioner.model import FsState, HealthCheck, MdsInfo
from mds_partitioner.plan.ranks import parse_ranks

ROOT = "/volumes/_nogroup"
BEGINNING = 20_000 * 86_400.0  # seconds since the Unix epoch

# What can be changed: ("pin", "mask" or "distributed", fscid, inode number), ("fs", fscid, setting),
# ("config", 0, option).
Target = tuple[str, int, Union[int, str]]


@dataclass
class Directory:
    """A directory; ``rank`` follows its pin, or else its mask."""

    path: str
    pin: int = -1
    mask: str = "-1"
    distributed: str = "0"
    rank: int = 0
    born: float = 0.0  # seconds since the Unix epoch
    rentries: int = 10
    lag: int = 0  # ticks since its rank should change
    spreading: int = 0  # ticks since it is distributed, and no pin comes before that
    scattered: bool = False  # its fragments are where their hashes say
    cold: bool = False  # no MDS has it in cache

    def wanted(self) -> int:
        """The rank that the MDSs will have it on."""
        if self.pin >= 0:
            return self.pin
        ranks = (self.rank,) if self.mask == "-1" else parse_ranks(self.mask)
        return self.rank if self.rank in ranks else ranks[0]


@dataclass
class FileSystem:
    """One file system; ``ranks`` are in, those in ``down`` have no MDS."""

    fscid: int
    name: str
    ranks: int
    max_mds: int
    directories: dict[int, Directory] = field(default_factory=dict)
    settings: dict[str, str] = field(
        default_factory=lambda: {"bal_rank_mask": "-1", "balance_automate": "false", "balancer": ""}
    )
    down: set[int] = field(default_factory=set)
    hooked: bool = False

    def state(self) -> FsState:
        """As the FSMap has it."""
        up = [r for r in range(self.ranks) if r not in self.down]
        return FsState(
            name=self.name,
            fscid=self.fscid,
            max_mds=self.max_mds,
            ranks_in=tuple(range(self.ranks)),
            mds=tuple(MdsInfo(r, f"fs{self.fscid}-{r}", "up:active") for r in up),
            failed=tuple(sorted(self.down)),
            damaged=(),
            balance_automate=self.settings["balance_automate"] == "true",
            balancer=self.settings["balancer"],
            bal_rank_mask=self.settings["bal_rank_mask"],
            metadata_pool=self.fscid,
        )


@dataclass
class Held:
    """What is known of a target's value, for the invariants.

    :ivar initial: before anything happened
    :ivar wanted: every value that an operator set
    :ivar last: the last one
    :ivar doubtful: it may pass for a plan's
    :ivar raced: an operator changed it between a manager's look and its write: no file system can tell
    """

    initial: str
    wanted: set[str] = field(default_factory=set)
    last: str | None = None
    doubtful: bool = False
    raced: bool = False


class FakeCluster:
    """Everything that outlives a manager."""

    def __init__(self, filesystems: list[FileSystem]) -> None:
        self.filesystems = {fs.fscid: fs for fs in filesystems}
        self.pools = set(self.filesystems)  # metadata pools: each has its file system's number
        self.store: MutableMapping[str, str] = {}
        self.options: dict[str, str] = {}
        self.health: dict[str, HealthCheck] = {}
        self.wall, self.steady = BEGINNING, 1_000.0
        self.incarnation = 1  # of the manager that is active; those before it are fenced
        self.violations: list[str] = []
        self.held: dict[Target, Held] = {}
        self.stopped: set[int] = set()  # file systems whose plan was stopped: no change may begin
        self.planned: Callable[[Target], Collection[str]] = lambda target: ()  # values that plans have for it
        for target in self.targets():
            self.held[target] = Held(self.value(target) or "")

    def now(self) -> Now:
        """Both clocks."""
        return Now(self.wall, self.steady)

    def targets(self) -> Iterator[Target]:
        """Everything that plans may change."""
        for fs in self.filesystems.values():
            for ino in fs.directories:
                yield "pin", fs.fscid, ino
                yield "mask", fs.fscid, ino
                yield "distributed", fs.fscid, ino
            for name in fs.settings:
                yield "fs", fs.fscid, name
        yield "config", 0, "mds_forward_all_requests_to_auth"

    def value(self, target: Target) -> str | None:
        """A target's present value; None: it does not exist any more."""
        kind, fscid, key = target
        if kind == "config":
            return self.options.get(str(key), "")
        fs = self.filesystems.get(fscid)
        if fs is None:
            return None
        if kind == "fs":
            return fs.settings[str(key)]
        directory = fs.directories.get(int(key))
        if directory is None:
            return None
        return str(getattr(directory, kind))

    def set(self, target: Target, value: str) -> None:
        """Change a target that exists."""
        kind, fscid, key = target
        if kind == "config":
            self.options[str(key)] = value
        elif kind == "fs":
            self.filesystems[fscid].settings[str(key)] = value
        else:
            directory = self.filesystems[fscid].directories[int(key)]
            setattr(directory, kind, int(value) if kind == "pin" else value)

    def pass_time(self, lag: int) -> None:
        """A second passes: what is pinned elsewhere moves, ``lag`` ticks after it was pinned, and what is
        distributed is so then."""
        self.wall += 1.0
        self.steady += 1.0
        for fs in self.filesystems.values():
            for directory in fs.directories.values():
                spreads = directory.distributed == "1" and directory.pin < 0
                directory.spreading = directory.spreading + 1 if spreads else 0
                directory.scattered = directory.spreading > lag
                goal = directory.wanted()
                if directory.rank == goal or goal >= fs.ranks or goal in fs.down:
                    directory.lag = 0
                    continue
                directory.lag += 1
                if directory.lag > lag:
                    directory.rank, directory.lag = goal, 0
