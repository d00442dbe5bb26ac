# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `judge` call: how uneven the ranks are, and who should hand how much to whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats
from .capacity import Capacity, choose_capacity
from .forecast import forecast
from .imbalance import halfway_to_hot, hot_ranks, imbalance
from .inputs import (
    Args,
    Json,
    check_names,
    number,
    number_or_none,
    rank_series,
    ranks_or_none,
    served_of,
    undisturbed,
    work_of,
)
from .roles import roles
from .saturation import resting, saturated_epochs, saturated_ranks

NAMES = (
    *("ranks", "loads", "served", "latency", "fetches", "work", "moved", "capacity", "learned_capacity"),
    *("least_capacity", "smoothness", "threshold", "role_threshold", "epoch_capacity", "mask"),
)


@dataclass(frozen=True)
class JudgeRequest:
    """What was seen of the ranks, and by what it is judged. loads (req/s), saturated: (ranks, epochs).

    What a rank had not told is filled in in the loads, for the forecast; it teaches no capacity.
    """

    ranks: tuple[int, ...]
    loads: Floats
    saturated: Bools
    capacity: Capacity
    smoothness: float
    threshold: float
    role_threshold: float
    epoch_capacity: float
    mask: tuple[int, ...] | None

    @property
    def usable(self) -> Bools:
        """(ranks,): within the mask; all without one, or where none of its ranks is there."""
        within = np.array([r in (self.mask or ()) for r in self.ranks])
        return within if within.any() else ~within


def read_request(args: Args) -> JudgeRequest:
    """The arguments of `judge`, checked."""
    ranks, loads, latency, fetches = rank_series(args)
    mask = ranks_or_none(args, "mask")
    # One that is far slower than the others tells nothing of these; but nothing fits there.
    of_ranks = loads, latency, fetches, work_of(args, loads)
    saturated, teach = (saturated_epochs(*of_ranks, alike=alike) for alike in (False, True))
    rests = resting(loads * latency)
    option, earlier = number(args, "capacity"), number_or_none(args, "learned_capacity")
    least, limit = number_or_none(args, "least_capacity"), number_or_none(args, "epoch_capacity")
    told, calm = served_of(args, loads), undisturbed(args, loads)
    return JudgeRequest(
        ranks=tuple(ranks),
        loads=loads,
        saturated=saturated,
        capacity=choose_capacity(told, teach, calm, rests, option, earlier, least),
        smoothness=number(args, "smoothness", above=True),
        threshold=number(args, "threshold"),
        role_threshold=number(args, "role_threshold"),
        epoch_capacity=math.inf if limit is None else limit,
        mask=None if mask is None else tuple(mask),
    )


def named(ranks: Sequence[int], rows: Sequence[int]) -> list[int]:
    return [ranks[row] for row in rows]


def judge_loads(
    request: JudgeRequest, loads: Floats, predicted: Floats, growth: Floats, full: Bools
) -> dict[str, Json]:
    """The answer of `judge` for these loads, which are predicted to grow by so much in an epoch: (ranks,)
    each, req/s. full: (ranks,), saturated.

    Roles are of the mask's ranks: the balancer moves nothing elsewhere. The other numbers are also of those
    outside it that have more than these on the mean: what is pinned there may make a rank just as full.

    predicted: the load of the next epoch, which is shown; of a load that is a mean it is not these loads and
    their growth.
    """
    counts = request.usable | (loads > loads[request.usable].mean())
    among, within = loads[counts], loads[request.usable]
    uneven = imbalance(among, request.capacity.value, request.smoothness)
    harmful = uneven.factor is not None and uneven.factor > request.threshold
    confined = imbalance(within, request.capacity.value, request.smoothness).factor
    harmful_within = confined is not None and confined > request.threshold
    hot = np.zeros(loads.size, dtype=bool)
    hot[counts] = hot_ranks(among, request.capacity.value, request.smoothness, request.threshold)
    parts = roles(
        loads,
        np.where(full, np.inf, loads + growth),  # nobody knows what it is asked for: it has no room
        request.role_threshold,
        request.epoch_capacity,
        request.usable,
        harmful=harmful_within,
        hot=hot,
        above=halfway_to_hot(request.threshold),
    )
    return {
        "imbalance_factor": uneven.factor,
        "imbalance_most": uneven.most,
        "cov": uneven.cov,
        "urgency": uneven.urgency,
        "mean": float(among.mean()),
        "loads": loads.tolist(),
        "forecast": predicted.tolist(),
        "matrix": parts.matrix.tolist(),
        "exporters": named(request.ranks, parts.exporters.tolist()),
        "importers": named(request.ranks, parts.importers.tolist()),
        "triggered": harmful,
        "triggered_within": harmful_within,
        "hot": named(request.ranks, np.flatnonzero(hot).tolist()),
        "capacity": {"value": request.capacity.value, "source": request.capacity.source},
        "saturated": named(request.ranks, np.flatnonzero(full).tolist()),
        "full_now": named(request.ranks, np.flatnonzero(request.saturated[:, -1]).tolist()),
    }


def judge(args: Args) -> dict[str, Json]:
    """Judge the last epoch. Roles and amounts are given whether or not the threshold is passed."""
    check_names(args, NAMES)
    request = read_request(args)
    last, predicted = request.loads[:, -1], forecast(request.loads)
    return judge_loads(request, last, predicted, predicted - last, saturated_ranks(request.saturated))
