# SPDX-License-Identifier: LGPL-2.1-or-later
"""What fails and is tried again is counted, by whom it fails: looks, reads, moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager

from mds_partitioner.errors import JournalError
from mds_partitioner.schedule.record import ACT


def fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.fixture
def manager() -> Manager:
    return Manager(Cluster())


@pytest.fixture
def acting(manager: Manager) -> Manager:
    manager.scheduling.start(manager.fs, ACT)
    return manager


@pytest.mark.parametrize("error", [JournalError("no answer"), KeyError("strange")])
def test_each_look_that_fails_is_counted(
    acting: Manager, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    acting.run(10)
    assert acting.failures["looks"] == 0
    monkeypatch.setattr(acting.rounds._looker, "look", fails(error))
    monkeypatch.setattr(acting.rounds._looker, "glance", fails(error))
    acting.run(20)
    assert acting.failures["looks"] == 4


def test_a_decision_that_cannot_be_begun_is_counted(acting: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting.rounds._orders, "_plan", fails(JournalError("the mon refused it")))
    acting.run(30)
    assert acting.failures["looks"] > 0 and acting.scheduling.watch(acting.fs).problem == "the mon refused it"


def test_directories_that_cannot_be_read_are_counted(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mds_partitioner.schedule.rounds.read", fails(JournalError("the mount hangs")))
    acting.run(5)
    assert acting.failures["looks"] > 0


def test_a_step_that_cannot_be_made_is_counted_once_while_it_is_tried_again(manager: Manager) -> None:
    cluster = manager.cluster
    manager.partitioner.plans.save(plan(cluster, {100: 1, 101: 2}))
    cluster.refused = {cluster.directories[100].path}
    manager.partitioner.start(manager.fs, "p")
    manager.run(10)
    assert manager.failures["moves"] == 1
    cluster.refused = set()
    manager.run(10)
    cluster.refused = {cluster.directories[101].path}
    manager.partitioner.rollback(manager.fs, "p")
    manager.run(10)
    assert manager.failures["moves"] == 2


@pytest.mark.parametrize("error", [JournalError("no answer"), KeyError("strange")])
def test_a_plan_that_meets_what_nobody_expected_is_counted(
    manager: Manager, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    manager.partitioner.plans.save(plan(manager.cluster, {100: 1}))
    manager.partitioner.start(manager.fs, "p")
    with monkeypatch.context() as broken:
        broken.setattr(manager.mover._executor, "tick", fails(error))
        manager.run(3)
        assert manager.failures["moves"] == 3
    manager.run(10)
    assert manager.failures["moves"] == 3
