# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler is shown at a moment, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...engine.inside import work
from ...model import NO_PIN

UNREAD = "its pin was not read yet"  # why a piece is held for a moment
UNREAD_MASK = "its mask was not read yet"  # likewise, of MDSs with our hook
OURS_BELOW = "parts of it have pins of ours"  # likewise: it is not seen as its parts yet
FIXED_BELOW = (
    "a directory below it has a pin of its own"  # it may be seen as its parts, which hold what has none
)
FOR_A_MOMENT = (UNREAD, UNREAD_MASK, OURS_BELOW)
EMPTY = 1.0  # inodes of a directory with nothing in it


@dataclass(frozen=True)
class RankView:
    """One rank that may have load.

    :ivar requests: req/s since the last look
    :ivar inside: requests that it has in work or waiting, on the mean since then: rate x latency (Little)
    :ivar full: it serves as much as it can (engine/saturation.py)
    :ivar capacity: the most it was found to be able to serve, req/s; None: unknown
    :ivar crowd: requests inside when it was found; infinite: it was not found, but told
    :ivar forwards: req/s that it passed on to other ranks
    :ivar peers: messages/s from other ranks about requests that take both
    :ivar links: part of the requests that make hard links
    :ivar written: events that it has put into its journal since its MDS began; 0: not known
    :ivar journal: events that are in it
    :ivar lookups: part of the requests that look up a name
    :ivar listings: req/s that list a directory
    """

    rank: int
    requests: float
    inside: float = 0.0
    full: bool = False
    capacity: float | None = None
    crowd: float = math.inf
    peers: float = 0.0
    forwards: float = 0.0
    links: float = 0.0
    lookups: float = 0.0
    listings: float = 0.0
    written: int = 0
    journal: int = 0

    @property
    def work(self) -> float:
        """req/s, a listing counted as what it takes as long as."""
        return work(self.requests, self.listings)

    @property
    def able(self) -> float | None:
        """The same, req/s; it can do what it does now."""
        return None if self.capacity is None else max(self.capacity, self.requests)


class Piece(NamedTuple):
    """Something that can be given to another rank as a whole. There are thousands, made anew in each look.

    :ivar within: inode number of the piece that this one was taken out of, 0 for none
    :ivar rank: that has all of it; None while it is on several
    :ivar requests: req/s since the last look, without those of pieces within it
    :ivar inodes: that would move, as far as can be told
    :ivar most: that would, at most; 0: it is known
    :ivar held: in words, why it must stay where it is; "" when it may be moved
    :ivar parts: the lasting directories right below it that could be pieces, and as one more what comes and
        goes beside them; None: nobody has looked yet
    :ivar fresh: it was made, and found, since the scheduler looks
    :ivar scatters: the rank of each equal part of its load, if what comes and goes in it were placed when it
        is made; () when that cannot be
    :ivar undivided: why it cannot, in words; "": it can, or that is not known
    :ivar files: what would be placed so stays: files, or directories that are too many
    :ivar many: it is these directories: clients look up next to no names in their parent
    :ivar pin: that we have set, NO_PIN for none
    :ivar first: the rank that it had before we pinned it; -1: we have not
    :ivar unknown: it may have parts that are no pieces
    :ivar strangers: there are, or may be, directories right below it that are pinned and no pieces
    """

    ino: int
    path: str
    rank: int | None
    requests: float
    inodes: float
    within: int = 0
    held: str = ""
    parts: int | None = 0
    fresh: bool = False
    scatters: tuple[int, ...] = ()
    undivided: str = ""
    files: bool = False
    many: bool = False
    pin: int = NO_PIN
    first: int = -1
    strangers: bool = False
    unknown: bool = False
    most: float = 0.0

    @property
    def at_most(self) -> float:
        """Inodes that would move, at most."""
        return max(self.inodes, self.most)


class Beside(NamedTuple):
    """What a rank serves of which it is known why it is no piece's, req/s.

    :ivar uncounted: that its popularity cannot stand for: locks of files, lookups of names that are not there
    :ivar purged: for what the volumes module deletes
    """

    uncounted: float = 0.0
    purged: float = 0.0


@dataclass(frozen=True)
class View:
    """A file system now.

    :ivar now: steady clock, s
    :ivar measured: else only where pieces are is new, and all the rest is of the view before
    :ivar again: pieces are new, but ranks had no time to report since the look before
    :ivar told: inode numbers of pieces whose ranks told their popularity since the last look; the others have
        what they had then; None: of all
    :ivar untold: ranks that have never told it
    :ivar mute: ranks that did not answer when they were asked for it last
    :ivar beside: by rank, of those that have told their popularity
    :ivar harmful: the imbalance factor is above its threshold, or a rank of many is hot
    :ivar wait: why nothing may be changed now, or ""
    :ivar advised: it is as it would be, had advice been followed
    :ivar begun: moves, in the last day
    :ivar pins: directories that are pinned by the scheduler
    """

    now: float
    ranks: tuple[RankView, ...]
    pieces: tuple[Piece, ...]
    harmful: bool = False
    wait: str = ""
    measured: bool = True
    again: bool = False
    told: frozenset[int] | None = None
    untold: frozenset[int] = frozenset()
    mute: frozenset[int] = frozenset()
    advised: bool = False
    begun: int = 0
    pins: int = 0
    beside: Mapping[int, Beside] = field(default_factory=dict)

    def glanced(self, now: float, ranks: Mapping[int, int | None]) -> View:
        """The same at another time, with some pieces where they are then. ``ranks``: by inode number."""
        pieces = tuple(p._replace(rank=ranks[p.ino]) if p.ino in ranks else p for p in self.pieces)
        return replace(self, now=now, pieces=pieces, measured=False)


@dataclass(frozen=True)
class Move:
    """A piece to another rank; or to the one where it is: then its pin is taken off, or it gets one.

    :ivar load: req/s that go with it; 0 for what is new
    :ivar gain: by how many req/s the rank that it leaves is expected to be relieved
    :ivar inodes: that it takes along
    :ivar keeps: it gets a pin where it is
    :ivar gathers: it goes to where the rest of it is, and not for its load
    """

    ino: int
    path: str
    source: int
    target: int
    load: float
    gain: float
    inodes: float
    why: str
    keeps: bool = False
    gathers: bool = False

    @property
    def pin(self) -> int:
        """What its pin will be."""
        return NO_PIN if self.source == self.target and not self.keeps else self.target


@dataclass(frozen=True)
class Scatter:
    """A piece whose children, which come and go, are placed by MDSs when they are made.

    :ivar source: the rank that it is on
    :ivar ranks: of equal parts of its load, as expected
    :ivar load: its load, req/s
    :ivar gain: by how many req/s the rank that it is on is expected to be relieved
    :ivar inodes: that it has, with what goes along
    """

    ino: int
    path: str
    source: int
    ranks: tuple[int, ...]
    load: float
    gain: float
    why: str
    inodes: float = 0.0


@dataclass(frozen=True)
class Decision:
    """What to do now.

    :ivar split: inode numbers of pieces that should be seen as their parts from now on
    :ivar why: one sentence, for people: why these moves, or why none
    :ivar whole: inode numbers of pieces that should be seen as a whole again
    """

    moves: tuple[Move, ...] = ()
    split: tuple[int, ...] = ()
    why: str = ""
    scatter: tuple[Scatter, ...] = ()
    whole: tuple[int, ...] = ()

    @property
    def something(self) -> bool:
        """Is anything to be done, or seen in another way?"""
        return bool(self.moves or self.split or self.scatter or self.whole)


def count(moves: Sequence[Move]) -> str:
    """In words."""
    return f"{len(moves)} move{'' if len(moves) == 1 else 's'}"
