# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plan requests for the tests, and hypothesis' way of making them up."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mds_partitioner.engine.classes import classify
from mds_partitioner.engine.demand import COLUMNS
from mds_partitioner.engine.plan_answer import plan

LINE = {
    "wss": [1_000_000, 700_000, 100_000, 3_000],
    "reqs": [1_203_030, 500_000, 5_000, 20_000],
    "rentries": [50_000_000, 1_000_000, 5_000_000, 70_000],
}


def arguments(current: list[list[int]], **changes: Any) -> dict[str, Any]:
    """LINE's four subvolumes on three ranks, unless changed; columns of the table may be given by name."""
    usual: dict[str, Any] = {
        "ranks": [0, 1, 2],
        "all_ranks": [0, 1, 2],
        "cache_inodes": 1e7,
        "heavy_mode": "mask",
        "children": {},
        "current_mask": None,
        "saturated": [],
        "smoothness": 0.2,
        "capacity": 16_000,
        "threshold": 0.075,
        "min_gain": 0.05,
    }
    table: dict[str, Any] = {**LINE, "current": current, "fixed": [None] * len(current)}
    for name in list(changes):
        if name in table:
            table[name] = changes.pop(name)
    table["held_back"] = changes.pop("held_back", [0.0] * len(table["wss"]))
    return usual | {"subvolumes": table} | changes


def classes_over_its_ranks(args: dict[str, Any]) -> dict[str, Any]:
    """The answer of `classify` for a plan's subvolumes and ranks."""
    sizes = {name: args["subvolumes"][name] for name in COLUMNS}
    asked = {"ranks": args["ranks"], "capacity": args["capacity"], "served": 0.0, "subvolumes": sizes}
    return classify(asked)


def with_classes(args: dict[str, Any]) -> dict[str, Any]:
    """A whole plan request."""
    names = classes_over_its_ranks(args)["class"]
    return args | {"subvolumes": args["subvolumes"] | {"class": names}}


def answer(args: dict[str, Any]) -> dict[str, Any]:
    """The plan, and what `classify` said."""
    return classes_over_its_ranks(args) | plan(with_classes(args))


def again(args: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The plan after the plan was carried out; one of fanout leaves the mask as it is."""
    mask = (result["heavy_ranks"] or None) if args["heavy_mode"] == "mask" else args["current_mask"]
    return answer(
        args | {"subvolumes": args["subvolumes"] | {"current": result["new"]}, "current_mask": mask}
    )


SIZE = st.one_of(st.integers(0, 100), st.integers(0, 10**6), st.just(0))


@st.composite
def requests(draw: st.DrawFn, fixed: bool = True, outsiders: bool = True) -> dict[str, Any]:
    """Any clean plan request; outsiders: ranks that exist and are not usable, that are gone, no rank."""
    existing = draw(st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True))
    usable = existing
    if outsiders:
        usable = draw(st.lists(st.sampled_from(existing), min_size=1, unique=True))
    count = draw(st.integers(1, 14))
    rank = st.integers(0, 11) if outsiders else st.sampled_from(existing)
    own = st.lists(rank, min_size=0 if outsiders else 1, max_size=2, unique=True)
    column = st.lists(SIZE, min_size=count, max_size=count)
    code = st.sampled_from([None, None, None, "pinned-by-operator"]) if fixed else st.none()
    wss = draw(column)
    return arguments(
        draw(st.lists(own, min_size=count, max_size=count)),
        ranks=usable,
        all_ranks=existing,
        wss=wss,
        reqs=draw(column),
        rentries=draw(column),
        fixed=draw(st.lists(code, min_size=count, max_size=count)),
        heavy_mode=draw(st.sampled_from(["mask", "fanout"])),
        current_mask=draw(st.one_of(st.none(), st.lists(rank, max_size=3, unique=True))),
        cache_inodes=draw(st.sampled_from([1e9, max(1.0, sum(wss) / len(usable) * 1.2), 1.0])),
        min_gain=draw(st.sampled_from([0.05, 0.2])),
    )
