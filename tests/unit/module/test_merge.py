# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's ended plans become one, whatever happens in between, and are undone as if they had not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scheduled import Cluster, Manager
from world import Crash, plan

from mds_partitioner.act.merge import TOGETHER, mergeable, merged
from mds_partitioner.act.run import ACTIVE, DONE, ROLLED_BACK, Run, owned_pins
from mds_partitioner.errors import JournalError
from mds_partitioner.plan.circumstances import TO_AUTH

ENOUGH = 60  # events, more than a merge of eight plans takes


def made(world: Cluster, manager: Manager, moves: dict[int, int], option: str | None = None) -> Run:
    """A plan of the scheduler that is executed to its end."""
    ready = replace(plan(world, moves, option=option), scheduled=True, created=world.wall)
    run = manager.partitioner.propose(manager.fs, ready)
    manager.partitioner.admit(run)
    for _ in range(20):
        if run.head.state == DONE:
            return run
        manager.partitioner.tick()
        world.pass_time()
        world.wall += 1.0
    raise AssertionError(run.head)


def several(world: Cluster, manager: Manager, count: int = TOGETHER) -> None:
    """Plans that move directories to and fro; the first sets an option."""
    made(world, manager, {}, TO_AUTH)
    for i in range(count - 1):
        ino = 100 + i % 3
        made(world, manager, {ino: (world.directories[ino].rank + 1 + i % 2) % 4})


def undone(world: Cluster, manager: Manager) -> None:
    """Every plan, the newest first."""
    while runs := [r for r in manager.partitioner.all(manager.fs) if r.head.state != ROLLED_BACK]:
        manager.partitioner.undo(runs[-1])
        for _ in range(30):
            manager.partitioner.tick()
            world.pass_time()
        assert not [run for run in runs[-1:] if run.head.state in ACTIVE]


def owned(manager: Manager) -> dict[int, int]:
    """The pins that are ours; one that is back at what it replaced is nobody's."""
    return owned_pins(manager.partitioner.all(manager.fs), 1)


def test_the_newest_value_and_the_oldest_that_it_replaced_are_kept() -> None:
    world = Cluster()
    world.directories[101].pin = world.directories[101].rank = 2
    manager, before = Manager(world), world.snapshot()
    for rank in (1, 2, 3):
        made(world, manager, {100: rank})
    made(world, manager, {101: 3})
    made(world, manager, {101: 2})
    runs = manager.partitioner.all(manager.fs)
    one, records = merged(runs, "one")
    (step,), (row,) = one.steps, one.rows
    assert (step.ino, step.value, step.expected, step.home, step.row) == (100, "3", "-1", 0, 0)
    assert (records[0].old, row.new, one.replaces) == ("-1", (3,), tuple(run.id for run in runs))
    undone(world, manager)
    assert world.snapshot() == before


def test_what_an_operator_set_in_between_is_what_is_put_back() -> None:
    world = Cluster()
    manager = Manager(world)
    made(world, manager, {100: 1})
    world.directories[100].pin = 2
    world.directories[100].rank = 2
    made(world, manager, {100: 3})
    one, records = merged(manager.partitioner.all(manager.fs), "one")
    assert (one.steps[0].value, records[0].old, one.steps[0].home) == ("3", "2", 2)


def test_a_large_plan_is_not_written_again_for_a_few_small_ones() -> None:
    world = Cluster([1.0] * 40)
    manager = Manager(world)
    made(world, manager, {100 + i: 1 for i in range(20)})
    several(world, manager)
    runs = manager.partitioner.all(manager.fs)
    assert mergeable(runs) == runs[1:]
    assert mergeable(runs[:-1]) == []
    assert mergeable([*runs, replace_head(runs[-1])]) == []


def replace_head(run: Run) -> Run:
    """The same, still under way."""
    return Run("other", run.plan, replace(run.head, state="running"), run.records)


@cache
def moved() -> Cluster:
    """After several plans, once for all tests."""
    world = Cluster()
    several(world, Manager(world))
    return world


def beginning() -> tuple[Cluster, Manager]:
    """A new manager on a cluster like that."""
    world, like = Cluster(), moved()
    world.directories = {ino: replace(found) for ino, found in like.directories.items()}
    world.options, world.store.data = dict(like.options), dict(like.store.data)
    world.managers, world.wall = like.managers, like.wall
    return world, Manager(world)


@pytest.mark.parametrize("at", range(1, ENOUGH))
def test_a_manager_may_die_at_any_point(at: int) -> None:
    world, manager = beginning()
    ours, there = owned(manager), world.snapshot()
    world.crash_at = len(world.events) + at
    try:
        manager.partitioner.merge(manager.fs, 0.0)
    except Crash:
        manager = Manager(world)
        assert len(manager.partitioner.all(manager.fs)) in (1, TOGETHER)
    world.crash_at = None
    assert (owned(manager), world.snapshot()) == (ours, there)
    again = Manager(world)
    assert owned(again) == ours
    undone(world, again)
    assert world.snapshot() == Cluster().snapshot()
    assert {run.head.state for run in Manager(world).partitioner.all(manager.fs)} == {ROLLED_BACK}


@given(st.integers(1, ENOUGH), st.integers(0, 12))
@settings(max_examples=60)
def test_a_mon_that_refuses_for_a_while_loses_nothing(at: int, refused: int) -> None:
    world, manager = beginning()
    ours = owned(manager)
    world.store.refuse(at, refused)
    for _ in range(3):
        try:
            manager.partitioner.merge(manager.fs, 0.0)
        except JournalError:
            continue
    assert owned(manager) == ours
    world.store.refuse(0, 0)
    assert owned(Manager(world)) == ours
    undone(world, manager)
    assert world.snapshot() == Cluster().snapshot()
    after = Manager(world)
    assert {run.head.state for run in after.partitioner.all(after.fs)} == {ROLLED_BACK}
