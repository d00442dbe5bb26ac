# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's judgement of a window, and the arguments it needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import RankSample
from ..options import Settings
from .window import Observed, WindowSummary

Engine = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Judged:
    """One directory, its workload in LINE's points and its class."""

    seen: Observed
    workload: float
    klass: str  # light, moderate, heavy


@dataclass(frozen=True)
class RankJudgement:
    """One rank over the window; loads in req/s, latency in s."""

    rank: int
    load: float
    forecast: float
    latency: float
    inodes: int
    caps: int
    sessions: int
    queue: int | None
    subtrees: int
    saturated: bool


@dataclass(frozen=True)
class Judgement:
    """What an analysis found."""

    fs: str
    epochs: int
    imbalance_factor: float
    cov: float
    urgency: float
    triggered: bool
    capacity: float  # req/s a rank
    capacity_source: str
    ranks: tuple[RankJudgement, ...]
    directories: tuple[Judged, ...]
    recommended: int
    recommended_reason: str
    cache_limit: int  # bytes a rank
    unread: int
    missing: int

    @property
    def learned_capacity(self) -> float | None:
        """The capacity if this window taught it."""
        return self.capacity if self.capacity_source.startswith("learned") else None


def rank_arguments(
    series: Mapping[int, Sequence[RankSample]],
    settings: Settings,
    learned: float | None,
    mask: Sequence[int] | None = None,
) -> dict[str, Any]:
    """The engine's arguments about ranks (call ``judge``); ``mask``: ranks that take part, None for all."""
    return {
        "ranks": list(series),
        "loads": [[s.requests for s in row] for row in series.values()],
        "latency": [[s.latency for s in row] for row in series.values()],
        "queue": [[s.queue or 0 for s in row] for row in series.values()],
        "capacity": settings.rank_capacity,
        "learned_capacity": learned,
        "smoothness": settings.smoothness,
        "threshold": settings.imbalance_threshold,
        "role_threshold": settings.role_threshold,
        "epoch_capacity": settings.epoch_capacity or None,
        "mask": None if mask is None else list(mask),
    }


def judge(
    window: WindowSummary, settings: Settings, cache_limit: int, learned: float | None, engine: Engine
) -> Judgement:
    """Ask the engine about a window.

    :param cache_limit: ``mds_cache_memory_limit``, bytes
    :param learned: capacity learned earlier, req/s a rank
    """
    rows = window.directories
    answer = engine(
        "analyze",
        rank_arguments(window.series, settings, learned)
        | {
            "subvolumes": {
                "wss": [r.wss for r in rows],
                "reqs": [r.requests for r in rows],
                "rentries": [r.rentries for r in rows],
            },
            "cache_limit_bytes": cache_limit,
            "bytes_per_inode": settings.bytes_per_inode,
        },
    )
    return Judgement(
        fs=window.fs,
        epochs=window.epochs,
        imbalance_factor=float(answer["imbalance_factor"]),
        cov=float(answer["cov"]),
        urgency=float(answer["urgency"]),
        triggered=bool(answer["triggered"]),
        capacity=float(answer["capacity"]["value"]),
        capacity_source=str(answer["capacity"]["source"]),
        ranks=_rank_judgements(window, answer),
        directories=tuple(
            Judged(row, float(w), str(c))
            for row, w, c in zip(rows, answer["workload"], answer["class"], strict=True)
        ),
        recommended=int(answer["recommended"]["ranks"]),
        recommended_reason=str(answer["recommended"]["reason"]),
        cache_limit=cache_limit,
        unread=window.unread,
        missing=window.missing,
    )


def _rank_judgements(window: WindowSummary, answer: Mapping[str, Any]) -> tuple[RankJudgement, ...]:
    saturated = set(answer["saturated"])
    return tuple(
        RankJudgement(
            rank=rank,
            load=float(load),
            forecast=float(forecast),
            latency=sum(s.latency for s in row) / len(row),
            inodes=row[-1].inodes,
            caps=row[-1].caps,
            sessions=row[-1].sessions,
            queue=row[-1].queue,
            subtrees=row[-1].subtrees,
            saturated=rank in saturated,
        )
        for (rank, row), load, forecast in zip(
            window.series.items(), answer["loads"], answer["forecast"], strict=True
        )
    )
