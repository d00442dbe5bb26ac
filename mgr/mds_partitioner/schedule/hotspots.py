# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories are hot, since when, and in what way: sudden, cyclical or permanent. No I/O, no clock.

Several windows are looked at at once, the whole time and halves of it (cache-tpps-parc, section IV.A and
Algorithm 2): the first n/e samples of a window only tell how hot a directory is anyway, then the first that
is hotter says that it has become a hot spot.

What is hot is the same in all of them: a directory's requests are held against the usual load, not against
that of the moment. Else one that is always the same would be hot when all others pause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from .core.view import Piece, View

SUDDEN, CYCLICAL, PERMANENT, UNKNOWN = "sudden", "cyclical", "permanent", "unknown yet"
KINDS = (SUDDEN, CYCLICAL, PERMANENT, UNKNOWN)
MEMORY = 3600.0  # s
PART = 0.5  # of a rank's share of the usual load: with more a directory is hot, with half of that it is not
LEAST = 10.0  # req/s: with less none is hot, however idle all others are
MOST = 0.95  # quantile: load that comes now and then counts, what came once does not
LONG = 300.0  # s, before anything is called permanent
ALWAYS = 0.9  # of that time
TIMES = 3  # that a cycle must have begun
LAST = 5  # begins that tell whether it is one
REGULAR = 0.1  # by which part of the cycle it may come earlier or later
COARSE = 0.25  # of the cycle: where looks are further apart nothing is known of it
LASTS = 0.4  # by which part of that it may last longer or shorter


@dataclass(frozen=True)
class Glimpse:
    """One look. at: steady clock, s; total: req/s of all; loads: req/s by inode number, of what has a good
    part of that."""

    at: float
    total: float
    loads: Mapping[int, float]


@dataclass(frozen=True)
class Hotspot:
    """A directory that is hot, or is from time to time.

    :ivar part: of all requests, at the last look
    :ivar since: steady clock, s; of a cyclical one, when it began last
    :ivar every: s between two begins; None: it is not cyclical
    """

    ino: int
    kind: str
    part: float
    since: float
    every: float | None = None


@dataclass(frozen=True)
class Hotspots:
    """Those of a file system, and what is known of them besides.

    :ivar spots: the hottest first, each with where and what it is now
    :ivar clients: mounted at a directory or in it, by path; None: its rank did not answer
    :ivar ahead: Unix time less the steady clock, s
    :ivar looked: s for which it was looked at
    """

    spots: tuple[tuple[Hotspot, Piece], ...]
    clients: Mapping[str, int | None]
    ahead: float
    looked: float


def remembered(glimpses: Sequence[Glimpse], view: View) -> tuple[Glimpse, ...]:
    """With this look; what is older than MEMORY is forgotten."""
    # Of ranks outside a mask only the pieces are seen.
    total = max(sum(rank.requests for rank in view.ranks), sum(piece.requests for piece in view.pieces))
    least = total * PART / 4.0 / max(len(view.ranks), 1)  # half of what is hot while all is at its most
    now = Glimpse(view.now, total, {p.ino: p.requests for p in view.pieces if p.requests >= least > 0.0})
    return (*recent(glimpses, view.now), now)


def recent(glimpses: Sequence[Glimpse], now: float) -> tuple[Glimpse, ...]:
    """Those of the last MEMORY seconds."""
    return tuple(glimpse for glimpse in glimpses if now - glimpse.at <= MEMORY)


def hotspots(glimpses: Sequence[Glimpse], ranks: int) -> list[Hotspot]:
    """The hottest first. ``ranks``: how many share the load."""
    if not glimpses:
        return []
    level = max(LEAST, usual([glimpse.total for glimpse in glimpses]) * PART / max(ranks, 1))
    ever = {ino for glimpse in glimpses for ino, load in glimpse.loads.items() if load >= level}
    found = (_judged(ino, glimpses, level) for ino in sorted(ever))
    return sorted((spot for spot in found if spot is not None), key=lambda spot: (-spot.part, spot.ino))


def usual(totals: Sequence[float]) -> float:
    """req/s: what all have together as a rule; half of what they have at their most, where that comes now and
    then."""
    ordered = sorted(totals)
    return max(median(ordered), ordered[int(MOST * (len(ordered) - 1))] / 2.0)


def first_hotter(parts: Sequence[float], level: float) -> int | None:
    """Algorithm 2 with k = n/e: the first sample after the k-th that is hotter than all of those, and hot."""
    k = max(1, round(len(parts) / math.e))
    best = max(parts[:k], default=math.inf)
    return next((i for i in range(k, len(parts)) if parts[i] > max(best, level)), None)


def _judged(ino: int, glimpses: Sequence[Glimpse], level: float) -> Hotspot | None:
    times = [glimpse.at for glimpse in glimpses]
    loads = [glimpse.loads.get(ino, 0.0) for glimpse in glimpses]
    hot = _hot(loads, level)
    spans = _spans(times, hot)
    part = loads[-1] / glimpses[-1].total if glimpses[-1].total else 0.0
    every = _cycle(spans, times[-1])
    if every is not None:
        return Hotspot(ino, CYCLICAL, part, spans[-1].begin, every)
    if not hot[-1]:
        return None
    observed = times[-1] - times[0]
    if observed >= LONG and sum(hot) >= ALWAYS * len(hot):
        return Hotspot(ino, PERMANENT, part, times[0])
    began = spans[-1].begin if spans else None
    for since in _windows(times):
        index = first_hotter(loads[since:], level)
        if index is not None and (began is None or times[since + index] > began):
            began = times[since + index]
    return Hotspot(ino, UNKNOWN if began is None else SUDDEN, part, times[0] if began is None else began)


def _windows(times: Sequence[float]) -> Iterator[int]:
    """Where each begins: ln n of them, the whole time, its second half, the last quarter, and so on."""
    for i in range(max(1, round(math.log(len(times))))):
        yield len(times) - len(times) // (1 << i)


def _hot(loads: Sequence[float], level: float) -> list[bool]:
    """In each sample: once hot, it is so until it has less than half of what that takes in two of them."""
    found: list[bool] = []
    for load in loads:
        found.append(load >= (level / 2.0 if found and found[-1] else level))
    between = (i for i in range(1, len(found) - 1) if found[i - 1] and found[i + 1])
    for i in list(between):
        found[i] = True
    return found


@dataclass(frozen=True)
class _Span:
    """A time for which it was hot. Steady clock, s.

    :ivar late: s from the look before, in which it was not
    :ivar end: None: it is hot still
    """

    begin: float
    late: float
    end: float | None = None


def _spans(times: Sequence[float], hot: Sequence[bool]) -> list[_Span]:
    """Not what was hot from the first look on, as it may have been so before."""
    found: list[_Span] = []
    for last, at, before, now in zip(times, times[1:], hot, hot[1:]):
        if now and not before:
            found.append(_Span(at, at - last))
        elif before and not now and found:
            found[-1] = replace(found[-1], end=at)
    return found


def _cycle(spans: Sequence[_Span], now: float) -> float | None:
    """s from one to the next, if there were TIMES of them that are alike, and the next is not overdue. Of
    LAST one may be unlike the others: something was in its way."""
    if len(spans) < TIMES:
        return None
    last = spans[-LAST:]
    spare = 1 if len(last) == LAST else 0
    every = _every(last, spare)
    lasted = [span.end - span.begin for span in last if span.end is not None]
    usually = median(lasted)
    unlike = sum(abs(time - usually) > max(LASTS * usually, last[-1].late) for time in lasted)
    overdue = now - last[-1].begin > (1.0 + spare + REGULAR) * (every or 0.0) + last[-1].late
    return None if unlike > spare or overdue else every


def _every(last: Sequence[_Span], spare: int) -> float | None:
    """s from one to the next on the mean, if that is regular but for so many of them."""
    pairs = list(zip(last, last[1:]))
    gaps = [after.begin - before.begin for before, after in pairs]
    unsure = max((before.late + after.late) / 2.0 for before, after in pairs)
    usual_gap = median(gaps)
    counted = [(gap, 2 if gap > 1.5 * usual_gap else 1) for gap in gaps]  # it may not have come once
    counted.sort(key=lambda gap: abs(gap[0] - gap[1] * usual_gap))
    like = counted[: len(counted) - spare]
    every = sum(gap for gap, _ in like) / sum(times for _, times in like)
    regular = all(abs(gap - times * every) <= REGULAR * every + unsure for gap, times in like)
    return every if regular and unsure <= COARSE * every else None
