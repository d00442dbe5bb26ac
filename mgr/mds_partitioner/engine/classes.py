# SPDX-License-Identifier: LGPL-2.1-or-later
"""Heavy, moderate and light subvolumes (LINE, "Our Idea: Combine Two Approaches").

Beyond LINE, requests alone can make a subvolume heavy: three fifths of its points are of inodes, and a rank
that has room for all inodes of a small, busy subvolume may yet not have the time for its requests.
"""

import numpy as np

from .arrays import Bools, Floats
from .demand import COLUMNS, asked, room
from .inputs import (
    Args,
    Json,
    check_names,
    columns,
    mapping,
    number,
    number_or_none,
    some_ranks,
)
from .names import HEAVY, LIGHT, MODERATE
from .workload import Workload, workload

MODERATE_SHARE = 0.1


def fair_share(points: Floats, ranks: int) -> float:
    """One usable rank's part of all the workload, in workload points."""
    return float(points.sum()) / ranks


def weight(work: Workload) -> Floats:
    """(subvolumes,): workload points, or what they were by requests alone, whichever is more."""
    return np.asarray(np.maximum(work.points, work.by_requests))


def is_heavy(work: Workload, fair: float) -> Bools:
    """More than one rank's fair share; the margin keeps rounding from making a lone subvolume heavy."""
    return np.asarray(weight(work) > fair * (1.0 + 1e-9))


def classes(work: Workload, fair: float) -> list[str]:
    """The class of each subvolume: heavy above the fair share, moderate from a tenth of it, else light."""
    size = weight(work)
    moderate = (size >= MODERATE_SHARE * fair) & (size > 0.0)
    names: list[str] = np.where(is_heavy(work, fair), HEAVY, np.where(moderate, MODERATE, LIGHT)).tolist()
    return names


def classify(args: Args) -> dict[str, Json]:
    """The `classify` call: each subvolume's workload in points, and its class over these ranks. served: req/s
    of all ranks."""
    check_names(args, ("ranks", "capacity", "served", "subvolumes"))
    table = mapping(args, "subvolumes")
    check_names(table, COLUMNS)
    wss, reqs, rentries, held = columns(table, COLUMNS, "subvolumes")
    ranks = len(some_ranks(args, "ranks"))
    seen = workload(wss, reqs, rentries)
    served = max(number(args, "served"), float(reqs.sum()))
    work = asked(seen, reqs, held, room(ranks, number_or_none(args, "capacity"), served))
    fair = fair_share(work.points, ranks)
    return {"workload": work.points.tolist(), "class": classes(work, fair)}
