# SPDX-License-Identifier: LGPL-2.1-or-later
"""How far what was ordered got."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from .demand import Demand
from .state import FRESH, Limits, Past, State
from .view import View

LONGEST = 60.0  # s after its arrival, for which a piece counts as it did where it was


def followed(past: Past, where: Mapping[int, int | None], view: View, state: State, limits: Limits) -> Past:
    """How far it got. What is gone, or does not arrive in time, is no longer waited for, nor what it has
    there.

    :param where: the rank of each piece, by inode number
    """
    if not past.under_way:
        return replace(past, settled=0.0) if past.move.ino not in where else past
    if past.arrived >= 0.0:
        return replace(past, looks=past.looks + (view.measured and not view.again))
    if where.get(past.move.ino, -1) == past.move.target:
        return replace(past, arrived=view.now)  # also after a pause in which nobody looked
    if past.move.ino not in where or state.overdue(past, view.now, limits):
        return replace(past, arrived=view.now, looks=FRESH, settled=0.0, lost=True)
    return past


def settled(
    past: Sequence[Past], view: View, demand: Mapping[int, Demand], stale: Collection[int]
) -> tuple[Past, ...]:
    """What has arrived on a rank that is seen as it is now, as is the one that it left: until then all that
    left that one counts as it did there, or what is ordered later would be weighed by other numbers."""
    new = {p.move.ino for p in past if p.arrived >= 0.0 > p.settled}
    fresh = {p.ino for p in view.pieces if p.ino in new and p.rank is not None and p.rank not in stale}

    def seen(p: Past) -> bool:
        late = p.arrived >= 0.0 and view.now - p.arrived > LONGEST
        return p.arrived >= 0.0 > p.settled and p.move.ino in fresh and (p.move.source not in stale or late)

    return tuple(replace(p, settled=demand[p.move.ino].mean) if seen(p) else p for p in past)
