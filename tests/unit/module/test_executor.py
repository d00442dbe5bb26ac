# SPDX-License-Identifier: LGPL-2.1-or-later
"""Executing a plan: the journal first, each step once, everything undone by a rollback."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import SETTINGS, Crash, FakeCluster, Manager, Mount, plan
from hypothesis import given, settings
from hypothesis import strategies as st

from mds_partitioner.act import polls
from mds_partitioner.act.core import (
    LONGEST,
    NOT_HOME,
    NOTHING,
    SETTLED,
    Seen,
    StepCore,
    after_tick,
    next_step,
)
from mds_partitioner.act.executor import ABREAST
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
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
    owned_distributed,
    owned_masks,
    owned_pins,
    steps_in_force,
)
from mds_partitioner.ceph.filesystem import PIN, Write
from mds_partitioner.ceph.shared_option import SharedOption
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, InDoubt, Unavailable
from mds_partitioner.model import FsState, HealthCheck
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.plan.plan import DISTRIBUTED_STEP, PIN_STEP, Plan, Step

MOVES = {100: 1, 101: 2, 102: 3}


def started(cluster: FakeCluster, manager: Manager, moves: dict[int, int], mask: str | None = None) -> Run:
    run = manager.journal.create(plan(cluster, moves, mask), [])
    manager.journal.head(run, state=RUNNING)
    return run


def until(manager: Manager, run: Run, state: str) -> None:
    for _ in range(60):
        if run.head.state == state:
            return
        manager.tick(run)
    raise AssertionError(f"{run.head} did not become {state}: {run.records}")


def test_every_directory_arrives_where_the_plan_says() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES, "0x3"), DONE)
    assert {ino: cluster.directories[ino].rank for ino in MOVES} == MOVES
    assert (cluster.state.bal_rank_mask, cluster.state.balance_automate) == ("0x3", True)
    assert {r.state for r in run.records.values()} == {APPLIED}


def test_a_masked_directory_is_waited_for_and_rolled_back() -> None:
    cluster = FakeCluster(lag=3)
    cluster.directories[103].mask = "0,2"
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, masks={103: "1,2"}), [])
    manager.journal.head(run, state=RUNNING)
    manager.tick(run)
    assert (cluster.directories[103].mask, run.head.state) == ("1,2", RUNNING), "it has not arrived"
    until(manager, run, DONE)
    assert cluster.directories[103].rank == 1
    assert owned_masks(steps_in_force([run], 1)) == {103: "1,2"}
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    for _ in range(5):
        cluster.pass_time()
    assert cluster.snapshot() == before
    assert owned_masks(steps_in_force([run], 1)) == {}


@pytest.mark.parametrize("old", ["", "false"])
def test_an_option_of_the_mdss_is_set_after_the_pins_and_is_put_back(old: str) -> None:
    cluster = FakeCluster(lag=3)
    if old:
        cluster.options["some_option"] = old
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}, option="some_option"), [])
    manager.journal.head(run, state=RUNNING)
    while cluster.under_way() or cluster.directories[100].pin < 0:
        assert cluster.mds_option("some_option") == old
        manager.tick(run)
    until(manager, run, DONE)
    assert cluster.mds_option("some_option") == "true"
    assert cluster.events.index("put step/000001") < cluster.events.index("option some_option true")
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    for _ in range(5):
        cluster.pass_time()
    assert cluster.snapshot() == before


def test_what_an_operator_distributed_since_is_not_pinned() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.directories[101].distributed = "1"
    until(manager, run, DONE)
    assert [run.records[i].state for i in range(3)] == [APPLIED, SKIPPED, APPLIED]
    assert "ceph.dir.pin.distributed" in run.records[1].why
    assert cluster.directories[101].pin == -1


def test_what_this_module_distributed_may_be_pinned() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s2", 102, "1", "0")
    first = manager.journal.create(replace(plan(cluster, {102: 0}), steps=(step,)), [])
    manager.journal.head(first, state=RUNNING)
    manager.runs.append(first)
    until(manager, first, DONE)
    until(manager, run := started(cluster, manager, {102: 3}), DONE)
    assert run.records[0].state == APPLIED


def ephemeral(cluster: FakeCluster, kind: str) -> None:
    """An operator sets one on a directory."""
    at = cluster.directories[101]
    at.distributed, at.random = ("1", False) if kind == "distributed" else ("0", True)


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["distributed", "random"])
def test_what_an_operator_distributed_after_its_record_was_written_is_not_pinned(
    kind: str, force: bool, fails_over: bool
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {101: 2}), force=force), [])
    manager.journal.head(run, state=RUNNING)
    at = cluster.directories[101]
    cluster.refused.add(at.path)
    manager.tick(run)
    assert (run.records[0].state, at.pin) == (INTENT, -1)
    ephemeral(cluster, kind)
    cluster.refused.clear()
    if fails_over:
        manager = Manager(cluster)
        (run,) = manager.runs
    until(manager, run, DONE)
    assert (run.records[0].state, at.pin) == ((APPLIED, 2) if force else (SKIPPED, -1))
    assert force or "ceph.dir.pin.distributed" in run.records[0].why


def test_what_an_operator_distributed_since_the_scheduler_decided_is_not_pinned() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, MOVES), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    ephemeral(cluster, "distributed")
    until(manager, run, DONE)
    assert [run.records[i].state for i in range(3)] == [APPLIED, SKIPPED, APPLIED]
    assert "ceph.dir.pin.distributed" in run.records[1].why
    assert not [event for event in cluster.events if event.startswith("pin /volumes/_nogroup/s1 ")]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["distributed", "random"])
def test_what_an_operator_distributes_while_the_record_is_written_is_not_pinned(
    kind: str, force: bool
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {101: 2}), force=force), [])
    manager.journal.head(run, state=RUNNING)

    def meanwhile(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            ephemeral(cluster, kind)

    cluster.watch = meanwhile
    until(manager, run, DONE)
    pin = cluster.directories[101].pin
    assert (run.records[0].state, pin) == ((APPLIED, 2) if force else (SKIPPED, -1))


@pytest.mark.parametrize("refused", [False, True])
def test_what_an_operator_pins_at_random_after_the_record_was_written_is_not_distributed(
    refused: bool,
) -> None:
    """The MDS refused it at first, or it is just about to be asked."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s1", 101, "1", "0")
    run = manager.journal.create(replace(plan(cluster, {101: 0}), steps=(step,)), [])
    manager.runs.append(run)
    manager.journal.head(run, state=RUNNING)

    def meanwhile(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            ephemeral(cluster, "random")

    if refused:
        cluster.refused.add(step.target)
        manager.tick(run)
        assert run.records[0].state == INTENT
        cluster.refused.clear()
        ephemeral(cluster, "random")
    else:
        cluster.watch = meanwhile
    until(manager, run, DONE)
    assert (run.records[0].state, cluster.directories[101].distributed) == (SKIPPED, "0")


@pytest.mark.parametrize(("random", "state"), [(True, SKIPPED), (False, APPLIED)])
def test_what_an_operator_pinned_at_random_is_not_distributed(random: bool, state: str) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s2", 102, "1", "0")
    run = manager.journal.create(replace(plan(cluster, {102: 0}), steps=(step,)), [])
    manager.journal.head(run, state=RUNNING)
    cluster.directories[102].random = random
    until(manager, run, DONE)
    assert run.records[0].state == state
    assert ("ceph.dir.pin.random" in run.records[0].why) is random


def distributing(cluster: FakeCluster, manager: Manager, **changes: Any) -> Run:
    """A plan that is to distribute a directory."""
    step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s1", 101, "1", "0")
    made = replace(plan(cluster, {101: 0}, name="distributes"), steps=(step,), **changes)
    run = manager.journal.create(made, [])
    manager.runs.append(run)
    manager.journal.head(run, state=RUNNING)
    return run


PINNED = "pinned-by-operator: '/volumes/_nogroup/s1' is pinned to rank 3"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("scheduled", [False, True])
def test_what_an_operator_has_pinned_since_is_not_distributed(scheduled: bool, force: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = distributing(cluster, manager, scheduled=scheduled, force=force)
    at = cluster.directories[101]
    at.pin = 3
    until(manager, run, DONE)
    done = (APPLIED, "", "1") if force else (SKIPPED, PINNED, "0")
    assert (run.records[0].state, run.records[0].why, at.distributed) == done


@pytest.mark.parametrize("refused", [False, True])
def test_what_an_operator_pins_after_the_record_was_written_is_not_distributed(refused: bool) -> None:
    """The MDS refused it at first, or it is just about to be asked."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    run, at = distributing(cluster, manager), cluster.directories[101]

    def meanwhile(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            at.pin = 3

    if refused:
        cluster.refused.add(at.path)
        manager.tick(run)
        assert run.records[0].state == INTENT
        cluster.refused.clear()
        at.pin = 3
    else:
        cluster.watch = meanwhile
    until(manager, run, DONE)
    assert (run.records[0].state, run.records[0].why, at.distributed) == (SKIPPED, PINNED, "0")
    assert not [event for event in cluster.events if event.startswith("distributed ")]


def test_what_this_module_has_pinned_is_distributed_and_loses_its_pin_then() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    manager.runs.append(run := started(cluster, manager, {101: 2}))
    until(manager, run, DONE)
    at = cluster.directories[101]
    steps = (
        Step(0, DISTRIBUTED_STEP, 0, at.path, 101, "1", "0"),
        Step(1, PIN_STEP, 0, at.path, 101, "-1", "2"),
    )
    made = replace(plan(cluster, {101: 0}, name="scatters"), steps=steps, scheduled=True)
    manager.runs.append(run := manager.journal.create(made, []))
    manager.journal.head(run, state=RUNNING)
    until(manager, run, DONE)
    assert ([run.records[i].state for i in (0, 1)], at.distributed, at.pin) == ([APPLIED] * 2, "1", -1)


def test_what_this_module_distributed_loses_that_though_an_operator_pinned_it_at_random_since() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    for value, old in (("1", "0"), ("0", "1")):
        step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s2", 102, value, old)
        made = replace(plan(cluster, {102: 0}, name=f"p{value}"), steps=(step,))
        run = manager.journal.create(made, [])
        manager.journal.head(run, state=RUNNING)
        manager.runs.append(run)
        until(manager, run, DONE)
        cluster.directories[102].random = True
    assert (run.records[0].state, cluster.directories[102].distributed) == (APPLIED, "0")


def test_what_the_scheduler_moves_is_put_back_when_it_does_not_come_in_time() -> None:
    cluster = FakeCluster(lag=10_000)
    cluster.checks["MDS_CLIENT_LATE_RELEASE"] = HealthCheck(
        "1 clients failing to respond to capability release",
        ("mds.m0(mds.0): Client web7 failing to respond to capability release client_id: 4305",),
    )
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    for _ in range(SETTINGS.arrival_timeout):
        manager.tick(run)
    assert run.records[0].state == INTENT
    until(manager, run, DONE)
    assert run.records[0].state == UNDONE
    assert "Client web7 failing to respond" in run.records[0].why
    assert cluster.snapshot() == before
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert cluster.snapshot() == before


def test_what_is_empty_keeps_its_pin_though_nothing_moves() -> None:
    cluster = FakeCluster(lag=10_000)
    cluster.empty.add(100)
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    for _ in range(SETTINGS.arrival_timeout + 5):
        manager.tick(run)
    assert (run.records[0].state, cluster.directories[100].pin) == (APPLIED, 1)


def test_what_has_not_come_soon_is_looked_at_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """New directories are pinned while they are empty: thousands may wait for their first files."""
    cluster = FakeCluster(lag=10_000)
    cluster.empty.add(100)
    manager, there, looks = Manager(cluster), cluster.there, list[int]()

    def looked(fs: FsState, path: str, rank: int) -> bool:
        looks.append(cluster.ticks)
        return there(fs, path, rank)

    monkeypatch.setattr(cluster, "there", looked)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    for _ in range(SETTINGS.arrival_timeout + 2):
        manager.tick(run)
    soon, timeout = int(SETTLED) + 1, SETTINGS.arrival_timeout + 1
    assert looks == [*range(1, soon), *range(soon, timeout + 1, int(polls.RARELY))]
    assert run.head.state == DONE, "no later than if it was looked at all the time"


@pytest.mark.parametrize("lag", [1, 5, int(SETTLED) - 1])
def test_what_comes_soon_is_seen_at_once(lag: int) -> None:
    cluster = FakeCluster(lag=lag)
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    for _ in range(lag + 2):
        assert run.head.state == RUNNING
        manager.tick(run)
    assert run.head.state == DONE


def test_what_is_looked_at_seldom_is_undone_at_once() -> None:
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    for _ in range(int(SETTLED) + 5):
        manager.tick(run)
    manager.journal.head(run, state=ROLLING_BACK)
    manager.tick(run)
    assert run.records[0].state == UNDOING and cluster.directories[100].pin == 0


def test_what_is_empty_is_not_waited_for() -> None:
    """Four of these at a time would take a plan of an operator five minutes."""
    cluster = FakeCluster(lag=10_000)
    cluster.empty |= MOVES.keys()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES), DONE)
    assert [record.state for record in run.records.values()] == [APPLIED] * 3
    assert {ino: cluster.directories[ino].pin for ino in MOVES} == MOVES


def test_what_an_operator_plans_stays_set_however_long_it_takes() -> None:
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})
    for _ in range(SETTINGS.arrival_timeout + 5):
        manager.tick(run)
    assert (run.head.state, run.records[0].state, cluster.directories[100].pin) == (DONE, APPLIED, 1)


def test_an_option_that_an_operator_changed_since_is_kept() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, option="some_option"), [])
    cluster.options["some_option"] = "false"
    manager.journal.head(run, state=RUNNING)
    until(manager, run, DONE)
    assert cluster.options["some_option"] == "false"
    assert run.records[0].state == SKIPPED


def test_a_distributed_directory_is_waited_for_and_rolled_back() -> None:
    cluster = FakeCluster(lag=3)
    before = cluster.snapshot()
    manager = Manager(cluster)
    step = Step(0, DISTRIBUTED_STEP, 0, "/volumes/_nogroup/s2", 102, "1", "0")
    run = manager.journal.create(replace(plan(cluster, {102: 0}), steps=(step,)), [])
    manager.journal.head(run, state=RUNNING)
    manager.tick(run)
    assert (cluster.directories[102].distributed, run.head.state) == ("1", RUNNING), "not yet scattered"
    until(manager, run, DONE)
    assert owned_distributed(steps_in_force([run], 1)) == {102: "1"}
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert owned_distributed(steps_in_force([run], 1)) == {}
    assert cluster.snapshot() == before


def test_a_mask_stays_where_stock_mdss_have_replaced_those_with_the_hook() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}, masks={103: "1,2"}), [])
    manager.journal.head(run, state=RUNNING)
    until(manager, run, DONE)
    cluster.hook = False
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert (cluster.directories[103].mask, cluster.directories[100].pin) == ("1,2", -1)
    assert (run.records[1].state, run.records[1].old) == (KEPT, "-1")
    assert "MDSs with the hook are back" in run.records[1].why


def test_stock_mdss_are_given_no_mask() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}, masks={103: "1,2"}), [])
    manager.journal.head(run, state=RUNNING)
    cluster.hook = False
    until(manager, run, DONE)
    assert (run.records[0].state, run.records[1].state) == (APPLIED, SKIPPED)
    assert "neither obey nor change a mask" in run.records[1].why


def test_a_mask_that_an_operator_changed_since_is_kept() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, masks={103: "1,2"}), [])
    cluster.directories[103].mask = "3"
    manager.journal.head(run, state=RUNNING)
    until(manager, run, DONE)
    assert cluster.directories[103].mask == "3"
    assert run.records[0].state == SKIPPED


def test_the_old_value_is_in_the_journal_before_the_change() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, started(cluster, manager, MOVES, "0x3"), DONE)
    for i, change in enumerate(["pin /volumes/_nogroup/s0 1", "pin /volumes/_nogroup/s1 2"]):
        assert cluster.events.index(f"put step/{i:06d}") < cluster.events.index(change)
    assert cluster.events.index("put step/000003") < cluster.events.index("set bal_rank_mask 0x3")


def test_settings_wait_until_every_pin_has_arrived() -> None:
    cluster = FakeCluster(lag=5)
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES, "0x3")
    while run.head.state == RUNNING:
        if cluster.under_way():
            assert cluster.state.bal_rank_mask == "-1"
        manager.tick(run)
    assert cluster.state.bal_rank_mask == "0x3"


@pytest.mark.parametrize(("mask", "set_"), [("all", True), ("0x0", False), ("0", False)])
def test_a_mask_that_an_operator_set_since_stays_unless_it_means_the_same(mask: str, set_: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES, "0x3")
    cluster.state = replace(cluster.state, bal_rank_mask=mask)
    until(manager, run, DONE)
    assert cluster.state.bal_rank_mask == ("0x3" if set_ else mask)
    assert run.records[3].state == (APPLIED if set_ else SKIPPED)
    assert cluster.state.balance_automate is set_, "it would use the operator's ranks"
    assert run.records[4].why == ("" if set_ else "bal_rank_mask is not the plan's")


def test_the_balancer_is_not_switched_on_before_its_mask_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, {}, "0x3")
    mon = cluster.mon

    def refuses(prefix: str, **arguments: str) -> str:
        if arguments.get("var") == "bal_rank_mask":
            raise CephError("the mon refused it")
        return mon(prefix, **arguments)

    with monkeypatch.context() as broken:
        broken.setattr(cluster, "mon", refuses)
        for _ in range(5):
            manager.tick(run)
    assert not cluster.state.balance_automate
    assert run.memory.troubles[1] == "it comes after bal_rank_mask, which is not set yet"
    until(manager, run, DONE)
    assert (cluster.state.bal_rank_mask, cluster.state.balance_automate) == ("0x3", True)


def test_no_more_than_max_moves_are_under_way() -> None:
    cluster = FakeCluster(directories=9, lag=3)
    manager = Manager(cluster)
    run = started(cluster, manager, {100 + i: 1 for i in range(9)})
    while run.head.state == RUNNING:
        manager.tick(run)
        assert cluster.under_way() <= 2


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_what_all_mdss_refuse_is_tried_and_later_made_a_few_at_a_time(scheduled: bool, back: bool) -> None:
    cluster = FakeCluster(directories=20, lag=3)
    manager = Manager(cluster)
    made = replace(plan(cluster, {100 + i: 1 for i in range(20)}), scheduled=scheduled)
    run = manager.journal.create(made, [])
    manager.journal.head(run, state=RUNNING)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    cluster.refused |= {d.path for d in cluster.directories.values()}
    known = dict(run.records)
    for tick in range(1, 6):
        manager.tick(run)
        begun = [i for i, record in run.records.items() if record != known.get(i)]
        assert len(begun) <= SETTINGS.max_moves * tick
    cluster.refused.clear()
    end = ROLLED_BACK if back else DONE
    while run.head.state != end:
        manager.tick(run)
        assert cluster.under_way() <= SETTINGS.max_moves


def test_what_is_refused_is_tried_in_turn_and_holds_nothing_up() -> None:
    cluster = FakeCluster(directories=9)
    manager = Manager(cluster)
    run = started(cluster, manager, {100 + i: 1 for i in range(9)})
    cluster.refused |= {cluster.directories[ino].path for ino in (100, 101, 102)}
    until(manager, run, PAUSED)
    assert {i for i, record in run.records.items() if record.state == APPLIED} == set(range(3, 9))
    cluster.refused.remove(cluster.directories[102].path)
    for _ in range(4):
        manager.tick(run)
    assert run.records[2].state == APPLIED


def test_steps_of_the_scheduler_are_taken_side_by_side() -> None:
    cluster = FakeCluster(directories=ABREAST)
    manager = Manager(cluster)
    moves = {100 + i: 1 + i % 3 for i in range(ABREAST)}
    run = manager.journal.create(replace(plan(cluster, moves), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    together = threading.Barrier(ABREAST)

    def meet(event: str) -> None:
        if event.startswith("pin"):
            together.wait(60)

    cluster.watch = meet
    manager.executor.tick(run, replace(SETTINGS, max_moves=ABREAST), Now(1000.0, 0.0))
    assert {ino: cluster.directories[ino].pin for ino in moves} == moves
    cluster.watch = lambda text: None
    for i, record in run.records.items():
        before, change = f"put step/{i:06d}", f"pin {run.plan.steps[i].target} {run.plan.steps[i].value}"
        assert cluster.events.index(before) < cluster.events.index(change) and record.old == "-1"
    manager.journal.head(run, state=ROLLING_BACK)
    for _ in range(2 * ABREAST):
        manager.tick(run)
    until(manager, run, ROLLED_BACK)
    assert not [d for d in cluster.directories.values() if d.pin != -1]


def test_a_refused_journal_record_means_no_change() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    before = cluster.snapshot()
    cluster.store.fail = True
    for _ in range(3):
        manager.tick(run)
    assert cluster.snapshot() == before
    cluster.store.fail = False
    until(manager, run, DONE)


def test_a_deleted_directory_is_skipped_and_the_rest_goes_on() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    del cluster.directories[101]
    until(manager, run, DONE)
    assert run.records[1].state == SKIPPED and "deleted" in run.records[1].why
    assert cluster.directories[102].rank == 3


def fanout(cluster: FakeCluster) -> Plan:
    """A row's children, 101 and 102, and then their parent."""
    made = plan(cluster, {101: 1, 102: 2, 100: 3})
    return replace(made, steps=tuple(replace(s, phase=int(s.ino == 100), row=0) for s in made.steps))


@pytest.mark.parametrize("there", [0, 1])
def test_a_parent_whose_children_are_all_gone_stays_where_it_is(there: int) -> None:
    """Whatever was made in their place would go along."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(fanout(cluster), [])
    manager.journal.head(run, state=RUNNING)
    for ino in (101, 102)[there:]:
        del cluster.directories[ino]
    until(manager, run, DONE)
    at, parent = cluster.directories[100], run.records[2]
    assert (parent.state, at.pin) == ((APPLIED, 3) if there else (SKIPPED, -1))
    assert there or "'/volumes/_nogroup/s1' was deleted" in parent.why


def test_a_parent_is_pinned_where_another_child_was_in_place_when_it_was_planned() -> None:
    """That one has no step. The next manager knows it, too."""
    cluster = FakeCluster()
    run = Manager(cluster).journal.create(replace(fanout(cluster), in_place=(0,)), [])
    del cluster.directories[101], cluster.directories[102]
    manager = Manager(cluster)
    (run,) = manager.runs
    manager.journal.head(run, state=RUNNING)
    until(manager, run, DONE)
    assert [run.records[i].state for i in range(3)] == [SKIPPED, SKIPPED, APPLIED]


@pytest.mark.parametrize("pinned", [False, True])
def test_a_parent_goes_where_an_operator_has_pinned_its_children_himself(pinned: bool) -> None:
    """And where he has taken their pins off it stays: they would go along."""
    cluster = FakeCluster()
    for ino in (101, 102):
        cluster.directories[ino].pin = -1 if pinned else 3
    manager = Manager(cluster)
    run = manager.journal.create(fanout(cluster), [])
    manager.journal.head(run, state=RUNNING)
    for ino in (101, 102):
        cluster.directories[ino].pin = 3 if pinned else -1
    until(manager, run, DONE)
    parent = run.records[2]
    assert [run.records[i].state for i in range(2)] == [SKIPPED, SKIPPED]
    assert (parent.state, cluster.directories[100].pin) == ((APPLIED, 3) if pinned else (SKIPPED, -1))
    assert pinned or parent.why.startswith("no directory in it was pinned: an operator changed it from 3 to")


def test_a_parent_whose_children_are_where_they_belong_is_pinned() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(fanout(cluster), [])
    manager.journal.head(run, state=RUNNING)
    for ino, rank in {101: 1, 102: 2}.items():
        cluster.directories[ino].pin = cluster.directories[ino].rank = rank
    until(manager, run, DONE)
    assert [run.records[i].state for i in range(3)] == [SKIPPED, SKIPPED, APPLIED]


def test_a_renamed_directory_is_followed() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.directories[101].path = "/volumes/_nogroup/other name"
    until(manager, run, DONE)
    assert cluster.directories[101].rank == 2


@pytest.mark.parametrize("back", [False, True])
def test_what_is_found_over_a_link_is_where_mdss_have_it(back: bool) -> None:
    """Its parent was renamed, and is a link by now: MDSs follow none."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    cluster.directories[101].path = "/home/u"
    run = started(cluster, manager, MOVES)
    if back:
        until(manager, run, DONE)
    cluster.directories[101].path, cluster.links["/home"] = "/srv/home/u", "/srv/home"
    if back:
        manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK if back else DONE)
    assert (run.records[1].state, run.records[1].why) == (UNDONE if back else APPLIED, "")
    assert cluster.directories[101].rank == (0 if back else 2)


def test_a_pin_that_an_operator_set_since_is_left_alone() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.directories[101].pin = 0
    until(manager, run, DONE)
    assert run.records[1].state == SKIPPED and "operator" in run.records[1].why
    assert cluster.directories[101].pin == 0


@pytest.mark.parametrize("back", [False, True])
def test_a_pin_that_an_operator_sets_while_the_record_is_written_is_left_alone(back: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, {101: 1})
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)

    def pinned(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            cluster.directories[101].pin = 3

    cluster.watch = pinned
    until(manager, run, ROLLED_BACK if back else DONE)
    assert cluster.directories[101].pin == 3
    assert run.records[0].state == (KEPT if back else SKIPPED) and "operator" in run.records[0].why
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert cluster.directories[101].pin == 3


@pytest.mark.parametrize("back", [False, True])
def test_an_option_that_an_operator_sets_while_the_record_is_written_is_left_alone(back: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, option="mds_option"), [])
    manager.journal.head(run, state=RUNNING)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)

    def changed(event: str) -> None:
        if event.startswith("put step"):
            cluster.watch = lambda _: None
            cluster.options["mds_option"] = "false"

    cluster.watch = changed
    until(manager, run, ROLLED_BACK if back else DONE)
    assert cluster.options["mds_option"] == "false"


@pytest.mark.parametrize("back", [False, True])
def test_a_stop_holds_for_an_option_that_is_about_to_be_set(
    back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    manager, before = Manager(cluster), cluster.snapshot()
    run = manager.journal.create(plan(cluster, {}, option="mds_option"), [])
    manager.journal.head(run, state=RUNNING)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    there, name = cluster.options.get("mds_option"), "give_back" if back else "take"
    change = getattr(SharedOption, name)

    def stopped(self: SharedOption, *given: Any) -> None:
        """It comes when all was looked at, and the mon is to be asked for its claims."""
        run.memory.halted = True
        change(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(SharedOption, name, stopped)
        for _ in range(3):
            manager.tick(run)
    assert cluster.options.get("mds_option") == there
    run.memory.halted = False
    until(manager, run, ROLLED_BACK if back else DONE)
    if not back:
        manager.journal.head(run, state=ROLLING_BACK)
        until(manager, run, ROLLED_BACK)
    assert (cluster.snapshot(), cluster.store.items("option/")) == (before, {})


def test_rollback_keeps_what_an_operator_changed_since() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES), DONE)
    cluster.directories[101].pin = 3
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert cluster.directories[101].pin == 3 and run.records[1].state == KEPT
    assert run.records[0].state == UNDONE


def test_rollback_puts_back_an_operators_pin_that_the_plan_replaced() -> None:
    cluster = FakeCluster()
    cluster.directories[100].pin = cluster.directories[100].rank = 2
    before = cluster.snapshot()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES, "0x3"), DONE)
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert cluster.snapshot() == before


def test_a_guard_pauses_with_its_reason_and_the_plan_goes_on_without_it() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.why = "rank 2 has failed"
    before = cluster.snapshot()
    manager.tick(run)
    assert (run.head.state, run.head.why) == (PAUSED, "rank 2 has failed")
    assert cluster.snapshot() == before
    cluster.why = None
    until(manager, run, DONE)


def test_what_was_begun_is_put_back_though_requests_are_slow() -> None:
    """They may wait for what is moving: else nothing would ever end that."""
    cluster = FakeCluster(lag=10_000)
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, MOVES), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    manager.tick(run)
    assert len(run.records) == SETTINGS.max_moves
    cluster.why, cluster.busy = "MDS_SLOW_REQUEST: 1 slow requests", True
    for _ in range(SETTINGS.arrival_timeout + 30):
        manager.tick(run)
    assert {record.state for record in run.records.values()} == {UNDONE}
    assert cluster.snapshot() == before
    assert (run.head.state, len(run.records)) == (PAUSED, SETTINGS.max_moves), "nothing more is begun"
    assert run.head.why == cluster.why
    cluster.why, cluster.lag = None, 1
    until(manager, run, DONE)
    assert len(run.records) == len(MOVES)


def test_what_was_refused_once_is_put_back_too_though_requests_are_slow() -> None:
    cluster = FakeCluster(lag=10_000)
    before = cluster.snapshot()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    manager.tick(run)
    cluster.why, cluster.busy = "MDS_SLOW_REQUEST: 1 slow requests", True
    run.memory.troubles[0] = "the MDS did not answer"
    for _ in range(SETTINGS.arrival_timeout + 30):
        manager.tick(run)
    assert (run.records[0].state, cluster.snapshot()) == (UNDONE, before)


def test_an_operators_move_has_its_time_anew_after_slow_requests() -> None:
    """It is not put back: it is not done while it may be on its way still."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})
    manager.tick(run)
    cluster.why, cluster.busy = "MDS_SLOW_REQUEST: 1 slow requests", True
    for _ in range(SETTINGS.arrival_timeout + 30):
        manager.tick(run)
    assert run.records[0].state == INTENT
    cluster.why, cluster.lag = None, 1
    until(manager, run, DONE)
    assert run.records[0].why == ""


@pytest.mark.parametrize("busy", [True, False])
def test_a_rollback_waits_for_no_slow_request(busy: bool) -> None:
    cluster = FakeCluster()
    before = cluster.snapshot()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES), DONE)
    manager.journal.head(run, state=ROLLING_BACK)
    cluster.why, cluster.busy = "MDS_SLOW_REQUEST: 1 slow requests", busy
    for _ in range(60):
        manager.tick(run)
    assert run.head.state == (ROLLED_BACK if busy else PAUSED)
    assert (cluster.snapshot() == before) == busy


def test_an_operators_pause_ends_at_its_time_only() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    manager.journal.head(run, state=PAUSED, by_operator=True, until=None, resume_to=RUNNING)
    manager.tick(run)
    assert run.head.state == PAUSED and not run.records
    run.memory.hold = cluster.ticks + 2.0
    manager.tick(run)
    assert run.head.state == PAUSED and not run.records
    until(manager, run, DONE)


def held(cluster: FakeCluster, manager: Manager, run: Run, by: str) -> None:
    """A plan begins nothing more until it is told to, or its cluster is well."""
    if by == "guard":
        cluster.why = "rank 2 has failed"
        manager.tick(run)
    else:
        manager.interrupt(run, state=PAUSED if by == "pause" else STOPPED, by_operator=True)


def goes_on(cluster: FakeCluster, fail_overs: int) -> Run:
    """It does, by another manager, to its end."""
    manager = [Manager(cluster) for _ in range(fail_overs)][-1]
    (run,) = manager.runs
    cluster.why = None
    manager.journal.head(run, state=RUNNING, by_operator=False)
    until(manager, run, DONE)
    return run


@pytest.mark.parametrize("fail_overs", [1, 2])
@pytest.mark.parametrize("by", ["pause", "stop", "guard"])
def test_what_an_operator_takes_back_while_nothing_is_done_stays_so_after_a_fail_over(
    by: str, fail_overs: int
) -> None:
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1, 101: 2})
    cluster.refused.add(cluster.directories[101].path)
    manager.tick(run)
    assert {record.state for record in run.records.values()} == {INTENT}
    held(cluster, manager, run, by)
    cluster.directories[100].pin = -1
    cluster.refused.clear()
    cluster.lag = 1
    run = goes_on(cluster, fail_overs)
    assert [run.records[i].state for i in (0, 1)] == [SKIPPED, APPLIED], "what was not set is set"
    assert (cluster.directories[100].pin, cluster.directories[101].pin) == (-1, 2)


@pytest.mark.parametrize("by", ["", "pause", "stop", "guard"])
def test_what_the_manager_before_has_set_is_not_set_again_when_an_operator_takes_it_back(by: str) -> None:
    """It was under way at the fail-over; ``by``: what holds the plan then."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    manager.tick(started(cluster, manager, {100: 1}))
    manager = Manager(cluster)
    (run,) = manager.runs
    manager.tick(run)
    assert (run.records[0].state, cluster.directories[100].pin) == (INTENT, 1)
    if by:
        held(cluster, manager, run, by)
    cluster.directories[100].pin = -1
    cluster.lag = 1
    if by:
        run = goes_on(cluster, 1)
    else:
        until(manager, run, DONE)
    assert (run.records[0].state, cluster.directories[100].pin) == (SKIPPED, -1)


@pytest.mark.parametrize("stopped", [False, True])
def test_what_an_operator_takes_back_while_no_manager_is_there_is_not_set_again(stopped: bool) -> None:
    """``stopped``: by him, before the next manager looks at it."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1, 101: 2})
    cluster.refused.add(cluster.directories[101].path)
    manager.tick(run)
    assert (run.records[0].state, cluster.directories[100].pin) == (INTENT, 1)
    cluster.directories[100].pin = -1
    cluster.refused.clear()
    cluster.lag = 1
    manager = Manager(cluster)
    (run,) = manager.runs
    if stopped:
        held(cluster, manager, run, "stop")
        run = goes_on(cluster, 1)
    else:
        until(manager, run, DONE)
    assert [run.records[i].state for i in (0, 1)] == [SKIPPED, APPLIED], "what was not set is set"
    assert (cluster.directories[100].pin, cluster.directories[101].pin) == (-1, 2)


@pytest.mark.parametrize("refused", [False, True])
def test_what_is_set_while_a_guards_pause_stands_is_known_after_a_fail_over_too(refused: bool) -> None:
    """What holds it lets go on what was begun, and then no more, in the same words; ``refused``: the mon does
    not take anything for a while then."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})
    cluster.refused.add(cluster.directories[100].path)
    manager.tick(run)
    cluster.why, cluster.busy = "it has MDSs for 3 of 4 ranks", True
    manager.tick(run)
    cluster.refused.clear()
    cluster.store.fail = refused
    manager.tick(run)
    assert (run.head.state, cluster.directories[100].pin) == (PAUSED, 1)
    cluster.busy = False
    for _ in range(3):
        manager.tick(run)
    if refused:
        assert len(manager.journal.behind()) == 1
        cluster.store.fail = False
        manager.journal.catch_up(1)
        manager.tick(run)
    assert cluster.events.count("put made") == 1
    cluster.directories[100].pin = -1
    run = goes_on(cluster, 1)
    assert (run.records[0].state, cluster.directories[100].pin) == (SKIPPED, -1)


@pytest.mark.parametrize("refused", [False, True])
def test_what_was_set_when_a_pause_was_written_already_is_known_after_a_fail_over_too(refused: bool) -> None:
    """An MDS takes seconds to confirm a pin; ``refused``: the mon does not take it at first."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})

    def pause(event: str) -> None:
        if event.startswith("pin"):
            cluster.watch = lambda _: None
            run.memory.halted = True
            manager.interrupt(run, state=PAUSED, by_operator=True)
            cluster.store.fail = refused

    cluster.watch = pause
    manager.tick(run)
    assert (run.head.state, cluster.directories[100].pin) == (PAUSED, 1)
    cluster.store.fail = False
    manager.journal.catch_up(1)
    cluster.directories[100].pin = -1
    run = goes_on(cluster, 1)
    assert (run.records[0].state, cluster.directories[100].pin) == (SKIPPED, -1)


def test_what_is_confirmed_is_written_once() -> None:
    """By the tick that set it: neither a pause nor a stop has more to tell, nor has a later tick."""
    cluster = FakeCluster(lag=10_000)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1, 101: 2, 102: 3})
    assert SETTINGS.max_moves == 2
    for _ in range(3):
        manager.tick(run)
    assert cluster.events.count("put made") == 1
    manager.interrupt(run, state=PAUSED, by_operator=True)
    manager.journal.head(run, state=RUNNING, by_operator=False)
    manager.tick(run)
    manager.interrupt(run, state=STOPPED, by_operator=True)
    assert cluster.events.count("put made") == 1
    (run,) = Manager(cluster).runs
    assert run.memory.made == {0, 1}


def test_a_plan_whose_pause_is_over_tells_what_it_waits_for() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.why = "rank 2 has failed"
    manager.journal.head(
        run, state=PAUSED, why="by command", by_operator=True, until=1002.0, resume_to=RUNNING
    )
    run.memory.hold = 2.0
    for _ in range(2):
        manager.tick(run)
        assert (run.head.why, run.head.by_operator, run.head.until) == ("by command", True, 1002.0)
    manager.tick(run)
    assert (run.head.state, run.head.why) == (PAUSED, "rank 2 has failed")
    assert (run.head.by_operator, run.head.until) == (False, None)
    cluster.why = None
    until(manager, run, DONE)


def test_a_rank_that_is_gone_is_not_pinned_to() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.state = replace(cluster.state, ranks_in=(0, 1, 2))
    until(manager, run, DONE)
    assert run.records[2].state == SKIPPED and "rank 3" in run.records[2].why


def without_rank_3(cluster: FakeCluster) -> None:
    """An operator lowers max_mds."""
    state = cluster.state
    cluster.state = replace(state, max_mds=3, ranks_in=(0, 1, 2), mds=state.mds[:3])


def test_a_rank_that_goes_before_the_next_manager_sets_the_pin_is_not_pinned_to() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 3})
    cluster.crash_at = len(cluster.events) + 1  # after the record, before the pin
    with pytest.raises(Crash):
        manager.tick(run)
    without_rank_3(cluster)
    manager = Manager(cluster)
    run = manager.runs[0]
    assert run.records[0].state == INTENT
    until(manager, run, DONE)
    assert (run.records[0].state, cluster.directories[100].pin) == (SKIPPED, -1)
    assert "rank 3 does not exist any more" in run.records[0].why


def test_no_mask_is_set_of_ranks_that_are_gone_and_the_balancer_is_not_switched_on() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}, "0xc", masks={103: "2,3"}), [])
    manager.journal.head(run, state=RUNNING)
    without_rank_3(cluster)
    until(manager, run, DONE)
    assert [run.records[i].state for i in range(4)] == [APPLIED, *[SKIPPED] * 3]
    assert run.records[1].why == run.records[2].why == "rank 3 does not exist any more"
    assert (cluster.state.bal_rank_mask, cluster.state.balance_automate) == ("-1", False)
    assert cluster.directories[103].mask == "-1"


@pytest.mark.parametrize("late", [False, True])
def test_a_rank_that_goes_while_a_directory_returns_to_it_leaves_no_pin(late: bool) -> None:
    """It is rolled back, or put back as it came too late."""
    cluster = FakeCluster(lag=10_000 if late else 3)
    cluster.directories[100].rank = 3
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=late), [])
    manager.journal.head(run, state=RUNNING)
    if not late:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    while cluster.directories[100].pin != 3:
        manager.tick(run)
    assert run.records[0].state == UNDOING
    without_rank_3(cluster)
    until(manager, run, DONE if late else ROLLED_BACK)
    assert (run.records[0].state, cluster.directories[100].pin) == (UNDONE, -1)


@settings(max_examples=200, deadline=None)
@given(
    crashes=st.lists(st.integers(0, 40), max_size=6),
    lag=st.integers(0, 3),
    moves=st.dictionaries(st.sampled_from([100, 101, 102, 103]), st.integers(0, 3), min_size=1),
    mask=st.sampled_from([None, "0x3"]),
)
def test_whenever_managers_die_nothing_is_lost_and_rollback_restores_everything(
    crashes: list[int], lag: int, moves: dict[int, int], mask: str | None
) -> None:
    cluster = FakeCluster(lag=lag)
    before = cluster.snapshot()
    started(cluster, Manager(cluster), moves, mask)
    points = iter(crashes)

    def drive(state: str) -> Run:
        for _ in range(200):
            manager = Manager(cluster)
            (run,) = manager.runs
            jump = next(points, None)
            cluster.crash_at = None if jump is None else len(cluster.events) + jump
            try:
                for _ in range(60):
                    if run.head.state == state:
                        return run
                    manager.tick(run)
            except Crash:
                continue
        raise AssertionError("it never ended")

    drive(DONE)
    assert {ino: cluster.directories[ino].rank for ino in moves} == moves
    pins = [event for event in cluster.events if event.startswith("pin ")]
    assert len(pins) == len(set(pins)), "a step was made twice"
    manager = Manager(cluster)
    cluster.crash_at = None
    manager.journal.head(manager.runs[0], state=ROLLING_BACK, resume_to=RUNNING)
    drive(ROLLED_BACK)
    assert cluster.snapshot() == before


DOUBT = Seen(None, in_doubt="it may still be made")


def pin_step(state: str | None) -> tuple[Step, Record | None]:
    step = Step(0, PIN_STEP, 0, "/d", 100, "1", "-1", 0)
    return step, None if state is None else Record(state, "-1", 999.0)


@pytest.mark.parametrize("state", [None, INTENT, UNDOING])
def test_nothing_is_decided_forward_while_a_change_that_was_given_up_may_still_be_made(
    state: str | None,
) -> None:
    core = StepCore(*pin_step(state), DOUBT, 1000.0, 300.0)
    assert core.forward((0, 1, 2, 3), force=True) == NOTHING


@pytest.mark.parametrize("state", [INTENT, APPLIED, UNDOING])
def test_nothing_is_decided_back_while_a_change_that_was_given_up_may_still_be_made(state: str) -> None:
    core = StepCore(*pin_step(state), DOUBT, 1000.0, 300.0)
    assert core.back(None) == core.back("0") == NOTHING


def under_way(cluster: FakeCluster, manager: Manager, *, back: bool) -> Run:
    """A plan that is just begun, or is just to be rolled back."""
    run = started(cluster, manager, MOVES)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    return run


@pytest.mark.parametrize("doubtful", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_a_directory_that_hangs_takes_one_thread_and_holds_up_no_other(
    back: bool, doubtful: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = under_way(cluster, manager, back=back)
    asked: list[int | None] = []
    on_fs = cluster.on_fs

    def counted(fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        asked.append(ino)
        return on_fs(fs, call, ino)

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "on_fs", counted)
        patch.setattr(cluster, "hangs", lambda fscid, ino: ino == 101)
        if doubtful:
            patch.setattr(
                cluster, "in_flight", lambda _, ino: Write(ino, "/d", PIN, "1") if ino == 101 else None
            )
        for _ in range(10):
            manager.tick(run)
    assert set(asked) == {100, 102}, "each call says what it is about"
    assert run.memory.doubtful == ({1} if doubtful else set())
    ended = UNDONE if back else APPLIED
    assert [run.records[i].state for i in (0, 2)] == [ended, ended]
    assert "an earlier call about it was not answered yet" in run.head.why
    until(manager, run, ROLLED_BACK if back else DONE)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("in_flight", [False, True])
def test_where_all_calls_hang_and_nothing_is_wrong_with_any_rank_the_manager_is_to_be_replaced(
    in_flight: bool, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = under_way(cluster, manager, back=back)
    told = "run 'ceph mgr fail'"
    hung: set[int | None] = set()

    def hangs(fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        hung.add(ino)
        raise Unavailable("no answer within 60 s")

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "on_fs", hangs)
        patch.setattr(cluster, "hangs", lambda _, ino: not in_flight and ino in hung)
        write = Write(100, "/d", PIN, "1")
        patch.setattr(cluster, "in_flight", lambda _, ino: write if in_flight and ino in hung else None)
        for _ in range(100):
            manager.tick(run)
        assert told not in run.head.why
        cluster.why, cluster.busy = "MDS_SLOW_REQUEST", True  # it may have what hangs
        for _ in range(200):
            manager.tick(run)
        assert told not in run.head.why
        cluster.why = None
        for _ in range(125):
            manager.tick(run)
        assert run.head.state == PAUSED and told in run.head.why
    until(manager, run, ROLLED_BACK if back else DONE)
    assert told not in run.head.why


def test_where_some_calls_are_answered_the_manager_need_not_be_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1, 101: 2})
    cluster.lag = 1000
    monkeypatch.setattr(cluster, "hangs", lambda fscid, ino: ino == 101)
    for _ in range(250):
        manager.tick(run)
    assert run.head.state == RUNNING and "not answered yet" in run.memory.troubles[1]


def thaw(thawed: threading.Event, manager: Manager) -> None:
    """What is frozen answers, all of it."""
    thawed.set()
    wait([poll for left in manager.executor._polls._left.values() for poll in left.values()], 60)


@pytest.mark.parametrize("frozen", [1, polls.MOST, polls.MOST + 3])
def test_what_is_frozen_on_its_way_holds_up_nothing_else(
    frozen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster(directories=20)
    manager = Manager(cluster)
    inos = [range(100, 100 + frozen), range(108, 110), range(110, 112)]
    plans = [plan(cluster, dict.fromkeys(of, 1), name=f"p{of[0]}") for of in inos]
    first, beside, later = (manager.journal.create(replace(p, scheduled=True), []) for p in plans)
    thawed, asked, on_fs = threading.Event(), Counter[int](), cluster.on_fs

    def freezes(fs: FsState, call: Callable[[Any], Any], ino: int | None = None) -> Any:
        if ino is not None and ino in inos[0] and cluster.directories[ino].pin == 1:
            asked[ino] += 1
            thawed.wait(60)
        return on_fs(fs, call, ino)

    monkeypatch.setattr(cluster, "on_fs", freezes)
    monkeypatch.setattr(polls, "WITHIN", 0.1)
    for run in (first, beside):
        manager.journal.head(run, state=RUNNING)
        manager.executor.tick(run, replace(SETTINGS, max_moves=9), Now(1000.0, 0.0))
    manager.journal.head(later, state=RUNNING)
    for _ in range(3):
        for run in (first, beside, later):
            manager.executor.tick(run, replace(SETTINGS, max_moves=9), Now(1000.0, 1.0))
        cluster.pass_time()
    assert first.head.state == RUNNING and all(cluster.directories[ino].pin == 1 for ino in inos[2])
    assert all(asked[ino] == 1 for ino in inos[0]), "nothing is asked twice"
    assert beside.head.state == (DONE if frozen < polls.MOST else RUNNING)
    thaw(thawed, manager)
    for run in (first, beside, later):
        until(manager, run, DONE)
    assert {record.state for record in first.records.values()} == {APPLIED}


def test_what_an_operator_stops_while_it_is_looked_at_is_not_journaled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    manager.tick(run)
    cluster.pass_time()
    thawed, on_fs = threading.Event(), cluster.on_fs
    monkeypatch.setattr(cluster, "on_fs", lambda *of: thawed.wait(60) and on_fs(*of))
    monkeypatch.setattr(polls, "WITHIN", 0.1)
    manager.tick(run)
    manager.journal.head(run, state=ROLLING_BACK)
    manager.tick(run)
    assert run.records[0].state == INTENT, "it is still looked at"
    thaw(thawed, manager)
    until(manager, run, ROLLED_BACK)
    assert cluster.directories[100].pin == -1


def test_a_move_that_could_not_be_set_in_time_is_not_made_later() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, {100: 1, 101: 2}), scheduled=True), [])
    manager.journal.head(run, state=RUNNING)
    cluster.refused.add(cluster.directories[100].path)
    for _ in range(SETTINGS.arrival_timeout):
        manager.tick(run)
    assert run.records[0].state == INTENT
    until(manager, run, DONE)
    cluster.refused.clear()
    manager.tick(run)
    assert run.records[0].state == UNDONE and "within 300 s" in run.records[0].why
    assert (cluster.directories[100].pin, cluster.directories[101].pin) == (-1, 2)


def test_a_change_in_doubt_is_waited_for_and_then_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})
    monkeypatch.setattr(cluster, "in_flight", lambda fscid, ino: Write(ino, "/d", "ceph.dir.pin", "1"))
    for _ in range(5):
        manager.tick(run)
    assert (run.records, cluster.directories[100].pin) == ({}, -1)
    assert run.head.state == PAUSED and "was not answered yet and may still be made" in run.head.why
    monkeypatch.undo()
    until(manager, run, DONE)
    assert cluster.directories[100].rank == 1


@pytest.mark.parametrize("option", [None, TO_AUTH])
def test_a_setting_that_the_mon_has_not_answered_is_not_taken_for_undone(
    option: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {}, None if option else "0x3", option=option), [])
    manager.journal.head(run, state=RUNNING)
    late: list[dict[str, str]] = []

    def unanswered(*of: str, **arguments: str) -> str:
        if of == ("fs get",):
            return answered(*of, **arguments)
        late.append(arguments)
        raise InDoubt("the mon did not answer within 20 s")

    answered, name = cluster.mon, "set_mds_option" if option else "mon"
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "mon_in_flight", lambda **_: bool(late))
        patch.setattr(cluster, name, unanswered)
        manager.tick(run)
        assert late and run.records[0].state == INTENT
        manager.journal.head(run, state=ROLLING_BACK)
        for _ in range(3):
            manager.tick(run)
        assert run.records[0].state == INTENT, "it may still be made"
        assert "may still be made" in run.head.why, "an operator sees what it waits for"
    before = cluster.snapshot()
    cluster.state = replace(cluster.state, bal_rank_mask="-1" if option else "0x3")
    cluster.options = {option: "true"} if option else {}
    until(manager, run, ROLLED_BACK)
    assert cluster.snapshot() == before and run.records[0].state == UNDONE


def test_ticks_after_the_end_change_nothing() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES), DONE)
    events = list(cluster.events)
    manager.tick(run)
    assert cluster.events == events


def test_the_plan_of_a_removed_file_system_stops_and_another_one_of_its_name_is_not_touched() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, MOVES, option="some_option"), [])
    manager.journal.head(run, state=RUNNING)
    while cluster.mds_option("some_option") != "true":
        manager.tick(run)
    cluster.state = replace(cluster.state, fscid=2)
    before = cluster.snapshot()[0]
    until(manager, run, STOPPED)
    manager.tick(run)
    assert "was removed" in run.head.why and run.heading() == RUNNING
    assert [run.records[i].state for i in range(len(MOVES) + 1)] == [APPLIED] * len(MOVES) + [UNDONE]
    assert cluster.snapshot()[0] == before
    assert cluster.mds_option("some_option") == "", "what holds for all file systems is put back"


def test_a_plan_does_not_end_where_the_fsmap_alone_lacks_its_file_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its pins would be nobody's."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES, None)
    there = cluster.state
    monkeypatch.setattr(cluster, "fs_by_id", lambda _: None)
    monkeypatch.setattr(cluster, "fs_of_mon", lambda fscid: there)
    until(manager, run, DONE)
    assert {ino: cluster.directories[ino].pin for ino in MOVES} == MOVES
    assert {record.state for record in run.records.values()} == {APPLIED}


@pytest.mark.parametrize(
    ("state", "heading"), [(READY, RUNNING), (STOPPED, RUNNING), (STOPPED, ROLLING_BACK), (DONE, RUNNING)]
)
def test_what_is_not_under_way_waits_for_no_file_system_and_does_not_go_on_when_it_is_there_again(
    monkeypatch: pytest.MonkeyPatch, state: str, heading: str
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, MOVES), [])
    manager.journal.head(run, state=state, resume_to=heading, by_operator=True, until=9.0)
    head, before = run.head, (cluster.snapshot(), dict(cluster.store.data))

    def silent(fscid: int) -> None:
        raise Unavailable("the mon did not answer 'fs dump' within 20 s")

    with monkeypatch.context() as away:
        away.setattr(cluster, "fs_by_id", lambda _: None)
        away.setattr(cluster, "fs_of_mon", silent)
        manager.tick(run)
        manager.executor.wait(run, "what nobody expected")
    for _ in range(3):
        manager.tick(run)
    assert (run.head, cluster.snapshot(), cluster.store.data) == (head, *before)


def test_a_renamed_file_system_is_followed() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES, "0x3")
    manager.tick(run)
    cluster.state = replace(cluster.state, name="another")
    until(manager, run, DONE)
    assert cluster.state.bal_rank_mask == "0x3"


def test_one_step_that_cannot_be_undone_does_not_stop_the_others() -> None:
    cluster = FakeCluster()
    before = cluster.snapshot()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES, "0x3"), DONE)
    cluster.refused.add(cluster.directories[101].path)
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, PAUSED)
    assert "not permitted" in run.head.why and "s1" in run.head.why and run.head.resume_to == ROLLING_BACK
    assert {i: r.state for i, r in run.records.items() if i != 1} == {
        0: UNDONE,
        2: UNDONE,
        3: UNDONE,
        4: UNDONE,
    }
    cluster.refused.clear()
    until(manager, run, ROLLED_BACK)
    assert cluster.snapshot() == before


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_what_nobody_expected_of_one_step_does_not_stop_the_others(
    back: bool, scheduled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster()
    before, manager = cluster.snapshot(), Manager(cluster)
    run = manager.journal.create(replace(plan(cluster, MOVES), scheduled=scheduled), [])
    manager.journal.head(run, state=RUNNING)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    set_ = Mount.set_attribute

    def strange(self: Mount, path: str, ino: int, *more: Any) -> None:
        if ino == 101:
            raise KeyError("nobody expected it")
        set_(self, path, ino, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Mount, "set_attribute", strange)
        until(manager, run, PAUSED)
        assert [run.records[i].state for i in (0, 2)] == [UNDONE if back else APPLIED] * 2
        told = "KeyError: 'nobody expected it'; see the manager's log: it is tried again"
        assert run.head.why == f"{cluster.directories[101].path!r}: {told}"
    until(manager, run, ROLLED_BACK if back else DONE)
    assert (cluster.snapshot() == before) is back


def test_a_plan_that_waits_does_not_write_its_head_again_and_again() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.refused |= {d.path for d in cluster.directories.values()}
    until(manager, run, PAUSED)
    written = len(cluster.events)
    for _ in range(20):
        manager.tick(run)
    assert len(cluster.events) == written


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("back", [False, True])
def test_a_reason_that_counts_is_told_as_it_is_now_and_written_once(
    busy: bool, back: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The oldest request is blocked for longer each time that the cluster is asked."""
    cluster = FakeCluster(lag=10_000 if back else 1)
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    if back:
        manager.tick(run)
        manager.journal.head(run, state=ROLLING_BACK)
    cluster.busy = busy and not back  # a rollback would go on
    cluster.why = "MDS_SLOW_REQUEST: blocked for 30 secs"
    manager.tick(run)
    written = len(cluster.events)
    for seconds in (35, 40, 45):
        cluster.why = f"MDS_SLOW_REQUEST: blocked for {seconds} secs"
        manager.tick(run)
        assert (run.head.state, run.head.why) == (PAUSED, cluster.why)
    assert (len(cluster.events), caplog.text.count("waits:")) == (written, 1)
    cluster.why = "MDS_DAMAGE: 1 mds daemon damaged"
    manager.tick(run)
    assert len(cluster.events) > written and caplog.text.count("waits:") == 2, "another reason is"
    manager = Manager(cluster)
    (run,) = manager.runs
    manager.tick(run)
    assert (run.head.why, run.heading()) == (cluster.why, ROLLING_BACK if back else RUNNING)
    cluster.why, cluster.lag = None, 1
    until(manager, run, ROLLED_BACK if back else DONE)


def test_a_plan_that_is_halted_begins_nothing_more_in_the_same_tick() -> None:
    cluster = FakeCluster(lag=0)
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    pin = "pin /volumes/_nogroup/s0 1"

    def stop(text: str) -> None:
        if text == pin:  # an operator's order comes just now
            run.memory.halted = True

    cluster.watch = stop
    for _ in range(5):
        manager.tick(run)
    assert [e for e in cluster.events if e.startswith("pin ")] == [pin]


def test_an_operators_equal_pin_stays_the_operators() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    cluster.directories[101].pin = MOVES[101]
    until(manager, run, DONE)
    assert run.records[1].state == SKIPPED
    assert set(owned_pins(steps_in_force([run], 1))) == {100, 102}
    manager.journal.head(run, state=ROLLING_BACK)
    until(manager, run, ROLLED_BACK)
    assert cluster.directories[101].pin == MOVES[101]


def test_a_step_of_the_hosts_clock_ends_no_wait() -> None:
    cluster = FakeCluster(lag=10**6)
    manager = Manager(cluster)
    run = started(cluster, manager, {100: 1})
    manager.tick(run)
    manager.executor.tick(run, SETTINGS, Now(1e9, cluster.ticks + 1.0))
    assert run.records[0].state == INTENT
    manager.executor.tick(run, SETTINGS, Now(0.0, cluster.ticks + SETTINGS.arrival_timeout + 2.0))
    assert run.records[0].state == APPLIED and "not moved it within" in run.records[0].why


@pytest.mark.parametrize("state", [DONE, ROLLED_BACK])
def test_a_new_manager_reads_an_ended_plan_as_ended(state: str) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, MOVES), DONE)
    if state == ROLLED_BACK:
        manager.journal.head(run, state=ROLLING_BACK)
        until(manager, run, ROLLED_BACK)
    (again,) = Manager(cluster).runs
    assert (again.head, again.records, again.plan) == (run.head, run.records, run.plan)


def test_what_is_being_undone_is_looked_at_whatever_its_phase() -> None:
    """It was begun while the settings were in trouble; the next manager does not know of that."""
    cluster = FakeCluster()
    steps = plan(cluster, {100: 1}, "0x3")
    done = Record(APPLIED, "-1", 1.0)
    records = {0: Record(UNDOING, "-1", 1.0), 1: done, 2: done}
    assert [s.phase for s in steps.steps] == [0, 1, 1]
    assert next_step(steps, ROLLING_BACK, records, tried=[], troubled=[], limit=1) == 0
    assert next_step(steps, ROLLING_BACK, records | {0: Record(UNDONE, "-1", 1.0)}, [0], [], 1) == 2


def test_a_row_waits_for_its_own_earlier_phases_and_a_setting_for_those_of_all_rows() -> None:
    """A directory that is on its way for minutes holds up no other one."""
    made = plan(FakeCluster(), {100: 1, 101: -1}, "0x3")
    steps = (*made.steps, replace(made.steps[1], phase=1, kind=DISTRIBUTED_STEP, value="1", expected="0"))
    both, moving, done = replace(made, steps=steps), Record(INTENT, "-1", 1.0), Record(APPLIED, "-1", 1.0)
    unpinned, setting, distributed = 1, 2, 4

    def next_of(records: dict[int, Record]) -> int | None:
        return next_step(both, RUNNING, records, tried=[0], troubled=[], limit=2)

    assert next_of({0: moving}) == unpinned
    assert next_of({0: moving, unpinned: done}) == distributed
    assert next_of({0: moving, unpinned: done, distributed: done}) is None
    assert next_of({0: done, unpinned: done, distributed: done}) == setting


def test_what_may_be_begun_comes_before_what_is_only_looked_at_where_that_is_urgent() -> None:
    steps = plan(FakeCluster(directories=3), {100: 1, 101: 2, 102: 3})
    records = {0: Record(INTENT, "-1", 1.0)}

    def order(eager: bool, limit: int | None, troubled: Sequence[int] = ()) -> list[int]:
        found: list[int] = []
        while (i := next_step(steps, RUNNING, records, found, troubled, limit, eager)) is not None:
            found.append(i)
        return found

    assert order(False, 3) == [0, 1, 2] and order(True, 3) == [1, 2, 0]
    assert order(True, 1) == order(True, None) == [0]
    assert order(True, 3, troubled=[2]) == [1, 0, 2] and order(True, 3, troubled=[0]) == [1, 2, 0]
    records[0] = Record(UNDOING, "-1", 1.0)
    assert order(True, 3) == [0, 1, 2]


def test_what_a_manager_changes_it_has_recorded_itself() -> None:
    """One that was replaced before takes its value for an operator's, and may still say so in the journal."""
    cluster = FakeCluster()
    first = Manager(cluster)
    until(first, run := started(cluster, first, {100: 1}), DONE)
    first.journal.head(run, state=ROLLING_BACK)
    second, third = Manager(cluster), Manager(cluster)
    second.journal.record(second.runs[0], 0, Record(UNDOING, "-1", 1.0))
    fourth = Manager(cluster)
    fourth.tick(fourth.runs[0])
    assert cluster.directories[100].pin == 0, "the way home"
    third.journal.record(third.runs[0], 0, Record(KEPT, "-1", 1.0, "an operator changed it to 0 since"))
    fifth = Manager(cluster)
    assert fifth.runs[0].records[0].state == UNDOING
    until(fifth, fifth.runs[0], ROLLED_BACK)
    assert cluster.directories[100].pin == -1


@pytest.mark.parametrize("back", [False, True])
def test_what_is_in_no_cache_is_read_so_that_it_moves(back: bool) -> None:
    """Nobody uses it, or its MDSs were restarted: they export only what they have in their caches."""
    cluster = FakeCluster()
    before, manager = cluster.snapshot(), Manager(cluster)
    run = started(cluster, manager, MOVES)
    if back:
        until(manager, run, DONE)
        manager.journal.head(run, state=ROLLING_BACK)
    cluster.trimmed = set(MOVES)
    until(manager, run, ROLLED_BACK if back else DONE)
    assert not cluster.trimmed and (cluster.snapshot() == before) is back
    assert {d.rank for ino, d in cluster.directories.items() if ino in MOVES} == ({0} if back else {1, 2, 3})


def test_what_moves_by_itself_is_not_read_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of the manager would have capabilities of all that is in it."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    read: list[str] = []
    monkeypatch.setattr(Mount, "load", lambda self, path: read.append(path))
    until(manager, started(cluster, manager, MOVES), DONE)
    assert read == []


def test_an_export_that_had_begun_comes_back_before_the_way_home_is_over() -> None:
    """MDSs do not look at a pin again when they have begun."""
    step, record = pin_step(INTENT)
    on_its_way = StepCore(step, record, Seen("1"), 1000.0, 300.0).back("0")
    assert on_its_way.record is not None and on_its_way.record.state == UNDOING and on_its_way.write == "0"
    for waited, write in ((1.0, None), (SETTLED, "-1")):
        seen = Seen("0", arrived=True, waited=waited)
        assert StepCore(step, on_its_way.record, seen, 1000.0, 300.0).back("0").write == write
    over = StepCore(step, on_its_way.record, Seen("-1"), 1000.0, 300.0).back("0").record
    assert over is not None and (over.state, over.why) == (UNDONE, ""), "it was put back as any other"


@pytest.mark.parametrize("refused", [False, True])
def test_a_rollback_says_what_did_not_come_home(refused: bool) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    until(manager, run := started(cluster, manager, {100: 1}), DONE)
    cluster.lag = 10_000
    manager.journal.head(run, state=ROLLING_BACK)
    for _ in range(SETTINGS.arrival_timeout):
        manager.tick(run)
    assert (run.records[0].state, cluster.directories[100].pin) == (UNDOING, 0)
    if refused:
        cluster.refused.add(cluster.directories[100].path)
        for _ in range(5):
            manager.tick(run)
        cluster.refused.clear()
    until(manager, run, ROLLED_BACK)
    assert (run.records[0].state, cluster.directories[100].pin) == (UNDONE, -1)
    assert run.records[0].why == f"{NOT_HOME} 300 s"


def test_a_reason_is_no_longer_than_a_record_may_be() -> None:
    step, record = pin_step(INTENT)
    gone = StepCore(step, record, Seen(None, "/d" * 40_000), 1000.0, 300.0).forward((0, 1), force=False)
    assert gone.record is not None and len(gone.record.why) == LONGEST


@pytest.mark.parametrize("why", ["was deleted or replaced", "was not set: Operation not permitted"])
def test_why_is_told_however_long_the_path_is_that_it_begins_with(why: str) -> None:
    """A byte that is not UTF-8 is written with six characters."""
    path = "/" + "\udcff" * 186
    step = replace(pin_step(None)[0], target=path)
    skipped = StepCore(step, None, Seen(None, f"{path!r} {why}"), 1000.0, 300.0).forward((0, 1), force=False)
    assert skipped.record is not None and skipped.record.why.endswith(why)
    made = replace(plan(FakeCluster(), {100: 1}), steps=(step,))
    head = after_tick(Head(RUNNING), made, {}, {0: why}, 1000.0)
    assert head.state == PAUSED and head.why.endswith(f"{why}: it is tried again")


def test_an_order_that_comes_while_a_tick_begins_is_not_forgotten() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = started(cluster, manager, MOVES)
    untold = {"state": "stopped"}

    def stops(_: Plan) -> str:
        run.memory.halted, run.memory.untold = True, untold
        return ""

    run.plan = replace(run.plan, scheduled=True, created=0.0)
    run.head = replace(run.head, started=0.0)
    manager.executor._unwanted = stops
    manager.tick(run)
    assert run.memory.halted and run.memory.untold is untold and not run.records
