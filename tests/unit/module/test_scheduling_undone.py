# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ``scheduler stop --rollback`` puts back, whatever clocks, operators and other plans did meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import SETTINGS, FakeCluster, plan
from scheduled import Cluster, Manager, fewer
from test_scheduling import churned

from mds_partitioner.act import registry
from mds_partitioner.act.core import NOT_HOME
from mds_partitioner.act.executor import ABREAST
from mds_partitioner.act.merge import merged
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    INTENT,
    KEPT,
    PAUSED,
    ROLLED_BACK,
    RUNNING,
    SKIPPED,
    UNDONE,
    Head,
    Run,
)
from mds_partitioner.clock import Now
from mds_partitioner.errors import Busy, JournalError, NotFound, Unavailable
from mds_partitioner.model import HealthCheck
from mds_partitioner.monitor.sampler import scheduler_state
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.report.scheduler import Status, history_text, status_text
from mds_partitioner.schedule import orders as orders_module
from mds_partitioner.schedule.core.state import Past
from mds_partitioner.schedule.core.view import Move, Scatter
from mds_partitioner.schedule.looker import Looker
from mds_partitioner.schedule.plans import owned, scheduled_since, undone
from mds_partitioner.schedule.record import ACT, ADVISE, OFF, Turn, gains, put_back

AT_LAST = 100  # s, within which a cold cluster of this size is even


def pins(cluster: Cluster) -> dict[int, int]:
    return {ino: d.pin for ino, d in cluster.directories.items()}


def acted() -> Manager:
    """Of a cluster that its scheduler has made even; it is off since."""
    manager = Manager(Cluster())
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(10)
    return manager


def moved_twice(cluster: Cluster, manager: Manager) -> tuple[str, list[int]]:
    """Loads jump until a directory was moved a second time: its path, and the ranks that it was pinned to."""
    for k in range(12):
        for ino in cluster.load:
            cluster.load[ino] = 20.0
        for ino in list(cluster.load)[k % 6 :: 3]:
            cluster.load[ino] = 400.0
        manager.run(150)
        set_ = [event.split() for event in cluster.events if event.startswith("pin ")]
        path, times = Counter(words[1] for words in set_).most_common(1)[0]
        if times > 1:
            return path, [int(words[2]) for words in set_ if words[1] == path]
    raise AssertionError("nothing was moved twice")


@pytest.mark.parametrize("by", [2.0, 60.0])
def test_all_comes_back_when_the_clock_was_put_back_after_the_start(by: float) -> None:
    cluster = Cluster()
    before, manager = cluster.snapshot(), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    cluster.wall -= by
    manager.run(AT_LAST)
    assert cluster.snapshot() != before
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(300)
    assert cluster.snapshot() == before
    assert manager.scheduling.get(manager.fs).mode == OFF


def test_plans_are_undone_in_their_order_after_a_wrong_clock_and_a_fail_over() -> None:
    cluster = Cluster((100.0,) * 6)
    before, manager = cluster.snapshot(), Manager(cluster, fewer(scheduler_rest=10))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(1)
    cluster.wall += 3600
    manager.run(AT_LAST)
    cluster.wall -= 3600
    moved_twice(cluster, manager)
    manager = Manager(cluster)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(400)
    assert cluster.snapshot() == before


def test_what_an_earlier_start_did_is_not_undone_when_the_clock_was_put_back_between() -> None:
    manager = acted()
    cluster = manager.cluster
    before = pins(cluster)
    cluster.wall -= 7200
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert pins(cluster) == before != {}
    assert manager.scheduling.get(manager.fs).mode == OFF


def test_history_says_rolled_back_of_what_was() -> None:
    manager = acted()
    cluster = manager.cluster
    before, first = pins(cluster), len(manager.scheduling.get(manager.fs).turns)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    cluster.wall += 3600
    manager.run(20)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert pins(cluster) == before
    assert first and not any(turn.undone for turn in manager.scheduling.get(manager.fs).turns[:first])


def test_a_plan_that_is_older_than_what_is_in_force_is_not_begun() -> None:
    cluster = Cluster()
    before, manager = cluster.snapshot(), Manager(cluster)
    older = plan(cluster, dict.fromkeys(range(100, 108), 3))
    manager.partitioner.plans.save(replace(older, force=True, created=cluster.wall))
    manager.run(2)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(10)
    with pytest.raises(Busy, match=r"'p' was made before 'scheduler-.*make a new one"):
        manager.partitioner.start(manager.fs, "p")
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert cluster.snapshot() == before
    manager.partitioner.start(manager.fs, "p")  # nothing is in force any more


def test_what_an_operator_tells_an_mds_of_its_ticks_outlives_a_fail_over() -> None:
    cluster = Cluster()
    manager = Manager(cluster, fewer(scheduler_moves=1))
    manager.scheduling.start(manager.fs, ACT)
    while not cluster.hurried:
        manager.run(1)
    cluster.lag = 5
    manager.run(1)
    manager = Manager(cluster, fewer(scheduler_moves=1))
    cluster.hurried["m1"] = 3.0
    manager.run(300)
    assert cluster.hurried == {"m1": 3.0}


def test_an_option_that_an_operator_set_between_two_starts_comes_back() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(50)
    cluster.options[TO_AUTH] = "false"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert cluster.options[TO_AUTH] == "false"


def test_a_rollback_that_was_paused_goes_on_when_it_is_ordered_again() -> None:
    cluster = Cluster()
    before, manager = cluster.snapshot(), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    cluster.lag = 10
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(3)
    manager.scheduling.pause(manager.fs, None)
    manager.partitioner.pause(manager.fs, None)
    manager.scheduling.keep(manager.fs)
    manager.run(10)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(300)
    assert cluster.snapshot() == before


@pytest.mark.parametrize("under_way", [False, True])
def test_an_operators_pin_that_is_as_an_earlier_one_of_ours_stays(under_way: bool) -> None:
    cluster = Cluster((100.0,) * 6, ranks=3)
    manager = Manager(cluster, fewer(scheduler_rest=10))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    path, ranks = moved_twice(cluster, manager)
    at = next(d for d in cluster.directories.values() if d.path == path)
    at.pin = ranks[0]
    manager.run(30)
    if under_way:
        cluster.lag = 1000
        one = next(i for i, d in cluster.directories.items() if i in cluster.load and d is not at)
        run = manager.partitioner.plans.propose(
            manager.fs, plan(cluster, {one: (cluster.directories[one].rank + 1) % 3})
        )
        run.plan = replace(run.plan, scheduled=True)
        manager.partitioner.plans.admit(run)
        manager.run(3)
        assert run.head.state == RUNNING
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(10)
    cluster.lag = 1
    manager.run(200)
    assert at.pin == ranks[0]
    assert all(d.pin == -1 for d in cluster.directories.values() if d is not at)


def ordered(manager: Manager, moves: dict[int, int], seconds: int) -> Run:
    """A plan of the scheduler's, and some time for it."""
    made = replace(plan(manager.cluster, moves), scheduled=True, created=manager.cluster.wall)
    run = manager.partitioner.plans.propose(manager.fs, made)
    manager.partitioner.plans.admit(run)
    manager.run(seconds)
    return run


def moved_once() -> tuple[Cluster, Manager]:
    """The scheduler acts, has moved a directory, and has nothing more to move."""
    cluster = Cluster([0.0] * 6)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    assert ordered(manager, {100: 2}, 10).head.state == DONE
    return cluster, manager


def put_back_on_its_way() -> tuple[Cluster, Manager, Run]:
    """It is about to move it again, and something else, when an operator sets the pin that was there."""
    cluster, manager = moved_once()
    cluster.lag = 1000
    run = ordered(manager, {100: 3, 101: 1}, 3)
    assert cluster.directories[100].pin == 3
    cluster.directories[100].pin = 2
    manager.run(3)
    assert (run.records[0].state, run.records[1].state) == (SKIPPED, INTENT)
    return cluster, manager, run


def ours(manager: Manager) -> dict[int, int]:
    """Pins that pass for the module's."""
    made = owned(manager.partitioner.plans.of(manager.fs), 1, manager.cluster.wall)
    values = {ino: int(value) for (_, ino, _), some in made.values.items() for value in some[:1] if ino}
    assert values == made.pins
    return values


def undo_each(manager: Manager) -> None:
    """An operator rolls back one plan after the other."""
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(5)
    for run in manager.partitioner.plans.of(manager.fs)[::-1]:
        manager.partitioner.rollback(manager.fs, run.plan.name)
        manager.run(30)


@pytest.mark.parametrize("arrived", [False, True])
@pytest.mark.parametrize("each", [False, True])
def test_an_operators_pin_that_no_tick_saw_before_the_rollback_stays(each: bool, arrived: bool) -> None:
    """Whether it came while the second move was under way, or after it."""
    cluster, manager = moved_once()
    cluster.lag = 1 if arrived else 1000
    ordered(manager, {100: 3}, 10)
    cluster.directories[100].pin = 2
    if each:
        undo_each(manager)
    else:
        manager.scheduling.stop(manager.fs, rollback=True)
    cluster.lag = 1
    manager.run(100)
    assert cluster.directories[100].pin == 2 and ours(manager) == {}


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("order", ["at once", "it has ended", "each", "merged", "forgotten"])
def test_an_operators_pin_that_is_as_ours_was_before_the_move_under_way_stays(
    order: str, fails_over: bool
) -> None:
    cluster, manager, run = put_back_on_its_way()
    if order != "at once":
        cluster.lag = 1
        manager.run(10)
        assert run.head.state == DONE
    if order == "forgotten":
        manager.partitioner.plans.remove(run.plan.name, manager.fs)
    if order == "merged":
        manager.partitioner.plans.merge(manager.fs, manager.partitioner.plans.of(manager.fs)[1:])
    if fails_over:
        manager = Manager(cluster)
    assert ours(manager) == ({} if order == "forgotten" else {101: 1})
    if order == "each":
        undo_each(manager)
    else:
        manager.scheduling.stop(manager.fs, rollback=True)
        manager.run(2)
        cluster.lag = 1
        manager.run(100)
        assert manager.scheduling.get(manager.fs).mode == OFF
    pins = {ino: d.pin for ino, d in cluster.directories.items() if d.pin != -1}
    assert pins == {100: 2} | ({101: 1} if order == "forgotten" else {})


def test_an_older_plan_that_is_not_merged_does_not_get_back_what_an_operator_took() -> None:
    cluster, manager, run = put_back_on_its_way()
    cluster.lag = 1
    manager.run(10)
    plans = manager.partitioner.plans
    ordered(manager, {102: 1}, 10)
    assert plans.of(manager.fs)[2] is run
    plans.merge(manager.fs, plans.of(manager.fs)[2:])
    for each in (manager, Manager(cluster)):
        assert [record.state for record in each.partitioner.plans.of(each.fs)[1].records.values()] == [KEPT]
        assert ours(each) == {101: 1, 102: 1}


def test_what_he_took_from_a_plan_that_is_forgotten_while_older_ones_are_merged_stays_his(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, manager, run = put_back_on_its_way()
    cluster.lag = 1
    manager.run(10)
    plans = manager.partitioner.plans

    def meanwhile(*given: Any) -> Any:
        made_one = merged(*given)
        plans.remove(run.plan.name, manager.fs)
        return made_one

    monkeypatch.setattr(registry, "merged", meanwhile)
    plans.merge(manager.fs, plans.of(manager.fs)[:2])
    for each in (manager, Manager(cluster)):
        assert len(each.partitioner.plans.of(each.fs)) == 2 and ours(each) == {}


def test_what_an_operator_left_to_the_scheduler_again_is_its_own_again() -> None:
    cluster, manager, _ = put_back_on_its_way()
    cluster.lag = 1
    manager.run(10)
    cluster.directories[100].pin = -1
    ordered(manager, {100: 1}, 10)
    assert ours(manager) == {100: 1, 101: 1}
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert all(d.pin == -1 for d in cluster.directories.values())


def test_an_operators_pin_that_a_rollback_kept_is_not_taken_by_the_next() -> None:
    """It is as an earlier plan had set it."""
    cluster, manager = moved_once()
    for rank in (1, 3):
        ordered(manager, {100: rank}, 10)
    cluster.directories[100].pin = 2
    undo_each(manager)
    assert cluster.directories[100].pin == 2 and ours(manager) == {}


def test_an_operators_plan_from_which_he_took_a_pin_divides_those_of_the_scheduler() -> None:
    """Else what was set before it would be as new as what was set after it."""
    cluster, manager = moved_once()
    manager.scheduling.start(manager.fs, ADVISE)
    manager.partitioner.plans.save(replace(plan(cluster, {100: 3}), created=cluster.wall))
    cluster.lag = 1000
    manager.partitioner.start(manager.fs, "p")
    manager.run(3)
    cluster.directories[100].pin = 2
    cluster.lag = 1
    manager.run(10)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    ordered(manager, {101: 1}, 10)
    assert ours(manager) == {101: 1}
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert {ino: d.pin for ino, d in cluster.directories.items() if d.pin != -1} == {100: 2}


def test_what_was_skipped_is_told_before_its_plan_becomes_a_part_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster((100.0,) * 12)
    manager = Manager(cluster, fewer(scheduler_moves=1))
    manager.scheduling.start(manager.fs, ACT)
    tidy, seals = manager.rounds._orders.tidy, list[str]()

    def at_a_bad_moment(*given: object) -> None:
        manager.mover.tick()  # the mover's own loop
        tidy(*given)

    def pin_one(event: str) -> None:
        if event == "put seal":
            seals.append(event)
            if len(seals) == 8:
                there = (d for i, d in cluster.directories.items() if i >= 100 and d.pin < 0 and d.rank == 0)
                next(there).pin = 0

    monkeypatch.setattr(manager.rounds._orders, "tidy", at_a_bad_moment)
    cluster.watch = pin_one
    manager.run(400)
    assert [each for turn in manager.scheduling.get(manager.fs).turns for each in turn.left]


@pytest.mark.parametrize("undoes", [False, True])
def test_nothing_is_stuck_while_nobody_looks(undoes: bool) -> None:
    cluster = Cluster((1000.0, 1000.0, *(100.0 if undoes else 10.0,) * 4), ranks=3)
    for ino in (100, 101):
        cluster.directories[ino].pin = 0
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(120)
    if undoes:
        cluster.lag = 10_000
        manager.scheduling.stop(manager.fs, rollback=True)
    else:
        manager.scheduling.pause(manager.fs, None)
    for ino in cluster.load:
        cluster.load[ino] = 0.0
    manager.run(400)
    kept, watch = manager.scheduling.get(manager.fs), manager.scheduling.watch(manager.fs)
    assert scheduler_state(kept, watch, cluster.now(), "").stuck == 0.0


def test_while_it_undoes_the_status_tells_no_decision_of_before() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    cluster.lag = 20
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(5)
    fs = manager.fs
    kept, watch = manager.scheduling.get(fs), manager.scheduling.watch(fs)
    text = status_text(Status(fs, kept, watch, manager.scheduling.next_look(fs)), 5)
    assert "undoes what it did" in text and "looks again" not in text and "partition ls cephfs" in text
    assert "problem" not in text
    watch.problem = f"the mon did not answer {'and again ' * 15}within 20 s"
    text = status_text(Status(fs, kept, watch, None), 5)
    assert f"problem: {watch.problem}" in text.replace("\n", " "), "why it does not go on"
    assert max(map(len, text.splitlines())) <= 100
    shown = scheduler_state(kept, watch, cluster.now(), "")
    assert (shown.why, shown.problem, shown.hot) == ("undoes what it did", watch.problem, None)


def status_of(manager: Manager) -> str:
    fs = manager.fs
    return status_text(Status(fs, manager.scheduling.get(fs), manager.scheduling.watch(fs), None), 5)


def test_one_that_is_off_tells_what_fails_as_long_as_it_does() -> None:
    """A stop that the mon has not taken holds in this manager only."""
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    cluster.store.fail = True
    with pytest.raises(JournalError):
        manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(8)
    assert "is off" in status_of(manager) and "problem: the mon refused" in status_of(manager)
    cluster.store.fail = False
    manager.run(8)
    assert "is off" in status_of(manager) and "problem" not in status_of(manager)


def test_what_failed_before_it_was_stopped_is_not_told_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise Unavailable("the engine failed")

    cluster = Cluster([0.0] * 8)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(20)
    for look in ("look", "glance"):
        monkeypatch.setattr(Looker, look, fails)
    manager.run(60)
    watch = manager.scheduling.watch(manager.fs)
    state = scheduler_state(watch.kept, watch, cluster.now(), "")
    assert state.problem == "the engine failed" and 50.0 <= state.failing <= 60.0
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(1)
    assert (watch.problem, watch.failing_since) == ("", None)


def test_a_move_that_arrived_in_a_pause_is_there() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(1)
    while not manager.scheduling.watch(manager.fs).state.moving:
        manager.run(1)
    manager.scheduling.pause(manager.fs, None)
    manager.run(600)
    assert manager.scheduling.resume(manager.fs)
    manager.run(60)
    moves = [past for turn in manager.scheduling.get(manager.fs).turns for past in turn.moves]
    assert moves and not any(past.lost for past in moves)


def test_an_order_that_comes_while_the_end_of_an_undo_is_written_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    ended = orders_module.rolled_back

    def halted(*given: Any) -> Any:
        manager.scheduling.halt(manager.fs)
        return ended(*given)

    monkeypatch.setattr(orders_module, "rolled_back", halted)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    watch = manager.scheduling.watch(manager.fs)
    assert (watch.kept.mode, watch.problem) == (ADVISE, "")
    assert Manager(cluster).scheduling.get(manager.fs).mode == ADVISE


@pytest.mark.parametrize("at", ["put seal", "delete", "put head"])
def test_a_stop_while_what_is_to_be_undone_is_made_ready_holds(at: str) -> None:
    cluster = Cluster((100.0,) * 12)
    manager = Manager(cluster, fewer(scheduler_moves=3))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    before = pins(cluster)

    def stopped(event: str) -> None:
        if event == at:
            cluster.watch = lambda _: None
            assert manager.scheduling.halt(manager.fs)
            with pytest.raises(NotFound):
                manager.partitioner.stop(manager.fs)

    assert len(manager.partitioner.plans.of(manager.fs)) > 1
    manager.scheduling.stop(manager.fs, rollback=True)
    cluster.watch = stopped
    manager.run(60)
    assert manager.scheduling.get(manager.fs).mode == ADVISE
    assert pins(cluster) == before


def waiting(manager: Manager, ino: int) -> Run:
    """A plan of the scheduler that was admitted and has not begun, as the cluster is not well."""
    made = replace(plan(manager.cluster, {ino: 1, ino + 1: 2}), scheduled=True, created=manager.cluster.wall)
    run = manager.partitioner.plans.propose(manager.fs, made)
    manager.partitioner.plans.admit(run)
    manager.cluster.checks = {"FS_DEGRADED": HealthCheck("degraded")}
    manager.run(3)
    assert (run.head.state, run.records) == (PAUSED, {})
    return run


def in_mode(manager: Manager, order: str) -> None:
    if order == "advise":
        manager.scheduling.start(manager.fs, ADVISE)
    else:
        manager.scheduling.stop(manager.fs, rollback=order == "rollback")


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("order", ["stop", "advise", "rollback"])
def test_what_waits_when_the_scheduler_is_stopped_is_not_begun(order: str, fails_over: bool) -> None:
    cluster = Cluster([0.0] * 8)
    manager, before = Manager(cluster), pins(cluster)
    manager.scheduling.start(manager.fs, ACT)
    runs = [waiting(manager, ino) for ino in (100, 102)]
    in_mode(manager, order)
    if fails_over and order != "rollback":
        manager.run(3)
        manager = Manager(cluster)
    cluster.checks = {}
    manager.run(30)
    left = {run.plan.name: run for run in manager.partitioner.plans.of(manager.fs)}
    for run in (left.get(run.plan.name) for run in runs):
        if order == "rollback":
            assert run is None, "there was nothing to undo"
        else:
            assert run is not None and run.head.state == DONE
            told = {(record.state, record.why) for record in run.records.values()}
            assert told == {(SKIPPED, "the scheduler was stopped")}
    assert pins(cluster) == before


def test_what_the_scheduler_decided_is_not_begun_before_it_is_known_whether_it_acts() -> None:
    cluster = Cluster([0.0] * 8)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    run = waiting(manager, 100)
    cluster.checks, unwanted = {}, manager.unwanted
    manager.unwanted = lambda _: None
    manager.run(10)
    assert (run.head.state, run.records) == (RUNNING, {})
    manager.unwanted = unwanted
    manager.run(10)
    assert run.head.state == DONE and cluster.directories[100].pin == 1


def test_what_an_operator_has_started_goes_on_while_the_scheduler_does_not_act() -> None:
    cluster = Cluster([0.0] * 8)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    run = waiting(manager, 100)
    manager.scheduling.halt(manager.fs)
    manager.partitioner.stop(manager.fs)
    manager.run(3)
    manager.partitioner.start(manager.fs, run.plan.name)
    manager.run(3)
    assert (run.head.state, run.records) == (PAUSED, {}), "a guard holds it, as before"
    cluster.checks = {}
    manager.run(10)
    assert run.head.state == DONE and cluster.directories[100].pin == 1


@pytest.mark.parametrize("starts", [False, True])
def test_a_stop_while_steps_are_made_begins_none_of_the_others(starts: bool) -> None:
    """Nor does a start within the tick: what is set after it would not be undone with it."""
    cluster = Cluster([0.0] * 4 * ABREAST)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    moves = dict.fromkeys(range(100, 100 + 4 * ABREAST), 1)
    made = replace(plan(cluster, moves), scheduled=True, created=cluster.wall)
    run = manager.partitioner.plans.propose(manager.fs, made)
    manager.partitioner.plans.admit(run)

    def stop(event: str) -> None:
        if event.startswith("pin"):
            cluster.watch = lambda _: None
            manager.scheduling.stop(manager.fs, rollback=False)
            if starts:
                manager.scheduling.start(manager.fs, ACT)

    cluster.watch = stop
    manager.run(20)
    states = Counter(record.state for record in run.records.values())
    assert run.head.state == DONE and states.keys() <= {APPLIED, SKIPPED, UNDONE}
    assert states[APPLIED] <= ABREAST < states[SKIPPED] + states[UNDONE]
    assert {r.why for r in run.records.values() if r.state != APPLIED} == {"the scheduler was stopped"}


@pytest.mark.parametrize("jump", [5.0, 0.0, -3600.0])
def test_a_plan_is_not_admitted_after_a_stop_and_a_start_while_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    plans, begun = manager.partitioner.plans, list[str]()
    admit, withdraw, left = plans.admit, plans.withdraw, list[str]()
    monkeypatch.setattr(plans, "admit", lambda run: (begun.append(run.id), admit(run)))
    monkeypatch.setattr(plans, "withdraw", lambda run: (left.append(run.id), withdraw(run)))

    def stop_and_start(event: str) -> None:
        if event == "put seal":
            cluster.watch = lambda _: None
            cluster.wall += jump
            manager.scheduling.stop(manager.fs, rollback=False)
            manager.scheduling.start(manager.fs, ACT)

    cluster.watch = stop_and_start
    manager.run(60)
    assert len(left) == 1 and left[0] not in begun and len(begun) > 1
    since = manager.scheduling.get(manager.fs).since
    assert all(run.plan.created >= since for run in manager.partitioner.plans.of(manager.fs))
    assert pins(cluster) != pins(Cluster()), "it acts on what it decides after the start"


def test_a_pause_with_an_end_holds_by_the_clock_that_it_was_given_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler's steady clock begins with the epoch, the plans' with the host (clock.py)."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 1000, Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    waiting(manager, 100)
    cluster.checks = {}
    manager.run(3)
    manager.partitioner.pause(manager.fs, 86_400)
    manager.scheduling.stop(manager.fs, rollback=False)
    monkeypatch.setattr(manager.scheduling, "_now", lambda: Now(cluster.wall, cluster.wall))
    with pytest.raises(Busy, match="of the scheduler is paused"):
        manager.scheduling.start(manager.fs, ACT)


def test_beside_what_is_held_of_its_own_it_does_not_act() -> None:
    """Nobody would be told that nothing of it goes on."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 1000, Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    run = waiting(manager, 100)
    cluster.checks = {}
    manager.run(3)
    manager.scheduling.pause(manager.fs, None)
    manager.partitioner.pause(manager.fs, None)
    manager.scheduling.start(manager.fs, ACT)  # it does: the pause goes on
    assert manager.scheduling.get(manager.fs).paused
    manager.scheduling.stop(manager.fs, rollback=False)
    with pytest.raises(
        Busy, match=f"'{run.plan.name}' of the scheduler is paused: '.* partition resume ceph"
    ):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == OFF
    manager.scheduling.start(manager.fs, ADVISE)
    with pytest.raises(Busy, match="is paused"):
        manager.scheduling.start(manager.fs, ACT)
    manager.partitioner.resume(manager.fs)
    manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == ACT


def test_what_was_undone_is_no_misjudgement() -> None:
    scatter = Scatter(7, "/s", 0, (0, 1), 100.0, 50.0, "")
    turn = Turn(1.0, ACT, "why", (), (), 0, 100.0, 1.5, after=2.0, plan="scheduler-1", scatter=(scatter,))
    assert gains([turn], 0.0).settled == 1
    assert gains([replace(turn, undone=True)], 0.0).settled == 0


def distributing() -> tuple[Cluster, int]:
    """A directory in which much is made and removed has most of the load."""
    cluster = churned()
    (parent,) = cluster.churning
    return cluster, parent


@pytest.mark.parametrize("forgotten", [False, True])
def test_what_an_operator_rolled_back_does_not_count_as_distributed_any_more(forgotten: bool) -> None:
    cluster, parent = distributing()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"
    (turn,) = (t for t in manager.scheduling.get(manager.fs).turns if t.scatter)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.partitioner.rollback(manager.fs, turn.plan)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "0"
    if forgotten:
        manager.partitioner.plans.remove(turn.plan, manager.fs)
    manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.watch(manager.fs).state.scattered == {}
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1", "it may be again"


def test_what_was_to_be_distributed_when_it_was_stopped_is_not() -> None:
    cluster, parent = distributing()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)

    def spreads() -> bool:
        return any(turn.scatter for turn in manager.scheduling.get(manager.fs).turns)

    while not spreads():
        manager.rounds.read()
        manager.rounds.tick()
        cluster.pass_time()
        cluster.wall, cluster.steady = cluster.wall + 1, cluster.steady + 1
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(30)
    assert cluster.directories[parent].distributed == "0"
    manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.watch(manager.fs).state.scattered == {}
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"


def test_of_a_decision_with_moves_what_is_not_distributed_is_lost() -> None:
    scatter = Scatter(7, "/d", 0, (0, 1), 10.0, 5.0, "why")
    move = Past(Move(8, "/e", 0, 1, 10.0, 5.0, 10.0, "why"), 1.0)
    turn = Turn(1.0, ACT, "why", (move,), (10.0,), 0, 100.0, 1.5, plan="scheduler-1", scatter=(scatter,))
    (kept,) = put_back([turn], {7})
    assert kept is turn
    (lost,) = put_back([turn], ())
    assert (lost.lost, lost.undone) == ((7,), False) and put_back([lost], ()) == (lost,)
    (undone,) = put_back([replace(turn, moves=())], ())
    assert undone.undone
    both = replace(turn, moves=(), scatter=(scatter, replace(scatter, ino=9)))
    (half,) = put_back([both], {9})
    assert (half.lost, half.undone) == ((7,), False), "the other one is distributed"


def test_a_rollback_of_all_is_named_as_such_when_it_is_to_act_again() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    cluster.lag = 20
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(3)
    with pytest.raises(Busy, match="is being undone"):
        manager.scheduling.start(manager.fs, ACT)


def test_an_option_that_an_operator_sets_as_it_is_about_to_be_set_comes_back() -> None:
    cluster = Cluster()
    set_ = []

    def changed(event: str) -> None:
        if event.startswith(f"put option/{TO_AUTH}") and not set_:
            set_.append(event)
            cluster.options[TO_AUTH] = "false"

    cluster.watch = changed
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(200)
    assert (manager.scheduling.get(manager.fs).mode, cluster.options[TO_AUTH]) == (OFF, "false")
    assert set_


def ended(number: int, ino: int, state: str, *replaces: str) -> Run:
    """A plan of the scheduler's."""
    made = plan(FakeCluster(), {ino: 1}, name=f"scheduler-{number}")
    return Run(f"id-{number}", replace(made, scheduled=True, replaces=replaces), Head(state))


def test_what_was_merged_is_undone_with_what_stands_for_it() -> None:
    def turn(number: int, ino: int) -> Turn:
        move = Past(Move(ino, "/e", 0, 1, 10.0, 5.0, 10.0, "why"), 1.0)
        return Turn(1.0, ACT, "why", (move,), (10.0,), 0, 100.0, 1.5, plan=f"scheduler-{number}")

    def marked(*runs: Run) -> list[int]:
        return [i for i, turn in enumerate(undone(turns, runs)) if turn.undone]

    advice = replace(turn(0, 100), mode=ADVISE, plan="")
    turns = (turn(1, 100), turn(2, 101), turn(5, 100), turn(6, 102), advice)
    first, last = ended(3, 100, DONE, "id-1", "id-2"), ended(7, 100, DONE, "id-5", "id-4")
    other = ended(6, 102, ROLLED_BACK)
    assert marked(first, last) == []
    assert marked(first, other, last) == [3]
    assert marked(first, replace(last, head=Head(ROLLED_BACK))) == [2], "the first was moved twice"
    both = [replace(run, head=Head(ROLLED_BACK)) for run in (first, last)]
    assert marked(*both) == [0, 2], "of another directory none stands for the second"
    again = ended(1, 103, ROLLED_BACK)
    assert marked(again) == [], "the name of a plan that was forgotten is given again"


def test_history_and_log_tell_what_a_rollback_has_not_brought_home(caplog: pytest.LogCaptureFixture) -> None:
    """The plan, which alone knew, is forgotten."""
    manager = acted()
    cluster, since = manager.cluster, manager.scheduling.get(manager.fs).since
    moved = {p for turn in manager.scheduling.get(manager.fs).turns for _, p in turn.about}
    cluster.lag = 10_000
    with caplog.at_level("WARNING"):
        manager.scheduling.stop(manager.fs, rollback=True)
        manager.run(2 * SETTINGS.arrival_timeout * len(moved))
    kept = manager.scheduling.get(manager.fs)
    assert (kept.mode, scheduled_since(manager.partitioner.plans.of(manager.fs), since)) == (OFF, [])
    assert {d.pin for d in cluster.directories.values()} == {-1}
    away = {d.path for d in cluster.directories.values() if d.path in moved and d.rank}
    assert away and all(f"{path!r}: {NOT_HOME} 300 s" in caplog.text for path in away)
    after_a_fail_over = Manager(cluster).scheduling.get(manager.fs)
    told = history_text(after_a_fail_over, None, 0)
    assert all(f"{path!r} was left where it is: {NOT_HOME} 300 s" in told for path in away)
