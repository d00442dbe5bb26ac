# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lunule's Migration Initiator (3.2): the imbalance factor, and Algorithm 1 as it is printed.

The factor, the regression, the pairing and S, L and the threshold are the module's own (engine/imbalance.py,
forecast.py, roles.py, urgency.py).
Lines 1 to 12 are not: the module lets ranks take part that are not beyond L (engine/roles.py says why).
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from mds_partitioner.engine.forecast import continued
from mds_partitioner.engine.imbalance import imbalance
from mds_partitioner.engine.roles import pair
from mds_partitioner.engine.urgency import ROLE_THRESHOLD, SMOOTHNESS, THRESHOLD
from mds_partitioner.judge.history import EPOCHS
from sim.model.arrays import Floats

# Cap is not in the paper, nor how inodes become requests: there is no limit here.


@dataclass(frozen=True)
class Decision:
    """factor: IF of the epoch; loads: (ranks,) req/s; matrix: (ranks, ranks) E, req/s, all 0 while the factor
    is not above its threshold."""

    factor: float
    loads: Floats
    matrix: Floats


class Initiator:
    """One for the cluster, on the lowest rank; remembers the loads that the regression is fitted to."""

    def __init__(self) -> None:
        self._history: deque[Floats] = deque(maxlen=EPOCHS)

    def decide(self, loads: Floats, capacity: float) -> Decision:
        """An epoch. loads: (ranks,) req/s; capacity: C, the most that a rank can serve, req/s."""
        if self._history and self._history[-1].size != loads.size:
            self._history.clear()  # another cluster
        self._history.append(loads)
        factor = imbalance(loads, capacity, SMOOTHNESS).factor
        assert factor is not None
        if factor <= THRESHOLD:
            return Decision(factor, loads, np.zeros((loads.size, loads.size)))
        predicted = np.maximum(continued(np.array(self._history).T), 0.0)
        return Decision(factor, loads, pair(*demands(loads, predicted)))


def demands(current: Floats, predicted: Floats) -> tuple[Floats, Floats]:
    """Lines 1 to 12: eld and ild, (ranks,) each, req/s. current, predicted: cld and fld, (ranks,) req/s."""
    mean = float(current.mean())
    gap = np.abs(current - mean)
    beyond = gap > np.sqrt(ROLE_THRESHOLD) * mean
    left = gap - (predicted - current)
    exports = np.where(beyond & (current > mean), gap, 0.0)
    return exports, np.where(beyond & (current < mean) & (left > 0.0), left, 0.0)
