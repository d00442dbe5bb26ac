# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ceph may answer late or never: every call comes back, and what was given up is known."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import cephfs
import pytest
import rados
from fake_cluster import FakeCluster
from mgr_util import CephfsClient

from mds_partitioner.ceph import host as host_module
from mds_partitioner.ceph import mon, mounts, objects
from mds_partitioner.ceph.filesystem import PIN, FileSystem, Write
from mds_partitioner.ceph.host import Host
from mds_partitioner.ceph.own_context import OwnContext
from mds_partitioner.errors import CephError, InDoubt, JournalError, NotFound, Unavailable
from mds_partitioner.policy.beats import FELL_BACK, Fallback, fallbacks
from mds_partitioner.workers import Workers

FS = FakeCluster().state


class Gate:
    """Where a call hangs: it says that it is there, and goes on when it is let."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self.reached.set()
        assert self.open.wait(60)


class Mount:
    """libcephfs' calls on one directory; each may be held at a gate, by its name."""

    def __init__(self) -> None:
        self.fscid, self.ino = 1, 100
        self.refusal: cephfs.Error | None = None
        self.values: dict[str, str] = {}
        self.changed: list[int] = []  # inode numbers
        self.gates: dict[str, Gate] = {}
        self.calls: list[str] = []
        self.ended = threading.Semaphore(0)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.gates:
            self.gates[name].pass_through()

    def get_fscid(self) -> int:
        return self.fscid

    def statx(self, path: bytes, mask: int, flag: int) -> dict[str, int]:
        self._call("statx")
        return {"ino": self.ino}

    def open(self, path: bytes, flags: int, mode: int) -> int:
        self._call("open")
        assert flags & os.O_DIRECTORY
        return self.ino

    def fstat(self, descriptor: int) -> Any:
        self._call("fstat")
        return type("Stat", (), {"st_ino": descriptor})

    def close(self, descriptor: int) -> None:
        self.calls.append("close")
        self.ended.release()

    def fsetxattr(self, descriptor: int, name: str, value: bytes, flags: int) -> None:
        self._call("fsetxattr")
        if self.refusal is not None:
            raise self.refusal
        self.values[name] = value.decode()
        self.changed.append(descriptor)

    def sync_fs(self) -> None:
        self._call("sync_fs")


RESULT = Workers.result


class Ioctx:
    """An I/O context: reads and writes hang at the gate of their object."""

    def __init__(self, cluster: Manager) -> None:
        self._cluster = cluster

    def write_full(self, name: str, content: bytes) -> None:
        if name in self._cluster.gates:
            self._cluster.gates[name].pass_through()
        self._cluster.objects[name] = content

    def get_xattr(self, name: str, attribute: str) -> bytes:
        if name in self._cluster.gates:
            self._cluster.gates[name].pass_through()
        return self._cluster.objects[name]

    def remove_object(self, name: str) -> None:
        if name not in self._cluster.objects:
            raise rados.ObjectNotFound(name)
        del self._cluster.objects[name]


class Manager:
    """Stands for MgrModule: a mon that answers or does not, RADOS, mounts by name."""

    module_name = "mds_partitioner"
    log = logging.getLogger("test")

    def __init__(self) -> None:
        self.mounts = {"cephfs": Mount()}
        self.answers: Callable[[dict[str, Any]], tuple[int, str, str] | None] = lambda command: (0, "{}", "")
        self.unanswered: list[Any] = []
        self.sent: list[tuple[str, str]] = []
        self.gates: dict[str, Gate] = {}
        self.objects: dict[str, bytes] = {}
        self.log_last = b"[]"
        self.rados = self

    @contextmanager
    def open_ioctx2(self, pool: int) -> Iterator[Ioctx]:
        yield Ioctx(self)

    def mon_command(self, command: str, inbuf: bytes) -> tuple[int, bytes, str]:
        """As librados: in bytes, and whoever calls waits."""
        wanted = json.loads(command)
        if wanted["prefix"] in self.gates:
            self.gates[wanted["prefix"]].pass_through()
        return (0, self.log_last, "") if wanted["prefix"] == "log last" else (-22, b"", "unknown")

    def send_command(self, result: Any, kind: str, who: str, command: str, tag: str) -> None:
        wanted = json.loads(command)
        self.sent.append((threading.current_thread().name, wanted["prefix"]))
        answer = self.answers(wanted)
        if wanted["prefix"] == "log last" and not self.log_last.isascii():
            answer = None  # MonCommandCompletion::finish makes text of it, and fails
        if answer is None:
            self.unanswered.append(result)
        else:
            result.complete(*answer)


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def host(manager: Manager) -> Iterator[Host]:
    host = Host(manager, 2)
    yield host
    for gate in [*manager.gates.values(), *(g for m in manager.mounts.values() for g in m.gates.values())]:
        gate.open.set()
    host.shutdown()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[Gate], None]:
    """From now on callers give a call up when it has come to a gate."""

    def give_up_at(gate: Gate) -> None:
        def result(workers: Workers, future: Any, what: str, seconds: float, **more: Any) -> Any:
            assert gate.reached.wait(60)
            return RESULT(workers, future, what, 0.0, **more)

        monkeypatch.setattr(Workers, "result", result)

    return give_up_at


def pin(host: Host, rank: int = 2) -> None:
    host.on_fs(FS, lambda mount: mount.set_attribute("/d", 100, PIN, str(rank)), 100)


def test_a_call_given_up_while_it_opens_the_directory_sets_nothing_afterwards(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = manager.mounts["cephfs"]
    gate = mount.gates["open"] = Gate()
    with monkeypatch.context():
        impatient(gate)
        with pytest.raises(Unavailable) as caught:
            pin(host)
    assert not isinstance(caught.value, InDoubt)
    assert host.in_flight(FS.fscid, mount.ino) is None
    assert host.hangs(FS.fscid, mount.ino), "one more call would take one more thread"
    assert not host.hangs(FS.fscid, 7) and not host.hangs(9, mount.ino)
    gate.open.set()
    assert mount.ended.acquire(timeout=60)
    monkeypatch.undo()
    while host.hangs(FS.fscid, mount.ino):
        pass
    pin(host, 3)  # behind it in line, or beside it: in either case it has ended, or will set nothing
    host.shutdown()
    assert mount.values == {PIN: "3"} and mount.calls.count("fsetxattr") == 1


@pytest.mark.parametrize("where", ["fsetxattr", "sync_fs"])
def test_a_change_given_up_while_the_mds_makes_it_is_in_doubt_until_it_has_ended(
    host: Host,
    manager: Manager,
    impatient: Callable[[Gate], None],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    mount = manager.mounts["cephfs"]
    gate = mount.gates[where] = Gate()
    impatient(gate)
    with pytest.raises(InDoubt, match=r"ceph\.dir\.pin of '/d' may still become 2"):
        pin(host)
    assert host.in_flight(FS.fscid, mount.ino) == Write(mount.ino, "/d", PIN, "2")
    assert host.in_flight(FS.fscid, 7) is host.in_flight(9, mount.ino) is None
    assert not host.hangs(FS.fscid, mount.ino), "it is told by in_flight"
    gate.open.set()
    while host.in_flight(FS.fscid, mount.ino) is not None:
        pass
    assert mount.values == {PIN: "2"}


def test_what_is_not_wanted_any_more_when_the_directory_was_found_is_not_set(
    host: Host, manager: Manager
) -> None:
    mount = manager.mounts["cephfs"]
    asked: list[list[str]] = []

    def may() -> bool:
        asked.append(list(mount.calls))
        return False

    with pytest.raises(
        Unavailable, match=r"ceph\.dir\.pin of '/d' was not set: it is not as it was, or not wanted any more"
    ):
        host.on_fs(FS, lambda mount: mount.set_attribute("/d", 100, PIN, "2", may))
    assert asked == [["open", "fstat"]], "as late as can be"
    assert mount.values == {} and "fsetxattr" not in mount.calls


def test_another_directory_that_takes_the_name_at_the_last_moment_is_not_changed(
    host: Host, manager: Manager
) -> None:
    mount = manager.mounts["cephfs"]

    def may() -> bool:
        mount.ino = 200
        return True

    host.on_fs(FS, lambda mount: mount.set_attribute("/d", 100, PIN, "2", may))
    assert mount.changed == [100]
    with pytest.raises(NotFound, match="'/d' was replaced by another directory"):
        pin(host, 3)
    assert mount.changed == [100] and mount.calls.count("open") == mount.calls.count("close") == 2


def test_one_file_system_that_hangs_holds_up_no_other(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = manager.mounts["cephfs"].gates["statx"] = Gate()
    impatient(gate)
    for _ in range(mounts.THREADS):
        with pytest.raises(Unavailable, match="no answer"):
            host.on_fs(FS, lambda mount: mount.ino("/d"))
    monkeypatch.undo()
    monkeypatch.setattr(host_module, "FS_TIMEOUT", 0.0)
    with pytest.raises(Unavailable, match=f"all {mounts.THREADS} threads for libcephfs calls"):
        host.on_fs(FS, lambda mount: mount.ino("/d"))
    monkeypatch.undo()
    other = manager.mounts["other"] = Mount()
    other.fscid = 2
    assert host.on_fs(replace(FS, name="other", fscid=2), lambda mount: mount.ino("/d")) == other.ino


def test_questions_are_asked_side_by_side_and_hold_up_no_change_while_all_of_them_hang(
    host: Host, manager: Manager
) -> None:
    mount, together = manager.mounts["cephfs"], threading.Barrier(mounts.ASKERS + 1)

    def question(number: int, of: FileSystem) -> tuple[int, int]:
        together.wait(60)
        return number, of.ino("/d")

    asked = [host.begin_on_fs(FS, partial(question, number)) for number in range(mounts.ASKERS)]
    pin(host)
    assert mount.values == {PIN: "2"} and not any(future.done() for future in asked)
    together.wait(60)
    assert [future.result(60) for future in asked] == [(n, mount.ino) for n in range(mounts.ASKERS)]
    with pytest.raises(Unavailable, match="cannot mount file system 'gone'"):
        host.begin_on_fs(replace(FS, name="gone"), lambda mount: mount.ino("/d")).result(60)


def test_a_name_that_was_given_to_another_file_system_is_not_taken_for_it(
    host: Host, manager: Manager
) -> None:
    manager.mounts["cephfs"].fscid = 2
    with pytest.raises(CephError, match="'cephfs' is another file system now"):
        pin(host)
    assert manager.mounts["cephfs"].values == {}


@pytest.mark.parametrize(
    ("error", "renewed"),
    [
        *((cephfs.Error(-errno.EROFS, "refused"), False), (cephfs.Error(-errno.EINVAL, "refused"), False)),
        *((cephfs.Error(-errno.ESHUTDOWN, "evicted"), True), (cephfs.Error("in state initialized"), True)),
    ],
)
def test_a_mount_is_renewed_when_it_is_lost_and_not_when_a_change_is_refused(
    host: Host, manager: Manager, monkeypatch: pytest.MonkeyPatch, error: cephfs.Error, renewed: bool
) -> None:
    made: list[CephfsClient] = []

    def client(module: Any) -> CephfsClient:
        made.append(CephfsClient(module))
        return made[-1]

    monkeypatch.setattr(mounts, "CephfsClient", client)
    manager.mounts["cephfs"].refusal = error
    for _ in range(3):
        with pytest.raises(CephError, match=r"cannot set ceph\.dir\.pin"):
            pin(host)
    assert len(made) == (4 if renewed else 1)
    assert all(isinstance(client.mgr, OwnContext) for client in made), "their options are their own"


def test_a_mount_that_is_lost_is_unmounted_when_the_last_call_on_it_has_ended(
    host: Host, manager: Manager
) -> None:
    mount = manager.mounts["cephfs"]
    gate = mount.gates["statx"] = Gate()
    asked = host.begin_on_fs(FS, lambda mount: mount.ino("/d"))
    assert gate.reached.wait(60)
    lost = host._mounts._mounted[FS.fscid].client
    mount.refusal = cephfs.Error(-errno.ESHUTDOWN, "evicted")
    with pytest.raises(CephError, match=r"cannot set ceph\.dir\.pin"):
        pin(host)
    assert host._mounts._mounted[FS.fscid].client is not lost and not lost.unmounted.is_set()
    gate.open.set()
    asked.result(60)
    assert lost.unmounted.wait(60)


def test_when_the_module_ends_a_mount_goes_when_its_last_call_has_ended(host: Host, manager: Manager) -> None:
    gate = manager.mounts["cephfs"].gates["statx"] = Gate()
    asked = host.begin_on_fs(FS, lambda mount: mount.ino("/d"))
    assert gate.reached.wait(60)
    client = host._mounts._mounted[FS.fscid].client
    leaving = threading.Thread(target=host.shutdown)
    leaving.start()
    gate.open.set()
    asked.result(60)
    leaving.join(60)
    assert client.unmounted.is_set()


def test_a_file_system_that_cannot_be_mounted_is_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="cannot mount file system 'gone'"):
        host.on_fs(replace(FS, name="gone"), lambda mount: mount.ino("/d"))

    def refused(*_: Any) -> Any:
        raise rados.Error("no monitor answers")

    monkeypatch.setattr(mounts, "open_filesystem", refused)
    with pytest.raises(Unavailable, match="file system 'cephfs': no monitor answers"):
        host.on_fs(FS, lambda mount: mount.ino("/d"))


def test_a_rados_write_that_hangs_comes_back_and_holds_up_neither_the_mon_nor_other_objects(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = manager.gates["o"] = Gate()
    impatient(gate)
    with pytest.raises(InDoubt, match="object 'o' in pool 3: no answer"):
        host.write_object(3, "o", "old")
    monkeypatch.undo()
    for call in (lambda: host.write_object(3, "o", "new"), lambda: host.remove_object(3, "o")):
        with pytest.raises(InDoubt, match="an earlier write was not answered yet"):
            call()
    host.write_object(3, "p", "text")
    host.store.put("key", "value")
    gate.open.set()
    while True:
        try:
            host.write_object(3, "o", "new")
            break
        except InDoubt:
            continue  # the thread is on its way back
    assert manager.objects == {"o": b"new", "p": b"text"}
    host.remove_object(3, "o")
    host.remove_object(3, "o")


def test_when_too_many_rados_writes_hang_the_next_is_not_begun(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(objects.WRITERS):
        gate = manager.gates[f"o{i}"] = Gate()
        impatient(gate)
        with pytest.raises(InDoubt):
            host.write_object(3, f"o{i}", "")
    monkeypatch.undo()
    monkeypatch.setattr(objects, "RADOS_TIMEOUT", 0.0)
    for _ in range(2):
        with pytest.raises(Unavailable, match="all 4 threads for RADOS writes wait") as caught:
            host.write_object(3, "next", "")
        assert not isinstance(caught.value, InDoubt)
    for gate in manager.gates.values():
        gate.open.set()
    monkeypatch.undo()
    host.write_object(3, "next", "made")
    assert manager.objects["next"] == b"made"


@pytest.mark.parametrize("writes", [True, False])
def test_a_pool_whose_objects_hang_holds_up_no_other(
    host: Host,
    manager: Manager,
    impatient: Callable[[Gate], None],
    monkeypatch: pytest.MonkeyPatch,
    writes: bool,
) -> None:
    use = host.write_object if writes else host.object_attribute
    manager.objects["o"] = b"here"
    for i in range(objects.READERS):
        gate = manager.gates[f"o{i}"] = Gate()
        impatient(gate)
        with pytest.raises(Unavailable, match="no answer"):
            use(3, f"o{i}", "")
    monkeypatch.undo()
    if writes:
        host.write_object(4, "o", "there")
    assert host.object_attribute(4, "o", "parent") == (b"there" if writes else b"here")


def test_an_object_whose_read_hangs_takes_one_thread(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.objects |= {"o": b"1", "p": b"2"}
    gate = manager.gates["o"] = Gate()
    impatient(gate)
    with pytest.raises(Unavailable, match="object 'o' in pool 3: no answer"):
        host.object_attribute(3, "o", "parent")
    monkeypatch.undo()
    for _ in range(objects.READERS):
        with pytest.raises(Unavailable, match="an earlier read was not answered yet"):
            host.object_attribute(3, "o", "parent")
    assert host.object_attribute(3, "p", "parent") == b"2"
    gate.open.set()
    while True:
        try:
            assert host.object_attribute(3, "o", "parent") == b"1"
            break
        except Unavailable:
            continue  # the thread is on its way back


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_mon_that_does_not_answer_is_given_up_and_its_threads_are_free(
    host: Host, manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(mon, "time", clock)

    def silent(command: dict[str, Any]) -> None:
        clock.now += mon.MON_TIMEOUT

    manager.answers = silent
    for _ in range(2 * mon.SENDERS):
        with pytest.raises(InDoubt, match="the mon did not answer 'fs set' within 20 s"):
            host.mon("fs set", fs_name="cephfs", var="balancer", val="x")
        with pytest.raises(JournalError, match="the mon did not answer 'config-key set'"):
            host.store.put("key", "value")
    manager.answers = lambda command: (0, '{"mgr/mds_partitioner/key": "value"}', "")
    assert host.store.items("key") == {"key": "value"}
    about = {"prefix": "fs set", "fs_name": "cephfs", "var": "balancer"}
    assert host.mon_in_flight(**about) and not host.mon_in_flight(**about | {"fs_name": "other"})
    for late in manager.unanswered:
        late.complete(0, "", "")
    assert not host.mon_in_flight(**about)


def test_names_that_are_not_utf8_in_the_clusters_log_hide_no_fallback(host: Host, manager: Manager) -> None:
    told = {"name": "mds.a", "stamp": "2026-11-21T10:00:00.000000+0000"}
    slow = told | {"message": "slow request 31 s old: lookup #0x1/cafE"}
    fell = told | {"message": f"{FELL_BACK} balancer=o : boom"}
    manager.log_last = json.dumps([slow, fell]).encode().replace(b"cafE", b"caf\xff")
    assert fallbacks(host, frozenset({"o"}), 0.0) == [Fallback("mds.a", "boom")]


def test_a_question_that_the_mon_does_not_answer_is_given_up(
    host: Host, manager: Manager, impatient: Callable[[Gate], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = manager.gates["log last"] = Gate()
    with monkeypatch.context():
        impatient(gate)
        with pytest.raises(Unavailable, match="the mon and 'log last': no answer"):
            host.ask_mon("log last")
    monkeypatch.undo()
    assert host.mon("osd ls") == "{}", "commands have threads of their own"
    with pytest.raises(CephError, match="'osd foo' failed: unknown"):
        host.ask_mon("osd foo")


def test_the_mon_is_asked_for_an_option_of_one_mds_or_of_all(host: Host, manager: Manager) -> None:
    manager.answers = lambda command: (0, json.dumps([command[key] for key in ("prefix", "who", "key")]), "")
    assert host.config("opt") == ["config get", "mds", "opt"]
    assert host.config("opt", "a") == ["config get", "mds.a", "opt"]


def test_what_the_mon_refuses_comes_with_its_words(host: Host, manager: Manager) -> None:
    manager.answers = lambda command: (-2, "", "no such thing")
    with pytest.raises(CephError, match="'fs set' failed: no such thing"):
        host.mon("fs set")
    with pytest.raises(JournalError, match="the mon refused 'config-key set': no such thing"):
        host.store.put("key", "value")


def test_commands_are_sent_from_threads_that_stay(host: Host, manager: Manager) -> None:
    """Reef's manager dies of an answer to a thread that has ended."""
    caller = threading.Thread(target=lambda: [host.mon("osd ls"), host.tell(FS, "a", "get subtrees")])
    caller.start()
    caller.join(60)
    senders = [name for name, _ in manager.sent]
    alive = {thread.name for thread in threading.enumerate()}
    assert len(senders) == 2 and set(senders) <= alive and caller.name not in senders


def test_mdss_that_hang_take_no_thread_from_another_file_system(host: Host, manager: Manager) -> None:
    gate = manager.gates["session ls"] = Gate()

    def answers(command: dict[str, Any]) -> tuple[int, str, str]:
        if command["prefix"] == "session ls":
            gate.pass_through()
        return 0, "[]", ""

    manager.answers = answers
    hung = threading.Thread(target=host.tell_each, args=(FS, ["a", "b", "c"], "session ls"))
    hung.start()
    assert gate.reached.wait(60)
    other = replace(FS, name="other", fscid=FS.fscid + 1)
    assert host.tell_each(other, ["d"], "get subtrees") == {"d": []}
    gate.open.set()
    hung.join(60)


def test_what_has_other_pools_under_the_same_id_is_mounted_anew(host: Host) -> None:
    host.on_fs(FS, lambda mount: mount.ino("/d"))
    first = host._mounts._mounted[FS.fscid].client
    host.on_fs(replace(FS, metadata_pool=30), lambda mount: mount.ino("/d"))
    assert first.unmounted.wait(60) and host._mounts._mounted[FS.fscid].client is not first


def test_of_a_removed_file_system_nothing_stays_mounted_and_its_threads_serve_others(
    host: Host, manager: Manager
) -> None:
    manager.mounts["other"], other = Mount(), replace(FS, fscid=2, name="other")
    manager.mounts["other"].fscid = 2
    for fs in (FS, other):
        host.on_fs(fs, lambda mount: mount.ino("/d"))
        host.tell_each(fs, ["a"], "status")
    (first,) = (m.client for i, m in host._mounts._mounted.items() if i == FS.fscid)
    threads = host._tells[FS.fscid]
    manager.mounts["cephfs"].gates["statx"] = gate = Gate()
    asked = host.begin_on_fs(FS, lambda mount: mount.ino("/d"))
    assert gate.reached.wait(60)
    host.forget_all_but({2})
    assert not first.unmounted.is_set(), "a call is under way"
    gate.open.set()
    asked.result(60)
    while host._mounts._mounted[FS.fscid].attempts:
        pass
    host.forget_all_but({2})
    assert first.unmounted.wait(60) and host._mounts._mounted.keys() == {2}
    again = replace(FS, fscid=3, name="again")
    host.tell_each(again, ["a"], "status")
    assert host._tells[3] is threads and host._spare == []
