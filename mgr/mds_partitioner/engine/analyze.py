# SPDX-License-Identifier: LGPL-2.1-or-later
"""The `analyze` call: a window's judgement, each subvolume's workload and class, and how many MDSs to run."""

from dataclasses import asdict

from .classes import classes, fair_share
from .inputs import Args, Json, check_names, columns, mapping, number
from .judge import NAMES, judge_loads, read_window
from .recommend import recommend
from .saturation import saturated_ranks
from .workload import workload

COLUMNS = ("wss", "reqs", "rentries")


def analyze(args: Args) -> dict[str, Json]:
    """Judge the mean load of each rank over the window (the forecast still reads the whole series).

    The fair share is over the ranks within the mask, or all without one.
    """
    check_names(args, (*NAMES, "subvolumes", "cache_limit_bytes", "bytes_per_inode"))
    window = read_window(args)
    table = mapping(args, "subvolumes")
    check_names(table, COLUMNS)
    wss, reqs, rentries = columns(table, COLUMNS, "subvolumes")
    loads = window.loads.mean(axis=1)
    work = workload(wss, reqs, rentries)
    fair = fair_share(work.points, int(window.usable.sum()))
    advice = recommend(
        load=float(loads.sum()),
        capacity=window.capacity.value,
        wss=float(wss.sum()),
        bytes_per_inode=number(args, "bytes_per_inode", above=True),
        cache_limit=number(args, "cache_limit_bytes", above=True),
        saturated=bool(saturated_ranks(window.saturated).any()),
    )
    return judge_loads(window, loads) | {
        "workload": work.points.tolist(),
        "share": {"wss": work.wss.tolist(), "reqs": work.reqs.tolist(), "rentries": work.rentries.tolist()},
        "class": classes(work, fair),
        "fair_share": fair,
        "recommended": asdict(advice),
    }
