# SPDX-License-Identifier: LGPL-2.1-or-later
"""What parts are asked for while something moves from or to their ranks.

How much such a rank serves says little, as it freezes what it gives. How that is shared among siblings tells
which are used: else a rank that gives without a pause would go by its first look at them until the end, and
give those, too, that nobody uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from .demand import Demand
from .state import FRESH, Limits, Past, State
from .view import Piece

LATEST = 0.5  # of what is expected is of the latest answer
FROZEN = 0.2  # of what siblings had together: with less the few that were not frozen would stand for all
SEEN = 1  # looks, after which what has arrived is told where it is


def known(past: Past | None) -> bool:
    """Does an answer tell what it is asked for? What is on its way is frozen, and what has just arrived was
    told of where it was. None: it does not move."""
    return past is None or past.looks >= SEEN


def unseen(state: State, there: Collection[int], now: float, limits: Limits) -> frozenset[int]:
    """Ranks of whose pieces the next look, now, will learn no more than how parts share what they have: what
    moves from or to them will not have arrived long enough ago.

    :param there: inode numbers of what is still there
    :param now: steady clock, s
    """

    def moves(past: Past) -> bool:
        if past.arrived >= 0.0:
            return past.looks + 1 < FRESH
        return past.move.ino in there and not (state.hangs(past, now) or state.overdue(past, now, limits))

    moving = (p.move for p in state.past if p.move.load > 0.0 and moves(p))
    return frozenset(rank for move in moving for rank in (move.source, move.target))


def shared_meanwhile(
    parts: Sequence[Piece], shared: Mapping[int, float], before: Mapping[int, float]
) -> dict[int, float]:
    """req/s by inode number: siblings have together what was expected, as it is shared among them now.

    :param parts: on such ranks, which have told of them
    :param shared: req/s that they have now, by inode number
    :param before: req/s that was expected; of what is not in it nothing was
    """
    kids = defaultdict[int, list[int]](list)
    for part in parts:
        if part.ino in before:
            kids[part.within].append(part.ino)
    found: dict[int, float] = {}
    for inos in kids.values():
        was, now = sum(map(before.__getitem__, inos)), sum(map(shared.__getitem__, inos))
        if now >= FROZEN * was > 0.0:
            found |= {ino: shared[ino] * was / now for ino in inos}
    return found


def corrected(demand: Demand, rate: float) -> Demand:
    """With what one look showed meanwhile: that it has changed for good is said by no such look."""
    return demand._replace(mean=_nearer(demand.mean, rate))


def reweighed(past: Past, rate: float) -> Past:
    """What has arrived, and is not seen there yet as it is: it counts as more, or less, than when it was
    ordered. rate: req/s"""
    # Without a load it would be a part that was new.
    return (
        replace(past, move=replace(past.move, load=_nearer(past.move.load, rate))) if past.move.load else past
    )


def _nearer(before: float, rate: float) -> float:
    return before + LATEST * (rate - before)
