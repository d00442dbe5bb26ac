# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a directory is, and on which rank. The MDSs are asked, never the plan."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, TypeVar

from ..ceph.filesystem import FileSystem
from ..ceph.host import Host
from ..ceph.volumes import internal
from ..errors import CephError, PartitionerError, Unavailable
from ..model import ROOT, FsState
from ..observe.backtrace import ATTRIBUTE, Parent, object_of, parse_backtrace
from ..observe.subtrees import subtree_map
from .guards import inactive
from .way import Way, renamed

T = TypeVar("T")
PATIENCE = 5.0  # s, that the scheduler waits for what is asked of a mount
FIRST_OF_USERS = 1 << 40  # inodes below belong to the MDSs: what lies in their stray directories was deleted


class MdsWhereabouts:
    """What the MDSs, and the metadata pool where they have forgotten, say of directories."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._pending: Future[Any] | None = None  # asked of a mount, and not answered in time

    def there(self, fs: FsState, path: str, rank: int) -> bool:
        """Has the rank authority over it? Not as long as an MDS that may have a part of it is silent.

        A fragment that nobody has used since its MDS started is in no cache: it counts for nobody.
        """
        mds = next((m for m in fs.active() if m.rank == rank), None)
        if mds is None:
            return False
        try:
            answer = self._host.tell(fs, mds.name, "dump dir", path=path)
        except PartitionerError:
            return False
        fragments = answer or ()
        if fragments and all(fragment.get("is_auth") for fragment in fragments):
            return True
        return any(map(_held, fragments)) and not self._elsewhere(fs, path, rank)

    def _elsewhere(self, fs: FsState, path: str, rank: int) -> bool:
        """May another rank have something of a directory?"""
        names = [m.name for m in fs.active() if m.rank != rank]
        answers = self._host.tell_each(fs, names, "dump dir", path=path).values()
        # Who does not have it in cache answers nothing, and no error.
        return any(isinstance(a, PartitionerError) or any(map(_held, a or ())) for a in answers)

    def within(self, fs: FsState, path: str, ranks: Collection[int]) -> bool:
        """Are a directory and all below it on some of these ranks? Not as long as an MDS does not answer."""
        now = subtree_map(self._host, fs, [path])
        return not now.silent and set(now.ranks(path)) <= set(ranks)

    def scattered(self, fs: FsState, path: str) -> bool:
        """Is it held by an ephemeral pin? Not as long as no MDS says so."""
        return subtree_map(self._host, fs, [path]).ephemeral(path)

    def path_of(self, fs: FsState, ino: int) -> str | None:
        """Where a directory is now, after a rename; None when it was deleted.

        :raises Unavailable: who would know does not answer, or it is being renamed
        :raises CephError: its backtrace cannot be read
        """
        way = self._way(fs, ino)
        path, lost = way.path, way.steps
        if path is not None and not internal(path):
            lost = self._host.on_fs(fs, way.lost, ino)
            if not lost:
                return path
        if self._nowhere(fs, lost):
            return None
        raise renamed(f"inode {ino}" if path is None else repr(path))

    def deleted(self, fs: FsState, ino: int) -> bool:
        """Was a directory deleted for good? What was renamed, or is in the trash, was not, nor what MDSs have
        not come to purge: see ``vanished``.

        :raises PartitionerError: who would know does not answer, or its backtrace cannot be read
        """
        if self._users(fs, ino):  # first, as most are there: then no MDS is asked
            return False
        cached = self._cached(fs, ino)
        return (cached is None or not cached.startswith("/")) and not self._users(fs, ino)

    def vanished(self, fs: FsState, ino: int) -> bool:
        """The same of what has a backtrace still, whether MDSs have come to purge it or not. All are asked.

        :raises PartitionerError: as ``deleted``, or a mount does not answer within ``PATIENCE``
        """
        way = self._way(fs, ino)
        if way.path is None:
            return self._nowhere(fs, way.steps)
        lost = self._soon(fs, way.lost) if way.steps else ()
        return bool(lost) and self._nowhere(fs, lost)

    def _way(self, fs: FsState, ino: int) -> Way:
        steps: tuple[tuple[int, Parent], ...] = ()
        at, seen = ino, {ino}
        while at != ROOT:
            cached = self._cached(fs, at)
            if cached is not None:
                return Way(at, cached.rstrip("/"), steps)
            parent = self._parent(fs, at)
            if parent is None or _is_stray(parent):
                return Way(at, None, steps)
            steps = ((at, parent), *steps)
            at = parent.ino
            if at in seen:  # as after a repair
                raise CephError(f"the backtraces of {ino:#x} and of what it is in name each other")
            seen.add(at)
        return Way(ROOT, "", steps)

    def _nowhere(self, fs: FsState, lost: Sequence[tuple[int, Parent]]) -> bool:
        """Of directories that are not where they should be, each in the one before: is the last one deleted?

        What was renamed meanwhile is in a cache until its backtrace is written. So what is in none, and has
        the backtrace that is not true of it, is no more; nor is what its backtrace has in such a directory.
        In this order: what was moved out of one before that was removed is seen to be in a cache.
        """
        return all(self._cached(fs, ino) is None and self._parent(fs, ino) == told for ino, told in lost)

    def _soon(self, fs: FsState, question: Callable[[FileSystem], T]) -> T:
        if self._pending is None or self._pending.done():
            future = self._host.begin_on_fs(fs, question)
            self._pending = future
            with suppress(FutureTimeout):
                return future.result(PATIENCE)
            future.cancel()
        raise Unavailable(f"the MDSs of '{fs.name}' do not tell what is there")

    def _users(self, fs: FsState, ino: int) -> bool:
        """Does a backtrace say that it is in a directory of users?"""
        parent = self._parent(fs, ino)
        return parent is not None and not _is_stray(parent)

    def _cached(self, fs: FsState, ino: int) -> str | None:
        """An inode's path as MDSs have it in cache.

        :raises Unavailable: one that may have it is silent, fails, or is not active
        """
        names = [m.name for m in fs.active()]
        answers = self._host.tell_each(fs, names, "dump inode", number=ino).values()
        for answer in answers:
            if not isinstance(answer, PartitionerError) and answer and answer.get("path"):
                return str(answer["path"])
        failed = (answer for answer in answers if isinstance(answer, PartitionerError))
        refused = (str(error) for error in failed if error.code != errno.ENOENT)
        silent = next(refused, inactive(fs))
        if silent is not None:
            raise Unavailable(
                f"inode {ino} is not where it was, and not every MDS says where it is: {silent}"
            )
        return None

    def _parent(self, fs: FsState, ino: int) -> Parent | None:
        data = self._host.object_attribute(fs.metadata_pool, object_of(ino), ATTRIBUTE)
        try:
            return parse_backtrace(data) if data else None
        except ValueError as e:
            raise CephError(f"inode {ino} is not where it was, and where it is cannot be read: {e}") from e


def _held(fragment: Mapping[str, Any]) -> bool:
    """Is an MDS the authority over a fragment in which there is something? It exports no other."""
    return bool(fragment.get("is_auth")) and fragment.get("pins", {"child": 1}).get("child", 0) > 0


def _is_stray(parent: Parent) -> bool:
    return FIRST_OF_USERS > parent.ino != ROOT
