# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operators' plans that nobody needs any more are forgotten as new ones are made; no other one is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from fake_cluster import Crash, plan
from scheduled import Cluster, Manager

from mds_partitioner.act import choice
from mds_partitioner.act.choice import STAY, free_name, past
from mds_partitioner.act.journal import AT_ONCE
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    INTENT,
    KEPT,
    READY,
    ROLLED_BACK,
    RUNNING,
    STOPPED,
    TAKEN,
    UNDOING,
    UNDONE,
    Head,
    Record,
    Run,
)
from mds_partitioner.errors import Busy, JournalError

SET = {0: Record(APPLIED, "-1", 1.0)}
PUT_BACK = {0: Record(UNDONE, "-1", 1.0)}


def save(manager: Manager, name: str, ino: int = 100, fscid: int = 1) -> None:
    """A plan of an operator's."""
    made = plan(manager.cluster, {ino: 1}, name=name)
    pool = manager.cluster.state.metadata_pool
    manager.partitioner.plans.save(replace(made, fscid=fscid, metadata_pool=pool))


def full(manager: Manager) -> list[str]:
    """As many plans as stay, and their names."""
    made = [f"old-{i:02d}" for i in range(STAY)]
    for name in made:
        save(manager, name)
    return made


def names(manager: Manager) -> list[str]:
    return [run.plan.name for run in manager.partitioner.plans.known()]


def leaves_nothing(manager: Manager) -> bool:
    """Are there keys of those plans only that there are, after a few ticks?"""
    while manager.partitioner._journal.behind():
        manager.mover.tick()
    keys = [key for key in manager.cluster.store.data if key.startswith("plan/")]
    return {key.split("/")[1] for key in keys} == {run.id for run in manager.partitioner.plans.known()}


def run(name: str, head: Head, records: dict[int, Record], created: float = 1.0) -> Run:
    cluster = Cluster()
    made = replace(plan(cluster, {100: 1}, name=name), metadata_pool=cluster.state.metadata_pool)
    return Run(name, replace(made, created=created), head, dict(records))


def many(created: float) -> list[Run]:
    """Newer ones, as many as stay."""
    return [run(f"new-{i}", Head(READY), {}, created + 1.0 + i) for i in range(STAY)]


def test_of_plans_that_were_never_begun_the_last_ones_stay() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made = full(manager)
    save(manager, "next")
    assert names(manager) == [*made[1:], "next"]
    assert leaves_nothing(manager)
    assert names(Manager(cluster)) == names(manager)


def test_plans_of_each_file_system_are_counted_by_themselves() -> None:
    manager = Manager(Cluster())
    save(manager, "others", fscid=2)
    made = full(manager)
    assert names(manager) == ["others", *made]
    save(manager, "next")
    assert names(manager) == ["others", *made[1:], "next"]


def test_what_older_versions_left_goes_a_few_at_a_time() -> None:
    manager = Manager(Cluster())
    made = full(manager)
    plans = manager.partitioner.plans
    plans._runs = [*many(-1000.0), *many(-2000.0), *plans.known()]
    save(manager, "next")
    assert len(plans.known()) == 3 * STAY + 1 - AT_ONCE
    assert names(manager)[-STAY - 1 :] == [*made, "next"]


@pytest.mark.parametrize(
    ("head", "records", "goes"),
    [
        (Head(READY), {}, True),
        (Head(READY), SET, False),
        (Head(READY), PUT_BACK, False),
        (Head(ROLLED_BACK), PUT_BACK, True),
        (Head(ROLLED_BACK), {}, True),
        (Head(ROLLED_BACK), {0: Record(KEPT, "-1", 1.0)}, True),
        *((Head(ROLLED_BACK), {0: Record(state, "-1", 1.0)}, False) for state in (INTENT, APPLIED, UNDOING)),
        (Head(DONE), SET, False),
        (Head(DONE), {}, False),
        (Head(STOPPED), {}, False),
        (Head(RUNNING), {}, False),
    ],
)
def test_what_is_in_force_or_was_begun_stays(head: Head, records: dict[int, Record], goes: bool) -> None:
    old = run("old", head, records)
    assert past([old, *many(1.0)], 1) == ([old] if goes else [])
    scheduled = Run("s", replace(old.plan, scheduled=True), head, old.records)
    assert past([scheduled, *many(1.0)], 1) == [], "the scheduler's are its own"


def test_those_go_first_that_nobody_has_touched_for_longest() -> None:
    undone = run("undone", Head(ROLLED_BACK, started=500.0, finished=600.0), PUT_BACK)
    ready = run("ready", Head(READY), {}, 2.0)
    assert past([undone, ready, *many(2.0)[1:]], 2) == [ready]


@pytest.mark.parametrize("taken", [False, True])
def test_what_keeps_a_plan_from_being_started_stays_as_long_as_that(taken: bool) -> None:
    """A plan was stopped, and one that was begun after it was rolled back."""
    stopped = run("stopped", Head(STOPPED), {})
    records = {0: Record(KEPT, "-1", 3.0, f"{TAKEN} 2 since")} if taken else PUT_BACK
    undone = run("undone", Head(ROLLED_BACK, started=2.0, finished=3.0), records, 2.0)
    assert past([stopped, undone, *many(3.0)], 1) == ([] if taken else [undone])
    ended = replace(stopped.head, state=DONE)
    assert past([Run("ended", stopped.plan, ended), undone, *many(3.0)], 1) == [undone]


def test_what_an_operator_took_from_a_plan_that_is_forgotten_is_no_older_ones() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    save(manager, "in-force")
    save(manager, "taken")
    older, later = manager.partitioner.plans.known()
    journal = manager.partitioner._journal
    for each, record in ((older, SET[0]), (later, Record(KEPT, "1", 1.0, f"{TAKEN} 2 since"))):
        journal.record(each, 0, record)
    journal.head(older, state=DONE)
    journal.head(later, state=ROLLED_BACK)
    full(manager)
    for each in (manager, Manager(cluster)):
        assert "taken" not in names(each) and "in-force" in names(each)
        (kept,) = (r for r in each.partitioner.plans.known() if r.plan.name == "in-force")
        assert kept.records[0].state == KEPT


def test_a_manager_may_die_at_any_point() -> None:
    """What is read then is whole, and the old plan goes with the next one at the latest."""
    for at in itertools.count(1):
        cluster = Cluster()
        manager = Manager(cluster)
        made = full(manager)
        cluster.crash_at = len(cluster.events) + at
        try:
            save(manager, "next")
            assert leaves_nothing(manager) and at > 5
            return
        except Crash:
            cluster.crash_at = None
        after = Manager(cluster)
        assert not after.partitioner.plans.unreadable
        assert names(after) in (made, [*made, "next"], [*made[1:], "next"])
        save(after, "after")
        assert names(after)[-STAY:] == names(after) and names(after)[-1] == "after"
        assert leaves_nothing(after)


def test_where_the_mon_refuses_the_new_plan_is_there_and_the_old_one_goes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made, remove = full(manager), cluster.store.delete

    def refuse(key: str) -> None:
        raise JournalError("the mon did not answer")

    monkeypatch.setattr(cluster.store, "delete", refuse)
    save(manager, "next")
    assert names(manager) == names(Manager(cluster)) == [*made, "next"]
    monkeypatch.setattr(cluster.store, "delete", remove)
    save(manager, "later")
    assert names(manager) == names(Manager(cluster)) == [*made[2:], "next", "later"]


def once(cluster: Cluster, at: str, do: Callable[[], object]) -> None:
    """What happens when an event is seen for the first time."""

    def meanwhile(event: str) -> None:
        if event == at:
            cluster.watch = lambda _: None
            do()

    cluster.watch = meanwhile


def test_one_that_is_just_begun_stays() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made = full(manager)
    once(cluster, "put head", lambda: save(manager, "next"))
    assert manager.partitioner.start(manager.fs, made[0]).head.state == RUNNING
    assert names(manager) == names(Manager(cluster)) == [*made, "next"]


def test_one_that_was_begun_while_others_were_forgotten_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made = full(manager)
    once(cluster, "delete", lambda: manager.partitioner.start(manager.fs, made[1]))
    monkeypatch.setattr(choice, "STAY", STAY - 1)
    save(manager, "next")
    assert names(manager) == names(Manager(cluster)) == [*made[1:], "next"]


def test_one_that_is_just_forgotten_is_not_begun() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    made, refused = full(manager), list[str]()

    def refuse() -> None:
        with pytest.raises(Busy, match="undone or removed now"):
            manager.partitioner.start(manager.fs, made[0])
        refused.append(made[0])

    once(cluster, "delete", refuse)
    save(manager, "next")
    assert refused and names(manager) == [*made[1:], "next"]


def test_the_name_of_one_that_is_forgotten_is_not_given_again() -> None:
    """Or 'partition start plan-1' would begin another plan than was read under that name."""
    assert free_name([]) == "plan-1"
    assert free_name([f"plan-{i}" for i in range(2, STAY + 2)]) == f"plan-{STAY + 2}"
    assert free_name(["nightly", "plan-b", "scheduler-7", "plan-3"]) == "plan-4"
