# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whose directories are those? Ids and names of file systems may be exchanged, or given anew; pools stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import LOG, plan
from scheduled import SETTINGS, Cluster, Manager

from mds_partitioner.act.journal import Journal
from mds_partitioner.act.registry import Plans
from mds_partitioner.act.run import APPLIED, DONE, PAUSED, RUNNING, STOPPED, Record, Run
from mds_partitioner.errors import Busy, JournalError, Unavailable
from mds_partitioner.model import FsState
from mds_partitioner.plan.circumstances import TO_AUTH
from mds_partitioner.report.partition import removed_state
from mds_partitioner.schedule.record import ACT, ADVISE, OFF, UNDOING
from mds_partitioner.schedule.watch import Watch

HELD = "has other pools than when this was made"


class Two(Cluster):
    """A file system, and perhaps another one."""

    other: FsState | None = None

    def file_systems(self) -> list[FsState]:
        """Both."""
        return [self.state] if self.other is None else [self.state, self.other]

    def fs_by_id(self, fscid: int) -> FsState | None:
        """Either."""
        return next((fs for fs in self.file_systems() if fs.fscid == fscid), None)


def two() -> Two:
    made = Two()
    made.state = replace(made.state, metadata_pool=20)
    return made


def executed(manager: Manager) -> None:
    made = plan(manager.cluster, {100: 1}, name="mine")
    manager.partitioner.plans.save(replace(made, metadata_pool=20))
    manager.partitioner.start(manager.fs, "mine")
    manager.run(10)


def swap(cluster: Two) -> None:
    """``fs swap --swap-fscids yes`` with one called b: what had this name and id has the other's now."""
    cluster.other = replace(cluster.state, name="b", fscid=2)
    cluster.state = replace(cluster.state, metadata_pool=30)


def test_a_plan_is_of_the_file_system_with_its_pool() -> None:
    cluster = two()
    manager = Manager(cluster)
    executed(manager)
    swap(cluster)
    for each in (manager, Manager(cluster)):
        each.run(1)
        plans = each.partitioner.plans
        assert cluster.other is not None and not plans.of(cluster.state)
        assert [run.plan.name for run in plans.of(cluster.other)] == ["mine"]


def test_a_plan_of_an_older_version_is_tied_to_the_pool_that_was_there_at_the_upgrade() -> None:
    cluster = two()
    manager = Manager(cluster)
    manager.partitioner.plans.save(plan(cluster, {100: 1}, name="mine"))
    Manager(cluster).run(3)
    swap(cluster)
    manager = Manager(cluster)
    manager.run(1)
    assert cluster.other is not None
    assert [run.plan.name for run in manager.partitioner.plans.of(cluster.other)] == ["mine"]


def test_a_plan_that_was_followed_and_could_not_be_removed_is_read_by_the_next_manager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = two()
    executed(Manager(cluster))
    swap(cluster)
    manager = Manager(cluster)
    manager.run(1)
    delete = cluster.store.delete

    def lost(key: str) -> None:
        delete(key)
        raise JournalError("no answer")

    with monkeypatch.context() as patch, pytest.raises(JournalError):
        patch.setattr(cluster.store, "delete", lost)
        manager.partitioner.plans.remove("mine")
    manager.run(3)
    plans = Manager(cluster).partitioner.plans
    assert [run.plan.name for run in plans.known()] == ["mine"] and not plans.unreadable


def test_what_followed_plans_claim_is_claimed_also_after_it_failed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = two()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    while not any("forward" in key for key in cluster.store.items("option/")):
        manager.run(1)
    swap(cluster)
    claim, failed = manager.partitioner.plans._claim, list[int]()

    def once(runs: list[Run]) -> None:
        if not failed:
            failed.append(1)
            raise Unavailable("the mon does not answer")
        claim(runs)

    monkeypatch.setattr(manager.partitioner.plans, "_claim", once)
    manager.run(5)
    users = [key for key in cluster.store.items("option/") if "forward" in key]
    assert failed and users and all("scheduler/2" in key for key in users)


def both_have_other_ids() -> tuple[Two, Manager]:
    """Two file systems, of each of which a plan of the scheduler has set an option, get the ids 3 and 4."""
    cluster = two()
    cluster.other = replace(cluster.state, name="b", fscid=2, metadata_pool=30)
    cluster.options[TO_AUTH] = "true"
    plans = Plans(cluster, Journal(cluster.store, 1), cluster.now, LOG)
    plans.load()
    for fs in cluster.file_systems():
        made = plan(cluster, {}, option=TO_AUTH, name=f"scheduler-{fs.fscid}")
        plans.save(replace(made, fscid=fs.fscid, metadata_pool=fs.metadata_pool, scheduled=True))
        run = plans.known()[-1]
        plans._journal.record(run, 0, Record(APPLIED, "", 1.0))
        plans._journal.head(run, state=DONE)
    manager = Manager(cluster)
    cluster.state, cluster.other = replace(cluster.state, fscid=3), replace(cluster.other, fscid=4)
    return cluster, manager


def test_of_two_that_are_followed_at_once_each_has_its_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, manager = both_have_other_ids()
    plans = manager.partitioner.plans
    claim = plans._claim

    def meanwhile(runs: list[Run]) -> None:
        claim(runs)
        monkeypatch.undo()
        plans.follow(2, cluster.file_systems())

    monkeypatch.setattr(plans, "_claim", meanwhile)
    plans.follow(1, cluster.file_systems())
    plans.claim_followed()
    manager.run(1)
    assert set(cluster.store.items("option/")) == {f"option/{TO_AUTH}/scheduler/{i}" for i in (3, 4)}


def test_claims_that_fail_hold_up_no_other_file_system_and_are_made_though_nothing_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, manager = both_have_other_ids()
    third = replace(cluster.state, name="c", fscid=5, metadata_pool=40)
    monkeypatch.setattr(cluster, "file_systems", lambda: [cluster.state, cluster.other, third])

    def refused(runs: list[Run]) -> None:
        raise Unavailable("the mon does not answer")

    plans = manager.partitioner.plans
    plans.save(replace(plan(cluster, {100: 1}, name="mine"), fscid=5, metadata_pool=40))
    with monkeypatch.context() as patch:
        patch.setattr(plans, "_claim", refused)
        manager.run(1)
        manager.partitioner.start(third, "mine")
        manager.run(10)
        assert plans.named(third, "mine").head.state == DONE and plans.unclaimed == {3, 4}
    manager.run(1)
    assert set(cluster.store.items("option/")) == {f"option/{TO_AUTH}/scheduler/{i}" for i in (3, 4)}


def test_where_none_has_its_pool_a_plan_is_held_and_shown() -> None:
    cluster = two()
    manager = Manager(cluster)
    executed(manager)
    cluster.state = replace(cluster.state, metadata_pool=30)
    for each in (manager, Manager(cluster)):
        each.run(3)
        plans = each.partitioner.plans
        assert (plans.of(cluster.state), [run.plan.name for run in plans.of_removed()]) == ([], ["mine"])
        assert cluster.directories[100].pin == 1
        assert removed_state(plans.known()[0]).endswith("file system has other pools (fs swap?)")
    plans.remove("mine")
    assert not plans.known()


def test_what_was_set_is_rolled_back_when_the_file_system_is_made_anew() -> None:
    """fs rm; fs new --recover: the pins are in the metadata pool, which stays."""
    cluster = two()
    before, manager = cluster.directories[100].pin, Manager(cluster)
    executed(manager)
    there, cluster.state = cluster.state, replace(cluster.state, name="c", fscid=3, metadata_pool=30)
    for each in (manager, Manager(cluster)):
        each.run(10)
        (run,) = each.partitioner.plans.of_removed()
        assert (run.head.state, run.records[0].state) == (DONE, APPLIED)
    cluster.state = replace(there, name="anew", fscid=2)
    manager = Manager(cluster)
    manager.partitioner.rollback(manager.fs, "mine")
    assert cluster.directories[100].pin == 1 != before
    manager.run(20)
    assert cluster.directories[100].pin == before


def test_what_the_scheduler_did_is_kept_as_long_as_the_pool_is_there() -> None:
    cluster = two()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    while not cluster.hurried:
        manager.run(1)
    there, made = cluster.state, len(manager.partitioner.plans.known())
    assert made
    cluster.state = replace(cluster.state, name="c", fscid=3, metadata_pool=30)
    for each in (manager, Manager(cluster)):
        each.run(20)
        assert len(each.partitioner.plans.of_removed()) == made
        assert [fscid for fscid, _ in each.ledger.all()] == [1]
        assert not cluster.store.items("tick/")
    c, cluster.state = cluster.state, replace(there, fscid=2)
    manager = Manager(cluster)
    manager.run(10)
    assert [fscid for fscid, _ in manager.ledger.all()] == [2]
    assert len(manager.partitioner.plans.of(cluster.state)) >= made
    cluster.state = c
    cluster.pool_ids.discard(20)
    manager.run(30)
    assert (manager.partitioner.plans.known(), manager.ledger.all()) == ([], [])


def prepared(lag: int = 1) -> tuple[Two, Manager]:
    """A scheduler acts, and has set what that needs."""
    cluster = two()
    cluster.lag = lag
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    assert cluster.options[TO_AUTH] == "true" and manager.scheduling.get(manager.fs).prepared
    return cluster, manager


def removed(cluster: Two, manager: Manager) -> FsState:
    """``fs rm``; there is another one. Returns what was removed."""
    gone, cluster.state = cluster.state, replace(cluster.state, name="c", fscid=3, metadata_pool=30)
    manager.run(20)
    return gone


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("fscid", [1, 2])
def test_what_acting_needs_is_set_again_when_the_file_system_is_made_anew(
    fscid: int, fails_over: bool
) -> None:
    cluster, manager = prepared()
    gone = removed(cluster, manager)
    assert cluster.options[TO_AUTH] == ""
    cluster.state = replace(gone, fscid=fscid)
    manager = Manager(cluster) if fails_over else manager
    manager.run(20)
    assert cluster.options[TO_AUTH] == "true" and manager.scheduling.get(manager.fs).prepared
    cluster.options[TO_AUTH] = ""
    manager.run(20)
    assert cluster.options[TO_AUTH] == "", "that is the operator's"


def test_what_acting_needs_stays_an_operators_where_the_file_system_is_made_anew() -> None:
    cluster, manager = prepared()
    cluster.options[TO_AUTH] = "false"
    cluster.state = replace(removed(cluster, manager), fscid=2)
    manager.run(20)
    assert cluster.options[TO_AUTH] == "false" and manager.scheduling.get(manager.fs).prepared


def test_what_acting_needs_is_set_again_after_a_moment_without_the_file_system() -> None:
    """It is being taken back then: the plan that set it is over, and is not looked at once more."""
    cluster, manager = prepared()
    gone, cluster.state = cluster.state, replace(cluster.state, name="c", fscid=3, metadata_pool=30)
    while cluster.options[TO_AUTH]:
        manager.run(1)
    cluster.state = replace(gone, fscid=2)
    manager.run(30)
    assert cluster.options[TO_AUTH] == "true" and manager.scheduling.get(manager.fs).prepared


@pytest.mark.parametrize("removes", [False, True])
def test_what_an_operator_had_set_before_is_not_set_again_where_the_file_system_moves(removes: bool) -> None:
    cluster = two()
    cluster.options[TO_AUTH] = "true"
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(20)
    assert manager.scheduling.get(manager.fs).prepared
    cluster.options[TO_AUTH] = "false"
    cluster.state = replace(removed(cluster, manager) if removes else cluster.state, fscid=2)
    cluster.other = None
    manager.run(30)
    assert [fscid for fscid, _ in manager.ledger.all()] == [2]
    assert cluster.options[TO_AUTH] == "false" and manager.scheduling.get(manager.fs).prepared


def under_way(manager: Manager) -> list[Run]:
    return [run for run in manager.partitioner.plans.known() if run.plan.rows and run.head.state != DONE]


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("lag", [1, 10_000])
def test_what_the_scheduler_had_under_way_goes_on_when_the_file_system_is_made_anew(
    lag: int, fails_over: bool
) -> None:
    """A scheduler does not act beside a plan of its own that is stopped, nor may anybody start that then."""
    cluster, manager = prepared(lag=10_000)
    while not any(run.records for run in under_way(manager)):
        manager.run(1)
    gone = removed(cluster, manager)
    assert {run.head.state for run in under_way(manager)} == {STOPPED}
    cluster.state, cluster.lag = replace(gone, fscid=2), lag
    manager = Manager(cluster) if fails_over else manager
    manager.run(5)
    assert manager.scheduling.stopped(manager.fs) == ""
    manager.scheduling.stop(manager.fs, rollback=True)
    cluster.lag = 1
    manager.run(300)
    assert manager.scheduling.get(manager.fs).mode == OFF
    assert {d.pin for d in cluster.directories.values()} == {-1}


def interrupted(lag: int = 1) -> tuple[Two, Manager, list[Run]]:
    """The scheduler has something under way."""
    cluster, manager = prepared(lag=10_000)
    while not any(run.records for run in under_way(manager)):
        manager.run(1)
    cluster.lag = lag
    return cluster, manager, under_way(manager)


def pause(manager: Manager, fs: FsState, seconds: int | None) -> None:
    """``partition pause``"""
    manager.scheduling.pause(fs, seconds)
    manager.partitioner.pause(fs, seconds)
    manager.scheduling.keep(fs)


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("fscid", [1, 2])
@pytest.mark.parametrize("seconds", [None, 60])
def test_what_an_operator_had_paused_is_paused_when_the_file_system_is_made_anew(
    seconds: int | None, fscid: int, fails_over: bool
) -> None:
    """It goes on when he says so, or the pause is over; so does the scheduler."""
    cluster, manager, _ = interrupted()
    pause(manager, manager.fs, seconds)
    manager.run(2)
    gone, before = removed(cluster, manager), cluster.snapshot()[0]
    assert {run.head.state for run in under_way(manager)} == {STOPPED}
    cluster.state = replace(gone, fscid=fscid)
    manager = Manager(cluster) if fails_over else manager
    manager.run(20)
    paused = {(PAUSED, "by command")}
    assert {(run.head.state, run.head.why) for run in under_way(manager)} == paused
    assert cluster.snapshot()[0] == before
    if seconds is None:
        manager.run(60)
        assert {(run.head.state, run.head.why) for run in under_way(manager)} == paused
        manager.scheduling.resume(manager.fs)
        manager.partitioner.resume(manager.fs)
    manager.run(60)
    assert not any(run.head.state == PAUSED for run in under_way(manager))


def test_a_pause_that_is_over_when_the_file_system_is_removed_holds_nothing_when_it_is_made_anew() -> None:
    cluster, manager, runs = interrupted(lag=10_000)
    pause(manager, manager.fs, 5)
    cluster.steady, cluster.wall = cluster.steady + 6, cluster.wall + 6
    cluster.state = replace(removed(cluster, manager), fscid=2)
    manager.run(3)
    assert {run.head.state for run in runs} == {RUNNING}


@pytest.mark.parametrize("state", [STOPPED, PAUSED])
def test_an_order_that_comes_just_when_the_file_system_is_removed_holds(state: str) -> None:
    """The mon has it not yet."""
    cluster, manager, (run, *_) = interrupted()
    gone, cluster.state = cluster.state, replace(cluster.state, name="c", fscid=3, metadata_pool=30)
    run.memory.halted = True
    run.memory.order({"state": state, "why": "by command", "by_operator": state == PAUSED})
    manager.mover._executor.tick(run, SETTINGS, cluster.now())
    assert run.head.state == STOPPED
    cluster.state = gone
    manager.run(10)
    assert (run.head.state, run.head.why) == (state, "by command")


def test_an_operators_plan_that_was_under_way_stays_stopped_when_the_file_system_is_made_anew() -> None:
    cluster = two()
    cluster.lag = 10_000
    manager = Manager(cluster)
    executed(manager)
    cluster.state = replace(removed(cluster, manager), fscid=2)
    manager.run(10)
    (run,) = manager.partitioner.plans.of(manager.fs)
    assert run.head.state == STOPPED


def test_nothing_is_executed_on_other_pools() -> None:
    """Before it is known whose the plan is by now."""
    cluster = two()
    manager = Manager(cluster)
    manager.partitioner.plans.save(replace(plan(cluster, {100: 1}, name="mine"), metadata_pool=20))
    manager.partitioner.start(manager.fs, "mine")
    (run,) = manager.partitioner.plans.known()
    cluster.state = replace(cluster.state, metadata_pool=30)
    manager.mover._tick(run)
    assert not run.records and HELD in run.head.why and run.head.state != DONE


def test_the_scheduler_follows_its_file_system() -> None:
    cluster = two()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    swap(cluster)
    manager.run(10)
    for each in (manager, Manager(cluster)):
        assert [(fscid, watch.kept.mode) for fscid, watch in each.ledger.all()] == [(2, ACT)]


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("removes", [False, True])
def test_a_scheduler_that_is_off_follows_its_file_system_too(removes: bool, fails_over: bool) -> None:
    cluster, manager = prepared()
    manager.run(60)
    assert {d.pin for d in cluster.directories.values()} != {-1}
    manager.scheduling.stop(manager.fs, rollback=False)
    manager.run(20)
    if removes:
        cluster.other = replace(removed(cluster, manager), fscid=2)
    else:
        swap(cluster)
    assert cluster.other is not None
    manager = Manager(cluster) if fails_over else manager
    with pytest.raises(Unavailable, match="in a moment"):  # or it would have none of what it did
        manager.scheduling.start(cluster.other, ACT)
    manager.run(11)
    assert [(fscid, watch.kept.mode) for fscid, watch in manager.ledger.all()] == [(2, OFF)]
    manager.scheduling.stop(cluster.other, rollback=True)
    manager.run(100)
    assert manager.scheduling.get(cluster.other).mode == OFF
    assert {d.pin for d in cluster.directories.values()} == {-1}


def test_a_scheduler_that_is_off_and_whose_file_system_is_not_there_fails_nothing() -> None:
    cluster, manager = prepared()
    manager.scheduling.stop(manager.fs, rollback=False)
    cluster.state = replace(cluster.state, metadata_pool=30)
    before = dict(manager.failures)
    manager.run(30)
    assert manager.failures == before and [fscid for fscid, _ in manager.ledger.all()] == [1]


def test_a_scheduler_whose_file_system_is_not_there_is_held() -> None:
    cluster = two()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(3)
    cluster.state = replace(cluster.state, metadata_pool=30)
    manager.run(10)
    ((fscid, watch),) = manager.ledger.all()
    assert (fscid, watch.kept.mode, watch.kept.metadata_pool) == (1, ACT, 20)
    with pytest.raises(Busy, match="scheduler stop cephfs"):
        manager.scheduling.start(manager.fs, ACT)
    with pytest.raises(Busy, match=HELD):
        manager.scheduling.stop(manager.fs, rollback=True)
    assert manager.scheduling.stop(manager.fs, rollback=False).mode == OFF
    assert manager.scheduling.start(manager.fs, ACT).metadata_pool == 30


def followed(cluster: Two, manager: Manager) -> FsState:
    """``fs swap``, while the scheduler acts: by its next look it has the other id. Returns its own."""
    swap(cluster)
    assert cluster.other is not None
    assert [fscid for fscid, _ in manager.ledger.all()] == [1]
    return cluster.other


@pytest.mark.parametrize("fails_over", [False, True])
@pytest.mark.parametrize("order", ["halt", "pause", "stop"])
def test_no_stop_nor_pause_waits_for_a_scheduler_that_is_followed(order: str, fails_over: bool) -> None:
    cluster, manager = prepared()
    fs, scheduling = followed(cluster, manager), manager.scheduling
    assert scheduling.acting(fs) and "acts on 'b'" in scheduling.in_the_way(fs)
    if order == "stop":
        assert scheduling.stop(fs, rollback=False).mode == OFF
    else:
        assert scheduling.halt(fs) if order == "halt" else scheduling.pause(fs, None)
        scheduling.keep(fs)
    held = {"halt": (ADVISE, False), "pause": (ACT, True), "stop": (OFF, False)}[order]
    manager = Manager(cluster) if fails_over else manager
    for _ in range(2):
        kept = manager.scheduling.get(fs)
        assert (kept.mode, kept.paused) == held
        manager.run(20)
    for each in (manager, Manager(cluster)):
        ((fscid, watch),) = each.ledger.all()
        assert (fscid, watch.kept.mode, watch.kept.paused) == (2, *held)


def test_a_stop_of_a_scheduler_that_is_followed_holds_also_before_its_record_was_read() -> None:
    cluster, manager = prepared()
    fs, manager = followed(cluster, manager), Manager(cluster)
    manager.ledger._watches = None
    assert manager.scheduling.halt(fs)
    manager.ledger.begin()
    assert manager.scheduling.get(fs).mode == ADVISE


def test_a_stop_that_comes_while_the_record_is_moved_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just when the mon has the record under the new id."""
    cluster, manager = prepared()
    fs, save = followed(cluster, manager), manager.ledger.save

    def stopped(fscid: int, watch: Watch, *args: Any, **changes: Any) -> None:
        save(fscid, watch, *args, **changes)
        monkeypatch.undo()
        assert manager.scheduling.halt(fs)
        manager.scheduling.keep(fs)

    monkeypatch.setattr(manager.ledger, "save", stopped)
    assert manager.ledger.move(1, 2, prepared=True)
    assert Manager(cluster).scheduling.get(fs).mode == ADVISE


def test_a_scheduler_that_could_not_be_moved_is_moved_later(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, manager = prepared()
    followed(cluster, manager)
    with monkeypatch.context() as patch, pytest.raises(JournalError):
        patch.setattr(cluster.store, "put", refused)
        manager.ledger.move(1, 2, prepared=True)
    assert [fscid for fscid, _ in manager.ledger.all()] == [1]
    manager.run(10)
    for each in (manager, Manager(cluster)):
        assert [fscid for fscid, _ in each.ledger.all()] == [2]


def refused(key: str, value: str) -> None:
    raise JournalError("the mon does not answer")


def test_a_paused_scheduler_that_is_followed_goes_on_when_it_is_told_to() -> None:
    cluster, manager = prepared()
    manager.scheduling.pause(manager.fs, None)
    manager.scheduling.keep(manager.fs)
    fs = followed(cluster, manager)
    with pytest.raises(Unavailable, match="in a moment"):
        manager.scheduling.resume(fs)
    manager.run(11)
    assert manager.scheduling.resume(fs) and not Manager(cluster).scheduling.get(fs).paused


def test_what_a_scheduler_that_is_followed_did_is_undone_when_it_is_there() -> None:
    cluster, manager = prepared()
    fs = followed(cluster, manager)
    with pytest.raises(Unavailable, match="in a moment"):  # its plans may not be there yet
        manager.scheduling.stop(fs, rollback=True)
    manager.run(11)
    assert manager.scheduling.stop(fs, rollback=True).mode == UNDOING
