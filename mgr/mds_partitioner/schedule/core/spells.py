# SPDX-License-Identifier: LGPL-2.1-or-later
"""For how long what fills a rank is likely to go on: a backup walks tree after tree, and each fills one.

When one is seen it may be half over, and before its parts are elsewhere it is. So what filled a rank lately,
once each, and went quiet, tells of the next one. What comes again is no walk, and nor is what goes on for
longer than all of them did.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from .links import roots
from .view import Piece, View

MOST = 0.5  # of what a full rank serves, more than that: what has so much is why it is full
GOES_ON = 0.25  # of what it had when it filled a rank; on how many ranks it is now does not count
PAUSE = 60.0  # s, at most, for which it may be quiet: else it comes again
SEEN = 3  # that ended, at least: before, each may be the first of those that last
OUTLASTS = 2.0  # times the longest of them: that is another load


class Spell(NamedTuple):
    """A time in which something, with all that was taken out of it, was why a rank was full.

    :ivar ino: its inode number
    :ivar last: when it still went on, steady clock, s
    :ivar rate: req/s that it had at most on one full rank
    :ivar served: requests since it began
    """

    ino: int
    last: float
    rate: float
    served: float

    @property
    def seconds(self) -> float:
        """For how long it would have filled one rank: on several, who walks it is done sooner."""
        return self.served / self.rate


def seen(before: Sequence[Spell], view: View, at: float, dt: float, memory: float) -> tuple[Spell, ...]:
    """After a look.

    :param at: when the look before was, steady clock, s; dt: s that this one is of
    :param memory: s for which they are remembered
    """
    now, lately = view.now, tuple(s for s in before if view.now - s.last <= memory)
    full = {r.rank: r.requests for r in view.ranks if r.full}
    going = {s.ino: s for s in lately if now - s.last <= PAUSE}
    if not (full or going):
        return lately
    root, rates = roots(view.pieces), defaultdict[int, float](float)
    for piece in view.pieces:
        rates[root[piece.ino]] += piece.requests
    # By an old answer of its rank's one that was quiet seems to have what is asked of another one now.
    told = [p for p in view.pieces if view.told is None or p.ino in view.told]
    new, fills = {root[p.ino] for p in told}, dict(_filling(told, root, full).values())

    def then(s: Spell) -> Spell:
        goes_on = going.get(s.ino) is s and (s.last >= at or s.ino in new)
        if not goes_on or rates[s.ino] < GOES_ON * s.rate:
            return s
        served = 0.0 if view.again else rates[s.ino] * dt
        return Spell(s.ino, now, max(s.rate, fills.get(s.ino, 0.0)), s.served + served)

    begin = sorted(fills.keys() - going.keys())
    return (*map(then, lately), *(Spell(ino, now, fills[ino], rates[ino] * dt) for ino in begin))


def brief(spells: Sequence[Spell], view: View, at: float, horizon: float) -> dict[int, float]:
    """By rank that is full of what is likely to end soon: for how long that goes on, s.

    :param at: when the last look was, steady clock, s
    :param horizon: s for which what ended tells anything
    """
    times = Counter(s.ino for s in spells)
    once = {s.ino: s for s in spells if times[s.ino] == 1}
    over = [s for s in once.values() if s.last < at and at - s.last <= horizon]
    if len(over) < SEEN:
        return {}
    filling = _filling(view.pieces, roots(view.pieces), {r.rank: r.requests for r in view.ranks})
    found = {
        rank: _left(once[ino].seconds, [s.seconds for s in over if s.ino != ino])
        for rank, (ino, _) in filling.items()
        if ino in once
    }
    return {rank: left for rank, left in found.items() if left < math.inf}


def _left(age: float, lasted: Sequence[float]) -> float:
    """s for which one goes on that is so old, when others lasted so long; infinite: nothing is known of it.
    What is older than all of them may go on for as long again."""
    if len(lasted) < SEEN or age >= OUTLASTS * max(lasted):
        return math.inf
    longer = [seconds - age for seconds in lasted if seconds > age]
    return median(longer) if longer else age


def _filling(
    pieces: Iterable[Piece], root: Mapping[int, int], served: Mapping[int, float]
) -> dict[int, tuple[int, float]]:
    """By rank, what has most of its requests: inode number, and req/s. ``served``: by rank, req/s"""
    asked = defaultdict[tuple[int, int], float](float)
    for piece in pieces:
        if piece.rank in served:
            asked[piece.rank, root[piece.ino]] += piece.requests
    return {rank: (ino, rate) for (rank, ino), rate in asked.items() if rate > MOST * served[rank]}
