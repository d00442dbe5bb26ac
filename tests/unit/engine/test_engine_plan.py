# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every plan keeps to, whatever the cluster looks like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from engine_plans import LINE, again, answer, arguments, requests, with_classes
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mds_partitioner.engine.bad_input import BadInputError
from mds_partitioner.engine.placement.bounds import NOISE, by_requests, lower_bound
from mds_partitioner.engine.plan_request import read_plan


def rows(args: dict[str, Any], result: dict[str, Any]) -> list[tuple[list[int], list[int], str | None, str]]:
    """(current, new, fixed code, class) of each subvolume."""
    table = args["subvolumes"]
    assert {len(result[column]) for column in ("new", "class", "reason")} == {len(table["current"])}
    return list(zip(table["current"], result["new"], table["fixed"], result["class"]))


def new_mask(args: dict[str, Any], result: dict[str, Any]) -> bool:
    """The plan gives the heavies another mask than they have, which may be all that it does."""
    return args["heavy_mode"] == "mask" and sorted(args["current_mask"] or []) != result["heavy_ranks"]


@given(requests())
def test_every_subvolume_has_a_rank_and_only_usable_ones(args: dict[str, Any]) -> None:
    for _, new, fixed, _ in rows(args, answer(args)):
        if fixed is None:
            assert new
            assert set(new) <= set(args["ranks"])


@given(requests())
def test_what_is_fixed_stays_and_says_why(args: dict[str, Any]) -> None:
    result = answer(args)
    for (current, new, fixed, _), reason in zip(rows(args, result), result["reason"]):
        if fixed is not None:
            assert new == current
            assert reason == fixed


@given(requests())
def test_what_moves_and_is_not_heavy_gets_one_rank_or_keeps_those_it_may(args: dict[str, Any]) -> None:
    for current, new, fixed, name in rows(args, answer(args)):
        if fixed is None and name != "heavy" and len(new) != 1:
            assert set(new) == set(current) & set(args["ranks"])


# A fanout plan that leaves a mask in force as it is, as are its heavies.
@example(
    arguments(
        [[0] if i == 6 else [] for i in range(12)],
        **{name: [int(name == "reqs" and i == 6) for i in range(12)] for name in ("wss", "reqs", "rentries")},
        ranks=[0, 2],
        heavy_mode="fanout",
        current_mask=[0, 2],
    )
)
# The mask has a rank that the plan may not use.
@example(
    arguments(
        [[]] * 8,
        **{name: [int(name == "wss" and i == 4) for i in range(8)] for name in ("wss", "reqs", "rentries")},
        ranks=[0, 1],
        heavy_mode="fanout",
        current_mask=[0, 1, 2],
        cache_inodes=1e9,
    )
)
@given(requests())
def test_planning_again_after_the_plan_proposes_nothing(args: dict[str, Any]) -> None:
    result = answer(args)
    second = again(args, result)
    assert second["worthwhile"] is False
    assert second["new"] == result["new"]


@given(requests())
def test_a_plan_that_is_not_worthwhile_changes_nothing(args: dict[str, Any]) -> None:
    result = answer(args)
    if result["worthwhile"]:
        assert result["new"] != args["subvolumes"]["current"] or new_mask(args, result)
    else:
        assert result["new"] == args["subvolumes"]["current"]
        assert result["inodes_to_move"] == 0
        assert result["rank_workload_after"] == result["rank_workload_before"]


FULLEST = ("fullest_before", "fullest_after")


def busiest(args: dict[str, Any], placement: list[list[int]]) -> float:
    """The most requests on one rank, of all requests."""
    asked = args["subvolumes"]["reqs"]
    busy = dict.fromkeys(args["all_ranks"], 0.0)
    for own, reqs in zip(placement, asked):
        for rank in own:
            busy[rank] += reqs / len(own)
    return max(busy[rank] for rank in args["ranks"]) / max(sum(asked), 1)


@given(requests(outsiders=False).map(lambda args: args | {"cache_inodes": 1e9, "current_mask": None}))
def test_where_nothing_must_move_a_plan_gains_at_least_the_least_gain(args: dict[str, Any]) -> None:
    result = answer(args)
    points = [result[name]["value"] / max(result["lower_bound"], 1e-300) for name in FULLEST]
    bound = max(lower_bound(by_requests(read_plan(with_classes(args)).instance)), 1e-300)
    placements = args["subvolumes"]["current"], result["new"]
    total = sum(result["workload"])
    requests = [busiest(args, own) * total / (NOISE * bound) for own in placements]
    before, after = (max(each) for each in zip(points, requests))
    if result["worthwhile"]:
        assert before > after * (1 + args["min_gain"])
    else:
        assert after == before


@given(requests())
def test_no_placement_beats_the_lower_bound(args: dict[str, Any]) -> None:
    result = answer(args)
    assume(all(len(new) == 1 for _, new, fixed, name in rows(args, result) if not fixed and name != "heavy"))
    order = sorted(args["all_ranks"])
    fullest = max(result["rank_workload_after"][order.index(r)] for r in args["ranks"])
    assert fullest >= result["lower_bound"] * (1 - 1e-9)


@given(requests())
def test_workload_and_requests_are_all_accounted_for(args: dict[str, Any]) -> None:
    result = answer(args)
    table = args["subvolumes"]
    assume(all(set(c) <= set(args["all_ranks"]) and c for c, f in zip(table["current"], table["fixed"]) if f))
    assert sum(result["rank_workload_after"]) == pytest.approx(sum(result["workload"]))
    assert sum(result["load_after"]) == pytest.approx(sum(table["reqs"]))


@given(requests())
def test_each_subvolume_has_a_reason(args: dict[str, Any]) -> None:
    result = answer(args)
    moving = {"heavy", "rebalance", "rank-gone", "rank-not-allowed", "unplaced"}
    staying = {"already-there", "gain-too-small", "too-small", "too-large-for-a-rank"}
    for (current, new, fixed, _), reason in zip(rows(args, result), result["reason"]):
        if fixed is None:
            remasked = reason == "heavy" and new_mask(args, result)
            assert remasked or reason in (moving if set(new) != set(current) else staying)


@given(requests().map(lambda args: args | {"heavy_mode": "mask"}))
def test_heavies_that_move_share_one_mask(args: dict[str, Any]) -> None:
    result = answer(args)
    moved = [
        set(new)
        for current, new, fixed, name in rows(args, result)
        if name == "heavy" and fixed is None and set(new) != set(current)
    ]
    if result["heavy_ranks"] and args["current_mask"] != result["heavy_ranks"]:
        assert all(new <= set(args["ranks"]) for new in moved)


@given(
    st.lists(st.integers(1, 30), min_size=5, max_size=8).flatmap(
        lambda sizes: st.tuples(st.just(sizes), st.lists(st.integers(0, 2), min_size=8, max_size=8))
    )
)
def test_a_small_plan_is_close_to_the_best_there_is(case: tuple[list[int], list[int]]) -> None:
    """Compared with every placement there is, for subvolumes of which none is heavy."""
    sizes, where = case
    current = [[r] for r in where[: len(sizes)]]
    result = answer(arguments(current, wss=sizes, reqs=sizes, rentries=sizes))
    assume("heavy" not in result["class"])
    points = result["workload"]
    best = min(
        max(sum(p for p, r in zip(points, ranks) if r == rank) for rank in range(3))
        for ranks in product(range(3), repeat=len(points))
    )
    assert result["fullest_after"]["value"] <= best * 1.05 * 1.05


@pytest.mark.parametrize("mode", ["mask", "fanout"])
@pytest.mark.parametrize("current", [[[0]] * 4, [[0], [1], [2], [2]]])
def test_lines_example_comes_out_as_line_has_it(mode: str, current: list[list[int]]) -> None:
    result = answer(arguments(current, heavy_mode=mode))
    assert [round(p) for p in result["workload"]] == [339, 137, 21, 3]
    assert result["class"] == ["heavy", "moderate", "moderate", "light"]
    assert result["new"] == [[0, 1], [2], [2], [2]]
    assert result["heavy_ranks"] == [0, 1]
    assert result["worthwhile"] is True


def test_lines_example_says_why() -> None:
    result = answer(arguments([[0], [1], [2], [2]]))
    assert result["reason"] == ["heavy", "rebalance", "already-there", "already-there"]
    assert result["inodes_to_move"] == 1_000_000 / 2 + 700_000
    assert result["fullest_before"] == {"rank": 0, "value": pytest.approx(339.3, abs=0.1)}
    assert result["load_before"] == [1_203_030, 500_000, 25_000]
    assert result["load_after"] == [601_515, 601_515, 525_000]


def test_a_subvolume_on_a_rank_that_is_gone_moves_and_the_rest_stays() -> None:
    args = arguments([[0], [1], [2], [9]], wss=[1] * 4, reqs=[1] * 4, rentries=[1] * 4)
    result = answer(args | {"ranks": [0, 1, 2, 3], "all_ranks": [0, 1, 2, 3]})
    assert result["new"] == [[0], [1], [2], [3]]
    assert result["reason"] == ["already-there"] * 3 + ["rank-gone"]


def test_a_subvolume_on_a_rank_that_may_not_be_used_moves() -> None:
    args = arguments([[0], [1], [2], [2]], wss=[1] * 4, reqs=[1] * 4, rentries=[1] * 4, ranks=[0, 1])
    result = answer(args)
    assert sorted(result["new"]) == [[0], [0], [1], [1]]
    assert result["reason"] == ["already-there"] * 2 + ["rank-not-allowed"] * 2


def test_a_small_gain_is_not_worth_a_move() -> None:
    args = arguments([[0]] * 26 + [[1]] * 25, wss=[1] * 51, reqs=[1] * 51, rentries=[1] * 51, ranks=[0, 1])
    result = answer(args | {"all_ranks": [0, 1]})
    assert result["worthwhile"] is False
    uneven = arguments([[0]] * 29 + [[1]] * 22, wss=[1] * 51, reqs=[1] * 51, rentries=[1] * 51, ranks=[0, 1])
    assert answer(uneven | {"all_ranks": [0, 1]})["worthwhile"] is True
    strict = answer(uneven | {"all_ranks": [0, 1], "min_gain": 0.2})
    assert strict["worthwhile"] is False
    assert set(strict["reason"]) == {"already-there", "gain-too-small"}


def test_light_subvolumes_are_spread_by_their_requests_where_these_are_uneven() -> None:
    asked = [1000.0 / (1 + number) ** 0.7 for number in range(400)]
    same = {"wss": [100] * 400, "rentries": [100] * 400, "ranks": [0, 1, 2, 3], "all_ranks": [0, 1, 2, 3]}
    args = arguments([[number % 4 if number > 4 else 0] for number in range(400)], reqs=asked, **same)
    result = answer(args)
    assert busiest(args, args["subvolumes"]["current"]) > 1.21 / 4
    assert busiest(args, result["new"]) < 1.07 / 4
    assert result["fullest_after"]["value"] < 1.05 * result["lower_bound"], "and the points stay even"
    assert sum(old != new for old, new, *_ in rows(args, result)) < 40


def test_points_are_enough_where_requests_come_with_them() -> None:
    args = arguments([[0]] * 12, wss=[5] * 12, reqs=[5] * 12, rentries=[9] * 12)
    assert sorted(answer(args)["new"]) == [[rank] for rank in (0, 1, 2) for _ in range(4)]


def test_no_more_moves_than_needed() -> None:
    args = arguments([[0]] * 12 + [[1]] * 4 + [[2]] * 8, wss=[1] * 24, reqs=[1] * 24, rentries=[1] * 24)
    result = answer(args)
    assert sum(old != new for old, new, *_ in rows(args, result)) == 4
    assert result["rank_workload_after"] == pytest.approx([500 / 3] * 3)


def test_idle_subvolumes_stay_where_they_are() -> None:
    args = arguments(
        [[0]] * 6, wss=[90, 90, 90, 0, 0, 0], reqs=[9, 9, 9, 0, 0, 0], rentries=[9, 9, 9, 0, 0, 0]
    )
    result = answer(args)
    assert result["new"][3:] == [[0]] * 3
    assert result["reason"][3:] == ["too-small"] * 3


def test_many_tiny_subvolumes_that_matter_together_are_not_too_small_to_move() -> None:
    count = 5_000
    ones = [1] * count
    result = answer(arguments([[0]] * count, wss=ones, reqs=ones, rentries=ones))
    assert result["fullest_after"]["value"] <= result["lower_bound"] * 1.01


def test_the_working_sets_of_a_rank_fit_its_cache() -> None:
    wss = [60, 60, 10, 10, 40, 40]
    args = arguments(
        [[0], [0], [1], [1], [2], [2]], wss=wss, reqs=[10] * 6, rentries=[10] * 6, cache_inodes=100
    )
    result = answer(args)
    sums = [sum(w for w, new in zip(wss, result["new"]) if new == [r]) for r in range(3)]
    assert result["worthwhile"] is True
    assert max(sums) <= 100


def test_a_working_set_larger_than_a_cache_is_named() -> None:
    args = arguments(
        [[0], [1], [2], [2]], wss=[50, 50, 50, 50], reqs=[1] * 4, rentries=[1] * 4, cache_inodes=45
    )
    assert "too-large-for-a-rank" in answer(args)["reason"]


def test_pinned_subvolumes_count_as_load_and_are_planned_around() -> None:
    args = arguments([[0], [0], [0], [0]], wss=[1] * 4, reqs=[1] * 4, rentries=[1] * 4)
    args["subvolumes"]["fixed"] = ["pinned-by-operator", "resting", None, None]
    result = answer(args)
    assert result["new"] == [[0], [0], [1], [2]]
    assert result["reason"] == ["pinned-by-operator", "resting", "rebalance", "rebalance"]


@pytest.mark.parametrize("spread", [[[0]], [[1]], [[0, 1]]])
def test_a_heavy_within_the_current_mask_is_in_place(spread: list[list[int]]) -> None:
    result = answer(arguments([*spread, [2], [2], [2]], current_mask=[0, 1]))
    assert result["worthwhile"] is False
    assert result["new"] == [*spread, [2], [2], [2]]
    assert result["heavy_ranks"] == [0, 1]


def test_a_mask_that_is_as_good_as_any_is_kept() -> None:
    result = answer(arguments([[0], [0], [0], [0]], current_mask=[1, 2]))
    assert result["heavy_ranks"] == [1, 2]
    assert result["new"] == [[1, 2], [0], [0], [0]]


def test_light_subvolumes_share_ranks_with_heavy_ones_where_that_lowers_the_fullest() -> None:
    sizes = [60] + [4] * 10
    args = arguments([[0]] * 11, wss=sizes, reqs=sizes, rentries=sizes, ranks=[0, 1], all_ranks=[0, 1])
    result = answer(args)
    assert result["fullest_after"]["value"] == pytest.approx(250)


@pytest.mark.parametrize("mode", ["mask", "fanout"])
def test_a_small_busy_subvolume_does_not_stay_on_one_rank(mode: str) -> None:
    """As the web server's files in a mix of workloads: a quarter of the requests, hardly an inode."""
    args = arguments(
        [[0]] * 4,
        wss=[1_000] * 3 + [10],
        reqs=[25] * 4,
        rentries=[1_000] * 3 + [10],
        ranks=[0, 1, 2, 3, 4],
        all_ranks=[0, 1, 2, 3, 4],
        heavy_mode=mode,
    )
    result = answer(args)
    assert result["class"] == ["heavy"] * 4
    assert len(result["new"][3]) > 1
    assert busiest(args, result["new"]) <= 0.2 * 1.01
    assert again(args, result)["worthwhile"] is False


def test_balanced_points_are_not_enough_where_one_rank_has_all_the_requests() -> None:
    ranks = [0, 1, 2, 3]
    args = arguments(
        [[0], [1], [2], [3]],
        wss=[1, 33, 33, 33],
        reqs=[97, 1, 1, 1],
        rentries=[1, 33, 33, 33],
        ranks=ranks,
        all_ranks=ranks,
        heavy_mode="fanout",
    )
    result = answer(args)
    assert result["worthwhile"] is True
    assert busiest(args, result["new"]) <= 0.25 * 1.02


def test_the_children_of_a_fanned_out_heavy_go_to_its_ranks_and_stay_there() -> None:
    children = {"0": {"weights": [9] * 10, "current": [None] * 9 + [1], "staying": 0}}
    args = arguments([[0], [2], [2], [2]], heavy_mode="fanout", children=children)
    result = answer(args)
    given = result["children_ranks"]["0"]
    assert result["new"][0] == [0, 1]
    assert sorted(given) == [0] * 5 + [1] * 5
    assert given[9] == 1
    children["0"]["current"] = given
    second = again(args, result)
    assert (second["worthwhile"], second["children_ranks"]) == (False, {})


def test_a_heavy_is_not_fanned_out_over_more_ranks_than_it_has_children() -> None:
    children = {"0": {"weights": [9], "current": [None], "staying": 0}}
    args = arguments([[0], [1], [2], [2]], heavy_mode="fanout", children=children)
    assert answer(args)["new"][0] == [0]


def test_children_that_are_asked_for_most_are_on_different_ranks() -> None:
    """Two of ten have nearly all."""
    children = {"0": {"weights": [48, 48] + [0.5] * 8, "current": [None] * 10, "staying": 0}}
    args = arguments([[0], [2], [2], [2]], heavy_mode="fanout", children=children)
    given = answer(args)["children_ranks"]["0"]
    assert given[0] != given[1]


@pytest.mark.parametrize(("hottest", "ranks"), [(97, 2), (60, 2), (45, 3), (10, 4)])
def test_a_heavy_has_no_more_ranks_than_its_hottest_child_leaves_work_for(hottest: float, ranks: int) -> None:
    others = [(100.0 - hottest) / 30] * 30
    family = {"weights": [hottest, *others], "current": [None] * 31, "staying": 0}
    children = {"0": family | {"hottest": hottest / 100.0}}
    asked = {"wss": [97, 1, 1, 1], "reqs": [97, 1, 1, 1], "rentries": [97, 1, 1, 1]}
    four = {"ranks": [0, 1, 2, 3], "all_ranks": [0, 1, 2, 3]}
    args = arguments([[0]] * 4, heavy_mode="fanout", children=children, **asked, **four)
    assert len(answer(args)["new"][0]) == ranks


def test_files_that_nobody_is_seen_to_use_cost_a_heavy_no_rank() -> None:
    children = {"0": {"weights": [97, 1, 1, 1], "current": [None] * 4, "staying": 0}}
    asked = {"wss": [97, 1, 1, 1], "reqs": [97, 1, 1, 1], "rentries": [97, 1, 1, 1]}
    four = {"ranks": [0, 1, 2, 3], "all_ranks": [0, 1, 2, 3]}
    args = arguments([[0]] * 4, heavy_mode="fanout", children=children, **asked, **four)
    assert len(answer(args)["new"][0]) == 4


def test_children_of_whom_none_is_asked_for_are_refused() -> None:
    children = {"0": {"weights": [0, 0], "current": [None, None], "staying": 0}}
    args = arguments([[0], [1], [2], [2]], heavy_mode="fanout", children=children)
    with pytest.raises(BadInputError, match=r"children\.0\.weights"):
        answer(args)


def test_there_need_not_be_anything_but_heavy_and_pinned_subvolumes() -> None:
    args = arguments([[0], []], wss=[0, 0], reqs=[0, 0], rentries=[1, 2], ranks=[0, 1], all_ranks=[0, 1])
    args["subvolumes"]["fixed"] = ["pinned-by-operator", None]
    assert answer(args)["new"] == [[0], [1]]


def test_nothing_to_plan_is_no_error() -> None:
    result = answer(arguments([], wss=[], reqs=[], rentries=[]))
    assert result["worthwhile"] is False
    assert result["new"] == []


def test_the_predicted_imbalance_is_that_of_the_planned_loads() -> None:
    result = answer(arguments([[0]] * 4, capacity=1_000_000))
    assert result["imbalance_before"] == pytest.approx(1.0, abs=0.01)
    assert result["triggered_before"] is True
    assert result["imbalance_after"] < 0.075
    assert result["triggered_after"] is False


def test_lines_table_is_what_the_tests_use() -> None:
    assert sum(LINE["wss"]) == 1_803_000
    assert sum(LINE["reqs"]) == 1_728_030
    assert sum(LINE["rentries"]) == 56_070_000


def two_heavies(staying: float, fragments: Any = None, children: int = 8, **changes: Any) -> dict[str, Any]:
    """Two equal heavies on rank 0 of four, whose directories below them last in part."""
    family = {
        "weights": [9] * children,
        "current": [0] * children,
        "staying": staying,
        "fragments": fragments,
    }
    return arguments(
        [[0], [0]],
        ranks=[0, 1, 2, 3],
        all_ranks=[0, 1, 2, 3],
        wss=[100, 100],
        reqs=[100, 100],
        rentries=[100, 100],
        heavy_mode="fanout",
        children={"0": dict(family), "1": dict(family)},
        **changes,
    )


def test_parents_that_bring_much_are_on_different_ranks() -> None:
    result = answer(two_heavies(0.4))
    assert len(set(result["parent_rank"].values())) == 2


def test_parents_that_bring_nothing_are_on_the_highest_of_their_ranks() -> None:
    result = answer(two_heavies(0.0))
    assert [result["parent_rank"][str(i)] for i in (0, 1)] == [max(own) for own in result["new"]]


@pytest.mark.parametrize("staying", [0.0, 0.2, 0.4, 0.5])
def test_the_prediction_counts_what_stays_with_the_parent(staying: float) -> None:
    """Each rank's load by the children that it gets and by the parents that it has, counted by hand."""
    result = answer(two_heavies(staying))
    load = [0.0] * 4
    for i in ("0", "1"):
        load[result["parent_rank"][i]] += 100 * staying
        for rank in result["children_ranks"][i]:
            load[rank] += 100 * (1 - staying) / 8
    assert result["load_after"] == pytest.approx(load)
    assert max(load) <= 50 * 1.3


def test_what_all_comes_and_goes_is_put_on_one_rank_each() -> None:
    result = answer(two_heavies(1.0, children=0))
    assert [len(own) for own in result["new"]] == [1, 1]
    assert result["new"][0] != result["new"][1]
    assert result["load_after"].count(100) == 2


def test_what_comes_and_goes_is_scattered_where_the_hashes_make_that_more_even() -> None:
    even, skewed = [0, 1, 2, 3, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0, 0, 1]
    result = answer(two_heavies(1.0, even, children=0))
    assert result["scattered"] == [0, 1]
    assert result["new"] == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert result["load_after"] == pytest.approx([50] * 4)
    assert answer(two_heavies(1.0, skewed, children=0))["scattered"] == []


def test_what_is_scattered_already_stays_so() -> None:
    args = two_heavies(1.0, [0, 1, 2, 3, 0, 1, 2, 2], children=0)
    result = answer(args)
    assert result["scattered"] == [0, 1]
    for family in args["children"].values():
        family["scattered"] = True
    second = again(args, result)
    assert (second["worthwhile"], second["scattered"]) == (False, [0, 1])


@pytest.mark.parametrize("staying", [-0.1, 1.1, 1.0])
def test_a_part_that_stays_is_a_part(staying: float) -> None:
    with pytest.raises(BadInputError, match="staying"):
        answer(two_heavies(staying))


def test_children_that_stand_unevenly_are_spread_though_the_ranks_stay_the_same() -> None:
    """All directories but one were made since the last plan, on their parent's rank."""
    args = two_heavies(0.0)
    for i, family in enumerate(args["children"].values()):
        family |= {"parent": 2 * i, "current": [2 * i] * 7 + [2 * i + 1]}
    args["subvolumes"]["current"] = [[0, 1], [2, 3]]
    result = answer(args)
    assert result["worthwhile"]
    assert result["new"] == [[0, 1], [2, 3]]
    assert result["load_before"] == pytest.approx([87.5, 12.5, 87.5, 12.5])
    assert result["load_after"] == pytest.approx([50] * 4)
    for i, family in args["children"].items():
        family["current"], family["parent"] = result["children_ranks"][i], result["parent_rank"][i]
    assert not again(args, result)["worthwhile"]


def test_what_is_beside_a_heavy_one_goes_by_what_its_busiest_directory_is_asked_for() -> None:
    """Of ten light ones on the other rank, that one's new rank can keep none."""
    sizes = [300.0, *[20.0] * 10]
    family = {"weights": [90.0, *[1.0] * 10], "hottest": 0.9, "current": [0] * 11, "staying": 0, "parent": 0}
    args = arguments(
        [[0], *[[1]] * 10],
        **dict.fromkeys(("wss", "reqs", "rentries"), sizes),
        ranks=[0, 1],
        all_ranks=[0, 1],
        heavy_mode="fanout",
        children={"0": family},
    )
    result = answer(args)
    assert result["load_before"] == pytest.approx([300, 200])
    assert max(result["load_after"]) == pytest.approx(270)
    family |= {"current": result["children_ranks"]["0"], "parent": result["parent_rank"]["0"]}
    assert not again(args, result)["worthwhile"]


def test_what_a_heavy_one_brings_to_its_only_rank_is_no_measure_of_the_others() -> None:
    """Nothing in it lasts; a rank of light ones has more requests than it, and points as the others."""
    whole = {"weights": [], "current": [], "staying": 1, "parent": 0}
    args = arguments(
        [[0], *([rank] for rank in (1, 2, 3) for _ in range(10))],
        wss=[100.0, *[10.0] * 30],
        rentries=[100.0, *[10.0] * 30],
        reqs=[116.0, *[14.2] * 10, *[7.1] * 20],
        ranks=[0, 1, 2, 3],
        all_ranks=[0, 1, 2, 3],
        heavy_mode="fanout",
        children={"0": whole},
    )
    result = answer(args)
    assert result["class"][0] == "heavy" and result["new"][0] == [0]
    assert result["worthwhile"] and max(result["load_after"]) < 125.0


def all_on_rank_0(sizes: Sequence[float], families: dict[str, Any], ranks: Sequence[int]) -> dict[str, Any]:
    """Four ranks, and subvolumes that are nothing but requests; the children have no rank of their own."""
    for family in families.values():
        family["current"] = [None] * len(family["weights"])
    usual = {"staying": 0.0, "parent": 0}
    return arguments(
        [[0]] * len(sizes),
        wss=list(sizes),
        reqs=list(sizes),
        rentries=list(sizes),
        ranks=list(ranks),
        all_ranks=[0, 1, 2, 3],
        heavy_mode="fanout",
        children={i: usual | family for i, family in families.items()},
        cache_inodes=1e9,
    )


HARMONIC = [1.0 / (n + 1) for n in range(8)]


def test_children_of_several_heavies_meet_on_no_rank_more_than_is_even() -> None:
    """Each alone has its largest child on a rank of its own, all three the same."""
    args = all_on_rank_0([500.0] * 3, {str(i): {"weights": HARMONIC} for i in range(3)}, [0, 1, 2, 3])
    result = answer(args)
    assert max(result["load_after"]) <= 1500.0 / 4 * 1.02
    for i, family in args["children"].items():
        family["current"], family["parent"] = result["children_ranks"][i], result["parent_rank"][i]
    assert not again(args, result)["worthwhile"]


def test_what_stays_with_the_parent_may_have_a_rank_to_itself() -> None:
    args = all_on_rank_0([1000.0], {"0": {"weights": [1] * 40, "staying": 0.6}}, [0, 1, 2, 3])
    result = answer(args)
    assert max(result["load_after"]) == pytest.approx(600.0)
    assert result["parent_rank"]["0"] not in result["children_ranks"]["0"]


@pytest.mark.parametrize("full", [[], [0]])
def test_most_of_what_is_taken_apart_stays_where_it_is(full: Sequence[int]) -> None:
    """The parent has far more than its children together."""
    args = all_on_rank_0([1000.0], {"0": {"weights": [1] * 8, "staying": 0.7}}, [0, 1, 2, 3])
    result = answer(args | {"saturated": full})
    assert result["parent_rank"]["0"] == 0 and 0 not in result["children_ranks"]["0"]
    assert result["inodes_to_move"] == pytest.approx(300.0)


def test_no_heavy_one_is_taken_apart_for_next_to_nothing() -> None:
    """Each on a rank of its own is 1 % worse than with hundreds of pins."""
    sizes = [1020.0, 1000.0, 1000.0, 980.0]
    args = all_on_rank_0(sizes, {"0": {"weights": [1] * 500}}, [0, 1, 2, 3])
    assert sorted(answer(args)["new"]) == [[0], [1], [2], [3]]


@pytest.mark.parametrize("others", [[], [(0, 200.0), (1, 300.0)]])
def test_a_full_rank_that_has_little_of_a_heavy_one_gets_no_more_of_it(
    others: list[tuple[int, float]],
) -> None:
    family = {"weights": [1] * 10, "current": [0] + [1] * 9, "staying": 0.0, "parent": 1}
    sizes = [1000.0, *(size for _, size in others)]
    args = arguments(
        [[0, 1], *([rank] for rank, _ in others)],
        **dict.fromkeys(("wss", "reqs", "rentries"), sizes),
        ranks=[0, 1],
        all_ranks=[0, 1],
        heavy_mode="fanout",
        children={"0": family},
        cache_inodes=1e9,
    )
    assert answer(args)["load_after"][0] > 400.0
    full = answer(args | {"saturated": [0]})
    assert full["load_after"][0] <= full["load_before"][0]


def test_what_is_beside_a_heavy_one_is_met_by_few_of_its_children() -> None:
    """Neither halves nor the whole of what fills more than a rank are even with it."""
    args = all_on_rank_0([892.0, 545.0], {"0": {"weights": [1] * 4}}, [1, 3])
    assert max(answer(args)["load_after"]) == pytest.approx(545.0 + 892.0 / 4)


def with_even_requests(cache: float) -> dict[str, Any]:
    """Each of four ranks has ten subvolumes of 25 req/s; those of rank 0 are four times as large."""
    sizes = [4000.0] * 10 + [1000.0] * 30
    return arguments(
        [[rank] for rank in range(4) for _ in range(10)],
        **{"wss": sizes, "reqs": [25.0] * 40, "rentries": sizes, "cache_inodes": cache, "capacity": 250.0},
        ranks=[0, 1, 2, 3],
        all_ranks=[0, 1, 2, 3],
    )


def test_requests_that_are_even_are_not_made_uneven_for_the_sake_of_caches_that_hold_all() -> None:
    result = answer(with_even_requests(1e6))
    assert (result["worthwhile"], result["imbalance_after"]) == (False, 0.0)


def test_where_a_cache_is_too_small_working_sets_leave_it_though_requests_are_even() -> None:
    assert answer(with_even_requests(25_000.0))["worthwhile"]


@st.composite
def families(draw: st.DrawFn) -> dict[str, Any]:
    """Subvolumes whose directories are where they are, all on ranks that may be used."""
    ranks = list(range(draw(st.integers(2, 4))))
    rank = st.sampled_from(ranks)
    current, children = [], {}
    for i in range(draw(st.integers(2, 8))):
        weights = draw(st.lists(st.sampled_from([1, 5, 90]), min_size=1, max_size=6))
        parent = draw(rank)
        at = [draw(rank) if i == 0 else parent for _ in weights]
        children[str(i)] = {
            "weights": weights,
            "hottest": draw(st.sampled_from([0.0, max(weights) / sum(weights)])),
            "current": at,
            "staying": draw(st.sampled_from([0.0, 0.3])),
            "parent": parent,
        }
        current.append(sorted({parent, *at}))
    points = [draw(st.integers(100, 1000)), *(draw(st.integers(1, 100)) for _ in current[1:])]
    sizes = dict.fromkeys(("wss", "reqs", "rentries"), points)
    more = {"ranks": ranks, "all_ranks": ranks, "heavy_mode": "fanout", "children": children}
    return arguments(current, cache_inodes=1e9, **sizes, **more)


@given(families())
def test_no_plan_makes_the_fullest_rank_fuller_by_what_its_directories_are_asked_for(
    args: dict[str, Any],
) -> None:
    result = answer(args)
    points, requests_ = (
        max(result[f"{what}_after"]) < max(result[f"{what}_before"]) for what in ("rank_workload", "load")
    )
    assert points or requests_ or not result["worthwhile"]


@given(requests(outsiders=False), st.data())
def test_no_single_subvolume_goes_to_a_saturated_rank_while_another_is_there(
    args: dict[str, Any], data: st.DataObject
) -> None:
    full = data.draw(st.lists(st.sampled_from(args["ranks"]), max_size=3, unique=True))
    assume(set(full) < set(args["ranks"]))
    result = answer(args | {"saturated": full})
    for current, new, _, name in rows(args, result):
        if name != "heavy":
            assert not (set(new) - set(current)) & set(full)


def test_a_rank_that_is_full_of_slow_requests_gets_no_quick_ones() -> None:
    """Rank 0 makes 450 files/s and cannot more, rank 1 does 2,000 lookups/s."""
    asked = {"wss": [1000] * 18, "reqs": [56.25] * 8 + [200.0] * 10, "rentries": [1000] * 18}
    args = arguments([[0]] * 8 + [[1]] * 10, ranks=[0, 1], all_ranks=[0, 1], **asked)
    assert [0] in answer(args)["new"][8:]
    assert answer(args | {"saturated": [0]})["worthwhile"] is False
    assert answer(args | {"saturated": [0, 1]}) == answer(args)


def taken_apart(parts: Sequence[int], children: int, known: bool, full: Sequence[int]) -> Any:
    """The plan for one heavy directory of which each rank has so many twentieths, and rank 3 the parent."""
    on = [rank for rank, number in enumerate(parts) for _ in range(number)]
    current = on if known else [None] * children
    family = {"weights": [1.0 / children] * children, "hottest": 1.0 / children, "current": current}
    more = {"staying": 0.0, "parent": 3, "fragments": None, "scattered": False}
    asked = {name: [1000.0] for name in ("wss", "reqs", "rentries")}
    ranks = {"ranks": [0, 1, 2, 3], "all_ranks": [0, 1, 2, 3], "saturated": list(full), "cache_inodes": 1e9}
    return answer(arguments([on], heavy_mode="fanout", children={"0": family | more}, **ranks, **asked))


@pytest.mark.parametrize(
    ("parts", "full"), [((9, 4, 4, 3), [0]), ((9, 7, 2, 2), [0, 1]), ((7, 6, 5, 2), [0, 1, 2])]
)
def test_a_second_plan_takes_a_heavy_one_off_no_full_rank_that_has_more_of_it_than_others(
    parts: Sequence[int], full: Sequence[int]
) -> None:
    result = taken_apart(parts, 20, True, full)
    assert result["worthwhile"] and result["load_after"] == pytest.approx([250.0] * 4)


@pytest.mark.parametrize("children", [8, 16])
def test_what_is_on_each_rank_in_many_parts_has_its_children_on_all_of_them(children: int) -> None:
    result = taken_apart((5, 5, 5, 5), children, False, [])
    assert sorted(Counter(result["children_ranks"]["0"]).values()) == [children // 4] * 4


def test_what_a_saturated_rank_has_too_much_of_leaves_it() -> None:
    asked = {"wss": [1] * 12, "reqs": [1] * 12, "rentries": [1] * 12}
    result = answer(arguments([[0]] * 8 + [[1]] * 4, saturated=[0], **asked))
    assert sorted(own for (own,) in result["new"]) == [0] * 4 + [1] * 4 + [2] * 4


def test_a_saturated_rank_gives_no_more_than_it_has_too_much() -> None:
    """Of its subvolumes the largest alone would be enough, and more than that."""
    sizes = [600.0, *[50.0] * 8, 400.0]
    asked = {**dict.fromkeys(("wss", "reqs", "rentries"), sizes), "ranks": [0, 1], "all_ranks": [0, 1]}
    result = answer(arguments([[0]] * 9 + [[1]], saturated=[0], **asked))
    assert max(result["load_after"]) <= 750.0


@pytest.mark.parametrize("mode", ["mask", "fanout"])
def test_a_heavy_one_spares_a_saturated_rank_that_it_is_not_on(mode: str) -> None:
    args = arguments([[0], [1], [2], [2]], heavy_mode=mode)
    assert answer(args)["new"][0] == [0, 1]
    assert answer(args | {"saturated": [1]})["new"][0] == [0]
