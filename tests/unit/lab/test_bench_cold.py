# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler beside others: what is compared with what."""

import argparse
import math
from typing import Any

import pytest

from lab.bench.cold import BALANCERS, even_after, orders, report
from lab.bench.order import Cluster
from lab.bench.workloads import WORKLOADS

SECONDS = 120


def cell(balancer: str, run: int = 1, ops: float = 100.0, even_from: int = 0) -> dict[str, Any]:
    """Rank 0 has all the load until a second, then half of it; ops: op/s, twice that from second 60 on."""
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
    }


def test_ratios_are_within_a_block() -> None:
    cells = [
        *(cell("scheduler", 1, 90.0), cell("builtin", 1, 45.0), cell("oracle", 1, 100.0)),
        *(cell("scheduler", 2, 9.0), cell("builtin", 2, 4.5), cell("oracle", 2, 10.0)),
    ]
    zipf, means = report(cells).splitlines()[2:]
    assert [x.strip() for x in zipf.split("|")[1:-1]][:7] == ["zipf", "2", "74", "0.90", "0.90", "2.00", "-"]
    assert [x.strip() for x in means.split("|")[1:-1]][3:7] == ["0.90", "0.90", "2.00", "-"]


def test_it_is_even_when_it_stays_so() -> None:
    assert even_after(cell("scheduler", even_from=40)) == pytest.approx(48, abs=3), "loads are of ten seconds"
    assert even_after(cell("scheduler")) == 0.0
    assert math.isinf(even_after(cell("scheduler", even_from=SECONDS + 1)))


def test_the_order_turns_from_block_to_block() -> None:
    args = argparse.Namespace(
        workloads=["zipf"],
        release="tentacle",
        ranks=5,
        mds_cpu=12,
        quotas=[],
        runs=2,
        seconds=300.0,
        balancers=BALANCERS,
    )
    found = [order.balancer for order in orders(args)]
    assert found == [*BALANCERS, *BALANCERS[1:], BALANCERS[0]]
    assert {order.limit for order in orders(args)} == {300.0}


def test_ranks_that_are_not_alike_are_even_when_their_shares_are() -> None:
    cluster = Cluster(WORKLOADS["zipf12"], "tentacle", 4, 12, quotas=(8, 8, 16, 16))
    assert cluster.name == "zipf12-tentacle-4x8-8-16-16"
    assert cluster.shares == pytest.approx((2 / 3, 2 / 3, 4 / 3, 4 / 3))
    alike = cell("scheduler", even_from=0)
    assert even_after(alike | {"shares": [1.0, 1.0]}) == 0.0
    assert math.isinf(even_after(alike | {"shares": [0.5, 1.5]})), "rank 0 has three times its part"
