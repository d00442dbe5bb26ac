# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `experiments.large_cluster` makes of a run's samples."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.common.cells.order import Order
from experiments.large_cluster import __main__ as large
from experiments.large_cluster.__main__ import Reading, row, table
from lab.errors import LabError

BEFORE_S, SECONDS = 25, 130

ABOUT = {"command": "python3 -m experiments.large_cluster", "ranks": 10, "mds_cpu": 9, "release": "tentacle"}


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
    text = table(ABOUT | {"runs": [found]})
    assert "10 ranks at 9 % of a core" in text
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


class FakeStage:
    """A cluster of ten."""

    def __init__(self, cluster: Any, **_: object) -> None:
        self.cluster, self.capacity = cluster, 300.0

    def __enter__(self) -> "FakeStage":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def cpu(mds: float) -> list[dict[str, Any]]:
    """Two cores of which the busiest MDS has a part of its quota of 5 %."""
    times = range(-BEFORE_S - 10, SECONDS + 1, 2)
    return [{"t": float(t), "busy": 0.5 * t, "used": {"mds.a": 0.05 * mds * t}} for t in times]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which version was run when; in the second run no MDS was full."""
    done: list[tuple[str, int]] = []

    def phases(workload: Any, text: str, key: str, seconds: float) -> str:
        return key.split("-")[1]

    def measure(stage: Any, order: Order, version: str) -> dict[str, Any]:
        done.append((version, order.run))
        found = cell(even_from=40, version=version) | {"run": order.run, "mds_cpu": 5, "cpus": 2}
        return found | {"cpu": cpu(0.5 if order.run == 2 else 1.0), "version": "abc", "date": "today"}

    monkeypatch.setattr(large, "Stage", FakeStage)
    monkeypatch.setattr(large, "requests_an_operation", lambda stage: 1.2)
    monkeypatch.setattr(large, "_phases", phases)
    monkeypatch.setattr(large, "measure", measure)
    return done


def arguments(tmp_path: Path, **more: Any) -> argparse.Namespace:
    old = tmp_path / "old.lua"
    old.write_text("return 1")
    of = {"release": "tentacle", "ranks": 10, "mds_cpu": 5, "seconds": 130.0, "runs": 2}
    return argparse.Namespace(**{**of, "old": old, "out": tmp_path / "large.json", **more})


def test_runs_of_something_else_are_not_gone_on_with(tmp_path: Path, measured: list[tuple[str, int]]) -> None:
    args = arguments(tmp_path, mds_cpu=9)
    large._measure(args, [])
    assert measured == [("old", 1), ("now", 1), ("old", 2), ("now", 2)]
    before = args.out.read_bytes()
    with pytest.raises(LabError, match=r"large.json: old, run 1 is of mds_cpu 9, not 5: give another --out"):
        large._measure(arguments(tmp_path, runs=3), [])
    with pytest.raises(LabError, match=r"is of seconds 130.0, not 60.0, old \w+, not \w+: give another"):
        args.old.write_text("return 2")
        large._measure(argparse.Namespace(**{**vars(args), "runs": 3, "seconds": 60.0}), [])
    assert args.out.read_bytes() == before and len(measured) == 4


def test_runs_that_do_not_say_what_they_are_of_are_not_gone_on_with(
    tmp_path: Path, measured: list[tuple[str, int]]
) -> None:
    args = arguments(tmp_path, runs=3)
    args.out.write_text(Path("docs/results/large.json").read_text())
    with pytest.raises(LabError, match=r"old, run 1 does not say what it is of: give another --out"):
        large._measure(args, [])
    assert not measured


def test_what_there_is_of_the_same_is_not_run_again(tmp_path: Path, measured: list[tuple[str, int]]) -> None:
    large._measure(arguments(tmp_path, runs=1), [])
    large._measure(arguments(tmp_path), [])
    assert measured == [("old", 1), ("now", 1), ("old", 2), ("now", 2)]
    runs = json.loads((tmp_path / "large.json").read_text())["runs"]
    assert [run["counts"] for run in runs] == [True, True, False, False]
    assert {(run["commit"], run["date"], run["of"]["mds_cpu"]) for run in runs} == {("abc", "today", 5)}


def test_a_run_in_which_no_mds_was_full_is_in_no_median() -> None:
    good = row(cell(even_from=40))
    slow = row(cell(even_from=SECONDS + 1)) | {"run": 2, "counts": False}
    lines = table(ABOUT | {"runs": [good, slow, slow | {"version": "old"}]}).splitlines()
    told = [line for line in lines if line.startswith("|")]
    at = {name.strip(): figures for _, name, figures in (line.split("|", 2) for line in told)}
    assert at["now, median"] == at["now, run 1"]
    assert at["now, run 2, does not count"].startswith(" 0.062 | 1.56 |")
    assert set(at["old, median"].split("|")[:-1]) == {" none counts "}
