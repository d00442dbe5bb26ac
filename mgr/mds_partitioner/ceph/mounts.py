# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's mounts of the file systems: which calls are under way on them, and which may still write."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import cephfs
from mgr_module import MgrModule
from mgr_util import CephfsClient, CephfsConnectionException, open_filesystem

from ..errors import CephError, InDoubt, Unavailable
from ..model import FsState
from ..workers import GivenUp, Workers
from .charmap import Charmaps
from .filesystem import Attempt, FileSystem, Write
from .own_context import OwnContext

T = TypeVar("T")
THREADS = 40  # a file system: steps of plans (16, and 19 not answered yet), an analysis, commands
ASKERS = 24  # threads a file system for questions side by side: if all of them hang, plans still go on
# What a mount answers that was evicted or rejected, or is none any more (Client.cc): it never recovers.
LOST = (errno.ESHUTDOWN, errno.ENOTCONN, errno.ETIMEDOUT, errno.EBADF, errno.EPERM)
UNMOUNT_TIMEOUT = 10.0  # s: an unmount waits for the MDSs


@dataclass
class _Mounted:
    """One file system. Mounts are kept a file system, so that one that hangs holds up no other."""

    client: CephfsClient
    workers: Workers
    askers: Workers
    attempts: set[Attempt] = field(default_factory=set)  # under way, given up or not
    charmaps: Charmaps = field(default_factory=Charmaps)  # see FileSystem


class Mounts:
    """Calls on mounted file systems, by the file system's id: a name may be given to another one."""

    def __init__(self, module: MgrModule, log: logging.Logger) -> None:
        self._own, self._log = OwnContext(module, log), log
        self._lock = threading.Lock()  # of the tables alone; never held while something is waited for
        self._mounted: dict[int, _Mounted] = {}

    def run(self, fs: FsState, call: Callable[[FileSystem], T], seconds: float, ino: int | None = None) -> T:
        """Run ``call`` on the mounted file system. ``ino``: of the directory that it is about, if it is one.

        :raises InDoubt: no answer in time, and a change was being made: see ``in_flight``
        :raises Unavailable: no answer in time, or no mount; the call begins no change any more
        """
        mounted, attempt = self._of(fs), Attempt(ino)
        what = f"file system '{fs.name}'"
        try:
            return mounted.workers.run(what, seconds, lambda: self._attempt(mounted, fs, call, attempt))
        except GivenUp as e:
            write = attempt.give_up()
            if write is None:
                raise
            raise InDoubt(f"{e}: {write.attribute} of {write.path!r} may still become {write.value}") from e

    def begin(self, fs: FsState, question: Callable[[FileSystem], T]) -> Future[T]:
        """Begin a call that changes nothing, beside others; it raises what ``run`` does but for deadlines."""
        mounted = self._of(fs)
        return mounted.askers.submit(partial(self._attempt, mounted, fs, question, Attempt()))

    def in_flight(self, fscid: int, ino: int) -> Write | None:
        """The change of a directory that an MDS has been asked for and has not answered, if there is one."""
        writes = (attempt.in_flight() for attempt in self._attempts(fscid))
        return next((write for write in writes if write is not None and write.ino == ino), None)

    def hangs(self, fscid: int, ino: int) -> bool:
        """Is there a call about this directory that was given up, begins no change, and has not ended?"""
        return any(attempt.ino == ino and attempt.hangs() for attempt in self._attempts(fscid))

    def _attempts(self, fscid: int) -> list[Attempt]:
        with self._lock:
            mounted = self._mounted.get(fscid)
            return list(mounted.attempts) if mounted else []

    def forget_all_but(self, fscids: Collection[int]) -> None:
        """Unmount file systems that were removed, unless calls on them are under way still."""
        with self._lock:
            gone = [i for i, m in self._mounted.items() if i not in fscids and not m.attempts]
            old = [self._mounted.pop(i) for i in gone]
        for each in old:
            each.workers.shutdown()
            each.askers.shutdown()
            threading.Thread(target=self._unmount, args=(each.client,), daemon=True).start()

    def shutdown(self) -> None:
        """Unmount; a mount that hangs is left to the end of the process."""
        with self._lock:
            mounted = list(self._mounted.values())
            self._mounted.clear()
        for each in mounted:
            each.workers.shutdown()
            each.askers.shutdown()
        leaving = [threading.Thread(target=self._unmount, args=(m.client,), daemon=True) for m in mounted]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join(UNMOUNT_TIMEOUT)

    def _of(self, fs: FsState) -> _Mounted:
        with self._lock:
            if fs.fscid not in self._mounted:
                workers = Workers(f"libcephfs calls on '{fs.name}'", THREADS)
                askers = Workers(f"questions to '{fs.name}'", ASKERS)
                self._mounted[fs.fscid] = _Mounted(self._client(), workers, askers)
            return self._mounted[fs.fscid]

    def _client(self) -> CephfsClient:
        return CephfsClient(cast(MgrModule, self._own))

    def _attempt(
        self, mounted: _Mounted, fs: FsState, call: Callable[[FileSystem], T], attempt: Attempt
    ) -> T:
        with self._lock:
            mounted.attempts.add(attempt)
        try:
            return self._with_mount(mounted, fs, call, attempt)
        finally:
            with self._lock:
                mounted.attempts.discard(attempt)

    def _with_mount(
        self, mounted: _Mounted, fs: FsState, call: Callable[[FileSystem], T], attempt: Attempt
    ) -> T:
        client = mounted.client
        try:
            with open_filesystem(client, fs.name) as handle:
                # Mounted by name: after a rename, that may be another file system.
                if int(handle.get_fscid()) != fs.fscid:
                    self._renew(client, fs)
                    raise CephError(f"'{fs.name}' is another file system now")
                return call(FileSystem(handle, attempt, mounted.charmaps))
        except CephfsConnectionException as e:
            raise Unavailable(f"cannot mount file system '{fs.name}': {e.error_str}") from e
        except cephfs.Error as e:
            raise Unavailable(f"file system '{fs.name}': {e}") from e
        except CephError as e:
            if e.code in LOST:
                self._renew(client, fs)
            raise

    def _renew(self, client: CephfsClient, fs: FsState) -> None:
        """The next call gets a fresh mount."""
        with self._lock:
            mounted = self._mounted.get(fs.fscid)
            if mounted is None or mounted.client is not client:
                return
            mounted.client = self._client()
        # It waits for the calls that are under way on the same client, one that hangs perhaps.
        threading.Thread(target=self._unmount, args=(client,), daemon=True).start()

    def _unmount(self, client: CephfsClient) -> None:
        try:
            client.connection_pool.timer_task.cancel()
            client.shutdown()
        except Exception as e:  # an assertion of its pool, perhaps; nobody needs that mount any more
            self._log.info("unmounting: %r", e)
