# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is asked for where full ranks hold clients back, and what follows for classes and plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_plans import answer, arguments

from mds_partitioner.engine.classes import classify
from mds_partitioner.engine.demand import demand, room
from mds_partitioner.engine.inside import AT_ONCE

# The demo on a slow host: all on rank 0. Two clients ask for as much as they get, six and sixteen at a rate;
# nobody asks for what is in the last two.
DEMO: dict[str, list[float]] = {
    "wss": [530, 564, *[88] * 6, *[29] * 16, 0, 0],
    "reqs": [141, 142, *[29] * 6, *[7.5] * 16, 0, 0],
    "rentries": [1_925, 1_845, *[280] * 6, *[80] * 16, 1_619, 1_619],
}
HEAVIES = {"held_back": [141.0, 142.0, *[0.0] * 24]}


def asked_for(reqs: list[float], held: list[float], ranks: int, capacity: float | None) -> list[float]:
    left = room(ranks, capacity, sum(reqs))
    found: list[float] = demand(np.array(reqs), np.array(held), left).tolist()
    return found


def test_who_is_held_back_asks_for_what_the_ranks_could_serve_more() -> None:
    assert asked_for([50.0, 50.0], [50.0, 0.0], 2, 100.0) == pytest.approx([150.0, 50.0])
    assert asked_for([40.0, 20.0, 40.0], [40.0, 20.0, 0.0], 2, 100.0) == pytest.approx([320 / 3, 160 / 3, 40])


def test_no_more_is_believed_at_once() -> None:
    most = [50.0 * AT_ONCE, 50.0]
    assert asked_for([50.0, 50.0], [50.0, 0.0], 36, 100.0) == most
    assert asked_for([50.0, 50.0], [50.0, 0.0], 2, None) == most


def test_where_all_ranks_are_full_nobody_can_be_served_more() -> None:
    assert asked_for([120.0, 80.0], [120.0, 0.0], 2, 100.0) == [120.0, 80.0]
    assert asked_for([130.0, 80.0], [130.0, 0.0], 2, 100.0) == [130.0, 80.0]


def test_where_nobody_is_held_back_what_is_served_is_asked_for() -> None:
    assert asked_for([50.0, 0.0], [0.0, 0.0], 4, 100.0) == [50.0, 0.0]


def demo(**changes: Any) -> dict[str, Any]:
    children = {
        "weights": [1.0] * 16,
        "current": [0] * 16,
        "staying": 0.0,
        "parent": 0,
    }
    usual = {
        **DEMO,
        "ranks": [0, 1, 2, 3],
        "all_ranks": [0, 1, 2, 3],
        "heavy_mode": "fanout",
        "children": {"0": children, "1": children},
        "capacity": 592.0,
        "saturated": [0],
    }
    return arguments([[0]] * 26, **usual | changes)


def test_what_a_full_rank_holds_back_is_heavy_though_it_is_served_less_than_a_share() -> None:
    assert "heavy" not in answer(demo())["class"]
    assert answer(demo(**HEAVIES))["class"] == ["heavy"] * 2 + answer(demo())["class"][2:]


def test_the_points_are_of_what_is_seen() -> None:
    assert answer(demo(**HEAVIES))["workload"] == answer(demo())["workload"]


def test_ranks_are_even_by_what_is_seen_and_by_what_may_be_asked_for() -> None:
    result = answer(demo(**HEAVIES))
    assert [len(own) >= 2 for own in result["new"][:2]] == [True, True]
    assert result["imbalance_after"] < 0.075
    asked = dict(enumerate(asked_for(DEMO["reqs"], HEAVIES["held_back"], 4, 592.0)))
    loads = [sum(asked[i] / len(own) for i, own in enumerate(result["new"]) if r in own) for r in range(4)]
    assert max(loads) < 1.1 * sum(loads) / 4


def test_the_mask_has_room_for_what_is_held_back() -> None:
    assert answer(demo(heavy_mode="mask", **HEAVIES))["heavy_ranks"] == [0, 1, 2, 3]


@pytest.mark.parametrize(("served", "klass"), [(1_750.0, "heavy"), (4_000.0, "moderate")])
def test_what_other_load_takes_is_no_room(served: float, klass: str) -> None:
    """Four ranks of 1,000 req/s are full, three of them mostly of what is no subvolume."""
    table = {
        "wss": [1.0, 9.0, 5.0, 5.0, 5.0],
        "reqs": [400.0, 600.0, 250.0, 250.0, 250.0],
        "rentries": [1.0, 9.0, 5.0, 5.0, 5.0],
        "held_back": [400.0, 0.0, 0.0, 0.0, 0.0],
    }
    arguments = {"ranks": [0, 1, 2, 3], "capacity": 1_000.0, "served": served, "subvolumes": table}
    assert classify(arguments)["class"][0] == klass
