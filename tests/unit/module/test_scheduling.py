# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler in the manager: what it begins and when it does not, what outlives it, how all is undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import scheduled
from fake_cluster import SETTINGS, Crash, Directory, plan
from scheduled import NOGROUP, Cluster, Manager, _heat, fewer

from mds_partitioner.act.run import DONE, PAUSED, READY, ROLLED_BACK, STOPPED
from mds_partitioner.ceph.shared_option import SharedOption
from mds_partitioner.ceph.tick import TICK
from mds_partitioner.errors import (
    BadInput,
    Busy,
    CephError,
    JournalError,
    NotFound,
    NotPermitted,
    Unavailable,
)
from mds_partitioner.model import FsState, HealthCheck, Subtree
from mds_partitioner.monitor.sampler import scheduler_state
from mds_partitioner.observe import heat as heat_module
from mds_partitioner.plan.circumstances import DISTRIBUTES, TO_AUTH
from mds_partitioner.plan.ephemeral import fragment_ranks
from mds_partitioner.plan.plan import Plan, Step
from mds_partitioner.report.scheduler import history_text
from mds_partitioner.schedule import looker as looker_module
from mds_partitioner.schedule import watch as watch_module
from mds_partitioner.schedule.core.series import Series
from mds_partitioner.schedule.core.state import Past, State
from mds_partitioner.schedule.core.view import Decision, Move, Piece, RankView, View
from mds_partitioner.schedule.looker import TOO_OLD, Looker
from mds_partitioner.schedule.orders import AFTER_UNDOING, turn_of
from mds_partitioner.schedule.record import ACT, ADVISE, OFF, under_way
from mds_partitioner.schedule.watch import CALM, MEANWHILE, SOON
from mds_partitioner.workers import GivenUp

AT_LAST = 100  # s, within which a cold cluster of this size is even


def pins(cluster: Cluster) -> list[str]:
    return [event for event in cluster.events if event.startswith("pin ")]


def loads(cluster: Cluster) -> list[float]:
    return [cluster.demand(rank) for rank in cluster.state.ranks_in]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def manager(cluster: Cluster) -> Manager:
    return Manager(cluster)


@pytest.fixture
def acting(manager: Manager) -> Manager:
    manager.scheduling.start(manager.fs, ACT)
    return manager


def test_a_cold_file_system_becomes_even_and_stays_as_it_is(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4
    done = len(pins(cluster))
    acting.run(300)
    assert len(pins(cluster)) == done, "nothing moves while it is even"
    assert "even" in acting.scheduling.watch(acting.fs).decision.why


def test_a_hot_rank_of_many_is_relieved_though_the_factor_is_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduled, "SETTINGS", replace(SETTINGS, rank_capacity=300.0))
    cluster = Cluster((99.0,) * 3 + (90.0,) * 35, ranks=36)
    for rank in range(1, 36):
        at = cluster.directories[102 + rank]
        at.rank = at.pin = rank
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    verdict = manager.scheduling.watch(manager.fs).verdict
    assert verdict is not None and not verdict.triggered
    assert loads(cluster)[0] == 198.0


@pytest.mark.parametrize("mask", ["0x0", "0x30"])
def test_pins_need_no_rank_that_the_balancer_may_use(cluster: Cluster, acting: Manager, mask: str) -> None:
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_what_never_arrives_is_not_counted_as_moved(cluster: Cluster, acting: Manager) -> None:
    cluster.lag = 10**6
    acting.run(400)
    done = acting.scheduling.get(acting.fs).done
    assert pins(cluster) and done.decisions > 0 and (done.moves, done.inodes) == (0, 0.0)


def test_what_arrived_is_counted_once_and_what_is_told_never_falls(cluster: Cluster, acting: Manager) -> None:
    """Prometheus takes a counter that falls for one that began anew."""
    cluster.lag, manager, told = 20, acting, [0]
    for second in range(250):
        if second in (10, 45, 150):  # before it has arrived, before the mon was told that it has, and after
            manager = Manager(cluster)
        manager.run(1)
        fs, watch = manager.fs, manager.scheduling.watch(manager.fs)
        now = cluster.now()
        told.append(scheduler_state(manager.scheduling.get(fs), watch, now, "").moves)
    assert told == sorted(told) and told[-1] == 6
    assert loads(cluster) == [200.0] * 4 and len(pins(cluster)) == 6


def test_a_rollback_undoes_all_since_the_start(cluster: Cluster, acting: Manager) -> None:
    cluster.directories[107].pin = cluster.directories[107].rank = 3
    before = cluster.snapshot()
    acting.run(AT_LAST)
    assert cluster.snapshot() != before
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert cluster.snapshot() == before
    assert acting.scheduling.get(acting.fs).mode == OFF
    assert acting.partitioner.plans.of(acting.fs) == []


def test_what_nobody_expected_is_told_and_tried_again(
    acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> None:
        raise KeyError("strange")

    with monkeypatch.context() as broken:
        broken.setattr(acting.rounds._looker, "look", fails)
        acting.run(10)
        assert "KeyError: 'strange'" in acting.scheduling.watch(acting.fs).problem
    acting.run(AT_LAST)
    assert not acting.scheduling.watch(acting.fs).problem


def test_directories_beside_the_subvolumes_are_found(cluster: Cluster, manager: Manager) -> None:
    for i, ino in enumerate(sorted(cluster.load)[:6]):
        cluster.directories[ino].path = f"/home{i}"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4
    assert any("/home" in event for event in pins(cluster))


def test_what_is_new_is_pinned_at_once_and_given_back(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    old = {ino: d.pin for ino, d in cluster.directories.items()}
    new = range(500, 512)
    for ino in new:
        cluster.directories[ino] = Directory(f"{NOGROUP}/new{ino}")
        cluster.load[ino] = 0.0
        cluster.made[ino] = cluster.wall
    cluster.directories[600] = Directory(f"{NOGROUP}/renamed")
    cluster.load[600] = 0.0
    acting.run(30)
    assert {cluster.directories[ino].rank for ino in new} == {0, 1, 2, 3}
    assert {ino: cluster.directories[ino].pin for ino in (*old, 600)} == {**old, 600: -1}
    turn = acting.scheduling.get(acting.fs).turns[-1]
    assert turn.real is None and "new" in turn.why and all("entry" in p.move.why for p in turn.moves)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_what_sleeps_and_does_not_come_is_put_back_and_history_says_so() -> None:
    cluster = Cluster((0.0, *(100.0,) * 4))
    cluster.files = {100: 1}
    for rank in range(4):
        cluster.directories[101 + rank].pin = cluster.directories[101 + rank].rank = rank
    before, acting = cluster.snapshot(), Manager(cluster)
    acting.scheduling.start(acting.fs, ACT)
    acting.run(20)
    move = Move(100, cluster.directories[100].path, 0, 2, 0.0, 0.0, 999.0, "nobody uses it now")
    watch, cluster.lag = acting.scheduling.watch(acting.fs), 10_000
    decision, now = Decision((move,), why="spread"), cluster.now()
    state = replace(watch.state, past=(Past(move, now.steady),))
    watch.state = acting.rounds._orders.come_to(acting.fs, watch, state, decision, watch.orders, now)
    told = []
    for _ in range(2):
        acting.run(200)
        told.append(history_text(acting.scheduling.get(acting.fs), None, 20))
    assert [text.partition("s0 ")[2].count("pinned") for text in told] == [1, 0]
    assert "put back" in told[1] and cluster.directories[100].pin == -1
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert cluster.snapshot() == before


@pytest.mark.parametrize(("load", "stuck"), [(0.0, True), (100.0, False)])
def test_what_relieves_nobody_does_not_hide_that_it_is_stuck(
    acting: Manager, load: float, stuck: bool
) -> None:
    acting.run(5)
    watch, now = acting.scheduling.watch(acting.fs), acting.cluster.now()
    watch.idle_since = watch.pressing_since = now.steady - 700.0
    move = Move(100, f"{NOGROUP}/s0", 0, 2, load, load, 999.0, "")
    state = State(acting=True, past=(Past(move, now.steady),))
    acting.rounds._follow(watch, state, Decision((move,)), now, waits=False)
    assert (watch.idle_since is not None, watch.pressing_since is not None) == (stuck, stuck)


@pytest.mark.parametrize(("until", "stuck"), [(0.0, True), (1e9, False)])
def test_it_is_not_stuck_while_moves_rest_that_cost_more_than_they_brought(
    acting: Manager, until: float, stuck: bool
) -> None:
    acting.run(5)
    watch, now = acting.scheduling.watch(acting.fs), acting.cluster.now()
    watch.idle_since = now.steady - 700.0
    state = State(acting=True, series=Series(until=until))
    acting.rounds._follow(watch, state, Decision(), now, waits=False)
    assert (watch.idle_since is not None) == stuck


def test_a_rollback_is_waited_for_without_haste(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    plans, cluster.lag = len(acting.partitioner.plans.of(acting.fs)), 20
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.woken = 0
    acting.run(15)
    assert cluster.under_way()
    assert acting.woken <= plans, "who is woken for each look looks all the time"
    assert acting.rounds.tick() >= AFTER_UNDOING / 2


def test_nothing_hurries_where_there_is_nothing_to_see(cluster: Cluster, acting: Manager) -> None:
    for ino in tuple(cluster.load):
        cluster.load[ino] = 0.0
    acting.run(30)
    acting.woken = 0
    acting.run(60)
    assert acting.woken == 0


def test_what_was_rolled_back_does_not_rest(cluster: Cluster, acting: Manager) -> None:
    for _ in range(3):
        acting.run(AT_LAST)
        assert loads(cluster) == [200.0] * 4
        acting.scheduling.stop(acting.fs, rollback=True)
        acting.run(AT_LAST)
        assert loads(cluster)[1:] == [0.0] * 3
        acting.scheduling.start(acting.fs, ACT)
    kept = acting.scheduling.get(acting.fs)
    assert kept.turns and all(turn.undone for turn in kept.turns)
    assert under_way(kept) == []


def test_advice_changes_nothing_and_is_given_once(cluster: Cluster, manager: Manager) -> None:
    before = cluster.snapshot()
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    assert cluster.snapshot() == before and manager.partitioner.plans.of(manager.fs) == []
    turns = manager.scheduling.get(manager.fs).turns
    told = [past.move.ino for turn in turns for past in turn.moves]
    assert len(told) == len(set(told)) == 6 and {turn.mode for turn in turns} == {ADVISE}
    assert manager.scheduling.watch(manager.fs).decision.why == "even", "as if it had been followed"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_advice_that_an_operator_has_made_void_is_withdrawn(cluster: Cluster, manager: Manager) -> None:
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    ino, (target,) = next(iter(manager.scheduling.watch(manager.fs).advised.items()))
    cluster.directories[ino].pin = next(rank for rank in (1, 2) if rank != target)
    manager.run(60)
    advised = manager.scheduling.watch(manager.fs).advised
    assert advised and ino not in advised, "nobody is told to do what cannot be done any more"


def test_the_next_manager_goes_on(cluster: Cluster) -> None:
    acting = Manager(cluster, fewer(scheduler_moves=1))
    acting.scheduling.start(acting.fs, ACT)
    acting.run(12)
    assert 0 < len(pins(cluster)) < 6
    known = acting.scheduling.get(acting.fs)
    assert known.turns
    after = Manager(cluster, fewer(scheduler_moves=1))
    assert after.scheduling.get(after.fs).mode == ACT
    assert [t.why for t in after.scheduling.get(after.fs).turns] == [t.why for t in known.turns]
    after.run(AT_LAST)
    assert max(loads(cluster)) <= cluster.capacity
    assert [c.mds for c in after.scheduling.get(after.fs).capacities] == ["m0"]
    after.scheduling.stop(after.fs, rollback=True)
    third = Manager(cluster)
    third.run(AT_LAST)
    assert {d.pin for d in cluster.directories.values()} == {-1}
    assert third.scheduling.get(third.fs).mode == OFF


def test_a_stop_lets_what_is_under_way_arrive(cluster: Cluster, acting: Manager) -> None:
    cluster.lag = 20
    acting.run(7)
    assert cluster.under_way()
    acting.scheduling.stop(acting.fs, rollback=False)
    begun = len(pins(cluster))
    acting.run(AT_LAST)
    assert (cluster.under_way(), acting.partitioner.plans.active()) == (0, [])
    assert len(pins(cluster)) == begun
    assert acting.scheduling.get(acting.fs).mode == OFF


def test_what_an_operator_pinned_is_left_alone(cluster: Cluster, acting: Manager) -> None:
    for ino in (100, 101):
        cluster.directories[ino].pin = 0
    acting.run(AT_LAST)
    assert not [event for event in pins(cluster) if "s0 " in event or "s1 " in event]
    seen = acting.scheduling.watch(acting.fs).view
    assert seen is not None
    assert {p.held for p in seen.pieces if p.ino in (100, 101)} == {"pinned-by-operator"}


def test_an_operator_who_is_quicker_is_not_fought(cluster: Cluster, acting: Manager) -> None:
    seals: list[str] = []

    def pin_it(event: str) -> None:
        seals.extend([event] if event == "put seal" else [])
        if len(seals) == 2:  # the first plan sets options
            cluster.directories[103].pin = 0

    cluster.watch = pin_it
    acting.run(AT_LAST)
    assert not [event for event in pins(cluster) if "s3 " in event]
    said = [text for turn in acting.scheduling.get(acting.fs).turns for text in turn.trouble()]
    assert any("s3" in text and "operator" in text for text in said)
    assert max(loads(cluster)) <= 300.0, "the others were moved all the same"


def test_it_does_not_act_beside_an_operators_balancer(cluster: Cluster, manager: Manager) -> None:
    cluster.state = replace(cluster.state, balance_automate=True)
    with pytest.raises(NotPermitted, match="ceph fs set cephfs balance_automate false"):
        manager.scheduling.start(manager.fs, ACT)
    cluster.state = replace(cluster.state, balance_automate=False)
    manager.scheduling.start(manager.fs, ACT)
    cluster.state = replace(cluster.state, balance_automate=True)
    manager.run(AT_LAST)
    assert pins(cluster) == []
    assert "balance_automate" in manager.scheduling.watch(manager.fs).decision.why


@pytest.mark.parametrize("balancer", ["", "mine.lua"])
def test_it_acts_beside_a_policy_of_ours_until_an_operator_sets_another_balancer(
    cluster: Cluster, manager: Manager, balancer: str
) -> None:
    cluster.state = replace(cluster.state, balance_automate=True, balancer="mds_partitioner.lunule.1")
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    before = pins(cluster)
    assert before
    cluster.state = replace(cluster.state, balancer=balancer)
    manager.run(AT_LAST)
    assert pins(cluster) == before
    assert "its balancer would move" in manager.scheduling.watch(manager.fs).decision.why


def test_it_does_not_act_beside_mdss_that_have_left_our_policy_and_goes_on_when_they_are_back(
    cluster: Cluster, manager: Manager
) -> None:
    cluster.state = replace(cluster.state, balance_automate=True, balancer="mds_partitioner.lunule.1")
    manager.left = "mds.a: (2) No such file or directory"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert pins(cluster) == []
    assert manager.left in manager.scheduling.watch(manager.fs).decision.why
    manager.left = ""
    manager.run(AT_LAST)
    assert pins(cluster)


def test_it_does_not_act_beside_a_plan_nor_a_plan_beside_it(cluster: Cluster, manager: Manager) -> None:
    run = manager.partitioner.plans.propose(manager.fs, plan(cluster, {100: 1}))
    run.plan = replace(run.plan, scheduled=False, name="mine")
    manager.partitioner.plans.admit(run)
    with pytest.raises(Busy, match="plan 'mine' of 'cephfs' is running"):
        manager.scheduling.start(manager.fs, ACT)
    manager.run(5)
    manager.scheduling.start(manager.fs, ACT)
    for order in (manager.partitioner.start, manager.partitioner.rollback):
        with pytest.raises(Busy, match="scheduler stop cephfs"):
            order(manager.fs, "mine")


def test_an_emergency_stop_ends_in_advice(cluster: Cluster, acting: Manager) -> None:
    cluster.lag = 20
    acting.run(7)
    assert acting.scheduling.halt(acting.fs)
    acting.partitioner.stop(acting.fs)
    acting.scheduling.keep(acting.fs)
    begun = len(pins(cluster))
    acting.run(AT_LAST)
    assert len(pins(cluster)) == begun
    after = Manager(cluster)
    assert after.scheduling.get(after.fs).mode == ADVISE
    assert {run.head.state for run in after.partitioner.plans.of(after.fs)} >= {STOPPED}
    with pytest.raises(Busy, match="of the scheduler was stopped: go on with it"):
        after.scheduling.start(after.fs, ACT)
    after.scheduling.stop(after.fs, rollback=True)
    after.run(AT_LAST)
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_a_stop_while_a_plan_is_being_saved_comes_first(cluster: Cluster, acting: Manager) -> None:
    def stop(event: str) -> None:
        if event == "put seal":
            cluster.watch = lambda text: None
            acting.scheduling.halt(acting.fs)

    cluster.watch = stop
    acting.run(AT_LAST)
    assert pins(cluster) == [] and acting.partitioner.plans.of(acting.fs) == []
    assert not [key for key in cluster.store.data if key.endswith("/seal") and key.startswith("plan/")]


def test_a_plan_that_a_stop_came_before_is_not_begun_by_the_next_manager(
    cluster: Cluster, acting: Manager
) -> None:
    """The manager dies before it has withdrawn it."""

    def dies(event: str) -> None:
        if event == "delete":
            raise Crash

    def stop(event: str) -> None:
        if event == "put seal" and any(step.row >= 0 for step in planned(cluster)):
            cluster.watch = lambda text: None
            acting.scheduling.stop(acting.fs, rollback=False)
            cluster.watch = dies

    cluster.watch = stop
    with pytest.raises(Crash):
        acting.run(AT_LAST)
    cluster.watch = lambda text: None
    before = cluster.snapshot()
    after = Manager(cluster)
    after.run(30)
    assert cluster.snapshot() == before
    assert [run.plan.steps for run in after.partitioner.plans.known() if run.head.state != DONE] == []


def test_the_next_manager_knows_what_was_ordered_before_mdss_were_asked_to_hasten(
    cluster: Cluster, acting: Manager
) -> None:
    """They are full and do not answer, and the manager ends. Pins are set meanwhile."""

    def dies(event: str) -> None:
        if event.startswith("config set "):
            cluster.watch = lambda _: None
            acting.mover.tick()
            raise Crash

    cluster.watch = dies
    with pytest.raises(Crash):
        acting.run(AT_LAST)
    assert (begun := {event.split()[1] for event in pins(cluster)})
    known = Manager(cluster).ledger.find(cluster.state).kept
    assert {past.move.path for turn in known.turns for past in turn.moves} >= begun
    assert sum(hour.moves for hour in known.day) >= len(begun)


def planned(cluster: Cluster) -> list[Step]:
    """The steps of every plan that the mon has, whole or not."""
    bodies = [value for key, value in cluster.store.data.items() if "/body/" in key]
    return [step for body in bodies for step in Plan.from_json(body).steps]


def test_a_pause_ends_by_itself_or_by_command(cluster: Cluster, acting: Manager) -> None:
    acting.scheduling.pause(acting.fs, 30)
    acting.run(29)
    assert pins(cluster) == []
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4
    acting.scheduling.pause(acting.fs, None)
    acting.scheduling.keep(acting.fs)
    cluster.load[107] = 800.0
    done = len(pins(cluster))
    acting.run(AT_LAST)
    assert len(pins(cluster)) == done
    assert Manager(cluster).scheduling.get(acting.fs).paused
    acting.scheduling.resume(acting.fs)
    acting.run(AT_LAST)
    assert len(pins(cluster)) > done


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"max_mds": 2}, "is being resized from 4 to 2"),
        ({"failed": (1,)}, "rank 1 has failed"),
    ],
)
def test_it_waits_for_the_file_system(
    cluster: Cluster, acting: Manager, changed: dict[str, Any], said: str
) -> None:
    well = cluster.state
    cluster.state = replace(well, **changed)
    acting.run(AT_LAST)
    assert pins(cluster) == []
    why = acting.scheduling.watch(acting.fs).decision.why
    assert said in why and "the scheduler" in why and "plan" not in why
    cluster.state = well
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


@pytest.mark.parametrize("interval", [1, 2, 5])
def test_a_rank_that_was_away_is_looked_at_for_a_while_first(cluster: Cluster, interval: int) -> None:
    acting = Manager(cluster, fewer(scheduler_interval=interval))
    acting.scheduling.start(acting.fs, ACT)
    acting.run(AT_LAST)
    well, done = cluster.state, len(pins(cluster))
    cluster.state = replace(well, failed=(2,), mds=tuple(m for m in well.mds if m.rank != 2))
    acting.run(20)
    cluster.state = well
    acting.run(12)
    assert "rank 2 has come, or come back" in acting.scheduling.watch(acting.fs).decision.why
    acting.run(30)
    assert acting.scheduling.watch(acting.fs).decision.why == "even"
    assert len(pins(cluster)) == done


def test_slow_requests_are_waited_for(cluster: Cluster, acting: Manager) -> None:
    cluster.checks = {"MDS_SLOW_REQUEST": HealthCheck("slow")}
    acting.run(AT_LAST)
    assert pins(cluster) == []


def test_it_acts_in_its_hours_only(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(begin_time="0000", end_time="0001", begin_weekday=1, end_weekday=1))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    assert pins(cluster) == []
    assert "it acts from" in manager.scheduling.watch(manager.fs).decision.why
    manager.options.ours = replace(manager.options.ours, begin_time="25h")
    manager.run(20)
    assert pins(cluster) == []
    assert "give a time of day as HHMM" in manager.scheduling.watch(manager.fs).decision.why


def test_it_does_not_begin_to_act_by_what_is_no_time_of_day(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(begin_time="22:00"))
    with pytest.raises(BadInput, match="begin_time is '22:00': give a time of day as HHMM"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.start(manager.fs, ADVISE).mode == ADVISE
    with pytest.raises(BadInput):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == ADVISE


def test_an_mds_that_does_not_answer_keeps_its_last_shares(cluster: Cluster, acting: Manager) -> None:
    acting.run(6)
    cluster.silent = {"m0"}
    cluster.load[100] = 101.0
    acting.run(6)
    told: set[int | None] = set()
    for _ in range(10):
        acting.run(1)
        seen = acting.scheduling.watch(acting.fs).view
        assert seen is not None and seen.told is not None
        told |= {piece.rank for piece in seen.pieces if piece.ino in seen.told}
    assert sum(piece.requests for piece in seen.pieces) > 0.0
    assert told and 0 not in told, "who is silent has told nothing new"


@pytest.mark.parametrize("fails", [False, True])
def test_a_rank_that_a_standby_has_taken_over_between_two_looks_is_looked_at_for_a_while_first(
    cluster: Cluster, acting: Manager, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """One that followed the rank has told the manager all along that it serves nothing."""
    acting.run(AT_LAST)
    done = len(pins(cluster))
    taken = (replace(mds, name="m02") if mds.rank == 2 else mds for mds in cluster.state.mds)
    cluster.state = replace(cluster.state, mds=tuple(taken))
    if fails:

        def fail(*_: object) -> None:
            raise Unavailable("the engine failed")

        with monkeypatch.context() as patch:
            patch.setattr(acting.rounds._looker, "_engine", fail)
            while acting.scheduling.watch(acting.fs).problem != "the engine failed":
                acting.run(1)
    acting.run(12)
    assert "rank 2 has come, or come back" in acting.scheduling.watch(acting.fs).decision.why
    acting.run(60)
    assert acting.scheduling.watch(acting.fs).decision.why == "even" and len(pins(cluster)) == done


@pytest.mark.parametrize("said", [CephError("no such command"), None, {}, {"dirfrags": 7}, [{"path": 1}]])
def test_an_mds_that_says_nothing_of_use_blinds_no_other_and_its_shares_count_for_a_minute(
    cluster: Cluster, acting: Manager, said: Any
) -> None:
    """It gets nothing, and what it has is not known any more."""
    acting.run(6)
    watch = acting.scheduling.watch(acting.fs)
    assert 0 in watch.heat
    cluster.odd = {"m0": said}
    acting.run(20)
    assert watch.mute == {0} and 0 in watch.heat and watch.problem == ""
    acting.run(int(TOO_OLD))
    assert watch.view is not None and watch.view.untold == {0} and watch.problem == ""
    cluster.odd = {}
    acting.run(40)
    assert watch.mute == frozenset() and 0 in watch.heat


def test_who_has_too_much_to_tell_is_asked_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """It serves nobody meanwhile."""

    def asked(most: int) -> int:
        cluster, times = Cluster(), Counter[str]()
        tell, manager = cluster.tell, Manager(cluster)

        def counted(fs: FsState, mds: str, prefix: str, **arguments: Any) -> Any:
            times[mds] += prefix == "dump loads"
            return tell(fs, mds, prefix, **arguments)

        monkeypatch.setattr(cluster, "tell", counted)
        monkeypatch.setattr(heat_module, "MOST_TOLD", most)
        manager.scheduling.start(manager.fs, ACT)
        manager.run(int(CALM))
        return times["m0"]

    assert asked(most=0) == 1 and asked(most=1000) > 3


def test_who_takes_long_to_answer_is_waited_for_longer() -> None:
    """A full rank that has many directories to tell of: else nothing was ever known of them."""

    class Slow(Cluster):
        def tell_each(
            self, fs: FsState, names: list[str], prefix: str, *, within: float = 8.0, **arguments: Any
        ) -> dict[str, Any]:
            took = 3.0 if "m0" in names else 0.0
            self.steady += min(took, within)
            late = {"m0": GivenUp("no answer")} if took > within else {}
            return super().tell_each(fs, names, prefix, **arguments) | late

    slow = Slow()
    manager = Manager(slow)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(slow) == [200.0] * 4


def test_of_many_slow_ranks_all_have_their_turn() -> None:
    """Only so many are asked at once, and what was not begun in time is not asked (Host.tell_each)."""

    class Slow(Cluster):
        def tell_each(self, fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
            late = dict.fromkeys(names[4:], Unavailable("not begun"))
            return super().tell_each(fs, names[:4], prefix, **arguments) | late

    slow = Slow([100.0] * 24, ranks=12)
    manager = Manager(slow)
    manager.scheduling.start(manager.fs, ACT)
    for directory in slow.directories.values():
        directory.rank = 11
    manager.run(2 * AT_LAST)
    assert max(loads(slow)) <= 300.0


@pytest.mark.parametrize("parts", [False, True])
def test_ranks_that_something_moves_between_are_seldom_asked_what_is_popular(
    monkeypatch: pytest.MonkeyPatch, parts: bool
) -> None:
    """Where something is in parts it is learned meanwhile which of these are used."""
    monkeypatch.setattr(State, "without", lambda state, gone: state)  # nobody looks for it
    asked: list[tuple[float, str]] = []

    class Heard(Cluster):
        def tell_each(self, fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
            asked.extend((self.steady, name) for name in names if prefix == "dump loads")
            return super().tell_each(fs, names, prefix, **arguments)

    heard = Heard()
    manager = Manager(heard, fewer(scheduler_inodes=1000))
    manager.scheduling.start(manager.fs, ACT)
    watch = manager.scheduling.watch(manager.fs)
    watch.state = replace(watch.state, split=frozenset({404} if parts else ()))
    manager.run(AT_LAST)
    assert loads(heard) == [200.0] * 4
    moving = [p for t in manager.scheduling.watch(manager.fs).kept.turns for p in t.moves]
    late = max(p.begun for p in moving)
    full = [at for at, name in asked if name == "m0" and min(p.begun for p in moving) < at <= late]
    assert len(moving) > 1
    assert {later - at >= MEANWHILE for at, later in zip(full, full[1:])} <= {True}
    assert bool(full) == parts
    assert any(at > late for at, name in asked if name == "m0"), "when all has arrived it is looked at anew"


@pytest.mark.parametrize(("long", "asks"), [(8.0, [0.0, 5.0]), (4.0, [0.0, 5.0, 5.0 + SOON])])
def test_what_was_asked_too_seldom_is_asked_once_more_before_it_moves(
    monkeypatch: pytest.MonkeyPatch, long: float, asks: list[float]
) -> None:
    """What was hot before is hot still in the first answer; the next tells what has gone."""
    asked: list[float] = []

    class Heard(Cluster):
        def tell_each(self, fs: FsState, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
            if prefix == "dump loads" and "m0" in names:
                asked.append(self.steady)
            return super().tell_each(fs, names, prefix, **arguments)

    heard = Heard()
    manager = Manager(heard)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST + 100)
    assert loads(heard) == [200.0] * 4
    monkeypatch.setattr(watch_module, "LONG_AGO", long)
    before = heard.steady
    asked.clear()
    heard.load = {i: 400.0 if heard.directories[i].rank == 0 else 0.0 for i in heard.load}
    manager.run(30)
    begun = [p.begun for turn in manager.scheduling.watch(manager.fs).kept.turns for p in turn.moves]
    first = min(at for at in begun if at > before)
    assert [at - asked[0] for at in asked if at <= first] == asks


def test_what_the_mon_does_not_take_is_not_begun(cluster: Cluster, acting: Manager) -> None:
    cluster.store.fail = True
    acting.run(30)
    assert pins(cluster) == []
    assert "refused" in acting.scheduling.watch(acting.fs).problem
    with pytest.raises(JournalError):
        acting.scheduling.start(acting.fs, ADVISE)
    assert acting.scheduling.get(acting.fs).mode == ACT
    cluster.store.fail = False
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_what_is_under_way_is_not_ordered_again_when_the_record_is_refused(
    cluster: Cluster, acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan is in the journal by then."""
    put, refused = cluster.store.put, list[str]()

    def refuse(key: str, value: str) -> None:
        if key.startswith("scheduler/") and any(run.plan.rows for run in acting.partitioner.plans.known()):
            refused.append(key)
            raise JournalError("the mon refused the record")
        put(key, value)

    with monkeypatch.context() as refusing:
        refusing.setattr(cluster.store, "put", refuse)
        acting.run(20)
        assert refused and acting.scheduling.watch(acting.fs).unsaved
    acting.run(AT_LAST)
    about = [past.move.ino for turn in acting.scheduling.get(acting.fs).turns for past in turn.moves]
    assert len(about) == len(set(about)) == len(pins(cluster))
    assert loads(cluster) == [200.0] * 4


def test_many_small_plans_become_few(cluster: Cluster) -> None:
    cluster = Cluster([30.0 + i for i in range(40)], capacity=600.0)
    manager = Manager(cluster, fewer(scheduler_moves=1, scheduler_interval=1))
    before = cluster.snapshot()
    manager.scheduling.start(manager.fs, ACT)
    manager.run(300)
    turns = manager.scheduling.get(manager.fs).turns
    assert len(turns) > 16
    assert len(manager.partitioner.plans.of(manager.fs)) < 12
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(400)
    assert cluster.snapshot() == before


def with_parts(number: int, load: float) -> Cluster:
    """A subvolume, 100, with so many directories of so many req/s each, 200 and so on; four light ones."""
    cluster = Cluster([0.0, 20.0, 20.0, 20.0, 20.0])
    for i in range(number):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s0/c{i}")
        cluster.load[200 + i] = load
    return cluster


def test_what_is_too_large_is_taken_apart(cluster: Cluster) -> None:
    cluster = with_parts(4, 100.0)
    before, manager = cluster.snapshot(), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert max(loads(cluster)) < cluster.capacity
    turns = manager.scheduling.get(manager.fs).turns
    assert [path for turn in turns for path in turn.split] == ["/volumes/_nogroup/s0"]
    seen = manager.scheduling.watch(manager.fs).view
    assert seen is not None
    assert {p.within for p in seen.pieces if p.ino >= 200} == {100}
    assert next(p.requests for p in seen.pieces if p.ino == 100) == pytest.approx(0.0, abs=1.0)
    again = Manager(cluster)
    again.run(20)
    seen = again.scheduling.watch(again.fs).view
    assert seen is not None
    assert {p.ino for p in seen.pieces} >= {200, 201, 202, 203}
    again.scheduling.stop(again.fs, rollback=True)
    again.run(100)
    assert cluster.snapshot() == before


def test_what_has_an_operators_pin_in_it_is_taken_apart_beside_that() -> None:
    cluster = with_parts(5, 80.0)
    cluster.directories[200].pin = 0
    before, manager = cluster.snapshot(), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert max(loads(cluster)) < cluster.capacity
    beside = {cluster.directories[200 + i].pin for i in range(1, 5)}
    assert cluster.directories[200].pin == 0 and beside > {-1}
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert cluster.snapshot() == before


def test_what_is_left_of_several_that_were_taken_apart_is_on_several_ranks() -> None:
    """Most of their load is no part's. All went to the highest rank first."""
    cluster = Cluster([190.0, 190.0, 20.0, 20.0])
    for i, of in enumerate((0, 0, 1, 1)):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s{of}/c{i}")
        cluster.load[200 + i] = 40.0
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(300)
    assert manager.scheduling.get(manager.fs).split == (100, 101)
    assert max(loads(cluster)) < cluster.capacity
    about = [p.move.ino for turn in manager.scheduling.get(manager.fs).turns for p in turn.moves]
    assert max(map(about.count, (100, 101))) <= 2
    manager.run(3600)
    again = [p.move.ino for turn in manager.scheduling.get(manager.fs).turns for p in turn.moves]
    assert again == about, "and stays there"


@pytest.mark.parametrize("mode", [ACT, ADVISE])
def test_what_is_in_parts_hinders_no_stop_and_no_start(mode: str) -> None:
    cluster = with_parts(4, 100.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, mode)
    manager.run(200)
    assert manager.scheduling.watch(manager.fs).state.wholes
    assert manager.scheduling.halt(manager.fs) == (mode == ACT)
    assert manager.scheduling.get(manager.fs).mode == ADVISE
    assert manager.scheduling.start(manager.fs, ACT).mode == ACT
    manager.scheduling.stop(manager.fs, rollback=False)
    assert manager.scheduling.start(manager.fs, ACT).mode == ACT
    assert manager.scheduling.watch(manager.fs).state.wholes


def test_what_was_taken_apart_and_deleted_is_forgotten() -> None:
    cluster = with_parts(4, 100.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert manager.scheduling.get(manager.fs).split == (100,)
    for ino in (100, *range(200, 204)):
        del cluster.directories[ino], cluster.load[ino]
    manager.run(200)
    kept = manager.scheduling.get(manager.fs)
    assert (kept.split, kept.wholes) == ((), ())


def test_what_was_too_much_to_be_moved_first_goes_to_the_highest_rank_when_its_parts_have_pins() -> None:
    cluster = with_parts(8, 50.0)
    cluster.below = {f"{NOGROUP}/s0": 32_000} | {f"{NOGROUP}/s0/c{i}": 3_990 for i in range(8)}
    before, manager = cluster.snapshot(), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(120)
    ranks = [cluster.directories[200 + i].rank for i in range(8)]
    assert max(loads(cluster)) < cluster.capacity and 0 in ranks
    assert cluster.directories[100].rank == 0
    cluster.passed["m0"] = 200.0
    manager.run(120)
    assert cluster.directories[100].rank == 3
    assert [cluster.directories[200 + i].rank for i in range(8)] == ranks
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(200)
    assert cluster.snapshot() == before


@pytest.mark.parametrize("path", [f"{NOGROUP}/s0", f"{NOGROUP}/renamed"])
def test_the_next_manager_knows_the_parts_of_what_has_become_too_large_to_be_listed(path: str) -> None:
    cluster = with_parts(8, 50.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    pinned = {i for i in range(200, 208) if cluster.directories[i].pin >= 0}
    cluster.files = {100: 2500}
    for ino in (100, *range(200, 208)):
        cluster.directories[ino].path = cluster.directories[ino].path.replace(f"{NOGROUP}/s0", path)
    after = Manager(cluster)
    after.run(100)
    view = after.scheduling.watch(after.fs).view
    assert view is not None and {p.ino for p in view.pieces if p.within == 100} == pinned != set()


def test_parts_that_have_pins_of_ours_are_seen_when_nobody_remembers_why() -> None:
    """A plan of an operator's gave them these, or the scheduler's record was lost."""
    cluster = with_parts(16, 25.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert max(loads(cluster)) < cluster.capacity
    for key in [key for key in cluster.store.data if key.startswith("schedule")]:
        cluster.store.delete(key)
    cluster.load |= {ino: 110.0 for ino in range(200, 216) if cluster.directories[ino].rank == 3}
    after = Manager(cluster)
    after.scheduling.start(after.fs, ACT)
    an_hour(cluster)
    assert max(loads(cluster)) > cluster.capacity
    after.run(300)
    assert after.scheduling.watch(after.fs).state.split == {100}
    assert max(loads(cluster)) < 0.9 * cluster.capacity


def test_a_part_that_is_the_only_one_left_can_be_divided() -> None:
    """It was nobody's: its load was told as that of nothing that could be moved."""
    cluster = Cluster([0.0, 20.0, 20.0, 20.0, 20.0])
    two = [ino for ino in range(300, 5000) if evenly(ino)][:2]
    cluster.directories |= {ino: Directory(f"{NOGROUP}/s0/c{ino}") for ino in two}
    cluster.load |= dict.fromkeys(two, 160.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    left, gone = sorted(two, key=lambda ino: cluster.directories[ino].pin, reverse=True)
    assert cluster.directories[left].pin >= 0
    del cluster.directories[gone], cluster.load[gone]
    manager.run(100)
    cluster.files, cluster.below = {left: 1000}, {cluster.directories[left].path: 1000}
    cluster.load[left] = 480.0
    manager.run(200)
    assert cluster.directories[left].distributed == "1" and max(loads(cluster)) < cluster.capacity


def an_hour(cluster: Cluster) -> None:
    cluster.wall += 3700.0
    cluster.steady += 3700.0


def parts(cluster: Cluster) -> list[Directory]:
    return [cluster.directories[ino] for ino in range(200, 204)]


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, Manager]:
    """A subvolume whose four children got ranks each; since an hour clients are at work elsewhere. A day is
    two minutes."""
    monkeypatch.setattr("mds_partitioner.schedule.core.reunite.QUIET", 120.0)
    cluster = with_parts(4, 100.0)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert len({cluster.directories[ino].rank for ino in range(200, 204)}) > 1
    cluster.load |= dict.fromkeys(range(200, 204), 1.0) | dict.fromkeys(range(101, 105), 60.0)
    an_hour(cluster)
    return cluster, manager


def test_what_was_taken_apart_is_one_again_after_a_quiet_day(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    manager.run(100)
    assert manager.scheduling.watch(manager.fs).state.split == {100}
    manager.run(60)
    home = cluster.directories[100].rank
    assert {cluster.directories[ino].rank for ino in range(200, 204)} == {home}
    an_hour(cluster)  # what was moved rests
    manager.run(60)
    assert {cluster.directories[ino].pin for ino in range(200, 204)} == {-1}
    assert {cluster.directories[ino].rank for ino in range(200, 204)} == {home}
    watch = manager.scheduling.watch(manager.fs)
    assert watch.state.split == frozenset() == frozenset(manager.scheduling.get(manager.fs).split)
    assert watch.view is not None
    assert {p.ino for p in watch.view.pieces} == {100, 101, 102, 103, 104}
    told = history_text(manager.scheduling.get(manager.fs), None, 0)
    assert "/volumes/_nogroup/s0 is seen as a whole again" in told
    assert " no pin" in told
    cluster.load |= dict.fromkeys(range(200, 204), 100.0)
    manager.run(100)
    assert max(loads(cluster)) < 1.1 * cluster.capacity, "and it is taken apart again"
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(200)
    assert {d.pin for d in cluster.directories.values()} == {-1}
    assert {d.rank for d in cluster.directories.values()} == {0}


def test_a_rollback_between_gives_the_parts_their_ranks_back_in_turn(
    taken_apart: tuple[Cluster, Manager],
) -> None:
    cluster, manager = taken_apart
    manager.run(140)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(200)
    assert {(d.pin, d.rank) for d in cluster.directories.values()} == {(-1, 0)}


def test_a_part_that_an_operator_pinned_stays_there_when_the_rest_is_one_again(
    taken_apart: tuple[Cluster, Manager],
) -> None:
    cluster, manager = taken_apart
    home = cluster.directories[100].rank
    his = next(cluster.directories[i] for i in range(200, 204) if cluster.directories[i].rank != home)
    his.pin = his.rank = pinned = next(rank for rank in range(4) if rank not in (home, his.rank))
    manager.run(140)
    an_hour(cluster)
    manager.run(140)
    assert (his.pin, his.rank) == (pinned, pinned)
    assert manager.scheduling.watch(manager.fs).state.split == frozenset()


def test_no_day_passes_while_no_client_is_at_work(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    before = cluster.snapshot()
    cluster.load = dict.fromkeys(cluster.load, 0.0)
    manager.run(300)
    cluster.load |= dict.fromkeys(range(200, 204), 60.0)
    manager.run(60)
    assert manager.scheduling.watch(manager.fs).state.split == {100}
    assert cluster.snapshot() == before


def test_the_next_manager_takes_the_pins_off_too(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, _ = taken_apart
    manager = Manager(cluster)
    for _ in range(3):
        manager.run(200)
        an_hour(cluster)
    assert {at.pin for at in parts(cluster)} == {-1}
    manager.run(60)
    assert manager.scheduling.watch(manager.fs).state.split == frozenset()


@pytest.mark.parametrize("at_home", [True, False])
def test_the_next_manager_also_knows_of_a_part_that_an_operator_pinned(
    taken_apart: tuple[Cluster, Manager], at_home: bool
) -> None:
    cluster, _ = taken_apart
    home = cluster.directories[100].rank
    his = next(part for part in parts(cluster) if part.rank != home)
    his.pin = his.rank = pinned = next(r for r in range(4) if r != his.rank and (r == home) is at_home)
    manager = Manager(cluster)
    for _ in range(3):
        manager.run(200)
        an_hour(cluster)
    assert (his.pin, his.rank) == (pinned, pinned)
    assert manager.scheduling.watch(manager.fs).state.split == {100}


def test_a_part_on_a_rank_that_may_not_be_used_stops_nobody(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    cluster.state = replace(cluster.state, bal_rank_mask="0xe")
    manager.run(200)
    an_hour(cluster)
    manager.run(100)
    assert not manager.scheduling.watch(manager.fs).problem


def test_a_pin_that_an_operator_took_off_is_not_taken_off_again(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    manager.run(160)
    parts(cluster)[1].pin = -1
    for _ in range(4):
        an_hour(cluster)
        manager.run(140)
    assert not [turn for turn in manager.scheduling.get(manager.fs).turns if turn.left]
    assert manager.scheduling.watch(manager.fs).state.split == frozenset()


def test_in_advise_nothing_of_it_is_told(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.scheduling.start(manager.fs, ADVISE)
    before = cluster.snapshot()
    for _ in range(3):
        manager.run(140)
        an_hour(cluster)
    assert manager.scheduling.watch(manager.fs).state.split == {100}
    assert cluster.snapshot() == before


@pytest.mark.parametrize(("part", "goes_on"), [(0.0, 0.0), (0.125, 0.0), (0.0, 0.5)])
def test_a_night_ends_no_day(taken_apart: tuple[Cluster, Manager], part: float, goes_on: float) -> None:
    """In the last nothing goes on but something in it."""
    cluster, manager = taken_apart
    manager.run(60)
    before, by_day = manager.scheduling.watch(manager.fs).state.quiet[100].passed, dict(cluster.load)
    cluster.load = {ino: load * part for ino, load in by_day.items()}
    cluster.load[200] += goes_on
    manager.run(30)
    cluster.load = by_day
    manager.run(10)
    assert manager.scheduling.watch(manager.fs).state.quiet[100].passed >= before


def test_year_in_year_out_the_journal_does_not_grow(taken_apart: tuple[Cluster, Manager]) -> None:
    cluster, manager = taken_apart
    plans = []
    for _ in range(6):
        for _ in range(3):
            manager.run(150)
            an_hour(cluster)
        assert {at.pin for at in parts(cluster)} == {-1}
        cluster.load |= dict.fromkeys(range(200, 204), 100.0)
        manager.run(150)
        cluster.load |= dict.fromkeys(range(200, 204), 1.0)
        an_hour(cluster)
        plans.append(len(manager.partitioner.plans.of(manager.fs)))
    assert max(plans) < 12, plans
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(300)
    assert {(at.pin, at.rank) for at in cluster.directories.values()} == {(-1, 0)}


def test_what_becomes_hot_later_is_looked_into_before_it_is_squeezed_in() -> None:
    cluster = Cluster([100.0, 100.0, 0.0, 0.0])
    for i in range(16):
        cluster.directories[200 + i] = Directory(f"/volumes/_nogroup/s{2 + i // 8}/c{i}")
        cluster.load[200 + i] = 0.0
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    cluster.load |= dict.fromkeys(range(200, 216), 60.0) | {100: 0.0, 101: 0.0}
    manager.run(100)
    turns = manager.scheduling.get(manager.fs).turns
    assert {path for turn in turns for path in turn.split} >= {"/volumes/_nogroup/s2", "/volumes/_nogroup/s3"}
    moved = [p.move for turn in turns for p in turn.moves]
    assert all("to be taken apart" in m.why for m in moved if m.ino in (102, 103))
    assert max(loads(cluster)) <= 1.1 * cluster.capacity


def evenly(ino: int) -> bool:
    """Does its hash give each of four ranks as many of its fragments?"""
    of = fragment_ranks(ino, 4, 2.0)
    return all(of.count(rank) == 2 for rank in range(4))


def churned() -> Cluster:
    """A subvolume has most of the load, in directories that are made and removed all the time."""
    cluster = Cluster([20.0, 20.0, 20.0, 0.0])
    ino = next(ino for ino in range(3000, 4000) if evenly(ino))
    cluster.directories[ino], cluster.load[ino] = Directory(f"{NOGROUP}/s3/uuid"), 480.0
    cluster.churning[ino] = 40
    return cluster


def acted(cluster: Cluster) -> Manager:
    """A manager whose scheduler has acted on it until nothing was left to be done."""
    cluster.pass_time()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    return manager


def test_what_was_ordered_and_not_begun_when_the_manager_ended_is_ordered_again() -> None:
    """Its turn was kept: it must not pass for done."""
    cluster = churned()
    cluster.pass_time()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)

    def dies(event: str) -> None:
        ordered = any(turn.scatter for turn in manager.scheduling.get(manager.fs).turns)
        if ordered and event.startswith("put step/"):
            raise Crash

    cluster.watch = dies
    with pytest.raises(Crash):
        manager.run(AT_LAST)
    cluster.watch = lambda text: None
    assert not set_distributed(cluster)
    after = Manager(cluster)
    after.run(AT_LAST)
    assert len(set_distributed(cluster)) == 1
    turns = [turn for turn in after.scheduling.get(after.fs).turns if turn.scatter]
    assert [turn.undone for turn in turns] == [True, False]


def test_what_comes_and_goes_is_placed_as_it_is_made() -> None:
    cluster = churned()
    (parent,) = cluster.churning
    cluster.pass_time()
    before, manager = shape(cluster), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"
    assert max(loads(cluster)) < cluster.capacity
    assert not [event for event in pins(cluster) if f"{cluster.directories[parent].path}/" in event]
    (turn,) = (t for t in manager.scheduling.get(manager.fs).turns if t.scatter)
    assert [scatter.ino for scatter in turn.scatter] == [103]
    assert turn.gain > cluster.capacity / 2
    # It goes on so under the next manager, and is undone by one command.
    again = Manager(cluster)
    again.run(60)
    assert len(set_distributed(cluster)) == 1
    again.scheduling.stop(again.fs, rollback=True)
    again.run(AT_LAST)
    assert shape(cluster) == before


def test_when_what_was_distributed_is_deleted_the_next_one_there_is_distributed_too() -> None:
    cluster = churned()
    (first,) = cluster.churning
    manager = acted(cluster)
    assert set_distributed(cluster)
    second = next(i for i in range(first + 1, 5000) if evenly(i))
    cluster.directories[second] = Directory(f"{NOGROUP}/s3/next")
    cluster.load[second], cluster.churning[second] = cluster.load.pop(first), cluster.churning.pop(first)
    gone = cluster.directories[first].path
    for ino in [ino for ino, at in cluster.directories.items() if f"{at.path}/".startswith(f"{gone}/")]:
        del cluster.directories[ino]
        cluster.load.pop(ino, None)
    manager.run(AT_LAST)
    assert cluster.directories[second].distributed == "1"
    assert manager.scheduling.watch(manager.fs).state.placed == {103}
    cluster.directories[second].distributed = "0"  # an operator
    manager.run(AT_LAST)
    assert cluster.directories[second].distributed == "0"


@pytest.mark.parametrize("fails_over", [False, True])
def test_where_mdss_distribute_no_more_what_was_distributed_is_as_any_other(fails_over: bool) -> None:
    cluster = churned()
    (parent,) = cluster.churning
    manager = acted(cluster)
    before = cluster.asked[DISTRIBUTES]
    assert manager.scheduling.watch(manager.fs).state.placed == {103}
    for ino in (100, 101, 102):  # an operator
        cluster.directories[ino].pin, cluster.load[ino] = 0, 100.0
    cluster.load[parent], cluster.configured[DISTRIBUTES] = 210.0, False
    if fails_over:
        manager = Manager(cluster)
    manager.run(60 + AT_LAST)
    assert sorted(loads(cluster)) == [0.0, 0.0, 210.0, 300.0], "it is moved as a whole"
    cluster.load[parent] = 900.0
    manager.run(60)
    assert f"{NOGROUP}/s3: {DISTRIBUTES} is false" in manager.scheduling.watch(manager.fs).decision.why
    assert cluster.asked[DISTRIBUTES] - before < 100
    cluster.configured[DISTRIBUTES] = True
    manager.run(70)
    assert manager.scheduling.watch(manager.fs).state.placed == {103}
    assert len(set_distributed(cluster)) == 1


def test_what_comes_and_goes_beside_more_that_stays_is_placed_as_it_is_made() -> None:
    """Forty are old, and nobody asks for them; sixteen are made anew time and again."""
    cluster = churned()
    (parent,) = cluster.churning
    path, cluster.churning[parent] = cluster.directories[parent].path, 16
    cluster.directories |= {5000 + i: Directory(f"{path}/old{i:02d}") for i in range(40)}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"
    assert max(loads(cluster)) < cluster.capacity
    assert not [event for event in pins(cluster) if f"{path}/t" in event]


def test_what_comes_and_goes_where_parts_were_pinned_before_is_placed_as_it_is_made() -> None:
    cluster = churned()
    (parent,) = cluster.churning
    path, number = cluster.directories[parent].path, cluster.churning.pop(parent)
    cluster.directories |= {5000 + i: Directory(f"{path}/old{i}") for i in range(6)}
    cluster.load |= {parent: 0.0, **dict.fromkeys(range(5000, 5006), 80.0)}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    pinned = {ino for ino in range(5000, 5006) if cluster.directories[ino].pin >= 0}
    assert pinned and not set_distributed(cluster)
    cluster.load |= {parent: 480.0, **dict.fromkeys(range(5000, 5006), 0.0)}
    cluster.churning[parent] = number
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"
    assert max(loads(cluster)) < cluster.capacity


@pytest.mark.parametrize("number", [1, 2])
def test_what_stays_beside_what_is_made_anew_time_and_again_is_divided(number: int) -> None:
    """A build is removed and made anew while clients work in the modules of its sources."""
    cluster = Cluster([20.0, 20.0, 20.0, 0.0])
    path = cluster.directories[103].path
    cluster.churning[103] = number
    modules = range(5000, 5008)
    cluster.directories[4999] = Directory(f"{path}/src")
    cluster.directories |= {ino: Directory(f"{path}/src/m{ino}") for ino in modules}
    cluster.load |= {4999: 0.0, **dict.fromkeys(modules, 60.0)}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(2 * AT_LAST)
    assert max(loads(cluster)) < cluster.capacity
    assert not [event for event in pins(cluster) if f"{path}/t" in event]


def flat(files: int = 4000) -> Cluster:
    """A subvolume has most of the load, in one directory of files."""
    cluster = churned()
    (parent,) = cluster.churning
    cluster.churning, cluster.files = {}, {parent: files}
    return cluster


@pytest.mark.parametrize("files", [64, 4000])
def test_one_hot_directory_of_files_is_spread_by_their_names(files: int) -> None:
    cluster = flat(files)
    (parent,) = cluster.files
    before, manager = shape(cluster), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"
    assert max(loads(cluster)) < cluster.capacity
    (turn,) = (t for t in manager.scheduling.get(manager.fs).turns if t.scatter)
    assert "what is in it is spread by its names" in turn.why
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert shape(cluster) == before


@pytest.mark.parametrize(
    ("heats", "spread"), [((90.0, *(2.0,) * 7), "0"), ((12.0,) * 8, "1"), ((90.0,), "1")]
)
def test_one_of_which_all_want_the_same_file_is_left_as_it_is(
    heats: Sequence[float], spread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """heats: of its fragments, into which MDSs have split it, as it is hot."""
    cluster = flat()
    (parent,) = cluster.files
    at, told = cluster.directories[parent], cluster.tell

    def tell(fs: Any, mds: str, prefix: str, **arguments: Any) -> Any:
        found = told(fs, mds, prefix, **arguments)
        if prefix == "dump loads" and mds == f"m{at.rank}" and at.path.count("/") <= arguments["depth"]:
            others = [fragment for fragment in found["dirfrags"] if fragment["path"] != at.path]
            names = "pop_me", "pop_auth_subtree", "pop_auth_subtree_nested"
            own = [dict.fromkeys(names, _heat(heat)) | {"path": at.path} for heat in heats]
            found["dirfrags"] = others + own
        return found

    monkeypatch.setattr(cluster, "tell", tell)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == spread


@pytest.mark.parametrize("load", [80.0, 20.0, 4.0])
def test_one_that_has_directories_beside_its_files_gives_these_away_first(load: float) -> None:
    cluster = flat(1000)
    (parent,) = cluster.files
    for i in range(4):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s3/uuid/d{i}")
        cluster.load[200 + i] = load
    before, manager = shape(cluster), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert manager.scheduling.watch(manager.fs).state.split == {103}
    assert cluster.directories[parent].distributed == "1"
    assert max(loads(cluster)) < 1.1 * cluster.capacity
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert shape(cluster) == before


def test_what_would_go_along_with_the_files_counts() -> None:
    cluster = flat(1000)
    (parent,) = cluster.files
    for i in range(4):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s3/uuid/d{i}")
        cluster.load[200 + i] = 80.0 if i < 2 else 0.0
    cluster.below = {f"{NOGROUP}/s3/uuid/d3": 50_000_000, f"{NOGROUP}/s3/uuid": 50_002_000}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert cluster.directories[parent].distributed == "0"


@pytest.mark.parametrize("load", [80.0, 20.0])
def test_advice_takes_parts_that_were_to_go_as_gone(load: float) -> None:
    cluster = flat(1000)
    for i in range(4):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s3/uuid/d{i}")
        cluster.load[200 + i] = load
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    assert len([turn for turn in manager.scheduling.get(manager.fs).turns if turn.scatter]) == 1


@pytest.mark.parametrize(
    ("number", "all_below", "spread"), [(4, 4400, True), (1, 4400, True), (4, 5000, False)]
)
def test_what_is_too_large_to_be_listed_is_judged_by_how_much_is_beside_its_files(
    number: int, all_below: int, spread: bool
) -> None:
    cluster = flat(4000)
    (parent,) = cluster.files
    cluster.directories |= {200 + i: Directory(f"{NOGROUP}/s3/uuid/d{i}") for i in range(number)}
    cluster.below = {f"{NOGROUP}/s3/uuid": all_below}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert (cluster.directories[parent].distributed == "1") is spread


@pytest.mark.parametrize(
    ("files", "loads", "spread"),
    [
        (1000, (480.0, 0.0), ("1", "0")),
        (1000, (280.0, 200.0), ("0", "0")),
        (1000, (20.0, 460.0), ("0", "1")),
        (10, (480.0, 0.0), ("0", "0")),
        (10, (0.0, 480.0), ("0", "1")),
    ],
)
@pytest.mark.parametrize("parts", [0, 4])
def test_of_two_directories_of_files_in_each_other_that_is_spread_that_has_the_load(
    files: int, loads: tuple[float, float], spread: tuple[str, str], parts: int
) -> None:
    cluster = flat(files)
    (parent,) = cluster.files
    low = next(ino for ino in range(parent + 1, 5000) if evenly(ino))
    top = f"{NOGROUP}/s3/uuid"
    cluster.directories |= {low: Directory(f"{top}/archive")}
    cluster.directories |= {200 + i: Directory(f"{top}/archive/d{i}") for i in range(parts)}
    cluster.files[low], cluster.below = 2000, {top: files + 2000, f"{top}/archive": 2000 + parts}
    cluster.load |= {parent: loads[0], low: loads[1]}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(2 * AT_LAST)
    assert tuple(cluster.directories[ino].distributed for ino in (parent, low)) == spread
    if spread == ("0", "0"):
        assert f"not known that most of it is asked of {top}/archive" in _decided(manager)


def test_a_directory_of_few_files_is_not() -> None:
    cluster = flat(63)
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert not set_distributed(cluster)
    assert "fewer than 8 files a fragment" in _decided(manager)


def _decided(manager: Manager) -> str:
    return manager.scheduling.watch(manager.fs).decision.why


def test_a_directory_of_files_that_an_operator_has_pinned_is_left_alone() -> None:
    cluster = flat()
    (parent,) = cluster.files
    cluster.directories[parent].pin = 0
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert not set_distributed(cluster) and cluster.directories[parent].pin == 0


def test_what_is_as_young_as_what_is_made_in_it_is_placed_too() -> None:
    cluster = churned()
    (parent,) = cluster.churning
    cluster.made |= {parent: cluster.wall + 20.0, 103: cluster.wall + 20.0}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "1"


def test_one_that_was_moved_as_a_whole_before_loses_its_pin_when_the_other_is_set() -> None:
    """Without both it would be exported to where what it is in is."""
    cluster = churned()
    (parent,) = cluster.churning
    cluster.churning, cluster.directories[parent].path = {}, f"{NOGROUP}/flat"
    cluster.load |= {parent: 200.0, 103: 180.0}
    before, manager = shape(cluster), Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert cluster.directories[parent].pin > 0
    cluster.load[parent], cluster.churning[parent] = 900.0, 40
    manager.run(AT_LAST)
    at = cluster.directories[parent]
    assert (at.pin, at.distributed) == (-1, "1")
    assert max(loads(cluster)) < 500.0, "it was 900 on one of them"
    swapped = [event for event in cluster.events if f" {at.path} " in event][-2:]
    assert swapped == [f"distributed {at.path} 1", f"pin {at.path} -1"]
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert shape(cluster) == before


def test_advice_to_place_what_is_made_is_given_once() -> None:
    cluster = churned()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    assert not set_distributed(cluster)
    turns = manager.scheduling.get(manager.fs).turns
    assert len([turn for turn in turns if turn.scatter]) == 1
    assert "comes and goes" in history_text(manager.scheduling.get(manager.fs), None, 20)


def test_what_an_operator_distributed_no_more_stays_so() -> None:
    cluster = churned()
    (parent,) = cluster.churning
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    cluster.directories[parent].distributed = "0"
    manager.run(AT_LAST)
    assert cluster.directories[parent].distributed == "0"


@pytest.mark.parametrize("make", [churned, flat])
def test_what_an_operator_takes_back_himself_is_his(make: Callable[[], Cluster]) -> None:
    """As docs/scheduler.md tells him to."""
    cluster = make()
    (parent,) = cluster.files or cluster.churning
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    at = cluster.directories[parent]
    assert at.distributed == "1"
    at.distributed, at.pin = "0", 2
    manager = Manager(cluster)
    manager.run(60)
    assert (at.distributed, at.pin) == ("0", 2)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert manager.scheduling.get(manager.fs).mode == OFF
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert (at.distributed, at.pin, len(set_distributed(cluster))) == ("0", 2, 1)


@pytest.mark.parametrize("again", [False, True])
def test_without_a_pin_it_is_neither_distributed_nor_moved_until_that_was_undone(again: bool) -> None:
    cluster = flat()
    (parent,) = cluster.files
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    at, above = cluster.directories[parent], cluster.directories[103]
    assert at.distributed == "1"
    at.distributed = "0"
    if again:  # what was done before is not undone by the next rollback
        manager.scheduling.stop(manager.fs, rollback=False)
        manager.scheduling.start(manager.fs, ACT)
    manager = Manager(cluster)
    manager.run(AT_LAST)
    assert (at.distributed, at.pin, above.pin) == ("0", -1, -1)
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert (at.distributed == "1") is not again


def set_distributed(cluster: Cluster) -> list[str]:
    return [event for event in cluster.events if event.startswith("distributed") and event.endswith(" 1")]


def shape(cluster: Cluster) -> dict[str, tuple[int, str]]:
    """What lasts, as it is set."""
    return {d.path: (d.pin, d.distributed) for d in cluster.directories.values() if "/t" not in d.path}


def test_what_has_arrived_makes_room_before_the_next_look(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(scheduler_inodes=1000, scheduler_interval=30))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    assert loads(cluster) == [200.0] * 4, "six moves, one at a time"


def test_what_a_rank_has_taken_over_a_silent_one_has_no_more(cluster: Cluster, acting: Manager) -> None:
    acting.run(6)
    watch = acting.scheduling.watch(acting.fs)
    move = next(past.move for past in watch.state.past)
    watch.state = State(past=(Past(move, cluster.steady),))
    watch.subtrees = {0: [Subtree("/", 0, -1, False), Subtree(move.path, 0, move.target, False)]}
    cluster.directories[move.ino].pin = cluster.directories[move.ino].rank = move.target
    cluster.silent = {"m0"}
    assert watch.view is not None
    host: Any = cluster
    view = Looker(host, lambda *_: {}, cluster.now).glance(acting.fs, watch, watch.view, cluster.now())
    assert next(piece.rank for piece in view.pieces if piece.ino == move.ino) == move.target


def test_a_directory_in_fragments_has_arrived_with_the_last_of_them(
    cluster: Cluster, acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting.run(6)
    watch = acting.scheduling.watch(acting.fs)
    move = next(past.move for past in watch.state.past)
    watch.state = State(past=(Past(move, cluster.steady),))
    there = Subtree(move.path, move.target, move.target, False)
    here = replace(there, rank=move.source)
    assert watch.view is not None
    looker: Any = Looker(acting.rounds._host, lambda *_: {}, cluster.now)
    for arrived, rank in ((1, None), (2, move.target)):
        watch.subtrees = {move.source: [Subtree("/", move.source, -1, False), here, here]}
        monkeypatch.setattr(looker_module, "parse_subtrees", lambda rank, answer, n=arrived: [there] * n)
        view = looker.glance(acting.fs, watch, watch.view, cluster.now())
        assert next(piece.rank for piece in view.pieces if piece.ino == move.ino) == rank


def test_what_is_proposed_at_once_has_names_of_its_own(cluster: Cluster, manager: Manager) -> None:
    two = [manager.partitioner.plans.propose(manager.fs, plan(cluster, {ino: 1})) for ino in (100, 101)]
    assert len({run.plan.name for run in two}) == 2
    manager.partitioner.plans.withdraw(two[1])
    again = manager.partitioner.plans.propose(manager.fs, plan(cluster, {101: 1}))
    assert again.plan.name == two[1].plan.name, "what was withdrawn is free again"


def test_its_budgets_hold(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(scheduler_inodes_an_hour=3000))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert len(pins(cluster)) == 3
    assert "scheduler_inodes_an_hour" in manager.scheduling.watch(manager.fs).decision.why


def test_what_is_larger_than_the_cache_counts_as_its_part_of_it() -> None:
    """Only that is exported: of a million inodes each of eight directories has an eighth."""
    cluster = Cluster([1000.0] * 8, capacity=3000.0)
    cluster.below = {d.path: 5_000_000 for d in cluster.directories.values()}
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(cluster) == [2000.0] * 4


def test_what_was_seen_before_a_stop_is_not_told_after_the_next_start(
    cluster: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    acting.scheduling.start(acting.fs, ACT)
    watch = acting.scheduling.watch(acting.fs)
    assert (watch.ranks, watch.view, watch.decision.why) == ({}, None, "it has not looked yet")
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4


def test_a_decision_tells_of_the_rank_that_it_relieves(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    watch = acting.scheduling.watch(acting.fs)
    move = Move(1, "/a", 1, 2, 50.0, 50.0, 10.0, "")
    pieces = (Piece(1, "/a", 1, 50.0, 10.0),)
    # Rank 0 has more of its share, but on rank 1 more requests wait.
    ranks = (RankView(0, 400.0, 2.0, True), RankView(1, 390.0, 90.0, True), RankView(2, 10.0))
    watch.view, now = View(cluster.steady, ranks, pieces), cluster.now()
    state = State(past=(Past(move, now.steady),))
    turn = turn_of(watch, state, Decision((move,)), now)
    assert (turn.fullest, turn.gain) == (1, 50.0)
    assert turn_of(watch, State(), Decision(split=(1,)), now).fullest == 0


def test_moves_of_a_day_are_counted_across_managers(cluster: Cluster) -> None:
    few = fewer(scheduler_moves_a_day=4, scheduler_moves=2)
    manager = Manager(cluster, few)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(10)
    assert len(pins(cluster)) == 4
    after = Manager(cluster, few)
    after.run(AT_LAST)
    assert len(pins(cluster)) == 4
    assert "no more may be (scheduler_moves_a_day)" in after.scheduling.watch(after.fs).decision.why
    cluster.wall, cluster.steady = cluster.wall + 90_000.0, cluster.steady + 90_000.0
    after.run(AT_LAST)
    assert len(pins(cluster)) == 6


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("jump", [3600.0, 26 * 3600.0, -3600.0, -26 * 3600.0])
def test_moves_of_a_day_are_counted_by_no_clock_that_can_be_set(
    cluster: Cluster, jump: float, fails_over: bool
) -> None:
    few = fewer(scheduler_moves_a_day=4, scheduler_moves=2)
    manager = Manager(cluster, few)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(10)
    cluster.wall += jump
    manager.run(AT_LAST)
    if fails_over:
        manager = Manager(cluster, few)
        manager.run(AT_LAST)
    cluster.wall -= jump
    manager.run(AT_LAST)
    assert len(pins(cluster)) == 4
    assert sum(hour.moves for hour in manager.scheduling.get(manager.fs).day) == 4


def test_moves_count_for_a_day_where_the_last_managers_clock_was_ahead(cluster: Cluster) -> None:
    few = fewer(scheduler_moves_a_day=4, scheduler_moves=2)
    manager = Manager(cluster, few)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(10)
    cluster.wall -= 26 * 3600.0
    manager = Manager(cluster, few)
    manager.run(AT_LAST)
    assert len(pins(cluster)) == 4
    cluster.wall, cluster.steady = cluster.wall + 90_000.0, cluster.steady + 90_000.0
    manager.run(AT_LAST)
    assert len(pins(cluster)) == 6, "and for no longer"


def test_so_many_directories_are_pinned_and_those_may_still_be_moved(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(scheduler_pins=3))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert sum(d.pin >= 0 for d in cluster.directories.values()) == 3
    assert "no more may be (scheduler_pins)" in manager.scheduling.watch(manager.fs).decision.why
    assert manager.scheduling.get(manager.fs).split == ()


def test_pins_of_what_was_deleted_are_not_counted(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(scheduler_pins=6))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    gone = [ino for ino, d in cluster.directories.items() if d.pin >= 0]
    assert len(gone) == 6
    for ino in gone:
        del cluster.directories[ino], cluster.load[ino]
    for i in range(6):
        cluster.directories[300 + i] = Directory(f"{NOGROUP}/later{i}")
        cluster.load[300 + i] = 100.0
    manager.run(AT_LAST)
    assert sum(d.pin >= 0 for d in cluster.directories.values()) == 6


def test_options_of_the_cluster_are_claimed_once_whatever_is_started_and_stopped(
    cluster: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    claims = cluster.store.items("option/")
    assert list(claims) == [f"option/{TO_AUTH}/scheduler/1"]
    acting.scheduling.stop(acting.fs, rollback=False)
    for i in range(8):
        cluster.directories[300 + i] = Directory(f"{NOGROUP}/later{i}")
        cluster.load[300 + i] = 40.0
    acting.scheduling.start(acting.fs, ACT)
    acting.run(AT_LAST)
    assert {past.move.ino for turn in acting.scheduling.get(acting.fs).turns for past in turn.moves} > {100}
    assert cluster.store.items("option/") == claims
    assert cluster.options == {TO_AUTH: "true"}


def test_what_was_rolled_back_by_hand_is_set_again_when_it_acts_again(
    cluster: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    acting.scheduling.halt(acting.fs)
    for run in reversed(acting.partitioner.plans.of(acting.fs)):
        acting.partitioner.undo(run, acting.partitioner.plans.halts.given(1))
        acting.run(AT_LAST)
    assert (cluster.options, cluster.store.items("option/")) == ({TO_AUTH: ""}, {})
    acting.scheduling.start(acting.fs, ACT)
    acting.run(AT_LAST)
    assert cluster.options == {TO_AUTH: "true"}


@pytest.mark.parametrize("fails_over", [False, True])
def test_an_option_that_was_not_set_yet_is_set_when_it_acts_again(cluster: Cluster, fails_over: bool) -> None:
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    while not manager.partitioner.plans.known():
        manager.rounds.read()
        manager.rounds.tick()
    if fails_over:
        manager = Manager(cluster)
    else:
        manager.scheduling.start(manager.fs, ADVISE)
        manager.run(5)
        manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    assert cluster.options[TO_AUTH] == "true"


@pytest.mark.parametrize("before", ["true", ""])
def test_what_an_operator_makes_of_an_option_after_the_start_stays_after_a_fail_over(
    cluster: Cluster, before: str
) -> None:
    cluster.options[TO_AUTH] = before
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    assert cluster.options[TO_AUTH] == "true"
    cluster.options[TO_AUTH] = ""
    after = Manager(cluster)
    after.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4 and cluster.options[TO_AUTH] == ""
    after.scheduling.stop(after.fs, rollback=True)
    after.run(AT_LAST)
    after.scheduling.start(after.fs, ACT)
    after.run(30)
    assert cluster.options[TO_AUTH] == "true", "that is a start"


def until_moving(cluster: Cluster, manager: Manager) -> None:
    """Its first moves are ordered."""
    while not manager.scheduling.watch(manager.fs).state.moving:
        assert not cluster.hurried
        manager.run(1)
    assert cluster.hurried == dict.fromkeys(("m0", "m1", "m2", "m3"), 1.0)


@pytest.mark.parametrize("below", [0, 3])
def test_ticks_are_not_short_for_what_is_new(cluster: Cluster, acting: Manager, below: int) -> None:
    """A new subvolume of CSI is never empty."""
    acting.run(AT_LAST)
    for ino in range(500, 512):
        cluster.directories[ino], cluster.load[ino] = Directory(f"{NOGROUP}/new{ino}"), 0.0
        cluster.made[ino], cluster.below[f"{NOGROUP}/new{ino}"] = cluster.wall, below
    before = len(pins(cluster))
    for _ in range(30):
        acting.run(1)
        assert not cluster.hurried
    assert len(pins(cluster)) > before


def test_ticks_are_short_while_something_moves(cluster: Cluster, acting: Manager) -> None:
    until_moving(cluster, acting)
    acting.run(AT_LAST)
    assert (cluster.options, cluster.hurried) == ({TO_AUTH: "true"}, {})
    assert cluster.store.items("tick/") == {}


def test_ticks_are_short_no_longer_where_looks_are_rare(cluster: Cluster) -> None:
    manager = Manager(cluster, fewer(scheduler_interval=600))
    manager.scheduling.start(manager.fs, ACT)
    until_moving(cluster, manager)
    manager.run(60)
    assert loads(cluster) == [200.0] * 4 and not cluster.hurried


@pytest.mark.parametrize("by", ["stop", "halt", "pause"])
def test_ticks_are_as_they_were_when_it_acts_no_more(cluster: Cluster, acting: Manager, by: str) -> None:
    until_moving(cluster, acting)
    ends = {"stop": lambda: acting.scheduling.stop(acting.fs, rollback=False),
            "halt": lambda: acting.scheduling.halt(acting.fs),
            "pause": lambda: acting.scheduling.pause(acting.fs, None)}  # fmt: skip
    ends[by]()
    acting.run(2)
    assert not cluster.hurried


def test_the_next_manager_gives_back_the_ticks_of_the_last_one(cluster: Cluster, acting: Manager) -> None:
    until_moving(cluster, acting)
    acting.scheduling.stop(acting.fs, rollback=False)
    after = Manager(cluster)
    after.run(2)
    assert not cluster.hurried


def test_ticks_are_as_they_were_though_nothing_can_be_looked_at(
    cluster: Cluster, acting: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Unavailable("the engine failed")

    until_moving(cluster, acting)
    for look in ("look", "glance"):
        monkeypatch.setattr(Looker, look, fails)
    acting.scheduling.halt(acting.fs)
    acting.run(2)
    assert (cluster.hurried, acting.scheduling.watch(acting.fs).problem) == ({}, "the engine failed")


def test_a_tick_that_an_operator_sets_meanwhile_stays(cluster: Cluster, acting: Manager) -> None:
    until_moving(cluster, acting)
    cluster.options[TICK] = "3.000000"
    cluster.hurried["m2"] = 3.0
    acting.run(AT_LAST)
    assert (cluster.options[TICK], cluster.hurried, cluster.store.items("tick/")) == (
        "3.000000",
        {"m2": 3.0},
        {},
    )


@pytest.mark.parametrize("his", ["0.500000", "1.000000"])
def test_a_tick_that_is_as_short_already_is_left_alone(cluster: Cluster, acting: Manager, his: str) -> None:
    cluster.options[TICK] = his
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4 and cluster.options[TICK] == his
    assert not [event for event in cluster.events if event.startswith("config ") or "tick" in event]


def test_what_an_operator_has_told_an_mds_is_left_alone(cluster: Cluster, acting: Manager) -> None:
    cluster.hurried["m2"] = 8.0
    while not cluster.hurried.keys() - {"m2"}:
        acting.run(1)
    assert cluster.hurried == {"m0": 1.0, "m1": 1.0, "m2": 8.0, "m3": 1.0}
    acting.run(AT_LAST)
    assert loads(cluster) == [200.0] * 4 and cluster.hurried == {"m2": 8.0}


def test_a_journal_from_before_there_were_claims_is_put_back_too(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    for key in cluster.store.items("option/"):
        cluster.store.delete(key)
    after = Manager(cluster)
    assert len(cluster.store.items("option/")) == 1
    other = SharedOption(cluster, TO_AUTH, "balance/2", "true")
    other.take()
    after.scheduling.stop(after.fs, rollback=True)
    after.run(AT_LAST)
    assert (after.scheduling.get(after.fs).mode, cluster.options[TO_AUTH]) == (OFF, "true")
    other.give_back("true")
    assert cluster.options == {TO_AUTH: ""}


def test_what_an_operator_took_off_is_not_claimed_by_the_next_manager(
    cluster: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    for key in cluster.store.items("option/"):
        cluster.store.delete(key)
    cluster.options[TO_AUTH] = ""
    Manager(cluster)
    assert cluster.store.items("option/") == {}


def test_claims_of_plans_that_are_gone_are_swept(cluster: Cluster, acting: Manager) -> None:
    cluster.store.put(f"option/{TO_AUTH}/plan/gone", '{"value": "true", "old": ""}')
    cluster.store.put(f"option/{TO_AUTH}/scheduler/9", '{"value": "true", "old": ""}')
    cluster.store.put(f"option/{TO_AUTH}/balance/1", '{"value": "true", "old": ""}')
    Manager(cluster)
    assert list(cluster.store.items("option/")) == [f"option/{TO_AUTH}/balance/1"]


def test_a_rank_that_is_away_while_something_moves_stops_no_look(cluster: Cluster) -> None:
    cluster = Cluster(loads=(100.0,) * 16)
    cluster.lag = 8
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(2)
    well = cluster.state
    cluster.state = replace(well, failed=(2,), mds=tuple(m for m in well.mds if m.rank != 2))
    manager.run(3)
    cluster.state = well
    manager.run(100)
    assert max(loads(cluster)) <= 1.1 * 400.0


def test_what_is_not_so_is_refused(cluster: Cluster, manager: Manager) -> None:
    with pytest.raises(BadInput, match="'now' is not a mode: use advise or act"):
        manager.scheduling.start(manager.fs, "now")
    for order in (manager.scheduling.get, manager.scheduling.watch):
        with pytest.raises(NotFound, match="scheduler start cephfs"):
            order(manager.fs)
    with pytest.raises(NotFound):
        manager.scheduling.stop(manager.fs, rollback=True)
    assert not manager.scheduling.halt(manager.fs)
    assert not manager.scheduling.pause(manager.fs, None)
    assert not manager.scheduling.resume(manager.fs)


def test_a_plan_that_was_made_later_is_rolled_back_first(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=False)
    run = acting.partitioner.plans.propose(
        acting.fs,
        replace(plan(cluster, {100: (cluster.directories[100].rank + 1) % 4}), created=cluster.wall),
    )
    run.plan = replace(run.plan, scheduled=False, name="mine")
    acting.partitioner.plans.admit(run)
    acting.run(5)
    with pytest.raises(Busy, match="plan 'mine' was made after 'scheduler-1'"):
        acting.scheduling.stop(acting.fs, rollback=True)
    acting.partitioner.rollback(acting.fs, "mine")
    acting.run(20)
    assert run.head.state == ROLLED_BACK
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_a_rollback_of_what_the_scheduler_did_is_not_offered_under_a_later_plan(
    cluster: Cluster, acting: Manager
) -> None:
    """It would be refused, and say that the later plan is rolled back first."""
    acting.run(AT_LAST)
    stop = "run 'ceph mds_partitioner scheduler stop cephfs' first"
    assert acting.scheduling.in_the_way(acting.fs).endswith(f"{stop}, with --rollback to undo what it did")
    acting.scheduling.start(acting.fs, ADVISE)
    to = (cluster.directories[100].rank + 1) % 4
    acting.partitioner.plans.save(replace(plan(cluster, {100: to}, name="mine"), created=cluster.wall))
    acting.partitioner.start(acting.fs, "mine")
    acting.run(20)
    acting.scheduling.start(acting.fs, ACT)
    with pytest.raises(Busy, match=f"{stop}$"):
        acting.partitioner.rollback(acting.fs, "mine")
    acting.scheduling.stop(acting.fs, rollback=False)
    acting.partitioner.rollback(acting.fs, "mine")
    acting.run(20)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_a_later_plan_that_has_set_nothing_yet_is_rolled_back_first_too(
    cluster: Cluster, acting: Manager
) -> None:
    """It would find the scheduler's pins, put back its own, and leave these for ever."""
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=False)
    to = (cluster.directories[100].rank + 1) % 4
    acting.partitioner.plans.save(replace(plan(cluster, {100: to}, name="mine"), created=cluster.wall))
    acting.partitioner.start(acting.fs, "mine")
    cluster.checks = {"FS_DEGRADED": HealthCheck("degraded")}
    acting.run(5)
    run = acting.partitioner.plans.named(acting.fs, "mine")
    assert (run.head.state, run.records) == (PAUSED, {})
    with pytest.raises(Busy, match="plan 'mine' was made after 'scheduler-1': roll that one back first"):
        acting.scheduling.stop(acting.fs, rollback=True)
    assert acting.scheduling.get(acting.fs).mode == OFF


@pytest.mark.parametrize("answered", [True, False])
def test_a_plan_is_not_begun_while_the_rollback_of_the_schedulers_that_came_meanwhile_goes_on(
    cluster: Cluster, acting: Manager, answered: bool
) -> None:
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=False)
    free = next(ino for ino in cluster.load if cluster.directories[ino].pin == -1)  # by the scheduler, too
    mine = plan(cluster, {free: (cluster.directories[free].rank + 1) % 4}, name="mine")
    acting.partitioner.plans.save(replace(mine, created=cluster.wall))

    def stopped(event: str) -> None:
        if event == "put head":
            cluster.watch = lambda _: None
            acting.scheduling.stop(acting.fs, rollback=True)
            cluster.store.refuse(1, 0 if answered else 3)

    cluster.watch = stopped
    with pytest.raises(Busy, match="what the scheduler did on 'cephfs' is being undone"):
        acting.partitioner.start(acting.fs, "mine")
    acting.run(2 * AT_LAST)
    run = acting.partitioner.plans.named(acting.fs, "mine")
    assert (run.head.state, run.memory.halted, run.records) == (READY, False, {})
    assert acting.scheduling.get(acting.fs).mode == OFF
    assert {d.pin for d in cluster.directories.values()} == {-1}
    assert Manager(cluster).partitioner.plans.named(acting.fs, "mine").head.state == READY
    acting.partitioner.start(acting.fs, "mine")
    acting.run(10)
    assert run.head.state == DONE


def test_a_file_system_that_was_removed_needs_no_scheduler(cluster: Cluster, acting: Manager) -> None:
    acting.run(7)
    cluster.state = replace(cluster.state, fscid=2, metadata_pool=2)
    acting.run(30)
    assert not [key for key in cluster.store.data if key.startswith("scheduler/1/")]
    with pytest.raises(NotFound):
        acting.scheduling.get(cluster.state)


def test_of_a_removed_file_system_no_plan_of_the_scheduler_is_kept(cluster: Cluster, acting: Manager) -> None:
    """Nobody gave these their names, or would forget them. One of an operator's is his to forget."""
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=False)
    partitioner, old = acting.partitioner, acting.fs
    partitioner.plans.save(replace(plan(cluster, {100: 1}, name="mine"), created=cluster.wall))
    partitioner.start(old, "mine")
    acting.run(10)
    assert [run.plan.name for run in partitioner.plans.of(old)][-1] == "mine"
    assert len(partitioner.plans.of(old)) > 1
    cluster.state = replace(cluster.state, fscid=2, metadata_pool=2)
    acting.run(10)
    assert [(run.plan.name, run.head.state) for run in partitioner.plans.known()] == [("mine", DONE)]
    assert [run.plan.name for run in Manager(cluster).partitioner.plans.known()] == ["mine"]


def test_pins_of_what_was_renamed_away_are_counted(cluster: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    pinned = [d for d in cluster.directories.values() if d.pin >= 0]
    assert len(pinned) == 6
    watch = acting.scheduling.watch(acting.fs)
    assert watch.view is not None and watch.view.pins == 6
    pinned[0].path = "/volumes/_nogroup/s1/old"
    acting.run(60)
    assert watch.view is not None and watch.view.pins == 6
