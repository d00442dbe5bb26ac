# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures from a cell's raw result: pure functions of what was sampled."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from experiments.common.figures.factor import factors

Cell = Mapping[str, Any]
Sample = Mapping[str, Any]
WINDOW_S = 10  # of moving means, and of IF: one beat of the balancer
PING_PONG_S = 100.0  # ten epochs


Loads = list[tuple[float, list[float]]]
"""(Unix s, req/s by rank)."""


def loads(cell: Cell) -> Loads:
    """Requests served by each rank, over the last ten seconds, of samples that have all ranks."""
    full = [s for s in cell["samples"] if all(str(rank) in s["ranks"] for rank in range(cell["ranks"]))]
    return _loads(full, cell["ranks"])


def known_loads(cell: Cell) -> Loads:
    """The same where ranks come later: one that is not there yet serves nothing."""
    return _loads(cell["samples"], cell["ranks"])


def _loads(samples: Sequence[Sample], ranks: int) -> Loads:
    return [
        (last["t"], [(_served(last, r) - _served(first, r)) / (last["t"] - first["t"]) for r in range(ranks)])
        for first, last in zip(samples, samples[WINDOW_S:], strict=False)
    ]


def _served(sample: Sample, rank: int) -> float:
    counters = sample["ranks"].get(str(rank))
    return float(counters["requests"] - counters["forwards"]) if counters else 0.0


def imbalance(cell: Cell, capacity: float) -> list[tuple[float, float]]:
    """IF over time, of loads over ten seconds; of ranks that are not alike: of loads for their shares.

    capacity: of rank 0, req/s
    """
    rows, shares = loads(cell), cell.get("shares") or [1.0] * cell["ranks"]
    values = factors(
        [[max(0.0, x) / share for x, share in zip(row, shares, strict=True)] for _, row in rows],
        capacity / shares[0],
    )
    return [(t, value) for (t, _), value in zip(rows, values, strict=True)]


def known_imbalance(cell: Cell, capacity: float) -> list[tuple[float, float]]:
    """IF over time of the ranks that there are at the time."""
    found = []
    for (t, row), sample in zip(known_loads(cell), cell["samples"][WINDOW_S:], strict=False):
        loads = [max(0.0, row[int(rank)]) for rank in sample["ranks"]]
        found.append((t, factors([loads], capacity)[0]))
    return found


def within(series: Sequence[tuple[float, Any]], span: Sequence[float]) -> list[Any]:
    """Values whose time lies in a span."""
    return [value for t, value in series if span[0] < t <= span[1]]


def throughput(cell: Cell, span: Sequence[float]) -> float:
    """Mean op/s of all clients in a span."""
    done: float = sum(row[1] for row in cell["clients"] if span[0] < row[0] <= span[1])
    return done / (span[1] - span[0])


def by_second(series: Sequence[tuple[float, float]]) -> dict[int, float]:
    """A series of (s, value) by whole seconds, so that runs can be laid beside each other."""
    # Not round(), whose halves go to the even second: a run that began at a half would have only those.
    return {math.floor(t + 0.5): value for t, value in series}


def moving(cell: Cell, span: Sequence[float]) -> list[tuple[float, float]]:
    """op/s of all clients, mean of the last ten seconds, within a span."""
    rows = [(row[0], row[1]) for row in cell["clients"] if span[0] < row[0] <= span[1]]
    return [
        (rows[i][0], sum(ops for _, ops in rows[i - WINDOW_S + 1 : i + 1]) / WINDOW_S)
        for i in range(WINDOW_S - 1, len(rows))
    ]


def reached(cell: Cell, span: Sequence[float], rate: float) -> float | None:
    """Seconds until the moving mean first got to a rate; None: never."""
    return next((t - span[0] for t, ops in moving(cell, span) if ops >= rate), None)


def migrated(cell: Cell, span: Sequence[float]) -> list[tuple[float, int]]:
    """Inodes that came to another rank since a span began, by the seconds since."""
    seen = [s for s in cell["samples"] if span[0] <= s["t"] <= span[1]]
    totals = [sum(rank["exported_inodes"] for rank in s["ranks"].values()) for s in seen]
    return [(s["t"] - span[0], value - totals[0]) for s, value in zip(seen, totals, strict=True)]


def first_migration(cell: Cell, span: Sequence[float]) -> float | None:
    """Seconds until the first inodes came to another rank within a span; None: none did."""
    return next((t for t, inodes in migrated(cell, span) if inodes), None)


def balanced(series: Sequence[tuple[float, float]], span: Sequence[float], threshold: float) -> float | None:
    """Seconds until IF was first at or below a threshold within a span; None: never."""
    return next((t - span[0] for t, value in series if span[0] < t <= span[1] and value <= threshold), None)


def total(cell: Cell, counter: str, span: Sequence[float] | None = None) -> int:
    """Increase of a counter, over all ranks, in a span or from the first sample to the last."""
    start, end = span or (0.0, float("inf"))
    seen = [s for s in cell["samples"] if start <= s["t"] <= end]
    ranks = [str(rank) for rank in range(cell["ranks"])]

    def grown(rank: str) -> int:
        values = [s["ranks"][rank][counter] for s in seen if rank in s["ranks"]]
        return int(values[-1] - values[0]) if values else 0

    return sum(grown(rank) for rank in ranks)


def never_visited(cell: Cell) -> float | None:
    """Part of the inodes that other ranks imported and that nobody visited there since.

    None: none were imported, or the MDSs do not record visits. An MDS forgets an inode after eight beats: one
    that is visited again later counts twice.
    """
    seen = [s for s in cell["samples"] if any("visited" in rank for rank in s["ranks"].values())]
    if not seen:
        return None
    # The cluster may have had other cells before.
    others = [rank for rank in seen[-1]["ranks"] if rank != "0" and rank in seen[0]["ranks"]]

    def grown(counter: str) -> int:
        first, last = seen[0]["ranks"], seen[-1]["ranks"]
        return sum(int(last[rank].get(counter, 0)) - int(first[rank].get(counter, 0)) for rank in others)

    imported, visited = grown("imported_inodes"), grown("visited")
    return max(0.0, 1 - visited / imported) if imported else None


def owner(subtrees: Mapping[str, int], path: str) -> int:
    """The rank of a path: that of the nearest subtree at or above it."""
    plain = path.partition("#")[0]
    if path in subtrees:
        return subtrees[path]
    while plain not in subtrees and plain != "/":
        plain = plain.rpartition("/")[0] or "/"
    return subtrees.get(plain, 0)


def moves(cell: Cell) -> dict[str, list[tuple[float, int]]]:
    """For every path that ever was a subtree: when it came to which rank, the first place included."""
    maps = [(s["t"], s["subtrees"]) for s in cell["samples"] if s["subtrees"]]
    paths = {path for _, subtrees in maps for path in subtrees}
    found = {}
    for path in sorted(paths):
        trail: list[tuple[float, int]] = []
        for t, subtrees in maps:
            rank = owner(subtrees, path)
            if not trail or trail[-1][1] != rank:
                trail.append((t, rank))
        found[path] = trail
    return found


def migrations(cell: Cell) -> int:
    """How often a subtree came to another rank."""
    return sum(len(trail) - 1 for trail in moves(cell).values())


def ping_pongs(cell: Cell, within_s: float = PING_PONG_S) -> int:
    """How often a subtree returned to a rank that it had left within ten epochs."""
    return sum(_returns(trail, within_s) for trail in moves(cell).values())


def _returns(trail: Sequence[tuple[float, int]], within_s: float) -> int:
    left: dict[int, float] = {}
    count = 0
    for (_, old), (t, new) in pairwise(trail):
        left[old] = t
        count += new in left and t - left[new] <= within_s
    return count
