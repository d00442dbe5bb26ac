# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is in the journal is read back as it was written, whatever was interrupted."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import pytest
from fake_cluster import Crash, FakeCluster, Manager, plan

from mds_partitioner.act.journal import AT_ONCE, NOBODYS, check_name
from mds_partitioner.act.pages import PART
from mds_partitioner.act.run import (
    APPLIED,
    DONE,
    INTENT,
    READY,
    RUNNING,
    SKIPPED,
    STOPPED,
    GoesOn,
    Head,
    Record,
    Run,
    moved_at,
    owned_pins,
    steps_in_force,
)
from mds_partitioner.errors import BadInput, Busy, JournalError

ODD = ["/a b", "/quo'te\"", "/new\nline", "/grüße/日本", "/bad\udcff", "/$(x)`y`"]


@pytest.mark.parametrize("path", ODD)
def test_a_plan_survives_whatever_its_path(path: str) -> None:
    cluster = FakeCluster()
    cluster.directories[100].path = path
    made = replace(plan(cluster, {100: 1}), analyzed=0.5)
    run = Manager(cluster).journal.create(made, [])
    (again,) = Manager(cluster).runs
    assert again.plan == run.plan == made
    assert again.plan.rows[0].path == path


def test_a_large_plan_is_kept_in_parts_the_mon_takes() -> None:
    cluster = FakeCluster(directories=1000)
    run = Manager(cluster).journal.create(plan(cluster, dict.fromkeys(cluster.directories, 1)), [])
    assert len(run.plan.to_json()) > 3 * PART
    assert Manager(cluster).runs[0].plan == run.plan


def test_a_creation_that_was_cut_anywhere_leaves_no_plan_and_no_key() -> None:
    for cut in itertools.count():
        cluster = FakeCluster(directories=400)
        manager = Manager(cluster)
        cluster.crash_at = cut
        try:
            manager.journal.create(plan(cluster, dict.fromkeys(cluster.directories, 1)), [])
            break
        except Crash:
            assert len(cluster.store.data) == cut
        after = Manager(cluster)
        for fscid in after.journal.behind():
            after.journal.tidy(fscid)
        assert (after.runs, after.unreadable, cluster.store.data) == ([], [], {})
        # The name can be used again, and the plan is whole.
        again = after.journal.create(plan(cluster, {100: 1}), [])
        assert Manager(cluster).runs[0].plan == again.plan
    assert cut >= 3, "a plan of several parts"


def test_a_removal_that_was_cut_anywhere_leaves_no_plan_and_no_key() -> None:
    for cut in itertools.count():
        cluster = FakeCluster()
        manager = Manager(cluster)
        run = manager.journal.create(plan(cluster, {100: 1}), [])
        manager.journal.record(run, 0, Record(INTENT, "-1", 1.0))
        cluster.crash_at = len(cluster.events) + cut
        try:
            manager.journal.unseal(run.id)
            manager.journal.sweep(run.id)
        except Crash:
            after = Manager(cluster)
            assert (len(after.runs), after.unreadable) == (1 if cut == 0 else 0, [])
            assert cut == 0 or not cluster.store.data
            continue
        assert not cluster.store.data
        return


def test_what_an_old_plan_left_behind_is_not_read_as_a_part_of_a_new_one_of_its_name() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    old = manager.journal.create(plan(cluster, {100: 1, 101: 2}), [])
    manager.journal.record(old, 0, Record(DONE, "-1", 1.0))
    manager.journal.unseal(old.id)  # and the manager dies
    fresh = manager.journal.create(plan(cluster, {100: 1}), [])
    (run,) = Manager(cluster).runs
    assert (run.id, run.head.state, run.records) == (fresh.id, READY, {})


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("body/0000", "{", "not those that were written"),
        ("body/0000", None, "body/0000"),
        ("seal", "nonsense", "JSON"),
        ("step/000007/0000000001", '{"state": "done", "old": "-1", "time": 1.0}', "record of step 7"),
        ("step/000000/0000000001", '{"strange": 1}', "strange"),
    ],
)
def test_a_plan_that_cannot_be_read_is_put_aside_and_the_others_go_on(
    part: str, value: str | None, said: str
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    bad = manager.journal.create(plan(cluster, {100: 1}, name="bad"), [])
    manager.journal.create(plan(cluster, {101: 2}, name="good"), [])
    key = f"plan/{bad.id}/{part}"
    cluster.store.data.pop(key, None)
    if value is not None:
        cluster.store.data[key] = value
    before = dict(cluster.store.data)
    after = Manager(cluster)
    assert [run.plan.name for run in after.runs] == ["good"]
    (aside,) = after.unreadable
    assert said in aside.why
    assert aside.name == ("bad" if part != "seal" else bad.id)
    assert cluster.store.data == before, "nothing of it is thrown away"


def test_what_a_replaced_manager_writes_late_is_not_read() -> None:
    cluster = FakeCluster()
    old = Manager(cluster)
    run = old.journal.create(plan(cluster, {100: 1}), [])
    old.journal.head(run, state=RUNNING)
    new = Manager(cluster)
    (mine,) = new.runs
    new.journal.head(mine, state=STOPPED)
    old.journal.head(run, state=DONE)
    old.journal.record(run, 0, Record(DONE, "-1", 1.0))
    new.journal.record(mine, 0, Record(INTENT, "-1", 2.0))
    (read,) = Manager(cluster).runs
    assert (read.head.state, read.records[0].state) == (STOPPED, INTENT)


def test_a_creation_whose_last_answer_was_lost_does_not_take_the_name() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    manager.journal.create(plan(cluster, {100: 1}), [])
    lost = dict(cluster.store.data)  # the mon had taken it, and its removal failed, too
    cluster.store.data.clear()
    second = manager.journal.create(replace(plan(cluster, {100: 2}), created=2.0), [])
    cluster.store.data |= lost
    assert [run.id for run in Manager(cluster).runs] == [second.id]


def test_a_plan_that_the_mon_refuses_leaves_nothing() -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    cluster.store.fail = True
    with pytest.raises(JournalError):
        manager.journal.create(plan(cluster, {100: 1}), [])
    assert not cluster.store.data


class Hanging:
    """A mon that does not answer the first write about a plan until it is let, and all others at once."""

    def __init__(self, cluster: FakeCluster, id_: str) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self._id, self._put, self._delete = id_, cluster.store.put, cluster.store.delete

    def put(self, key: str, value: str) -> None:
        self._wait(key)
        self._put(key, value)

    def delete(self, key: str) -> None:
        self._wait(key)
        self._delete(key)

    def _wait(self, key: str) -> None:
        if self._id in key and not self.reached.is_set():
            self.reached.set()
            assert self.go.wait(60)


def two(monkeypatch: pytest.MonkeyPatch) -> tuple[Manager, Run, Run, Hanging]:
    """Plans of two file systems; what is written next about the first one is not answered."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    one = manager.journal.create(plan(cluster, {100: 1}, name="one"), [])
    other = manager.journal.create(replace(plan(cluster, {101: 1}, name="other"), fscid=2), [])
    mon = Hanging(cluster, one.id)
    monkeypatch.setattr(cluster.store, "put", mon.put)
    monkeypatch.setattr(cluster.store, "delete", mon.delete)
    return manager, one, other, mon


@pytest.mark.parametrize("waits", ["head", "claim", "replace_head", "drop"])
@pytest.mark.parametrize("writes", ["head", "claim", "replace_head", "record"])
def test_a_write_of_one_file_systems_plan_waits_for_no_other_ones(
    monkeypatch: pytest.MonkeyPatch, waits: str, writes: str
) -> None:
    manager, one, other, mon = two(monkeypatch)

    def write(what: str, run: Run) -> None:
        {
            "head": lambda: manager.journal.head(run, state=RUNNING),
            "claim": lambda: manager.journal.claim(run),
            "replace_head": lambda: manager.journal.replace_head(run, run.head, Head(RUNNING)),
            "record": lambda: manager.journal.record(run, 0, Record(INTENT, "-1", 1.0)),
            "drop": lambda: manager.journal.drop(run.id, run.plan.fscid),
        }[what]()

    first = threading.Thread(target=write, args=(waits, one), daemon=True)
    second = threading.Thread(target=write, args=(writes, other), daemon=True)
    first.start()
    assert mon.reached.wait(60)
    second.start()
    second.join(30)
    assert not second.is_alive()
    mon.go.set()
    first.join(60)


def test_a_later_head_of_a_plan_is_not_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    manager, run, _, mon = two(monkeypatch)
    threads = []
    for state in (RUNNING, STOPPED):
        threads.append(threading.Thread(target=manager.journal.head, args=(run,), kwargs={"state": state}))
        threads[-1].start()
        assert mon.reached.wait(60)
    threads[-1].join(0.3)  # it would be there before the first
    mon.go.set()
    for thread in threads:
        thread.join(60)
    assert run.head.state == STOPPED
    (read,) = (r for r in Manager(manager.cluster).runs if r.id == run.id)
    assert read.head.state == STOPPED


def test_a_name_that_is_taken_is_refused() -> None:
    cluster = FakeCluster()
    with pytest.raises(Busy, match="'p' exists already"):
        Manager(cluster).journal.create(plan(cluster, {100: 1}), ["p"])


def test_the_ranks_that_a_plan_was_made_for_are_known_to_the_next_manager() -> None:
    cluster = FakeCluster()
    for ranks in (None, (0, 2)):
        made = replace(plan(cluster, {100: 1}, name=f"of-{ranks and len(ranks)}"), ranks=ranks)
        Manager(cluster).journal.create(made, [])
    found = {run.plan.name: run.plan.ranks for run in Manager(cluster).runs}
    assert found == {"of-None": None, "of-2": (0, 2)}


def test_a_plan_without_records_owns_nothing() -> None:
    cluster = FakeCluster()
    run = Manager(cluster).journal.create(plan(cluster, {100: 1}), [])
    assert owned_pins(steps_in_force([run], 1)) == {} and moved_at([run], 1) == {}


@pytest.mark.parametrize("name", ["", "a/b", "-x", "x" * 65, "a b", "ä"])
def test_a_bad_plan_name_is_refused(name: str) -> None:
    with pytest.raises(
        BadInput, match=r"64 ASCII letters, digits, '_', '-' and '\.', the first .* or digit$"
    ):
        check_name(name)


def test_nobody_waits_until_what_became_old_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    journal = Manager(cluster).journal
    old = [journal.create(plan(cluster, {100: 1, 101: 2}, name=f"old{i}"), []) for i in range(2)]
    other = journal.create(replace(plan(cluster, {102: 3}, name="other"), fscid=2), [])
    for run in old:
        journal.record(run, 0, Record(APPLIED, "-1", 1.0))
    made = replace(plan(cluster, {100: 1, 101: 2}, name="one"), replaces=tuple(run.id for run in old))
    one = journal.merge(made, Head(DONE), {0: Record(APPLIED, "-1", 1.0)})
    sweeping, delete = list[str](), cluster.store.delete

    def slow(key: str) -> None:
        delete(key)
        if not key.endswith("/seal") and not sweeping:
            sweeping.append(key)
            journal.record(one, 1, Record(SKIPPED, "-1", 2.0))
            journal.head(other, state=RUNNING)
            journal.create(plan(cluster, {103: 1}, name="new"), [])

    monkeypatch.setattr(cluster.store, "delete", slow)
    journal.catch_up(1)
    while 1 in journal.behind():
        journal.tidy(1)
    assert sweeping
    names = [run.plan.name for run in Manager(cluster).runs]
    assert sorted(names) == ["new", "one", "other"]
    assert not any(run.id in key for run in old for key in cluster.store.data)


def test_a_manager_that_begins_does_not_wait_until_what_another_one_left_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    journal = Manager(cluster).journal
    left = journal.create(plan(cluster, dict.fromkeys(range(100, 103), 1)), [])
    for key in range(100):
        cluster.store.put(f"plan/{left.id}/step/{key:06d}/1", "{}")
    journal.unseal(left.id)
    removed, delete = list[str](), cluster.store.delete
    monkeypatch.setattr(cluster.store, "delete", lambda key: (removed.append(key), delete(key)))
    after = Manager(cluster)
    assert not after.runs and not [key for key in removed if not key.endswith("/seal")]
    for _ in range(10):
        before = len(removed)
        for fscid in after.journal.behind():
            after.journal.tidy(fscid)
        assert len(removed) - before <= AT_ONCE
    assert not any(left.id in key for key in cluster.store.data)
    assert not after.journal.behind()


def test_of_what_was_removed_a_seal_that_comes_late_is_no_plan_anew() -> None:
    cluster = FakeCluster(directories=2 * AT_ONCE)
    journal = Manager(cluster).journal
    old = journal.create(plan(cluster, dict.fromkeys(cluster.directories, 1)), [])
    for i in range(2 * AT_ONCE):
        journal.record(old, i, Record(APPLIED, "-1", 1.0))
    journal.unseal(old.id)
    after = Manager(cluster)
    cluster.store.put(f"plan/{old.id}/seal", old.memory.seal)
    after.journal.tidy(NOBODYS)
    assert cluster.store.data and not Manager(cluster).runs


def begin(manager: Manager) -> None:
    """The plan that this manager has read is started, and one step of it is begun."""
    (run,) = manager.runs
    manager.journal.go_on(run, GoesOn(lambda: None, lambda: True, {}), state=RUNNING)
    manager.journal.record(run, 0, Record(INTENT, "-1", 1.0))


def begun(cluster: FakeCluster) -> tuple[str, set[int]]:
    """How the next manager reads it."""
    (run,) = Manager(cluster).runs
    return run.head.state, set(run.records)


def test_what_a_replaced_manager_still_removes_of_a_plan_that_the_next_one_began_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One whose creation it was not told of, and that it takes back."""
    cluster = FakeCluster()
    old, put = Manager(cluster), cluster.store.put

    def refuse(key: str) -> None:
        raise JournalError("the mon did not answer within 20 s")

    def lost(key: str, value: str) -> None:
        put(key, value)
        if key.endswith("/seal"):
            raise JournalError("no answer")

    with monkeypatch.context() as silent, pytest.raises(JournalError):
        silent.setattr(cluster.store, "put", lost)
        silent.setattr(cluster.store, "delete", refuse)
        old.journal.create(plan(cluster, {100: 1}), [])
    begin(Manager(cluster))
    old.journal.catch_up(1)
    old.journal.tidy(1)
    assert begun(cluster) == (RUNNING, {0})


def test_what_a_replaced_manager_had_found_without_its_seal_stays_when_the_next_one_began_it() -> None:
    cluster = FakeCluster()
    run = Manager(cluster).journal.create(plan(cluster, {100: 1}), [])
    cluster.store.delete(f"plan/{run.id}/seal")
    old = Manager(cluster)
    cluster.store.put(f"plan/{run.id}/seal", run.memory.seal)  # it was on its way
    begin(Manager(cluster))
    old.journal.tidy(NOBODYS)
    assert begun(cluster) == (RUNNING, {0})


def test_a_removal_that_comes_late_takes_nothing_from_what_is_begun() -> None:
    cluster = FakeCluster()
    run = Manager(cluster).journal.create(plan(cluster, {100: 1}), [])
    manager = Manager(cluster)
    cluster.store.delete(f"plan/{run.id}/seal")  # it was on its way
    begin(manager)
    assert begun(cluster) == (RUNNING, {0})


def test_what_is_removed_in_part_is_not_begun() -> None:
    cluster = FakeCluster()
    old = Manager(cluster)
    run = old.journal.create(plan(cluster, {100: 1}), [])
    manager = Manager(cluster)
    old.journal.unseal(run.id)
    old.journal.sweep(run.id)
    with pytest.raises(JournalError, match="was just removed by the manager before"):
        begin(manager)
    assert manager.runs[0].head.state == READY and not cluster.store.data


def test_of_plans_of_one_name_the_one_of_the_later_manager_counts_whatever_its_clock() -> None:
    cluster = FakeCluster()
    unsure = Manager(cluster).journal.create(replace(plan(cluster, {100: 1}), created=2.0), [])
    cluster.store.delete(f"plan/{unsure.id}/seal")
    made = Manager(cluster).journal.create(plan(cluster, {100: 1}), [])
    cluster.store.put(f"plan/{unsure.id}/seal", unsure.memory.seal)  # it was on its way
    assert [run.id for run in Manager(cluster).runs] == [made.id]


def test_what_nobody_expects_of_a_removal_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    journal = Manager(cluster).journal
    journal.drop(journal.create(plan(cluster, {100: 1}), []).id, 1)

    def broken(prefix: str) -> dict[str, str]:
        raise IndexError("a defect")

    monkeypatch.setattr(cluster.store, "items", broken)
    with pytest.raises(IndexError, match="a defect"):
        journal.tidy(1)
    journal.tidy(1)  # there is nothing left


def test_what_is_taken_back_is_so_though_the_mon_does_not_take_that_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}), [])
    before = run.head
    began = manager.journal.head(run, state=RUNNING)

    def refuse(key: str, value: str) -> None:
        raise JournalError("the mon did not answer within 20 s")

    with monkeypatch.context() as silent:
        silent.setattr(cluster.store, "put", refuse)
        manager.journal.replace_head(run, began, before)
    assert run.head == before
    manager.journal.catch_up(run.plan.fscid)
    assert Manager(cluster).runs[0].head.state == before.state


def test_a_removal_whose_answer_was_lost_is_undone_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the next manager would find a plan without a seal, and what it set could not be undone."""
    cluster = FakeCluster()
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, {100: 1}), [])
    delete = cluster.store.delete

    def lost(key: str) -> None:
        delete(key)
        raise JournalError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.store, "delete", lost)
        with pytest.raises(JournalError):
            manager.journal.forget(run)
    manager.journal.record(run, 0, Record(INTENT, "-1", 1.0))
    (known,) = Manager(cluster).runs
    assert known.plan == run.plan and known.records.keys() == {0}


def test_a_stop_is_durable_however_much_is_under_way() -> None:
    """The mon takes 64 KiB a key; what was told once is not written anew."""
    cluster = FakeCluster(directories=20_000)
    manager = Manager(cluster)
    run = manager.journal.create(plan(cluster, dict.fromkeys(cluster.directories, 1)), [])
    manager.journal.head(run, state=RUNNING)
    for i in range(len(run.plan.steps)):
        manager.journal.record(run, i, Record(INTENT, "-1", 1.0))
    confirmed = set(range(len(run.plan.steps))) - {7}
    run.memory.made.update(confirmed)
    manager.interrupt(run, state=STOPPED)
    (read,) = Manager(cluster).runs
    assert (read.head.state, read.memory.made, read.memory.told) == (STOPPED, confirmed, confirmed)
    run.memory.made.add(7)
    cluster.events.clear()
    manager.journal.keep_made(run)
    assert cluster.events == ["put made"]
    (read,) = Manager(cluster).runs
    assert read.memory.made == confirmed | {7}
