# SPDX-License-Identifier: LGPL-2.1-or-later
"""Everything the module asks of Ceph, through the manager it lives in."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from mgr_module import MgrModule

from .. import cycles
from ..errors import BadInput, CephError, NotFound, PartitionerError, Unavailable
from ..model import Address, FsState, HealthCheck, MdsInfo
from ..workers import Workers
from . import compat
from .filesystem import FileSystem, Write
from .mon import KeyValue, Mon
from .mounts import Mounts
from .objects import Objects

T = TypeVar("T")
OLDEST = "18.2.4"  # Ceph's first Reef with balance_automate
# Ceph answers late or never; these say how long it is waited for. All in seconds.
FS_TIMEOUT = 60.0
TELL_TIMEOUT = 8.0  # under one epoch
TELLS_TIMEOUT = 2 * TELL_TIMEOUT  # all of ``tell_each``, however many MDSs hang


def fs_state(entry: Mapping[str, Any]) -> FsState:
    """One element of ``filesystems`` of the FSMap. :raises Unavailable: of a Ceph that is too old"""
    m = entry["mdsmap"]
    flags = m.get("flags_state", {})
    automate = flags.get("balance_automate")
    if automate is None:
        raise Unavailable(f"this Ceph is older than {OLDEST}: it has no balance_automate; upgrade Ceph first")
    mds = (
        MdsInfo(int(i["rank"]), str(i["name"]), str(i["state"]), "laggy_since" in i)
        for i in m["info"].values()
        if int(i["rank"]) >= 0 and not str(i["state"]).startswith("up:standby")
    )
    return FsState(
        name=str(m["fs_name"]),
        fscid=int(entry["id"]),
        max_mds=int(m["max_mds"]),
        ranks_in=tuple(sorted(int(r) for r in m["in"])),
        mds=tuple(sorted(mds, key=lambda i: i.rank)),
        failed=tuple(sorted(int(r) for r in m["failed"])),
        damaged=tuple(sorted(int(r) for r in m["damaged"])),
        balance_automate=bool(automate),
        balancer=str(m["balancer"]),
        bal_rank_mask=str(m["bal_rank_mask"]),
        metadata_pool=int(m["metadata_pool"]),
        joinable=bool(flags.get("joinable", True)),
    )


def _told(mds: str, prefix: str, answer: str) -> Any:
    """What an MDS said. :raises CephError: it is not JSON"""
    try:
        return json.loads(answer or "null")
    except ValueError as e:
        raise CephError(f"mds.{mds}: the answer to '{prefix}' is not JSON: {e}") from e


def told_each(prefix: str, answers: Mapping[str, str | PartitionerError]) -> dict[str, Any]:
    """What MDSs said, by name; why there is nothing, where there is not."""

    def told(mds: str, answer: str | PartitionerError) -> Any:
        try:
            return answer if isinstance(answer, PartitionerError) else _told(mds, prefix, answer)
        except CephError as e:
            return e

    with cycles.not_now():
        return {mds: told(mds, answer) for mds, answer in answers.items()}


def _output(prefix: str, code: int, out: str, message: str) -> str:
    """Of a mon command."""
    if code:
        raise CephError(f"'{prefix}' failed: {message}", abs(code))
    return out


class Host:
    """Ceph as the stages see it. Every call re-reads; nothing is cached here."""

    def __init__(self, module: MgrModule, concurrency: int) -> None:
        self._module = module
        connections = compat.Connections(module)
        self._mounts = Mounts(module, connections.rados, module.log)
        self._mds = compat.MdsCommands(module, connections)
        self._concurrency, self._lock = concurrency, threading.Lock()
        self._tells: dict[int, Workers] = {}  # by fscid: one whose MDSs hang takes no other's threads
        self._spare: list[Workers] = []  # of file systems that were removed: these threads must not end
        self._mon = Mon(module, connections)
        self._objects = Objects(connections)
        self.store = KeyValue(module, self._mon)

    def shutdown(self) -> None:
        """Unmount and let the worker threads go."""
        for workers in [*self._tells.values(), *self._spare]:
            workers.shutdown()
        for part in (self._mon, self._objects, self._mounts):
            part.shutdown()

    def forget_all_but(self, fscids: Collection[int]) -> None:
        """Of file systems that were removed nothing stays mounted, and their threads serve others."""
        self._mounts.forget_all_but(fscids)
        with self._lock:
            self._spare += [self._tells.pop(i) for i in list(self._tells) if i not in fscids]

    def file_systems(self) -> list[FsState]:
        """Every file system in the FSMap."""
        return [fs_state(entry) for entry in self._module.get("fs_map")["filesystems"]]

    def fs(self, name: str | None) -> FsState:
        """The named file system, or the only one.

        :raises NotFound: no such file system, with the names there are
        :raises BadInput: none was named and there are several
        """
        known = self.file_systems()
        names = ", ".join(sorted(fs.name for fs in known)) or "none"
        if name is None:
            if len(known) == 1:
                return known[0]
            raise BadInput(f"name a file system (there are: {names})")
        for fs in known:
            if fs.name == name:
                return fs
        raise NotFound(f"file system '{name}' does not exist (there are: {names})")

    def fs_by_id(self, fscid: int) -> FsState | None:
        """The file system with this id, whatever its name is now; None: it was removed."""
        return next((fs for fs in self.file_systems() if fs.fscid == fscid), None)

    def incarnation(self) -> int:
        """A number that grows with each manager that becomes active: the MgrMap's epoch."""
        return int(self._module.get("mgr_map")["epoch"])

    def fs_of_mon(self, fscid: int) -> FsState | None:
        """As ``fs_by_id``, but asks the mon: this manager's FSMap may be older than its own last command."""
        entries = json.loads(self.mon("fs dump", format="json"))["filesystems"]
        return next((fs_state(entry) for entry in entries if int(entry["id"]) == fscid), None)

    def fs_unless_removed(self, fscid: int) -> FsState | None:
        """As ``fs_by_id``, for who ends what cannot be begun again: what this manager's FSMap lacks may only
        be newer. So the mon is asked, too. :raises PartitionerError: it does not answer"""
        return self.fs_by_id(fscid) or self.fs_of_mon(fscid)

    def health(self) -> dict[str, HealthCheck]:
        """The raised health checks, by code."""
        raw = self._module.get("health")
        checks = json.loads(raw["json"]).get("checks", {})
        return {
            code: HealthCheck(
                str(check["summary"]["message"]),
                tuple(str(line["message"]) for line in check.get("detail", ())),
            )
            for code, check in checks.items()
        }

    def manager_addresses(self) -> frozenset[Address]:
        """Where the managers' own clients (this module's mount among them) come from, from the MgrMap."""
        clients = self._module.get("mgr_map").get("active_clients", [])
        return frozenset(
            (str(address["addr"]), int(address["nonce"]))
            for client in clients
            for address in client["addrvec"]
        )

    def write_object(self, pool: int, name: str, text: str) -> None:
        """Write a RADOS object whole. Errors as ``Objects.put``."""
        self._objects.put(pool, name, text)

    def remove_object(self, pool: int, name: str) -> None:
        """Remove a RADOS object; one that is not there is no error. Errors as ``Objects.put``."""
        self._objects.remove(pool, name)

    def pools(self) -> dict[int, str]:
        """Names of all pools by ID; 'fs rm' leaves a file system's. The whole OSDMap is read for it."""
        return {int(pool["pool"]): str(pool["pool_name"]) for pool in self._module.get("osd_map")["pools"]}

    def object_attribute(self, pool: int, name: str, attribute: str) -> bytes | None:
        """An extended attribute of a RADOS object, as ``Objects.attribute``."""
        return self._objects.attribute(pool, name, attribute)

    def mon(self, prefix: str, **arguments: Any) -> str:
        """Run a mon command.

        :raises CephError: with the mon's own words
        :raises InDoubt: no answer within 20 s; it may still be carried out, before any later command
        """
        return _output(prefix, *self._mon.run({"prefix": prefix, **arguments}))

    def ask_mon(self, prefix: str, **arguments: Any) -> str:
        """Run a mon command that changes nothing; what is not UTF-8 in its output is replaced.

        :raises CephError: with the mon's own words
        :raises Unavailable: no answer within 20 s
        """
        return _output(prefix, *self._mon.ask({"prefix": prefix, **arguments}))

    def mon_in_flight(self, **arguments: str) -> bool:
        """Is there a mon command with these arguments that was given up and not answered yet?"""
        return self._mon.in_flight(**arguments)

    def config(self, option: str, mds: str = "") -> Any:
        """A configuration value as the mon has it for an MDS, or for all (``ceph config get mds OPTION``)."""
        who = f"mds.{mds}" if mds else "mds"
        return json.loads(self.mon("config get", who=who, key=option, format="json"))

    def mds_option(self, option: str) -> str:
        """What an operator has set an option to for all MDSs; "" for nothing."""
        entries = json.loads(self.mon("config dump", format="json"))
        ours = (e for e in entries if (e["section"], e["mask"], e["name"]) == ("mds", "", option))
        return next((str(e["value"]) for e in ours), "")

    def set_mds_option(self, option: str, value: str) -> None:
        """Set an option for all MDSs; "" takes it away."""
        if value:
            self.mon("config set", who="mds", name=option, value=value)
        else:
            self.mon("config rm", who="mds", name=option)

    def counter(self, mds: str, path: str) -> list[compat.Point]:
        """Points of a perf counter that the MDS reported to the manager, oldest first."""
        return compat.counter(self._module, mds, path)

    def report_period(self) -> float:
        """s between two reports of a daemon to the manager."""
        return float(self._module.get_ceph_option("mgr_stats_period"))

    def tell(self, fs: FsState, mds: str, prefix: str, **arguments: Any) -> Any:
        """``ceph tell mds.NAME PREFIX`` to an MDS of the file system, its JSON parsed.

        :raises Unavailable: no answer within 8 s
        :raises CephError: refused, or the answer is not JSON
        """
        what = f"mds.{mds} and '{prefix}'"
        # In a thread that stays, as ``Workers`` says; sending, too, may hang: libcephfs asks the mon first.
        answer = self._workers(fs).run(what, TELLS_TIMEOUT, lambda: self._tell(mds, prefix, arguments))
        return _told(mds, prefix, answer)

    def _tell(self, mds: str, prefix: str, arguments: Mapping[str, Any]) -> str:
        command = {"prefix": prefix, "format": "json", **arguments}
        return self._mds.tell(mds, command, TELL_TIMEOUT)

    def _workers(self, fs: FsState) -> Workers:
        with self._lock:
            if fs.fscid not in self._tells:
                spare = self._spare.pop() if self._spare else None
                self._tells[fs.fscid] = spare or Workers("commands to MDSs", self._concurrency)
            return self._tells[fs.fscid]

    def tell_each(
        self, fs: FsState, names: list[str], prefix: str, *, within: float = TELLS_TIMEOUT, **arguments: Any
    ) -> dict[str, Any]:
        """The same command to several MDSs of the file system, a bounded number at once.

        Takes ``within`` seconds at most. An MDS that refused it yields its exception, one that did not answer
        by then Unavailable.
        """
        workers = self._workers(fs)
        futures = {name: workers.submit(partial(self._tell, name, prefix, arguments)) for name in names}
        ends = time.monotonic() + within

        def outcome(name: str) -> str | PartitionerError:
            left = ends - time.monotonic()
            try:
                return workers.result(futures[name], f"mds.{name} and '{prefix}'", left)
            except PartitionerError as e:
                return e

        # Read in this thread, whose CPU time is the caller's.
        return told_each(prefix, {name: outcome(name) for name in names})

    def has_hook(self, fs: FsState) -> bool | None:
        """Do all active MDSs have our hook? None: nobody knows, as not all have answered."""
        names = [m.name for m in fs.active()]
        answers = self.tell_each(fs, names, compat.HOOK_COMMAND, path="/", depth=0).values()
        failed = [answer for answer in answers if isinstance(answer, PartitionerError)]
        if any(error.code == errno.EINVAL for error in failed):  # it knows no such command (AdminSocket.cc)
            return False
        return None if failed or not answers else True

    def on_fs(self, fs: FsState, call: Callable[[FileSystem], T], ino: int | None = None) -> T:
        """Run ``call`` on the mounted file system. ``ino``: of the directory that it is about, see ``hangs``.

        A call that is given up sets nothing any more, unless it was setting it already.

        :raises InDoubt: the MDSs did not answer a change in 60 s: it may still be made, see ``in_flight``
        :raises Unavailable: the MDSs did not answer in 60 s, or the mount failed; nothing is under way
        """
        return self._mounts.run(fs, call, FS_TIMEOUT, ino)

    def begin_on_fs(self, fs: FsState, question: Callable[[FileSystem], T]) -> Future[T]:
        """Begin a call that changes nothing on the mounted file system, beside others, in a thread that no
        change needs. Who waits for it sets the deadline. It raises Unavailable where the mount failed.
        """
        return self._mounts.begin(fs, question)

    def in_flight(self, fscid: int, ino: int) -> Write | None:
        """The change of a directory that an MDS was asked for and has not answered, if there is one.

        As long as there is one, the present value may be either, and what is set may be overwritten by it.
        """
        return self._mounts.in_flight(fscid, ino)

    def hangs(self, fscid: int, ino: int) -> bool:
        """Does a call about this directory hang that was given up? One more would take one more thread."""
        return self._mounts.hangs(fscid, ino)
