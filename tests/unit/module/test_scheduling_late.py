# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler decided and could not begin: it expires, and is decided anew on the load of then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from fake_cluster import SETTINGS, plan
from scheduled import BOOTED, Cluster, Manager, fewer
from test_scheduling import AT_LAST, churned, loads, pins

from mds_partitioner.act.changes import PinChange
from mds_partitioner.act.core import SETTLED
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    EXPIRES,
    HOURS_OVER,
    INTENT,
    LATE,
    PAUSED,
    RUNNING,
    SCHEDULER_STOPPED,
    SKIPPED,
    TOO_OLD,
    UNDOING,
    UNDONE,
    Record,
    Run,
)
from mds_partitioner.act.sight import SELDOM
from mds_partitioner.ceph.host import FS_TIMEOUT
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, JournalError, Unavailable
from mds_partitioner.model import FsState, HealthCheck
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.plan import DISTRIBUTED_STEP
from mds_partitioner.schedule.orders import _left
from mds_partitioner.schedule.record import ACT, HOUR, OFF, begun, made, scattered

SLOW = {"MDS_SLOW_REQUEST": HealthCheck("slow")}
LONG = int(EXPIRES) + 10  # s


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def decided(manager: Manager, what: Callable[[Run], bool] = lambda run: bool(run.plan.rows)) -> Run:
    """A plan of the scheduler's that was admitted, of which nothing was begun."""
    for _ in range(AT_LAST):
        manager.rounds.read()
        manager.rounds.tick()
        for run in manager.partitioner.plans.of(manager.fs):
            if what(run) and not run.records:
                return run
        manager.mover.tick()
        manager.cluster.pass_time()
        manager.cluster.wall += 1.0
        manager.cluster.steady += 1.0
    raise AssertionError("nothing was decided")


def acting(cluster: Cluster, **options: Any) -> Manager:
    manager = Manager(cluster, fewer(**options))
    manager.scheduling.start(manager.fs, ACT)
    return manager


def told(run: Run) -> set[tuple[str, str]]:
    return {(record.state, record.why) for record in run.records.values()}


def unwell(cluster: Cluster) -> None:
    cluster.checks = SLOW


def killed(cluster: Cluster) -> None:
    gone = tuple(mds for mds in cluster.state.mds if mds.rank != 1)
    cluster.state = replace(cluster.state, failed=(1,), mds=gone)


def recovered(cluster: Cluster, well: FsState) -> None:
    cluster.checks, cluster.state = {}, well


@pytest.mark.parametrize("seconds", [3, 400])
def test_what_was_not_begun_before_a_stop_is_decided_anew_after_a_start(
    cluster: Cluster, seconds: int
) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(seconds)
    assert told(run) == {(SKIPPED, SCHEDULER_STOPPED)}
    manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    assert loads(cluster) == [200.0] * 4
    turn = next(turn for turn in manager.scheduling.get(manager.fs).turns if turn.plan == run.plan.name)
    assert {why for _, why in turn.left} == {SCHEDULER_STOPPED}


@pytest.mark.parametrize("harm", [unwell, killed])
def test_what_waited_for_too_long_is_not_begun(cluster: Cluster, harm: Callable[[Cluster], None]) -> None:
    manager, well = acting(cluster), cluster.state
    run = decided(manager)
    assert len(run.plan.steps) > 1
    harm(cluster)
    manager.run(int(EXPIRES) - 5)
    assert (run.head.state, run.records) == (PAUSED, {})
    cluster.load = dict.fromkeys(cluster.load, 0.0)
    manager.run(15)
    assert told(run) == {(SKIPPED, TOO_OLD)} and len(run.records) == len(run.plan.steps)
    recovered(cluster, well)
    manager.run(AT_LAST)
    assert run.head.state == DONE and pins(cluster) == []
    kept = manager.scheduling.get(manager.fs)
    assert any(TOO_OLD in trouble for turn in kept.turns for trouble in turn.trouble())


@pytest.mark.parametrize(("full", "waits"), [("pool20", True), ("pool30", False)])
def test_nothing_is_begun_while_the_metadata_pool_is_full(cluster: Cluster, full: str, waits: bool) -> None:
    """Clients are refused then, but MDSs write what is moved all the same."""
    cluster.state = replace(cluster.state, metadata_pool=20)
    manager = acting(cluster)
    run = decided(manager)
    cluster.checks = {"POOL_FULL": HealthCheck("1 pool(s) full", (f"pool '{full}' is full (no space)",))}
    manager.run(30)
    assert (run.head.state == PAUSED, bool(pins(cluster))) == (waits, not waits)
    assert manager.scheduling.watch(manager.fs).waits_for.startswith("POOL_FULL: pool 'pool20'") is waits


@pytest.mark.parametrize("slow", [30.0, 90.0])
def test_loads_are_as_old_as_the_look_however_slow_the_mon_is(cluster: Cluster, slow: float) -> None:
    manager = acting(cluster)
    begun: list[float] = []

    def takes_long(event: str) -> None:
        if event == "put body":
            begun.append(cluster.steady)
            if len(begun) == 2:  # the first plan only has requests forwarded
                cluster.steady, cluster.wall = cluster.steady + slow, cluster.wall + slow

    cluster.watch = takes_long
    run = decided(manager)
    turn = manager.scheduling.watch(manager.fs).kept.turns[-1]
    assert turn.plan == run.plan.name and run.memory.decided == turn.at - BOOTED
    assert (turn.at - begun[1] < LATE) is (slow < LATE), "or it is decided anew"


def test_moves_do_not_wait_until_mdss_are_told_to_look_at_pins_more_often(cluster: Cluster) -> None:
    """Full ones take seconds to answer."""
    manager, seen = acting(cluster), list[str]()
    cluster.watch = seen.append
    decided(manager)
    assert [event for event in seen if event in ("put body", "put seal", "put tick/1")] == [
        *("put body", "put seal") * 2,  # the first only has requests forwarded
        "put tick/1",
    ]


@pytest.mark.parametrize("who", ["the mon", "an MDS"])
def test_moves_are_made_where_mdss_cannot_be_told_to_look_at_pins_more_often(
    cluster: Cluster, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That makes them quicker, and a rollback, no more."""
    put, configure = cluster.store.put, cluster._configure

    def refuses(key: str, value: str) -> None:
        if key.startswith("tick/"):
            raise JournalError("the mon refused it")
        put(key, value)

    def refused(mds: str, prefix: str, **arguments: Any) -> Any:
        error = CephError("an MDS refused it")
        return error if mds == "m1" and prefix == "config set" else configure(mds, prefix, **arguments)

    if who == "the mon":
        monkeypatch.setattr(cluster.store, "put", refuses)
    else:
        monkeypatch.setattr(cluster, "_configure", refused)
    before, manager = cluster.snapshot(), acting(cluster)
    decided(manager)
    assert manager.scheduling.watch(manager.fs).problem == f"{who} refused it"
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.rounds.tick()
    assert manager.scheduling.watch(manager.fs).problem == f"{who} refused it"
    manager.run(AT_LAST)
    assert (
        not cluster.hurried
        and cluster.snapshot() == before
        and manager.scheduling.get(manager.fs).mode == OFF
    )


def test_what_waited_for_a_moment_is_begun(cluster: Cluster) -> None:
    manager, well = acting(cluster), cluster.state
    run = decided(manager)
    unwell(cluster)
    manager.run(int(EXPIRES) - 10)
    recovered(cluster, well)
    manager.run(3)
    assert SKIPPED not in {state for state, _ in told(run)} and pins(cluster)


@pytest.mark.parametrize("fails_over", [False, True])
def test_what_was_let_be_is_decided_anew_at_once(cluster: Cluster, fails_over: bool) -> None:
    """It does not rest: nobody has moved it."""
    manager, well = acting(cluster), cluster.state
    run = decided(manager)
    unwell(cluster)
    manager.run(LONG)
    assert told(run) == {(SKIPPED, TOO_OLD)}
    if fails_over:
        manager.scheduling.keep(manager.fs)
        manager = Manager(cluster)
    recovered(cluster, well)
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_what_was_let_be_counts_for_no_day(cluster: Cluster) -> None:
    """Of what was begun all does, whatever came of it."""
    manager, well = acting(cluster), cluster.state
    run = decided(manager)
    moves = len(run.plan.steps)
    assert begun(manager.scheduling.get(manager.fs).day, cluster.wall) == moves
    unwell(cluster)
    cluster.wall += HOUR  # told in a later one than that in which it was decided
    manager.run(LONG)
    kept = manager.scheduling.get(manager.fs)
    assert told(run) == {(SKIPPED, TOO_OLD)}
    assert (begun(kept.day, cluster.wall), kept.done.moves) == (0, 0)
    recovered(cluster, well)
    manager.run(AT_LAST)
    kept = manager.scheduling.get(manager.fs)
    assert begun(kept.day, cluster.wall) == len(pins(cluster)) > 0
    assert all(hour.moves >= 0 for hour in kept.day)


def test_what_could_not_be_begun_though_it_was_tried_rests(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be decided every two minutes for as long as that lasts."""
    manager = acting(cluster)
    run, on_fs = decided(manager), cluster.on_fs

    def away(fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        if ino == run.plan.steps[0].ino:
            raise Unavailable("the MDS did not answer")
        return on_fs(fs, call, ino)

    monkeypatch.setattr(cluster, "on_fs", away)
    manager.run(LONG)
    assert (run.records[0].state, run.records[0].why) == (SKIPPED, f"{TOO_OLD}: the MDS did not answer")
    monkeypatch.undo()
    manager.run(60)
    assert cluster.directories[run.plan.steps[0].ino].pin == -1
    again = [r for r in manager.partitioner.plans.of(manager.fs) if r is not run]
    assert run.plan.steps[0].ino not in {step.ino for r in again for step in r.plan.steps}


@pytest.mark.parametrize(
    ("all_hang", "lasts"), [(False, FS_TIMEOUT), (True, FS_TIMEOUT), (True, FS_TIMEOUT + 10)]
)
def test_what_hangs_once_lets_nothing_of_its_plan_expire(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, all_hang: bool, lasts: float
) -> None:
    manager = acting(cluster)
    manager.mover._executor._abreast = 2
    run, on_fs, at = decided(manager), cluster.on_fs, cluster.steady
    assert len(run.plan.steps) > 4

    def hangs(fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        if at + lasts > tick_at and (all_hang or ino == run.plan.steps[0].ino):
            cluster.steady = max(cluster.steady, min(tick_at + FS_TIMEOUT, at + lasts))
            if tick_at + FS_TIMEOUT <= at + lasts:
                raise Unavailable("the MDSs did not answer in 60 s")
        return on_fs(fs, call, ino)

    monkeypatch.setattr(cluster, "on_fs", hangs)
    for _ in range(30):
        tick_at = cluster.steady
        manager.mover.tick()
        cluster.pass_time()
        cluster.steady += 1.0
    assert run.head.state == DONE and SKIPPED not in {state for state, _ in told(run)}


def test_nothing_is_begun_when_the_hours_are_over(cluster: Cluster) -> None:
    manager = acting(cluster)
    run, hours = decided(manager), manager.options.ours
    over(manager)
    manager.run(10)
    assert run.head.state == DONE and told(run) == {(SKIPPED, HOURS_OVER)} and pins(cluster) == []
    manager.options.ours = hours
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def over(manager: Manager) -> None:
    """Its hours have ended; they begin in an hour."""
    now = datetime.fromtimestamp(manager.cluster.wall)
    start, end = (f"{now + timedelta(hours=later):%H%M}" for later in (1, 2))
    manager.options.ours = replace(manager.options.ours, begin_time=start, end_time=end)


def in_two_phases(cluster: Cluster, manager: Manager, *, older: bool = True) -> Run:
    """What is pinned to rank 1 is to be distributed; another directory, likewise, but not pinned.

    :param older: in the order of older versions
    """
    cluster.directories[100].pin = cluster.directories[100].rank = 1
    moves = plan(cluster, {100: 1, 101: 1})
    unpinned = replace(moves.steps[0], value="-1", expected="1", home=1)
    distributed, other = (
        replace(step, phase=1, kind=DISTRIBUTED_STEP, value="1", expected="0")
        for step in plan(cluster, {100: 1, 101: 1}).steps
    )
    newer = (replace(distributed, phase=0), replace(unpinned, phase=1))
    ordered = (unpinned, distributed) if older else newer
    both = replace(moves, steps=(*ordered, other), scheduled=True, created=cluster.wall)
    manager.partitioner.plans.admit(run := manager.partitioner.plans.propose(manager.fs, both))
    return run


def half_done(cluster: Cluster, manager: Manager, *, older: bool = True) -> Run:
    """The pin is off, and that is all; or it is distributed, and that is all."""
    run = in_two_phases(cluster, manager, older=older)
    old = "1" if older else "0"
    manager.partitioner.plans._journal.record(run, 0, Record(INTENT, old, cluster.wall))
    if older:
        cluster.directories[100].pin = -1
    else:
        cluster.directories[100].distributed = "1"
    return run


def held(cluster: Cluster) -> tuple[int, str]:
    """By its pin, and is it distributed?"""
    return cluster.directories[100].pin, cluster.directories[100].distributed


@pytest.mark.parametrize("older", [True, False])
def test_what_was_half_done_when_the_hours_ended_is_done(older: bool) -> None:
    """Its pin is gone: nothing else would hold it."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 20, acting(cluster)
    run = half_done(cluster, manager, older=older)
    over(manager)
    manager.run(90)
    assert held(cluster) == (-1, "1") and cluster.directories[101].distributed == "0"
    assert run.head.state == DONE and run.records[2].why == HOURS_OVER


@pytest.mark.parametrize("older", [True, False])
def test_what_was_half_done_when_the_hours_ended_expires_as_well(older: bool) -> None:
    """And is put back, though the MDSs are busy."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 20, acting(cluster)
    run = half_done(cluster, manager, older=older)
    over(manager)
    unwell(cluster)
    manager.run(int(EXPIRES))
    assert list(run.records) == [0, 2]
    manager.run(int(SETTINGS.arrival_timeout) + 5)
    assert (run.records[1].state, run.records[1].why) == (SKIPPED, TOO_OLD)
    assert (run.records[0].state, held(cluster)) == (UNDONE, (1, "0"))


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("fails_over", [False, True])
def test_what_was_half_done_when_the_scheduler_was_stopped_is_put_back(older: bool, fails_over: bool) -> None:
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 20, acting(cluster)
    run = half_done(cluster, manager, older=older)
    manager.scheduling.stop(manager.fs, rollback=False)
    if fails_over:
        manager = Manager(cluster)
        (run,) = (other for other in manager.partitioner.plans.of(manager.fs) if other.id == run.id)
    manager.run(10)
    assert run.records[1].why == run.records[2].why == SCHEDULER_STOPPED
    assert (run.head.state, held(cluster)) == (DONE, (1, "0"))


@pytest.mark.parametrize("older", [True, False])
def test_what_does_not_come_to_be_distributed_in_time_gets_its_pin_back(older: bool) -> None:
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 10_000, acting(cluster)
    cluster.files[100] = 7
    run = in_two_phases(cluster, manager, older=older)
    manager.run(60)
    assert held(cluster) == (-1, "1") and run.head.state == RUNNING
    manager.run(int(SETTINGS.arrival_timeout))
    assert (run.head.state, held(cluster)) == (DONE, (1, "0"))
    assert run.records[1].state == UNDONE and run.records[1].why.startswith("put back, as the MDSs")


def test_what_was_begun_though_the_step_before_it_was_not_done_is_put_back() -> None:
    """A manager that took over knew nothing of that yet."""
    cluster = Cluster([0.0] * 8)
    manager = acting(cluster)
    run = in_two_phases(cluster, manager, older=False)
    journal, late = manager.partitioner.plans._journal, Record(UNDONE, "0", cluster.wall, "put back")
    journal.record(run, 0, late)
    journal.record(run, 1, Record(INTENT, "1", cluster.wall))
    cluster.directories[100].pin = -1
    manager.run(10)
    assert (run.head.state, held(cluster)) == (DONE, (1, "0"))


def test_a_directory_keeps_its_pin_where_an_operator_has_an_ephemeral_one_on_it() -> None:
    cluster = Cluster([0.0] * 8)
    manager = acting(cluster)
    run = in_two_phases(cluster, manager, older=False)
    cluster.directories[100].random = True
    manager.run(30)
    assert (run.head.state, held(cluster)) == (DONE, (1, "0"))
    assert run.records[0].why == run.records[1].why != ""


def test_a_directory_keeps_its_pin_where_it_could_not_be_distributed_in_time() -> None:
    """Later steps have more time, as they wait for those before."""
    cluster = Cluster([0.0] * 8)
    manager = acting(cluster)
    run = in_two_phases(cluster, manager, older=False)
    manager.partitioner.plans._journal.record(run, 0, Record(UNDONE, "0", cluster.wall, TOO_OLD))
    manager.run(10)
    assert (run.records[1].state, run.records[1].why, held(cluster)) == (SKIPPED, TOO_OLD, (1, "0"))


def test_what_an_operator_pins_meanwhile_is_not_distributed_below_his_pin() -> None:
    cluster = Cluster([0.0] * 8)
    manager = acting(cluster)
    run = half_done(cluster, manager, older=False)
    cluster.directories[100].pin = 2
    manager.run(30)
    assert (run.head.state, held(cluster)) == (DONE, (2, "0"))
    assert "an operator changed it from 1 to 2" in run.records[1].why


def test_the_scheduler_is_told_what_was_left_when_the_rest_of_it_is_put_back() -> None:
    """Decided anew before, it would be refused, as another plan is still at it."""
    cluster = Cluster([0.0] * 8)
    run = half_done(cluster, acting(cluster), older=False)
    run.records |= {0: Record(APPLIED, "0", 1.0), 1: Record(SKIPPED, "", 1.0, TOO_OLD)}
    assert not list(_left(run))
    run.records[0] = Record(UNDOING, "0", 1.0)
    assert not list(_left(run))
    run.records[0] = Record(UNDONE, "0", 1.0)
    assert list(_left(run)) == [(100, TOO_OLD)]


def test_whether_what_lost_its_pin_is_distributed_is_asked_of_all_mdss_seldom() -> None:
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 10_000, acting(cluster)
    run = half_done(cluster, manager, older=False)
    manager.run(2)
    assert run.records[1].state == INTENT
    asked = manager.mover._executor._sight._asks
    change = PinChange(manager.mover._host, manager.mover._executor._where, manager.fs, "/x", 100)
    now = Now(cluster.wall, cluster.steady + 60.0)
    soon = replace(now, steady=now.steady + SELDOM - 1.0)
    assert asked(run, 1, change, "-1", now) and not asked(run, 1, change, "-1", soon)
    assert asked(run, 1, change, "2", soon)


def test_where_nothing_of_it_was_changed_hours_that_end_leave_all_of_it() -> None:
    """The first step of the row was left alone, as an operator was quicker."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 20, acting(cluster)
    run = in_two_phases(cluster, manager)
    cluster.directories[100].pin = 2
    manager.mover._executor._abreast = 1
    over(manager)
    run.records[0] = Record(SKIPPED, "", cluster.wall, "an operator changed it")
    manager.run(30)
    assert run.head.state == DONE and {run.records[i].why for i in (1, 2)} == {HOURS_OVER}


def test_an_option_that_acting_needs_is_set_though_the_hours_are_over(cluster: Cluster) -> None:
    manager = acting(cluster)
    run = decided(manager, lambda run: not run.plan.rows)
    over(manager)
    manager.run(3)
    assert run.head.state == DONE and cluster.mds_option(TO_AUTH) == "true"


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_step_of_the_hosts_clock_makes_no_decision_old(cluster: Cluster, jump: float) -> None:
    manager, well = acting(cluster), cluster.state
    run = decided(manager)
    unwell(cluster)
    cluster.wall += jump
    manager.run(int(EXPIRES) - 10)
    assert run.records == {}
    manager.run(20)
    assert told(run) == {(SKIPPED, TOO_OLD)}
    recovered(cluster, well)


@pytest.mark.parametrize(
    ("away", "jump", "expires"),
    [(5.0, 0.0, False), (LONG, 0.0, True), (5.0, -86_400.0, False), (LONG, -86_400.0, False)],
)
def test_the_next_manager_goes_on_with_what_was_begun_lately(
    cluster: Cluster, away: float, jump: float, expires: bool
) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.mover._executor._unwanted = lambda _: "" if not run.records else None
    manager.mover._executor._abreast = 1
    manager.mover.tick()
    assert 0 < len(run.records) < len(run.plan.steps)
    cluster.wall, cluster.steady = cluster.wall + away + jump, cluster.steady + away
    after = Manager(cluster)
    (again,) = (r for r in after.partitioner.plans.of(after.fs) if r.id == run.id)
    after.mover.tick()
    assert ((SKIPPED, TOO_OLD) in told(again)) == expires
    assert len(again.records) == len(again.plan.steps)


def refused(cluster: Cluster, run: Run) -> None:
    cluster.refused = {step.target for step in run.plan.steps}


def test_what_mdss_refuse_is_not_set_after_a_stop(cluster: Cluster) -> None:
    manager = acting(cluster)
    run, before = decided(manager), pins(cluster)
    refused(cluster, run)
    manager.run(3)
    assert {record.state for record in run.records.values()} == {INTENT}
    manager.scheduling.stop(manager.fs, rollback=False)
    cluster.refused = set()
    manager.run(int(SETTLED) - 4)
    assert {record.state for record in run.records.values()} == {INTENT}, "it may have been set all the same"
    manager.run(10)
    assert (told(run), run.head.state) == ({(UNDONE, SCHEDULER_STOPPED)}, DONE)
    assert pins(cluster) == before


@pytest.mark.parametrize("fails_over", [False, True])
def test_what_mdss_refuse_is_not_set_when_it_was_decided_too_long_ago(
    cluster: Cluster, fails_over: bool
) -> None:
    manager = acting(cluster)
    run, before = decided(manager), pins(cluster)
    refused(cluster, run)
    manager.run(3)
    cluster.load = dict.fromkeys(cluster.load, 0.0)
    if fails_over:
        cluster.wall, cluster.steady = cluster.wall + 7200.0, cluster.steady + 7200.0
        manager = Manager(cluster)
    else:
        manager.run(LONG)
    manager.run(15)
    cluster.refused = set()
    manager.run(5)
    (run,) = (each for each in manager.partitioner.plans.of(manager.fs) if each.id == run.id)
    assert run.head.state == DONE and {record.state for record in run.records.values()} == {UNDONE}
    why = {record.why for record in run.records.values()}
    if fails_over:
        assert why == {TOO_OLD}
    else:  # what was tried in vain is not decided anew at once
        assert all(each.startswith(f"{TOO_OLD}: cannot set ceph.dir.pin of") for each in why)
    assert pins(cluster) == before


def test_what_was_about_to_be_set_waits_until_it_is_known_whether_the_scheduler_was_stopped(
    cluster: Cluster,
) -> None:
    manager = acting(cluster)
    run = decided(manager)
    refused(cluster, run)
    manager.run(3)
    cluster.refused = set()
    before, unwanted = pins(cluster), manager.unwanted
    manager.unwanted = lambda _: None
    manager.run(20)
    assert pins(cluster) == before and {record.state for record in run.records.values()} == {INTENT}
    manager.unwanted = unwanted
    manager.run(3)
    assert pins(cluster) != before


def test_a_stop_while_it_is_written_that_a_pin_is_to_be_set_is_heard(cluster: Cluster) -> None:
    manager = acting(cluster)
    run, before = decided(manager), pins(cluster)

    def stop(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            manager.scheduling.stop(manager.fs, rollback=False)

    manager.mover._executor._abreast = 1
    cluster.watch = stop
    manager.run(int(SETTLED) + 15)
    assert pins(cluster) == before
    assert {record.why for record in run.records.values()} == {SCHEDULER_STOPPED}


def test_what_was_set_before_a_stop_arrives(cluster: Cluster) -> None:
    cluster.lag = 30
    manager = acting(cluster)
    run = decided(manager)
    manager.run(3)
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(60)
    assert {record.state for record in run.records.values()} == {APPLIED}


def test_a_later_phase_that_mdss_refuse_for_a_while_is_set(cluster: Cluster) -> None:
    """It was begun when the moves before it had arrived: that it was decided long ago is no matter."""
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = LONG, acting(cluster)
    moves = plan(cluster, {100: 1})
    last = replace(moves.steps[0], phase=1, ino=101, target=cluster.directories[101].path)
    both = replace(moves, steps=(*moves.steps, last), scheduled=True, created=cluster.wall)
    cluster.refused = {last.target}
    manager.partitioner.plans.admit(run := manager.partitioner.plans.propose(manager.fs, both))
    manager.run(LONG + 10)
    assert run.records[1].state == INTENT
    cluster.refused = set()
    manager.run(3)
    assert cluster.directories[101].pin == int(last.value)


def test_an_option_that_acting_needs_is_set_however_late(cluster: Cluster) -> None:
    manager = acting(cluster)
    run = decided(manager, lambda run: not run.plan.rows)
    assert cluster.mds_option(TO_AUTH) == ""
    unwell(cluster)
    manager.run(LONG)
    assert run.records == {}
    cluster.checks = {}
    manager.run(3)
    assert run.head.state == DONE and cluster.mds_option(TO_AUTH) == "true"


def test_what_an_operator_has_ordered_never_expires(cluster: Cluster) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.scheduling.halt(manager.fs)
    manager.partitioner.stop(manager.fs)
    cluster.wall += 1.0
    manager.partitioner.start(manager.fs, run.plan.name)
    unwell(cluster)
    manager.run(LONG)
    assert (run.head.state, run.records) == (PAUSED, {})
    cluster.checks = {}
    manager.run(10)
    assert run.head.state == DONE and len(pins(cluster)) == len(run.plan.steps)
    manager.partitioner.rollback(manager.fs, run.plan.name)
    killed(cluster)
    manager.run(LONG)
    recovered(cluster, replace(cluster.state, failed=(), mds=Cluster().state.mds))
    manager.run(60)
    assert {cluster.directories[step.ino].pin for step in run.plan.steps} == {-1}


def test_after_a_pause_what_was_decided_before_is_decided_anew(cluster: Cluster) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.scheduling.pause(manager.fs, None)
    manager.partitioner.pause(manager.fs, None)
    manager.run(LONG)
    assert run.records == {}
    manager.scheduling.resume(manager.fs)
    manager.partitioner.resume(manager.fs)
    manager.run(2)
    assert told(run) == {(SKIPPED, TOO_OLD)}
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_a_timed_pause_ends_however_old_the_decision_is(cluster: Cluster) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.scheduling.pause(manager.fs, LONG)
    manager.partitioner.pause(manager.fs, LONG)
    manager.run(LONG - 1)
    assert (run.head.state, run.records) == (PAUSED, {})
    manager.run(5)
    assert (run.head.state, run.memory.halted, told(run)) == (DONE, False, {(SKIPPED, TOO_OLD)})
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


@pytest.mark.parametrize("why", [HOURS_OVER, SCHEDULER_STOPPED])
def test_a_timed_pause_ends_where_nothing_is_wanted_any_more(cluster: Cluster, why: str) -> None:
    manager = acting(cluster)
    run = decided(manager)
    manager.scheduling.pause(manager.fs, 20)
    manager.partitioner.pause(manager.fs, 20)
    manager.unwanted = lambda _: why
    manager.run(25)
    assert (run.head.state, run.memory.halted, told(run)) == (DONE, False, {(SKIPPED, why)})


def test_a_later_phase_waits_for_the_moves_before_it() -> None:
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = LONG, acting(cluster)
    moves = plan(cluster, {100: 1})
    last = replace(moves.steps[0], phase=1, kind=DISTRIBUTED_STEP, ino=101, value="1", expected="0")
    last = replace(last, target=cluster.directories[101].path)
    both = replace(moves, steps=(*moves.steps, last), scheduled=True, created=cluster.wall)
    manager.partitioner.plans.admit(run := manager.partitioner.plans.propose(manager.fs, both))
    manager.run(LONG + 5)
    assert cluster.directories[101].distributed == "1"
    manager.run(LONG + 5)
    assert run.head.state == DONE


def test_a_later_phase_is_not_begun_when_moves_before_it_should_be_over() -> None:
    cluster = Cluster([0.0] * 8)
    cluster.lag, manager = 10_000, acting(cluster)
    moves = plan(cluster, {100: 1})
    last = replace(moves.steps[0], phase=1, ino=101, target=cluster.directories[101].path)
    both = replace(moves, steps=(*moves.steps, last), scheduled=True, created=cluster.wall)
    manager.partitioner.plans.admit(run := manager.partitioner.plans.propose(manager.fs, both))
    manager.run(5)
    killed(cluster)
    manager.run(int(EXPIRES) + SETTINGS.arrival_timeout)
    assert (run.records[1].state, run.records[1].why) == (SKIPPED, TOO_OLD)


def test_what_was_to_be_distributed_may_be_so_after_all() -> None:
    """It is tried once: but this was not even that."""
    cluster = churned()
    (parent,) = cluster.churning
    manager = acting(cluster)
    run = decided(manager, lambda run: any(s.kind == DISTRIBUTED_STEP for s in run.plan.steps))
    unwell(cluster)
    manager.run(LONG)
    assert (SKIPPED, TOO_OLD) in told(run)
    turns = manager.scheduling.get(manager.fs).turns
    assert 103 not in scattered(turns) and parent not in {p.move.ino for p in made(turns, 0.0)}
    cluster.checks = {}
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"


def test_what_was_begun_in_time_goes_on(cluster: Cluster) -> None:
    cluster.lag = LONG
    manager = acting(cluster)
    run = decided(manager)
    manager.run(LONG - 5)
    assert run.head.state == RUNNING and SKIPPED not in {state for state, _ in told(run)}
