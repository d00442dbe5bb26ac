# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator has who stops a rollback halfway, or what is about to begin (docs/operators-guide.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from fake_cluster import plan
from scheduled import Cluster, Manager

from mds_partitioner.act import executor
from mds_partitioner.act.choice import last_made, refuse_active
from mds_partitioner.act.journal import AT_ONCE
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    IN_FORCE,
    INTENT,
    KEPT,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    SKIPPED,
    STOPPED,
    UNDOING,
    UNDONE,
    Head,
    Record,
    Run,
    held_by_operator,
    moved_at,
)
from mds_partitioner.clock import Now
from mds_partitioner.errors import BadInput, Busy, JournalError, NotFound, Unavailable
from mds_partitioner.options import Settings
from mds_partitioner.report.partition import run_line
from mds_partitioner.schedule.record import ACT

MOVES = dict.fromkeys(range(100, 106), 1)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def halfway(cluster: Cluster, manager: Manager) -> Run:
    """A plan that was carried out, and whose rollback was stopped before its last directories were home."""
    run = manager.partitioner.plans.propose(manager.fs, plan(cluster, MOVES, name="mine"))
    run.plan = replace(run.plan, scheduled=False, name="mine")
    manager.partitioner.plans.admit(run)
    manager.run(60)
    manager.partitioner.rollback(manager.fs, None)
    cluster.lag = 20
    manager.run(2)
    manager.partitioner.stop(manager.fs)
    manager.run(60)
    return run


def test_what_was_not_undone_yet_stays_and_a_rollback_goes_on(cluster: Cluster) -> None:
    manager = Manager(cluster)
    run = halfway(cluster, manager)
    assert (run.head.state, run.heading()) == (STOPPED, ROLLING_BACK)
    assert any(record.state in IN_FORCE for record in run.records.values())
    assert last_made(manager.partitioner.plans.of(manager.fs)) is run, (
        "what 'partition start' takes without a name"
    )
    with pytest.raises(BadInput, match="was stopped while it was rolled back: roll it back to the end"):
        manager.partitioner.start(manager.fs, "mine")
    with pytest.raises(NotFound, match="no plan of 'cephfs' is being executed"):
        manager.partitioner.resume(manager.fs)
    assert manager.partitioner.rollback(manager.fs, None) is run, "the newest in force"
    manager.run(100)
    assert run.head.state == ROLLED_BACK
    assert {d.pin for d in cluster.directories.values()} == {-1}
    assert {d.rank for d in cluster.directories.values()} == {0}


def test_what_was_rolled_back_may_be_moved_again_at_once(cluster: Cluster) -> None:
    manager = Manager(cluster)
    run = manager.partitioner.plans.propose(manager.fs, plan(cluster, MOVES))
    run.plan = replace(run.plan, scheduled=False)
    manager.partitioner.plans.admit(run)
    manager.run(60)
    assert moved_at(manager.partitioner.plans.of(manager.fs), 1).keys() == MOVES.keys(), "they rest"
    manager.partitioner.rollback(manager.fs, None)
    manager.run(100)
    assert run.head.state == ROLLED_BACK
    assert moved_at(manager.partitioner.plans.of(manager.fs), 1) == {}


def test_an_older_plan_is_not_undone_while_a_newer_one_is_under_way(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, {100: 2}, name="older"))
    older = partitioner.start(manager.fs, "older")
    manager.run(10)
    partitioner.plans.save(replace(plan(cluster, {100: 3}, name="newer"), created=cluster.wall))
    newer = partitioner.start(manager.fs, "newer")
    partitioner.pause(manager.fs, None)
    assert (older.head.state, newer.head.state, newer.records) == (DONE, PAUSED, {})
    with pytest.raises(Busy, match="plan 'newer' was made after 'older': roll that one back first"):
        partitioner.rollback(manager.fs, "older")
    for run in (newer, older):
        assert partitioner.rollback(manager.fs, None) is run
        manager.run(20)
        assert run.head.state == ROLLED_BACK
    assert cluster.directories[100].pin == -1
    with pytest.raises(NotFound, match="nothing to roll back"):
        partitioner.rollback(manager.fs, None)


def test_a_plan_that_was_not_executed_is_not_rolled_back(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    told = (
        "plan '{0}' was not executed: there is nothing to roll back "
        "('ceph mds_partitioner partition rm {0} cephfs' forgets it)"
    )
    partitioner.plans.save(plan(cluster, {101: 2}, name="before"))
    with pytest.raises(BadInput) as refused:
        partitioner.rollback(manager.fs, "before")
    assert str(refused.value) == told.format("before")
    partitioner.plans.save(plan(cluster, {100: 2}, name="made"))
    done = partitioner.start(manager.fs, "made")
    manager.run(10)
    partitioner.plans.save(replace(plan(cluster, {100: 3}, name="after"), created=cluster.wall))
    for name in ("before", "after"):
        with pytest.raises(BadInput) as refused:
            partitioner.rollback(manager.fs, name)
        assert str(refused.value) == f"{told.format(name)}; 'made' is in force"
    manager.run(10)
    states = {run.plan.name: run.head.state for run in partitioner.plans.of(manager.fs)}
    assert states == {"before": READY, "made": DONE, "after": READY}
    assert partitioner.rollback(manager.fs, None) is done


@pytest.mark.parametrize(
    ("state", "rests"),
    [(INTENT, True), (APPLIED, True), (UNDOING, False), (UNDONE, False), (KEPT, False), (SKIPPED, False)],
)
def test_only_what_was_moved_and_not_undone_rests(cluster: Cluster, state: str, rests: bool) -> None:
    run = Run("id", plan(cluster, {100: 1}), Head(ROLLING_BACK), {0: Record(state, "-1", 1234.0)})
    assert moved_at([run], 1) == ({100: 1234.0} if rests else {})


def test_what_nobody_expected_of_one_plan_stops_no_other(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = Manager(cluster)
    manager.unwanted = lambda _: ""
    for name, ino in (("strange", 100), ("fine", 101)):
        run = manager.partitioner.plans.propose(manager.fs, replace(plan(cluster, {ino: 1}), scheduled=True))
        run.plan = replace(run.plan, name=name)
        manager.partitioner.plans.admit(run)
    strange, fine = manager.partitioner.plans.of(manager.fs)
    tick = manager.mover._executor.tick

    def broken(run: Run, settings: Settings, now: Now) -> None:
        if run is strange:
            raise KeyError("nobody expected it")
        tick(run, settings, now)

    monkeypatch.setattr(manager.mover._executor, "tick", broken)
    for _ in range(5):
        manager.mover.tick()
        cluster.pass_time()
    assert (fine.head.state, cluster.directories[101].rank) == (DONE, 1)
    assert (strange.head.state, strange.head.why) == (
        PAUSED,
        "KeyError: 'nobody expected it'; see the manager's log",
    )


def test_the_next_manager_begins_nothing_and_can_roll_it_back(cluster: Cluster) -> None:
    halfway(cluster, Manager(cluster))
    after = Manager(cluster)
    before = [d.pin for d in cluster.directories.values()]
    after.run(60)
    assert [d.pin for d in cluster.directories.values()] == before
    after.partitioner.rollback(after.fs, None)
    after.run(100)
    assert {d.pin for d in cluster.directories.values()} == {-1}


def at_the_head(cluster: Cluster, order: Callable[[], object]) -> None:
    """Something comes while the next state of a plan is written."""

    def told(event: str) -> None:
        if event == "put head":
            cluster.watch = lambda _: None
            order()

    cluster.watch = told


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("held", ["stop", "pause"])
def test_what_waits_for_the_mon_is_not_begun_after_a_stop(cluster: Cluster, held: str, back: bool) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    if back:
        partitioner.start(manager.fs, "mine")
        manager.run(60)
    before, (run,) = cluster.snapshot(), partitioner.plans.of(manager.fs)
    order = (lambda: partitioner.stop(manager.fs)) if held == "stop" else lambda: hold(manager)
    state = run.head.state

    def given() -> None:
        manager.mover.tick()  # the mover's own loop finds nothing to do yet
        with pytest.raises(NotFound, match="no plan of 'cephfs' is being executed"):
            order()

    at_the_head(cluster, given)
    with pytest.raises(Busy, match="it was stopped or paused meanwhile: nothing of it was begun on 'cephfs'"):
        partitioner.rollback(manager.fs, None) if back else partitioner.start(manager.fs, "mine")
    manager.run(60)
    assert run.head.state == state and cluster.snapshot() == before
    assert Manager(cluster).partitioner.plans.of(manager.fs)[0].head.state == state
    _ = partitioner.rollback(manager.fs, None) if back else partitioner.start(manager.fs, "mine")
    manager.run(100)
    assert run.head.state == (ROLLED_BACK if back else DONE)


@pytest.mark.parametrize("back", [False, True])
def test_what_was_told_to_have_failed_is_not_begun_by_the_next_manager_either(
    cluster: Cluster, back: bool
) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    if back:
        partitioner.start(manager.fs, "mine")
        manager.run(60)
    before, (run,) = cluster.snapshot(), partitioner.plans.of(manager.fs)
    state = run.head.state
    cluster.store.unanswered = "/head/"
    with pytest.raises(JournalError, match="the mon did not answer"):
        partitioner.rollback(manager.fs, None) if back else partitioner.start(manager.fs, "mine")
    manager.run(5)  # nor does it answer when it is told what holds
    cluster.store.unanswered = ""
    manager.run(5)
    assert run.head.state == state and cluster.snapshot() == before
    after = Manager(cluster)
    assert after.partitioner.plans.of(after.fs)[0].head.state == state
    after.run(20)
    assert cluster.snapshot() == before
    _ = partitioner.rollback(manager.fs, None) if back else partitioner.start(manager.fs, "mine")
    assert run.head.state == (ROLLING_BACK if back else RUNNING)


@pytest.mark.parametrize("held", ["stop", "pause"])
def test_an_order_to_stop_that_the_mon_did_not_take_is_told_to_it_again(cluster: Cluster, held: str) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    manager.run(2)
    before = cluster.snapshot()
    cluster.store.refuse(1, 10)
    with pytest.raises(JournalError):
        _ = partitioner.stop(manager.fs) if held == "stop" else hold(manager)
    assert run.head.state == RUNNING
    manager.run(15)
    state = STOPPED if held == "stop" else PAUSED
    assert (run.head.state, run.heading(), cluster.snapshot()[0][0][2]) == (state, RUNNING, before[0][0][2])
    after = Manager(cluster)
    assert after.partitioner.plans.of(after.fs)[0].head == run.head
    _ = partitioner.start(manager.fs, "mine") if held == "stop" else partitioner.resume(manager.fs)
    manager.run(60)
    assert run.head.state == DONE


def test_a_plan_that_goes_on_again_is_not_stopped_by_an_order_from_before(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    cluster.store.refuse(1, 2)
    with pytest.raises(JournalError):
        partitioner.stop(manager.fs)
    manager.run(1)
    assert run.head.state == RUNNING and run.memory.halted
    mover = threading.Thread(target=manager.mover.tick, daemon=True)
    at_the_head(cluster, mover.start)  # it tells the order again just now, and waits for its turn
    partitioner.start(manager.fs, "mine")
    mover.join(60.0)
    manager.run(60)
    assert run.head.state == DONE


@pytest.mark.parametrize("held", ["stop", "pause"])
def test_a_rollback_that_is_ordered_while_a_stop_is_written_goes_on(held: str) -> None:
    """Of several plans the stop is written one after the other; the newest is rolled back meanwhile."""
    cluster = Cluster([0.0] * 8)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    cluster.lag = 1000
    runs = []
    for ino in (100, 102):
        made = replace(plan(cluster, {ino: 1}), scheduled=True, created=cluster.wall)
        runs.append(manager.partitioner.plans.propose(manager.fs, made))
        manager.partitioner.plans.admit(runs[-1])
        manager.run(2)
    older, newer = runs
    manager.scheduling.halt(manager.fs)
    at_the_head(cluster, lambda: manager.partitioner.rollback(manager.fs, newer.plan.name))
    _ = manager.partitioner.stop(manager.fs) if held == "stop" else hold(manager)
    state = STOPPED if held == "stop" else PAUSED
    assert (older.head.state, newer.head.state) == (state, ROLLING_BACK)
    assert not newer.memory.halted and older.memory.halted
    cluster.lag = 1
    manager.run(60)
    assert newer.head.state == ROLLED_BACK and cluster.directories[102].pin == -1
    assert (older.head.state, cluster.directories[100].pin) == (state, 1)


def test_a_stop_that_comes_while_the_journal_is_told_of_a_start_is_kept(cluster: Cluster) -> None:
    """What is written just then is the start; the stop is not taken for told."""
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    partitioner.stop(manager.fs)
    stopping = threading.Thread(target=lambda: stop(manager), daemon=True)
    run.head = replace(run.head, state=RUNNING)  # it is active for the stop that comes

    def given() -> None:
        stopping.start()
        while not partitioner.plans.halts.given(1) > 1:
            threading.Event().wait(0.001)

    at_the_head(cluster, given)
    with pytest.raises(Busy, match="it was stopped or paused meanwhile"):
        partitioner.undo(run, partitioner.plans.halts.given(1))
    stopping.join(60.0)
    assert run.memory.halted and run.head.state == STOPPED
    (read,) = Manager(cluster).partitioner.plans.of(manager.fs)
    assert read.head.state == STOPPED


@pytest.mark.parametrize("stops_first", [False, True])
def test_a_stop_while_a_rollback_waits_to_be_written_is_kept(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, stops_first: bool
) -> None:
    """The mover is writing the head meanwhile; who of both is next is not known."""
    put, written = cluster.store.put, list[str]()
    monkeypatch.setattr(cluster.store, "put", lambda key, value: (written.append(value), put(key, value)))
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    cluster.lag = 1000
    run = partitioner.start(manager.fs, "mine")
    manager.run(3)
    met: list[BaseException] = []

    def back() -> None:
        try:
            partitioner.undo(run, 0)
        except Busy as e:
            met.append(e)

    going, stopping = (threading.Thread(target=work, daemon=True) for work in (back, lambda: stop(manager)))
    with run.memory.writing:
        going.start()
        while not (run.memory.halted or met):
            threading.Event().wait(0.001)
        stopping.start()
        while not partitioner.plans.halts.given(1):
            threading.Event().wait(0.001)
        if stops_first:
            partitioner._journal._tell(run, run.memory.untold)
    going.join(60.0)
    stopping.join(60.0)
    assert [str(e)[:27] for e in met] == ["it was stopped or paused me"]
    assert (run.head.state, run.heading(), run.memory.halted, run.memory.untold) == (
        STOPPED,
        RUNNING,
        True,
        {},
    )
    assert not any(ROLLING_BACK in value for value in written), "a manager that dies now leaves it stopped"
    (read,) = Manager(cluster).partitioner.plans.of(manager.fs)
    assert (read.head.state, read.heading()) == (STOPPED, RUNNING)


def test_no_pause_ends_a_stop_that_is_not_written_yet(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    cluster.store.refuse(1, 1)
    with pytest.raises(JournalError):
        partitioner.stop(manager.fs)
    partitioner.pause(manager.fs, 5)
    manager.run(60)
    assert (run.head.state, run.memory.halted) == (STOPPED, True)


def test_a_plan_whose_stop_is_not_written_yet_keeps_the_scheduler_from_acting(cluster: Cluster) -> None:
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    cluster.lag = 1000
    made = replace(plan(cluster, MOVES), scheduled=True, created=cluster.wall)
    manager.partitioner.plans.admit(manager.partitioner.plans.propose(manager.fs, made))
    manager.run(2)
    manager.scheduling.halt(manager.fs)
    cluster.store.refuse(0, 3)
    stop(manager)
    with pytest.raises(Busy, match="of the scheduler was stopped"):
        manager.scheduling.start(manager.fs, ACT)


def hold(manager: Manager) -> None:
    """Until it is resumed."""
    manager.partitioner.pause(manager.fs, None)


@pytest.mark.parametrize("refused", [False, True])
def test_a_stop_while_a_plan_is_resumed_holds_whether_the_mon_takes_it_or_not(
    cluster: Cluster, refused: bool
) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    hold(manager)
    stopping = threading.Thread(target=lambda: stop(manager), daemon=True)

    def given() -> None:
        stopping.start()
        while not partitioner.plans.halts.given(1) > 1:
            threading.Event().wait(0.001)
        if refused:
            cluster.store.refuse(1, 20)

    at_the_head(cluster, given)
    with pytest.raises((Busy, JournalError)):
        partitioner.resume(manager.fs)
    stopping.join(60.0)
    assert run.memory.halted
    before = cluster.snapshot()
    manager.run(30)
    assert cluster.snapshot() == before
    if not refused:
        assert (run.head.state, run.heading()) == (STOPPED, RUNNING)


def test_a_resume_that_comes_while_a_stop_is_written_does_not_end_it(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    said = list[str]()

    def resume() -> None:
        try:
            partitioner.resume(manager.fs)
        except NotFound as e:
            said.append(str(e))

    resuming = threading.Thread(target=resume, daemon=True)
    held = threading.Event()

    def given() -> None:
        run.memory.untold, told = {}, run.memory.untold  # it looks before the stop is heard
        partitioner.plans.active_of = lambda _: (held.set(), [run])[1]
        resuming.start()
        assert held.wait(60.0)
        run.memory.untold = told

    at_the_head(cluster, given)
    stop(manager)
    resuming.join(60.0)
    assert said == ["plan 'mine' was stopped: there is nothing to resume"]
    assert (run.head.state, run.memory.halted) == (STOPPED, True)


def test_what_was_stopped_is_not_resumed_though_the_mon_has_not_taken_it(cluster: Cluster) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    cluster.store.refuse(1, 1)
    stop(manager)
    with pytest.raises(NotFound, match="was stopped"):
        partitioner.resume(manager.fs)
    manager.run(60)
    assert (run.head.state, run.memory.halted) == (STOPPED, True)


def stop(manager: Manager) -> None:
    """Whatever the mon says to it."""
    with suppress(JournalError):
        manager.partitioner.stop(manager.fs)


@pytest.mark.parametrize("order", ["pause", "stop"])
def test_an_order_that_comes_while_the_end_of_a_rollback_is_written_begins_nothing_anew(
    cluster: Cluster, order: str
) -> None:
    manager = Manager(cluster)
    run = halfway(cluster, manager)
    manager.partitioner.rollback(manager.fs, None)
    given = threading.Thread(
        target=lambda: stop(manager) if order == "stop" else manager.partitioner.pause(manager.fs, 5),
        daemon=True,
    )
    before = manager.partitioner.plans.halts.given(1)

    def ordered(event: str) -> None:
        if event == "put head" and run.records and all(r.state not in IN_FORCE for r in run.records.values()):
            cluster.watch = lambda _: None
            given.start()
            while manager.partitioner.plans.halts.given(1) == before or not run.memory.halted:
                threading.Event().wait(0.001)

    cluster.watch = ordered
    cluster.lag = 1
    manager.run(100)
    given.join(60.0)
    manager.run(100)
    assert run.head.state == ROLLED_BACK
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_an_order_that_comes_while_a_pause_is_found_to_be_over_is_not_ended_with_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = Manager(cluster)
    partitioner = manager.partitioner
    partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    run = partitioner.start(manager.fs, "mine")
    partitioner.pause(manager.fs, 5)
    cluster.steady += 9.0
    cluster.wall += 9.0
    asked: list[bool] = []

    def held(run: Run, now: Now) -> bool:
        asked.append(held_by_operator(run, now))
        if len(asked) == 2:  # the tick began as the pause is over
            cluster.store.refuse(1, 1)  # nor has the mon got it
            stop(manager)
        return asked[-1]

    monkeypatch.setattr(executor, "held_by_operator", held)
    before = cluster.snapshot()
    manager.run(30)
    assert asked[:2] == [False, False]
    assert (run.head.state, run.memory.halted, run.records) == (STOPPED, True, {})
    assert cluster.snapshot() == before


@pytest.mark.parametrize("back", [False, True])
def test_what_a_replaced_manager_writes_late_is_not_obeyed_by_the_manager_after_next(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    first = Manager(cluster)
    first.partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    if back:
        first.partitioner.start(first.fs, "mine")
        first.run(60)
    late: dict[str, str] = {}
    with monkeypatch.context() as away:  # its mon is out of quorum
        away.setattr(cluster.store, "put", late.__setitem__)
        order = first.partitioner.rollback if back else first.partitioner.start
        order(first.fs, "mine")
    second = Manager(cluster)
    known = second.partitioner.plans.named(second.fs, "mine").head
    assert late and known.state == (DONE if back else READY)
    second.run(1)
    cluster.store.data |= late
    before, third = cluster.snapshot(), Manager(cluster)
    third.run(60)
    assert (third.partitioner.plans.named(third.fs, "mine").head, cluster.snapshot()) == (known, before)


def test_managers_that_come_and_go_leave_one_head_a_plan(cluster: Cluster) -> None:
    first = Manager(cluster)
    for i in range(3):
        first.partitioner.plans.save(plan(cluster, {100 + i: 1}, name=f"p{i}"))
    first.partitioner.start(first.fs, "p0")
    first.run(20)
    for _ in range(5):
        Manager(cluster).run(3)
    last = Manager(cluster)
    last.run(3)
    heads = [key.rpartition("/")[2] for key in cluster.store.data if "/head/" in key]
    assert heads == [f"{cluster.managers:010d}"] * 3
    written = len(cluster.events)
    last.partitioner.plans.load()  # the same manager once more
    last.run(3)
    assert cluster.events[written:] == []


@pytest.fixture
def many(cluster: Cluster) -> list[str]:
    """Names of plans that are ready, more than are claimed in three ticks; the first is under way."""
    first, names = Manager(cluster), [f"p{i}" for i in range(3 * AT_ONCE + 2)]
    for i, name in enumerate(names):  # of an earlier version: more than would be kept now
        made = replace(plan(cluster, MOVES, name=name), created=1.0 + i)
        first.partitioner._journal.create(made, [])
    first.partitioner.plans.load()
    first.partitioner.start(first.fs, names[0])
    return names


def test_an_order_after_a_fail_over_waits_for_no_claim_of_other_plans(
    cluster: Cluster, many: list[str]
) -> None:
    """There may be many, and a mon may take a second for each."""
    manager = Manager(cluster)
    plans, written = manager.partitioner.plans, len(cluster.events)
    manager.partitioner.stop(manager.fs)
    assert cluster.events[written:] == ["put head"]
    assert plans.named(manager.fs, many[0]).head.state == STOPPED
    manager.partitioner._journal.create(replace(plan(cluster, MOVES, name="other"), fscid=2), [])
    plans.remove(many[-1])
    assert cluster.events[written:].count("put head") == 2  # of the stopped one and the new one
    manager.run(1)
    assert cluster.events[written:].count("put head") == 2 + AT_ONCE
    gone = plans.named(manager.fs, many[-2])
    manager.partitioner._journal.drop(gone.id, 1)
    manager.run(10)
    assert cluster.events[written:].count("put head") == len(many) - 1  # neither of the two that are gone
    assert not manager.partitioner._journal.behind()
    heads = {key.rpartition("/")[2] for key in cluster.store.data if "/head/" in key}
    assert heads == {f"{cluster.managers:010d}"}


def test_a_claim_waits_for_no_head_that_is_being_written(cluster: Cluster, many: list[str]) -> None:
    """Which claims it."""
    manager = Manager(cluster)
    manager.partitioner.stop(manager.fs)
    tick = threading.Thread(target=manager.partitioner._journal.tidy, args=(1,), daemon=True)
    waits: list[bool] = []

    def meanwhile() -> None:
        tick.start()
        tick.join(30.0)
        waits.append(tick.is_alive())

    at_the_head(cluster, meanwhile)
    manager.partitioner.start(manager.fs, many[1])
    assert waits == [False]
    manager.partitioner._journal.tidy(1)
    assert written_head(cluster, many[1]).state == RUNNING


def test_a_claim_does_not_overtake_a_newer_head(cluster: Cluster, many: list[str]) -> None:
    manager = Manager(cluster)
    manager.partitioner.stop(manager.fs)
    start = threading.Thread(target=manager.partitioner.start, args=(manager.fs, many[1]), daemon=True)

    def meanwhile() -> None:
        start.start()
        start.join(0.3)  # it would be there before the claim

    at_the_head(cluster, meanwhile)
    manager.partitioner._journal.tidy(1)
    start.join(60.0)
    assert written_head(cluster, many[1]).state == RUNNING


def written_head(cluster: Cluster, name: str) -> Head:
    """As the next manager reads it."""
    manager = Manager(cluster)
    return manager.partitioner.plans.named(manager.fs, name).head


def test_a_claim_that_the_mon_does_not_take_is_written_later(cluster: Cluster, many: list[str]) -> None:
    manager = Manager(cluster)
    written = len(cluster.events)
    cluster.store.refuse(1, 1)
    manager.partitioner._journal.tidy(1)
    assert cluster.events[written:] == [] and 1 in manager.partitioner._journal.behind()
    manager.run(20)
    heads = {key.rpartition("/")[2] for key in cluster.store.data if "/head/" in key}
    assert heads == {f"{cluster.managers:010d}"}


def taken_over(cluster: Cluster) -> Manager:
    """A manager that has not read its journal yet; the one before has started a plan."""
    first = Manager(cluster)
    first.partitioner.plans.save(plan(cluster, MOVES, name="mine"))
    first.partitioner.start(first.fs, "mine")
    manager = Manager(cluster)
    manager.partitioner.plans._runs = None
    return manager


def test_a_stop_before_the_journal_was_read_holds_what_the_last_manager_left_under_way(
    cluster: Cluster,
) -> None:
    manager = taken_over(cluster)
    plans = manager.partitioner.plans
    with pytest.raises(Unavailable, match="; what is under way is held as soon as it is known"):
        manager.partitioner.stop(manager.fs)
    with pytest.raises(Unavailable):
        manager.partitioner.pause(manager.fs, 10)  # which ends no stop
    plans.load()
    (run,) = plans.of(manager.fs)
    assert run_line(run).startswith("plan 'mine' on 'cephfs': stopped, 0%: by command")
    before = cluster.snapshot()
    manager.run(30)
    assert (cluster.snapshot(), run.head.state) == (before, STOPPED)
    after = Manager(cluster)  # it was told to the mon
    after.run(10)
    assert (cluster.snapshot(), after.partitioner.plans.of(after.fs)[0].head.state) == (before, STOPPED)
    after.partitioner.start(after.fs, "mine")
    after.run(60)
    assert after.partitioner.plans.of(after.fs)[0].head.state == DONE


def test_a_pause_before_the_journal_was_read_ends_at_its_time(cluster: Cluster) -> None:
    manager = taken_over(cluster)
    plans = manager.partitioner.plans
    with pytest.raises(Unavailable):
        manager.partitioner.pause(manager.fs, 20)
    plans.load()
    before = cluster.snapshot()
    manager.run(15)
    (run,) = plans.of(manager.fs)
    assert (cluster.snapshot(), run.head.state, run.head.by_operator) == (before, PAUSED, True)
    manager.run(60)
    assert run.head.state == DONE


def test_a_plan_of_the_scheduler_that_an_operator_has_started_outlives_its_manager(cluster: Cluster) -> None:
    """Nothing of it was begun, as of one that the scheduler has only proposed."""
    first = Manager(cluster)
    run = first.partitioner.plans.propose(first.fs, replace(plan(cluster, MOVES), scheduled=True))
    assert Manager(cluster).partitioner.plans.known() == [], "it was only proposed"
    run = first.partitioner.plans.propose(first.fs, replace(plan(cluster, MOVES), scheduled=True))
    first.partitioner.plans.admit(run)
    first.partitioner.stop(first.fs)
    first.partitioner.start(first.fs, run.plan.name)
    after = Manager(cluster)
    after.run(60)
    (found,) = after.partitioner.plans.known()
    assert (found.plan.name, found.head.state) == (run.plan.name, DONE)


def stopped_plan(cluster: Cluster, manager: Manager) -> Run:
    """Of the scheduler: a directory was pinned, and has not arrived."""
    manager.scheduling.start(manager.fs, ACT)
    made = replace(plan(cluster, {100: 2}), scheduled=True, created=cluster.wall)
    manager.partitioner.plans.admit(run := manager.partitioner.plans.propose(manager.fs, made))
    cluster.lag = 20
    manager.mover.tick()
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.partitioner.stop(manager.fs)
    assert (run.head.state, run.records[0].state) == (STOPPED, INTENT)
    return run


WAIT = "wait for it or stop it"
NEXT = "and 'ceph mds_partitioner partition pause cephfs' keeps the scheduler from the next"
GO_ON = "'ceph mds_partitioner partition resume cephfs' has it go on, or stop it"


@pytest.mark.parametrize(
    ("head", "scheduled", "cure"),
    [
        (Head(RUNNING, started=9.0), False, WAIT),
        (Head(RUNNING, started=1.0), True, f"it is over in a moment, {NEXT}"),
        (Head(RUNNING, started=9.0), True, WAIT),  # by hand: the scheduler is off
        (Head(PAUSED, started=1.0), True, f"it goes on by itself, {NEXT}"),
        (Head(PAUSED, started=1.0, by_operator=True), True, GO_ON),
        (Head(ROLLING_BACK, started=1.0), True, WAIT),
    ],
)
def test_what_is_under_way_tells_what_can_be_done_about_it(
    cluster: Cluster, head: Head, scheduled: bool, cure: str
) -> None:
    """To stop a plan that the scheduler has just begun would end what that does."""
    manager = Manager(cluster)
    run = Run("id", replace(plan(cluster, {100: 2}), scheduled=scheduled), head)
    assert manager.partitioner.under_way(manager.fs) is None
    manager.partitioner.plans.admit(run)
    with pytest.raises(Busy) as refused:
        refuse_active([run], "cephfs")
    told = str(refused.value)
    assert told.startswith(f"plan 'p' of 'cephfs' is {head.state} (") and told.endswith(f"%): {cure}")
    assert manager.partitioner.under_way(manager.fs) == told


def test_the_scheduler_does_not_begin_while_a_plan_of_its_own_is_undone(cluster: Cluster) -> None:
    """What it would set then would be taken for an operator's, and the oldest pin be lost."""
    manager = Manager(cluster)
    run = stopped_plan(cluster, manager)
    manager.partitioner.rollback(manager.fs, run.plan.name)
    with pytest.raises(Busy, match=r"is rolling-back \(0%\): wait for it or stop it"):
        manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    assert run.head.state == ROLLED_BACK and cluster.directories[100].pin == -1
    manager.scheduling.start(manager.fs, ACT)


def test_a_stopped_plan_of_the_scheduler_does_not_go_on_under_a_later_one(cluster: Cluster) -> None:
    manager = Manager(cluster)
    run = stopped_plan(cluster, manager)
    manager.run(60)
    manager.partitioner.plans.save(replace(plan(cluster, {100: 1}, name="later"), created=cluster.wall))
    later = manager.partitioner.start(manager.fs, "later")
    manager.run(60)
    assert later.head.state == DONE
    with pytest.raises(Busy, match="was made before 'later', which is in force: forget it"):
        manager.partitioner.start(manager.fs, run.plan.name)
    with pytest.raises(Busy, match="roll 'later', which was made later, back first, or forget this one"):
        manager.scheduling.start(manager.fs, ACT)
    for name in ("later", run.plan.name):
        manager.partitioner.rollback(manager.fs, name)
        manager.run(60)
    assert cluster.directories[100].pin == -1
