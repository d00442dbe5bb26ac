# SPDX-License-Identifier: LGPL-2.1-or-later
"""What sleeps is spread before it wakes, where things were seen to wake.

A load that jumps comes to directories that had none, all of them on the rank where they were made; each time
it takes a while until that is seen and they have moved. Directories that nobody uses cost only their inodes
to move. So they are shared out in advance, if what they are likely to save, by how often something woke
lately, is more than that.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from .load import shares
from .view import Move, Piece

WAKES = 0.1  # of a rank's share: what comes to have so much, and had next to nothing, woke
ASLEEP = 0.01  # of a rank's share: with less it has next to nothing
EMPTY = 1.0  # inodes of a directory with nothing in it
SHORTEST = 300.0  # s: what woke is taken to have done so in no less time
SEEN = 3  # things that woke, before more are expected to
JUMPS = 0.3  # of all requests: with so much in what just woke the load is another one
APART = 20.0  # s: what wakes within that of something else wakes with it
LATE = 20.0  # s, from when a load comes until what it uses has moved, on the mean
PART = 0.25  # of the inodes that may be under way: nobody waits for these
LEFT = 0.5  # of the budgets of an hour, of a day and of pins: the rest is for what is used
SETTLE = 30.0  # s, after which what has not arrived is taken to be empty: it moves when it is not


@dataclass(frozen=True)
class Wake:
    """A piece that had next to nothing and came to have ``load`` req/s. at: steady clock, s.

    :ivar ino: its inode number
    :ivar again: it had been used before, and then no more; used: of what slept, so much had, 0 to 1
    :ivar pressed: it woke where there was little room; else it was not late, and need not have moved
    """

    at: float
    load: float
    ino: int = 0
    again: bool = False
    used: float = 0.0
    pressed: bool = True


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


def jumped(wakes: Sequence[Wake], now: float, requests: float) -> bool:
    """Has a good part of the load come to what slept, just now? requests: of all ranks, req/s."""
    return sum(wake.load for wake in wakes if now - wake.at <= APART) >= JUMPS * requests > 0.0


def expected(
    wakes: Sequence[Wake], sleepers: Mapping[int, bool], now: float, began: float, horizon: float
) -> dict[int, float]:
    """Requests that are late when one of the sleepers wakes where there is no room, as often as is likely, by
    inode number. What was used and is no more wakes as often as such did: a job that has ended may never.
    Until so many woke that there should be some of these all are alike.

    None while something wakes: what sleeps now may be about to.

    :param sleepers: by inode number: was it used before?
    :param now: steady clock, s; began: since when all wakes are known
    :param horizon: s that are looked ahead
    """
    if not wakes or now - wakes[-1].at < APART:
        return {}
    found = dict.fromkeys(sleepers, _expected(wakes, len(sleepers), now, began, horizon))
    for again in (False, True):
        if sum(wake.used if again else 1.0 - wake.used for wake in wakes) >= SEEN:
            alike = [ino for ino, used in sleepers.items() if used is again]
            own = [wake for wake in wakes if wake.again is again]
            found.update(dict.fromkeys(alike, _expected(own, len(alike), now, began, horizon)))
    return found


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
) -> list[Move]:
    """Moves from ranks that have more than their share of the sleepers to those that have less.

    Neighbours go to different ranks: what is used together often has names alike.

    :param weight: by inode number (``weights``)
    :param capacity: req/s, by rank: ranks need not be alike
    :param late: requests that are late when each of them sleeps where too many do, by inode number
    :param known: inode numbers of pieces that are not moved again
    """
    # What has no inodes is not spread for nothing either; what will not wake takes nobody's place.
    likely = [piece for piece in sleepers if late.get(piece.ino)]
    have = dict.fromkeys(capacity, 0.0)
    for piece in likely:
        if piece.rank in have:
            have[piece.rank] += weight[piece.ino]
    share = shares(have, capacity)
    ranks, found = sorted(capacity), list[Move]()
    for number, piece in enumerate(sorted(likely, key=lambda piece: (piece.path, piece.ino))):
        source, own = piece.rank, weight[piece.ino]
        if source is None or source not in have or piece.ino in known or have[source] - share[source] < own:
            continue
        saves = late[piece.ino] * own * (have[source] - share[source]) / have[source]
        emptiest = min(ranks, key=lambda rank: (have[rank] - share[rank], rank))
        turn = ranks[number % len(ranks)]
        target = turn if turn == source or have[turn] < share[turn] else emptiest
        if target == source or saves < piece.inodes * by.price:
            continue
        have[source] -= own
        have[target] += own
        why = "nobody uses it now; what slept woke lately, and too much of what sleeps is on one rank"
        found.append(Move(piece.ino, piece.path, source, target, 0.0, 0.0, piece.inodes, why))
    taken = list(accumulate(move.inodes for move in found))
    fits = [move for i, move in enumerate(found) if taken[i] <= by.inodes or (by.idle and i == 0)]
    return fits[: max(0, by.moves)]
