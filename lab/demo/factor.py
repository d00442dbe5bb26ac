# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's own imbalance factor, for a whole timeline with one and the same capacity."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

THRESHOLD = 0.075
SMOOTHNESS = 0.2
_ENGINE_PARENT = Path(__file__).resolve().parents[2] / "mgr" / "mds_partitioner"


def factors(loads: Sequence[Sequence[float]], capacity: float) -> list[float]:
    """IF of each row; loads: (moments, ranks), req/s; capacity: the most a rank can serve, req/s."""
    # As the module runs it: the package above it needs a manager around it.
    if str(_ENGINE_PARENT) not in sys.path:
        sys.path.insert(0, str(_ENGINE_PARENT))
    engine = importlib.import_module("engine.imbalance")
    return [
        float(engine.imbalance(np.asarray(row, dtype=float), capacity, SMOOTHNESS).factor) for row in loads
    ]
