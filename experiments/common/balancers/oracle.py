# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pins by somebody who knows the run: directories over ranks so that each has the same number of operations.

A rank that has more CPU than the mean gets so much more. A directory goes to a rank with all that is below
it; the heaviest are taken apart only as long as the fullest rank is above the mean. Longest processing time
first (Graham 1969) puts what is left where it is done first.

A pinned directory's own inode stays on its parent's rank, and clients that are told of no replicas look names
up at the lowest rank that gave them a capability for the directory (docs/benchmarking.md, "Forwards"). So the
parents are on the highest rank: then the lowest is the one that has the entries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_GOOD_ENOUGH = 1.02  # fullest rank / mean


@dataclass
class _Directory:
    path: str
    own: float = 0.0
    below: dict[str, "_Directory"] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.own + sum(child.total for child in self.below.values())


def _tree(demand: Mapping[str, float]) -> _Directory:
    root = _Directory("/")
    for path, operations in demand.items():
        at = root
        for name in PurePosixPath(path).parts[1:]:
            at = at.below.setdefault(name, _Directory(f"{at.path.rstrip('/')}/{name}"))
        at.own += operations
    return root


@dataclass(frozen=True)
class _Item:
    directory: _Directory
    whole: bool  # with all that is below it; else its own files alone

    @property
    def weight(self) -> float:
        return self.directory.total if self.whole else self.directory.own


def _assign(items: list[_Item], shares: Sequence[float]) -> tuple[dict[str, int], list[float]]:
    """The rank of each, and the load of each rank for its share."""
    ranks = len(shares)
    apart = [item for item in items if not item.whole]  # parents of what else is pinned
    where = {item.directory.path: ranks - 1 for item in apart}
    loads = [0.0] * ranks
    loads[-1] = sum(item.weight for item in apart) / shares[-1]
    for item in sorted((item for item in items if item.whole), key=lambda item: -item.weight):
        then = [load + item.weight / share for load, share in zip(loads, shares, strict=True)]
        rank = then.index(min(then))
        where[item.directory.path] = rank
        loads[rank] = then[rank]
    return where, loads


def spread(demand: Mapping[str, float], ranks: int, shares: Sequence[float] = ()) -> dict[str, int]:
    """The rank of each directory that gets a pin. shares: what each rank has of the mean one's CPU."""
    shares = shares or (1.0,) * ranks
    items = [_Item(_tree(demand), whole=True)]
    best, placed, least = items, dict[str, int](), float("inf")
    while True:
        where, loads = _assign(items, shares)
        if max(loads) < least:
            best, placed, least = list(items), where, max(loads)
        if max(loads) <= _GOOD_ENOUGH * sum(demand.values()) / ranks:
            break
        fullest = loads.index(max(loads))
        divisible = [
            item
            for item in items
            if item.whole and item.directory.below and where[item.directory.path] == fullest
        ]
        if not divisible:
            break
        heaviest = max(divisible, key=lambda item: item.weight)
        items.remove(heaviest)
        if heaviest.directory.own:
            items.append(_Item(heaviest.directory, whole=False))
        items += [_Item(child, whole=True) for child in heaviest.directory.below.values()]
    parents = {str(PurePosixPath(item.directory.path).parent) for item in best if item.directory.own}
    pins = dict.fromkeys(parents, ranks - 1) | placed
    return {path: rank for path, rank in pins.items() if path != "/"}
