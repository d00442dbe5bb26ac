# SPDX-License-Identifier: LGPL-2.1-or-later
"""Siblings that are used in turn, as a scan or a backup does: which one is busy now says little of the next.

What was taken out of one directory is alike until it is seen to differ. How much of the load stays on the
same siblings from look to look tells how far each is asked for more, or less, than they all are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ...judge.insides import in_common
from .view import Piece

UNKNOWN = 0.5  # of a sibling's load is its own, while no two looks could be compared
NEW = 0.3  # of what is known is of the last look
SOME = 3  # siblings, at least: two may well differ
ALIKE = 0.99  # in common by chance: so alike are they that nothing can be told, nor matters


class Served(NamedTuple):
    """What a piece had when its rank told that: req/s, and which one that was."""

    rank: int
    requests: float


def stays(
    pieces: Sequence[Piece], before: Mapping[int, Served], known: Mapping[int, float]
) -> dict[int, float]:
    """The part of the load of siblings that stays on the same ones, 0 to 1, by what they were taken out of.

    :param pieces: of whose ranks something new is known
    :param before: by inode number; what has moved since says nothing
    :param known: as it was found then
    """
    found = dict(known)
    for parent, kids in siblings(pieces).items():
        seen = [p for p in kids if p.ino in before and before[p.ino].rank == p.rank]
        then, now = {p.ino: before[p.ino].requests for p in seen}, {p.ino: p.requests for p in seen}
        same = _stayed(then, now) if len(seen) >= SOME else None
        if same is not None:
            found[parent] = known[parent] + NEW * (same - known[parent]) if parent in known else same
    return found


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


def shared_out(pieces: Sequence[Piece], stay: Mapping[int, float]) -> dict[int, float]:
    """req/s by inode number: of siblings, what is not their own is all of theirs alike."""
    rates = {piece.ino: piece.requests for piece in pieces}
    for parent, kids in siblings(pieces).items():
        own, mean = stay.get(parent, UNKNOWN), sum(p.requests for p in kids) / len(kids)
        rates |= {p.ino: own * p.requests + (1.0 - own) * mean for p in kids if len(kids) >= SOME}
    return rates


def siblings(pieces: Sequence[Piece]) -> dict[int, list[Piece]]:
    """By what they were taken out of."""
    found = defaultdict[int, list[Piece]](list)
    for piece in pieces:
        if piece.within:
            found[piece.within].append(piece)
    return found
