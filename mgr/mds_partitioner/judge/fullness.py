# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which ranks are full, and what each can serve: what the scheduler evens utilisation by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model import RankSample
from .verdict import Engine


@dataclass(frozen=True)
class Fullness:
    """``full``: ranks that serve as much as they can; ``capacity``: req/s, by the MDS's name, where known."""

    full: frozenset[int] = frozenset()
    capacity: Mapping[str, float] = field(default_factory=dict)


def fullness(
    series: Mapping[int, Sequence[RankSample]], known: Mapping[str, float], engine: Engine
) -> Fullness:
    """Ask the engine about the last epochs, one row a rank.

    :param known: what MDSs were found to be able to serve before, req/s, by name
    """
    names = [row[-1].name for row in series.values()]
    answer = engine(
        "capacities",
        {
            "ranks": list(series),
            "loads": [[s.requests for s in row] for row in series.values()],
            "latency": [[s.quickest for s in row] for row in series.values()],
            "fetches": [[s.fetches for s in row] for row in series.values()],
            "moved": [[s.exported + s.imported for s in row] for row in series.values()],
            "earlier": [known.get(name) for name in names],
        },
    )
    found = zip(names, answer["capacities"], strict=True)
    return Fullness(frozenset(answer["full"]), {name: value for name, value in found if value is not None})
