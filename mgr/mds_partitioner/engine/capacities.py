# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `capacities` call: which ranks are full, and what each can serve."""

import numpy as np

from .bad_input import BadInputError
from .capacity import rank_capacities
from .inputs import (
    Args,
    Json,
    amounts_or_none,
    check_names,
    of_epochs,
    rank_series,
    required,
    undisturbed,
    work_of,
)
from .saturation import resting, saturated_epochs

NAMES = ("ranks", "loads", "latency", "fetches", "work", "moved", "passed", "earlier")


def capacities(args: Args) -> dict[str, Json]:
    """``full``: ranks that are saturated in the last epoch. ``capacities``: one a rank, req/s, null where it
    is not known, of what it serves and of what it passes on (``passed``), which takes it about as long, or
    less: it shows that a rank is no slower than was known, and not that it could serve more.
    ``earlier``: those of the call before, likewise."""
    check_names(args, NAMES)
    ranks, loads, latency, fetches = rank_series(args)
    earlier = amounts_or_none(required(args, "earlier"), "earlier")
    if earlier.size != len(ranks):
        raise BadInputError(f"earlier has {earlier.size} values; allowed: one a rank, {len(ranks)}")
    saturated = saturated_epochs(loads, latency, fetches, work_of(args, loads), alike=False)
    rests = resting(loads[:, -1] * latency[:, -1])
    passed = of_epochs(args, "passed", loads)
    most = np.fmax(loads, np.where(np.isnan(earlier), np.inf, earlier)[:, np.newaxis])
    done = np.minimum(loads + passed, most)
    known = rank_capacities(done, saturated & undisturbed(args, loads), rests, earlier)
    return {
        "full": [rank for rank, own in zip(ranks, saturated[:, -1]) if own],
        "capacities": [None if np.isnan(value) else float(value) for value in known],
    }
