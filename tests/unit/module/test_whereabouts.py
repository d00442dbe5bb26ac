# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a directory is: in an MDS's cache, or by the backtraces in the metadata pool."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cluster import FakeCluster, ended

from mds_partitioner.errors import CephError, NotFound, Unavailable
from mds_partitioner.observe.backtrace import Parent, object_of, parse_backtrace
from mds_partitioner.verify import whereabouts
from mds_partitioner.verify.whereabouts import MdsWhereabouts

DIRECTORY, PARENT, STRAY = (1 << 40) + 7, (1 << 40) + 1, 0x600
FS = replace(FakeCluster(ranks=2).state, metadata_pool=9)


def backtrace(ino: int, *ancestors: tuple[int, bytes]) -> bytes:
    """inode_backtrace_t, version 5."""
    body = struct.pack("<QI", ino, len(ancestors))
    for parent, name in ancestors:
        pointer = struct.pack("<QI", parent, len(name)) + name + struct.pack("<Q", 3)
        body += struct.pack("<BBI", 2, 2, len(pointer)) + pointer
    body += struct.pack("<qI", 1, 0)
    return struct.pack("<BBI", 5, 4, len(body)) + body


class Ceph:
    """Host: two MDSs, one of which may be silent, and a metadata pool."""

    def __init__(self) -> None:
        self.cached: dict[int, str] = {}
        self.objects: dict[str, bytes] = {}
        self.paths: dict[str, int] = {"/": 1}
        self.silent: set[str] = set()
        self.asked: list[object] = []
        self.then: dict[tuple[object, int], Callable[[], Any]] = {}  # what happens after the nth time

    def _answered(self, question: object) -> None:
        self.asked.append(question)
        self.then.get((question, self.asked.count(question)), lambda: None)()

    def tell_each(self, fs: Any, names: list[str], prefix: str, *, number: int) -> dict[str, Any]:
        assert prefix == "dump inode"
        has = {"path": self.cached[number]} if number in self.cached else CephError("it is not cached", 2)
        answers: dict[str, Any] = dict.fromkeys(names, CephError("it is not cached", 2))
        answers |= dict.fromkeys(names[:1], has)
        answers |= {name: Unavailable(f"mds.{name} did not answer") for name in self.silent}
        self._answered(number)
        return answers

    def object_attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        assert (pool, attribute) == (9, "parent")
        found = self.objects.get(name)
        self._answered(name)
        return found

    def on_fs(self, fs: Any, call: Any, ino: int) -> Any:
        outer = self

        class Mount:
            def ino(self, path: str) -> int:
                found = outer.paths.get(path)
                outer._answered(path)
                if found is None:
                    raise NotFound(f"cannot stat {path!r}")
                return found

        return call(Mount())

    def begin_on_fs(self, fs: Any, question: Any) -> Future[Any]:
        return ended(lambda: self.on_fs(fs, question, 0))


@pytest.fixture
def ceph() -> Ceph:
    return Ceph()


def path_of(ceph: Ceph, ino: int = DIRECTORY) -> str | None:
    return MdsWhereabouts(ceph).path_of(FS, ino)


def test_a_directory_is_where_an_mds_has_it(ceph: Ceph) -> None:
    ceph.cached[DIRECTORY], ceph.paths["/new name"] = "/new name", DIRECTORY
    assert path_of(ceph) == "/new name"


def test_what_no_mds_has_in_cache_is_found_by_its_backtrace(ceph: Ceph) -> None:
    # The parent was renamed since: the directory's own backtrace names it by its old name.
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (PARENT, b"caf\xff"), (1, b"old"))
    ceph.objects[object_of(PARENT)] = backtrace(PARENT, (1, b"new"))
    ceph.paths["/new/caf\udcff"] = DIRECTORY
    assert path_of(ceph) == "/new/caf\udcff"


def test_backtraces_that_name_each_other_are_told(ceph: Ceph) -> None:
    """As after a repair: it must not be looked for without end."""
    ceph.objects = {
        object_of(DIRECTORY): backtrace(DIRECTORY, (PARENT, b"d")),
        object_of(PARENT): backtrace(PARENT, (DIRECTORY, b"p")),
    }
    with pytest.raises(CephError, match="backtraces of 0x10000000007 and of what it is in name each other"):
        path_of(ceph)


def test_a_parent_in_cache_is_believed_before_its_backtrace(ceph: Ceph) -> None:
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (PARENT, b"d"))
    ceph.objects[object_of(PARENT)] = backtrace(PARENT, (1, b"old"))
    ceph.cached[PARENT], ceph.paths["/new/d"] = "/new", DIRECTORY
    assert path_of(ceph) == "/new/d"


def test_what_was_deleted_is_nowhere(ceph: Ceph) -> None:
    assert path_of(ceph) is None, "purged"
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (STRAY, b"10000000007"), (0x100, b"stray0"))
    assert path_of(ceph) is None, "not purged yet"
    ceph.cached[DIRECTORY] = "~mds0/stray0/10000000007"
    assert path_of(ceph) is None, "still open somewhere"
    for trash in ("/volumes/_deleting/x", "/volumes/g/sv/.trash/3f1c", "/volumes/g/sv/.trash/3f1c/data"):
        ceph.cached[DIRECTORY] = trash
        assert path_of(ceph) is None, "in the volumes module's trash; the other one is what has snapshots"


def deleted(ceph: Any) -> bool:
    return MdsWhereabouts(ceph).deleted(FS, DIRECTORY)


def test_only_what_is_gone_for_good_was_deleted(ceph: Ceph) -> None:
    assert deleted(ceph), "purged"
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (STRAY, b"10000000007"), (0x100, b"stray0"))
    assert deleted(ceph), "not purged yet"
    ceph.cached[DIRECTORY] = "~mds0/stray0/10000000007"
    assert deleted(ceph), "still open somewhere"
    ceph.cached[DIRECTORY] = "/volumes/_deleting/x"
    assert not deleted(ceph), "in the volumes module's trash"
    ceph.cached[DIRECTORY] = "/renamed"
    assert not deleted(ceph), "as an MDS has it that has not written it yet"
    ceph.cached.clear()
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (PARENT, b"d"))
    ceph.silent.update(("m0", "m1"))
    assert not deleted(ceph), "it has a backtrace: no MDS has to be asked"
    ceph.objects.clear()
    with pytest.raises(Unavailable, match="not every MDS says"):
        deleted(ceph)


def vanished(ceph: Any) -> bool:
    return MdsWhereabouts(ceph).vanished(FS, DIRECTORY)


@pytest.fixture
def unpurged(ceph: Ceph) -> Ceph:
    """/top/d was deleted, and the purge queue has not come to it: its backtrace is as it was."""
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (PARENT, b"d"), (1, b"top"))
    ceph.objects[object_of(PARENT)] = backtrace(PARENT, (1, b"top"))
    ceph.paths["/top"] = PARENT
    return ceph


def test_what_is_still_to_be_purged_is_nowhere(unpurged: Ceph) -> None:
    assert path_of(unpurged) is None and vanished(unpurged)
    assert not deleted(unpurged), "for which no MDS is asked"
    unpurged.cached[PARENT] = "/renamed"
    unpurged.paths = {"/": 1, "/renamed": PARENT}
    assert path_of(unpurged) is None and vanished(unpurged), "in a parent that an MDS has elsewhere"
    unpurged.paths["/renamed/d"] = DIRECTORY + 1
    assert path_of(unpurged) is None and vanished(unpurged), "another one has its name"
    unpurged.paths["/renamed/d"] = DIRECTORY
    assert path_of(unpurged) == "/renamed/d" and not vanished(unpurged), "it is there, and nobody has used it"
    unpurged.cached[DIRECTORY] = "/elsewhere"
    assert not vanished(unpurged), "an MDS has it"


@pytest.mark.parametrize("again", [{}, {"/top": PARENT + 1}, {"/top": PARENT + 1, "/top/d": DIRECTORY + 1}])
def test_what_is_still_to_be_purged_with_what_it_was_in_is_nowhere(
    unpurged: Ceph, again: dict[str, int]
) -> None:
    """Whether others have the names since or not."""
    unpurged.paths = {"/": 1, **again}
    assert path_of(unpurged) is None and vanished(unpurged)
    unpurged.objects.pop(object_of(PARENT))
    assert path_of(unpurged) is None and vanished(unpurged), "the parent is purged"
    unpurged.cached[PARENT] = "~mds0/stray3/10000000001"
    assert path_of(unpurged) is None and vanished(unpurged), "the parent is in an MDS's cache"


def cached(ceph: Ceph) -> None:
    """It is renamed."""
    ceph.cached[DIRECTORY] = "/new"
    ceph.paths |= {"/new": DIRECTORY}
    ceph.paths.pop("/top/d")


def written(ceph: Ceph) -> None:
    """The same, and that is written, and it is in no cache any more."""
    cached(ceph)
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (1, b"new"))
    del ceph.cached[DIRECTORY]


def parent_cached(ceph: Ceph) -> None:
    """What it is in is renamed."""
    ceph.cached[PARENT] = "/renamed"
    ceph.paths = {"/": 1, "/renamed": PARENT, "/renamed/d": DIRECTORY}


def parent_replaced(ceph: Ceph) -> None:
    """The same, and another one has its name."""
    parent_cached(ceph)
    ceph.paths["/top"] = PARENT + 1


def moved_out(ceph: Ceph) -> None:
    """It is moved out of what it is in, and that is deleted."""
    cached(ceph)
    ceph.cached.pop(PARENT, None)
    del ceph.objects[object_of(PARENT)]
    ceph.paths.pop("/top")


def silent(ceph: Ceph) -> None:
    """It is renamed, and the MDS that knows it says nothing."""
    cached(ceph)
    del ceph.cached[DIRECTORY]
    ceph.silent.add("m1")


@pytest.fixture
def unused(unpurged: Ceph) -> Ceph:
    """/top/d is there, and in no MDS's cache."""
    unpurged.paths["/top/d"] = DIRECTORY
    return unpurged


ASKED_FIRST = [DIRECTORY, object_of(DIRECTORY), PARENT, object_of(PARENT), "/top/d"]


@pytest.mark.parametrize("ask", [path_of, vanished])
@pytest.mark.parametrize("after", ASKED_FIRST)
@pytest.mark.parametrize("happens", [cached, written, parent_cached, parent_replaced, moved_out, silent])
def test_what_is_renamed_between_two_looks_is_not_deleted(
    unused: Ceph, ask: Callable[[Ceph], object], after: object, happens: Callable[[Ceph], None]
) -> None:
    unused.then = {(after, 1): lambda: happens(unused)}
    try:
        found = ask(unused)
    except Unavailable:
        found = "in doubt"
    where = ("/top/d", "/renamed/d", "/new") if ask is path_of else (False,)
    assert found in (*where, "in doubt")
    assert after in unused.asked


def test_a_parent_that_is_renamed_while_it_is_looked_into_took_all_along(unused: Ceph) -> None:
    unused.paths.pop("/top/d")
    unused.then = {("/top", 1): lambda: parent_replaced(unused)}
    with pytest.raises(Unavailable, match="'/top/d' is being renamed"):
        path_of(unused)


def test_what_is_moved_out_of_a_renamed_parent_is_seen_though_that_is_deleted_at_once(unused: Ceph) -> None:
    """The parent's backtrace stays as it was before both."""

    def parent_deleted() -> None:
        cached(unused)
        del unused.cached[PARENT]

    def renamed() -> None:
        parent_cached(unused)
        unused.paths["/top/d"] = 0

    unused.then = {(object_of(PARENT), 1): renamed, (DIRECTORY, 2): parent_deleted}
    with pytest.raises(Unavailable, match="'/top/d' is being renamed"):
        path_of(unused)


def test_the_scheduler_does_not_wait_for_a_mount(unpurged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whereabouts, "PATIENCE", 0.0)
    questions: list[Future[Any]] = []

    def hangs(*_: object) -> Future[Any]:
        question: Future[Any] = Future()
        question.set_running_or_notify_cancel()
        questions.append(question)
        return question

    monkeypatch.setattr(unpurged, "begin_on_fs", hangs)
    where = MdsWhereabouts(unpurged)

    def begun() -> int:
        with pytest.raises(Unavailable, match="do not tell what is there"):
            where.vanished(FS, DIRECTORY)
        return len(questions)

    assert (begun(), begun()) == (1, 1), "each has a thread until it is answered"
    questions[0].set_result(())
    assert begun() == 2


def test_silence_is_not_deletion(ceph: Ceph) -> None:
    ceph.silent.add("m1")
    with pytest.raises(Unavailable, match=r"not every MDS says where it is: mds\.m1"):
        path_of(ceph)
    ceph.cached[DIRECTORY], ceph.paths["/here"] = "/here", DIRECTORY
    assert path_of(ceph) == "/here", "another one knows"


@pytest.mark.parametrize("away", [{"failed": (1,)}, {"mds": ()}])
def test_a_rank_without_an_mds_may_have_it(ceph: Ceph, away: dict[str, Any]) -> None:
    """Of a new directory there is no backtrace yet."""
    fs = replace(FakeCluster(ranks=2).state, metadata_pool=9, **away)
    for ask in (MdsWhereabouts(ceph).deleted, MdsWhereabouts(ceph).path_of):
        with pytest.raises(Unavailable, match="not every MDS says where it is: rank"):
            ask(fs, DIRECTORY)


def test_an_mds_that_fails_has_not_said_that_it_does_not_know(ceph: Ceph, monkeypatch: Any) -> None:
    said: dict[str, Any] = {"m0": None, "m1": CephError("mds.m1: dump inode: I am not active", errno.EAGAIN)}
    monkeypatch.setattr(ceph, "tell_each", lambda *_, **__: said)
    with pytest.raises(Unavailable, match=r"not every MDS says where it is: mds\.m1"):
        path_of(ceph)
    said["m1"] = None
    assert path_of(ceph) is None, "an answer without a path is one"


def test_a_path_that_is_another_directorys_by_now_is_not_told(ceph: Ceph) -> None:
    ceph.cached[DIRECTORY], ceph.paths["/d"] = "/d", DIRECTORY + 1
    with pytest.raises(Unavailable, match="being renamed"):
        path_of(ceph)


@pytest.mark.parametrize("cut", [0, 5, 17, 30])
def test_a_backtrace_that_is_cut_short_is_refused(cut: int) -> None:
    whole = backtrace(DIRECTORY, (PARENT, b"name"))
    assert parse_backtrace(whole) == Parent(PARENT, b"name")
    with pytest.raises(ValueError, match="cut short"):
        parse_backtrace(whole[:cut])


@pytest.mark.parametrize("ask", [path_of, deleted])
def test_who_has_a_backtrace_that_cannot_be_read_is_not_found_and_not_deleted(
    ceph: Ceph, ask: Callable[[Ceph], object]
) -> None:
    ceph.objects[object_of(DIRECTORY)] = backtrace(DIRECTORY, (PARENT, b"name"))[:17]
    with pytest.raises(CephError, match="where it is cannot be read: a backtrace that is cut short"):
        ask(ceph)


def fragment(auth: bool, items: int = 1) -> dict[str, Any]:
    """As ``dump dir`` has it: what an MDS has something of holds it."""
    return {"is_auth": auth, "pins": {"child": items, "authpin": 0} if items else {"authpin": 0}}


UNOPENED = {"status": "dirfrag not in cache"}
ASKED: Any = "nobody"


@pytest.mark.parametrize(
    ("here", "elsewhere", "there"),
    [
        ([fragment(True), fragment(True)], ASKED, True),
        ([fragment(True), fragment(False)], [fragment(False), fragment(True)], False),
        ([fragment(True), UNOPENED], [fragment(False), fragment(True)], False),
        ([fragment(True), UNOPENED], [fragment(False), UNOPENED], True),
        ([fragment(True), UNOPENED], None, True),
        ([fragment(True), UNOPENED], [fragment(False), fragment(True, items=0)], True),
        ([fragment(True), UNOPENED], Unavailable("mds.b did not answer"), False),
        ([UNOPENED, UNOPENED], None, False),
        (None, None, False),
    ],
)
def test_a_directory_is_on_a_rank_when_no_other_has_anything_of_it(
    here: Any, elsewhere: Any, there: bool
) -> None:
    def each(fs: Any, names: list[str], prefix: str, path: str) -> dict[str, Any]:
        assert elsewhere is not ASKED
        assert "m1" not in names
        return {names[0]: elsewhere}

    host: Any = SimpleNamespace(tell=lambda fs, mds, prefix, path: here, tell_each=each)
    assert MdsWhereabouts(host).there(FakeCluster().state, "/a", 1) is there
