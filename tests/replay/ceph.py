# SPDX-License-Identifier: LGPL-2.1-or-later
"""A manager's eyes and hands, as ceph/host.py and ceph/filesystem.py are. Each call is I/O that may fail."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from mds_partitioner.ceph.filesystem import Write
from mds_partitioner.errors import CephError, InDoubt, JournalError, NotFound, PartitionerError, Unavailable
from mds_partitioner.model import FsState, HealthCheck
from mds_partitioner.verify.whereabouts import ROOT

from .fake_cluster import Directory, FakeCluster, FileSystem, Target
from .script import AFTER, BEFORE, FAIL, LATE, LOST, TAKEOVER, Script

T = TypeVar("T")
KINDS = {"ceph.dir.pin": "pin", "ceph.dir.bal.mask": "mask", "ceph.dir.pin.distributed": "distributed"}
CONFIG = {
    "mds_bal_export_pin": True,
    "mds_export_ephemeral_distributed": True,
    "mds_export_ephemeral_distributed_factor": 2.0,
}
LATE_BY = (3, 12, 60, 1 << 40)  # I/Os until a change lands that was given up; the last: when all is calm


class Crash(BaseException):
    """The manager dies here."""


class Ceph:
    """What one manager sees and does; ``incarnation`` tells managers apart."""

    def __init__(self, cluster: FakeCluster, script: Script) -> None:
        self.cluster, self.script = cluster, script
        self._me = cluster.incarnation
        self.store = Keys(self)
        self._flying: list[tuple[int, Target, Callable[[], None]]] = []
        self._looked: dict[Target, str | None] = {}
        self.between: Callable[[str], None] = lambda label: None  # what others do at this moment

    def incarnation(self) -> int:
        """Host.incarnation."""
        return self._me

    @property
    def fenced(self) -> bool:
        """Another manager is active: the mon has blocklisted this one's clients."""
        return self._me != self.cluster.incarnation

    def io(
        self, label: str, apply: Callable[[], T], error: type[PartitionerError], target: Target | None = None
    ) -> T:
        """One I/O. ``target``: what it changes, if that is no journal record."""
        if self.fenced:
            return self._of_a_zombie(apply, error, target)
        at, fault = self.script.next(label)
        self._land(at)
        self.between(label)
        if fault in (BEFORE, TAKEOVER):
            if fault == TAKEOVER:
                writes = label.startswith(("put", "delete"))
                self.script.pending = apply if writes else lambda: None
            raise Crash
        if fault == FAIL:
            raise error(f"{label}: refused")
        if fault == LATE and target is not None:
            self._flying.append((at + LATE_BY[at % 4], target, lambda: self._checked(target, apply)))
            raise InDoubt(f"{label}: no answer")
        answer = self._checked(target, apply)
        if fault == AFTER:
            raise Crash
        if fault in (LOST, LATE):
            raise error(f"{label}: no answer")
        return answer

    def _of_a_zombie(self, apply: Callable[[], T], error: type[PartitionerError], target: Target | None) -> T:
        if target is not None:
            raise error("blocklisted")
        return apply()

    def _land(self, at: int) -> None:
        due = [f for f in self._flying if f[0] <= at]
        self._flying = [f for f in self._flying if f[0] > at]
        for _, target, apply in due:
            if self.cluster.value(target) is not None:
                apply()

    def land_all(self) -> None:
        """Every change that was given up is made now."""
        self._land(1 << 60)

    def in_flight(self, fscid: int, ino: int) -> Write | None:
        """Host.in_flight."""
        for _, target, _ in self._flying:
            if target[1:] == (fscid, ino):
                return Write(ino, "", target[0], "")
        return None

    def hangs(self, fscid: int, ino: int) -> bool:
        """Host.hangs: only changes are given up."""
        return False

    def mon_in_flight(self, **arguments: str) -> bool:
        """Host.mon_in_flight."""
        names = (arguments.get("var"), arguments.get("name"))
        return any(target[0] in ("fs", "config") and target[2] in names for _, target, _ in self._flying)

    def _checked(self, target: Target | None, apply: Callable[[], T]) -> T:
        """Make a change, and look whether it may be made."""
        if target is None:
            return apply()
        before, held = self.cluster.value(target), self.cluster.held[target]
        if before is None:
            raise CephError(f"{target} does not exist any more", 2)
        raced = self._looked.get(target, before) != before
        if not self._journaled(target, before) and not raced:
            self.cluster.violations.append(f"{target} was changed from {before}, which is not in the journal")
        answer = apply()
        held.raced = held.raced or raced
        return answer

    def _journaled(self, target: Target, value: str | None) -> bool:
        """Does a durable record of a step about this target allow to replace this value?"""
        for step, record in self.script.records(self.cluster.store, target):
            if record["state"] in ("intent", "undoing"):
                known = (record["old"], step.value, str(step.home))
                if value in known:
                    return True
        kind, _, name = target
        return kind == "config" and value in self._claimed(str(name))

    def _claimed(self, option: str) -> list[str]:
        """What durable claims on an option are to put back."""
        claims = (v for k, v in self.cluster.store.items() if k.startswith(f"option/{option}/"))
        return [json.loads(claim)["old"] for claim in claims]

    def look(self, target: Target) -> str | None:
        """Read a value; what is written next is decided on it."""
        self._looked[target] = self.cluster.value(target)
        return self._looked[target]

    # Host

    def file_systems(self) -> list[FsState]:
        """Host.file_systems: the manager's own copy of the FSMap."""
        return [fs.state() for fs in self.cluster.filesystems.values()]

    def pools(self) -> dict[int, str]:
        """Host.pools."""
        return {pool: f"pool{pool}" for pool in self.cluster.pools}

    def fs_by_id(self, fscid: int) -> FsState | None:
        """Host.fs_by_id."""
        fs = self.cluster.filesystems.get(fscid)
        return fs.state() if fs else None

    def fs_unless_removed(self, fscid: int) -> FsState | None:
        """Host.fs_unless_removed: the two maps are one here."""
        return self.fs_by_id(fscid)

    def health(self) -> dict[str, HealthCheck]:
        """Host.health."""
        return dict(self.cluster.health)

    def report_period(self) -> float:
        """Host.report_period."""
        return 5.0

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        """Host.counter: every MDS has just reported."""
        return [(self.cluster.wall, 0.0)]

    def has_hook(self, fs: FsState) -> bool:
        """Host.has_hook."""
        found = self.cluster.filesystems.get(fs.fscid)
        return found is not None and found.hooked

    def on_fs(self, fs: FsState, call: Callable[[Any], T], ino: int | None = None) -> T:
        """Host.on_fs."""
        found = self.cluster.filesystems.get(fs.fscid)
        if found is None or found.name != fs.name:
            raise Unavailable(f"cannot mount file system '{fs.name}'")
        return call(Mount(self, found))

    def mon(self, prefix: str, **arguments: str) -> str:
        """Host.mon: fs get, fs set."""
        fs = next((f for f in self.cluster.filesystems.values() if f.name == arguments["fs_name"]), None)
        if fs is None:
            raise CephError(f"'{prefix}' failed: no file system '{arguments['fs_name']}'", 2)
        if prefix == "fs get":
            return self.io("fs get", lambda: self._fs_get(fs), CephError)
        assert prefix == "fs set", prefix
        target: Target = ("fs", fs.fscid, arguments["var"])
        self.io("fs set", lambda: self.cluster.set(target, arguments["val"]), CephError, target)
        return ""

    def _fs_get(self, fs: FileSystem) -> str:
        for name in fs.settings:
            self.look(("fs", fs.fscid, name))
        state = fs.state()
        mdsmap = {
            "fs_name": fs.name,
            "max_mds": fs.max_mds,
            "in": list(state.ranks_in),
            "info": {},
            "failed": [],
            "damaged": [],
            "flags_state": {"balance_automate": state.balance_automate},
            "balancer": state.balancer,
            "bal_rank_mask": state.bal_rank_mask,
            "metadata_pool": state.metadata_pool,
        }
        return json.dumps({"id": fs.fscid, "mdsmap": mdsmap})

    def config(self, option: str) -> Any:
        """Host.config: what MDSs ship with."""
        return self.io("config get", lambda: CONFIG[option], CephError)

    def mds_option(self, option: str) -> str:
        """Host.mds_option."""
        target: Target = ("config", 0, option)
        return self.io("config get", lambda: self.look(target) or "", CephError)

    def set_mds_option(self, option: str, value: str) -> None:
        """Host.set_mds_option."""
        target: Target = ("config", 0, option)
        self.io("config set", lambda: self.cluster.set(target, value), CephError, target)

    def object_attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        """Host.object_attribute: the backtrace of a directory, as if it lay in the root by its whole path."""
        fs = self.cluster.filesystems.get(pool)
        directory = fs.directories.get(int(name.partition(".")[0], 16)) if fs else None
        found = _backtrace(directory.path[1:].encode()) if directory else None
        return self.io("get xattr of object", lambda: found, Unavailable)

    def tell(self, fs: FsState, mds: str, prefix: str, **arguments: Any) -> Any:
        """Host.tell: dump dir, dump inode, get subtrees."""
        fscid, rank = map(int, mds.removeprefix("fs").split("-"))
        modelled = self.cluster.filesystems.get(fscid)
        if modelled is None or rank in modelled.down or rank >= modelled.ranks:
            raise Unavailable(f"mds.{mds} did not answer '{prefix}'")
        return self.io(f"tell {prefix}", lambda: _answer(modelled, rank, prefix, arguments), Unavailable)

    def tell_each(
        self, fs: FsState, names: list[str], prefix: str, within: float = 8.0, **arguments: Any
    ) -> dict[str, Any]:
        """Host.tell_each."""
        answers: dict[str, Any] = {}
        for name in names:
            try:
                answers[name] = self.tell(fs, name, prefix, **arguments)
            except PartitionerError as e:
                answers[name] = e
        return answers


def _answer(fs: FileSystem, rank: int, prefix: str, arguments: dict[str, Any]) -> Any:
    if prefix == "get subtrees":
        roots = [_subtree(d.path, ino, d, rank) for ino, d in fs.directories.items()]
        return [*roots, _subtree("", ROOT, None, rank)]
    if prefix == "dump inode":
        directory = fs.directories.get(int(arguments["number"]))
        return {"path": directory.path} if directory and not directory.cold else {}
    assert prefix == "dump dir", prefix
    directory = next((d for d in fs.directories.values() if d.path == arguments["path"]), None)
    if directory is None:
        raise CephError("not in cache", 2)
    return [{"is_auth": directory.rank == rank}]


def _backtrace(name: bytes) -> bytes:
    ancestor = struct.pack("<QI", 1, len(name)) + name + struct.pack("<Q", 7)
    ancestors = struct.pack("<QI", 0, 1) + struct.pack("<BBI", 2, 2, len(ancestor)) + ancestor
    return struct.pack("<BBI", 5, 4, len(ancestors)) + ancestors


def _subtree(path: str, ino: int, directory: Directory | None, rank: int) -> dict[str, Any]:
    auth = directory.rank if directory else 0
    return {
        "dir": {"path": path, "dirfrag": f"{ino:#x}"},
        "is_auth": auth == rank,
        "auth_first": auth,
        "export_pin": directory.pin if directory else -1,
        "distributed_ephemeral_pin": directory is not None and directory.scattered,
        "random_ephemeral_pin": False,
    }


class Mount:
    """filesystem.FileSystem."""

    def __init__(self, ceph: Ceph, fs: FileSystem) -> None:
        self._ceph, self._fs = ceph, fs

    def _find(self, path: str) -> tuple[int, Directory]:
        for ino, directory in self._fs.directories.items():
            if directory.path == path:
                return ino, directory
        raise NotFound(f"cannot stat {path!r}: No such file or directory")

    def ino(self, path: str) -> int:
        """FileSystem.ino."""
        return self._ceph.io("stat", lambda: self._find(path)[0], CephError)

    def over_link(self, path: str) -> bool:
        """FileSystem.over_link: nobody makes one."""
        return False

    def pin(self, path: str) -> int:
        """FileSystem.pin."""
        return int(self._get("pin", path))

    def mask(self, path: str) -> str:
        """FileSystem.mask."""
        return self._get("mask", path)

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """FileSystem.rentries_and_pin."""
        return self.rentries(path), self.pin(path)

    def born(self, path: str) -> float:
        """FileSystem.born."""
        return self._ceph.io("stat", lambda: self._find(path)[1].born, CephError)

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        """FileSystem.ephemeral_pins."""
        return self._get("distributed", path) == "1", False

    def _get(self, kind: str, path: str) -> str:
        def look() -> str:
            value = self._ceph.look((kind, self._fs.fscid, self._find(path)[0]))
            if value is None:
                raise CephError(f"{path!r}: the file system is gone", 108)
            return value

        return self._ceph.io(f"get {kind}", look, CephError)

    def load(self, path: str) -> None:
        """FileSystem.load."""
        self._ceph.io("list", lambda: self._find(path), CephError)

    def set_attribute(self, path: str, ino: int, attribute: str, value: str, may: Callable[[], bool]) -> None:
        """FileSystem.set_attribute."""
        kind = KINDS[attribute]
        self._ceph.io("open", lambda: self._find(path), CephError)
        if self._find(path)[0] != ino:
            raise NotFound(f"{path!r} was replaced by another directory")
        if not may():
            raise Unavailable("not wanted any more")
        target: Target = (kind, self._fs.fscid, ino)
        if self._fs.fscid in self._ceph.cluster.stopped and not self._ceph.fenced:
            self._ceph.cluster.violations.append(f"{target}: a change was begun after the plan was stopped")
        self._ceph.io(f"set {kind}", lambda: self._ceph.cluster.set(target, value), CephError, target)

    def rentries(self, path: str) -> int:
        """FileSystem.rentries."""
        return self._ceph.io("get rentries", lambda: self._find(path)[1].rentries, CephError)

    def entries(self, path: str) -> int:
        """FileSystem.entries."""
        return len(self.subdirectories(path))

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """FileSystem.subdirectories."""
        prefix = path.rstrip("/") + "/"

        def listed() -> list[tuple[str, int]]:
            below = [
                (d.path.removeprefix(prefix), ino)
                for ino, d in self._fs.directories.items()
                if d.path.startswith(prefix) and "/" not in d.path.removeprefix(prefix)
            ]
            return sorted(below)

        return self._ceph.io("list", listed, CephError)


class Keys:
    """host.KeyValue."""

    def __init__(self, ceph: Ceph) -> None:
        self._ceph, self._data = ceph, ceph.cluster.store

    def put(self, key: str, value: str) -> None:
        """KeyValue.put."""
        assert len(value.encode()) <= 64 * 1024, "the mon takes 64 KiB a key"
        self._ceph.io(f"put {_what(key, value)}", lambda: self._data.update({key: value}), JournalError)

    def delete(self, key: str) -> None:
        """KeyValue.delete."""
        what = "seal" if key.endswith("/seal") else "key"
        self._ceph.io(f"delete {what}", lambda: self._data.pop(key, None), JournalError)

    def items(self, prefix: str) -> dict[str, str]:
        """KeyValue.items."""

        def found() -> dict[str, str]:
            return {k: v for k, v in self._data.items() if k.startswith(prefix)}

        return self._ceph.io("list keys", found, JournalError)


def _what(key: str, value: str) -> str:
    """A put by what it says: the state of a step or of a plan."""
    kind = key.split("/")[2]
    return str(json.loads(value)["state"]) if kind == "step" else _head(value) if kind == "head" else kind


def _head(value: str) -> str:
    return f"head {json.loads(value)['state']}"
