# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a run is made of: the paper's Table 1, and what it leaves open. Times in ms, rates in requests/ms."""

from dataclasses import dataclass, field
from enum import Enum


class BurstOn(Enum):
    """What the requests of a burst are for."""

    DIRECTORY = "directory"
    FILE = "file"


@dataclass(frozen=True)
class Costs:
    """Table 1. The search time is an average: drawn from an exponential distribution."""

    search: float = 0.155
    hit_ratio: float = 0.9
    disk: float = 1.561
    network: float = 0.209


@dataclass(frozen=True)
class Load:
    """The requests. Only `reads` and `duration` are the paper's (4.1, 4.2).

    The rate is what its two remarks about Figure 6 come to if they are about one point: 1/C = 0.8 ms,
    and arrivals at 93 % of C.
    """

    duration: float = 20_000.0
    rate: float = 0.93 / 0.8
    reads: float = 0.9
    creates_of_writes: float = 0.19
    renames_of_writes: float = 0.01
    files: int = 40_960  # 10 MB of metadata of 256 bytes: what Table 1's search time is for
    directories: int = 1_024
    zipf: float = 1.0
    burst_share: float = 0.2  # of all requests
    burst_every: float = 1_000.0
    burst_length: float = 100.0
    burst_on: BurstOn = BurstOn.DIRECTORY
    bursts_after_rename: float = 0.5  # share of the bursts that are for what was renamed last


@dataclass(frozen=True)
class Design:
    """The servers. Only the number of servers is the paper's."""

    servers: int = 8
    first_server_speed: float = 1.0  # of one server, where the others have 1 (3.3: they may differ)
    entries: int = 1_024  # of the Indirect Lookup Table
    adjust_every: float | None = 1_000.0
    access_time_updates: float = 0.1  # share of the reads that write a "last access time" (3.2)
    commit: float = 0.0  # disk time of a logged write before it is answered; 0: written behind
    commit_moved: float = 0.0  # the same of metadata that comes from another server
    rename_by_item: bool = True  # a replica's rename touches each metadata below (3.2), or one entry
    dispatcher_rate: float | None = None  # C; None: no time at the dispatcher, as in Table 3
    server_added_at: float | None = None


@dataclass(frozen=True)
class Setting:
    """One run, with its seed."""

    costs: Costs = field(default_factory=Costs)
    load: Load = field(default_factory=Load)
    design: Design = field(default_factory=Design)
    seed: int = 1
