# SPDX-License-Identifier: LGPL-2.1-or-later
"""Daemons die in the middle of a plan: it is finished all the same, each step once."""

from collections.abc import Iterator
from typing import Any

import pytest
from support import Cluster, wait_for


@pytest.fixture
def asked(analyzed: Cluster) -> int:
    """How many attributes the MDSs had been asked to set before the plan."""
    return analyzed.setxattrs()


@pytest.fixture
def half_done(analyzed: Cluster, asked: int) -> Iterator[Cluster]:
    """A plan of many steps, one at a time, in its middle."""
    analyzed.set(max_moves=1)
    plan = analyzed.plan("half", "--heavy", "fanout")
    assert len(plan["steps"]) >= 8, plan["commands"]
    analyzed.module("partition start")
    wait_for("two steps are done", lambda: len(done_steps(analyzed.status())) >= 2)
    yield analyzed
    for name, pids in analyzed.lab.daemons().items():
        if not pids:
            analyzed.lab.start(name)
    wait_for("the module answers", analyzed.module_answers)


def done_steps(status: dict[str, Any]) -> dict[str, float]:
    """When each finished step was finished, by its command."""
    return {step["command"]: step["time"] for step in status["steps"] if step["state"] == "done"}


def test_a_killed_manager_is_succeeded_by_the_other_which_finishes_the_plan(
    half_done: Cluster, asked: int
) -> None:
    cluster = half_done
    plan = cluster.status()
    assert plan["state"] == "running"
    dead = cluster.active_mgr()
    cluster.kill_mgr(dead)
    wait_for("the other manager is active", lambda: cluster.active_mgr() not in ("", dead))
    wait_for("its module answers", cluster.module_answers)
    cluster.set(max_moves=16)
    ended = cluster.wait_state("done")
    # None lost:
    assert [s["command"] for s in ended["steps"]] == [s["command"] for s in plan["steps"]]
    assert {s["state"] for s in ended["steps"]} == {"done"}
    assert ended["started"] == plan["started"]
    # None twice: what was finished before was not touched, and the MDSs were asked once for each step.
    # The one under way may have been asked for again: a dead manager cannot say whether it had been.
    finished = done_steps(plan)
    assert {c: t for c, t in done_steps(ended).items() if c in finished} == finished
    assert len(ended["steps"]) <= cluster.setxattrs() - asked <= len(ended["steps"]) + 1
    pins = cluster.pins()
    assert sum(rank >= 0 for rank in pins.values()) == len(ended["steps"])
    # And what the dead one journaled can be undone by its successor.
    cluster.module("partition rollback")
    cluster.wait_state("rolled-back")
    assert set(cluster.pins().values()) == {-1}


def test_a_killed_mds_pauses_the_plan_until_its_rank_is_back(half_done: Cluster) -> None:
    cluster = half_done
    victim = cluster.mds_of(2)
    cluster.kill_mds(victim)
    paused = cluster.wait_state("paused")
    assert "rank 2" in paused["why"], paused["why"]
    assert not paused["by_operator"]
    check = wait_for("the health check", lambda: cluster.health().get("MDS_PARTITIONER_PAUSED"))
    assert check is not None
    assert "half" in str(check["detail"]) and "rank 2" in str(check["detail"])
    count = len(done_steps(paused))
    cluster.lab.start(f"mds.{victim}")
    cluster.set(max_moves=16)
    ended = cluster.wait_state("done")
    assert len(done_steps(ended)) == len(ended["steps"]) > count
    wait_for("the health check is gone", lambda: "MDS_PARTITIONER_PAUSED" not in cluster.health())
