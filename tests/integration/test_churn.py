# SPDX-License-Identifier: LGPL-2.1-or-later
"""What no pin divides is distributed: directories that come and go, and one hot directory of files."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support import FS, Cluster, at_work, wait_for

from lab.clients.spec import ClientSpec, LoadSpec

NAME = "churn"
WORK = "/work"


def distributed(cluster: Cluster, path: str) -> str:
    return str(cluster.inside("attribute", [path, "ceph.dir.pin.distributed"]))


@pytest.fixture
def churned(cluster: Cluster) -> Iterator[str]:
    """A subvolume in which clients make and remove directories; its path."""
    path = cluster.lab.make_subvolumes([NAME])[NAME]
    cluster.analyzed = ()
    # Few files: a directory is gone long before the analysis is over, however slow the machine is.
    clients = (
        ClientSpec(f"u{i}", path, job="churn", home=WORK, workers=8, dirs=1, files=4) for i in range(2)
    )
    try:
        with at_work(cluster, LoadSpec(tuple(clients))):
            yield path
    finally:
        # Its fragments stay where they are, and no command takes them home.
        cluster.inside("rmtree", path + WORK)
        cluster.lab.monitor.command("fs subvolume rm", target="mgr", vol_name=FS, sub_name=NAME)


def test_children_that_come_and_go_are_distributed_and_a_rollback_ends_it(
    cluster: Cluster, churned: str
) -> None:
    cluster.analyze(12)
    plan = cluster.plan("--heavy", "fanout")
    steps = [step for step in plan["steps"] if step["kind"] == "distributed"]
    assert [step["value"] for step in steps] == ["1"], json.dumps(plan)
    (target,) = (step["target"] for step in steps)
    assert target.startswith(churned), plan
    assert not [step for step in plan["steps"] if step["target"].startswith(f"{target}/")], plan
    cluster.partitioner("partition", "start", FS, str(plan["name"]))
    cluster.wait_state("done")
    assert distributed(cluster, target) == "1"
    wait_for("several ranks serve its fragments", lambda: len(cluster.ranks_of(target)) > 1)
    cluster.partitioner("partition", "rollback", FS)
    cluster.wait_state("rolled-back")
    assert distributed(cluster, target) == "0"


@pytest.fixture(params=[0, pytest.param(4, marks=pytest.mark.every_release_alike)])
def hot(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A subvolume all of whose load is on the files of one directory, with others in it or not; that one."""
    path = cluster.lab.make_subvolumes([NAME])[NAME]
    mix = {"create": 1.0, "unlink": 1.0}  # clients ask one rank for what is only read
    clients = (ClientSpec(f"u{i}", path, mix=mix, dirs=1, files=600, cache=10) for i in range(2))
    load = LoadSpec(tuple(clients))
    cluster.lab.prepare(load)
    cluster.inside("mkdirs", [f"{path}/d0000/beside{i}" for i in range(request.param)])
    try:
        with at_work(cluster, load):
            yield f"{path}/d0000"
    finally:
        cluster.inside("rmtree", f"{path}/d0000")
        cluster.lab.monitor.command("fs subvolume rm", target="mgr", vol_name=FS, sub_name=NAME)


@contextmanager
def distributing(cluster: Cluster, target: str) -> Iterator[None]:
    """The scheduler acts until a directory is distributed over several ranks, and undoes it in the end."""
    served = cluster.analyze(8)["ranks"][0]["load"]
    cluster.set(rank_capacity=max(1, round(0.8 * served)), scheduler_interval=2)
    try:
        cluster.module("scheduler start", mode="act")
        try:
            wait_for("it is distributed", lambda: distributed(cluster, target) == "1")
        except AssertionError as e:
            raise AssertionError(f"{e}\n{cluster.module_json('scheduler status')}") from None
        wait_for("several ranks serve its fragments", lambda: len(cluster.ranks_of(target)) > 1)
        yield
        cluster.module("scheduler stop", rollback=True)
        wait_for("all is undone", lambda: cluster.module_json("scheduler status")["mode"] == "off")
        assert distributed(cluster, target) == "0"
    finally:
        cluster.set(rank_capacity=0, scheduler_interval=5)


def test_the_scheduler_distributes_them_by_itself(cluster: Cluster, churned: str) -> None:
    with distributing(cluster, churned + WORK):
        assert "comes and goes" in cluster.module("scheduler history")


def test_the_scheduler_spreads_one_hot_directory_of_files(cluster: Cluster, hot: str) -> None:
    with distributing(cluster, hot):
        assert "spread by its names" in cluster.module("scheduler history")

        def served() -> bool:
            loads = [rank["requests"] for rank in cluster.module_json("scheduler status")["ranks"]]
            return bool(loads) and max(loads) < 0.8 * sum(loads)

        wait_for("several ranks serve its files", served)
