# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan that another one, or a rollback, has overtaken is not half made: it is refused, and says why."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fake_cluster import SETTINGS, plan
from scheduled import Cluster, Manager

from mds_partitioner.act.choice import later_than_all
from mds_partitioner.act.run import (
    DONE,
    INTENT,
    KEPT,
    ROLLED_BACK,
    RUNNING,
    SKIPPED,
    STOPPED,
    UNDOING,
    Run,
    moved_at,
    owned_pins,
    steps_in_force,
)
from mds_partitioner.errors import BadInput, Busy

ANEW = "ceph mds_partitioner partition plan cephfs --heavy mask"


@pytest.fixture
def manager() -> Manager:
    return Manager(Cluster())


def planned(manager: Manager, name: str, moves: dict[int, int]) -> str:
    """A plan for the file system as it is now."""
    cluster = manager.cluster
    at = later_than_all(manager.partitioner.plans.known(), manager.fs.fscid, cluster.wall)
    manager.partitioner.plans.save(replace(plan(cluster, moves, name=name), created=at))
    cluster.wall += 1.0
    return name


def done(manager: Manager, name: str) -> Run:
    run = manager.partitioner.start(manager.fs, name)
    manager.run(30)
    assert run.head.state == DONE
    assert SKIPPED not in {record.state for record in run.records.values()}
    return run


def undone(manager: Manager, name: str) -> None:
    manager.partitioner.rollback(manager.fs, name)
    manager.run(60)


def refused(manager: Manager, name: str, after: str) -> None:
    before = manager.cluster.snapshot()
    told = f"plan '{name}' was made before '{after}' was executed or undone: make a new one ('{ANEW}')"
    assert told in manager.partitioner.refusal(manager.fs, manager.partitioner.plans.named(manager.fs, name))
    with pytest.raises(Busy, match=re.escape(told)):
        manager.partitioner.start(manager.fs, name)
    manager.run(10)
    assert manager.cluster.snapshot() == before


def test_what_a_start_would_say_is_known_before_it_is_tried(manager: Manager) -> None:
    def told(name: str) -> str:
        return manager.partitioner.refusal(manager.fs, manager.partitioner.plans.named(manager.fs, name))

    planned(manager, "a", {100: 3})
    assert told("a") == manager.partitioner.refusal(manager.fs, None) == ""
    away = replace(manager.fs, ranks_in=(0, 1, 2))
    run = manager.partitioner.plans.named(manager.fs, "a")
    needs = "plan 'a' needs rank 3, which 'cephfs' does not have (it has 0,1,2): "
    assert manager.partitioner.refusal(away, run) == f"{needs}make a new one ('{ANEW}')"
    manager.partitioner.start(manager.fs, "a")
    assert "is being executed already" in told("a")
    manager.run(30)
    assert told("a") == "", "there is nothing to begin"
    undone(manager, "a")
    assert told("a") == f"plan 'a' was rolled back: make a new one ('{ANEW}')"
    with pytest.raises(BadInput, match="was rolled back"):
        manager.partitioner.start(manager.fs, "a")


@pytest.mark.parametrize("ino", [100, 105])
def test_after_an_older_one_was_executed(manager: Manager, ino: int) -> None:
    """Also if no directory is in both: what it predicts is of where all of them were."""
    planned(manager, "a", {100: 1, 101: 2})
    planned(manager, "b", {ino: 3})
    done(manager, "a")
    refused(manager, "b", "a")
    done(manager, planned(manager, "c", {ino: 3}))


@pytest.mark.parametrize("ino", [100, 105])
def test_after_what_it_was_planned_upon_was_undone(manager: Manager, ino: int) -> None:
    done(manager, planned(manager, "a", {100: 1, 101: 2}))
    planned(manager, "b", {ino: 3})
    undone(manager, "a")
    refused(manager, "b", "a")
    done(manager, planned(manager, "c", {ino: 3}))


@pytest.mark.parametrize("back", [True, False])
def test_after_what_it_was_planned_upon_was_forgotten(manager: Manager, back: bool) -> None:
    """What a plan pinned that is forgotten is an operator's, or was undone before."""
    done(manager, planned(manager, "a", {100: 1, 101: 2}))
    planned(manager, "b", {100: 3})
    planned(manager, "c", {105: 3})  # replaces nothing of it
    if back:
        undone(manager, "a")
    manager.partitioner.plans.remove("a")
    told = "plan 'b' was made before what it replaces was undone or forgotten: make a new one"
    with pytest.raises(Busy, match=told):
        manager.partitioner.start(manager.fs, "b")
    done(manager, "c")


@pytest.mark.parametrize("ino", [100, 105])
@pytest.mark.parametrize("undo", [False, True])
def test_also_where_the_clock_was_put_back(manager: Manager, ino: int, undo: bool) -> None:
    planned(manager, "a", {100: 1, 101: 2})
    if undo:
        done(manager, "a")
    planned(manager, "b", {ino: 3})
    manager.cluster.wall -= 3600.0
    if undo:
        undone(manager, "a")
    else:
        done(manager, "a")
    refused(manager, "b", "a")
    done(manager, planned(manager, "c", {ino: 3}))


def test_what_was_tried_and_undone_is_as_if_it_had_not_been_where_the_clock_was_put_back(
    manager: Manager,
) -> None:
    planned(manager, "a", {100: 1})
    planned(manager, "b", {101: 2})
    manager.cluster.wall -= 3600.0
    done(manager, "a")
    undone(manager, "a")
    done(manager, "b")


def test_a_rest_is_told_by_the_clock_as_it_is(manager: Manager) -> None:
    """Plans may be ahead of a clock that was put back, and of what they moved one asks when that was."""
    planned(manager, "a", {100: 1})
    manager.cluster.wall -= 3600.0
    done(manager, "a")
    moved = moved_at(manager.partitioner.plans.known(), manager.fs.fscid)
    assert manager.cluster.wall - 30.0 <= moved[100] <= manager.cluster.wall


def test_with_force_it_may_replace_what_an_operator_has_set(manager: Manager) -> None:
    manager.cluster.directories[100].pin = 2
    made = replace(plan(manager.cluster, {100: 3}, name="b"), force=True, created=manager.cluster.wall)
    manager.partitioner.plans.save(made)
    done(manager, "b")


def test_what_was_tried_and_undone_since_is_as_if_it_had_not_been(manager: Manager) -> None:
    for name in ("a", "b", "c"):
        planned(manager, name, {100: 1, 101: 2})
    for name in ("a", "c"):  # an older one, and a newer one
        done(manager, name)
        undone(manager, name)
    done(manager, "b")


def test_what_was_only_skipped_changed_nothing(manager: Manager) -> None:
    planned(manager, "a", {100: 1})
    planned(manager, "b", {101: 2})
    manager.cluster.directories[100].pin = 3
    run = manager.partitioner.start(manager.fs, "a")
    manager.run(10)
    assert (run.head.state, run.records[0].state) == (DONE, SKIPPED)
    done(manager, "b")


def test_one_that_was_stopped_goes_on(manager: Manager) -> None:
    done(manager, planned(manager, "a", {100: 1}))
    planned(manager, "b", {100: 2, 101: 2, 102: 3, 103: 3, 104: 1, 105: 1})
    run = manager.partitioner.start(manager.fs, "b")
    manager.run(2)
    manager.partitioner.stop(manager.fs)
    assert run.head.state == STOPPED and 0 < len(run.records) < 6
    planned(manager, "c", {106: 1})  # and was never started
    done(manager, "b")


def test_one_that_was_stopped_before_anything_was_begun_does_not_go_on_after_another(
    manager: Manager,
) -> None:
    planned(manager, "a", {100: 1})
    planned(manager, "b", {100: 2})
    run = manager.partitioner.start(manager.fs, "b")
    manager.partitioner.stop(manager.fs)
    assert (run.head.state, run.heading(), run.records) == (STOPPED, RUNNING, {})
    done(manager, "a")
    refused(manager, "b", "a")


def test_the_schedulers_moves_overtake_it_too(manager: Manager) -> None:
    cluster = manager.cluster
    manager.unwanted = lambda fscid: ""
    ready = replace(plan(cluster, {100: 1}), scheduled=True, created=cluster.wall)
    plans = manager.partitioner.plans
    under_way = plans.propose(manager.fs, ready)
    planned(manager, "b", {100: 3})
    plans.admit(under_way)
    manager.run(20)
    refused(manager, "b", "scheduler-1")


def test_the_last_one_is_the_last_whatever_the_clock_was_set_to(manager: Manager) -> None:
    """What is shown is what a rollback takes."""
    plans, cluster = manager.partitioner.plans, manager.cluster
    cluster.wall += 3600.0
    done(manager, planned(manager, "a", {100: 1}))
    cluster.wall -= 3600.0
    planned(manager, "b", {101: 2})
    assert plans.newest(manager.fs, None).plan.name == "b"
    done(manager, "b")
    assert plans.newest(manager.fs, None).plan.name == "b"
    assert manager.partitioner.rollback(manager.fs, None).plan.name == "b"
    manager.run(60)
    undone(manager, "a")
    assert plans.newest(manager.fs, None).plan.name == "a", "of two that were run, the one that was so last"


@pytest.mark.parametrize("how", ["under way", "rolled back"])
def test_after_an_operator_took_something_from_a_newer_one(manager: Manager, how: str) -> None:
    """What it would set of that would count as his, and stay for ever."""
    planned(manager, "a", {100: 2})
    planned(manager, "b", {100: 3})
    cluster = manager.cluster
    cluster.lag = 1000 if how == "under way" else 1
    run = manager.partitioner.start(manager.fs, "b")
    manager.run(10)
    cluster.directories[100].pin, cluster.lag = -1, 1
    if how != "under way":
        undone(manager, "b")
    manager.run(10)
    assert run.head.state == (DONE if how == "under way" else ROLLED_BACK)
    refused(manager, "a", "b")
    done(manager, planned(manager, "c", {100: 2}))
    assert owned_pins(steps_in_force(manager.partitioner.plans.known(), 1)) == {100: 2}
    undone(manager, "c")
    assert cluster.directories[100].pin == -1


@pytest.mark.parametrize("begun", [False, True])
def test_after_an_operator_took_something_from_a_newer_one_of_the_schedulers(
    manager: Manager, begun: bool
) -> None:
    """``begun``: so it was when it was stopped, and an MDS refused it."""
    cluster, plans = manager.cluster, manager.partitioner.plans
    manager.unwanted = lambda fscid: ""
    cluster.lag = 1000

    def ordered(moves: dict[int, int]) -> Run:
        run = plans.propose(manager.fs, replace(plan(cluster, moves), scheduled=True, created=cluster.wall))
        plans.admit(run)
        return run

    old = ordered({100: 2})
    cluster.refused.add(cluster.directories[100].path)
    manager.run(3 if begun else 0)
    manager.partitioner.stop(manager.fs)
    assert (old.head.state, len(old.records)) == (STOPPED, begun)
    cluster.refused.clear()
    ordered({100: 3})
    manager.run(3)
    assert cluster.directories[100].pin == 3
    cluster.directories[100].pin = -1
    manager.run(3)
    with pytest.raises(Busy, match="before an operator changed what 'scheduler-2' had set"):
        manager.partitioner.start(manager.fs, "scheduler-1")
    manager.run(10)
    assert cluster.directories[100].pin == -1
    plans.remove("scheduler-2")
    manager.partitioner.start(manager.fs, "scheduler-1")


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize("at", ["where it was put", "on its way home"])
def test_a_rollback_that_goes_on_later_leaves_what_an_operator_took_meanwhile(
    manager: Manager, at: str, forgotten: bool
) -> None:
    """It was stopped halfway, and what a newer plan set in place of its pin an operator took back.

    ``at``: what was there when it was stopped; ``forgotten``: the newer plan is, before it goes on
    """
    cluster = manager.cluster
    done(manager, planned(manager, "a", {100: 2}))
    directory = cluster.directories[100]
    if at == "where it was put":
        cluster.refused.add(directory.path)
    cluster.lag = 1000
    old = manager.partitioner.rollback(manager.fs, "a")
    manager.run(5)
    manager.partitioner.stop(manager.fs)
    cluster.refused.clear()
    was = directory.pin
    assert (old.records[0].state, was) == (UNDOING, 2 if at == "where it was put" else 0)
    new = manager.partitioner.start(manager.fs, planned(manager, "b", {100: 3}))
    manager.run(3)
    assert directory.pin == 3
    directory.pin = was
    manager.run(3)
    assert (new.head.state, new.records[0].state) == (DONE, SKIPPED)
    cluster.lag = 1
    if forgotten:
        manager.partitioner.plans.remove("b")
    assert owned_pins(steps_in_force(manager.partitioner.plans.known(), 1)) == {}
    if not forgotten:  # nor is it while that goes on, or would when it is resumed
        manager.partitioner.rollback(manager.fs, "a")
        manager.partitioner.pause(manager.fs, 5)
        with pytest.raises(Busy, match="plan 'a' is paused, with what an operator changed"):
            manager.partitioner.plans.remove("b")
    undone(manager, "a")
    assert (old.head.state, old.records[0].state, directory.pin) == (ROLLED_BACK, KEPT, was)


def test_what_is_begun_later_leaves_what_an_operator_took_from_a_newer_one_meanwhile(
    manager: Manager,
) -> None:
    """Both are the scheduler's; the older one was stopped and goes on by hand."""
    cluster = manager.cluster
    manager.unwanted = lambda fscid: ""
    made = plan(cluster, {101: 2, 100: 2}, name="scheduler-1")
    steps = tuple(replace(step, phase=step.phase + (step.ino == 100), row=0) for step in made.steps)
    plans = manager.partitioner.plans
    older = plans.propose(manager.fs, replace(made, steps=steps, scheduled=True))
    plans.admit(older)
    manager.partitioner.stop(manager.fs)
    cluster.lag = 1000
    cluster.wall += 5.0
    manager.partitioner.start(manager.fs, "scheduler-1")
    manager.run(3)
    newer = plans.propose(manager.fs, replace(plan(cluster, {100: 3}), scheduled=True, created=cluster.wall))
    plans.admit(newer)
    manager.run(3)
    directory = cluster.directories[100]
    assert directory.pin == 3
    directory.pin = -1
    manager.run(3)
    assert newer.records[0].state == SKIPPED
    cluster.lag = 1
    manager.run(20)
    assert directory.pin == -1
    assert {record.state for i, record in older.records.items() if older.plan.steps[i].ino == 100} == {
        SKIPPED
    }


@pytest.mark.parametrize("late", [False, True])
def test_what_another_one_of_the_schedulers_has_not_done_with_is_not_begun(
    manager: Manager, late: bool
) -> None:
    """``late``: it is put back as it came too late; else an MDS has refused it so far. What is there then is
    neither what was there without the scheduler, nor does it stay: a rollback would leave a pin."""
    cluster, plans = manager.cluster, manager.partitioner.plans
    manager.unwanted = lambda fscid: ""
    directory, cluster.lag, cluster.files[100] = cluster.directories[100], 1000, 1

    def ordered(rank: int) -> Run:
        made = replace(plan(cluster, {100: rank}), scheduled=True, created=cluster.wall)
        plans.admit(run := plans.propose(manager.fs, made))
        return run

    first = ordered(2)
    if not late:
        cluster.refused.add(directory.path)
    manager.run(SETTINGS.arrival_timeout + 5 if late else 3)
    assert (first.records[0].state, directory.pin) == ((UNDOING, 0) if late else (INTENT, -1))
    second = ordered(3)
    manager.run(3)
    told = "another plan of the scheduler is still about to set it, or to put it back"
    assert (second.records[0].state, second.records[0].why) == (SKIPPED, told)
    cluster.refused.clear()
    cluster.lag = 1
    manager.run(30)
    assert (first.head.state, directory.pin) == (DONE, -1 if late else 2)
    third = ordered(3)
    manager.run(30)
    assert (third.head.state, directory.pin) == (DONE, 3)
    undone(manager, third.plan.name)
    if not late:
        undone(manager, first.plan.name)
    assert directory.pin == -1
