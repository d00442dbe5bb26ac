# SPDX-License-Identifier: LGPL-2.1-or-later
"""The values that flow between the stages. All frozen; units are in the field comments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from .engine.inside import work

Address = tuple[str, int]  # "ip:port" and nonce of a client
ROOT = 1  # inode number: CEPH_INO_ROOT
NO_PIN = -1  # ceph.dir.pin of a directory that follows its parent


@dataclass(frozen=True)
class MdsInfo:
    """One MDS that holds a rank, from the FSMap."""

    rank: int
    name: str
    state: str  # "up:active", "up:replay", ...
    laggy: bool = False  # the mon has had no beacon of it for mds_beacon_grace; without a standby it stays


@dataclass(frozen=True)
class FsState:
    """What the FSMap says of one file system (``ceph fs get``)."""

    name: str
    fscid: int
    max_mds: int
    ranks_in: tuple[int, ...]
    mds: tuple[MdsInfo, ...]
    failed: tuple[int, ...]
    damaged: tuple[int, ...]
    balance_automate: bool
    balancer: str  # name of the Mantle object, "" for the built-in balancer
    bal_rank_mask: str  # as it was typed: "-1", "all", "0x0", "0x3"; see plan.ranks.balanced_ranks
    metadata_pool: int = -1
    joinable: bool = True  # else MDSs take none of its ranks, as after ``ceph fs fail``

    def active(self) -> tuple[MdsInfo, ...]:
        """The MDSs in state up:active, by rank."""
        return tuple(sorted((m for m in self.mds if m.state == "up:active"), key=lambda m: m.rank))

    def has(self, pool: Optional[int]) -> bool:
        """Is that its metadata pool, with all that was set of directories? None: unknown, and believed."""
        return pool in (None, self.metadata_pool)


def other_pools(fs: str) -> str:
    """Of something that was made for a file system of that name or id: why it is held."""
    return f"file system '{fs}' has other pools than when this was made (fs swap?)"


POOL_FULL = "POOL_FULL"  # a health check: pools of whatever users


@dataclass(frozen=True)
class HealthCheck:
    """A raised health check of the cluster (``ceph health detail``)."""

    summary: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True)
class RankSample:
    """One rank in one epoch."""

    rank: int
    name: str
    requests: float  # req/s
    latency: float  # mean reply latency, s
    inodes: int
    caps: int
    sessions: int
    exported: float  # inodes/s
    imported: float  # inodes/s
    subtrees: int
    exported_total: int = 0  # inodes since the MDS started
    imported_total: int = 0
    quickest: float = 0.0  # mean latency of the quickest of its common kinds of requests, s; 0: not measured
    fetches: float = 0.0  # directory fetches/s from the metadata pool
    pooled: float = 0.0  # requests that wait for the metadata pool, on the mean, where these may be many
    links: float = 0.0  # part of the requests that make hard links
    lookups: float = 0.0  # part of the requests that look up a name
    listings: float = 0.0  # requests/s for a directory's entries
    forwards: float = 0.0  # requests/s that it passed on to other ranks
    peers: float = 0.0  # messages/s from other ranks about requests that take both, answers included
    written: int = 0  # events that it has put into its journal since the MDS began; 0: not known
    journal: int = 0  # events that are in it
    reported: float = 0.0  # when the MDS last reported its requests, Unix, s; 0: never, or no more
    heard: bool = True  # it has told what it holds; else all counts are 0
    rated: bool = True  # it has told what it does, in two reports; else all rates are 0

    def again(self, before: "RankSample") -> bool:
        """Is it of the very report that the one before is of? Then it tells nothing new."""
        same = (self.rank, self.name, self.reported) == (before.rank, before.name, before.reported)
        return same and self.reported > 0.0

    @property
    def work(self) -> float:
        """Requests/s, a listing of a directory counted as what it takes as long as (engine/inside.py)."""
        return work(self.requests, self.listings)

    @property
    def inside(self) -> float:
        """Requests in work or waiting, on the mean (Little's law); 0 where ``quickest`` was not measured."""
        return self.requests * self.quickest

    @property
    def own(self) -> float:
        """``quickest`` without the time in which the rank waits for the metadata pool, and serves others, s;
        0: nearly all of it is. Of a few clients most wait where it takes longest."""
        left = self.inside - self.pooled
        return left / self.requests if left > self.pooled else 0.0


@dataclass(frozen=True)
class Reading:
    """A session's decayed count of requests (``request_load_avg``), and its age then, s (``uptime``)."""

    decayed: float = 0.0
    uptime: float = 0.0


@dataclass(frozen=True)
class Session:
    """A client session on one rank (``session ls``)."""

    rank: int
    client: int
    root: str  # the directory the client mounted
    caps: int
    load: float  # req/s since it was read
    ours: bool = False  # a manager's mount
    read: Reading = Reading()  # what the next one is compared with


@dataclass(frozen=True)
class Subtree:
    """A subtree root and the rank with authority over it (``get subtrees``)."""

    path: str
    rank: int
    pin: int
    ephemeral: bool  # held in place by ceph.dir.pin.distributed or .random
    ino: int = 0


@dataclass(frozen=True)
class Directory:
    """A directory the module balances: a subvolume, or one that the operator named."""

    path: str
    name: str  # "group/subvolume", or the path of a named directory
    ino: int


@dataclass(frozen=True)
class DirectoryFacts:
    """What libcephfs tells of a directory, refreshed in rotation."""

    directory: Directory
    rentries: int  # files and directories: itself and all below it
    pin: int


@dataclass(frozen=True)
class SubtreeSample:
    """One directory in one epoch."""

    directory: Directory
    wss: float  # working set, inodes: counted by the MDSs, or estimated as the capabilities held below it
    requests: float  # req/s
    sessions: int
    ranks: tuple[int, ...]
    ephemeral: bool
    shared: bool  # part of it was shared out by heat from sessions mounted above it
    counted: bool = False  # wss is what MDSs with our hook counted
    served: tuple[float, ...] = ()  # of the requests, req/s, by each of ``ranks``; (): not known
    held_back: float = 0.0  # of the requests, req/s: of clients that would ask for more


@dataclass(frozen=True)
class Churning:
    """A directory whose subdirectories come and go.

    :ivar at_once: how many it has at a time, mean, of those that do not last
    :ivar lasting: how many were there in all looks
    """

    ino: int
    at_once: float
    lasting: int = 0


@dataclass(frozen=True)
class Observation:
    """The directories of one file system in one epoch."""

    fs: str
    directories: tuple[SubtreeSample, ...]
    missing: tuple[int, ...] = field(default=())  # ranks whose sessions could not be read
    gone: tuple[str, ...] = ()  # directories that the operator named and that are not there
    churning: tuple[Churning, ...] = ()
    unmapped: tuple[int, ...] = ()  # ranks that have not told their subtrees yet
    # req/s by path, of what is right below the busiest, by their paths; of these only, and not in each epoch
    inside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    managers: float = 0.0  # req/s of the managers' own mounts, which are no directory's
    saturated: Optional[tuple[int, ...]] = None  # ranks; None: nobody could judge them
    busy: bool = False  # some rank was full in this epoch
    unlisted: Mapping[str, int] = field(default_factory=dict)  # entries of what has too many, by path
