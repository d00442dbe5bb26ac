# SPDX-License-Identifier: LGPL-2.1-or-later
"""Siblings that are used in turn, as a scan or a backup does: which one is busy now says little of the next.

What was taken out of one directory is alike until it is seen to differ. How much of the load stays on the
same siblings from look to look tells how far each is asked for more, or less, than they all are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ...judge.insides import in_common
from .view import EMPTY, Piece

MOST = 20  # looks that what is known is of, at most
NEW = 0.3  # of what is known is of the last look, until one could be compared with what was long enough ago
SOME = 3  # siblings, at least: two may well differ
AHEAD = 15.0  # s: what is elsewhere again by then is not worth a move
LASTS = 30.0  # s for which something has outstood its siblings, to be taken for its own load
OUTSTANDS = 2.0  # times what its siblings have on the mean: somebody is there at all times of most
ALIKE = 0.99  # in common by chance: so alike are they that nothing can be told, nor matters


class Served(NamedTuple):
    """What a piece had when its rank told that: req/s; which one that was; and when, steady clock, s."""

    rank: int
    requests: float
    at: float


class Stay(NamedTuple):
    """How much of the load of siblings stays on the same ones.

    :ivar part: of it, 0 to 1
    :ivar looks: that this is the mean of; 0: none could be compared with what was long enough ago
    """

    part: float
    looks: int = 0

    def seen(self, part: float, full: bool) -> Stay:
        """After one more look. full: it is compared with what was long enough ago."""
        if not full:
            return self if self.looks else Stay(self.part + NEW * (part - self.part))
        looks = min(MOST, self.looks + 1)
        return Stay(self.part + (part - self.part) / looks, looks)


UNKNOWN = Stay(0.5)  # while no two looks could be compared


class Told(NamedTuple):
    """What parts had when their ranks had told it last. at: steady clock, s; served: by inode number."""

    at: float
    served: Mapping[int, Served]


def stays(
    pieces: Sequence[Piece],
    before: Sequence[Told],
    known: Mapping[int, Stay],
    now: float,
    alone: Collection[int] = (),
) -> dict[int, Stay]:
    """How much of the load of siblings stays on the same ones, by what they were taken out of.

    :param pieces: of whose ranks something new is known
    :param before: what parts had in looks before, the oldest first; what has moved since says nothing
    :param known: as it was found then
    :param now: steady clock, s
    :param alone: ranks that each are held against themselves: what gives something serves less of all it has
    """
    then = next((told for told in reversed(before) if now - told.at >= AHEAD), before[0] if before else None)
    if then is None:
        return dict(known)
    found, full = dict(known), now - then.at >= AHEAD
    for parent, kids in siblings(pieces).items():
        seen = [p for p in kids if p.ino in then.served and then.served[p.ino].rank == p.rank]
        had = {p.ino: then.served[p.ino].requests for p in seen}
        same = _stayed_beside(seen, had, alone) if len(seen) >= SOME else None
        if same is not None:
            found[parent] = known[parent].seen(same, full) if parent in known else Stay(same, int(full))
    return found


def remembered(known: Sequence[Told], new: Told) -> tuple[Told, ...]:
    """With what is new, and without what no later look will ask for."""
    old = [t for t in known if new.at - t.at >= LASTS]
    return (*old[-1:], *known[len(old) :], new)


def _stayed_beside(kids: Sequence[Piece], had: Mapping[int, float], alone: Collection[int]) -> float | None:
    """How much of their load is on the same siblings as before. had: req/s then, by inode number; alone: as
    for ``stays``"""
    on = defaultdict[int | None, list[Piece]](list)
    for kid in kids:
        on[kid.rank if kid.rank in alone else None].append(kid)
    found = list[tuple[float, float]]()
    for some in on.values():
        same = _stayed({p.ino: had[p.ino] for p in some}, {p.ino: p.requests for p in some})
        found += [] if same is None else [(sum(p.requests for p in some), same)]
    of_all = sum(requests for requests, _ in found)
    return sum(requests * same for requests, same in found) / of_all if of_all else None


def _stayed(then: Mapping[int, float], now: Mapping[int, float]) -> float | None:
    """How much of a load is on the same siblings as before, beyond what would by chance (as Cohen's kappa):
    who goes round has much in common with before, where clients are as many as directories."""
    same = in_common(then, now)
    if same is None:
        return None
    chance = by_chance(list(then.values()), list(now.values()))
    return max(0.0, (same - chance) / (1.0 - chance)) if chance < ALIKE else None


def by_chance(then: Sequence[float], now: Sequence[float]) -> float:
    """What two loads would have in common, on the mean, were it drawn who has how much of the later one."""
    before, after = sum(then), sum(now)
    of_all = sorted(rate / after for rate in now)
    below = [0.0, *accumulate(of_all)]
    parts = (rate / before for rate in then)
    smaller = ((part, bisect_right(of_all, part)) for part in parts)
    return sum(below[n] + part * (len(now) - n) for part, n in smaller) / len(now)


def lasting(pieces: Sequence[Piece], before: Sequence[Told], now: float) -> dict[int, float]:
    """req/s that each has had all the time, by inode number, of what was told twice so long apart.

    :param before: what parts had in looks before, the oldest first
    :param now: steady clock, s
    """
    if not before or now - before[0].at < LASTS:
        return {}
    there = [p for p in pieces if all(p.ino in told.served for told in before)]
    old, new = before[0].served, before[-1].served
    parts = (p for p in there if new[p.ino].at - old[p.ino].at >= LASTS)
    return {p.ino: min(p.requests, *(told.served[p.ino].requests for told in before)) for p in parts}


def shared_out(
    pieces: Sequence[Piece], stay: Mapping[int, Stay], lasts: Mapping[int, float]
) -> dict[int, float]:
    """req/s by inode number: of siblings, what is not their own is all of theirs alike; but for empty ones
    that nobody uses.

    :param stay: how much of it is, by what they were taken out of
    :param lasts: req/s that is, at least, by inode number
    """
    rates = {piece.ino: piece.requests for piece in pieces}
    used = [piece for piece in pieces if piece.requests > 0.0 or piece.inodes > EMPTY]
    for parent, kids in siblings(used).items():
        if len(kids) < SOME:
            continue
        part = stay.get(parent, UNKNOWN).part
        much = OUTSTANDS * sum(p.requests for p in kids) / len(kids)
        sure = {p.ino: lasts[p.ino] for p in kids if lasts.get(p.ino, 0.0) > much}
        own = {p.ino: max(part * p.requests, sure.get(p.ino, 0.0)) for p in kids}
        mean = sum(p.requests - own[p.ino] for p in kids) / len(kids)
        rates |= {ino: rate + mean for ino, rate in own.items()}
    return rates


def siblings(pieces: Sequence[Piece]) -> dict[int, list[Piece]]:
    """By what they were taken out of."""
    found = defaultdict[int, list[Piece]](list)
    for piece in pieces:
        if piece.within:
            found[piece.within].append(piece)
    return found
