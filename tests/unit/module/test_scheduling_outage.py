# SPDX-License-Identifier: LGPL-2.1-or-later
"""The mon takes no writes for a while, as the scheduler moves directories."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from fake_cluster import FakeCluster, plan
from fake_cluster import Manager as Mover
from scheduled import Cluster, Manager

from mds_partitioner.act.run import APPLIED, DONE, INTENT, RUNNING
from mds_partitioner.schedule.record import ACT, OFF

FOR_GOOD = 10**9  # writes


def pins(cluster: Cluster) -> dict[int, int]:
    return {ino: d.pin for ino, d in cluster.directories.items()}


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("seed", [100, 101, 102, 103])
def test_what_was_moved_again_right_after_the_mon_was_back_comes_back(seed: int, fails_over: bool) -> None:
    """What had come during the outage could not be recorded; a later plan replaces it before it is."""
    draw = random.Random(seed)
    cluster = Cluster([draw.choice((20.0, 100.0, 250.0)) for _ in range(7)])
    before, manager = pins(cluster), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    cluster.store.refuse(0, FOR_GOOD)
    manager.run(45)
    for ino in cluster.load:
        cluster.load[ino] = draw.choice((20.0, 100.0, 400.0))
    manager.run(15)
    cluster.store.refuse(0, 0)
    if fails_over:
        manager.run(2)
        manager = Manager(cluster)
    manager.run(60)
    manager.scheduling.stop(manager.fs, rollback=True)
    for _ in range(8):
        manager.run(60)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert pins(cluster) == before


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("to", [-1, 1])
def test_what_a_later_plan_replaced_before_it_was_recorded_was_set(to: int, fails_over: bool) -> None:
    """Nor is it set again, where the later plan has put back what there was."""
    cluster = FakeCluster()
    mover = Mover(cluster)
    first = mover.journal.create(plan(cluster, {100: 2}, name="a"), [])
    mover.journal.head(first, state=RUNNING)
    mover.tick(first)
    cluster.store.fail = True
    for _ in range(5):
        mover.tick(first)
    cluster.store.fail = False
    assert (first.records[0].state, cluster.directories[100].rank) == (INTENT, 2)
    later = mover.journal.create(replace(plan(cluster, {100: to}, name="b"), created=2.0), [])
    mover.journal.head(later, state=RUNNING)
    mover.runs = [first, later]
    mover.tick(later)
    if fails_over:
        mover = Mover(cluster)
        first, later = mover.runs
    for _ in range(5):
        mover.tick(first)
        mover.tick(later)
    assert (first.head.state, first.records[0].state, later.head.state) == (DONE, APPLIED, DONE)
    assert cluster.directories[100].pin == to
