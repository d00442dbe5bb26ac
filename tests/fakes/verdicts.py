# SPDX-License-Identifier: LGPL-2.1-or-later
"""Verdicts for tests: all load on rank 0."""

from __future__ import annotations

from typing import Any

from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.judge.verdict import RankCapacity, Verdict

LEARNED = RankCapacity(640.0, CapacitySource.LEARNED)
UNKNOWN = RankCapacity(None, CapacitySource.UNKNOWN)


def verdict(factor: float | None = 0.83, capacity: RankCapacity = LEARNED, **changes: Any) -> Verdict:
    """Rank 0 hands load to the three others."""
    usual: dict[str, Any] = {
        "factor": factor,
        "most": 0.86,
        "cov": 1.7,
        "urgency": None if factor is None else 0.97,
        "threshold": 0.075,
        "triggered": factor is not None and factor > 0.075,
        "hot": () if factor is None else (0,),
        "mean": 163.75,
        "ranks": (0, 1, 2, 3),
        "loads": (612.0, 31.0, 12.0, 0.0),
        "forecast": (673.2, 34.1, 13.2, 0.0),
        "matrix": ((0.0, 120.0, 150.0, 163.0), (0.0,) * 4, (0.0,) * 4, (0.0,) * 4),
        "exporters": (0,),
        "importers": (1, 2, 3),
        "saturated": (0,),
        "capacity": capacity,
    }
    return Verdict(**(usual | changes))
