# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler in the manager: what it begins and when it does not, what outlives it, how all is undone."""

from dataclasses import replace
from typing import Any

import pytest
from scheduled import NOGROUP, Cluster, Manager, fewer
from world import Directory, plan

from mds_partitioner.act.run import ROLLED_BACK, STOPPED
from mds_partitioner.act.shared import SharedOption
from mds_partitioner.errors import BadInput, Busy, JournalError, NotFound, NotPermitted
from mds_partitioner.model import HealthCheck, Subtree
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.ephemeral import fragment_ranks
from mds_partitioner.report.scheduler import history_text
from mds_partitioner.schedule.plans import TICK
from mds_partitioner.schedule.record import ACT, ADVISE, OFF, under_way
from mds_partitioner.schedule.rounds import AFTER_UNDOING, _turn
from mds_partitioner.schedule.state import Past, State
from mds_partitioner.schedule.view import Decision, Move, Piece, RankView, View
from mds_partitioner.schedule.watch import Looker

AT_LAST = 100  # s, within which a cold cluster of this size is even


def pins(world: Cluster) -> list[str]:
    return [event for event in world.events if event.startswith("pin ")]


def loads(world: Cluster) -> list[float]:
    return [world.demand(rank) for rank in world.state.ranks_in]


@pytest.fixture
def world() -> Cluster:
    return Cluster()


@pytest.fixture
def manager(world: Cluster) -> Manager:
    return Manager(world)


@pytest.fixture
def acting(manager: Manager) -> Manager:
    manager.scheduling.start(manager.fs, ACT)
    return manager


def test_a_cold_file_system_becomes_even_and_stays_as_it_is(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    assert loads(world) == [200.0] * 4
    assert world.options == {TO_AUTH: "true", TICK: "1.000000"}
    done = len(pins(world))
    acting.run(300)
    assert len(pins(world)) == done, "nothing moves while it is even"
    assert "even" in acting.scheduling.watch(acting.fs).decision.why


def test_a_rollback_undoes_all_since_the_start(world: Cluster, acting: Manager) -> None:
    world.directories[107].pin = world.directories[107].rank = 3
    before = world.snapshot()
    acting.run(AT_LAST)
    assert world.snapshot() != before
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert world.snapshot() == before
    assert acting.scheduling.get(acting.fs).mode == OFF
    assert acting.partitioner.all(acting.fs) == []


def test_directories_beside_the_subvolumes_are_found(world: Cluster, manager: Manager) -> None:
    for i, ino in enumerate(sorted(world.load)[:6]):
        world.directories[ino].path = f"/home{i}"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(world) == [200.0] * 4
    assert any("/home" in event for event in pins(world))


def test_what_is_new_is_pinned_at_once_and_given_back(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    old = {ino: d.pin for ino, d in world.directories.items()}
    new = range(500, 512)
    for ino in new:
        world.directories[ino] = Directory(f"{NOGROUP}/new{ino}")
        world.load[ino] = 0.0
        world.made[ino] = world.wall
    world.directories[600] = Directory(f"{NOGROUP}/renamed")
    world.load[600] = 0.0
    acting.run(30)
    assert {world.directories[ino].rank for ino in new} == {0, 1, 2, 3}
    assert {ino: world.directories[ino].pin for ino in (*old, 600)} == {**old, 600: -1}
    turn = acting.scheduling.get(acting.fs).turns[-1]
    assert turn.real is None and "new" in turn.why and all("entry" in p.move.why for p in turn.moves)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert {d.pin for d in world.directories.values()} == {-1}


def test_what_sleeps_and_does_not_come_is_put_back_and_history_says_so() -> None:
    world = Cluster((0.0, *(100.0,) * 4))
    world.files = {100: 1}
    for rank in range(4):
        world.directories[101 + rank].pin = world.directories[101 + rank].rank = rank
    before, acting = world.snapshot(), Manager(world)
    acting.scheduling.start(acting.fs, ACT)
    acting.run(20)
    move = Move(100, world.directories[100].path, 0, 2, 0.0, 0.0, 999.0, "nobody uses it now")
    watch, world.lag = acting.scheduling.watch(acting.fs), 10_000
    decision, now = Decision((move,), why="spread"), world.now()
    state = replace(watch.state, past=(Past(move, now.steady),))
    watch.state = acting.rounds._come_to(acting.fs, watch, state, decision, now)
    told = []
    for _ in range(2):
        acting.run(200)
        told.append(history_text(acting.scheduling.get(acting.fs), None, 20))
    assert [text.partition("s0 ")[2].count("pinned") for text in told] == [1, 0]
    assert "put back" in told[1] and world.directories[100].pin == -1
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert world.snapshot() == before


@pytest.mark.parametrize(("load", "stuck"), [(0.0, True), (100.0, False)])
def test_what_relieves_nobody_does_not_hide_that_it_is_stuck(
    acting: Manager, load: float, stuck: bool
) -> None:
    acting.run(5)
    watch, now = acting.scheduling.watch(acting.fs), acting.world.now()
    watch.idle_since = watch.pressing_since = now.steady - 700.0
    move = Move(100, f"{NOGROUP}/s0", 0, 2, load, load, 999.0, "")
    state = State(acting=True, past=(Past(move, now.steady),))
    acting.rounds._follow(watch, state, Decision((move,)), now)
    assert (watch.idle_since is not None, watch.pressing_since is not None) == (stuck, stuck)


def test_a_rollback_is_waited_for_without_haste(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    plans, world.lag = len(acting.partitioner.all(acting.fs)), 20
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.woken = 0
    acting.run(15)
    assert world.under_way()
    assert acting.woken <= plans, "who is woken for each look looks all the time"
    assert acting.rounds.tick() >= AFTER_UNDOING / 2


def test_nothing_hurries_where_there_is_nothing_to_see(world: Cluster, acting: Manager) -> None:
    for ino in tuple(world.load):
        world.load[ino] = 0.0
    acting.run(30)
    acting.woken = 0
    acting.run(60)
    assert acting.woken == 0


def test_what_was_rolled_back_does_not_rest(world: Cluster, acting: Manager) -> None:
    for _ in range(3):
        acting.run(AT_LAST)
        assert loads(world) == [200.0] * 4
        acting.scheduling.stop(acting.fs, rollback=True)
        acting.run(AT_LAST)
        assert loads(world)[1:] == [0.0] * 3
        acting.scheduling.start(acting.fs, ACT)
    kept = acting.scheduling.get(acting.fs)
    assert kept.turns and all(turn.undone for turn in kept.turns)
    assert under_way(kept) == []


def test_advice_changes_nothing_and_is_given_once(world: Cluster, manager: Manager) -> None:
    before = world.snapshot()
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    assert world.snapshot() == before and manager.partitioner.all(manager.fs) == []
    turns = manager.scheduling.get(manager.fs).turns
    told = [past.move.ino for turn in turns for past in turn.moves]
    assert len(told) == len(set(told)) == 6 and {turn.mode for turn in turns} == {ADVISE}
    assert manager.scheduling.watch(manager.fs).decision.why == "even", "as if it had been followed"
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert loads(world) == [200.0] * 4


def test_the_next_manager_goes_on(world: Cluster) -> None:
    acting = Manager(world, fewer(scheduler_moves=1))
    acting.scheduling.start(acting.fs, ACT)
    acting.run(12)
    assert 0 < len(pins(world)) < 6
    known = acting.scheduling.get(acting.fs)
    assert known.turns
    after = Manager(world, fewer(scheduler_moves=1))
    assert after.scheduling.get(after.fs).mode == ACT
    assert [t.why for t in after.scheduling.get(after.fs).turns] == [t.why for t in known.turns]
    after.run(AT_LAST)
    assert max(loads(world)) <= world.capacity
    assert [c.mds for c in after.scheduling.get(after.fs).capacities] == ["m0"]
    after.scheduling.stop(after.fs, rollback=True)
    third = Manager(world)
    third.run(AT_LAST)
    assert {d.pin for d in world.directories.values()} == {-1}
    assert third.scheduling.get(third.fs).mode == OFF


def test_a_stop_lets_what_is_under_way_arrive(world: Cluster, acting: Manager) -> None:
    world.lag = 20
    acting.run(7)
    assert world.under_way()
    acting.scheduling.stop(acting.fs, rollback=False)
    begun = len(pins(world))
    acting.run(AT_LAST)
    assert (world.under_way(), acting.partitioner.active()) == (0, [])
    assert len(pins(world)) == begun
    assert acting.scheduling.get(acting.fs).mode == OFF


def test_what_an_operator_pinned_is_left_alone(world: Cluster, acting: Manager) -> None:
    for ino in (100, 101):
        world.directories[ino].pin = 0
    acting.run(AT_LAST)
    assert not [event for event in pins(world) if "s0 " in event or "s1 " in event]
    seen = acting.scheduling.watch(acting.fs).view
    assert seen is not None
    assert {p.held for p in seen.pieces if p.ino in (100, 101)} == {"pinned-by-operator"}


def test_an_operator_who_is_quicker_is_not_fought(world: Cluster, acting: Manager) -> None:
    seals: list[str] = []

    def pin_it(event: str) -> None:
        seals.extend([event] if event == "put seal" else [])
        if len(seals) == 2:  # the first plan sets options
            world.directories[103].pin = 0

    world.watch = pin_it
    acting.run(AT_LAST)
    assert not [event for event in pins(world) if "s3 " in event]
    said = [text for turn in acting.scheduling.get(acting.fs).turns for text in turn.trouble]
    assert any("s3" in text and "operator" in text for text in said)
    assert max(loads(world)) <= 300.0, "the others were moved all the same"


def test_it_does_not_act_beside_an_operators_balancer(world: Cluster, manager: Manager) -> None:
    world.state = replace(world.state, balance_automate=True)
    with pytest.raises(NotPermitted, match="ceph fs set cephfs balance_automate false"):
        manager.scheduling.start(manager.fs, ACT)
    world.state = replace(world.state, balance_automate=False)
    manager.scheduling.start(manager.fs, ACT)
    world.state = replace(world.state, balance_automate=True)
    manager.run(AT_LAST)
    assert pins(world) == []
    assert "balance_automate" in manager.scheduling.watch(manager.fs).decision.why


def test_it_does_not_act_beside_a_plan_nor_a_plan_beside_it(world: Cluster, manager: Manager) -> None:
    run = manager.partitioner.propose(manager.fs, plan(world, {100: 1}))
    run.plan = replace(run.plan, scheduled=False, name="mine")
    manager.partitioner.admit(run)
    with pytest.raises(Busy, match="plan 'mine' of 'cephfs' is running"):
        manager.scheduling.start(manager.fs, ACT)
    manager.run(5)
    manager.scheduling.start(manager.fs, ACT)
    for order in (manager.partitioner.start, manager.partitioner.rollback):
        with pytest.raises(Busy, match="scheduler stop cephfs"):
            order(manager.fs, "mine")


def test_an_emergency_stop_ends_in_advice(world: Cluster, acting: Manager) -> None:
    world.lag = 20
    acting.run(7)
    assert acting.scheduling.halt(acting.fs)
    acting.partitioner.stop(acting.fs)
    begun = len(pins(world))
    acting.run(AT_LAST)
    assert len(pins(world)) == begun
    after = Manager(world)
    assert after.scheduling.get(after.fs).mode == ADVISE
    assert {run.head.state for run in after.partitioner.all(after.fs)} >= {STOPPED}
    with pytest.raises(Busy, match="of the scheduler was stopped: go on with it"):
        after.scheduling.start(after.fs, ACT)
    after.scheduling.stop(after.fs, rollback=True)
    after.run(AT_LAST)
    assert {d.pin for d in world.directories.values()} == {-1}


def test_a_stop_while_a_plan_is_being_saved_comes_first(world: Cluster, acting: Manager) -> None:
    def stop(event: str) -> None:
        if event == "put seal":
            world.watch = lambda text: None
            acting.scheduling.halt(acting.fs)

    world.watch = stop
    acting.run(AT_LAST)
    assert pins(world) == [] and acting.partitioner.all(acting.fs) == []
    assert not [key for key in world.store.data if key.endswith("/seal") and key.startswith("plan/")]


def test_a_pause_ends_by_itself_or_by_command(world: Cluster, acting: Manager) -> None:
    acting.scheduling.pause(acting.fs, 30)
    acting.run(29)
    assert pins(world) == []
    acting.run(AT_LAST)
    assert loads(world) == [200.0] * 4
    acting.scheduling.pause(acting.fs, None)
    world.load[107] = 800.0
    done = len(pins(world))
    acting.run(AT_LAST)
    assert len(pins(world)) == done
    assert Manager(world).scheduling.get(acting.fs).paused
    acting.scheduling.resume(acting.fs)
    acting.run(AT_LAST)
    assert len(pins(world)) > done


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"max_mds": 2}, "is being resized from 4 to 2"),
        ({"failed": (1,)}, "rank 1 has failed"),
    ],
)
def test_it_waits_for_the_file_system(
    world: Cluster, acting: Manager, changed: dict[str, Any], said: str
) -> None:
    well = world.state
    world.state = replace(well, **changed)
    acting.run(AT_LAST)
    assert pins(world) == []
    assert said in acting.scheduling.watch(acting.fs).decision.why
    world.state = well
    acting.run(AT_LAST)
    assert loads(world) == [200.0] * 4


def test_a_rank_that_was_away_is_looked_at_for_a_while_first(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    well, done = world.state, len(pins(world))
    world.state = replace(well, failed=(2,), mds=tuple(m for m in well.mds if m.rank != 2))
    acting.run(20)
    world.state = well
    acting.run(15)
    assert "rank 2 has come, or come back" in acting.scheduling.watch(acting.fs).decision.why
    acting.run(30)
    assert acting.scheduling.watch(acting.fs).decision.why == "even"
    assert len(pins(world)) == done


def test_slow_requests_are_waited_for(world: Cluster, acting: Manager) -> None:
    world.checks = {"MDS_SLOW_REQUEST": HealthCheck("slow")}
    acting.run(AT_LAST)
    assert pins(world) == []


def test_it_acts_in_its_hours_only(world: Cluster) -> None:
    manager = Manager(world, fewer(begin_time="0000", end_time="0001", begin_weekday=1, end_weekday=1))
    manager.options.ours = replace(manager.options.ours, begin_time="25h")
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    assert pins(world) == []
    assert "give a time of day as HHMM" in manager.scheduling.watch(manager.fs).decision.why


def test_an_mds_that_does_not_answer_keeps_its_last_shares(world: Cluster, acting: Manager) -> None:
    acting.run(6)
    world.silent = {"m0"}
    world.load[100] = 101.0
    acting.run(3)
    seen = acting.scheduling.watch(acting.fs).view
    assert seen is not None and sum(piece.requests for piece in seen.pieces) > 0.0


def test_what_the_mon_does_not_take_is_not_begun(world: Cluster, acting: Manager) -> None:
    world.store.fail = True
    acting.run(30)
    assert pins(world) == []
    assert "refused" in acting.scheduling.watch(acting.fs).problem
    with pytest.raises(JournalError):
        acting.scheduling.start(acting.fs, ADVISE)
    assert acting.scheduling.get(acting.fs).mode == ACT
    world.store.fail = False
    acting.run(AT_LAST)
    assert loads(world) == [200.0] * 4


def test_many_small_plans_become_few(world: Cluster) -> None:
    world = Cluster([30.0 + i for i in range(40)], capacity=600.0)
    manager = Manager(world, fewer(scheduler_moves=1, scheduler_interval=1))
    before = world.snapshot()
    manager.scheduling.start(manager.fs, ACT)
    manager.run(300)
    turns = manager.scheduling.get(manager.fs).turns
    assert len(turns) > 16
    assert len(manager.partitioner.all(manager.fs)) < 12
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(400)
    assert world.snapshot() == before


def test_what_is_too_large_is_taken_apart(world: Cluster) -> None:
    world = Cluster([0.0, 20.0, 20.0, 20.0, 20.0])
    for i in range(4):
        world.directories[200 + i] = Directory(f"/volumes/_nogroup/s0/c{i}")
        world.load[200 + i] = 100.0
    before, manager = world.snapshot(), Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(200)
    assert max(loads(world)) < world.capacity
    turns = manager.scheduling.get(manager.fs).turns
    assert [path for turn in turns for path in turn.split] == ["/volumes/_nogroup/s0"]
    seen = manager.scheduling.watch(manager.fs).view
    assert seen is not None
    assert {p.within for p in seen.pieces if p.ino >= 200} == {100}
    assert next(p.requests for p in seen.pieces if p.ino == 100) == pytest.approx(0.0, abs=1.0)
    again = Manager(world)
    again.run(20)
    seen = again.scheduling.watch(again.fs).view
    assert seen is not None
    assert {p.ino for p in seen.pieces} >= {200, 201, 202, 203}
    again.scheduling.stop(again.fs, rollback=True)
    again.run(100)
    assert world.snapshot() == before


def test_what_becomes_hot_later_is_looked_into_before_it_is_squeezed_in() -> None:
    world = Cluster([100.0, 100.0, 0.0, 0.0])
    for i in range(16):
        world.directories[200 + i] = Directory(f"/volumes/_nogroup/s{2 + i // 8}/c{i}")
        world.load[200 + i] = 0.0
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(30)
    world.load |= dict.fromkeys(range(200, 216), 60.0) | {100: 0.0, 101: 0.0}
    manager.run(100)
    turns = manager.scheduling.get(manager.fs).turns
    assert {path for turn in turns for path in turn.split} >= {"/volumes/_nogroup/s2", "/volumes/_nogroup/s3"}
    moved = [p.move for turn in turns for p in turn.moves]
    assert {m.target for m in moved if m.ino in (102, 103)} <= {3}  # only to be taken apart there
    assert max(loads(world)) <= 1.1 * world.capacity


def churned() -> Cluster:
    """A subvolume has most of the load, in directories that are made and removed all the time."""
    world = Cluster([20.0, 20.0, 20.0, 0.0])
    ranks = (fragment_ranks(ino, 4, 2.0) for ino in range(3000, 4000))
    ino = 3000 + next(i for i, of in enumerate(ranks) if all(of.count(r) == 2 for r in range(4)))
    world.directories[ino], world.load[ino] = Directory(f"{NOGROUP}/s3/uuid"), 480.0
    world.churning[ino] = 40
    return world


def test_what_comes_and_goes_is_placed_as_it_is_made() -> None:
    world = churned()
    (parent,) = world.churning
    world.pass_time()
    before, manager = shape(world), Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert world.directories[parent].distributed == "1"
    assert max(loads(world)) < world.capacity
    assert not [event for event in pins(world) if f"{world.directories[parent].path}/" in event]
    (turn,) = (t for t in manager.scheduling.get(manager.fs).turns if t.scatter)
    assert [scatter.ino for scatter in turn.scatter] == [103]
    assert turn.gain > world.capacity / 2
    # It goes on so under the next manager, and is undone by one command.
    again = Manager(world)
    again.run(60)
    assert len(set_distributed(world)) == 1
    again.scheduling.stop(again.fs, rollback=True)
    again.run(AT_LAST)
    assert shape(world) == before


def flat(files: int = 4000) -> Cluster:
    """A subvolume has most of the load, in one directory of files."""
    world = churned()
    (parent,) = world.churning
    world.churning, world.files = {}, {parent: files}
    return world


@pytest.mark.parametrize("files", [64, 4000])
def test_one_hot_directory_of_files_is_spread_by_their_names(files: int) -> None:
    world = flat(files)
    (parent,) = world.files
    before, manager = shape(world), Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert world.directories[parent].distributed == "1"
    assert max(loads(world)) < world.capacity
    (turn,) = (t for t in manager.scheduling.get(manager.fs).turns if t.scatter)
    assert "its files are spread by their names" in turn.why
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert shape(world) == before


def test_a_directory_of_few_files_is_not() -> None:
    world = flat(63)
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert not set_distributed(world)


def test_a_directory_of_files_that_an_operator_has_pinned_is_left_alone() -> None:
    world = flat()
    (parent,) = world.files
    world.directories[parent].pin = 0
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert not set_distributed(world) and world.directories[parent].pin == 0


def test_what_is_as_young_as_what_is_made_in_it_is_placed_too() -> None:
    world = churned()
    (parent,) = world.churning
    world.made |= {parent: world.wall + 20.0, 103: world.wall + 20.0}
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert world.directories[parent].distributed == "1"


def test_one_that_was_moved_as_a_whole_before_loses_its_pin_first() -> None:
    world = churned()
    (parent,) = world.churning
    world.churning, world.directories[parent].path = {}, f"{NOGROUP}/flat"
    world.load |= {parent: 200.0, 103: 180.0}
    before, manager = shape(world), Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert world.directories[parent].pin > 0
    world.load[parent], world.churning[parent] = 900.0, 40
    manager.run(AT_LAST)
    assert (world.directories[parent].pin, world.directories[parent].distributed) == (-1, "1")
    assert max(loads(world)) < 500.0, "it was 900 on one of them"
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(AT_LAST)
    assert shape(world) == before


def test_advice_to_place_what_is_made_is_given_once() -> None:
    world = churned()
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(AT_LAST)
    assert not set_distributed(world)
    turns = manager.scheduling.get(manager.fs).turns
    assert len([turn for turn in turns if turn.scatter]) == 1
    assert "comes and goes" in history_text(manager.scheduling.get(manager.fs), None, 20)


def test_what_an_operator_distributed_no_more_stays_so() -> None:
    world = churned()
    (parent,) = world.churning
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    world.directories[parent].distributed = "0"
    manager.run(AT_LAST)
    assert world.directories[parent].distributed == "0"


def set_distributed(world: Cluster) -> list[str]:
    return [event for event in world.events if event.startswith("distributed") and event.endswith(" 1")]


def shape(world: Cluster) -> dict[str, tuple[int, str]]:
    """What lasts, as it is set."""
    return {d.path: (d.pin, d.distributed) for d in world.directories.values() if "/t" not in d.path}


def test_what_has_arrived_makes_room_before_the_next_look(world: Cluster) -> None:
    manager = Manager(world, fewer(scheduler_inodes=1000, scheduler_interval=30))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    assert loads(world) == [200.0] * 4, "six moves, one at a time"


def test_what_a_rank_has_taken_over_a_silent_one_has_no_more(world: Cluster, acting: Manager) -> None:
    acting.run(6)
    watch = acting.scheduling.watch(acting.fs)
    move = next(past.move for past in watch.state.past)
    watch.state = State(past=(Past(move, world.steady),))
    watch.subtrees = {0: [Subtree("/", 0, -1, False), Subtree(move.path, 0, move.target, False)]}
    world.directories[move.ino].pin = world.directories[move.ino].rank = move.target
    world.silent = {"m0"}
    assert watch.view is not None
    host: Any = world
    view = Looker(host, lambda *_: {}, world.now).glance(acting.fs, watch, watch.view, world.now())
    assert next(piece.rank for piece in view.pieces if piece.ino == move.ino) == move.target


def test_its_budgets_hold(world: Cluster) -> None:
    manager = Manager(world, fewer(scheduler_inodes_an_hour=3000))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert len(pins(world)) == 3


def test_what_was_seen_before_a_stop_is_not_told_after_the_next_start(
    world: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    acting.scheduling.start(acting.fs, ACT)
    watch = acting.scheduling.watch(acting.fs)
    assert (watch.ranks, watch.view, watch.decision.why) == ({}, None, "it has not looked yet")
    acting.run(AT_LAST)
    assert loads(world) == [200.0] * 4


def test_a_decision_tells_of_the_rank_that_it_relieves(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    watch = acting.scheduling.watch(acting.fs)
    move = Move(1, "/a", 1, 2, 50.0, 50.0, 10.0, "")
    pieces = (Piece(1, "/a", 1, 50.0, 10.0),)
    # Rank 0 has more of its share, but on rank 1 more requests wait.
    ranks = (RankView(0, 400.0, 2.0, True), RankView(1, 390.0, 90.0, True), RankView(2, 10.0))
    watch.view, now = View(world.steady, ranks, pieces), world.now()
    state = State(past=(Past(move, now.steady),))
    turn = _turn(watch, state, Decision((move,)), "", now)
    assert (turn.fullest, turn.gain) == (1, 50.0)
    assert _turn(watch, State(), Decision(split=(1,)), "", now).fullest == 0


def test_moves_of_a_day_are_counted_across_managers(world: Cluster) -> None:
    few = fewer(scheduler_moves_a_day=4, scheduler_moves=2)
    manager = Manager(world, few)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(10)
    assert len(pins(world)) == 4
    after = Manager(world, few)
    after.run(AT_LAST)
    assert len(pins(world)) == 4
    assert "no more may be (scheduler_moves_a_day)" in after.scheduling.watch(after.fs).decision.why
    world.wall += 90_000.0
    after.run(AT_LAST)
    assert len(pins(world)) == 6


def test_so_many_directories_are_pinned_and_those_may_still_be_moved(world: Cluster) -> None:
    manager = Manager(world, fewer(scheduler_pins=3))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    assert sum(d.pin >= 0 for d in world.directories.values()) == 3
    assert "no more may be (scheduler_pins)" in manager.scheduling.watch(manager.fs).decision.why
    assert manager.scheduling.get(manager.fs).split == ()


def test_pins_of_what_was_deleted_are_not_counted(world: Cluster) -> None:
    manager = Manager(world, fewer(scheduler_pins=6))
    manager.scheduling.start(manager.fs, ACT)
    manager.run(AT_LAST)
    gone = [ino for ino, d in world.directories.items() if d.pin >= 0]
    assert len(gone) == 6
    for ino in gone:
        del world.directories[ino], world.load[ino]
    for i in range(6):
        world.directories[300 + i] = Directory(f"{NOGROUP}/later{i}")
        world.load[300 + i] = 100.0
    manager.run(AT_LAST)
    assert sum(d.pin >= 0 for d in world.directories.values()) == 6


def test_options_of_the_cluster_are_claimed_once_whatever_is_started_and_stopped(
    world: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    claims = world.store.items("option/")
    assert [key.rpartition("/")[0].rpartition("/")[2] for key in claims] == ["scheduler"] * 2
    acting.scheduling.stop(acting.fs, rollback=False)
    for i in range(8):
        world.directories[300 + i] = Directory(f"{NOGROUP}/later{i}")
        world.load[300 + i] = 40.0
    acting.scheduling.start(acting.fs, ACT)
    acting.run(AT_LAST)
    assert {past.move.ino for turn in acting.scheduling.get(acting.fs).turns for past in turn.moves} > {100}
    assert world.store.items("option/") == claims
    assert world.options == {TO_AUTH: "true", TICK: "1.000000"}


def test_what_was_rolled_back_by_hand_is_set_again_when_it_acts_again(
    world: Cluster, acting: Manager
) -> None:
    acting.run(AT_LAST)
    acting.scheduling.halt(acting.fs)
    for run in reversed(acting.partitioner.all(acting.fs)):
        acting.partitioner.undo(run)
        acting.run(AT_LAST)
    assert (world.options, world.store.items("option/")) == ({TO_AUTH: "", TICK: ""}, {})
    acting.scheduling.start(acting.fs, ACT)
    acting.run(AT_LAST)
    assert world.options == {TO_AUTH: "true", TICK: "1.000000"}


def test_a_journal_from_before_there_were_claims_is_put_back_too(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    for key in world.store.items("option/"):
        world.store.delete(key)
    after = Manager(world)
    assert len(world.store.items("option/")) == 2
    other = SharedOption(world, TO_AUTH, "balance/2", "true")  # type: ignore[arg-type]
    other.take()
    after.scheduling.stop(after.fs, rollback=True)
    after.run(AT_LAST)
    assert (after.scheduling.get(after.fs).mode, world.options[TO_AUTH]) == (OFF, "true")
    other.give_back("true")
    assert world.options == {TO_AUTH: "", TICK: ""}


def test_claims_of_plans_that_are_gone_are_swept(world: Cluster, acting: Manager) -> None:
    world.store.put(f"option/{TO_AUTH}/plan/gone", '{"value": "true", "old": ""}')
    world.store.put(f"option/{TO_AUTH}/scheduler/9", '{"value": "true", "old": ""}')
    world.store.put(f"option/{TO_AUTH}/balance/1", '{"value": "true", "old": ""}')
    Manager(world)
    assert list(world.store.items("option/")) == [f"option/{TO_AUTH}/balance/1"]


def test_a_rank_that_is_away_while_something_moves_stops_no_look(world: Cluster) -> None:
    world = Cluster(loads=(100.0,) * 16)
    world.lag = 8
    manager = Manager(world)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(2)
    well = world.state
    world.state = replace(well, failed=(2,), mds=tuple(m for m in well.mds if m.rank != 2))
    manager.run(3)
    world.state = well
    manager.run(100)
    assert max(loads(world)) <= 1.1 * 400.0


def test_what_is_not_so_is_refused(world: Cluster, manager: Manager) -> None:
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


def test_a_plan_that_was_made_later_is_rolled_back_first(world: Cluster, acting: Manager) -> None:
    acting.run(AT_LAST)
    acting.scheduling.stop(acting.fs, rollback=False)
    run = acting.partitioner.propose(
        acting.fs, replace(plan(world, {100: (world.directories[100].rank + 1) % 4}), created=world.wall)
    )
    run.plan = replace(run.plan, scheduled=False, name="mine")
    acting.partitioner.admit(run)
    acting.run(5)
    with pytest.raises(Busy, match="plan 'mine' was made after 'scheduler-1'"):
        acting.scheduling.stop(acting.fs, rollback=True)
    acting.partitioner.rollback(acting.fs, "mine")
    acting.run(20)
    assert run.head.state == ROLLED_BACK
    acting.scheduling.stop(acting.fs, rollback=True)
    acting.run(AT_LAST)
    assert {d.pin for d in world.directories.values()} == {-1}


def test_a_file_system_that_was_removed_needs_no_scheduler(world: Cluster, acting: Manager) -> None:
    acting.run(7)
    world.state = replace(world.state, fscid=2)
    acting.run(30)
    assert not [key for key in world.store.data if key.startswith("scheduler/1/")]
    with pytest.raises(NotFound):
        acting.scheduling.get(world.state)
