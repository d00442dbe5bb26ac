# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much ranks have to do.

What is evened is utilisation, req/s in parts of what a rank can serve. Of several full ranks, which all serve
what they can, that one has most to do that has most requests inside (Little's law: rate x latency).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from ...engine.inside import CROWD, INSIDE, LEAST_RATE, REAL_LOAD, STEEPEST
from ...judge.fullness import MORE
from .view import RankView

BELIEVED = 2.0  # times what a rank did easily, at most: a wrong guess costs moves
EASILY = 1.5  # times what one did that rested, at least: fuller than two thirds more would be inside (M/D/1)
AS_MUCH = 0.9  # of what the best can do: who does that easily can do more than the best
NEARLY = 0.9  # of what it can serve: a little more, and clients wait
EMPTY = 0.7  # of its share, at most, has a rank with much room
ROOMY = 0.5  # of what it can do: with less, what begins finds room
RESTS = 0.6  # requests inside: with fewer a rank has nothing to do for a good part of the time


def capacities(ranks: Sequence[RankView]) -> dict[int, float]:
    """What each rank can serve, req/s: what it taught, else what the best of all did or itself does.

    All are alike while nothing is known, and each can do what it does now. A rank that was full with few
    requests inside, and fewer than a better one, is taken to be as good, as far as an MDS may serve so much
    more for having as many at once. If it is not, it is soon crowded; and beside one that rests it is taken
    for what it shows, as its clients may ask for what costs more, and would be served there. One that does
    easily what the best can do, as it is asked for what costs less, can do more than that.
    """
    best = max((r.able or r.requests for r in ranks), default=0.0)
    easy = (r.able for r in ranks if r.able is not None and not (r.crowd or r.full))
    most = max([best, *(EASILY * able for able in easy if able >= AS_MUCH * best)])
    rests = any(not r.full and r.inside <= RESTS for r in ranks)

    def able(rank: RankView) -> float:
        if rank.able is None:
            return max(most, rank.requests)
        return rank.able if rests and rank.full else _as_good(rank, ranks, most)

    return {r.rank: able(r) for r in ranks}


def _as_good(rank: RankView, ranks: Sequence[RankView], most: float) -> float:
    """most: req/s that any rank is taken to be able to serve"""
    able = rank.able or 0.0
    if not rank.crowd:  # it did that easily
        return max(able, min(BELIEVED * able, most))
    with_more = (r for r in ranks if rank.crowd < CROWD and MORE * rank.crowd <= r.crowd < math.inf)
    return max([able, *(_with_as_many(rank, r) for r in with_more)])


def _with_as_many(rank: RankView, other: RankView) -> float:
    """req/s that a rank may be able to serve with as many requests inside as another one taught."""
    able, best = rank.able or 0.0, other.able or 0.0
    return min(best, able * math.pow(other.crowd / rank.crowd, STEEPEST))


def pressed(ranks: Sequence[RankView]) -> frozenset[int]:
    """Those where what begins has to wait: full, or with half of what they can do, as far as is known."""

    def little_room(rank: RankView) -> bool:
        if rank.full or rank.able is None:
            return rank.full or rank.inside > RESTS
        return rank.requests >= ROOMY * rank.able

    return frozenset(rank.rank for rank in ranks if little_room(rank))


def busy(ranks: Sequence[RankView], capacity: Mapping[int, float]) -> frozenset[int]:
    """Ranks that serve as much as they can, or nearly so. By capacity (req/s)."""
    return frozenset(r.rank for r in ranks if r.full or r.requests >= NEARLY * capacity[r.rank])


def crawls(rank: RankView, share: float, highest: float) -> bool:
    """Has it many requests inside, and serves far less than its share, and is not full by its rate, as where
    the host swaps? Few are enough where it serves next to nothing, as one that has most to do with
    capabilities.

    :param share: its own, req/s
    :param highest: what the busiest rank serves, req/s
    """
    many = INSIDE if rank.work < max(LEAST_RATE, REAL_LOAD * highest) else CROWD
    return not rank.full and rank.inside >= many and rank.requests < EMPTY * share


def highest(ranks: Iterable[RankView]) -> float:
    """What the busiest serves, req/s."""
    return max((rank.requests for rank in ranks), default=0.0)


def levelled(
    ranks: Sequence[RankView], capacity: Mapping[int, float], crawling: Collection[int]
) -> dict[int, float]:
    """req/s that ranks which crawl can do, whatever they could before: so that each has just its share, and
    neither gives nor gets."""
    others = [r for r in ranks if r.rank not in crawling]
    room = sum(capacity[r.rank] for r in others)
    used = sum(r.requests for r in others) / room if room else 0.0
    slow = (r for r in ranks if r.rank in crawling) if used else ()
    return {r.rank: max(1.0, r.requests / used) for r in slow}


def shares(loads: Mapping[int, float], capacity: Mapping[int, float]) -> dict[int, float]:
    """req/s that each rank would have of all these, were all utilised alike."""
    total, room = sum(loads.values()), sum(capacity[r] for r in loads)
    return {r: total * (capacity[r] / room if room else 1.0 / len(loads)) for r in loads}


def served(ranks: Iterable[RankView]) -> dict[int, float]:
    """What each rank serves, req/s."""
    return {r.rank: r.requests for r in ranks}


def utilisations(ranks: Sequence[RankView], capacity: Mapping[int, float]) -> dict[int, float]:
    """What each rank serves, in parts of its share."""
    share = shares(served(ranks), capacity)
    return {r.rank: r.requests / share[r.rank] if share[r.rank] else 1.0 for r in ranks}


def pressures(ranks: Sequence[RankView]) -> dict[int, float]:
    """Who is to be relieved first: full ranks by what is inside them, then all others."""
    return {r.rank: max(1.0, r.inside) if r.full else 0.0 for r in ranks}
