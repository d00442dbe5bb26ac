# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan in the journal that nobody can read: it is told, its name is taken, and it is removed by that."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager
from test_scheduler_commands import Module

from mds_partitioner import desk
from mds_partitioner.act.run import plan_user
from mds_partitioner.ceph.shared_option import SharedOption
from mds_partitioner.commands.overview import OverviewCommands
from mds_partitioner.errors import Busy, NotFound
from mds_partitioner.model import FsState
from mds_partitioner.monitor import health
from mds_partitioner.plan.circumstances import FORWARDS, TO_AUTH

SPOILT = "body/0000"


class Nothing:
    """No analysis, and no policy."""

    def get(self, fs: FsState) -> None:
        """Analyzer.get."""
        raise NotFound("no analysis")

    def unread(self, fs: FsState) -> str:
        """Balancer.unread."""
        return ""


class Unpoliced(Nothing):
    """Likewise."""

    def get(self, fs: FsState) -> None:
        """Balancer.get."""


class Whole(OverviewCommands, Module):
    """Also ``status``."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        nothing: Any = Nothing()
        unpoliced: Any = Unpoliced()
        self.analyzer, self.balancer = nothing, unpoliced


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
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
    made = Whole(Manager(cluster))
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


def test_no_command_that_names_it_says_that_it_does_not_exist(module: Module) -> None:
    answers = [
        module.partition_status(plan="bad"),
        module.partition_start(plan="bad"),
        module.partition_start(plan="bad", dry_run=True),
        module.partition_rollback(plan="bad"),
    ]
    assert {answer.retval for answer in answers} == {-errno.EIO}
    assert all(answer.stderr.startswith("plan 'bad' cannot be read: ValueError") for answer in answers)
    assert "(there are: good, bad)" in module.partition_status(plan="none").stderr


def test_it_is_listed_and_may_be_in_force(module: Whole) -> None:
    listed = {row["name"]: row for row in json.loads(module.partition_ls(format="json").stdout)}
    assert listed["bad"].keys() == listed["good"].keys() and listed["bad"]["state"] == "unreadable"
    assert "unreadable" in module.partition_ls().stdout
    of_fs, other = json.loads(module.show_status(format="json").stdout)
    assert of_fs.keys() == other.keys() and (of_fs["fs"], of_fs["plan"]) == ("cephfs", "good: ready")
    assert (other["in_force"], other["plan"]) == (["bad: unreadable"], "bad: unreadable")
    assert "bad: unreadable" in module.show_status().stdout
    module.partition_rm("bad")
    assert "bad" not in module.partition_ls().stdout + module.show_status().stdout


def test_it_keeps_no_other_plan_from_being_undone_and_is_named_at_the_end(module: Module) -> None:
    module.partition_start(plan="good")
    module.manager.run(20)
    assert module.manager.cluster.directories[101].pin == 1
    assert module.partition_rollback().retval == 0
    module.manager.run(20)
    assert module.manager.cluster.directories[101].pin == -1
    answer = module.partition_rollback()
    assert answer.retval == -errno.ENOENT and "cannot be read: 'bad'" in answer.stderr
    module.partition_rm("good")
    assert "cannot be read: 'bad'" in module.partition_status().stderr
    module.partition_rm("bad")
    assert "cannot be read" not in module.partition_rollback().stderr + module.partition_status().stderr


def test_of_a_scheduler_that_is_paused_the_overview_says_so(module: Whole) -> None:
    module.scheduler_start(mode="act")
    assert json.loads(module.show_status(format="json").stdout)[0]["scheduler"] == "act"
    module.partition_pause()
    assert json.loads(module.show_status(format="json").stdout)[0]["scheduler"] == "act, paused"


def test_a_scheduler_whose_record_cannot_be_read_is_not_told_to_be_off(module: Whole) -> None:
    cluster = module.manager.cluster
    assert json.loads(module.show_status(format="json").stdout)[0]["scheduler"] == "off"
    module.scheduler_start(mode="act")
    module.manager.run(40)
    seals = [key for key in cluster.store.data if key.startswith("scheduler/") and "/seal" in key]
    cluster.store.data |= dict.fromkeys(seals, "{")
    after = Whole(Manager(cluster))
    refused = [
        after.scheduler_history(),
        after.hotspots(),
        after.scheduler_stop(),
        after.scheduler_stop(rollback=True),
    ]
    assert {answer.retval for answer in refused} == {-errno.EIO}
    assert all("kept cannot be read: JSON" in a.stderr and "start it" not in a.stderr for a in refused)
    assert json.loads(after.show_status(format="json").stdout)[0]["scheduler"] == "unreadable"
    pinned = [ino for ino, at in cluster.directories.items() if at.pin >= 0]
    assert pinned and after.partition_stop().retval == -errno.ENOENT, "no plan is under way"
    while after.partition_rollback().retval == 0:
        after.manager.run(30)
    assert not [ino for ino, at in cluster.directories.items() if at.pin >= 0]
    assert after.scheduler_start().retval == 0 and after.scheduler_history().retval == 0
    after.desk.shutdown()


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
