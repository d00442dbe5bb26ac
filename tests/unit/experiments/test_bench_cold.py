# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler beside others: what is compared with what."""

import argparse
import math
from pathlib import Path
from typing import Any

import pytest

from experiments.common.cells.order import Cluster
from experiments.common.workloads import WORKLOADS
from experiments.conditions.__main__ import COMPARED, left, main, orders
from experiments.conditions.tables import beside, each_client, even_after, ratio, report, whole
from lab.errors import LabError

SECONDS = 120


def cell(
    balancer: str,
    run: int = 1,
    ops: float = 100.0,
    even_from: int = 0,
    busiest: float = 1.0,
    parts: tuple[float, float] = (0.5, 0.5),
) -> dict[str, Any]:
    """Rank 0 has all the load until a second, then half of it; ops: op/s, twice that from second 60 on.

    busiest: what the busiest MDS uses of its quota. parts: of the operations, of each of two clients.
    """
    samples, served = [], [0.0, 0.0]
    for t in range(SECONDS + 1):
        samples.append(
            {
                "t": float(t),
                "ranks": {
                    str(r): {"requests": served[r], "forwards": 0, "exported_inodes": 10 * t} for r in (0, 1)
                },
            }
        )
        part = 0.5 if t >= even_from else 1.0
        served = [served[0] + 1000.0 * part, served[1] + 1000.0 * (1.0 - part)]
    return {
        "workload": "zipf",
        "balancer": balancer,
        "run": run,
        "ranks": 2,
        "capacity": 1000.0,
        "spans": {"run": [0.0, float(SECONDS)]},
        "clients": [[float(t), ops * (2.0 if t > 60 else 1.0), 1.0, 0] for t in range(1, SECONDS + 1)],
        "samples": samples,
        "done": {
            f"c{k}": [0.0, None, {"open": ops * part, "stat": ops * part}, {}] for k, part in enumerate(parts)
        },
        "mds_cpu": 10,
        "cpu": [{"t": 2.0 * k, "busy": 1.0 * k, "used": {"mds.a": 0.2 * k * busiest}} for k in range(61)],
    }


def test_ratios_are_within_a_block() -> None:
    cells = [
        *(cell("scheduler", 1, 90.0), cell("builtin", 1, 45.0), cell("oracle", 1, 100.0)),
        *(cell("scheduler", 2, 9.0), cell("builtin", 2, 4.5), cell("oracle", 2, 10.0)),
    ]
    zipf, means = report(cells).splitlines()[2:]
    assert [x.strip() for x in zipf.split("|")[1:-1]][:8] == [
        *("zipf", "2", "74"),
        *("0.90", "0.90", "0.90", "2.00", "-"),
    ]
    assert [x.strip() for x in means.split("|")[1:-1]][3:8] == ["0.90", "0.90", "0.90", "2.00", "-"]


def test_who_waits_is_not_hidden_by_who_does_much() -> None:
    block = {
        "scheduler": cell("scheduler", ops=120.0, parts=(0.9, 0.1)),
        "oracle": cell("oracle", parts=(0.5, 0.5)),
        "builtin": cell("builtin", busiest=0.5),
    }
    assert ratio(block, "oracle", whole) == pytest.approx(1.2)
    assert each_client(block, "oracle") == pytest.approx(1.2 * math.sqrt(1.8 * 0.2))
    assert each_client(block, "builtin") is each_client(block, "none") is None
    assert each_client({**block, "scheduler": block["scheduler"] | {"settled": 300.0}}, "oracle") is None
    longer = block["scheduler"] | {"spans": {"run": [-30.0, float(SECONDS)]}}
    slower = each_client(block, "oracle") or 0.0
    assert each_client({**block, "scheduler": longer}, "oracle") == pytest.approx(
        slower * SECONDS / (SECONDS + 30.0)
    ), "the same work in more time"
    del block["oracle"]["done"]["c1"]
    assert each_client(block, "oracle") == pytest.approx(math.sqrt(1.2 * 1.8 * 1.2 * 100.0 * 2.0 * 0.1))


def test_it_is_even_when_it_stays_so() -> None:
    assert even_after(cell("scheduler", even_from=40)) == pytest.approx(48, abs=3), "loads are of ten seconds"
    assert even_after(cell("scheduler")) == 0.0
    assert math.isinf(even_after(cell("scheduler", even_from=SECONDS + 1)))
    assert math.isinf(even_after(cell("scheduler", even_from=SECONDS - 12))), "of less than ten seconds"


def arguments(**more: Any) -> argparse.Namespace:
    return argparse.Namespace(
        **{
            **{"workloads": ["zipf"], "release": "tentacle", "ranks": 5, "mds_cpu": 12, "quotas": []},
            **{"runs": 2, "seconds": 300.0, "balancers": COMPARED, "condition": "cold", "before": 300.0},
            **more,
        }
    )


def test_the_order_turns_from_block_to_block() -> None:
    found = orders(arguments())
    assert [order.balancer for order in found] == [*COMPARED, *COMPARED[1:], COMPARED[0]]
    assert {(order.settled, order.limit) for order in found} == {(0.0, 300.0)}
    assert found[0].key == "zipf-tentacle-5x12-scheduler-1", "cells from before keep their names"


def test_the_first_block_of_every_workload_comes_before_the_second_of_any() -> None:
    found = orders(arguments(workloads=["zipf", "cnn"], balancers=["builtin"]))
    assert [(order.run, order.cluster.workload.name) for order in found] == [
        *((1, "zipf"), (1, "cnn")),
        *((2, "zipf"), (2, "cnn")),
    ]


def test_settled_means_the_load_for_five_minutes_before_the_clock() -> None:
    first, *_ = orders(arguments(condition="settled"))
    assert (first.settled, first.limit) == (300.0, 300.0)
    assert first.key == "zipf-tentacle-5x12-settled-scheduler-1", "not the cell of the other condition"


def test_what_is_placed_before_the_clock_has_no_place_from_cold() -> None:
    chosen = ["builtin", "subvolume-pinning", "subvolume-pinning-mask", "dir-hash", "oracle"]
    with pytest.raises(LabError, match="subvolume-pinning, subvolume-pinning-mask, dir-hash: placed"):
        orders(arguments(balancers=chosen))
    assert len(orders(arguments(balancers=chosen, condition="settled"))) == 10


def test_a_balancer_that_needs_the_hook_gets_mdss_with_it() -> None:
    found = orders(arguments(balancers=["builtin", "lunule-mindex"], runs=1))
    assert [order.cluster.hook for order in found] == [False, True]


def test_a_table_has_holes_that_say_so() -> None:
    cells = [cell("scheduler", 1, 90.0), cell("builtin", 1, 45.0)]
    row = beside(cells, ["zipf"], ["scheduler", "builtin", "oracle"]).splitlines()[-1]
    assert row == "| zipf | 135 (2.00) | 68 | not measured |"
    assert beside(cells, ["md"], ["scheduler"]).splitlines()[-1] == "| md | not measured |"


def test_what_does_not_count_is_left_out_and_told() -> None:
    cells = [
        *(cell("scheduler", 1, 90.0), cell("builtin", 1, 45.0), cell("oracle", 1, 100.0)),
        *(
            cell("scheduler", 2, 90.0),
            cell("builtin", 2, 30.0, busiest=0.8),
            cell("oracle", 2, 90.0, busiest=0.5),
        ),
    ]
    row = beside(cells, ["zipf"], ["scheduler", "builtin"]).splitlines()[-1]
    assert row == "| zipf | 135 (2.00, 1 of 2) | 68 |"
    zipf = report(cells).splitlines()[2]
    assert [x.strip() for x in zipf.split("|")[1:-1]][3:7] == ["0.90", "0.90", "0.90", "2.00"]
    none = beside([cell("builtin", busiest=0.8)], ["zipf"], ["builtin"]).splitlines()[-1]
    assert none == "| zipf | none of 1 counts |"


def test_what_is_missing_has_names_and_a_time() -> None:
    wanted = orders(arguments(balancers=["builtin"], condition="settled"))
    names = [f"zipf-tentacle-5x12-settled-builtin-{run}" for run in (1, 2)]
    assert left(wanted) == f"not measured yet, about 0.4 h: {', '.join(names)}"
    assert left([]) == "everything is measured"


def test_ranks_that_are_not_alike_are_even_when_their_shares_are() -> None:
    cluster = Cluster(WORKLOADS["zipf12"], "tentacle", 4, 12, quotas=(8, 8, 16, 16))
    assert cluster.name == "zipf12-tentacle-4x8-8-16-16"
    assert cluster.shares == pytest.approx((2 / 3, 2 / 3, 4 / 3, 4 / 3))
    alike = cell("scheduler", even_from=0)
    assert even_after(alike | {"shares": [1.0, 1.0]}) == 0.0
    assert math.isinf(even_after(alike | {"shares": [0.5, 1.5]})), "rank 0 has three times its part"


def test_commands_that_share_a_folder_of_cells_write_reports_of_their_own(tmp_path: Path) -> None:
    for more in ([], ["--report", "headline"]):
        assert main(["--report-only", "--workloads", "line", "--out", str(tmp_path), *more]) == 0
    names = ("cold.md", "cold-figures.md", "headline.md", "headline-figures.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert "not measured yet" in (tmp_path / "headline.md").read_text()
