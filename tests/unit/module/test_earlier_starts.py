# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler did between earlier starts and stops becomes one plan, too, and stays apart from what it
does now."""

from __future__ import annotations

import pytest
from scheduled import Cluster, Manager
from test_merge import made, owned, undone

from mds_partitioner.act.merge import TOGETHER
from mds_partitioner.act.run import DONE, ROLLED_BACK, Run
from mds_partitioner.errors import Busy
from mds_partitioner.schedule import orders
from mds_partitioner.schedule.plans import scheduled_since
from mds_partitioner.schedule.record import ACT, OFF, Turn


def nights(manager: Manager, count: int, plans: int = 3) -> None:
    """It is started and stopped, and makes a few plans each time."""
    cluster = manager.cluster
    for night in range(count):
        manager.scheduling.start(manager.fs, ACT)
        cluster.wall += 2.0
        for i in range(plans):
            ino = 100 + i
            made(cluster, manager, {ino: (cluster.directories[ino].rank + 1 + night % 2) % 4})
        manager.scheduling.stop(manager.fs, rollback=False)
        cluster.wall += 10.0
    manager.unwanted = manager.scheduling.unwanted


def earlier(manager: Manager) -> list[Run]:
    """Its plans that were made before the last start."""
    runs = manager.partitioner.plans.of(manager.fs)
    since = scheduled_since(runs, manager.scheduling.get(manager.fs).since)
    return [run for run in runs if run not in since]


def tidied(manager: Manager, deleted: frozenset[int] = frozenset()) -> list[Run]:
    """After the first look that waits for nothing."""
    watch, runs = manager.scheduling.watch(manager.fs), manager.partitioner.plans.of(manager.fs)
    manager.rounds._orders.tidy_earlier(manager.fs, watch, {run.id for run in runs}, deleted)
    return earlier(manager)


def test_few_plans_of_several_starts_become_one() -> None:
    cluster = Cluster([0.0] * 8)
    manager, before = Manager(cluster), cluster.snapshot()
    nights(manager, 2)
    manager.scheduling.start(manager.fs, ACT)
    assert len(tidied(manager)) == 6, "they are too few"
    manager.scheduling.stop(manager.fs, rollback=False)
    nights(manager, 1)
    ours, there = owned(manager), cluster.snapshot()
    manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    (one,) = earlier(manager)
    assert len(one.plan.replaces) >= TOGETHER and one.head.state == DONE
    assert owned(manager) == owned(Manager(cluster)) == ours
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert earlier(manager) == [one] and cluster.snapshot() == there
    undone(cluster, manager)
    assert cluster.snapshot() == before


def test_the_mon_is_told_of_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves meanwhile. The oldest become one, so that the newer ones can become so, too."""
    monkeypatch.setattr(orders, "IN_A_LOOK", TOGETHER)
    manager = Manager(Cluster([0.0] * 8))
    nights(manager, 4)
    runs = manager.partitioner.plans.of(manager.fs)
    manager.scheduling.start(manager.fs, ACT)
    one, *others = tidied(manager)
    assert one.plan.replaces == tuple(run.id for run in runs[:TOGETHER]) and others == runs[TOGETHER:]


def test_what_was_deleted_since_is_left_out() -> None:
    manager = Manager(Cluster([0.0] * 8))
    nights(manager, 3)
    manager.scheduling.start(manager.fs, ACT)
    (one,) = tidied(manager, frozenset({100}))
    assert {step.ino for step in one.plan.steps} == {101, 102}


def test_what_was_made_since_the_start_is_no_part_of_it() -> None:
    cluster = Cluster([0.0] * 8)
    manager = Manager(cluster)
    nights(manager, 3)
    manager.scheduling.start(manager.fs, ACT)
    cluster.wall += 2.0
    new = [made(cluster, manager, {100 + i: 1}) for i in range(2)]
    (one,) = tidied(manager)
    assert not set(one.plan.replaces) & {run.id for run in new}
    assert manager.partitioner.plans.of(manager.fs) == [one, *new]


@pytest.mark.parametrize(("past", "merges"), [(-1, True), (0, True), (1, False)])
@pytest.mark.parametrize("put_back", [False, True])
def test_nothing_is_merged_once_something_was_decided(past: int, merges: bool, put_back: bool) -> None:
    """By its number the plan would be one of those that were made since."""
    manager = Manager(Cluster([0.0] * 8))
    nights(manager, 3)
    name = f"scheduler-{len(manager.partitioner.plans.of(manager.fs)) + past}"
    turn = Turn(1.0, ACT, "why", (), (), 0, 100.0, 1.5, plan=name, undone=put_back)
    manager.scheduling.start(manager.fs, ACT)
    manager.ledger.change(manager.scheduling.watch(manager.fs), turns=(turn,))
    assert len(tidied(manager)) == (1 if merges or put_back else 9)


def test_a_rollback_undoes_what_was_decided_since_the_start_and_says_so() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    nights(manager, 3)
    there = cluster.snapshot()
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    (one,) = earlier(manager)
    turns = manager.scheduling.get(manager.fs).turns
    assert turns and not any(turn.undone for turn in turns)
    assert cluster.snapshot() != there
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(200)
    kept = manager.scheduling.get(manager.fs)
    assert kept.mode == OFF and len(kept.turns) == len(turns) and all(turn.undone for turn in kept.turns)
    assert manager.partitioner.plans.of(manager.fs) == [one] and one.head.state != ROLLED_BACK
    assert cluster.snapshot() == there


def test_a_merge_that_fails_holds_up_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    nights(manager, 3)
    tried = list[int]()

    def busy(*given: object) -> None:
        tried.append(len(given))
        raise Busy("an operator changes one of them")

    manager.scheduling.start(manager.fs, ACT)
    with monkeypatch.context() as patched:
        patched.setattr(manager.partitioner.plans, "merge", busy)
        manager.run(60)
    assert tried and len(earlier(manager)) == 9
    assert manager.scheduling.get(manager.fs).turns
