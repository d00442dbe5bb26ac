# SPDX-License-Identifier: LGPL-2.1-or-later
"""What parts are asked for while something moves from or to their ranks.

How much such a rank serves says little, as it freezes what it gives. How that is shared among siblings tells
which are used: else a rank that gives without a pause would go by its first look at them until the end, and
give those, too, that nobody uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .demand import Demand
from .state import Past
from .view import Piece

LATEST = 0.5  # of what is expected is of the latest look
FROZEN = 0.2  # of what siblings had together: with less the few that were not frozen would stand for all
SEEN = 1  # looks, after which what has arrived is told where it is


def shared_meanwhile(
    parts: Sequence[Piece],
    shared: Mapping[int, float],
    before: Mapping[int, Demand],
    coming: Mapping[int, Past],
) -> dict[int, float]:
    """req/s by inode number: siblings have together what was expected, as it is shared among them now.

    :param parts: on such ranks, which have told of them
    :param shared: req/s that they have now, by inode number
    :param before: what was expected of them
    :param coming: what is not seen yet where it goes to, by inode number
    """
    kids = defaultdict[int, list[int]](list)
    for part in parts:
        if part.ino in before and _told(part, coming.get(part.ino)):
            kids[part.within].append(part.ino)
    found: dict[int, float] = {}
    for inos in kids.values():
        was, now = sum(before[ino].mean for ino in inos), sum(map(shared.__getitem__, inos))
        if now >= FROZEN * was > 0.0:
            found |= {ino: shared[ino] * was / now for ino in inos}
    return found


def _told(part: Piece, past: Past | None) -> bool:
    """What has just arrived was told of where it was, and has no popularity yet where it is."""
    return past is None or past.move.source == part.rank or past.looks >= SEEN


def corrected(known: Demand, rate: float) -> Demand:
    """With what one look showed meanwhile: that it has changed for good is said by no such look."""
    return known._replace(mean=known.mean + LATEST * (rate - known.mean))


def reweighed(past: Sequence[Past], corrections: Mapping[int, float]) -> tuple[Past, ...]:
    """What is not seen yet where it goes to counts there as it is expected to now.

    :param corrections: times what was expected, by inode number
    """

    def now(one: Past) -> Past:
        times = corrections.get(one.move.ino, 1.0)
        if one.settled >= 0.0 or one.move.load <= 0.0 or times in (0.0, 1.0):
            return one  # without a load it would be a part that was new
        return replace(one, move=replace(one.move, load=one.move.load * times))

    return tuple(map(now, past))
