# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories are hot, since when, and in what way: sudden, cyclical or permanent. No I/O, no clock.

Several windows are looked at at once, the whole time and halves of it (cache-tpps-parc, section IV.A and
Algorithm 2): the first n/e samples of a window only tell how hot a directory is anyway, then the first that
is hotter says that it has become a hot spot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from .view import Piece, View

SUDDEN, CYCLICAL, PERMANENT, UNKNOWN = "sudden", "cyclical", "permanent", "unknown yet"
KINDS = (SUDDEN, CYCLICAL, PERMANENT, UNKNOWN)
MEMORY = 3600.0  # s
PART = 0.5  # of a rank's share of all requests: with more a directory is hot, with half of that it is not
LONG = 300.0  # s, before anything is called permanent
ALWAYS = 0.9  # of that time
TIMES = 3  # that a cycle must have begun
REGULAR = 0.1  # by which part of the cycle it may come earlier or later
LASTS = 0.4  # by which part of that it may last longer or shorter


@dataclass(frozen=True)
class Glimpse:
    """One look. at: steady clock, s; parts: of all requests, by inode number, of what is nearly hot."""

    at: float
    parts: Mapping[int, float]


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
    if not total:
        return tuple(glimpses)
    least = total * PART / 2.0 / max(len(view.ranks), 1)
    now = Glimpse(view.now, {p.ino: p.requests / total for p in view.pieces if p.requests >= least})
    return (*recent(glimpses, view.now), now)


def recent(glimpses: Sequence[Glimpse], now: float) -> tuple[Glimpse, ...]:
    """Those of the last MEMORY seconds."""
    return tuple(glimpse for glimpse in glimpses if now - glimpse.at <= MEMORY)


def hotspots(glimpses: Sequence[Glimpse], ranks: int) -> list[Hotspot]:
    """The hottest first. ``ranks``: how many share the load."""
    level = PART / max(ranks, 1)
    ever = {ino for glimpse in glimpses for ino, part in glimpse.parts.items() if part >= level}
    found = (_judged(ino, glimpses, level) for ino in sorted(ever))
    return sorted((spot for spot in found if spot is not None), key=lambda spot: (-spot.part, spot.ino))


def first_hotter(parts: Sequence[float], level: float) -> int | None:
    """Algorithm 2 with k = n/e: the first sample after the k-th that is hotter than all of those, and hot."""
    k = max(1, round(len(parts) / math.e))
    best = max(parts[:k], default=math.inf)
    return next((i for i in range(k, len(parts)) if parts[i] > max(best, level)), None)


def _judged(ino: int, glimpses: Sequence[Glimpse], level: float) -> Hotspot | None:
    times = [glimpse.at for glimpse in glimpses]
    parts = [glimpse.parts.get(ino, 0.0) for glimpse in glimpses]
    spans = _spans(glimpses, parts, level)
    begins = [begin for begin, _ in spans]
    every = _cycle(spans, times[-1])
    if every is not None:
        return Hotspot(ino, CYCLICAL, parts[-1], begins[-1], every)
    if not _hot(parts, level)[-1]:
        return None
    observed = times[-1] - times[0]
    if observed >= LONG and sum(_hot(parts, level)) >= ALWAYS * len(parts):
        return Hotspot(ino, PERMANENT, parts[-1], times[0])
    began = begins[-1] if begins else None
    for since in _windows(times):
        index = first_hotter(parts[since:], level)
        if index is not None and (began is None or times[since + index] > began):
            began = times[since + index]
    return Hotspot(ino, UNKNOWN if began is None else SUDDEN, parts[-1], times[0] if began is None else began)


def _windows(times: Sequence[float]) -> Iterator[int]:
    """Where each begins: ln n of them, the whole time, its second half, the last quarter, and so on."""
    for i in range(max(1, round(math.log(len(times))))):
        yield len(times) - len(times) // (1 << i)


def _hot(parts: Sequence[float], level: float) -> list[bool]:
    """In each sample: once hot, it is so until it has less than half of what that takes."""
    found: list[bool] = []
    for part in parts:
        found.append(part >= (level / 2.0 if found and found[-1] else level))
    return found


def _spans(
    glimpses: Sequence[Glimpse], parts: Sequence[float], level: float
) -> list[tuple[float, float | None]]:
    """When it became hot and cool again, s; the last may be hot still. Not what was hot from the first look
    on, as it may have been so before."""
    found: list[tuple[float, float | None]] = []
    hot = _hot(parts, level)
    for glimpse, before, now in zip(glimpses[1:], hot, hot[1:]):
        if now and not before:
            found.append((glimpse.at, None))
        elif before and not now and found:
            found[-1] = (found[-1][0], glimpse.at)
    return found


def _cycle(spans: Sequence[tuple[float, float | None]], now: float) -> float | None:
    """s from one to the next, if there were TIMES of them that are alike, and the next is not overdue."""
    if len(spans) < TIMES:
        return None
    gaps = [b[0] - a[0] for a, b in zip(spans, spans[1:])]
    lasted = [end - begin for begin, end in spans if end is not None]
    usual = median(gaps)
    overdue = now - spans[-1][0] > (1.0 + REGULAR) * usual
    return usual if _alike(gaps, REGULAR) and _alike(lasted, LASTS) and not overdue else None


def _alike(values: Sequence[float], part: float) -> bool:
    """Is none further than a part of it from the median?"""
    usual = median(values)
    return all(abs(value - usual) <= part * usual for value in values)
