# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's verdict on the ranks of a file system, and the arguments it needs."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Optional

from ..engine.capacity_source import CapacitySource
from ..errors import Unavailable
from ..model import RankSample
from ..options import Settings

Engine = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class RankCapacity:
    """The most one rank can serve."""

    value: Optional[float]  # req/s; None: unknown
    source: CapacitySource

    def __str__(self) -> str:
        """As a report tells it."""
        return told(self.source) if self.value is None else f"{self.value:.0f} req/s ({told(self.source)})"


_TOLD = {
    CapacitySource.OPTION: "as rank_capacity says",
    CapacitySource.LEARNED: "learned: a rank is saturated",
    CapacitySource.EARLIER: "learned earlier",
    CapacitySource.UNKNOWN: "unknown: no rank was seen saturated by such a load yet",
}


def told(source: CapacitySource) -> str:
    """Where a capacity comes from, for people."""
    return _TOLD[source]


@dataclass(frozen=True)
class Flow:
    """Load that Algorithm 1 would move between two ranks, req/s."""

    source: int
    target: int
    amount: float


@dataclass(frozen=True)
class Verdict:
    """How uneven the ranks are, and who should hand how much to whom; loads in req/s.

    While the capacity is unknown the factor and the urgency are, too, and nothing is ``triggered`` or hot.
    """

    factor: Optional[float]  # Lunule's IF
    most: float  # what the factor is at full urgency: CoV / sqrt(ranks)
    cov: float
    urgency: Optional[float]
    threshold: float  # of the factor
    triggered: bool  # the factor is known, and above it
    hot: tuple[int, ...]  # ranks that have to give whatever the factor is (engine/imbalance.py)
    mean: float
    ranks: tuple[int, ...]
    loads: tuple[float, ...]  # (ranks,)
    forecast: tuple[float, ...]  # (ranks,), in the next epoch
    matrix: tuple[tuple[float, ...], ...]  # row i, column j: load from ranks[i] to ranks[j]
    exporters: tuple[int, ...]
    importers: tuple[int, ...]
    saturated: tuple[int, ...]
    capacity: RankCapacity
    triggered_within: bool = False  # so is the factor of the mask's ranks alone

    @property
    def moves(self) -> tuple[Flow, ...]:
        """The matrix without its zeros."""
        return tuple(
            Flow(self.ranks[i], self.ranks[j], amount)
            for i, row in enumerate(self.matrix)
            for j, amount in enumerate(row)
            if amount > 0
        )

    @property
    def full_of_little(self) -> tuple[int, ...]:
        """Saturated ranks with less than the mean: they, or what they are asked for, are unlike the others.
        What goes by loads, as a plan does, cannot relieve them."""
        full = zip(self.ranks, self.loads)
        return tuple(rank for rank, load in full if rank in self.saturated and load < self.mean)

    @property
    def uneven(self) -> bool:
        """Is it worth acting on?"""
        return self.triggered or bool(self.hot)

    def harms(self, ranks: Collection[int]) -> bool:
        """Is it worth acting on, where only these ranks, the mask's, can be relieved?"""
        return self.triggered_within or any(rank in ranks for rank in self.hot)

    @property
    def unsettled(self) -> bool:
        """Uneven, and nobody knows whether it hurts."""
        return self.factor is None and self.most > self.threshold

    @property
    def taught(self) -> Optional[float]:
        """The capacity that saturated ranks of the window taught, req/s; None: nothing new."""
        return self.capacity.value if self.capacity.source is CapacitySource.LEARNED else None


def rank_arguments(
    series: Mapping[int, Sequence[RankSample]],
    settings: Settings,
    learned: Optional[float],
    mask: Optional[Sequence[int]] = None,
) -> dict[str, Any]:
    """What the engine is told of the ranks.

    :param learned: capacity learned earlier, req/s a rank
    :param mask: ranks that take part; None for all, as where none of them is there
    :raises BadOption: as ``Settings.checked``
    """
    settings = settings.checked()
    return {
        **rank_rows(series),
        "loads": [_loads(row) for row in series.values()],
        "served": [[s.requests for s in row] for row in series.values()],
        "capacity": settings.rank_capacity,
        "learned_capacity": learned,
        "least_capacity": None,
        "smoothness": settings.smoothness,
        "threshold": settings.imbalance_threshold,
        "role_threshold": settings.role_threshold,
        "epoch_capacity": settings.epoch_capacity or None,
        "mask": None if mask is None else list(mask),
    }


def _loads(row: Sequence[RankSample]) -> list[float]:
    """req/s, epoch by epoch. Where a rank had not told what it serves, that is not nothing: it is taken for
    what it told next, or else last. In the newest epoch such a rank is not judged."""
    loads = [s.requests if s.rated else math.nan for s in row]
    known, before = math.nan, math.nan
    for at in reversed(range(len(loads))):
        known = loads[at] = known if math.isnan(loads[at]) else loads[at]
    for at, load in enumerate(loads):
        before = loads[at] = before if math.isnan(load) else load
    return [0.0 if math.isnan(load) else load for load in (*loads[:-1], row[-1].requests)]


def rank_rows(series: Mapping[int, Sequence[RankSample]]) -> dict[str, Any]:
    """What the engine is told of ranks whatever it is asked, but their loads: (ranks, epochs) each."""
    rows = series.values()
    return {
        "ranks": list(series),
        "latency": [[s.own for s in row] for row in rows],
        "fetches": [[s.fetches for s in row] for row in rows],
        "work": [[s.work for s in row] for row in rows],
        "moved": [[s.exported + s.imported for s in row] for row in rows],
    }


def column(answer: Mapping[str, Any], name: str, rows: Sized) -> list[Any]:
    """The named list of an engine's answer, one value a row. :raises Unavailable: it has more or fewer"""
    values: list[Any] = answer[name]
    if len(values) != len(rows):
        raise Unavailable(
            f"the engine's answer has {len(values)} values of '{name}'; allowed: one a row, {len(rows)}"
        )
    return values


def read_verdict(answer: Mapping[str, Any], arguments: Mapping[str, Any]) -> Verdict:
    """The engine's answer to ``judge`` or ``analyze`` and these arguments."""
    capacity, ranks = answer["capacity"], arguments["ranks"]
    return Verdict(
        factor=answer["imbalance_factor"],
        most=answer["imbalance_most"],
        cov=answer["cov"],
        urgency=answer["urgency"],
        threshold=arguments["threshold"],
        triggered=answer["triggered"],
        hot=tuple(answer["hot"]),
        mean=answer["mean"],
        ranks=tuple(ranks),
        loads=tuple(column(answer, "loads", ranks)),
        forecast=tuple(column(answer, "forecast", ranks)),
        matrix=tuple(tuple(row) for row in column(answer, "matrix", ranks)),
        exporters=tuple(answer["exporters"]),
        importers=tuple(answer["importers"]),
        saturated=tuple(answer["saturated"]),
        capacity=RankCapacity(capacity["value"], CapacitySource(capacity["source"])),
        triggered_within=answer["triggered_within"],
    )
