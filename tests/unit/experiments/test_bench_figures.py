# SPDX-License-Identifier: LGPL-2.1-or-later
"""From a cell's samples to figures."""

from typing import Any

import pytest

from experiments.common.figures import figures, summary

SPAN = (100.0, 160.0)


def sample(
    t: float, requests: list[float], subtrees: dict[str, int] | None, exported: int = 0
) -> dict[str, Any]:
    counters = [
        {"requests": r, "forwards": 0, "exported_inodes": exported, "exports": 0, "slow": 0} for r in requests
    ]
    return {"t": t, "ranks": {str(i): c for i, c in enumerate(counters)}, "subtrees": subtrees}


def cell(places: list[int] | None = None, **more: Any) -> dict[str, Any]:
    """All load on rank 0 for 30 s, then on both ranks; a subtree a place each five seconds."""
    samples = []
    served = [0.0, 0.0]
    for second in range(61):
        if second:
            served = [served[0] + (100 if second <= 30 else 50), served[1] + (0 if second <= 30 else 50)]
        where = None
        if second % 5 == 0:
            step = second // 5
            where = {"/": 0, "/a": places[min(step, len(places) - 1)] if places else 0}
        samples.append(sample(100.0 + second, served, where, exported=10 * second))
    return {
        "ranks": 2,
        "balancer": "lunule",
        "run": 1,
        "capacity": 100.0,
        "spans": {"only": list(SPAN)},
        "samples": samples,
        "mds_cpu": 10,
        "cpu": [{"t": 100.0 + 2 * k, "busy": 1.0 * k, "used": {"mds.a": 0.2 * k}} for k in range(31)],
        "clients": [[100 + s, 100.0 if s <= 30 else 200.0, 5.0, 0] for s in range(1, 61)],
    } | more


def test_loads_are_what_each_rank_served_over_ten_seconds() -> None:
    found = dict(figures.loads(cell()))
    assert found[130.0] == [100.0, 0.0]
    assert found[135.0] == [75.0, 25.0]
    assert found[160.0] == [50.0, 50.0]


def test_forwarded_requests_are_no_load() -> None:
    one = cell()
    for line in one["samples"]:
        line["ranks"]["0"]["forwards"] = line["ranks"]["0"]["requests"]
    assert dict(figures.loads(one))[120.0] == [0.0, 0.0]


def test_the_factor_falls_with_the_skew_and_balance_has_a_time() -> None:
    series = figures.imbalance(cell(), 100.0)
    values = dict(series)
    assert values[120.0] > 0.9 > values[160.0] == pytest.approx(0.0)
    assert figures.balanced(series, SPAN, 0.075) == pytest.approx(39.0, abs=1.0)
    assert figures.balanced(series, (100.0, 110.0), 0.075) is None


def test_the_first_migration_has_a_time() -> None:
    one = cell()
    assert figures.first_migration(one, SPAN) == 1.0
    for line in one["samples"][:20]:
        line["ranks"]["0"]["exported_inodes"] = line["ranks"]["1"]["exported_inodes"] = 0
    assert figures.first_migration(one, SPAN) == 20.0
    assert figures.first_migration(one, (100.0, 110.0)) is None


def test_a_rate_is_reached_by_its_mean_of_ten_seconds() -> None:
    assert figures.throughput(cell(), SPAN) == pytest.approx(150.0)
    assert figures.reached(cell(), SPAN, 200.0) == pytest.approx(40.0)
    assert figures.reached(cell(), SPAN, 201.0) is None


def test_a_counter_is_summed_over_ranks_within_a_span() -> None:
    assert figures.total(cell(), "exported_inodes", SPAN) == 2 * 600
    assert figures.total(cell(), "exported_inodes", (100.0, 110.0)) == 2 * 100


@pytest.mark.parametrize(
    ("places", "moves", "returns"),
    [([0], 0, 0), ([0, 1], 1, 0), ([0, 1, 0], 2, 1), ([0, 1, 0, 1], 3, 2)],
)
def test_a_subtree_that_returns_soon_is_a_ping_pong(places: list[int], moves: int, returns: int) -> None:
    assert figures.migrations(cell(places)) == moves
    assert figures.ping_pongs(cell(places)) == returns
    assert figures.ping_pongs(cell(places), within_s=1.0) == 0


def test_a_fragment_belongs_where_its_directory_does() -> None:
    subtrees = {"/": 0, "/a": 1, "/a/b#01*": 2}
    assert figures.owner(subtrees, "/a/b#01*") == 2
    assert figures.owner(subtrees, "/a/b#1*") == 1
    assert figures.owner(subtrees, "/ab") == 0


def test_a_table_has_medians_and_what_never_happened() -> None:
    slow = cell(run=2)
    slow["clients"] = [[t, ops / 2, p95, errors] for t, ops, p95, errors in slow["clients"]]
    text = summary.table([cell(run=1), cell(run=3), slow])
    rows = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in text.splitlines()}
    assert rows["only: op/s"] == "150 (75 to 150)"
    assert rows["only: s to 90 % of the best"].endswith("never in 1)")
    assert rows["ping-pongs"] == "0 (0 to 0)"
    assert rows["runs that count"] == "3 of 3"


def test_a_table_leaves_out_what_does_not_count() -> None:
    idle = cell(
        run=2, cpu=[{"t": 100.0 + 2 * k, "busy": 1.0 * k, "used": {"mds.a": 0.1 * k}} for k in range(31)]
    )
    idle["clients"] = [[t, 10 * ops, p95, errors] for t, ops, p95, errors in idle["clients"]]
    rows = {
        line.split("|")[1].strip(): line.split("|")[2].strip()
        for line in summary.table([cell(run=1), idle]).splitlines()
    }
    assert rows["runs that count"] == "1 of 2"
    assert rows["only: op/s"] == "150"


def test_inodes_that_nobody_visited_are_those_of_this_cell_alone() -> None:
    one = cell()
    assert figures.never_visited(one) is None
    for second, line in enumerate(one["samples"]):
        for rank in line["ranks"].values():
            # 5,000 came and 4,000 were visited in the cell before.
            rank["imported_inodes"] = 5000 + 10 * second
        if second % 5 == 0:
            line["ranks"]["0"]["visited"] = 0
            line["ranks"]["1"]["visited"] = 4000 + 4 * second
    assert figures.never_visited(one) == pytest.approx(0.6)
