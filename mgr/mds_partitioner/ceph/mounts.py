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
from typing import Any, TypeVar, cast

import cephfs
import rados
from mgr_module import MgrModule
from mgr_util import CephfsClient, CephfsConnectionException, open_filesystem

from .. import clock
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

    pool: int  # of its metadata
    client: CephfsClient
    workers: Workers
    askers: Workers
    # Under way, given up or not; and the client that each uses.
    attempts: dict[Attempt, CephfsClient] = field(default_factory=dict)
    charmaps: Charmaps = field(default_factory=Charmaps)  # see FileSystem
    leaves: bool = False  # no call is begun any more
    unmounted: threading.Event = field(default_factory=threading.Event)


class Mounts:
    """Calls on mounted file systems, by the file system's id: a name may be given to another one."""

    def __init__(self, module: MgrModule, shared: Callable[[], Any], log: logging.Logger) -> None:
        """``shared``: the Rados that all modules share."""
        self._own, self._log = OwnContext(module, shared, log), log
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
        self._leave(gone)

    def shutdown(self) -> None:
        """Unmount; a mount that hangs is left to the end of the process."""
        with self._lock:
            every = list(self._mounted)
        ends = clock.read().steady + UNMOUNT_TIMEOUT
        for mounted in self._leave(every):
            mounted.unmounted.wait(max(0.0, ends - clock.read().steady))

    def _leave(self, fscids: Collection[int]) -> list[_Mounted]:
        """Begin no more calls on these, and unmount them when the last one has ended."""
        with self._lock:
            leaving = [self._mounted.pop(i) for i in fscids if i in self._mounted]
            for mounted in leaving:
                mounted.leaves = True
            idle = [mounted for mounted in leaving if not mounted.attempts]
        for mounted in leaving:
            mounted.workers.shutdown()
            mounted.askers.shutdown()
        for mounted in idle:
            self._begin_unmount(mounted, mounted.client)
        return leaving

    def _of(self, fs: FsState) -> _Mounted:
        with self._lock:
            mounted = self._mounted.get(fs.fscid)
        if mounted is not None and mounted.pool != fs.metadata_pool:
            self._leave([fs.fscid])  # another file system has its id by now ('fs swap')
        with self._lock:
            if fs.fscid not in self._mounted:
                workers = Workers(f"libcephfs calls on '{fs.name}'", THREADS)
                askers = Workers(f"questions to '{fs.name}'", ASKERS)
                self._mounted[fs.fscid] = _Mounted(fs.metadata_pool, self._client(), workers, askers)
            return self._mounted[fs.fscid]

    def _client(self) -> CephfsClient:
        return CephfsClient(cast(MgrModule, self._own))

    def _attempt(
        self, mounted: _Mounted, fs: FsState, call: Callable[[FileSystem], T], attempt: Attempt
    ) -> T:
        with self._lock:
            if mounted.leaves:
                raise Unavailable(f"file system '{fs.name}' is unmounted")
            client = mounted.attempts[attempt] = mounted.client
        try:
            return self._with_mount(mounted, client, fs, call, attempt)
        finally:
            with self._lock:
                del mounted.attempts[attempt]
                last = client not in mounted.attempts.values()
                left = last and (mounted.leaves or client is not mounted.client)
            if left:
                self._begin_unmount(mounted, client)

    def _with_mount(
        self,
        mounted: _Mounted,
        client: CephfsClient,
        fs: FsState,
        call: Callable[[FileSystem], T],
        attempt: Attempt,
    ) -> T:
        try:
            with open_filesystem(client, fs.name) as handle:
                # Mounted by name: after a rename, that may be another file system.
                if int(handle.get_fscid()) != fs.fscid:
                    self._renew(mounted, client)
                    raise CephError(f"'{fs.name}' is another file system now")
                return call(FileSystem(handle, attempt, mounted.charmaps))
        except CephfsConnectionException as e:
            raise Unavailable(f"cannot mount file system '{fs.name}': {e.error_str}") from e
        except (cephfs.Error, rados.Error) as e:
            raise Unavailable(f"file system '{fs.name}': {e}") from e
        except CephError as e:
            if e.code in LOST:
                self._renew(mounted, client)
            raise

    def _renew(self, mounted: _Mounted, client: CephfsClient) -> None:
        """The next call gets a fresh mount. The old one goes when the last call on it has ended: mgr_util
        does not wait for calls, but for ever."""
        with self._lock:
            if mounted.client is client and not mounted.leaves:
                mounted.client = self._client()

    def _begin_unmount(self, mounted: _Mounted, client: CephfsClient) -> None:
        threading.Thread(target=self._unmount, args=(mounted, client), daemon=True).start()

    def _unmount(self, mounted: _Mounted, client: CephfsClient) -> None:
        try:
            client.connection_pool.timer_task.cancel()
            client.shutdown()
        except Exception as e:  # an assertion of its pool, perhaps; nobody needs that mount any more
            self._log.info("unmounting: %r", e)
        if client is mounted.client:
            mounted.unmounted.set()
