# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `analyze` call: a window's judgement, each subvolume's workload and class, and how many MDSs to run."""

from dataclasses import asdict

from .arrays import Floats
from .bad_input import BadInputError
from .classes import classes, fair_share
from .demand import COLUMNS, asked, room
from .forecast import forecast, growth
from .inputs import Args, Json, amounts, check_names, columns, mapping, number, required
from .judge import NAMES, judge_loads, read_request
from .recommend import recommend
from .saturation import OFTEN
from .workload import workload

MORE = (
    *("mean_loads", "busy_load", "saturated_part", "subvolumes", "wss_at_once", "cache_limit_bytes"),
    "bytes_per_inode",
)


def _a_rank(args: Args, name: str, ranks: int) -> Floats:
    values = amounts(required(args, name), name)
    if values.size != ranks:
        raise BadInputError(f"{name} has {values.size} values; allowed: one a rank, {ranks}")
    return values


def analyze(args: Args) -> dict[str, Json]:
    """Judge ``mean_loads``, each rank's mean over the analysis, req/s. ``saturated_part``: of the analysis, 0
    to 1, that each was saturated. ``busy_load``: of all ranks, req/s, mean of the epochs in which one was
    full; 0 where that was hardly ever. ``wss_at_once``: the most inodes that all subvolumes, also those that
    are not in the table, had in use in one epoch. The series are of the last epochs: from these alone follows
    what a rank grows by.

    The fair share is over the ranks that ``JudgeRequest.usable`` names: all, unless who asks gives a mask.
    """
    check_names(args, (*NAMES, *MORE))
    request = read_request(args)
    loads, full = (_a_rank(args, name, len(request.ranks)) for name in ("mean_loads", "saturated_part"))
    table = mapping(args, "subvolumes")
    check_names(table, COLUMNS)
    wss, reqs, rentries, held = columns(table, COLUMNS, "subvolumes")
    usable = int(request.usable.sum())
    left = room(usable, request.capacity.value, float(loads[request.usable].sum()))
    work = asked(workload(wss, reqs, rentries), reqs, held, left)
    fair = fair_share(work.points, usable)
    advice = recommend(
        load=float(loads.sum()),
        busy_load=number(args, "busy_load"),
        capacity=request.capacity.value,
        wss=number(args, "wss_at_once"),
        bytes_per_inode=number(args, "bytes_per_inode", above=True),
        cache_limit=number(args, "cache_limit_bytes", above=True),
        saturated=bool((full >= OFTEN).any()),
    )
    judged = judge_loads(request, loads, forecast(request.loads), growth(request.loads), full >= OFTEN)
    return judged | {
        "workload": work.points.tolist(),
        "class": classes(work, fair),
        "recommended": asdict(advice),
    }
