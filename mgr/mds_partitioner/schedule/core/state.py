# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler remembers from look to look, and its budgets: values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from ...engine.urgency import SMOOTHNESS
from .demand import Demand
from .links import Links
from .noise import BAND
from .roams import Roams
from .series import Series
from .together import Whole
from .toll import Toll
from .turns import Stay, Told
from .view import Move
from .wakes import Wake

FRESH = 2  # looks at a piece after its arrival before it counts as it is seen
FIRST = 5.0  # s that the first look is of
HANGS, SLOWLY = 60.0, 1000.0  # s, and inodes/s: a move that takes longer waits for some client
KEPT = 13  # looks at a rank's rate
NOBODY = (-1, 0)  # a rank, and for how many looks

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Budgets, from the module's options.

    :ivar moves: subtrees under way at once
    :ivar inodes: under way at once
    :ivar hourly: inodes begun in an hour
    :ivar daily: moves begun in a day
    :ivar pins: directories that are pinned by the scheduler at a time
    :ivar rest: s that a piece is left alone after a move
    :ivar memory: s in which it does not go back
    :ivar deadline: s for a move to arrive
    :ivar horizon: s in which a move must pay back what it costs
    :ivar price: requests that moving an inode costs, until that is learned
    :ivar smoothness: S of the urgency's curve (Lunule, equation 2)
    """

    moves: int = 64
    inodes: float = 25_000.0
    hourly: float = 1_000_000.0
    daily: int = 10_000
    pins: int = 10_000
    rest: float = 600.0
    memory: float = 3600.0
    deadline: float = 300.0
    horizon: float = 600.0
    price: float = 0.25
    smoothness: float = SMOOTHNESS


@dataclass(frozen=True)
class Past:
    """A move that was begun. Times: steady clock, s.

    :ivar arrived: -1: not yet
    :ivar looks: since it arrived
    :ivar settled: req/s where it is now, as it was first seen; -1: not yet
    :ivar lost: it was not seen to arrive in time
    :ivar latency: of the rank that it left, s, when it was begun; 0: unknown
    """

    move: Move
    begun: float
    arrived: float = -1.0
    looks: int = 0
    settled: float = -1.0
    lost: bool = False
    latency: float = 0.0

    @property
    def under_way(self) -> bool:
        """What is seen of its ranks is still of the time before."""
        return self.arrived < 0.0 or self.looks < FRESH


@dataclass(frozen=True)
class Scattered:
    """A piece whose parts have been placed by MDSs since ``begun`` (steady clock, s).

    :ivar ranks: of equal parts of its load, as expected
    :ivar lost: it was not done, or put back
    :ivar inodes: that it had then
    """

    ranks: tuple[int, ...]
    begun: float
    lost: bool = False
    inodes: float = 0.0


@dataclass(frozen=True)
class Crowd:
    """Too much waits at a rank, though all are full (crowds.py).

    :ivar rank: -1: nowhere
    :ivar looks: for which that was so
    :ivar eased: times that some of it was taken elsewhere
    :ivar vain: times that this did not help
    :ivar times: its share that waited there when some was taken last
    """

    rank: int = -1
    looks: int = 0
    eased: int = 0
    vain: int = 0
    times: float = math.inf


class Quiet(NamedTuple):
    """Of what was taken apart, s (reunite.py).

    :ivar passed: for which little has been asked of it
    :ivar used: for which more was, as far as that is not forgotten
    """

    passed: float = 0.0
    used: float = 0.0


@dataclass(frozen=True)
class Rising:
    """What nothing was done for, as it began to be used (evenness.py).

    :ivar looks: for which it was waited; inos: inode numbers
    """

    looks: int = 0
    inos: frozenset[int] = frozenset()


@dataclass(frozen=True)
class State:
    """What was learned so far.

    :ivar at: when it was last measured, steady clock, s; -1: never
    :ivar dt: s between the last two times
    :ivar pace: s between two looks as a rule, as far as it is known
    :ivar demand: by inode number
    :ivar rest: by rank: req/s that are no piece's
    :ivar told: by inode number, when its rank told its popularity last, steady clock, s
    :ivar before: what parts had when their ranks had told it, in looks of late
    :ivar stay: how much of what was taken out of a directory stays on the same of its parts, by its inode
        number (turns.py)
    :ivar scale: by rank: what it serves now of what its pieces are expected to ask for
    :ivar stale: ranks that something was moving from or to
    :ivar capacity: by rank, req/s; while something moves, as it was before
    :ivar rates: by rank, req/s, at the last looks, oldest first
    :ivar moved: by rank, at the same looks: did something move from or to it?
    :ivar band: how far above its share a rank may be, in parts of it (noise.py)
    :ivar latency: by rank, s, a mean of the last looks
    :ivar grown: what stayed on a rank when something moved, in times of what it had before; by rank, and by
        what it was taken out of (0: nothing)
    :ivar elastic: by inode number: elasticity of what was moved (elastic.py)
    :ivar untold: by inode number: req/s before its move, of what has not taught that yet
    :ivar crowded: by rank where many requests are inside: since when, at each look, steady clock, s
    :ivar held: looks for which a rank has been above its share
    :ivar hot: a full rank that has too much, as the one that has most of all does, and for how many looks
    :ivar roams: whether a load goes from rank to rank by itself (roams.py)
    :ivar rising: of what was idle and began to be used in the last looks
    :ivar even: at the last look each rank had its share, by what it can do itself, and none crawled
    :ivar crowd: where too much waits, though all ranks are full
    :ivar vain: by rank: when taking some of that elsewhere was found not to help, or it got some of it,
        steady clock, s
    :ivar acting: it was uneven and is not even again
    :ivar past: moves of the last hour, oldest first
    :ivar split: inode numbers of pieces that are seen as their parts
    :ivar wholes: of these, by inode number, what they were before, and whether they are better off so
    :ivar apart: of those that will be when they have come to the highest rank (apart.py)
    :ivar scattered: by inode number
    :ivar gathered: in words, why MDSs place none of that any more; "": they do
    :ivar began: when it was first measured, steady clock, s; -1: never
    :ivar calm: req/s of all ranks when nothing was under way last, and by and by as it is now; 0: unknown
    :ivar calms: the same at the last looks at which nothing was, oldest first: loads have dips of their own
    :ivar toll: what moving costs (toll.py)
    :ivar series: what moves that follow one another have cost together (series.py)
    :ivar asleep: pieces that had next to nothing, and have not woken since, by inode number: were they used
        before?
    :ivar wakes: of the last hour, oldest first
    :ivar waited: when it waited last, steady clock, s; -1: never
    :ivar peak: req/s that a rank had, on the mean, at its most of late
    :ivar linked: where hard links were made lately (links.py)
    :ivar quiet: for how long little has been asked of what was taken apart, by inode number (reunite.py)
    """

    at: float = -1.0
    dt: float = FIRST
    pace: float = FIRST
    demand: Mapping[int, Demand] = field(default_factory=dict)
    told: Mapping[int, float] = field(default_factory=dict)
    before: tuple[Told, ...] = ()
    stay: Mapping[int, Stay] = field(default_factory=dict)
    rest: Mapping[int, float] = field(default_factory=dict)
    scale: Mapping[int, float] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    capacity: Mapping[int, float] = field(default_factory=dict)
    rates: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    moved: Mapping[int, tuple[bool, ...]] = field(default_factory=dict)
    band: float = BAND
    latency: Mapping[int, float] = field(default_factory=dict)
    grown: Mapping[tuple[int, int], float] = field(default_factory=dict)
    elastic: Mapping[int, float] = field(default_factory=dict)
    untold: Mapping[int, float] = field(default_factory=dict)
    crowded: Mapping[int, float] = field(default_factory=dict)
    held: int = 0
    hot: tuple[int, int] = NOBODY
    roams: Roams = field(default_factory=Roams)
    rising: Rising = Rising()
    even: bool = False
    crowd: Crowd = Crowd()
    vain: Mapping[int, float] = field(default_factory=dict)
    acting: bool = False
    past: tuple[Past, ...] = ()
    split: frozenset[int] = frozenset()
    wholes: Mapping[int, Whole] = field(default_factory=dict)
    apart: frozenset[int] = frozenset()
    scattered: Mapping[int, Scattered] = field(default_factory=dict)
    gathered: str = ""
    began: float = -1.0
    calm: float = 0.0
    calms: tuple[float, ...] = ()
    toll: Toll = field(default_factory=Toll)
    series: Series = field(default_factory=Series)
    asleep: Mapping[int, bool] = field(default_factory=dict)
    wakes: tuple[Wake, ...] = ()
    quiet: Mapping[int, Quiet] = field(default_factory=dict)
    waited: float = -1.0
    peak: float = 0.0
    linked: Links = field(default_factory=Links)

    @property
    def placed(self) -> frozenset[int]:
        """Inode numbers of what MDSs place as it is made, but for what was not done, or put back."""
        if self.gathered:
            return frozenset()
        return frozenset(ino for ino, done in self.scattered.items() if not done.lost)

    def without(self, gone: Collection[int]) -> State:
        """When these were deleted, by inode number."""
        if not (self.split | self.apart | self.scattered.keys()).intersection(gone):
            return self

        def left(known: Mapping[int, T]) -> dict[int, T]:
            return {ino: of for ino, of in known.items() if ino not in gone}

        return replace(
            self,
            split=self.split.difference(gone),
            apart=self.apart.difference(gone),
            wholes=left(self.wholes),
            scattered=left(self.scattered),
        )

    def anew(self, ranks: Collection[int]) -> State:
        """When another MDS has these ranks now: what they serve yet is not what they will."""
        if not self.rates.keys() & ranks:
            return self
        return replace(self, rates={rank: of for rank, of in self.rates.items() if rank not in ranks})

    def undistributed(self, inos: Collection[int]) -> State:
        """When MDSs place nothing in these pieces any more, by inode number: they are as any other."""
        if not self.scattered.keys() & set(inos):
            return self
        left = {ino: done for ino, done in self.scattered.items() if ino not in inos}
        return replace(self, scattered=left)

    def overdue(self, past: Past, now: float, limits: Limits) -> bool:
        """Should it have arrived by now? Anew after a wait."""
        return now - max(past.begun, self.waited) > limits.deadline

    def hangs(self, past: Past, now: float) -> bool:
        """Is it under way for so long that its ranks are looked at all the same?"""
        longest = HANGS + past.move.inodes / SLOWLY
        return past.arrived < 0.0 and now - max(past.begun, self.waited) > longest

    def scattering(self, there: Collection[int], now: float) -> float:
        """Inodes that MDSs may still be distributing. ``there``: inode numbers of what is on one rank"""
        done = (self.scattered[ino] for ino in self.placed.intersection(there))
        return sum(s.inodes for s in done if now - s.begun <= HANGS)

    @cached_property
    def awaited(self) -> tuple[Move, ...]:
        """What is moving, without what hangs: nothing waits for that any more."""
        return tuple(
            past.move
            for past in self.past
            if past.arrived < 0.0 and past.move.load > 0.0 and not self.hangs(past, self.at)
        )

    @cached_property
    def moving(self) -> tuple[Move, ...]:
        """What was ordered and was not seen to have arrived; but for what is new: MDSs export nothing that is
        empty, so that takes as long as it stays so."""
        return tuple(past.move for past in self.past if past.arrived < 0.0 and past.move.load > 0.0)


def parted(past: Iterable[Past], split: Collection[int], now: float, seconds: float) -> list[Past]:
    """Moves of what is in parts now that arrived within so many seconds.

    :param split: inode numbers of what is in parts
    :param now: steady clock, s
    """
    came = (p for p in past if p.move.ino in split and p.arrived >= 0.0 and not p.lost)
    return [p for p in came if 0.0 <= now - p.arrived < seconds]
