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


class Counted:
    """How often it was told of a failure."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.fixture
def manager() -> Manager:
    return Manager(Cluster())


@pytest.fixture
def of_moves(manager: Manager) -> Counted:
    manager.partitioner.failed = counted = Counted()
    return counted


@pytest.fixture
def of_looks(manager: Manager) -> Counted:
    manager.rounds.failed = counted = Counted()
    manager.scheduling.start(manager.fs, ACT)
    return counted


@pytest.mark.parametrize("error", [JournalError("no answer"), KeyError("strange")])
def test_each_look_that_fails_is_counted(
    manager: Manager, of_looks: Counted, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    manager.run(10)
    assert of_looks.times == 0
    monkeypatch.setattr(manager.rounds._looker, "look", fails(error))
    monkeypatch.setattr(manager.rounds._looker, "glance", fails(error))
    manager.run(20)
    assert of_looks.times == 4


def test_a_decision_that_cannot_be_begun_is_counted(
    manager: Manager, of_looks: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager.rounds._orders, "_plan", fails(JournalError("the mon refused it")))
    manager.run(30)
    assert of_looks.times > 0 and manager.scheduling.watch(manager.fs).problem == "the mon refused it"


def test_directories_that_cannot_be_read_are_counted(
    manager: Manager, of_looks: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mds_partitioner.schedule.rounds.read", fails(JournalError("the mount hangs")))
    manager.run(5)
    assert of_looks.times > 0


def test_a_step_that_cannot_be_made_is_counted_once_while_it_is_tried_again(
    manager: Manager, of_moves: Counted
) -> None:
    cluster = manager.cluster
    manager.partitioner.plans.save(plan(cluster, {100: 1, 101: 2}))
    cluster.refused = {cluster.directories[100].path}
    manager.partitioner.start(manager.fs, "p")
    manager.run(10)
    assert of_moves.times == 1
    cluster.refused = set()
    manager.run(10)
    cluster.refused = {cluster.directories[101].path}
    manager.partitioner.rollback(manager.fs, "p")
    manager.run(10)
    assert of_moves.times == 2


@pytest.mark.parametrize("error", [JournalError("no answer"), KeyError("strange")])
def test_a_plan_that_meets_what_nobody_expected_is_counted(
    manager: Manager, of_moves: Counted, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    manager.partitioner.plans.save(plan(manager.cluster, {100: 1}))
    manager.partitioner.start(manager.fs, "p")
    with monkeypatch.context() as broken:
        broken.setattr(manager.partitioner._executor, "tick", fails(error))
        manager.run(3)
        assert of_moves.times == 3
    manager.run(10)
    assert of_moves.times == 3
