# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``imbalance`` shows: one moment, from the managers' counters."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..model import RankSample
from .text import count, table


def value(judged: Mapping[str, Any], samples: Sequence[RankSample]) -> dict[str, Any]:
    """IF, U, CoV and the matrix as plain data; loads in req/s."""
    return {
        **judged,
        "ranks": [
            {
                "rank": s.rank,
                "requests": round(s.requests, 2),
                "forecast": round(forecast, 2),
                "latency": round(s.latency, 6),
                "queue": s.queue,
                "inodes": s.inodes,
                "caps": s.caps,
                "exported": round(s.exported, 2),
                "imported": round(s.imported, 2),
            }
            for s, forecast in zip(samples, judged["forecast"], strict=True)
        ],
    }


def text(judged: Mapping[str, Any], samples: Sequence[RankSample]) -> str:
    """For people: a row a rank, and what Algorithm 1 would move to each."""
    ranks = [s.rank for s in samples]
    rows = [
        (
            s.rank,
            count(s.requests),
            count(forecast),
            f"{s.latency * 1000:.1f} ms",
            "-" if s.queue is None else s.queue,
            count(s.inodes),
            *(count(amount) if amount else "-" for amount in row),
        )
        for s, forecast, row in zip(samples, judged["forecast"], judged["matrix"], strict=True)
    ]
    columns = ("Rank", "reqs/s", "Forecast", "Latency", "Queue", "Inodes", *(f"to {rank}" for rank in ranks))
    verdict = "uneven enough to act" if judged["triggered"] else "no need to act"
    capacity = judged["capacity"]
    return (
        f"{table(columns, rows, left=())}\n\n"
        f"imbalance factor {judged['imbalance_factor']:.3f} (CoV {judged['cov']:.2f}, "
        f"urgency {judged['urgency']:.2f}, mean {judged['mean']:.0f} req/s): {verdict}\n"
        f"capacity of a rank: {capacity['value']:.0f} req/s ({capacity['source']})"
    )
