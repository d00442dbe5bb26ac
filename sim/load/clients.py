# SPDX-License-Identifier: LGPL-2.1-or-later
"""Groups of clients: what a scenario says of them, and how busy they are at a time."""

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from sim.errors import SimError
from sim.load.pattern import Adversary, Churn, Fixed, HotSet, Pattern, Scan, by_zipf

STRICT = ConfigDict(extra="forbid")  # a misspelt name would otherwise be ignored in silence
Positive = Annotated[float, Field(gt=0.0)]
Does = Literal["read", "create", "update"]
Count = Annotated[int, Field(ge=1)]
Part = Annotated[float, Field(ge=0.0, le=1.0)]
Time = Annotated[float, Field(ge=0.0)]


@dataclass(frozen=True, config=STRICT)
class Swing:
    """The number of clients goes down to ``low`` of it and back each ``period`` s (day and night)."""

    period: Positive
    low: Part
    phase: Part = 0.0  # of a period, 0 to 1

    def at(self, now: float) -> float:
        """Part of the clients that are there, ``low`` to 1."""
        wave = 0.5 - 0.5 * math.cos(2 * math.pi * (now / self.period + self.phase))
        return self.low + (1.0 - self.low) * wave


@dataclass(frozen=True, config=STRICT)
class Surge:
    """A time with more clients."""

    begins: Time
    ends: Time
    times: Time

    def at(self, now: float) -> float:
        """1, or ``times``."""
        return self.times if self.begins <= now < self.ends else 1.0


@dataclass(frozen=True, config=STRICT)
class Clients:
    """Clients of one kind.

    :ivar name: of the group, for messages
    :ivar on: the subvolumes they use: the first number and the one after the last, counted over the tree
    :ivar apart: each client has one subvolume of its own, in turns; else all use all
    :ivar count: clients
    :ivar threads: of each, with one request under way
    :ivar think: s between an answer and the next request
    :ivar rate: req/s of each client, whatever the answers (open loop); None: closed loop
    :ivar uses: how requests are spread over directories
    :ivar zipf: exponent
    :ivar hot: directories that are hot at a time
    :ivar share: of the requests that go to those
    :ivar jumps: s until others are hot
    :ivar files: requests that a directory takes, of a scan or until it is deleted
    :ivar does: read; create (files are added); update (files are made, changed and removed): both go to the
        directory's own rank, and a request is twice as hot
    :ivar each: requests that it takes to make a file; all but one find that there is none yet
    :ivar requests: after so many, a client ends
    :ivar remembers: directories that stay in a client's cache, and with them who gave it capabilities of them
    """

    name: str
    on: tuple[int, int]
    apart: bool = False
    count: Count = 1
    threads: Count = 4
    think: Time = 0.0
    rate: Positive | None = None
    uses: Literal["uniform", "zipf", "hot", "scan", "churn", "adversary"] = "uniform"
    zipf: Time = 1.0
    hot: Count = 1
    share: Part = 0.9
    jumps: Positive = math.inf
    files: Count = 100
    does: Does = "read"
    each: Positive = 1.0
    begins: Time = 0.0
    ends: Time = math.inf
    requests: Positive = math.inf
    remembers: Count = 16384  # client_cache_size
    swing: Swing | None = None
    surges: tuple[Surge, ...] = ()

    def there(self, now: float) -> float:
        """Part of the clients that are at work."""
        if not self.begins <= now < self.ends:
            return 0.0
        part = 1.0 if self.swing is None else self.swing.at(now)
        for surge in self.surges:
            part *= surge.at(now)
        return part

    @property
    def heat(self) -> float:
        """meta_load of a request: a read counts once, a write twice (dirfrag_load_vec_t), and a name that is
        not there nothing."""
        return 1.0 if self.does == "read" else 2.0 / self.each

    def pattern(self, directories: int, place: float, rng: np.random.Generator) -> Pattern:
        """How they use so many directories. ``place``: 0 to 1, among those who do the same.

        :raises SimError: there are fewer directories than are to be hot
        """
        if self.uses == "hot" and self.hot > directories:
            raise SimError(
                f"clients '{self.name}': hot is {self.hot}; allowed: 1 to {directories} directories"
            )
        if self.uses == "hot":
            return HotSet(directories, self.hot, self.share, self.jumps, rng)
        if self.uses == "scan":
            # They were not started at one moment.
            return Scan(directories, self.files, place + rng.uniform(0.0, 1.0 / self.count))
        if self.uses == "churn":
            return Churn(directories, self.files, rng)
        if self.uses == "adversary":
            return Adversary(directories, self.share)
        return Fixed(by_zipf(directories, self.zipf if self.uses == "zipf" else 0.0, rng))
