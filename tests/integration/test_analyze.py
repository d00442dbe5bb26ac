# SPDX-License-Identifier: LGPL-2.1-or-later
"""An analysis says what the clients did."""

from typing import Any

import pytest
from support import FS, HEAVY, LIGHT, Cluster, at_work, ops_per_second, rate_of, wait_for

from lab.clients.spec import LoadSpec

# Of an operation. A stat is one; a file that is made or removed, a tenth of all each, is looked up before.
REQUESTS = 1.2
MANY = "/volumes/many"


def seen(cluster: Cluster) -> float:
    """Requests per second of all ranks, as the managers see them at this moment."""
    return float(sum(rank["requests"] or 0.0 for rank in cluster.module_json("imbalance")["ranks"]))


@pytest.fixture
def found(cluster: Cluster, load: LoadSpec) -> tuple[dict[str, Any], dict[str, float]]:
    """The analysis of a load, and what its clients say they did meanwhile."""
    with at_work(cluster, load) as run:
        # The managers' counters are some seconds old: the making of the files must be over in them too.
        wait_for("only the load is seen", lambda: 0.7 < seen(cluster) / (REQUESTS * rate_of(load)) < 1.5)
        before = len(run.lines)
        result = cluster.analyze(12)
        lines = run.lines[before:]
    cluster.analyzed = (*HEAVY, *LIGHT)
    return result, ops_per_second(lines)


def test_an_analysis_agrees_with_the_clients_and_names_the_heavy(
    found: tuple[dict[str, Any], dict[str, float]],
    cluster: Cluster,
) -> None:
    result, ops = found
    rows = {row["name"]: row for row in result["directories"]}
    assert set(rows) == {*HEAVY, *LIGHT}
    # Workloads add up to LINE's 500 points, the heaviest first.
    assert sum(row["workload"] for row in rows.values()) == pytest.approx(500, rel=0.01)
    assert {row["name"] for row in result["directories"][:2]} == set(HEAVY)
    assert {name for name, row in rows.items() if row["class"] == "heavy"} == set(HEAVY)
    assert {row["class"] for row in rows.values()} <= {"light", "moderate", "heavy"}
    measured, told = sum(row["reqs"] for row in rows.values()), REQUESTS * sum(ops.values())
    assert measured == pytest.approx(told, rel=0.3), f"the analysis says {measured}/s, the clients {told}/s"
    for name in (*HEAVY, *LIGHT):
        assert rows[name]["ranks"] == [0]
        assert rows[name]["sessions"] == 1
        assert rows[name]["pin"] == -1
    # Of the heavy ones, also what is in them.
    for name in HEAVY:
        inside = rows[name]["inside"]
        assert len(inside["directories"]) > 1 and inside["stay"] > 0.3
        within = sum(part["reqs"] for part in inside["directories"])
        assert within == pytest.approx(rows[name]["reqs"], rel=0.5), inside
    # Files and directories that were prepared, and what the load has at work at the moment.
    assert rows["h0"]["rentries"] >= 8 * 50 + 8
    # Ranks: all of it is on rank 0.
    assert [rank["rank"] for rank in result["ranks"]] == [0, 1, 2, 3]
    assert result["ranks"][0]["load"] > 10 * sum(rank["load"] for rank in result["ranks"][1:])
    assert result["recommended"] is None or 1 <= result["recommended"] <= 4
    assert result["recommended_reason"]
    assert "wss" in result["estimate"] and "reqs" in result["estimate"]
    text = cluster.module("analyze status")
    assert "recommended number of active MDSs" in text and "imbalance factor" in text


@pytest.mark.every_release_alike
def test_an_idle_file_system_is_balanced(cluster: Cluster, load: LoadSpec) -> None:
    wait_for("no load", lambda: seen(cluster) < 20)
    result = cluster.analyze(4)
    assert not result["triggered"]
    assert result["imbalance_factor"] is None or result["imbalance_factor"] < 0.05


@pytest.mark.every_release_alike
def test_an_analysis_can_be_stopped_and_is_then_judged(cluster: Cluster, load: LoadSpec) -> None:
    cluster.analyzed = ()
    cluster.partitioner("analyze", "start", FS, "--duration=600")
    again = cluster.cli("mds_partitioner", "analyze", "start", FS)
    assert again.code == 16 and FS in again.err
    busy = cluster.cli("mds_partitioner", "partition", "plan", FS)
    assert busy.code == 16 and "analysis" in busy.err
    value = cluster.module_json("analyze stop")
    assert value["state"] == "stopped"
    assert cluster.module_json("analyze stop")["state"] == "stopped"


def test_what_an_analysis_found_outlives_the_manager(cluster: Cluster, load: LoadSpec) -> None:
    before = cluster.analyze(4)
    manager = cluster.active_mgr()
    cluster.lab.monitor.command("mgr fail", who=manager)
    wait_for("another manager", lambda: cluster.active_mgr() not in ("", manager))
    wait_for("it answers", cluster.module_answers)
    after = cluster.module_json("analyze status")
    assert after["state"] == "finished"
    assert [row["name"] for row in after["result"]["directories"]] == [
        row["name"] for row in before["directories"]
    ]
    assert after["result"]["caveats"] == {
        name: pytest.approx(value, rel=1e-4) if isinstance(value, float) else value  # kept with fewer digits
        for name, value in before["caveats"].items()
    }


def test_a_long_list_of_directories_takes_few_questions(cluster: Cluster) -> None:
    """libcephfs would ask for the size of each (Client.cc, _readdir_r_cb)."""
    cluster.inside("mkdirs", [f"{MANY}/d{i:03d}" for i in range(400)])
    cluster.set(rentries_per_epoch=1)
    try:
        asked, lists = cluster.requests("getattr"), cluster.requests("readdir")
        cluster.partitioner("analyze", "start", FS, "--duration=6")
        wait_for("analysis over", lambda: cluster.module_json("analyze status")["state"] != "running")
        assert cluster.requests("readdir") > lists
        assert cluster.requests("getattr") - asked < 200
    finally:
        cluster.set(rentries_per_epoch=200)
        cluster.inside("rmtree", MANY)
