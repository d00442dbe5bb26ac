# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator gets wrong is answered with the bad value and what is allowed; nothing is changed."""

import errno
from typing import Any

import pytest
from support import FS, Cluster, wait_for

from lab.monitor import CommandError

EINVAL, ENOENT = errno.EINVAL, errno.ENOENT
ARCHIVE = "mgr/mds_partitioner/judgement/"

MISTAKES = [
    (["analyze", "start", "nofs"], ENOENT, ["nofs", FS]),
    (["analyze", "status", "nofs"], ENOENT, ["nofs", FS]),
    (["partition", "plan", "nofs"], ENOENT, ["nofs", FS]),
    (["partition", "start", "nofs"], ENOENT, ["nofs", FS]),
    (["partition", "rollback", "nofs"], ENOENT, ["nofs", FS]),
    (["imbalance", "nofs"], ENOENT, ["nofs", FS]),
    (["analyze", "start", FS, "--duration=-1"], EINVAL, ["-1", "604800"]),
    (["analyze", "start", FS, "--duration", "-1"], EINVAL, ["-1", "604800"]),
    (["analyze", "start", FS, "--duration=0"], EINVAL, ["0", "604800"]),
    (["analyze", "start", FS, "--duration=99999999"], EINVAL, ["99999999", "604800"]),
    (["analyze", "start", FS, "--directories", "not/absolute"], EINVAL, ["not/absolute"]),
    (["analyze", "start", FS, "--directories", '["/no/such"]'], ENOENT, ["/no/such"]),
    (["analyze", "start", FS, "--directories", "/"], EINVAL, ["'/'", "/home"]),
    (["partition", "plan", FS, "--heavy", "sideways"], EINVAL, ["sideways", "mask", "fanout"]),
    (["partition", "plan", FS, "--ranks", "0,9"], EINVAL, ["9", "0,1,2,3"]),
    (["partition", "plan", FS, "--ranks", "0,x"], EINVAL, ["x"]),
    (["partition", "plan", FS, "../etc"], EINVAL, ["../etc"]),
    (["partition", "start", FS, "no-such-plan"], ENOENT, ["no-such-plan"]),
    (["partition", "status", FS, "no-such-plan"], ENOENT, ["no-such-plan"]),
    (["partition", "rm", "no-such-plan", FS], ENOENT, ["no-such-plan"]),
    (["partition", "status", FS, "--top=-1"], EINVAL, ["-1", "0 for all"]),
    (["partition", "plan", FS, "--top=-1"], EINVAL, ["-1", "0 for all"]),
    (["partition", "pause", FS], ENOENT, [FS]),
    (["partition", "resume", FS], ENOENT, [FS]),
    (["partition", "stop", FS], ENOENT, [FS]),
    (["partition", "rollback", FS], ENOENT, [FS]),
]


def everything(cluster: Cluster) -> tuple[Any, ...]:
    """What a refused command must not have changed."""
    asked = [
        cluster.lab.monitor.command(f"mds_partitioner {what}", target="mgr", fs=FS, format="json")
        for what in ("analyze status", "partition ls")
    ]
    return (*asked, cluster.fs_settings())


@pytest.mark.parametrize(("command", "code", "words"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_a_mistake_is_named_and_changes_nothing(
    untouched: Cluster, command: list[str], code: int, words: list[str]
) -> None:
    before = everything(untouched)
    answer = untouched.cli("mds_partitioner", *command)
    assert answer.code == code, answer
    assert all(word in answer.err for word in words), answer.err
    assert "Traceback" not in answer.err
    assert answer.out.strip() == ""
    assert everything(untouched) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_moves", "0"), ("imbalance_epochs", "0"), ("rank_capacity", "-1"), ("top_subvolumes", "1001")],
)
def test_the_mon_refuses_a_value_that_an_option_may_not_have(
    untouched: Cluster, name: str, value: str
) -> None:
    answer = untouched.cli("config", "set", "mgr", f"mgr/mds_partitioner/{name}", value)
    assert answer.code == EINVAL and "error parsing value: Value '" in answer.err, answer
    assert "is below minimum" in answer.err or "exceeds maximum" in answer.err, answer


@pytest.mark.parametrize(
    "command",
    [
        "status",
        "imbalance",
        "analyze start",
        "analyze status",
        "analyze stop",
        "partition plan",
        "partition start",
        "partition status",
        "partition ls",
        "partition pause",
        "partition resume",
        "partition stop",
        "partition rollback",
        "balance on",
        "balance off",
        "balance status",
    ],
)
def test_an_unknown_format_is_named_and_changes_nothing(untouched: Cluster, command: str) -> None:
    before = everything(untouched)
    fs: dict[str, Any] = {} if command == "status" else {"fs": FS}
    with pytest.raises(CommandError) as refused:
        # The ceph program itself knows its formats: this is what the module says to other clients.
        untouched.lab.monitor.command(f"mds_partitioner {command}", target="mgr", format="pigeon", **fs)
    assert abs(refused.value.status) == EINVAL
    assert "pigeon" in str(refused.value)
    assert everything(untouched) == before


@pytest.mark.parametrize("mask", ["0x0", "0"])
def test_an_operators_balancer_that_is_off_stays_off(cluster: Cluster, mask: str) -> None:
    """Ceph keeps the mask as it was typed, and both are no rank to it."""
    cluster.fs_set("bal_rank_mask", mask)
    try:
        answer = cluster.cli("mds_partitioner", "balance", "on", FS)
        assert (answer.code, cluster.fs_settings()["bal_rank_mask"]) == (errno.EPERM, mask)
        assert f"bal_rank_mask {mask}" in answer.err and "bal_rank_mask all" in answer.err
        assert len(cluster.module_json("imbalance")["ranks"]) == 4
        cluster.fs_set("bal_rank_mask", "all")
        assert len(cluster.module_json("imbalance")["ranks"]) == 4
    finally:
        cluster.fs_set("bal_rank_mask", "-1")


@pytest.mark.every_release_alike
def test_a_pause_of_no_time_is_refused_and_the_plan_goes_on(analyzed: Cluster) -> None:
    analyzed.set(max_moves=1)
    analyzed.plan("--heavy", "fanout")
    analyzed.module("partition start")
    answer = analyzed.cli("mds_partitioner", "partition", "pause", FS, "--duration=-1")
    assert answer.code == EINVAL and "-1" in answer.err
    assert analyzed.status()["state"] == "running"
    removed = analyzed.cli("mds_partitioner", "partition", "rm", str(analyzed.status()["plan"]), FS)
    assert removed.code == errno.EBUSY


@pytest.mark.every_release_alike
def test_a_plan_before_any_analysis_says_what_to_run(cluster: Cluster) -> None:
    cluster.analyzed = ()
    # What is kept for the next manager is taken away: as on a file system that nobody has looked at yet.
    for key in cluster.mon("config-key ls"):
        if key.startswith(ARCHIVE):
            cluster.lab.monitor.command("config-key rm", key=key)
    cluster.lab.monitor.command("mgr fail", who=cluster.active_mgr())
    wait_for("the module answers", cluster.module_answers)
    wait_for(
        "a new manager without an analysis",
        lambda: "not analyzed" in cluster.cli("mds_partitioner", "analyze", "status", FS).err,
    )
    answer = cluster.cli("mds_partitioner", "partition", "plan", FS)
    assert answer.code == ENOENT and "analyze start" in answer.err
    wait_for("two managers", lambda: len(cluster.mon("mgr dump")["standbys"]) == 1)
