# SPDX-License-Identifier: LGPL-2.1-or-later
"""The calls `judge` and `analyze`."""

from typing import Any

import numpy as np
import pytest

from mds_partitioner.engine.analyze import analyze
from mds_partitioner.engine.bad_input import BadInputError
from mds_partitioner.engine.judge import judge


def arguments(**changes: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "ranks": [0, 1, 2],
        "loads": [[100, 200, 300], [10, 10, 10], [10, 10, 10]],
        "latency": [[0.001] * 3] * 3,
        "fetches": [[0] * 3] * 3,
        "moved": [[0] * 3] * 3,
        "capacity": 0,
        "learned_capacity": 400,
        "least_capacity": None,
        "smoothness": 0.2,
        "threshold": 0.075,
        "role_threshold": 0.01,
        "epoch_capacity": None,
        "mask": None,
    }
    return usual | changes


SUBVOLUMES: dict[str, Any] = {
    "subvolumes": {"wss": [10, 1, 0], "reqs": [90, 5, 0], "rentries": [100, 10, 0], "held_back": [0, 0, 0]},
    "wss_at_once": 11,
    "cache_limit_bytes": 4e9,
    "bytes_per_inode": 3000,
    "mean_loads": [200, 10, 10],
    "busy_load": 0,
    "saturated_part": [0, 0, 0],
}
FULL = {"latency": [[0.05] * 3, [0.001] * 3, [0.001] * 3]}  # rank 0 has 5, 10 and 15 requests inside


def test_who_is_full_in_the_last_epoch_is_told_beside_who_was_in_two_of_three() -> None:
    """A pause begins and ends with an epoch; what is called saturated lags behind."""
    calm, full = [0.001] * 3, {"begins": [0.001, 0.001, 0.05], "ends": [0.05, 0.05, 0.001]}
    begins, ends = ({"latency": [full[now], calm, calm]} for now in ("begins", "ends"))
    told: list[Any] = [judge(arguments() | seen) for seen in (begins, ends)]
    assert [(of["saturated"], of["full_now"]) for of in told] == [([], [0]), ([0], [])]


def test_judge_looks_at_the_last_epoch_and_forecasts_the_next() -> None:
    result: Any = judge(arguments())
    assert result["loads"] == [300, 10, 10]
    assert result["forecast"] == pytest.approx([400, 10, 10])
    assert result["mean"] == pytest.approx(320 / 3)
    assert result["triggered"] is True
    assert result["exporters"] == [0]
    assert result["importers"] == [1, 2]
    assert result["capacity"] == {"value": 400, "source": "earlier"}
    assert result["saturated"] == []


def test_roles_name_ranks_not_rows() -> None:
    result: Any = judge(arguments(ranks=[7, 3, 5]))
    assert result["exporters"] == [7]
    assert result["importers"] == [3, 5]


def test_a_rank_outside_the_mask_does_not_import() -> None:
    assert judge(arguments(mask=[0, 2]))["importers"] == [2]


@pytest.mark.parametrize(("most", "rate"), [(2000, 450), (5000, 420)])
def test_a_saturated_rank_does_not_import_whatever_its_rate(most: int, rate: int) -> None:
    """Files made are dearer than files looked up, or its host is slow: its rate is low, and it is full."""
    slow = {"loads": [[most] * 3, [rate] * 3, [20] * 3], "latency": [[0.0002] * 3, [0.1] * 3, [0.0002] * 3]}
    result: Any = judge(arguments(**slow))
    assert (result["saturated"], result["exporters"], result["importers"]) == ([1], [0], [2])


def test_a_saturated_rank_that_is_far_slower_does_not_tell_what_others_can_serve() -> None:
    slow = arguments(loads=[[5000] * 3, [420] * 3, [20] * 3], latency=[[0.0002] * 3, [0.1] * 3, [0.0002] * 3])
    assert judge({**slow, "learned_capacity": 10000})["capacity"] == {"value": 10000.0, "source": "earlier"}


def test_a_full_rank_outside_the_mask_counts_and_an_idle_one_does_not() -> None:
    """What a plan pinned outside the mask of its heavy ones."""
    loads = {"loads": [[300] * 3] * 3 + [[0] * 3, [20] * 3, [1000] * 3], "ranks": list(range(6))}
    usual = {name: [[value] * 3] * 6 for name, value in (("latency", 0.0005), ("fetches", 0), ("moved", 0))}
    result: Any = judge(arguments(**loads, **usual, learned_capacity=1000, mask=[0, 1, 2]))
    assert result["mean"] == pytest.approx(1900 / 4)
    assert result["imbalance_factor"] > 0.3
    assert (result["triggered"], result["triggered_within"]) == (True, False)
    assert (result["exporters"], result["importers"], result["matrix"]) == ([], [], [[0.0] * 6] * 6)
    even: Any = judge(arguments(**loads, **usual, learned_capacity=1000, mask=[0, 1, 2, 5]))
    assert (even["imbalance_factor"], even["exporters"]) == (result["imbalance_factor"], [5])


def test_a_rank_outside_the_mask_with_little_load_makes_nobody_uneven() -> None:
    loads = {"loads": [[900] * 3, [900] * 3, [100] * 3], "ranks": [0, 1, 2]}
    usual = {name: [[value] * 3] * 3 for name, value in (("latency", 0.0005), ("fetches", 0), ("moved", 0))}
    result: Any = judge(arguments(**loads, **usual, learned_capacity=1000, mask=[0, 1]))
    assert (result["triggered"], result["imbalance_factor"]) == (False, 0.0)


@pytest.mark.parametrize("mask", [[], [9]])
def test_where_no_rank_of_the_mask_is_there_all_are_judged(mask: list[int]) -> None:
    assert judge(arguments(mask=mask)) == judge(arguments())


def test_a_full_rank_is_named_and_teaches_the_capacity() -> None:
    result: Any = judge(arguments(**FULL, learned_capacity=None))
    assert result["saturated"] == [0]
    assert result["capacity"]["source"] == "learned"
    assert result["capacity"]["value"] == pytest.approx(200, rel=0.1)
    assert result["imbalance_factor"] == pytest.approx(result["imbalance_most"] * result["urgency"])


def test_a_load_that_lets_all_ranks_rest_is_not_uneven_by_a_capacity_that_another_one_taught() -> None:
    """250 req/s were listings."""
    of = {"ranks": [0, 1], "loads": [[2000] * 4, [50] * 4], "fetches": [[0] * 4] * 2, "moved": [[0] * 4] * 2}
    for inside, capacity in ((0.2, (None, "unknown")), (0.9, (2000.0, "earlier"))):
        latency = [[inside / 2000] * 4, [0.0001] * 4]
        result: Any = judge(arguments(**of, latency=latency, learned_capacity=250))
        assert (result["capacity"]["value"], result["capacity"]["source"]) == capacity
        assert result["triggered"] == (capacity[0] is not None)


def test_what_was_filled_in_was_not_kept_up() -> None:
    """One epoch after a stall; and half a minute of exports in which little was told."""
    filled = {"loads": [[900] * 3, [10] * 3, [10] * 3], "latency": [[0.001] * 3] * 3}
    usual: Any = judge(arguments(**filled))
    assert usual["capacity"]["value"] == 900
    burst = {"served": [[0, 0, 900], [10] * 3, [10] * 3]}
    result: Any = judge(arguments(**filled, **burst))
    assert (result["capacity"]["value"], result["forecast"]) == (400, usual["forecast"])
    with pytest.raises(BadInputError, match="served has 2 epochs; allowed: 3, as loads"):
        judge(arguments(**filled, served=[[0, 900]] * 3))
    of = {"ranks": [0], "loads": [[1500] * 3 + [200] * 4], "latency": [[0.0] * 3 + [0.05] * 4]}
    of |= {"fetches": [[0] * 7], "moved": [[0] * 3 + [4500] * 4], "learned_capacity": None}
    exporting: Any = judge(arguments(**of, served=[[0, 0, 1500] + [200] * 4]))
    assert exporting["capacity"] == {"value": 200, "source": "learned"}


def test_a_rank_that_exports_does_not_teach_less_than_it_served_before() -> None:
    """It serves 800 req/s easily, and a quarter of it while it exports."""
    asked = {"loads": [[800] * 8 + [200] * 4, [300] * 12], "ranks": [0, 1], "fetches": [[0] * 12] * 2}
    inside = {"latency": [[0.0005] * 8 + [0.05] * 4, [0.0005] * 12]}
    exporting = {"moved": [[0] * 8 + [4500] * 4, [0] * 12]}
    for earlier, capacity in ((None, 800), (1500, 1500)):
        result: Any = judge(arguments(**asked, **inside, **exporting, learned_capacity=earlier))
        assert (result["saturated"], result["capacity"]["value"]) == ([0], capacity)


def test_without_a_capacity_there_is_no_factor_and_nothing_is_triggered() -> None:
    result: Any = judge(arguments(learned_capacity=None))
    assert result["capacity"] == {"value": None, "source": "unknown"}
    assert (result["imbalance_factor"], result["urgency"], result["triggered"]) == (None, None, False)
    assert result["imbalance_most"] > 0.9
    assert result["exporters"] == [0]


def with_hot_ranks(*hot: float) -> Any:
    """The verdict on 36 ranks, all others at 100 req/s; a full one serves 300."""
    loads = [*hot, *[100.0] * (36 - len(hot))]
    flat = {name: [[value] * 3 for value in values] for name, values in {"loads": loads}.items()}
    calm = {"latency": [[0.0001] * 3] * 36, "fetches": [[0] * 3] * 36, "moved": [[0] * 3] * 36}
    return judge(arguments(ranks=list(range(36)), learned_capacity=300, **flat, **calm))


def test_of_many_ranks_a_full_one_gives_although_the_factor_hardly_sees_it() -> None:
    result = with_hot_ranks(120, 300, 115, 280)
    assert result["imbalance_factor"] < 0.075
    assert result["triggered"] is False, "the factor is the paper's"
    assert result["hot"] == [1, 3]
    assert result["exporters"] == [1, 3]
    moved = np.array(result["matrix"])
    assert moved[1].sum() == pytest.approx(300 - result["mean"])
    assert not moved[:, [0, 2]].any()


@pytest.mark.parametrize("hot", [130.0, 100.0])
def test_of_many_ranks_none_is_hot_that_five_would_leave_alone(hot: float) -> None:
    assert with_hot_ranks(hot)["hot"] == []


def test_without_a_capacity_no_number_of_ranks_is_recommended() -> None:
    advice: Any = analyze(arguments(learned_capacity=None) | SUBVOLUMES)["recommended"]
    assert advice["ranks"] is None
    assert "not known" in advice["reason"] and "1 for a working set" in advice["reason"]


def test_analyze_judges_the_mean_of_the_window() -> None:
    result: Any = analyze(arguments() | SUBVOLUMES)
    assert result["loads"] == pytest.approx([200, 10, 10])
    assert result["forecast"] == pytest.approx([400, 10, 10])
    assert result["class"] == ["heavy", "moderate", "light"]
    assert result["recommended"]["ranks"] == 1


def test_a_load_that_has_grown_since_an_analysis_began_leaves_its_importers() -> None:
    """Three times what it was for 48 of 60 epochs, and steady since: it grows no more."""
    grown = arguments(loads=[[3000] * 3, [900] * 3, [900] * 3]) | SUBVOLUMES
    result: Any = analyze(grown | {"mean_loads": [1400, 420, 420]})
    assert (result["exporters"], result["importers"]) == ([0], [1, 2])


def test_ranks_are_recommended_for_what_is_used_at_once_also_of_what_was_not_read() -> None:
    in_turn = {"subvolumes": SUBVOLUMES["subvolumes"] | {"wss": [5e5] * 3}}
    few: Any = analyze(arguments() | SUBVOLUMES | in_turn | {"wss_at_once": 5e5})["recommended"]
    more: Any = analyze(arguments() | SUBVOLUMES | {"wss_at_once": 3e6})["recommended"]
    assert (few["ranks"], more["ranks"]) == (1, 3)
    assert "3 for a working set of 3000000 inodes" in more["reason"]


def test_the_fair_share_is_of_the_ranks_in_the_mask() -> None:
    assert "heavy" not in analyze(arguments(mask=[1]) | SUBVOLUMES)["class"]
    assert "heavy" in analyze(arguments(mask=[1, 2]) | SUBVOLUMES)["class"]


def test_a_saturated_rank_makes_the_recommendation_a_lower_bound() -> None:
    often = SUBVOLUMES | {"saturated_part": [0.25, 0, 0]}
    result: Any = analyze(arguments(**FULL, learned_capacity=None) | often)
    assert result["recommended"]["ranks"] == 2
    assert result["recommended"]["reason"].startswith("at least 2 for")


def test_a_rank_was_saturated_in_an_analysis_if_it_was_so_for_a_quarter_of_it() -> None:
    """Whatever it is at the end."""
    parts = {"saturated_part": [0.2, 0.3, 0]}
    assert analyze(arguments(**FULL) | SUBVOLUMES | parts)["saturated"] == [1]
    with pytest.raises(BadInputError, match="saturated_part has 1 values; allowed: one a rank, 3"):
        analyze(arguments() | SUBVOLUMES | {"saturated_part": [0]})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"ranks": []}, "ranks"),
        ({"ranks": [0, 0, 1]}, "ranks"),
        ({"ranks": [0, -1, 2]}, "ranks"),
        ({"loads": [[1], [2]]}, "loads"),
        ({"loads": [[1, 2], [1], [1]]}, "loads"),
        ({"loads": [[], [], []]}, "loads"),
        ({"loads": [[1, 2, float("nan")], [1] * 3, [1] * 3]}, r"loads\[0\]\[2\]"),
        ({"loads": [[1, 2, 3], [1, -4, 1], [1] * 3]}, r"loads\[1\]\[1\]"),
        ({"latency": [[0.1, "fast", 0.1]] * 3}, r"latency\[0\]\[1\]"),
        ({"latency": [[0.1]] * 3}, "latency"),
        ({"fetches": None}, "fetches"),
        ({"moved": [[0]] * 3}, "moved"),
        ({"capacity": -1}, "capacity"),
        ({"capacity": True}, "capacity"),
        ({"learned_capacity": 0}, "learned_capacity"),
        ({"smoothness": 0}, "smoothness"),
        ({"threshold": "low"}, "threshold"),
        ({"mask": [1, 1]}, "mask"),
        ({"epoch_capacity": float("inf")}, "epoch_capacity"),
        ({"treshold": 1}, "treshold"),
    ],
)
def test_bad_input_is_refused_by_name_with_what_is_allowed(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInputError, match=f"{named}.*allowed"):
        judge(arguments(**changes))


def test_a_missing_argument_is_named() -> None:
    args = arguments()
    del args["fetches"]
    with pytest.raises(BadInputError, match="fetches is missing"):
        judge(args)


def test_a_mean_load_a_rank_is_needed() -> None:
    with pytest.raises(BadInputError, match="mean_loads has 2 values; allowed: one a rank, 3"):
        analyze(arguments() | SUBVOLUMES | {"mean_loads": [1, 2]})


def test_columns_of_different_length_are_refused() -> None:
    table = {"wss": [1, 2], "reqs": [1], "rentries": [1, 2], "held_back": [0, 0]}
    with pytest.raises(BadInputError, match=r"subvolumes\.reqs has 1 values; allowed: 2"):
        analyze(arguments() | SUBVOLUMES | {"subvolumes": table})
