# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which rank of a heavy subvolume each of its children gets (mode FANOUT)."""

import numpy as np

from ..arrays import Floats, Ints
from .fill import fill
from .instance import TOLERANCE
from .task import Task


def assign_children(rentries: Floats, current: Ints, ranks: tuple[int, ...]) -> Ints:
    """(children,): one of the ranks each, by LPT on rentries + 1, staying while the balance is within
    tolerance.

    rentries: files and directories; current: rank number or -1; (children,) each.
    """
    if not rentries.size:
        return current.copy()
    weights = rentries + 1.0
    place_of = {r: at for at, r in enumerate(ranks)}
    cur = np.array([place_of.get(r, -1) for r in current.tolist()], dtype=np.int64)
    nothing = np.zeros(len(ranks))
    task = Task(weights, np.zeros_like(weights), cur, nothing, nothing, room=1.0)
    enough = max(float(weights.sum()) / len(ranks), float(weights.max())) * (1.0 + TOLERANCE)
    return np.array(ranks, dtype=np.int64)[fill(task, enough, enough)]
