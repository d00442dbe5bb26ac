# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the schedulers remember is written for each file system by itself."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest
from scheduled import Cluster, Manager

from mds_partitioner import clock
from mds_partitioner.ceph.shared_option import SharedOption
from mds_partitioner.ceph.tick import QUICK, TICK
from mds_partitioner.errors import JournalError, Unavailable
from mds_partitioner.judge.archive import Archive
from mds_partitioner.monitor import health
from mds_partitioner.schedule.ledger import Ledger
from mds_partitioner.schedule.record import ACT, ADVISE, OFF, UNDOING, Kept
from mds_partitioner.schedule.tick_interval import AGAIN, LATE, SILENT, TickInterval

OTHER = 2
AT_LAST = 10.0  # s


def test_no_record_waits_for_another_file_systems_write(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    host: Any = cluster
    ledger = Ledger(host, logging.getLogger("test"), cluster.now)
    ledger.begin()
    watch = ledger.find(manager.fs)
    gate, reached = threading.Event(), threading.Event()
    put = cluster.store.put

    def slow(key: str, value: str) -> None:
        if f"/{manager.fs.fscid}/" in key:
            reached.set()
            gate.wait(AT_LAST)
        put(key, value)

    monkeypatch.setattr(cluster.store, "put", slow)
    stuck = threading.Thread(target=ledger.save, args=(manager.fs.fscid, watch), daemon=True)
    stuck.start()
    assert reached.wait(AT_LAST)
    other = threading.Thread(target=ledger.save, args=(OTHER, watch), daemon=True)
    other.start()
    other.join(AT_LAST / 2)
    waited = other.is_alive()
    gate.set()
    for thread in (stuck, other):
        thread.join(AT_LAST)
    assert not waited
    assert any(f"/{OTHER}/" in key for key in cluster.store.data)


def test_of_a_record_that_is_too_large_the_older_half_goes_and_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(60)
    kept = manager.scheduling.get(manager.fs)
    most = len(kept.turns) // 2
    save = Archive.save

    def small(archive: Any, fscid: int, value: Any) -> bool:
        return len(value.turns) <= most and bool(save(archive, fscid, value))

    monkeypatch.setattr(Archive, "save", small)
    manager.scheduling.stop(manager.fs, rollback=False)
    after = Manager(cluster).scheduling.get(manager.fs)
    assert after.mode == OFF and len(after.turns) <= most
    monkeypatch.setattr(Archive, "save", lambda *_: False)
    with pytest.raises(JournalError, match="too large to be kept"):
        manager.scheduling.start(manager.fs, ACT)
    assert manager.scheduling.get(manager.fs).mode == OFF


def test_a_start_that_was_told_to_have_failed_does_not_hold_after_a_fail_over() -> None:
    cluster = Cluster()
    manager = Manager(cluster)
    cluster.store.unanswered = "seal"
    with pytest.raises(JournalError):
        manager.scheduling.start(manager.fs, ACT)
    cluster.store.unanswered = ""
    assert Manager(cluster).scheduling.get(manager.fs).mode == ACT, "the mon has it"
    manager.run(15)
    assert manager.scheduling.get(manager.fs).mode == Manager(cluster).scheduling.get(manager.fs).mode == OFF


def taking_over(cluster: Cluster) -> Manager:
    """The next manager, before it has read what the last one kept."""
    manager = Manager(cluster)
    manager.ledger._watches = None
    return manager


@pytest.mark.parametrize("stops", [True, False])
def test_a_stop_that_comes_before_the_record_was_read_holds(stops: bool) -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    manager = taking_over(cluster)
    with pytest.raises(Unavailable, match="what the scheduler kept was not read yet"):
        manager.partitioner.start(manager.fs, "mine")
    assert manager.scheduling.halt(manager.fs) if stops else manager.scheduling.pause(manager.fs, None)
    with pytest.raises(JournalError, match="was not read from the mon yet"):
        manager.scheduling.keep(manager.fs)
    manager.ledger.begin()
    before = cluster.snapshot()
    manager.run(30)
    assert cluster.snapshot() == before
    for kept in (manager.scheduling.get(manager.fs), Manager(cluster).scheduling.get(manager.fs)):
        assert (kept.mode, kept.paused) == ((ADVISE, False) if stops else (ACT, True))


@pytest.mark.parametrize("mode", [ACT, ADVISE])
def test_a_scheduler_that_was_stopped_before_its_record_was_read_is_off(mode: str) -> None:
    """Also when plans were stopped after it."""
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, mode)
    manager = taking_over(cluster)
    with pytest.raises(JournalError, match="was not read from the mon yet: it is off as soon as it was"):
        manager.scheduling.stop(manager.fs, rollback=False)
    assert manager.scheduling.halt(manager.fs)
    manager.ledger.begin()
    before = cluster.snapshot()
    manager.run(30)
    assert cluster.snapshot() == before
    for known in (manager, Manager(cluster)):
        assert known.scheduling.get(manager.fs).mode == OFF


def spoil(cluster: Cluster) -> None:
    """The scheduler's record."""
    seals = [key for key in cluster.store.data if key.startswith("scheduler/") and "/seal" in key]
    cluster.store.data |= dict.fromkeys(seals, "{")


def test_what_a_replaced_manager_saves_late_does_not_hold() -> None:
    """It was suspended, say, and knows nothing of the stop."""
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    second = Manager(cluster)
    second.scheduling.stop(second.fs, rollback=False)
    first.ledger.save(1, first.ledger.find(first.fs))
    third = Manager(cluster)
    assert third.scheduling.get(third.fs).mode == OFF
    third.run(1)
    keys = [key.split("/")[2] for key in cluster.store.items("scheduler/1/")]
    assert len(keys) == 3 and keys.count("seal") == 2, "its part and the two seals"


@pytest.mark.parametrize("mode", [OFF, ACT])
def test_what_was_still_to_be_saved_when_a_manager_was_replaced_does_not_hold(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what it had saved before the rest is removed by then."""
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ADVISE)
    late: dict[str, str] = {}
    put = cluster.store.put

    def on_the_wire(key: str, value: str) -> None:
        if not key.startswith("scheduler/1/seal"):
            put(key, value)
        else:
            late[key] = value
            raise JournalError("the mon did not answer within 20 s")

    monkeypatch.setattr(cluster.store, "put", on_the_wire)
    with pytest.raises(JournalError):
        first.scheduling.start(first.fs, ACT)
    monkeypatch.undo()
    second = Manager(cluster)
    second.run(1)
    if mode == OFF:
        second.scheduling.stop(second.fs, rollback=False)
    cluster.store.data |= late
    third = Manager(cluster)
    assert third.ledger.unreadable == {}
    assert third.scheduling.get(third.fs).mode == (OFF if mode == OFF else ADVISE)


def test_a_manager_of_a_version_that_knows_one_seal_goes_on_and_so_does_the_next() -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    kept = first.scheduling.get(first.fs)
    there = dict(cluster.store.data)
    for key in [key for key in cluster.store.data if "/seal/" in key]:
        del cluster.store.data[key]
    older = Archive(cluster.store, "scheduler/", Kept)
    assert older.load() == {1: kept}
    cluster.store.data = there
    older.save(1, replace(kept, mode=OFF))
    assert not [key for key in cluster.store.data if "/seal/" in key]
    after = Manager(cluster)
    assert after.scheduling.get(after.fs).mode == OFF


def test_a_record_that_is_read_and_makes_no_sense_stops_no_other_file_systems_scheduler() -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    spoilt: Any = "soon"
    Archive(cluster.store, "scheduler/", Kept).save(1, replace(first.scheduling.get(first.fs), until=spoilt))
    after = Manager(cluster)
    assert after.ledger.read
    assert "TypeError" in after.ledger.unread(after.fs)
    with pytest.raises(JournalError, match="cannot be read: TypeError"):
        after.scheduling.get(after.fs)


@pytest.mark.parametrize(("halted", "mode"), [(False, UNDOING), (True, ADVISE)])
def test_what_is_being_undone_is_not_ended_by_a_stop_that_came_before_its_record_was_read(
    halted: bool, mode: str
) -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    first.run(60)
    first.scheduling.stop(first.fs, rollback=True)
    first.scheduling.pause(first.fs, None)
    first.scheduling.keep(first.fs)
    manager = taking_over(cluster)
    with pytest.raises(JournalError):
        manager.scheduling.stop(manager.fs, rollback=False)
    assert not halted or manager.scheduling.halt(manager.fs)
    manager.ledger.begin()
    kept = manager.scheduling.get(manager.fs)
    assert (kept.mode, kept.paused) == (mode, not halted), "nor does it go on"


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_halt_that_came_before_it_was_known_that_nothing_is_to_be_halted_is_no_failure(
    spoilt: bool,
) -> None:
    cluster = Cluster()
    if spoilt:
        first = Manager(cluster)
        first.scheduling.start(first.fs, ACT)
        spoil(cluster)
    manager = taking_over(cluster)
    assert manager.scheduling.halt(manager.fs)
    manager.ledger.begin()
    manager.scheduling.keep(manager.fs)
    assert not manager.scheduling.acting(manager.fs)
    assert bool(manager.ledger.unread(manager.fs)) == spoilt, "it is not written over"


def test_a_removed_file_system_that_cannot_be_forgotten_keeps_no_other_waiting() -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ACT)
    kept = replace(first.scheduling.get(first.fs), metadata_pool=9)
    Archive(cluster.store, "scheduler/", type(kept)).save(9, kept)
    cluster.store.refuse(1, 1)
    assert Manager(cluster).scheduling.get(first.fs).mode == ACT
    assert any(key.startswith("scheduler/9/") for key in cluster.store.data)
    Manager(cluster)
    assert not any(key.startswith("scheduler/9/") for key in cluster.store.data)


def later(cluster: Cluster, seconds: float) -> None:
    cluster.steady += seconds
    cluster.wall += seconds


def hurried(cluster: Cluster, *names: str) -> None:
    """A manager has told these MDSs to look at their pins every second, and is no more."""
    cluster.store.put("tick/1", json.dumps(names))
    cluster.hurried = dict.fromkeys(names, float(QUICK))


@pytest.mark.parametrize("mode", [OFF, ADVISE, ACT])
def test_the_next_manager_gives_back_ticks_also_where_the_last_ones_command_comes_late(mode: str) -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, mode if mode != OFF else ADVISE)
    if mode == OFF:
        first.scheduling.stop(first.fs, rollback=False)
    hurried(cluster, "m0", "m2")
    manager = Manager(cluster)
    manager.run(100)  # in which one that acts makes them short itself, and takes that back
    assert cluster.hurried == {}
    later(cluster, LATE / 2)
    cluster.hurried = {"m2": float(QUICK)}  # its host was cut off
    manager.run(40)
    assert cluster.hurried == {}
    later(cluster, LATE / 2)
    manager.run(40)
    assert cluster.store.items("tick/") == {}
    cluster.hurried = {"m2": float(QUICK)}  # by an operator
    manager.run(100)
    assert cluster.hurried == {"m2": float(QUICK)}


def test_what_is_left_of_an_mds_that_is_gone_or_began_anew_is_forgotten() -> None:
    cluster = Cluster()
    hurried(cluster, "m0", "m1", "gone")
    del cluster.hurried["m1"]
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(2)
    assert cluster.hurried == {"gone": float(QUICK)}, "it is not there"
    later(cluster, LATE)
    manager.run(40)
    assert cluster.store.items("tick/") == {}


def test_an_mds_that_hangs_holds_up_no_other_and_is_asked_again() -> None:
    host: Any = (cluster := Cluster())
    interval = TickInterval(host, cluster.now)
    cluster.silent = {"m1"}
    interval.shorten(cluster.state)
    assert set(cluster.hurried) == {"m0", "m2", "m3"}
    cluster.silent = set()
    interval.shorten(cluster.state)
    assert "m1" not in cluster.hurried, "what moves would wait for it each time"
    later(cluster, SILENT)
    interval.shorten(cluster.state)
    assert set(cluster.hurried) == {"m0", "m1", "m2", "m3"}
    told = len(cluster.events)
    interval.shorten(cluster.state)
    assert len(cluster.events) == told
    cluster.silent = {"m2"}
    interval.restore(1)
    assert set(cluster.hurried) == {"m2"} and interval.short(1)
    cluster.silent = set()
    interval.restore(1)
    assert set(cluster.hurried) == {"m2"}, "each time takes a while"
    later(cluster, AGAIN)
    interval.restore(1)
    assert not cluster.hurried and not interval.short(1)
    assert cluster.store.items("tick/") == {}


def test_who_takes_the_place_of_an_mds_is_told_too() -> None:
    host: Any = (cluster := Cluster())
    interval, first = TickInterval(host, cluster.now), cluster.state.mds[0]
    interval.shorten(cluster.state)
    cluster.state = replace(cluster.state, mds=(replace(first, name="m9"), *cluster.state.mds[1:]))
    del cluster.hurried["m0"]
    interval.shorten(cluster.state)
    assert set(cluster.hurried) == {"m1", "m2", "m3", "m9"}
    interval.restore(1)
    assert (cluster.hurried, cluster.store.items("tick/")) == ({}, {})


@pytest.mark.parametrize("taken", [False, True])
def test_nothing_is_told_before_the_mon_has_kept_whom(taken: bool) -> None:
    host: Any = (cluster := Cluster())
    interval = TickInterval(host, cluster.now)
    if taken:
        cluster.store.unanswered = "tick/"
    else:
        cluster.store.refuse(1, 1)
    with pytest.raises(JournalError):
        interval.shorten(cluster.state)
    assert not cluster.hurried and ("tick/1" in cluster.store.data) is taken
    cluster.store.unanswered = ""
    interval.restore(1)
    assert (cluster.store.items("tick/"), interval.short(1)) == ({}, False)


def test_ticks_of_a_file_system_that_was_removed_meanwhile_are_nobodys() -> None:
    cluster = Cluster()
    cluster.store.put("tick/9", '["m1"]')
    manager = Manager(cluster)
    cluster.store.refuse(1, 1)
    manager.run(1)
    assert cluster.store.items("tick/") and manager.failures["looks"] == 1
    manager.run(1)
    assert cluster.store.items("tick/") == {}


@pytest.mark.parametrize("fscid", [1, 9])
@pytest.mark.parametrize("his", ["", "3.000000"])
def test_what_an_older_version_had_set_for_all_mdss_is_put_back(fscid: int, his: str) -> None:
    """9: its file system was removed meanwhile."""
    cluster = Cluster()
    cluster.options[TICK] = "5.000000"
    host: Any = cluster
    first = Manager(cluster)
    first.scheduling.start(first.fs, ADVISE)
    SharedOption(host, TICK, f"tick/{fscid}", QUICK).take()
    assert cluster.options[TICK] == QUICK
    cluster.options[TICK] = his or QUICK
    manager = Manager(cluster)
    cluster.store.refuse(1, 1)
    manager.run(1)
    manager.run(10)
    assert cluster.options[TICK] == (his or "5.000000")
    assert not any(key.startswith("option/") for key in cluster.store.data)


def test_what_an_older_version_had_set_is_put_back_when_the_mon_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it was asked for may still come, so nobody knows what it is."""
    cluster = Cluster()
    host: Any = cluster
    SharedOption(host, TICK, "tick/1", QUICK).take()
    interval = TickInterval(host, cluster.now)
    with monkeypatch.context() as slow:
        slow.setattr(cluster, "mon_in_flight", lambda **about: about == {"who": "mds", "name": TICK})
        with pytest.raises(Unavailable, match="when the mon has answered"):
            interval.restore(1)
    interval.restore(1)
    assert (cluster.options[TICK], interval.short(1)) == ("", False)


def test_ticks_are_as_they_were_though_the_record_of_who_made_them_short_cannot_be_read() -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ADVISE)
    hurried(cluster, "m0", "m1")
    spoil(cluster)
    manager = Manager(cluster)
    with pytest.raises(JournalError, match="cannot be read: JSONDecodeError"):
        manager.scheduling.get(manager.fs)
    manager.run(1)
    assert cluster.hurried == {}


def test_a_record_that_cannot_be_read_is_told_in_health_until_the_scheduler_is_started_anew() -> None:
    cluster = Cluster()
    first = Manager(cluster)
    first.scheduling.start(first.fs, ADVISE)
    spoil(cluster)
    manager = Manager(cluster)
    ledger = manager.scheduling._ledger
    (check,) = health.unreadable([], {}, {"cephfs": ledger.unreadable[manager.fs.fscid]})
    assert check.code == health.JOURNAL and check.summary == "1 record(s) of mds_partitioner cannot be read"
    assert check.detail[0].startswith("scheduler of 'cephfs': JSONDecodeError")
    assert check.detail[0].endswith("to begin anew, run 'ceph mds_partitioner scheduler start cephfs'")
    manager.scheduling.start(manager.fs, ADVISE)
    assert ledger.unreadable == {}


@pytest.mark.parametrize("refused", [False, True])
def test_what_is_to_be_saved_while_a_record_is_written_is_saved_by_the_next(refused: bool) -> None:
    """Of a scheduler that is off nothing else saves it."""
    cluster = Cluster()
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(2)
    watch = manager.scheduling.watch(manager.fs)
    assert not watch.unsaved

    def meanwhile(event: str) -> None:
        cluster.watch = lambda _: None
        with manager.ledger.unchanged():
            watch.kept, watch.unsaved = replace(watch.kept, split=(7,)), True
        if refused:
            raise JournalError("the mon refused it")

    if refused:
        cluster.watch = meanwhile
        with pytest.raises(JournalError):
            manager.ledger.save(manager.fs.fscid, watch)
        assert watch.unsaved
        manager.scheduling.stop(manager.fs, rollback=False)
    else:
        cluster.watch = meanwhile
        manager.scheduling.stop(manager.fs, rollback=False)
        assert watch.unsaved
        manager.run(6)
    assert not watch.unsaved
    after = Manager(cluster).scheduling.get(manager.fs)
    assert (after.mode, after.split) == (OFF, (7,))


def test_a_claim_of_nobodys_keeps_no_scheduler_from_looking() -> None:
    host: Any = (cluster := Cluster())
    cluster.store.data |= {f"option/{TICK}/tick/mine": "{}", f"option/{TICK}/plan/x": "[" * 60_000}
    cluster.store.data |= {"tick/mine": "{}", "tick/1": "[" * 60_000}
    interval = TickInterval(host, clock.read)
    assert interval.restore_unwatched(())
    interval.restore(1)
    assert f"option/{TICK}/tick/mine" in cluster.store.data
