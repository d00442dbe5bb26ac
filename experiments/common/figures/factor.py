# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine's own imbalance factor, for a whole timeline with one and the same capacity."""

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

import numpy as np

from lab.sandbox import checkout


def engine(module: str) -> ModuleType:
    """A module of the engine as its process imports it: the package above it needs a manager around it."""
    home = str(checkout() / "mgr/mds_partitioner")
    if home not in sys.path:
        sys.path.insert(0, home)
    return importlib.import_module(f"engine.{module}")


THRESHOLD: float = engine("urgency").THRESHOLD
SMOOTHNESS: float = engine("urgency").SMOOTHNESS


def factors(loads: Sequence[Sequence[float]], capacity: float) -> list[float]:
    """IF of each row; loads: (moments, ranks), req/s; capacity: the most a rank can serve, req/s."""
    imbalance = engine("imbalance").imbalance
    return [float(imbalance(np.asarray(row, dtype=float), capacity, SMOOTHNESS).factor) for row in loads]
