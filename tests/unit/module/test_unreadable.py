# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan in the journal that nobody can read: it is told, its name is taken, and it is removed by that."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager
from test_scheduler_commands import Module

from mds_partitioner import desk
from mds_partitioner.act.run import plan_user
from mds_partitioner.ceph.shared_option import SharedOption
from mds_partitioner.errors import Busy
from mds_partitioner.monitor import health
from mds_partitioner.plan.circumstances import FORWARDS, TO_AUTH

SPOILT = "body/0000"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Of the manager that comes after a part of the plan 'bad' was spoilt; 'good' is whole."""
    for patience in ("PATIENCE", "BUDGET"):
        monkeypatch.setattr(desk, patience, 600.0)  # s: however busy this machine is
    cluster = Cluster()
    for name, ino in (("bad", 100), ("good", 101)):
        Manager(cluster).partitioner.plans.save(plan(cluster, {ino: 1}, name=name))
    (bad,) = (run for run in Manager(cluster).partitioner.plans.of(cluster.state) if run.plan.name == "bad")
    host: Any = cluster
    SharedOption(host, TO_AUTH, plan_user(bad.id), FORWARDS).claim("")
    cluster.store.data[f"plan/{bad.id}/{SPOILT}"] = "{"
    made = Module(Manager(cluster))
    yield made
    made.desk.shutdown()


def keys(module: Module, id_: str) -> list[str]:
    return [key for key in module.manager.cluster.store.data if id_ in key]


def test_it_is_told_in_health_with_the_command_that_removes_it(module: Module) -> None:
    raised = health.collect([lambda: health.unreadable(module.partitioner.plans.unreadable, {}, {})])
    check = raised[health.JOURNAL]
    assert check["count"] == 1 and "1 record(s)" in check["summary"]
    (line,) = check["detail"]
    assert line.startswith("plan 'bad': ValueError: its parts are not those that were written")
    assert line.endswith("run 'ceph mds_partitioner partition rm bad'")


def test_it_is_removed_by_its_name_alone_and_the_others_stay(module: Module) -> None:
    (bad,) = module.partitioner.plans.unreadable
    assert len(keys(module, bad.id)) > 3
    answer = module.partition_rm("bad")
    assert (answer.retval, answer.stdout) == (0, "plan 'bad' is forgotten")
    assert keys(module, bad.id) == [], "its parts and its claim"
    assert module.partitioner.plans.unreadable == []
    assert health.unreadable(module.partitioner.plans.unreadable, {}, {}) == []
    assert module.partition_rm("bad").retval == -errno.ENOENT
    after = Manager(module.manager.cluster).partitioner.plans
    assert ([run.plan.name for run in after.known()], after.unreadable) == (["good"], [])


def test_its_name_is_taken_until_then(module: Module) -> None:
    made = plan(module.manager.cluster, {102: 1}, name="bad")
    with pytest.raises(Busy, match="a plan named 'bad' exists already"):
        module.partitioner.plans.save(made)
    module.partition_rm("bad")
    module.partitioner.plans.save(made)


@pytest.mark.parametrize(
    ("keys", "value", "why"),
    [
        ("head/", None, "its head is missing"),
        ("head/", '{"state": "paused", "until": "soon"}', "its pause ends at 'soon': that is no time"),
        ("head/", '{"state": "paused", "until": NaN}', "its pause ends at nan: that is no time"),
        ("seal", "[" * 60_000, "RecursionError"),
    ],
)
def test_a_plan_that_was_spoilt_is_told_and_keeps_what_it_knows_of_old_pins(
    keys: str, value: str | None, why: str
) -> None:
    cluster = Cluster()
    for name, ino in (("bad", 100), ("good", 101)):
        Manager(cluster).partitioner.plans.save(plan(cluster, {ino: 1}, name=name))
    (bad,) = (run for run in Manager(cluster).partitioner.plans.of(cluster.state) if run.plan.name == "bad")
    for key in [key for key in cluster.store.data if key.startswith(f"plan/{bad.id}/{keys}")]:
        del cluster.store.data[key]
        cluster.store.data |= {} if value is None else {key: value}
    left = {key for key in cluster.store.data if bad.id in key}
    after = Manager(cluster).partitioner.plans
    assert [run.plan.name for run in after.known()] == ["good"]
    (told,) = after.unreadable
    assert why in told.why and {key for key in cluster.store.data if bad.id in key} == left
