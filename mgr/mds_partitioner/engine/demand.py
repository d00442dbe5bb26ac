# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is asked for, where full ranks hold clients back: more than they serve, and nobody sees how much."""

from __future__ import annotations

from dataclasses import replace

from .arrays import Floats
from .inside import AT_ONCE
from .workload import Workload, share

COLUMNS = ("wss", "reqs", "rentries", "held_back")  # of a table of subvolumes


def room(ranks: int, capacity: float | None, served: float) -> float | None:
    """req/s that usable ranks could serve besides; None: unknown. capacity: req/s a rank; served: by these,
    or to be, req/s"""
    return None if capacity is None else max(0.0, ranks * capacity - served)


def demand(reqs: Floats, held: Floats, left: float | None) -> Floats:
    """(subvolumes,): req/s, if all that are held back are served more alike: until the ranks are full, and no
    more than is believed at once.

    reqs, held: req/s, (subvolumes,), ``held`` a part of ``reqs``; left: as ``room``.
    """
    growth, waiting = AT_ONCE - 1.0, float(held.sum())
    if left is not None and waiting > 0.0:
        growth = min(growth, left / waiting)
    return reqs + growth * held


def asked(work: Workload, reqs: Floats, held: Floats, left: float | None) -> Workload:
    """The same workload, its requests as ``demand`` has them. The points are of what is seen."""
    return replace(work, reqs=share(demand(reqs, held, left)))
