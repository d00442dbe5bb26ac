# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names of plans are of the whole cluster: who has one is told, and none is taken for another."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager
from test_scheduler_commands import Module

from mds_partitioner import desk
from mds_partitioner.act.journal import Unreadable
from mds_partitioner.act.run import APPLIED, Record
from mds_partitioner.ceph.host import Host
from mds_partitioner.errors import Busy
from mds_partitioner.model import FsState

RM = "ceph mds_partitioner partition rm plan-1"


class Two(Cluster):
    """Two file systems: cephfs, and b, which may be removed."""

    def __init__(self) -> None:
        super().__init__()
        self.removed = False

    def file_systems(self) -> list[FsState]:
        """Host.file_systems."""
        other = replace(self.state, name="b", fscid=2)
        return [self.state] if self.removed else [self.state, other]

    fs, fs_by_id = Host.fs, Host.fs_by_id


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    for patience in ("PATIENCE", "BUDGET"):
        monkeypatch.setattr(desk, patience, 600.0)  # s: however busy this machine is
    made = Module(Manager(Two()))
    yield made
    made.desk.shutdown()


def save(module: Module, fs: str, fscid: int) -> None:
    made = plan(module.manager.cluster, {100 + fscid: 1}, name="plan-1")
    module.partitioner.plans.save(replace(made, fs=fs, fscid=fscid))


def names(module: Module) -> list[str]:
    return [run.plan.name for run in module.partitioner.plans.known()]


def test_the_refusal_of_a_name_tells_whose_it_is_and_how_it_is_removed(module: Module) -> None:
    save(module, "cephfs", 1)
    with pytest.raises(Busy) as refused:
        save(module, "b", 2)
    assert str(refused.value) == (
        "a plan named 'plan-1' exists already, of file system 'cephfs': names are of the whole cluster; "
        "choose another name"
    )
    with pytest.raises(Busy, match=f"exists already; choose another name, or remove it \\('{RM} cephfs'\\)"):
        save(module, "cephfs", 1)
    assert names(module) == ["plan-1"]


def test_it_is_told_by_the_name_that_the_file_system_has_now(module: Module) -> None:
    save(module, "cephfs", 1)
    cluster = module.manager.cluster
    cluster.state = replace(cluster.state, name="renamed")
    with pytest.raises(Busy, match="of file system 'renamed'"):
        save(module, "b", 2)


def test_one_that_cannot_be_read_may_be_anybodys_and_is_not_offered_to_be_forgotten(module: Module) -> None:
    save(module, "cephfs", 1)
    plans = module.partitioner.plans
    plans.unreadable = [Unreadable("id", "plan-1", "a later version wrote it")]
    plans._runs = []
    with pytest.raises(Busy) as refused:
        save(module, "b", 2)
    assert str(refused.value).endswith("; choose another name: it cannot be read, see 'ceph health detail'")


def test_a_plan_of_a_removed_file_system_is_forgotten_by_its_name_alone(module: Module) -> None:
    save(module, "c", 3)
    told = f"of file system 'c', which was removed: .*; choose another name, or remove it \\('{RM}'\\)"
    with pytest.raises(Busy, match=told):
        save(module, "b", 2)
    assert module.partition_rm("plan-1").retval == 0
    assert names(module) == []


def test_where_there_are_several_the_plans_own_is_named_or_it_stays(module: Module) -> None:
    save(module, "cephfs", 1)
    refused = module.partition_rm("plan-1")
    assert refused.retval == -errno.EINVAL and names(module) == ["plan-1"]
    assert refused.stderr == f"plan 'plan-1' is of file system 'cephfs': name that, too ('{RM} cephfs')"
    assert module.partition_rm("plan-1", "b").retval == -errno.ENOENT and names(module) == ["plan-1"]
    assert module.partition_rm("plan-1", "cephfs").retval == 0 and names(module) == []


def test_where_there_is_one_it_need_not_be_named(module: Module) -> None:
    save(module, "cephfs", 1)
    cluster = module.manager.cluster
    assert isinstance(cluster, Two)
    cluster.removed = True
    assert module.partition_rm("plan-1").retval == 0 and names(module) == []


def test_one_in_force_is_not_offered_to_be_forgotten(module: Module) -> None:
    """Nobody would put back what it set."""
    save(module, "cephfs", 1)
    (run,) = module.partitioner.plans.known()
    run.records[0] = Record(APPLIED, "-1", 1.0)
    with pytest.raises(Busy) as refused:
        save(module, "cephfs", 1)
    back = "ceph mds_partitioner partition rollback cephfs plan-1"
    told = f"; choose another name: what it set is in force ('{back}' puts that back)"
    assert str(refused.value).endswith(told)
    forgotten = module.partition_rm("plan-1", "cephfs")
    assert forgotten.stdout == "plan 'plan-1' is forgotten; what 1 of its steps set stays, and is yours now"
