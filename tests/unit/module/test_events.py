# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``ceph progress`` is told of plans: how far they are, that they have ended, and how."""

from __future__ import annotations

import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager

from mds_partitioner.module import Module
from mds_partitioner.schedule.record import ACT, OFF

Event = tuple[str, str, float, object]


@pytest.fixture
def manager() -> Manager:
    made = Manager(Cluster())
    made.partitioner.plans.save(plan(made.cluster, {100: 1, 101: 2}))
    return made


@pytest.fixture
def told(manager: Manager) -> list[Event]:
    found: list[Event] = []
    manager.told = lambda *event: found.append(event)
    return found


def message(state: str) -> str:
    return f"mds_partitioner: plan 'p' on 'cephfs' ({state})"


def test_a_plan_ends_as_what_it_became(manager: Manager, told: list[Event]) -> None:
    manager.cluster.lag = 3
    manager.partitioner.start(manager.fs, "p")
    manager.run(20)
    assert told[0][1:] == (message("running"), 0.0, None)
    assert [event[1:] for event in told if event[3] is not None] == [(message("done"), 1.0, "")]
    assert len({event[0] for event in told}) == 1 and told[-1][3] == ""


def test_one_that_is_stopped_has_failed_and_says_why(manager: Manager, told: list[Event]) -> None:
    manager.cluster.lag = 10_000
    manager.cluster.files |= {100: 1, 101: 1}  # what is empty is not waited for
    manager.partitioner.start(manager.fs, "p")
    manager.run(3)
    why = "stopped by command when 0% of its steps had ended"
    for _ in range(2):
        manager.partitioner.stop(manager.fs)
        manager.run(5)
        assert told[-1][1:] == (message("stopped"), 0.0, why)
        manager.partitioner.start(manager.fs, "p")
        manager.run(1)
        assert told[-1][1:] == (message("running"), 0.0, None)
    assert sum(event[3] is not None for event in told) == 2, "each end is told once"


def test_a_tick_that_is_under_way_when_it_is_stopped_does_not_tell_it_again(
    manager: Manager, told: list[Event]
) -> None:
    partitioner, cluster = manager.partitioner, manager.cluster
    partitioner.start(manager.fs, "p")

    def stop(event: str) -> None:
        if event.startswith("pin"):
            cluster.watch = lambda text: None
            partitioner.stop(manager.fs)

    cluster.watch = stop
    manager.run(5)
    assert [event[1] for event in told if event[3] is not None] == [message("stopped")]


def test_none_is_left_open_when_a_stop_ends_it_while_the_mover_tells_how_far_it_is(manager: Manager) -> None:
    """An update begins an event of which the end was told anew."""
    partitioner, left = manager.partitioner, set[str]()
    stops = [lambda: partitioner.stop(manager.fs)]

    def tell(event: str, message: str, part: float, failed: object) -> None:
        if failed is None and stops:
            stops.pop()()
        left.add(event)
        if failed is not None:
            left.remove(event)

    manager.told = tell
    manager.cluster.lag = 10_000
    manager.cluster.files |= {100: 1, 101: 1}
    partitioner.start(manager.fs, "p")
    manager.run(5)
    assert (stops, left) == ([], set())


def test_of_the_schedulers_plans_only_rollbacks_are_told(manager: Manager, told: list[Event]) -> None:
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    assert len(manager.partitioner.plans.of(manager.fs)) > 1 and told == []
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert manager.scheduling.get(manager.fs).mode == OFF
    states = {event[1].rpartition(" ")[2] for event in told}
    assert states == {"(rolling-back)", "(rolled-back)"} and told[-1][3] == ""


@pytest.mark.parametrize(
    ("failed", "end"), [(None, []), ("", [("complete", "id")]), ("stopped", [("fail", "id", "stopped")])]
)
def test_an_end_is_told_after_its_message(failed: str | None, end: list[tuple[Any, ...]]) -> None:
    asked: list[tuple[Any, ...]] = []
    log = logging.getLogger("test")
    manager: Any = SimpleNamespace(remote=lambda module, *call: asked.append(call), log=log)
    Module._progress(manager, "id", "text", 0.4, failed)
    assert asked == [("update", "id", "text", 0.4, ["mds_partitioner"], True), *end]


def test_a_renamed_file_system_is_told_by_its_name_of_today(manager: Manager, told: list[Event]) -> None:
    manager.cluster.lag = 3
    manager.partitioner.start(manager.fs, "p")
    manager.cluster.state = replace(manager.cluster.state, name="renamed")
    manager.run(1)
    assert told[-1][1] == "mds_partitioner: plan 'p' on 'renamed' (running)"
