# SPDX-License-Identifier: LGPL-2.1-or-later
"""Everything the module asks of Ceph, through the manager it lives in."""

import errno
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

import rados
from mgr_module import MgrModule
from mgr_util import CephfsClient, CephfsConnectionException, open_filesystem

from . import ceph_compat
from .errors import BadInput, CephError, JournalError, NotFound, PartitionerError, Unavailable
from .filesystem import FileSystem
from .model import Address, FsState, MdsInfo

T = TypeVar("T")
FS_TIMEOUT = 60.0  # s: a libcephfs call waits for the MDS for ever, the operator does not
TELL_TIMEOUT = 8.0  # s: under one epoch


def fs_state(entry: Mapping[str, Any]) -> FsState:
    """One element of ``filesystems`` of the FSMap."""
    m = entry["mdsmap"]
    mds = (
        MdsInfo(int(i["rank"]), str(i["name"]), int(i["gid"]), str(i["state"]))
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
        balance_automate=bool(m["flags_state"]["balance_automate"]),
        balancer=str(m["balancer"]),
        bal_rank_mask=str(m["bal_rank_mask"]),
        metadata_pool=int(m["metadata_pool"]),
    )


class KeyValue:
    """The module's part of the mon's key/value store, with the mon's word that a write arrived.

    ``MgrModule.set_store`` only logs a failed write; a journal must know, so this sends the commands itself.
    """

    def __init__(self, module: MgrModule, mon_calls: ThreadPoolExecutor) -> None:
        self._module, self._mon_calls = module, mon_calls
        self._prefix = f"mgr/{module.module_name}/"

    def put(self, key: str, value: str) -> None:
        """Store ``value`` durably. :raises JournalError: the mon did not take it."""
        self._command({"prefix": "config-key set", "key": self._prefix + key, "val": value})

    def delete(self, key: str) -> None:
        """Remove a key; one that is not there is no error. :raises JournalError: as above."""
        self._command({"prefix": "config-key rm", "key": self._prefix + key})

    def items(self, prefix: str) -> dict[str, str]:
        """Every key that begins with ``prefix``, and its value."""
        out = self._command({"prefix": "config-key dump", "key": self._prefix + prefix, "format": "json"})
        found = json.loads(out or "{}")
        return {key.removeprefix(self._prefix): str(value) for key, value in found.items()}

    def _command(self, command: dict[str, str]) -> str:
        code, out, message = self._mon_calls.submit(self._module.mon_command, command).result()
        if code:
            raise JournalError(f"the mon refused '{command['prefix']}': {message}", abs(code))
        return str(out)


class Host:
    """Ceph as the stages see it. Every call re-reads; nothing is cached here."""

    def __init__(self, module: MgrModule, concurrency: int) -> None:
        self._module = module
        self._client = CephfsClient(module)
        self._tells = ThreadPoolExecutor(concurrency, thread_name_prefix="tell")
        self._fs_calls = ThreadPoolExecutor(4, thread_name_prefix="libcephfs")
        # Reef's manager keeps the Python state of the thread that asks the mon until after it has the answer.
        # A command's own thread ends with the command: the manager then dies. These threads stay.
        self._mon_calls = ThreadPoolExecutor(2, thread_name_prefix="mon")
        self.store = KeyValue(module, self._mon_calls)

    def shutdown(self) -> None:
        """Unmount and let the worker threads go."""
        self._tells.shutdown(wait=False, cancel_futures=True)
        self._fs_calls.shutdown(wait=False, cancel_futures=True)
        self._client.shutdown()
        self._mon_calls.shutdown(wait=False)

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

    def health(self) -> dict[str, str]:
        """Codes of the raised health checks and their summaries."""
        raw = self._module.get("health")
        checks = json.loads(raw["json"]).get("checks", {})
        return {code: str(check["summary"]["message"]) for code, check in checks.items()}

    def manager_addresses(self) -> frozenset[Address]:
        """Where the managers' own clients (this module's mount among them) come from, from the MgrMap."""
        clients = self._module.get("mgr_map").get("active_clients", [])
        return frozenset(
            (str(address["addr"]), int(address["nonce"]))
            for client in clients
            for address in client["addrvec"]
        )

    def write_object(self, pool: int, name: str, text: str) -> None:
        """Write a RADOS object whole. :raises CephError: the OSDs did not take it."""
        self._mon_calls.submit(self._write_object, pool, name, text.encode()).result()

    def remove_object(self, pool: int, name: str) -> None:
        """Remove a RADOS object; one that is not there is no error. :raises CephError: the OSDs did not."""
        self._mon_calls.submit(self._write_object, pool, name, None).result()

    def _write_object(self, pool: int, name: str, content: bytes | None) -> None:
        try:
            with ceph_compat.rados_of(self._module).open_ioctx2(pool) as objects:
                if content is None:
                    objects.remove_object(name)
                else:
                    objects.write_full(name, content)
        except rados.ObjectNotFound:
            if content is not None:
                raise CephError(f"pool {pool} does not exist", errno.ENOENT) from None
        except rados.Error as e:
            raise CephError(f"object '{name}' in pool {pool}: {e}") from e

    def mon(self, prefix: str, **arguments: Any) -> str:
        """Run a mon command. :raises CephError: with the mon's own words."""
        command = {"prefix": prefix, **arguments}
        code, out, message = self._mon_calls.submit(self._module.mon_command, command).result()
        if code:
            raise CephError(f"'{prefix}' failed: {message}", abs(code))
        return str(out)

    def config(self, option: str) -> Any:
        """A configuration value as the MDSs see it (``ceph config get mds OPTION``)."""
        return json.loads(self.mon("config get", who="mds", key=option, format="json"))

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

    def counter(self, mds: str, path: str) -> list[ceph_compat.Point]:
        """Points of a perf counter that the MDS reported to the manager, oldest first."""
        return ceph_compat.counter(self._module, mds, path)

    def tell(self, mds: str, prefix: str, **arguments: Any) -> Any:
        """``ceph tell mds.NAME PREFIX``, its JSON parsed.

        :raises Unavailable: no answer within 8 s
        :raises CephError: refused, or the answer is not JSON
        """
        command = {"prefix": prefix, "format": "json", **arguments}
        out = ceph_compat.tell_mds(self._module, mds, command, TELL_TIMEOUT)
        try:
            return json.loads(out or "null")
        except ValueError as e:
            raise CephError(f"mds.{mds}: the answer to '{prefix}' is not JSON: {e}") from e

    def tell_each(self, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
        """The same command to several MDSs, a bounded number at once; a failed one yields its exception."""
        futures = {name: self._tells.submit(self.tell, name, prefix, **arguments) for name in names}
        return {name: _outcome(future) for name, future in futures.items()}

    def has_hook(self, fs: FsState) -> bool:
        """Do all active MDSs have our hook? One that does not answer in time is taken for one without."""
        answers = self.tell_each([m.name for m in fs.active()], ceph_compat.HOOK_COMMAND, path="/", depth=0)
        return bool(answers) and not any(isinstance(a, PartitionerError) for a in answers.values())

    def on_fs(self, fs: str, call: Callable[[FileSystem], T]) -> T:
        """Run ``call`` on the mounted file system, in a thread that may be abandoned.

        :raises Unavailable: the MDSs did not answer in 60 s, or the mount failed
        """
        future = self._fs_calls.submit(self._with_mount, fs, call)
        try:
            return future.result(FS_TIMEOUT)
        except FutureTimeout:
            future.cancel()
            raise Unavailable(f"file system '{fs}' did not answer within {FS_TIMEOUT:g} s") from None

    def _with_mount(self, fs: str, call: Callable[[FileSystem], T]) -> T:
        try:
            with open_filesystem(self._client, fs) as handle:
                return call(FileSystem(handle))
        except CephfsConnectionException as e:
            raise Unavailable(f"cannot mount file system '{fs}': {e.error_str}") from e
        except CephError:
            # An evicted mount never recovers; the next call gets a fresh one.
            self._client.connection_pool.del_connections(fs)
            raise


def _outcome(future: "Future[Any]") -> Any:
    try:
        return future.result()
    except PartitionerError as e:
        return e
