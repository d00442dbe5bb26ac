# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``imbalance`` shows: one moment, from the managers' counters."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Optional

from ..judge.verdict import Verdict
from ..model import RankSample
from ..plan.ranks import format_ranks
from .text import count, largest, table

SETTLE = (
    "it is learned when a rank is saturated; or by 'ceph config set mgr mgr/mds_partitioner/rank_capacity "
    "REQ_PER_S'"
)
WOULD_MOVE = "Would move"
MATRIX = 8  # ranks that have a column each


def verdict_value(verdict: Verdict) -> dict[str, Any]:
    """IF, U, CoV and the matrix as plain data; loads in req/s; null for what is unknown."""
    value = asdict(verdict)
    return {
        "imbalance_factor": value.pop("factor"),
        "imbalance_most": value.pop("most"),
        **{name: value.pop(name) for name in ("cov", "urgency", "triggered", "hot")},
        **value,
    }


def value(verdict: Verdict, samples: Sequence[RankSample], problem: str = "") -> dict[str, Any]:
    """The verdict, and what each of its ranks was seen to do; of one that does not tell, null.

    :param problem: which ranks are not judged, and why
    """
    forecast, unknown = dict(zip(verdict.ranks, verdict.forecast)), {s.rank for s in samples if not s.rated}

    def known(column: Sequence[float]) -> list[Optional[float]]:
        return [None if rank in unknown else load for rank, load in zip(verdict.ranks, column)]

    return verdict_value(verdict) | {
        "loads": known(verdict.loads),
        "forecast": known(verdict.forecast),
        "ranks": [
            {
                "rank": s.rank,
                **_rates(s, forecast[s.rank]),
                "inodes": s.inodes,
                "caps": s.caps,
            }
            for s in samples
            if s.rank in forecast
        ],
        "problem": problem,
    }


def _rates(s: RankSample, forecast: float) -> dict[str, Optional[float]]:
    """What it does, and is expected to."""
    rates = {
        "requests": round(s.requests, 2),
        "forecast": round(forecast, 2),
        "latency": round(s.latency, 6),
        "quickest": round(s.quickest, 6),
        "fetches": round(s.fetches, 2),
        "pooled": round(s.pooled, 2),
        "exported": round(s.exported, 2),
        "imported": round(s.imported, 2),
    }
    return {name: rate if s.rated else None for name, rate in rates.items()}


def text(verdict: Verdict, samples: Sequence[RankSample]) -> str:
    """For people: a row a rank, and what Algorithm 1 would move to each."""
    ranks, seen = verdict.ranks, {s.rank: s for s in samples}
    rows = [
        (
            rank,
            *_does(seen[rank], forecast),
            count(seen[rank].inodes),
            *_moves(ranks, row),
        )
        for rank, forecast, row in zip(ranks, verdict.forecast, verdict.matrix)
        if rank in seen
    ]
    to = (WOULD_MOVE,) if len(ranks) > MATRIX else tuple(f"to {rank}" for rank in ranks)
    columns = ("Rank", "reqs/s", "Forecast", "Latency", "Inodes", *to)
    return f"{table(columns, rows, left=(WOULD_MOVE,))}\n\n{verdict_text(verdict)}"


def _does(sample: RankSample, forecast: float) -> tuple[str, str, str]:
    if not sample.rated:
        return "-", "-", "-"
    return count(sample.requests), count(forecast), f"{sample.latency * 1000:.1f} ms"


def _moves(ranks: Sequence[int], row: Sequence[float]) -> list[str]:
    """What Algorithm 1 would move: a column a rank, or one for all where that were too wide."""
    if len(ranks) <= MATRIX:
        return [count(amount) if amount else "-" for amount in row]
    told = largest([(amount, f"to {rank}") for amount, rank in zip(row, ranks) if amount])
    return [told or "-"]


def verdict_text(verdict: Verdict) -> str:
    """IF and what it is made of; where the capacity is unknown, what is known and what would settle it."""
    return f"{factor_told(verdict)}: {_advice(verdict)}\ncapacity of a rank: {verdict.capacity}"


def factor_told(verdict: Verdict) -> str:
    """The imbalance factor on one line."""
    if verdict.factor is None or verdict.urgency is None:
        return (
            f"imbalance factor at most {verdict.most:.3f} (CoV {verdict.cov:.2f}, urgency unknown, "
            f"mean {verdict.mean:.0f} req/s)"
        )
    return (
        f"imbalance factor {verdict.factor:.3f} (CoV {verdict.cov:.2f}, urgency {verdict.urgency:.2f}, "
        f"mean {verdict.mean:.0f} req/s)"
    )


def _advice(verdict: Verdict) -> str:
    if verdict.unsettled:
        return f"uneven; whether that hurts depends on the capacity of a rank: {SETTLE}"
    if not verdict.uneven:
        return "no need to act"
    return f"uneven enough to act{'' if verdict.triggered else f' on {hot_told(verdict)}'}"


def hot_told(verdict: Verdict) -> str:
    """The ranks that have to give whatever the factor is."""
    return f"hot ranks ({format_ranks(verdict.hot)})"
