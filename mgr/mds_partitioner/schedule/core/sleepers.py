# SPDX-License-Identifier: LGPL-2.1-or-later
"""What sleeps is spread before it wakes, where things were seen to wake.

A load that jumps comes to directories that had none, all of them on the rank where they were made; each time
it takes a while until that is seen and they have moved. Directories that nobody uses cost only their inodes
to move. So they are shared out in advance, if what they are likely to save, by how often something woke
lately, is more than that.
"""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from .load import shares
from .view import Move, Piece
from .wakes import APART, Wake

SHORTEST = 300.0  # s: what woke is taken to have done so in no less time
SEEN = 3  # things that woke, before more are expected to
LATE = 20.0  # s, from when a load comes until what it uses has moved, on the mean
PART = 0.25  # of the inodes that may be under way: nobody waits for these
LEFT = 0.5  # of the budgets of an hour, of a day and of pins: the rest is for what is used
WHY = "nobody uses it now; what slept woke lately, and too much of what sleeps is on one rank"
STEADY, BURST = 3.0, 2.0  # wakes within APART, as a rule; and times of that: with more a group wakes
SETTLE = 30.0  # s, after which what has not arrived is taken to be empty: it moves when it is not


@dataclass(frozen=True)
class Stakes:
    """What spreading is weighed by.

    :ivar price: requests that moving an inode costs
    :ivar inodes: that may be begun now
    :ivar moves: that may be begun now
    :ivar idle: the first may have more inodes than that: none is under way
    """

    price: float
    inodes: float
    moves: int
    idle: bool


def expected(
    wakes: Sequence[Wake], sleepers: Mapping[int, bool], now: float, began: float, horizon: float
) -> dict[int, float]:
    """Requests that are late when one of the sleepers wakes where there is no room, as often as is likely, by
    inode number. What was used and is no more wakes as often as such did: a job that has ended may never.
    Until so many woke that there should be some of these all are alike.

    None while a group wakes: what sleeps now may be about to.

    :param sleepers: by inode number: was it used before?
    :param now: steady clock, s; began: since when all wakes are known
    :param horizon: s that are looked ahead
    """
    if not wakes or _together(wakes, now, began):
        return {}
    found = dict.fromkeys(sleepers, _expected(wakes, len(sleepers), now, began, horizon))
    for again in (False, True):
        if sum(wake.used if again else 1.0 - wake.used for wake in wakes) >= SEEN:
            alike = [ino for ino, used in sleepers.items() if used is again]
            own = [wake for wake in wakes if wake.again is again]
            found.update(dict.fromkeys(alike, _expected(own, len(alike), now, began, horizon)))
    return found


def _together(wakes: Sequence[Wake], now: float, began: float) -> bool:
    """Did something wake just now, and not as one thing or another does all the time?"""
    lately = sum(now - wake.at < APART for wake in wakes)
    usual = (len(wakes) - lately) * APART / max(SHORTEST, now - began)
    return lately > (BURST * usual if usual >= STEADY else 0.0)


def _expected(wakes: Sequence[Wake], sleepers: int, now: float, began: float, horizon: float) -> float:
    """As above, of things that are alike."""
    if not sleepers or len(wakes) < SEEN:
        return 0.0
    load = sum(wake.load for wake in wakes if wake.pressed) / len(wakes)
    often = len(wakes) / max(SHORTEST, now - began) / sleepers
    return min(1.0, often * horizon) * load * LATE


def weights(sleepers: Sequence[Piece], wakes: Sequence[Wake]) -> dict[int, float]:
    """What each has when it wakes, in times of the mean of all that woke, by inode number."""
    woke = defaultdict[int, list[float]](list)
    for wake in wakes:
        woke[wake.ino].append(wake.load)
    mean = fmean(wake.load for wake in wakes) if wakes else 0.0
    known = {ino: fmean(loads) / mean for ino, loads in woke.items()} if mean else {}
    return {piece.ino: known.get(piece.ino, 1.0) for piece in sleepers}


def spread(
    sleepers: Sequence[Piece],
    weight: Mapping[int, float],
    capacity: Mapping[int, float],
    late: Mapping[int, float],
    known: Collection[int],
    by: Stakes,
    closed: Collection[int] = (),
    beside: Iterable[Piece] = (),
) -> list[Move]:
    """Moves from ranks that have more than their share of the sleepers to those that have less.

    Neighbours go to different ranks: what is used together often has names alike. Which go is found anew in
    each look, so a rank is chosen by where neighbours are: of those that went before, too.

    :param weight: by inode number (``weights``)
    :param capacity: req/s, by rank: ranks need not be alike
    :param late: requests that are late when each of them sleeps where too many do, by inode number
    :param known: inode numbers of pieces that are not moved again
    :param closed: ranks that get nothing
    :param beside: what does not sleep, or not yet: neighbours of what does
    """
    # What has no inodes is not spread for nothing either; what will not wake takes nobody's place.
    likely = [piece for piece in sleepers if late.get(piece.ino)]
    if not likely or by.moves <= 0:
        return []
    places = _Places(likely, weight, capacity, closed)
    may = {p.ino: p.rank for p in likely if p.ino not in known and places.too_many(p.rank, weight[p.ino])}
    counts = {piece.ino: weight[piece.ino] for piece in likely}
    in_order = sorted((*sleepers, *beside), key=lambda piece: (piece.path, piece.ino))
    for number, piece in enumerate(in_order):
        if piece.ino not in may:
            places.stay(number, piece.rank, counts.get(piece.ino, 0.0))
    found, left = list[Move](), by.inodes
    for number, piece in enumerate(in_order):
        source, own = may.get(piece.ino), counts.get(piece.ino, 0.0)
        if source is None:
            continue
        pays = late[piece.ino] * own * places.above(source) >= piece.inodes * by.price
        target = places.farthest(number, source) if pays and places.too_many(source, own) else None
        if target is None or target == source:
            places.stay(number, source, own)
            continue
        if len(found) >= by.moves or (piece.inodes > left and (found or not by.idle)):
            break
        places.move(number, source, target, own)
        left -= piece.inodes
        found.append(Move(piece.ino, piece.path, source, target, 0.0, 0.0, piece.inodes, WHY))
    return found


class _Places:
    """Where sleepers are, and which stay or go where, by their numbers in the order of names. Loads are sums
    of weights.

    :param capacity: req/s of the ranks that count
    :param closed: those that nothing goes to
    """

    def __init__(
        self,
        sleepers: Sequence[Piece],
        weight: Mapping[int, float],
        capacity: Mapping[int, float],
        closed: Collection[int],
    ) -> None:
        self._have = dict.fromkeys(capacity, 0.0)
        for piece in sleepers:
            if piece.rank in self._have:
                self._have[piece.rank] += weight[piece.ino]
        self._share, self._closed = shares(self._have, capacity), closed
        self._room = dict(self._share)  # for what stays or comes
        self._on: dict[int, list[int]] = {rank: [] for rank in capacity}

    def too_many(self, rank: int | None, weight: float) -> bool:
        """Has it its share without one of so much, too?"""
        return rank in self._have and self._have[rank] - self._share[rank] >= weight

    def above(self, rank: int) -> float:
        """What it has too much, in parts of what it has."""
        return (self._have[rank] - self._share[rank]) / self._have[rank]

    def stay(self, number: int, rank: int | None, weight: float) -> None:
        if rank in self._on:
            insort(self._on[rank], number)
            self._room[rank] -= weight

    def move(self, number: int, source: int, target: int, weight: float) -> None:
        self.stay(number, target, weight)
        self._have[source] -= weight
        self._have[target] += weight

    def farthest(self, number: int, source: int) -> int | None:
        """Of the ranks with room the one whose nearest is farthest away, of several the one with most room.
        It may be the source: something has to stay there."""
        open_to = (r for r in self._have if r not in self._closed and self._have[r] < self._share[r])
        ranks = (r for r in (source, *open_to) if self._room[r] > 0.0)
        return max(ranks, key=lambda r: (self._nearest(number, r), self._room[r], -r), default=None)

    def _nearest(self, number: int, rank: int) -> float:
        on = self._on[rank]
        after = bisect(on, number)
        return min((abs(number - other) for other in on[max(0, after - 1) : after + 1]), default=math.inf)
