# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler while it waits, is told several things at once, and what it remembers across all that."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import Directory, plan
from scheduled import NOGROUP, Cluster, Manager, _heat, _subtree, fewer
from test_scheduling import AT_LAST, churned, loads, pins, until_moving

from mds_partitioner import clock
from mds_partitioner.act.run import DONE, PAUSED, ROLLED_BACK, Run
from mds_partitioner.ceph.tick import QUICK
from mds_partitioner.engine.reasons import PINNED_BY_OPERATOR
from mds_partitioner.errors import Busy, JournalError, Unavailable
from mds_partitioner.model import HealthCheck, Subtree
from mds_partitioner.monitor.sampler import scheduler_state
from mds_partitioner.monitor.state import SchedulerState
from mds_partitioner.observe.subtrees import SubtreeMap
from mds_partitioner.schedule.core.state import Past, State
from mds_partitioner.schedule.core.view import (
    FIXED_BELOW,
    OURS_BELOW,
    Decision,
    Move,
    Piece,
    RankView,
    Scatter,
    View,
)
from mds_partitioner.schedule.looker import Looker
from mds_partitioner.schedule.orders import turn_of
from mds_partitioner.schedule.pieces import rank_of
from mds_partitioner.schedule.record import ACT, ADVISE, HOUR, OFF, TURNS, Turn, latest, under_way
from mds_partitioner.schedule.rounds import GLANCE, GLANCES, UNRIPE
from mds_partitioner.schedule.tick_interval import LATE
from mds_partitioner.verify.guards import FOLLOWS_PINS

SLOW = {"MDS_SLOW_REQUEST": HealthCheck("slow")}
DEGRADED = {"FS_DEGRADED": HealthCheck("degraded")}
NEVER = 100_000  # s until what is ordered arrives


@pytest.fixture
def acting() -> Manager:
    manager = Manager(Cluster())
    manager.scheduling.start(manager.fs, ACT)
    return manager


def fails(*_: object) -> None:
    raise JournalError("the engine failed")


def looks(manager: Manager, seconds: int) -> int:
    """So many were made."""
    found = Counter[float]()
    for _ in range(seconds):
        manager.run(1)
        found[manager.scheduling.watch(manager.fs).state.at] += 1
    return len(found)


def test_what_is_to_be_begun_goes_before_what_is_only_looked_at(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, executor = acting.partitioner.plans, acting.mover._executor
    of = [
        replace(plan(acting.cluster, {ino: 1}), scheduled=True, created=acting.cluster.wall)
        for ino in (100, 101)
    ]
    plans.admit(first := plans.propose(acting.fs, of[0]))
    acting.mover.tick()
    plans.admit(second := plans.propose(acting.fs, of[1]))
    ticked = list[Run]()
    monkeypatch.setattr(executor, "tick", lambda run, *_: ticked.append(run))
    acting.mover.tick()
    assert ticked == [second, first]


def test_what_is_admitted_during_a_tick_goes_before_what_is_only_looked_at(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, executor, made = acting.partitioner.plans, acting.mover._executor, list[Run]()
    of = [
        replace(plan(acting.cluster, {ino: 1}), scheduled=True, created=acting.cluster.wall)
        for ino in (100, 101, 102)
    ]
    for each in of[:2]:
        made.append(plans.propose(acting.fs, each))
        plans.admit(made[-1])
    acting.mover.tick()
    ticked = list[Run]()

    def looks(run: Run, *_: object) -> None:
        ticked.append(run)
        if len(made) < len(of):
            made.append(plans.propose(acting.fs, of[-1]))
            plans.admit(made[-1])

    monkeypatch.setattr(executor, "tick", looks)
    acting.mover.tick()
    assert ticked == [made[0], made[2], made[1]]


def test_while_it_waits_it_looks_no_more_often_and_gives_the_ticks_back(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.lag = NEVER
    until_moving(cluster, acting)
    cluster.checks = SLOW
    acting.run(5)
    assert acting.rounds.tick() > 1.0, "the loop waits for the next look"
    assert looks(acting, 60) <= 13
    assert not cluster.hurried


def test_what_it_waits_for_is_logged_when_that_changes(
    acting: Manager, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = acting.cluster
    until_moving(cluster, acting)
    caplog.set_level("INFO")
    for cluster.checks in (SLOW, DEGRADED, {}):
        acting.run(20)
    told = [
        r.getMessage().partition(": ")[2] for r in caplog.records if "scheduler of cephfs" in r.getMessage()
    ]
    assert [line.split(": ")[:2] for line in told] == [
        ["waits", "MDS_SLOW_REQUEST"],
        ["waits", "FS_DEGRADED"],
        ["goes on"],
    ]


@pytest.mark.parametrize(("cost", "most"), [(0.001, 25), (0.4, 8), (60.0, 6)])
def test_looks_that_cost_more_are_rarer_and_what_moves_is_followed_meanwhile(
    monkeypatch: pytest.MonkeyPatch, cost: float, most: int
) -> None:
    cluster, spent, glances = Cluster(), [0.0], list[float]()
    manager = Manager(cluster, fewer(scheduler_inodes=1000), spent=lambda: spent[0])
    looked, glance, measured = Looker.look, Looker.glance, list[float]()

    def looks(*args: Any) -> View:
        measured.append(cluster.steady)
        spent[0] += cost
        return looked(*args)

    def glimpses(*args: Any) -> View:
        glances.append(cluster.steady)
        return glance(*args)

    monkeypatch.setattr(Looker, "look", looks)
    monkeypatch.setattr(Looker, "glance", glimpses)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(120)
    assert most - 2 <= len(measured) <= most
    assert glances, "what moves is followed"
    assert loads(cluster) == [200.0] * 4


@pytest.mark.parametrize("cost", [0.001, 0.03])
def test_glances_that_cost_more_are_rarer(monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
    cluster, spent, glance, at = Cluster(), [0.0], Looker.glance, list[float]()
    manager = Manager(cluster, fewer(scheduler_inodes=1000, scheduler_interval=30), spent=lambda: spent[0])

    def glimpses(*args: Any) -> View:
        at.append(cluster.steady)
        spent[0] += cost
        return glance(*args)

    monkeypatch.setattr(Looker, "glance", glimpses)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(90)
    apart = min(after - before for before, after in zip(at, at[1:]))
    assert max(GLANCE, cost / GLANCES) <= apart <= max(GLANCE, cost / GLANCES) + 1.0
    assert loads(cluster) == [200.0] * 4


def test_one_look_that_costs_much_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, spent, looked = Cluster(), [0.0], Looker.look
    manager, measured = Manager(cluster, spent=lambda: spent[0]), list[float]()

    def looks(*args: Any) -> View:
        spent[0] += 60.0 if len(measured) == 3 else 0.0
        measured.append(cluster.steady)
        return looked(*args)

    monkeypatch.setattr(Looker, "look", looks)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    assert max(after - before for before, after in zip(measured, measured[1:])) <= 10.0


def test_a_longer_interval_is_not_waited_for_when_it_was_made_shorter() -> None:
    manager = Manager(Cluster(), fewer(scheduler_interval=3600))
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(2)
    watch = manager.scheduling.watch(manager.fs)
    before = watch.due
    assert before > manager.cluster.steady + 3000
    manager.options.ours = replace(manager.options.ours, scheduler_interval=5)
    manager.rounds.hasten()
    assert manager.cluster.steady < watch.due <= manager.cluster.steady + 5


def test_an_engine_that_fails_is_asked_once_an_interval(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fails(*_: object) -> None:
        asked.append(1)
        raise JournalError("it failed")

    acting.cluster.lag = NEVER
    until_moving(acting.cluster, acting)
    monkeypatch.setattr("mds_partitioner.schedule.looker.Looker.look", fails)
    monkeypatch.setattr("mds_partitioner.schedule.looker.Looker.glance", fails)
    acting.run(60)
    assert len(asked) <= 13


@pytest.mark.parametrize("fails_over", [False, True])
def test_ticks_are_as_they_were_when_looks_fail_for_good(
    acting: Manager, fails_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, manager = acting.cluster, acting
    cluster.lag = NEVER
    until_moving(cluster, acting)
    for look in ("look", "glance"):
        monkeypatch.setattr(Looker, look, fails)
    if fails_over:
        manager = Manager(cluster)
    manager.run(40)
    assert cluster.hurried, "what moves has a while"
    manager.run(40)
    assert not cluster.hurried
    assert manager.scheduling.watch(manager.fs).state.moving and manager.scheduling.watch(manager.fs).problem


def test_what_moves_has_its_time_anew_after_a_wait(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.lag = 400
    until_moving(cluster, acting)
    cluster.checks = SLOW
    acting.run(380)
    cluster.checks = {}
    acting.run(AT_LAST)
    moves = [past for turn in acting.scheduling.get(acting.fs).turns for past in turn.moves]
    assert moves and not any(past.lost for past in moves)


@pytest.mark.parametrize("fails_over", [False, True])
def test_where_mdss_follow_no_pin_it_waits_and_names_the_option(acting: Manager, fails_over: bool) -> None:
    cluster, manager = acting.cluster, acting
    cluster.configured[FOLLOWS_PINS] = False
    until_moving(cluster, acting)
    acting.run(100)
    if fails_over:
        manager = Manager(cluster)
    ordered = pins(cluster)
    manager.run(700)
    assert pins(cluster) == ordered, "nothing is put back, nor anything else moved"
    waits = manager.scheduling.watch(manager.fs).decision.why
    told = f"{FOLLOWS_PINS} is false, and MDSs follow no pin: run 'ceph config set mds {FOLLOWS_PINS} true'"
    assert waits.startswith(told) and "the scheduler goes on" in waits
    (run,) = (run for run in manager.partitioner.plans.of(manager.fs) if run.plan.rows)
    assert run.head.state == PAUSED and run.head.why.startswith(told)
    assert not cluster.hurried
    assert 10 <= cluster.asked[FOLLOWS_PINS] <= 2 * 14 + 2, "once a minute"
    cluster.configured[FOLLOWS_PINS] = True
    manager.run(60 + AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_the_mon_is_not_asked_whether_mdss_follow_pins_while_they_do(acting: Manager) -> None:
    acting.run(3 * AT_LAST)
    assert loads(acting.cluster) == [200.0] * 4 and acting.cluster.asked[FOLLOWS_PINS] == 0


def test_a_mon_that_does_not_tell_whether_mdss_follow_pins_holds_up_nothing(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = acting.cluster
    cluster.lag = 100
    monkeypatch.setattr(cluster, "config", fails)
    acting.run(400)
    assert loads(cluster) == [200.0] * 4


def test_a_rollback_waits_while_mdss_follow_no_pin_and_then_brings_all_home() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    run = manager.partitioner.plans.propose(manager.fs, plan(cluster, dict.fromkeys(range(100, 108), 1)))
    manager.partitioner.plans.admit(run)
    manager.run(60)
    assert run.head.state == DONE
    cluster.configured[FOLLOWS_PINS] = False
    manager.partitioner.rollback(manager.fs, None)
    manager.run(2000)
    assert run.head.state == PAUSED and FOLLOWS_PINS in run.head.why and "the plan goes on" in run.head.why
    assert all(cluster.directories[ino].pin >= 0 for ino in range(100, 108))
    cluster.configured[FOLLOWS_PINS] = True
    manager.run(200)
    assert run.head.state == ROLLED_BACK
    assert {(at.pin, at.rank) for at in cluster.directories.values()} == {(-1, 0)}


def test_nothing_is_under_way_for_ever(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.lag = 20
    until_moving(cluster, acting)
    acting.scheduling.stop(acting.fs, rollback=False)
    acting.run(4000)
    acting.scheduling.start(acting.fs, ACT)
    assert under_way(acting.scheduling.get(acting.fs)) != []
    acting.run(20)
    kept = acting.scheduling.get(acting.fs)
    first = kept.turns[0].moves
    assert first and all(past.arrived >= 0.0 for past in first)


def test_an_hour_ago_is_a_time_though_the_host_has_just_booted() -> None:
    assert abs(clock.from_epoch().steady - clock.from_epoch().wall) < 3600.0
    assert abs(clock.read().steady - time.monotonic()) < 60.0, "that of what is sampled for all"


@pytest.mark.parametrize("there", [False, True])
def test_a_stop_holds_though_a_start_is_still_being_written(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    if there:
        manager.scheduling.start(manager.fs, ADVISE)

    def stop(event: str) -> None:
        if event.startswith("put"):
            cluster.watch = lambda text: None
            with monkeypatch.context() as patch:
                patch.setattr(manager.scheduling._ledger, "save", lambda *_, **__: None)  # it waits its turn
                manager.scheduling.stop(manager.fs, rollback=False)

    cluster.watch = stop
    with pytest.raises(Busy, match="another order"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert Manager(cluster).scheduling.get(manager.fs).mode == OFF


def test_an_emergency_stop_holds_though_a_start_is_still_being_written() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)

    def halt(event: str) -> None:
        if event.startswith("put"):
            cluster.watch = lambda text: None
            manager.scheduling.halt(manager.fs)

    cluster.watch = halt
    with pytest.raises(Busy, match="another order"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == ADVISE


def test_a_stop_holds_though_a_start_has_not_come_to_its_write(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    asked = manager.scheduling._refuse_act

    def slow(fs: Any) -> None:
        asked(fs)
        manager.scheduling.halt(fs)

    monkeypatch.setattr(manager.scheduling, "_refuse_act", slow)
    with pytest.raises(Busy, match="another order"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert Manager(cluster).scheduling.get(manager.fs).mode == OFF


@pytest.mark.parametrize("ends", ["by command", "by itself"])
def test_a_pause_holds_that_is_given_while_the_end_of_one_before_waits_for_its_turn(
    acting: Manager, ends: str
) -> None:
    by_itself = ends == "by itself"
    acting.scheduling.pause(acting.fs, 1 if by_itself else None)
    acting.scheduling.keep(acting.fs)
    acting.cluster.wall += 2.0
    acting.cluster.steady += 2.0
    refused: list[Busy] = []

    def resumed() -> None:
        try:
            acting.rounds.tick() if by_itself else acting.scheduling.resume(acting.fs)
        except Busy as e:
            refused.append(e)

    ending = threading.Thread(target=resumed, daemon=True)
    with acting.scheduling._ledger._saving[acting.fs.fscid]:  # another write of the record is under way
        ending.start()
        ending.join(0.2)
        acting.scheduling.pause(acting.fs, None)
    ending.join(60.0)
    acting.scheduling.keep(acting.fs)
    assert [str(e).endswith("meanwhile: that one holds") for e in refused] == ([] if by_itself else [True])
    for manager in (acting, Manager(acting.cluster)):
        assert manager.scheduling.get(acting.fs).paused and not manager.scheduling.watch(acting.fs).problem


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
@pytest.mark.parametrize("fails_over", [False, True])
def test_a_pause_ends_at_its_time_whatever_the_hosts_clock_does(
    acting: Manager, step: float, fails_over: bool
) -> None:
    cluster, manager = acting.cluster, acting
    acting.scheduling.pause(acting.fs, 60)
    acting.scheduling.keep(acting.fs)
    if fails_over:
        manager = Manager(cluster)
    ends = manager.scheduling.get(manager.fs).until
    assert ends == cluster.wall + 60.0
    cluster.wall += step
    manager.run(50)
    kept, decision = manager.scheduling.get(manager.fs), manager.scheduling.watch(manager.fs).decision
    assert kept.paused and kept.until == ends + step, "it is told by the clock of now"
    assert clock.told(ends + step) in decision.why
    manager.run(20)
    assert not manager.scheduling.get(manager.fs).paused


def test_what_was_told_by_a_clock_that_was_ahead_was_just_now(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.wall += 7200.0
    acting.run(AT_LAST)
    cluster.wall -= 7200.0
    after = Manager(cluster)
    watch = after.scheduling.watch(after.fs)
    moves = [past for turn in watch.kept.turns for past in turn.moves]
    assert moves and all(turn.at <= cluster.steady for turn in watch.kept.turns)
    assert all(-1.0 <= past.arrived <= cluster.steady >= past.begun for past in moves)
    assert list(watch.state.past) == moves, "both know each by when it was begun"


def test_a_pin_of_yours_is_yours_also_where_the_clock_was_ahead_when_ours_was_set(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.wall += 7200.0
    acting.run(AT_LAST)
    cluster.wall -= 7200.0
    watch = acting.scheduling.watch(acting.fs)
    ino = next(past.move.ino for turn in watch.kept.turns for past in turn.moves)
    directory = cluster.directories[ino]
    directory.pin = (directory.pin + 1) % 4
    acting.run(120)
    assert watch.view is not None
    (piece,) = (p for p in watch.view.pieces if p.ino == ino)
    assert piece.held == PINNED_BY_OPERATOR


def test_an_order_that_the_mon_did_not_take_is_told_to_it_again(acting: Manager) -> None:
    acting.cluster.store.refuse(0, 5)
    with pytest.raises(JournalError):
        acting.scheduling.stop(acting.fs, rollback=False)
    acting.run(30)
    assert Manager(acting.cluster).scheduling.get(acting.fs).mode == OFF


def test_ticks_stay_short_while_it_is_undone_after_a_wait(acting: Manager) -> None:
    cluster = acting.cluster
    acting.run(AT_LAST)
    cluster.checks = SLOW
    acting.run(60)
    cluster.checks, cluster.lag = {}, 20
    set_ = []
    cluster.watch = lambda event: set_.append(event) if event == "put tick/1" else None
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert len(set_) <= 2, "kept, and kept once more at most"


def test_a_rollback_that_waits_gives_the_ticks_back(acting: Manager) -> None:
    cluster = acting.cluster
    cluster.lag = 20
    until_moving(cluster, acting)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(3)
    assert cluster.hurried
    cluster.checks = DEGRADED
    acting.run(60)
    assert not cluster.hurried
    cluster.checks = {}
    acting.run(3)
    assert cluster.hurried
    acting.run(2 * AT_LAST)
    assert (acting.scheduling.get(acting.fs).mode, cluster.hurried) == (OFF, {})


def test_ticks_that_an_mds_makes_short_late_are_given_back(acting: Manager) -> None:
    cluster = acting.cluster

    def hangs(event: str) -> None:
        if event == f"config set m1 {QUICK}":
            cluster.unheard = {"m1"}

    cluster.watch = hangs
    while not cluster.unheard:
        acting.run(1)
    acting.scheduling.stop(acting.fs, rollback=False)
    acting.run(5)
    assert cluster.hurried == {"m1": 1.0}, "no other waits for it"
    assert cluster.store.items("tick/") == {"tick/1": '["m0", "m1", "m2", "m3"]'}
    cluster.unheard = set()
    acting.run(60)
    assert cluster.hurried == {}
    cluster.hurried = {"m1": 1.0}  # what hung was carried out
    acting.run(60)
    assert cluster.hurried == {}
    acting.run(int(LATE))
    assert cluster.store.items("tick/") == {}


def kept(cluster: Cluster, turns: Sequence[Turn], there: Collection[int]) -> tuple[Turn, ...]:
    return latest(turns, there, cluster.steady - HOUR)


def test_what_was_distributed_is_remembered_whatever_is_decided_since() -> None:
    cluster = churned()
    (parent,) = cluster.churning
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    watch = manager.scheduling.watch(manager.fs)
    more = replace(watch.kept.turns[-1], moves=(), scatter=())
    watch.kept = replace(watch.kept, turns=kept(cluster, [*watch.kept.turns, *[more] * (TURNS + 5)], {103}))
    cluster.directories[parent].distributed = "0"
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "0"


def test_so_many_decisions_are_kept() -> None:
    scatter = (Scatter(1, "/a", 0, (0, 1), 1.0, 1.0, ""),)
    turns = [
        Turn(float(i), ACT, "", (), (), 0, 1.0, 1.0, scatter=scatter if i == 3 else ()) for i in range(300)
    ]
    assert [turn.at for turn in latest(turns, {1}, 0.0)] == [3.0, *map(float, range(100, 300))]
    assert [turn.at for turn in latest(turns, {2}, 0.0)] == [*map(float, range(100, 300))], "it was deleted"


@pytest.mark.parametrize("fails_over", [False, True])
def test_what_was_moved_within_an_hour_is_remembered_whatever_is_decided_since(
    acting: Manager, fails_over: bool
) -> None:
    """An hour's inodes are limited, and what was moved rests."""
    manager, cluster = acting, acting.cluster
    manager.run(AT_LAST)
    watch = manager.scheduling.watch(manager.fs)
    moved = {past.move.ino for past in watch.state.past}
    more = replace(watch.kept.turns[-1], mode=ADVISE, at=cluster.steady, moves=(), scatter=())
    watch.kept = replace(watch.kept, turns=kept(cluster, [*watch.kept.turns, *[more] * (TURNS + 5)], ()))
    if fails_over:
        manager.ledger.save(manager.fs.fscid, watch)
        manager = Manager(cluster)
    else:
        manager.scheduling.start(manager.fs, ADVISE)
    watch = manager.scheduling.watch(manager.fs)
    assert {past.move.ino for past in watch.state.past} == moved != set()
    cluster.steady += HOUR
    assert len(kept(cluster, watch.kept.turns, ())) == TURNS, "and for no longer"


def test_a_rank_without_a_request_may_be_relieved(acting: Manager) -> None:
    watch = acting.scheduling.watch(acting.fs)
    move = Move(1, "/a", 0, 2, 50.0, 50.0, 10.0, "")
    ranks = (RankView(0, 0.0), RankView(1, 60.0))
    watch.view, now = (
        View(acting.cluster.steady, ranks, (Piece(1, "/a", 0, 50.0, 10.0),)),
        acting.cluster.now(),
    )
    turn = turn_of(watch, State(past=(Past(move, now.steady),)), Decision((move,)), now)
    assert (turn.fullest, turn.before, turn.share) == (0, 0.0, 30.0)


def test_what_could_not_be_begun_is_decided_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster([0.0])
    parent = cluster.directories[100]
    cluster.directories |= {200 + i: replace(parent, path=f"{parent.path}/{i}") for i in range(160)}
    cluster.load |= {200 + i: 2.5 for i in range(160)}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    decided = []

    def refused(fs: Any, watch: Any, decision: Decision, *_: Any) -> str:
        decided.append(decision)
        raise JournalError("the mon refused it")

    monkeypatch.setattr(manager.rounds._orders, "_plan", refused)
    manager.run(AT_LAST)
    state = manager.scheduling.watch(manager.fs).state
    assert len(decided) > 3 and {decision.moves[0].ino for decision in decided} == {100}
    assert (state.past, state.apart, state.split, state.untold) == ((), frozenset(), frozenset(), {})


def test_new_directories_leave_half_of_the_moves_of_a_day() -> None:
    cluster = Cluster([100.0] * 4)
    manager = Manager(cluster, fewer(scheduler_moves_a_day=20))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    for ino in range(500, 540):
        cluster.directories[ino] = Directory(f"{NOGROUP}/new{ino}")
        cluster.load[ino], cluster.made[ino] = 0.0, cluster.wall
    manager.run(AT_LAST)
    assert [pin for pin in pins(cluster) if "/new" in pin]
    assert sum(hour.moves for hour in manager.scheduling.get(manager.fs).day) == 10


def test_what_a_balancer_left_elsewhere_is_no_part_of_its_own() -> None:
    left = [Subtree("/", 0, -1, False), Subtree("/a/b", 2, -1, False)]
    assert rank_of("/a", SubtreeMap(left, ["/a"]), split=False, moving=False) == 0
    assert rank_of("/a", SubtreeMap(left, ["/a"]), split=False, moving=True) is None, "not all has arrived"


@pytest.mark.parametrize(("pin", "ephemeral"), [(0, False), (-1, True)])
def test_what_has_a_pin_below_is_left_where_it_is(
    acting: Manager, monkeypatch: pytest.MonkeyPatch, pin: int, ephemeral: bool
) -> None:
    cluster = acting.cluster
    path = cluster.directories[100].path
    told = cluster.tell

    def tell(fs: Any, mds: str, prefix: str, **arguments: Any) -> Any:
        found = told(fs, mds, prefix, **arguments)
        if prefix == "get subtrees" and mds == "m0":
            below = dict(found[0], dir={"path": f"{path}/uuid/x", "dirfrag": "0x77"}, export_pin=pin)
            found = [*found, dict(below, random_ephemeral_pin=ephemeral)]
        return found

    monkeypatch.setattr(cluster, "tell", tell)
    acting.run(AT_LAST)
    assert pins(cluster) and not [pin for pin in pins(cluster) if path in pin]
    view = acting.scheduling.watch(acting.fs).view
    assert view is not None and {piece.held for piece in view.pieces if piece.ino == 100} == {FIXED_BELOW}


def test_what_was_pinned_and_then_moved_into_another_directory_is_known_there(acting: Manager) -> None:
    cluster = acting.cluster
    acting.run(AT_LAST)
    acting.run(60)
    ours = next(ino for ino, d in cluster.directories.items() if d.pin >= 0)
    into = next(ino for ino, d in cluster.directories.items() if ino in cluster.load and d.pin < 0)
    cluster.directories[ours].path = f"{cluster.directories[into].path}/renamed"
    acting.run(60)
    view = acting.scheduling.watch(acting.fs).view
    assert view is not None
    assert {piece.held for piece in view.pieces if piece.ino == into} <= {"", OURS_BELOW}


def shown(manager: Manager) -> SchedulerState:
    """As health checks know it."""
    watch = manager.scheduling.watch(manager.fs)
    return scheduler_state(manager.scheduling.get(manager.fs), watch, manager.cluster.now(), "")


@pytest.mark.parametrize("read_before", [False, True])
def test_why_and_how_long_directories_cannot_be_read_is_told_until_they_can(
    acting: Manager, monkeypatch: pytest.MonkeyPatch, read_before: bool
) -> None:
    """Looks work meanwhile, and wait for the first list as long as there is none."""

    def hangs(*_: object) -> None:
        raise JournalError("the mount hangs")

    def told() -> tuple[str, float, float]:
        state = shown(acting)
        return state.unread, state.unread_for, state.failing

    acting.run(60 if read_before else 0)
    with monkeypatch.context() as patch:
        patch.setattr("mds_partitioner.schedule.rounds.read", hangs)
        acting.run(600)
        assert (shown(acting).why == UNRIPE) != read_before
        why, lasts, failing = told()
        assert (why, failing) == ("the mount hangs", 0.0) and 580.0 <= lasts <= 600.0
    acting.run(30)
    assert told() == ("", 0.0, 0.0)


@pytest.mark.parametrize("then", ["stop", "pause", "start"])
def test_what_does_not_read_directories_does_not_fail_at_it(
    acting: Manager, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    def hangs(*_: object) -> None:
        raise JournalError("the mount hangs")

    monkeypatch.setattr("mds_partitioner.schedule.rounds.read", hangs)
    acting.run(600)
    if then == "pause":
        acting.scheduling.pause(acting.fs, None)
    else:
        acting.scheduling.stop(acting.fs, rollback=False)
    acting.run(30)
    if then == "start":
        acting.scheduling.start(acting.fs, ACT)
        acting.run(1)
    assert shown(acting).unread_for <= 1.0


@pytest.mark.parametrize("by", ["stop", "pause", "rank"])
def test_what_is_set_above_directories_while_nobody_looks_is_read_before_anything_is_decided(by: str) -> None:
    """What looks may be quicker than what reads."""
    cluster = Cluster([10.0] * 8)
    manager, well = Manager(cluster), cluster.state
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    if by == "stop":
        manager.scheduling.stop(manager.fs, rollback=False)
    elif by == "pause":
        manager.scheduling.pause(manager.fs, 300)
    else:
        cluster.state = replace(well, failed=(1,))
    manager.run(290)
    group = next(d for d in cluster.directories.values() if d.path == NOGROUP)
    cluster.load, group.pin, cluster.state = dict.fromkeys(cluster.load, 100.0), 0, well
    if by == "stop":
        manager.scheduling.start(manager.fs, ACT)
    for _ in range(60):
        manager.rounds.tick()
        manager.run(1)
    assert pins(cluster) == [] and manager.scheduling.watch(manager.fs).decision.why.startswith("rank 0 has")


def test_what_an_mds_has_not_told_does_not_pass_for_what_cannot_be_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is full may be too slow for its long list."""
    cluster, tell_each = Cluster([100.0] * 8), Cluster.tell_each

    def slow(self: Cluster, fs: Any, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        late = {"m0": Unavailable("no answer")} if prefix == "dump loads" else {}
        return tell_each(self, fs, names, prefix, **arguments) | late

    monkeypatch.setattr(Cluster, "tell_each", slow)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    why = manager.scheduling.watch(manager.fs).decision.why
    assert why == "rank 0 has too much: its MDS has not told yet of what ('dump loads')"


def test_locks_of_files_are_no_load_of_what_is_hardly_used_beside_them() -> None:
    """No directory has them in its popularity."""

    class Locks(Cluster):
        def _dirfrags(self, rank: int) -> Any:
            for frag in super()._dirfrags(rank):
                for name in ("pop_auth_subtree", "pop_auth_subtree_nested"):
                    for counter in frag[name]["Decay Counters"]:
                        counter["value"] *= 1e-6
                yield frag

    manager = Manager(Locks([100.0] * 8))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    assert {d.rank for d in manager.cluster.directories.values()} == {0}
    assert "locks of files" in manager.scheduling.watch(manager.fs).decision.why


def test_what_the_volumes_module_deletes_is_named_though_it_keeps_its_pin() -> None:
    """It is in the trash, and begins a subtree there: it does not count for the trash's own."""
    trash, load = "/volumes/_deleting", 600.0

    class Purging(Cluster):
        def demand(self, rank: int) -> float:
            return super().demand(rank) + (load if rank == 0 else 0.0)

        def _dirfrags(self, rank: int) -> Any:
            yield from super()._dirfrags(rank)
            if rank == 0:
                yield {"path": trash, "pop_auth_subtree": _heat(0.0), "pop_auth_subtree_nested": _heat(load)}

        def tell(self, fs: Any, mds: str, prefix: str, **arguments: Any) -> Any:
            answer = super().tell(fs, mds, prefix, **arguments)
            pinned = prefix == "get subtrees" and mds == "m0"
            return [*answer, _subtree(f"{trash}/uuid", 77, 0, 0)] if pinned else answer

    cluster = Purging([1.0] * 4)
    cluster.directories[50] = Directory(trash, rank=1)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    watch = manager.scheduling.watch(manager.fs)
    for _ in range(4):  # MDSs are asked in few of these looks
        manager.run(5)
        assert "the volumes module deletes" in watch.decision.why and trash in watch.heat[0].of


def test_a_file_system_that_is_taken_down_is_waited_for(acting: Manager) -> None:
    cluster, up = acting.cluster, acting.cluster.state
    cluster.state = replace(up, max_mds=0, ranks_in=(), mds=())
    acting.run(60)
    watch = acting.scheduling.watch(acting.fs)
    assert watch.problem == "" and "down false" in watch.decision.why
    cluster.state = up
    acting.run(120)
    assert pins(cluster)


@pytest.mark.parametrize("reports", [0, 1])
def test_a_rank_of_which_no_rate_is_known_yet_does_not_pass_for_idle(acting: Manager, reports: int) -> None:
    """A new session of an MDS, or of this manager, begins without counters (DaemonServer::handle_open)."""
    cluster = acting.cluster
    cluster.reports["m2"] = reports
    acting.run(120)
    assert not pins(cluster)
    assert "rank 2" in acting.scheduling.watch(acting.fs).decision.why
    cluster.reports.clear()
    acting.run(120)
    assert pins(cluster)


@pytest.mark.parametrize(("period", "most"), [(5.0, 7), (15.0, 3), (1.0, 30)])
def test_it_looks_no_more_often_than_mdss_report(
    monkeypatch: pytest.MonkeyPatch, period: float, most: int
) -> None:
    """Else what was seen before a move would count as seen after it."""
    monkeypatch.setattr(Cluster, "report_period", lambda self: period)
    manager = Manager(Cluster([10.0] * 4), fewer(scheduler_interval=1))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(10)
    assert looks(manager, 30) == most


def test_a_rank_that_was_taken_over_between_two_looks_counts_as_one_that_has_come(acting: Manager) -> None:
    cluster = acting.cluster
    acting.run(AT_LAST)
    watch = acting.scheduling.watch(acting.fs)
    assert len(watch.state.rates[2]) > 2
    cluster.reports["m2"] = 0
    acting.run(6)
    assert 2 not in watch.state.rates and watch.state.rates[1]
    cluster.reports.clear()
    acting.run(6)
    assert "rank 2 has come, or come back, just now" in watch.decision.why


def test_what_the_mon_kept_too_late_is_decided_anew(acting: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, put = acting.cluster, acting.cluster.store.put

    def slow(key: str, value: str) -> None:
        if key.startswith("plan/"):
            cluster.steady += 30.0
            cluster.wall += 30.0
        put(key, value)

    with monkeypatch.context() as patched:
        patched.setattr(cluster.store, "put", slow)
        told = []
        for _ in range(20):
            acting.run(1)
            told.append(acting.scheduling.watch(acting.fs).problem)
    assert not pins(cluster)
    assert any("the mon took over 60 s to keep a plan of 'cephfs'" in problem for problem in told)
    acting.run(20)
    assert pins(cluster)
