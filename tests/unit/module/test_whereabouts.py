# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a directory is: in an MDS's cache, or by the backtraces in the metadata pool."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cluster import FakeCluster

from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.observe.backtrace import Parent, object_of, parse_backtrace
from mds_partitioner.verify.whereabouts import MdsWhereabouts

DIRECTORY, PARENT, STRAY = (1 << 40) + 7, (1 << 40) + 1, 0x600


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
        self.paths: dict[str, int] = {}
        self.silent: set[str] = set()

    def tell_each(self, fs: Any, names: list[str], prefix: str, *, number: int) -> dict[str, Any]:
        assert prefix == "dump inode"
        has = {"path": self.cached[number]} if number in self.cached else CephError("it is not cached", 2)
        answers: dict[str, Any] = dict.fromkeys(names, CephError("it is not cached", 2))
        answers |= dict.fromkeys(names[:1], has)
        return answers | {name: Unavailable(f"mds.{name} did not answer") for name in self.silent}

    def object_attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        assert (pool, attribute) == (9, "parent")
        return self.objects.get(name)

    def on_fs(self, fs: Any, call: Any, ino: int) -> Any:
        outer = self

        class Mount:
            def ino(self, path: str) -> int:
                return outer.paths[path]

        return call(Mount())


@pytest.fixture
def ceph() -> Ceph:
    return Ceph()


def path_of(ceph: Ceph, ino: int = DIRECTORY) -> str | None:
    fs = replace(FakeCluster(ranks=2).state, metadata_pool=9)
    return MdsWhereabouts(ceph).path_of(fs, ino)


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
    return MdsWhereabouts(ceph).deleted(replace(FakeCluster(ranks=2).state, metadata_pool=9), DIRECTORY)


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
