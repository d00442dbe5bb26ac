# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator has set above a directory since the plan was made."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from fake_cluster import Directory, FakeCluster, Manager, Mount, plan

from mds_partitioner.act.run import APPLIED, DONE, INTENT, RUNNING, SKIPPED, Run
from mds_partitioner.plan.plan import Plan

GROUP, ABOVE = "/volumes/_nogroup", 50
HELD = f"pinned-by-operator: '{GROUP}' is pinned to rank 2"
MOVES = {100: 1, 101: 2, 102: 3}


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.directories[ABOVE] = Directory(GROUP)
    return made


def started(manager: Manager, made: Plan, begun: float | None = None) -> Run:
    run = manager.journal.create(made, [])
    manager.runs.append(run)
    manager.journal.head(run, state=RUNNING, started=begun)
    return run


def done(manager: Manager, run: Run) -> list[str]:
    """The states of its steps at its end."""
    for _ in range(60):
        if run.head.state == DONE:
            return [run.records[i].state for i in range(len(run.plan.steps))]
        manager.tick(run)
    raise AssertionError(run.head)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (Directory(GROUP, pin=2), HELD),
        (Directory(GROUP, distributed="1"), f"ephemeral-pin: '{GROUP}' distributes what is in it"),
        (Directory(GROUP, random=True), f"ephemeral-pin: '{GROUP}' distributes what is in it"),
    ],
)
def test_what_an_operator_has_placed_from_above_stays_there(
    group: Directory, why: str, cluster: FakeCluster
) -> None:
    manager = Manager(cluster)
    run = started(manager, plan(cluster, MOVES))
    cluster.directories[ABOVE] = replace(group)
    assert done(manager, run) == [SKIPPED] * 3
    assert {record.why for record in run.records.values()} == {why}
    assert {cluster.directories[ino].pin for ino in MOVES} == {-1}


@pytest.mark.parametrize(
    ("force", "scheduled", "begun", "state"),
    [
        (True, False, 9.0, APPLIED),
        (False, True, 1.0, APPLIED),  # the scheduler has just looked
        (False, True, 9.0, SKIPPED),  # it was stopped, and an operator has it go on
    ],
)
def test_what_places_from_above_is_not_looked_at_with_force_nor_after_the_scheduler(
    force: bool, scheduled: bool, begun: float, state: str, cluster: FakeCluster
) -> None:
    cluster.directories[ABOVE].pin = 2
    manager = Manager(cluster)
    made = replace(plan(cluster, MOVES), force=force, scheduled=scheduled)
    assert done(manager, started(manager, made, begun)) == [state] * 3


def test_what_is_begun_goes_on_and_the_rest_is_left_alone(cluster: FakeCluster) -> None:
    """One of three is set, one is refused as yet."""
    manager = Manager(cluster)
    run = started(manager, plan(cluster, MOVES))
    cluster.refused.add(cluster.directories[101].path)
    manager.tick(run)
    assert [run.records[i].state for i in run.records] == [INTENT, INTENT]
    cluster.directories[ABOVE].pin = 2
    cluster.refused.clear()
    assert done(manager, run) == [APPLIED, SKIPPED, SKIPPED]
    assert (run.records[1].why, run.records[2].why) == (HELD, HELD)


def test_below_what_this_module_has_placed_all_goes_on(cluster: FakeCluster) -> None:
    """By an earlier plan, or by a step of the same one in the same tick."""
    manager = Manager(cluster)
    cluster.directories[60] = Directory(f"{cluster.directories[100].path}/in")
    assert done(manager, started(manager, plan(cluster, {ABOVE: 2, 102: 1}))) == [APPLIED] * 2
    assert done(manager, started(manager, plan(cluster, {100: 1, 60: 3}, name="later"))) == [APPLIED] * 2


def test_what_an_operator_pins_elsewhere_above_is_his_though_it_was_ours(cluster: FakeCluster) -> None:
    manager = Manager(cluster)
    done(manager, started(manager, plan(cluster, {ABOVE: 1})))
    run = started(manager, plan(cluster, MOVES, name="later"))
    cluster.directories[ABOVE].pin = 2
    assert done(manager, run) == [SKIPPED] * 3


def test_what_is_above_several_is_read_once_a_tick(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager, read, pin = Manager(cluster), Counter[str](), Mount.pin

    def counts(self: Mount, path: str) -> int:
        read[path] += 1
        return pin(self, path)

    monkeypatch.setattr(Mount, "pin", counts)
    run = started(manager, plan(cluster, MOVES))
    manager.tick(run)
    assert len(run.records) == 2 and read[GROUP] == 1
