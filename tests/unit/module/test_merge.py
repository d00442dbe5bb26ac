# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's ended plans become one, whatever happens in between, and are undone as if they had not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from fake_cluster import Crash, Directory, plan
from hypothesis import given, settings
from hypothesis import strategies as st
from scheduled import NOGROUP, Cluster, Manager
from test_scheduling import churned, evenly

from mds_partitioner.act import registry
from mds_partitioner.act.journal import AT_ONCE
from mds_partitioner.act.merge import TOGETHER, ended, mergeable, merged
from mds_partitioner.act.run import ACTIVE, DONE, ROLLED_BACK, Run, homes, owned_pins, steps_in_force
from mds_partitioner.errors import Busy, JournalError
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.plan import DISTRIBUTED_STEP
from mds_partitioner.schedule.record import ACT, OFF

ENOUGH = 60  # events, more than a merge of eight plans takes


def made(cluster: Cluster, manager: Manager, moves: dict[int, int], option: str | None = None) -> Run:
    """A plan of the scheduler that is executed to its end, be it off or not."""
    manager.unwanted = lambda fscid: ""
    ready = replace(plan(cluster, moves, option=option), scheduled=True, created=cluster.wall)
    run = manager.partitioner.plans.propose(manager.fs, ready)
    manager.partitioner.plans.admit(run)
    for _ in range(20):
        if run.head.state == DONE:
            return run
        manager.mover.tick()
        cluster.pass_time()
        cluster.wall += 1.0
    raise AssertionError(run.head)


def several(cluster: Cluster, manager: Manager, count: int = TOGETHER) -> None:
    """Plans that move directories to and fro; the first sets an option."""
    made(cluster, manager, {}, TO_AUTH)
    for i in range(count - 1):
        ino = 100 + i % 3
        made(cluster, manager, {ino: (cluster.directories[ino].rank + 1 + i % 2) % 4})


def undone(cluster: Cluster, manager: Manager) -> None:
    """Every plan, the newest first."""
    while runs := [r for r in manager.partitioner.plans.of(manager.fs) if r.head.state != ROLLED_BACK]:
        manager.partitioner.undo(runs[-1], manager.partitioner.plans.halts.given(1))
        for _ in range(30):
            manager.mover.tick()
            cluster.pass_time()
        assert not [run for run in runs[-1:] if run.head.state in ACTIVE]


def merge(manager: Manager, deleted: Collection[int] = ()) -> None:
    """All that may become one."""
    plans = manager.partitioner.plans
    some = together(plans.of(manager.fs))
    if some:
        plans.merge(manager.fs, some, deleted)
    else:
        plans.finish(manager.fs)


def together(runs: Sequence[Run]) -> list[Run]:
    """Which of all of them may become one."""
    return mergeable(runs, {run.id for run in runs})


def owned(manager: Manager) -> dict[int, int]:
    """The pins that are ours, of what is there; one that is back at what it replaced is nobody's."""
    pins = owned_pins(steps_in_force(manager.partitioner.plans.of(manager.fs), 1))
    return {ino: pin for ino, pin in pins.items() if ino in manager.cluster.directories}


def delete(cluster: Cluster, inos: Collection[int]) -> None:
    """A user removes them."""
    for ino in inos:
        del cluster.directories[ino], cluster.load[ino]


def test_the_newest_value_and_the_oldest_that_it_replaced_are_kept() -> None:
    cluster = Cluster()
    cluster.directories[101].pin = cluster.directories[101].rank = 2
    manager, before = Manager(cluster), cluster.snapshot()
    for rank in (1, 2, 3):
        made(cluster, manager, {100: rank})
    made(cluster, manager, {101: 3})
    made(cluster, manager, {101: 2})
    runs = manager.partitioner.plans.of(manager.fs)
    one, records = merged(runs, "one")
    (step,), (row,) = one.steps, one.rows
    assert (step.ino, step.value, step.expected, step.home, step.row) == (100, "3", "-1", 0, 0)
    assert (records[0].old, row.new, one.replaces) == ("-1", (3,), tuple(run.id for run in runs))
    undone(cluster, manager)
    assert cluster.snapshot() == before


def test_what_an_operator_set_in_between_is_what_is_put_back() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made(cluster, manager, {100: 1})
    cluster.directories[100].pin = 2
    cluster.directories[100].rank = 2
    made(cluster, manager, {100: 3})
    one, records = merged(manager.partitioner.plans.of(manager.fs), "one")
    assert (one.steps[0].value, records[0].old, one.steps[0].home) == ("3", "2", 2)


def test_what_was_deleted_is_left_out_and_what_is_elsewhere_is_not() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    several(cluster, manager)
    watch, plans = manager.scheduling.watch(manager.fs), manager.partitioner.plans
    delete(cluster, [100])
    cluster.directories[101].path, cluster.directories[102].path = "/volumes/_deleting/x", f"{NOGROUP}/s3/s2"
    manager.rounds.read()
    runs = plans.of(manager.fs)
    assert owned_pins(steps_in_force(runs, 1)).keys() == {100, 101, 102}
    gone = watch.catalogue.deleted.inos
    manager.rounds._orders.tidy(manager.fs, watch, {run.id for run in runs}, gone)
    (one,) = plans.of(manager.fs)
    assert {step.ino for step in one.plan.steps} == {0, 101, 102}
    assert [(row.ino, step.row) for row, step in zip(one.plan.rows, one.plan.steps[1:])] == [
        (101, 0),
        (102, 1),
    ]


def remove(cluster: Cluster, ino: int) -> float:
    """A user removes a directory with all that is in it. Returns its load, req/s."""
    path = cluster.directories[ino].path
    gone = [i for i, at in cluster.directories.items() if f"{at.path}/".startswith(f"{path}/")]
    loads = [cluster.load.pop(i, 0.0) for i in gone if cluster.directories.pop(i)]
    cluster.churning = {i: number for i, number in cluster.churning.items() if i not in gone}
    return sum(loads)


def merged_by_looks(manager: Manager) -> Run:
    """After so many more decisions that all plans become one."""
    for i in range(TOGETHER):
        ino = 100 + i % 3
        made(manager.cluster, manager, {ino: (manager.cluster.directories[ino].rank + 1) % 4})
    watch, plans = manager.scheduling.watch(manager.fs), manager.partitioner.plans
    over = {run.id for run in plans.of(manager.fs)}
    manager.rounds._orders.tidy(manager.fs, watch, over, watch.catalogue.deleted.inos)
    (one,) = plans.of(manager.fs)
    return one


def test_that_what_was_distributed_is_deleted_is_known_after_a_merge_and_a_fail_over() -> None:
    """Or what it was in could neither be moved nor distributed again."""
    cluster = churned()
    (first,) = cluster.churning
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    assert manager.scheduling.watch(manager.fs).state.placed == {103}
    load = remove(cluster, first)
    manager.run(100)
    assert not manager.scheduling.watch(manager.fs).state.placed
    merged_by_looks(manager)
    after = Manager(cluster)
    watch = after.scheduling.watch(after.fs)
    assert watch.state.placed == {103}
    after.run(60)
    assert not watch.state.scattered
    (turn,) = (turn for turn in watch.kept.turns if turn.scatter)
    assert not (turn.undone or turn.lost), "it was done, and nobody took it back"
    second = next(i for i in range(first + 1, 5000) if evenly(i))
    cluster.directories[second] = Directory(f"{NOGROUP}/s3/next")
    cluster.load[second], cluster.churning[second] = load, 40
    after.run(100)
    assert cluster.directories[second].distributed == "1"
    assert distributed(merged_by_looks(after)) == {second}
    remove(cluster, second)
    after.run(60)
    assert distributed(merged_by_looks(after)) == {second}, "what it was in is there"
    remove(cluster, 103)
    after.run(60)
    assert distributed(merged_by_looks(after)) == set()


def distributed(run: Run) -> set[int]:
    """What a plan has distributed, by inode number."""
    return {step.ino for step in run.plan.steps if step.kind == DISTRIBUTED_STEP}


def test_a_large_plan_is_not_written_again_for_a_few_small_ones() -> None:
    cluster = Cluster([1.0] * 40)
    manager = Manager(cluster)
    made(cluster, manager, {100 + i: 1 for i in range(20)})
    several(cluster, manager)
    runs = manager.partitioner.plans.of(manager.fs)
    assert together(runs) == runs[1:]
    assert together(runs[:-1]) == []


def test_none_is_merged_across_another_plan() -> None:
    """What that one set is newer than one of them, and older than another."""
    cluster = Cluster()
    manager = Manager(cluster)
    several(cluster, manager, 2 * TOGETHER)
    runs = manager.partitioner.plans.of(manager.fs)
    running, operators = replace_head(runs[3]), replace_plan(runs[3])
    assert together([*runs, running]) == runs
    for other in (running, operators):
        assert together([*runs[:3], other, *runs[3:]]) == runs[3:]
        assert together([*runs[:TOGETHER], other, *runs[TOGETHER:-1]]) == runs[:TOGETHER]
        assert together([*runs[:5], other, *runs[5:10]]) == []
        assert ended([*runs[:3], other, *runs[3:]], {run.id for run in runs}) == runs[3:]


@pytest.mark.parametrize("looks", [False, True])
def test_what_an_operator_set_stays_at_a_rollback_though_he_looks_at_a_plan(looks: bool) -> None:
    """It is what an earlier one of ours had set, too. A plan that was never started divides none of ours."""
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    cluster.wall += 2.0
    for rank in (1, 2, 3):
        made(cluster, manager, {100: rank})
    cluster.directories[100].pin = 2
    if looks:
        ready = replace(plan(cluster, {101: 1}), name="look", created=cluster.wall)
        manager.partitioner.plans.save(ready)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(90)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert cluster.directories[100].pin == 2


def replace_plan(run: Run) -> Run:
    """The same, an operator's."""
    return Run("operators", replace(run.plan, scheduled=False), run.head, run.records)


def replace_head(run: Run) -> Run:
    """The same, still under way."""
    return Run("other", run.plan, replace(run.head, state="running"), run.records)


ORDERS = {
    "rollback": lambda manager: manager.partitioner.rollback(manager.fs, None),
    "rm": lambda manager: manager.partitioner.plans.remove("scheduler-8", manager.fs),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("when", ["before", "while it is written"])
def test_an_order_about_one_of_the_plans_that_comes_meanwhile_is_neither_lost_nor_about_more(
    order: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    for i in range(TOGETHER):
        made(cluster, manager, {100 + i: 1 + i % 3})
    pins = [d.pin for d in cluster.directories.values()]
    plans = manager.partitioner.plans
    old = together(plans.of(manager.fs))
    if when == "before":

        def ordered(*of: Any) -> Any:
            made_one = merged(*of)
            ORDERS[order](manager)
            return made_one

        monkeypatch.setattr(registry, "merged", ordered)
        plans.merge(manager.fs, old)
    else:

        def meanwhile(event: str) -> None:
            if event in ("put head", "delete"):
                cluster.watch = lambda _: None
                plans.merge(manager.fs, old)

        cluster.watch = meanwhile
        ORDERS[order](manager)
    for _ in range(30):
        manager.mover.tick()
        cluster.pass_time()
    ends = [DONE] * (TOGETHER - 1) + ([ROLLED_BACK] if order == "rollback" else [])
    for each in (manager, Manager(cluster)):
        assert [run.head.state for run in each.partitioner.plans.of(manager.fs)] == ends
    last = 100 + TOGETHER - 1
    assert cluster.directories[last].pin == (-1 if order == "rollback" else 1 + (TOGETHER - 1) % 3)
    assert [d.pin for ino, d in cluster.directories.items() if ino != last] == [
        pin for ino, pin in zip(cluster.directories, pins) if ino != last
    ]


def test_what_was_merged_meanwhile_is_not_undone_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    several(cluster, manager)
    newest = manager.partitioner.plans.of(manager.fs)[-1]
    monkeypatch.setattr(manager.partitioner.plans, "named", lambda fs, name: newest)
    merge(manager)
    with pytest.raises(Busy, match="was just merged, or is undone or removed now: see 'partition ls'"):
        manager.partitioner.rollback(manager.fs, newest.plan.name)


def test_a_look_that_a_stop_comes_into_merges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    orders, tidied = manager.rounds._orders, list[bool]()
    come_to = orders.come_to

    def stopped(*of: Any) -> Any:
        manager.scheduling.stop(manager.fs, rollback=False)
        tidied.clear()
        return come_to(*of)

    monkeypatch.setattr(orders, "come_to", stopped)
    monkeypatch.setattr(orders, "tidy", lambda *_: tidied.append(True))
    manager.run(60)
    assert manager.scheduling.get(manager.fs).mode == OFF and tidied == []


@cache
def moved() -> Cluster:
    """After several plans, once for all tests."""
    cluster = Cluster()
    several(cluster, Manager(cluster))
    return cluster


def beginning() -> tuple[Cluster, Manager]:
    """A new manager on a cluster like that."""
    cluster, like = Cluster(), moved()
    cluster.directories = {ino: replace(found) for ino, found in like.directories.items()}
    cluster.options, cluster.store.data = dict(like.options), dict(like.store.data)
    cluster.managers, cluster.wall = like.managers, like.wall
    return cluster, Manager(cluster)


@pytest.mark.parametrize("deleted", [(), (101,)])
@pytest.mark.parametrize("at", range(1, ENOUGH))
def test_a_manager_may_die_at_any_point(at: int, deleted: tuple[int, ...]) -> None:
    cluster, manager = beginning()
    delete(cluster, deleted)
    ours, there = owned(manager), cluster.snapshot()
    cluster.crash_at = len(cluster.events) + at
    died = False
    try:
        merge(manager, deleted)
    except Crash:
        died, manager = True, Manager(cluster)
        assert len(manager.partitioner.plans.of(manager.fs)) in (1, TOGETHER)
    else:
        assert len(manager.partitioner.plans.of(manager.fs)) == 1
    assert died if at == 1 else not died or at < ENOUGH - 1, "from its first event to beyond its last"
    cluster.crash_at = None
    assert (owned(manager), cluster.snapshot()) == (ours, there)
    again = Manager(cluster)
    assert owned(again) == ours
    undone(cluster, again)
    never_moved = Cluster()
    delete(never_moved, deleted)
    assert cluster.snapshot() == never_moved.snapshot()
    assert {run.head.state for run in Manager(cluster).partitioner.plans.of(manager.fs)} == {ROLLED_BACK}


def test_what_a_manager_left_that_died_within_a_merge_is_removed_bit_by_bit_and_in_no_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, manager = beginning()
    old = {run.id for run in manager.partitioner.plans.of(manager.fs)}

    def die(event: str) -> None:
        if event == "delete":
            raise Crash

    cluster.watch = die
    with pytest.raises(Crash):
        merge(manager)
    cluster.watch = lambda event: None
    after = Manager(cluster)
    after.scheduling.start(after.fs, ACT)
    removed, remove = list[str](), cluster.store.delete
    monkeypatch.setattr(cluster.store, "delete", lambda key: (removed.append(key), remove(key)))
    after.rounds._orders.tidy(after.fs, after.scheduling.watch(after.fs), (), ())
    assert not removed
    while any(id_ in key for id_ in old for key in cluster.store.data):
        before = len(removed)
        after.mover.tick()
        assert 0 < len(removed) - before <= AT_ONCE


@given(st.integers(1, ENOUGH), st.integers(0, 12))
@settings(max_examples=60)
def test_a_mon_that_refuses_for_a_while_loses_nothing(at: int, refused: int) -> None:
    cluster, manager = beginning()
    ours = owned(manager)
    cluster.store.refuse(at, refused)
    for _ in range(3):
        try:
            merge(manager)
        except JournalError:
            continue
    assert owned(manager) == ours
    cluster.store.refuse(0, 0)
    assert owned(Manager(cluster)) == ours
    undone(cluster, manager)
    assert cluster.snapshot() == Cluster().snapshot()
    after = Manager(cluster)
    assert {run.head.state for run in after.partitioner.plans.of(after.fs)} == {ROLLED_BACK}


def test_what_came_along_with_what_it_is_in_goes_back_with_it() -> None:
    """A directory goes to rank 3, a part of it gets a pin there, and then it goes on to rank 2. MDSs leave a
    part that has no pin any more where it is when what it is in is elsewhere."""
    cluster = Cluster([10.0])
    cluster.directories[200] = Directory(f"{NOGROUP}/s0/c")
    manager = Manager(cluster)
    made(cluster, manager, {100: 3})
    made(cluster, manager, {200: 1})
    made(cluster, manager, {100: 2})
    runs = manager.partitioner.plans.of(manager.fs)
    one, _ = merged(runs, "one")
    assert {step.ino: step.home for step in one.steps} == {100: 0, 200: 0}
    assert homes(steps_in_force(runs, 1)) == {100: 0, 200: 0}
    assert homes(steps_in_force(runs[1:], 1)) == {200: 3, 100: 3}, (
        "of where it had been before nothing is known"
    )


def test_keys_that_another_manager_left_go_while_plans_are_carried_out() -> None:
    cluster = Cluster()
    cluster.store.put(f"plan/{'0' * 32}/step/000000/1", "{}")
    manager = Manager(cluster)
    assert any("/step/" in key for key in cluster.store.data)
    manager.mover.tick()
    assert not any("/step/" in key for key in cluster.store.data)


def test_two_plans_that_nobody_named_and_that_are_made_at_once_get_two_names() -> None:
    cluster = Cluster()
    plans = Manager(cluster).partitioner.plans
    first, second = (replace(plan(cluster, {100: 1}), name=plans.free_name()) for _ in range(2))
    assert [plans.save(made, named=False).name for made in (first, second)] == ["plan-1", "plan-2"]
    with pytest.raises(Busy, match="'plan-1' exists already"):
        plans.save(first)
    assert [run.plan.name for run in plans.known()] == ["plan-1", "plan-2"]
