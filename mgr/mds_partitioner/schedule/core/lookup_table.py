# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Indirect Lookup Table (content-based-ilt, 3.1) and its adjustment (3.3): hash buckets, called entries,
given to servers. Pure."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A quotient of floats that misses a whole number by this much is that number.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Shift:
    """One entry of the table goes from one server to another."""

    entry: int
    source: int
    target: int


@dataclass(frozen=True)
class LookupTable:
    """`owners[entry]` is the server that answers for the metadata whose hash falls into that entry."""

    owners: tuple[int, ...]

    @classmethod
    def round_robin(cls, entries: int, servers: int) -> LookupTable:
        """Every server has as many entries as the others, to within one."""
        return cls(tuple(entry % servers for entry in range(entries)))

    def moved(self, moves: Iterable[Shift]) -> LookupTable:
        """The table after the moves."""
        owners = list(self.owners)
        for move in moves:
            owners[move.entry] = move.target
        return LookupTable(tuple(owners))


def adjust(table: LookupTable, loads: Sequence[float], weights: Sequence[float] | None = None) -> list[Shift]:
    """The entries that overloaded servers give to others (3.3).

    `loads[server]` in any one unit. `weights[server]`, all equal unless given, is a server's computing
    power: its fair load is its part of the sum. With Extra = load - fair load and Load_e = load / entries:

    - a server with Extra > 0 gives at most EE = floor(Extra / Load_e) entries;
    - one with Extra < 0 takes at most floor(-Extra / Load_e + 1/2): a room of half an entry counts as one.

    The paper does not say: which entries (here: the giver's lowest), who gets them (whoever has most room
    left, in its own Load_e), what Load_e is where there are no entries (here: the table's mean). Where it
    is 0, any number of entries satisfies the rule. A server whose fair load is its load takes no part.

    Raises ValueError for loads or weights that do not fit the table.
    """
    shares = _shares(table, loads, weights)
    total = math.fsum(loads)
    owned: list[list[int]] = [[] for _ in loads]
    for entry, owner in enumerate(table.owners):
        owned[owner].append(entry)
    extra = [load - total * share for load, share in zip(loads, shares)]
    per_entry = [
        load / len(entries) if entries else total / len(table.owners) for load, entries in zip(loads, owned)
    ]
    offered = [
        (entry, server)
        for server in sorted(range(len(loads)), key=lambda server: -extra[server])
        if extra[server] > 0
        for entry in owned[server][: _gives(extra[server], loads[server], len(owned[server]))]
    ]
    room = {
        server: _takes(extra[server], per_entry[server], len(table.owners))
        for server in range(len(loads))
        if extra[server] < 0
    }
    return _matched(offered, room)


def _shares(table: LookupTable, loads: Sequence[float], weights: Sequence[float] | None) -> list[float]:
    """Each server's part of the sum of the weights."""
    given = [1.0] * len(loads) if weights is None else list(weights)
    if len(given) != len(loads):
        raise ValueError(f"{len(given)} weights for {len(loads)} loads: one for each server is needed")
    if any(not math.isfinite(weight) or weight <= 0 for weight in given):
        raise ValueError(f"weights {given}: each must be a number above 0")
    if any(not math.isfinite(load) or load < 0 for load in loads):
        raise ValueError(f"loads {list(loads)}: each must be a number of 0 or more")
    if any(not 0 <= owner < len(loads) for owner in table.owners):
        strangers = sorted({owner for owner in table.owners if not 0 <= owner < len(loads)})
        raise ValueError(
            f"the table names the servers {strangers}; there are loads for 0 to {len(loads) - 1}"
        )
    return [weight / math.fsum(given) for weight in given]


def _gives(extra: float, load: float, entries: int) -> int:
    """EE of an overloaded server: the most entries for which Extra - load / entries * EE >= 0."""
    return math.floor(min(entries, extra / load * entries + _ROUNDING))


def _takes(extra: float, per_entry: float, entries: int) -> int:
    """EE of a server with room: the most of all entries for which Extra - Load_e / 2 + Load_e * EE <= 0."""
    return math.floor(min(entries, 0.5 - extra / per_entry + _ROUNDING)) if per_entry else entries


def _matched(offered: Sequence[tuple[int, int]], room: dict[int, int]) -> list[Shift]:
    """Each offered entry goes to the server with the most room left, until there is none."""
    heap = [(-entries, server) for server, entries in room.items() if entries > 0]
    heapq.heapify(heap)
    moves = []
    for entry, source in offered:
        if not heap:
            break
        left, target = heapq.heappop(heap)
        moves.append(Shift(entry, source, target))
        if left + 1 < 0:
            heapq.heappush(heap, (left + 1, target))
    return moves
