# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan is executed as printed, seen in the cluster, and undone bit for bit."""

from typing import Any

import pytest
from support import FS, HEAVY, LIGHT, NOGROUP, Cluster, at_work, owner, wait_for

from lab.clients.spec import LoadSpec

PIN = "setfattr -n ceph.dir.pin"


def pinned_by(plan: dict[str, Any]) -> dict[str, int]:
    """The pins that a plan sets, by path."""
    return {s["target"]: int(s["value"]) for s in plan["steps"] if s["kind"] == "pin"}


def fullest(loads: dict[str, float]) -> float:
    """The fullest rank's part of all requests."""
    return max(loads.values()) / sum(loads.values())


def settled(cluster: Cluster, pins: dict[str, int]) -> bool:
    authority = cluster.authority()
    return all(owner(authority, path) == rank for path, rank in pins.items())


def test_fanout_pins_appear_in_get_subtrees_and_are_rolled_back(analyzed: Cluster) -> None:
    before, settings = analyzed.pins(), analyzed.fs_settings()
    plan = analyzed.plan("--heavy", "fanout")
    pins = pinned_by(plan)
    assert len(set(pins.values())) >= 3, f"a skewed load is spread over all ranks: {pins}"
    # What stays on rank 0 may need no pin.
    assert min(plan["prediction"]["load_after"].values()) > 0.0
    assert any(path.count("/") > 4 for path in pins), "the heavy ones are pinned by child directory"
    assert analyzed.pins() == before, "a plan changes nothing"
    analyzed.module("partition start")
    done = analyzed.wait_state("done")
    assert {step["state"] for step in done["steps"]} == {"done"}
    assert not [step["why"] for step in done["steps"] if step["why"]]
    now = analyzed.pins()
    assert {path: now[path] for path in pins} == pins
    assert {p: r for p, r in now.items() if p not in pins} == {
        p: r for p, r in before.items() if p not in pins
    }
    assert settled(analyzed, pins), f"{pins} is not what the MDSs serve: {analyzed.authority()}"
    assert analyzed.fs_settings() == settings, "fan-out needs no setting of the file system"
    analyzed.module("partition rollback")
    analyzed.wait_state("rolled-back")
    assert analyzed.pins() == before
    assert analyzed.fs_settings() == settings
    at_home = dict.fromkeys(pins, 0)
    wait_for("the directories are home", lambda: settled(analyzed, at_home))


def test_a_mask_appears_in_fs_get_and_is_rolled_back(analyzed: Cluster) -> None:
    before, settings = analyzed.pins(), analyzed.fs_settings()
    plan = analyzed.plan("--heavy", "mask")
    pins = pinned_by(plan)
    ranks = plan["heavy_ranks"]
    assert 2 <= len(ranks) < 4
    analyzed.module("partition start")
    analyzed.wait_state("done")
    now = analyzed.fs_settings()
    assert now["bal_rank_mask"] == plan["heavy_mask"] == hex(sum(1 << rank for rank in ranks))
    assert now["flags_state"]["balance_automate"] is True
    pinned = analyzed.pins()
    assert {path: pinned[path] for path in pins} == pins
    for name in LIGHT:
        assert pinned[f"{NOGROUP}/{name}"] >= 0, f"{name} would be the balancer's to move"
    for name in HEAVY:
        assert pinned[f"{NOGROUP}/{name}"] == -1, f"{name} is to be balanced by the mask"
    analyzed.module("partition rollback")
    analyzed.wait_state("rolled-back")
    assert analyzed.fs_settings() == settings
    assert analyzed.pins() == before


def test_the_operators_mask_and_pins_come_back_after_force(cluster: Cluster, load: LoadSpec) -> None:
    own = f"{NOGROUP}/l0"
    cluster.inside("pin", {own: 2})
    wait_for("the operator's pin", lambda: cluster.authority().get(own) == 2)
    cluster.fs_set("bal_rank_mask", "0x5")
    cluster.lab.monitor.command("fs set", fs_name=FS, var="balancer", val="mine.lua")
    try:
        before, settings = cluster.pins(), cluster.fs_settings()
        with at_work(cluster, load):
            cluster.analyze()
        refused = cluster.cli("mds_partitioner", "partition", "plan", FS, "--heavy", "mask")
        assert refused.code == 1 and "0x5" in refused.err and "--force" in refused.err
        assert (cluster.pins(), cluster.fs_settings()) == (before, settings)
        plan = cluster.plan("--heavy", "mask", "--force")
        cluster.module("partition start")
        cluster.wait_state("done")
        assert cluster.fs_settings()["bal_rank_mask"] == plan["heavy_mask"]
        cluster.module("partition rollback")
        cluster.wait_state("rolled-back")
        assert cluster.fs_settings() == settings
        assert cluster.pins() == before
    finally:
        cluster.lab.monitor.command("fs set", fs_name=FS, var="balancer", val="")


@pytest.mark.every_release_alike
def test_an_operators_pin_is_left_alone_without_force(cluster: Cluster, load: LoadSpec) -> None:
    own = f"{NOGROUP}/{LIGHT[1]}"
    cluster.inside("pin", {own: 0})
    with at_work(cluster, load):
        cluster.analyze()
    plan = cluster.plan("--heavy", "fanout")
    row = next(r for r in plan["rows"] if r["path"] == own)
    assert row["reason"] == "pinned-by-operator"
    assert own not in pinned_by(plan)
    cluster.module("partition start")
    cluster.wait_state("done")
    assert cluster.pins()[own] == 0


@pytest.mark.every_release_alike
def test_a_pin_set_after_planning_is_the_operators(analyzed: Cluster) -> None:
    plan = analyzed.plan("--heavy", "fanout")
    path, rank = next((p, r) for p, r in pinned_by(plan).items() if r != 3)
    analyzed.inside("pin", {path: 3})
    analyzed.module("partition start")
    done = analyzed.wait_state("done")
    skipped = [step for step in done["steps"] if step["state"] == "skipped"]
    assert len(skipped) == 1 and "operator" in skipped[0]["why"]
    assert analyzed.pins()[path] == 3 != rank
    analyzed.module("partition rollback")
    analyzed.wait_state("rolled-back")
    assert analyzed.pins()[path] == 3


@pytest.mark.every_release_alike
def test_a_dry_run_changes_nothing(analyzed: Cluster) -> None:
    before, settings = analyzed.pins(), analyzed.fs_settings()
    printed = analyzed.partitioner("partition", "start", FS, "--heavy", "fanout", "--dry-run", "--top", "0")
    assert PIN in printed and "predicted imbalance factor" in printed
    assert analyzed.plans() == []
    plan = analyzed.plan("--heavy", "fanout")
    again = analyzed.partitioner("partition", "start", FS, "--dry-run", "--top", "0")
    assert all(command in again for command in plan["commands"])
    assert [p["state"] for p in analyzed.plans()] == ["ready"]
    assert (analyzed.pins(), analyzed.fs_settings()) == (before, settings)


def test_replicas_are_named_no_more_when_asked_for_and_again_after_a_rollback(analyzed: Cluster) -> None:
    option = "mds_forward_all_requests_to_auth"

    def in_force() -> list[str]:
        return [analyzed.tell(rank, "config", "get", option)[option] for rank in range(4)]

    def configured() -> list[str]:
        return [entry["name"] for entry in analyzed.mon("config dump") if entry["name"] == option]

    plan = analyzed.plan("--heavy", "fanout", "--to-auth")
    assert plan["commands"][-1] == f"ceph config set mds {option} true"
    assert configured() == [], "a plan changes nothing"
    analyzed.module("partition start")
    analyzed.wait_state("done")
    wait_for("the MDSs know it", lambda: in_force() == ["true"] * 4)
    analyzed.module("partition rollback")
    analyzed.wait_state("rolled-back")
    assert configured() == []
    wait_for("the MDSs know it", lambda: in_force() == ["false"] * 4)


@pytest.mark.every_release_alike
def test_a_plan_pauses_resumes_and_stops(analyzed: Cluster) -> None:
    analyzed.set(max_moves=1)
    plan = analyzed.plan("--heavy", "fanout")
    analyzed.module("partition start")
    assert analyzed.module_json("partition pause")["state"] == "paused"
    held = analyzed.status()
    assert held["state"] == "paused" and held["progress"] < 1
    before = analyzed.pins()
    pauses = analyzed.module_json("partition pause", duration=4)
    assert pauses["until"] is not None
    # The pause ends by itself, or by command.
    wait_for("the pause is over", lambda: analyzed.status()["state"] == "running")
    analyzed.module("partition pause")
    assert analyzed.module_json("partition resume")["state"] == "running"
    assert len([r for r in before.values() if r >= 0]) < len(plan["steps"])
    assert analyzed.module_json("partition stop")["state"] == "stopped"
    after = analyzed.status()
    done = [s for s in after["steps"] if s["state"] in ("done", "intent")]
    assert len(done) < len(plan["steps"])
    # A stopped plan can be gone on with, to its end.
    analyzed.set(max_moves=16)
    analyzed.partitioner("partition", "start", FS, str(plan["name"]))
    ended = analyzed.wait_state("done")
    assert {s["state"] for s in ended["steps"]} == {"done"}


@pytest.mark.every_release_alike
def test_planning_again_after_a_finished_plan_proposes_nothing(analyzed: Cluster, load: LoadSpec) -> None:
    made = analyzed.plan("--heavy", "fanout")
    analyzed.module("partition start")
    analyzed.wait_state("done")
    # What was moved rests as long as the ranks are even: whatever the machine does, they are called so.
    analyzed.set(min_gain=0.15, imbalance_threshold=1)
    try:
        with at_work(analyzed, load):
            measured = {str(rank["rank"]): float(rank["load"]) for rank in analyzed.analyze()["ranks"]}
            # Six seconds on a busy machine tell no more than what it is nearer to.
            before, after = (fullest(made["prediction"][f"load_{when}"]) for when in ("before", "after"))
            assert fullest(measured) <= (before + after) / 2.0, measured
            # With no rest period: only the gain is in the way of another move.
            fresh = analyzed.plan("--heavy", "fanout")
            assert fresh["steps"] == [], fresh["commands"]
        analyzed.set(min_gain=0.05, rest_period=600)
        # What was where it should be has not moved, and need not rest.
        moved = {step["target"] for step in made["steps"]}
        resting = analyzed.plan("--heavy", "fanout")
        assert moved.isdisjoint(step["target"] for step in resting["steps"]), resting["commands"]
    finally:
        analyzed.set(min_gain=0.05, imbalance_threshold=0.075)


@pytest.mark.every_release_alike
def test_a_second_start_is_refused_while_one_runs(analyzed: Cluster) -> None:
    analyzed.set(max_moves=1)
    plan = analyzed.plan("--heavy", "fanout")
    other = analyzed.plan("other", "--heavy", "mask")
    analyzed.partitioner("partition", "start", FS, str(plan["name"]))
    for refused in (
        analyzed.cli("mds_partitioner", "partition", "start", FS, str(plan["name"])),
        analyzed.cli("mds_partitioner", "partition", "start", FS, str(other["name"])),
        analyzed.cli("mds_partitioner", "partition", "plan", FS),
    ):
        assert refused.code == 16, refused
        assert str(plan["name"]) in refused.err
    analyzed.set(max_moves=16)
    analyzed.wait_state("done")
    assert next(p for p in analyzed.plans() if p["name"] == "other")["state"] == "ready"


@pytest.mark.every_release_alike
@pytest.mark.parametrize("heavy", ["fanout", "mask"])
def test_a_plan_prints_the_commands_it_stands_for(analyzed: Cluster, heavy: str) -> None:
    plan = analyzed.plan("--heavy", heavy)
    assert len(plan["commands"]) == len(plan["steps"]) > 0
    text = analyzed.partitioner("partition", "start", FS, str(plan["name"]), "--dry-run", "--top", "0")
    for command in plan["commands"]:
        assert command in text
    if heavy == "mask":
        assert f"ceph fs set {FS} bal_rank_mask {plan['heavy_mask']}" in text
        assert f"ceph fs set {FS} balance_automate true" in text
    prediction = plan["prediction"]
    assert prediction["imbalance_after"] < prediction["imbalance_before"]
    assert prediction["fullest_after"] < prediction["fullest_before"]
