# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which ranks are full, and what each can serve: what the scheduler evens utilisation by."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from ..engine.inside import CHANGED, CROWD, INSIDE, with_fewer
from ..model import RankSample
from .verdict import Engine, column, rank_rows

ALIKE = 0.9  # of the larger of two capacities that are the same but for noise
MORE = 1.5  # times the requests inside: a rank that has so many serves more for that alone
FEW = 0.25  # of the requests inside full ranks: with less it is not full in the same way
WHILE = 6  # reports
BACK = 12  # looks
IDLE = 0.1  # of what a rank is taken to be able to serve: with less it shows nothing of that
# Looks until one that is as slow as it taught is tried again: at first, twice as many each time, and at most.
PATIENCE, LONGEST = 120, 1440


@dataclass(frozen=True)
class Taught:
    """What an MDS was found to be able to serve.

    :ivar value: req/s, with what it passes on, which takes it about as long
    :ivar inside: requests that it had inside then: with more of them it may serve more
    """

    value: float
    inside: float = 0.0


@dataclass(frozen=True)
class Doubt:
    """What an MDS taught was doubted.

    :ivar looks: until that may be done again; from 0 on it may
    :ivar wait: looks, from one time to the next
    """

    looks: int = 0
    wait: int = 0

    def again(self) -> Doubt:
        """At another time."""
        wait = min(LONGEST, 2 * self.wait) if self.wait else PATIENCE
        return Doubt(wait, wait)


@dataclass(frozen=True)
class Fullness:
    """What was found in a look.

    :ivar full: ranks that serve as much as they can
    :ivar capacity: by the MDS's name, where known
    :ivar before: the same at the last looks, req/s, oldest first
    :ivar doubted: by the MDS's name; forgotten when it was not done again for as long as it could be
    """

    full: frozenset[int] = frozenset()
    capacity: Mapping[str, Taught] = field(default_factory=dict)
    before: tuple[Mapping[str, float], ...] = ()
    doubted: Mapping[str, Doubt] = field(default_factory=dict)


def fullness(
    series: Mapping[int, Sequence[RankSample]], last: Fullness, engine: Engine, awaited: Collection[int]
) -> Fullness:
    """Ask the engine about the last epochs, one row a rank.

    :param last: what was found in the look before
    :param awaited: ranks that something goes to, or would by advice
    """
    known = last.capacity
    names = [row[-1].name for row in series.values()]
    answer = engine(
        "capacities",
        {
            **rank_rows(series),
            # Not filled in as a verdict's are: beside a load that was not told there is no latency either.
            "loads": [[s.requests for s in row] for row in series.values()],
            "passed": [[s.forwards for s in row] for row in series.values()],
            "earlier": [known[name].value if name in known else None for name in names],
        },
    )
    full, values = frozenset(answer["full"]), column(answer, "capacities", series)
    taught = {
        row[-1].name: _taught(row[-1], rank in full, value, known.get(row[-1].name))
        for (rank, row), value in zip(series.items(), values)
    }
    found = {name: each for name, each in taught.items() if each is not None}
    eased = {row[-1].name: _done(row[-1]) for row in _resting(series, full, found)}
    found |= {n: replace(found[n], inside=0.0) if n in found else Taught(did) for n, did in eased.items()}
    doubted = {n: replace(d, looks=d.looks - 1) for n, d in last.doubted.items() if d.looks + d.wait > 1}
    spared = {name for name, doubt in doubted.items() if doubt.looks > 0}
    doubts = _idle(series, full, found, awaited) - spared
    found = {name: each for name, each in found.items() if name not in doubts}
    doubted |= {name: doubted.get(name, Doubt()).again() for name in doubts}
    was = last.before[0] if last.before else {}
    rows = {row[-1].name: (row[-1], rank in full) for rank, row in series.items()}
    others = _alike(rows, found, was)
    seen = () if others else last.before
    found |= others
    before = (*seen, {name: t.value for name, t in found.items()})[-BACK:]
    return Fullness(full, found, before, doubted)


def _alike(
    last: Mapping[str, tuple[RankSample, bool]], found: Mapping[str, Taught], was: Mapping[str, float]
) -> dict[str, Taught]:
    """What others can do, when all ranks that are crowded, two at least, have changed alike of late: their
    hosts have become slower, or clients ask for other things. Unless another one shows that it has not.

    :param last: by the MDS's name: its last sample, and whether it is full
    :param was: what was found ``BACK`` looks ago, or since they last did, req/s
    """
    known = {name: of for name, of in last.items() if name in found and was.get(name)}
    crowded = {name for name, (sample, full) in last.items() if full and _inside(sample) >= CROWD}
    changed = [found[name].value / was[name] for name in crowded & known.keys()]
    if len(changed) < max(2, len(crowded)):
        return {}
    rest = {name: of for name, of in known.items() if name not in crowded}
    if max(changed) <= CHANGED:
        times = max(changed)
        if any(_done(sample) > times * was[name] for name, (sample, full) in rest.items() if not full):
            return {}
        values = {name: min(found[name].value, times * was[name]) for name in rest}
    elif min(changed) * CHANGED >= 1.0:
        # One that is full of few requests shows itself that it can do no more.
        values = {n: max(found[n].value, min(changed) * was[n]) for n, (_, full) in rest.items() if not full}
    else:
        return {}
    return {name: replace(found[name], value=max(v, _done(last[name][0]))) for name, v in values.items()}


def _resting(
    series: Mapping[int, Sequence[RankSample]], full: frozenset[int], found: Mapping[str, Taught]
) -> list[Sequence[RankSample]]:
    """Rows of ranks that serve what they are taken to be able to, and rest for long beside full ones: it was
    learned while clients waited for something else, or while the host was slow. They did that easily. So did
    those of which nothing is known that serve what the best can, asked for what costs less."""
    crowds = [_inside(series[rank][-1]) for rank in full]
    if not crowds:
        return []
    most, best = min(INSIDE, FEW * fmean(crowds)), max((t.value for t in found.values()), default=math.inf)
    value = {name: t.value for name, t in found.items()}
    rows = (row[-WHILE:] for rank, row in series.items() if rank not in full)
    return [
        row
        for row in rows
        if len(row) == WHILE
        if all(_inside(s) <= most and _done(s) >= CHANGED * value.get(s.name, best) for s in row)
    ]


def _idle(
    series: Mapping[int, Sequence[RankSample]],
    full: Collection[int],
    found: Mapping[str, Taught],
    awaited: Collection[int],
) -> set[str]:
    """MDSs that have had next to nothing for long, beside ranks that were full all the time and can do much
    more, as far as is known: they were slow, or asked for what costs more, when they were full last, and
    nothing that is worth moving fits there, so that they would never show that it is not so any more."""
    rows = {rank: row[-WHILE:] for rank, row in series.items() if len(row) >= WHILE}
    busy = [row for rank, row in rows.items() if rank in full and all(_inside(s) >= INSIDE for s in row)]
    best = max((found[row[-1].name].value for row in busy if row[-1].name in found), default=0.0)
    most = min(INSIDE, FEW * fmean(_inside(row[-1]) for row in busy)) if busy else 0.0
    low = {name: IDLE * taught.value for name, taught in found.items() if taught.value < CHANGED * best}
    return {
        row[-1].name
        for rank, row in rows.items()
        if rank not in awaited and all(_inside(s) <= most and _done(s) < low.get(s.name, 0.0) for s in row)
    }


def _inside(sample: RankSample) -> float:
    """Requests that a rank has inside, or at most where the quickest kind was not measured anew."""
    return sample.inside or sample.requests * sample.latency


def _done(sample: RankSample) -> float:
    """req/s that a rank served or passed on."""
    return sample.requests + sample.forwards


def _taught(last: RankSample, full: bool, value: float | None, known: Taught | None) -> Taught | None:
    """Of several times that it was full at about the same rate the one with most inside counts. A lower rate
    with few inside, and fewer than it had, says nothing of what it could do with as many, unless that is too
    little for so few as well.

    :param value: None: nobody knows, or not any more: that much it can do at least, whoever waits
    """
    inside = last.inside
    if value is None:
        return None if known is None else Taught(max(known.value, last.requests))
    if known is None:
        return Taught(value, inside if full else 0.0)
    if not full or last.exported or last.imported:
        return Taught(value, known.inside)
    if min(value, known.value) >= ALIKE * max(value, known.value):
        return Taught(value, max(known.inside, inside))
    few = inside < CROWD and MORE * inside <= known.inside
    as_ever = few and value >= CHANGED * known.value * with_fewer(inside, known.inside)
    return known if as_ever and value < known.value else Taught(value, inside)
