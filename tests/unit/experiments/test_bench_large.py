# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `experiments.large_cluster` makes of a run's samples."""

from typing import Any

import pytest

from experiments.large_cluster.__main__ import Reading, row, table

BEFORE_S, SECONDS = 25, 130


def cell(even_from: int, version: str = "now") -> dict[str, Any]:
    """Ten ranks, rank 0 at 300 req/s and the others at 180; all at 192 from a second on."""
    served, samples = [0.0] * 10, []
    for second in range(-BEFORE_S - 10, SECONDS + 1):
        even = second >= even_from
        served = [n + (192 if even else 180 if rank else 300) for rank, n in enumerate(served)]
        exported = 800 if even else 0
        ranks = {
            str(rank): {"requests": n, "forwards": 0, "exported_inodes": 0 if rank else exported}
            for rank, n in enumerate(served)
        }
        samples.append({"t": float(second), "ranks": ranks})
    clients = [[float(t), 1000.0 if t >= even_from else 900.0, 20.0] for t in range(-BEFORE_S, SECONDS + 1)]
    return {
        "balancer": version,
        "run": 1,
        "ranks": 10,
        "capacity": 300.0,
        "spans": {"before": [-BEFORE_S, 0.0], "policy": [0.0, SECONDS], "last": [SECONDS - 30.0, SECONDS]},
        "samples": samples,
        "clients": clients,
    }


def test_a_run_tells_how_uneven_it_was_and_became() -> None:
    found = row(cell(even_from=40))
    assert found["if_before"] == pytest.approx(0.062, abs=0.001)
    assert (found["fullest_before"], found["fullest_last"]) == (1.56, 1.0)
    assert (found["ops_before"], found["ops_last"]) == (900, 1000)
    assert (found["p95_before"], found["p95_last"]) == (20.0, 20.0)
    assert 40 < found["seconds_until_even"] <= 50, "loads are of ten seconds"
    assert found["inodes_migrated"] == 800


def test_a_run_that_stays_uneven_is_never_even() -> None:
    found = row(cell(even_from=SECONDS + 1, version="old"))
    assert found["seconds_until_even"] is None
    text = table({"command": "python3 -m experiments.large_cluster", "runs": [found]})
    assert "| old, run 1 | 0.062 | 1.56 | 1.56 | 900 | 900 | 20 | 20 | never | 0 |" in text
    assert "| old, median | 0.062 | 1.56 | 1.56 | 900 | 900 | 20 | 20 | never | 0 |" in text


def test_only_the_hot_clients_ask_for_all_they_can() -> None:
    workload = Reading(ranks=3, rate=50.0)
    load = workload.load("read", {name: f"/volumes/{name}/x" for name in workload.subvolumes}, "")
    assert {client.name: client.rate for client in load.clients} == {
        "rank0": 50.0,
        "rank1": 50.0,
        "rank2": 50.0,
        "hot0": None,
        "hot1": None,
    }
