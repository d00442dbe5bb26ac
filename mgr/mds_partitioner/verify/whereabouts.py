# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a directory is, and on which rank. The MDSs are asked, never the plan."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping
from typing import Any

from ..ceph.host import Host
from ..ceph.volumes import internal
from ..errors import CephError, NotFound, PartitionerError, Unavailable
from ..model import ROOT, FsState
from ..observe.backtrace import ATTRIBUTE, Parent, object_of, parse_backtrace
from ..observe.subtrees import subtree_map
from .guards import inactive

FIRST_OF_USERS = 1 << 40  # inodes below belong to the MDSs: what lies in their stray directories was deleted


class MdsWhereabouts:
    """What the MDSs, and the metadata pool where they have forgotten, say of directories."""

    def __init__(self, host: Host) -> None:
        self._host = host

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

        :raises Unavailable: who would know does not answer
        :raises CephError: its backtrace cannot be read
        """
        names: list[str] = []
        at, seen = ino, {ino}
        while at != ROOT:
            cached = self._cached(fs, at)
            if cached is not None:
                names.append(cached.rstrip("/"))
                break
            parent = self._parent(fs, at)
            if parent is None or _is_stray(parent):
                return None
            names.append("/" + os.fsdecode(parent.name))
            at = parent.ino
            if at in seen:  # as after a repair
                raise CephError(f"the backtraces of {ino:#x} and of what it is in name each other")
            seen.add(at)
        path = "".join(reversed(names))
        # An MDS calls what was deleted "~mds0/stray1/..." as long as it has it.
        if not path.startswith("/") or internal(path):
            return None
        return self._checked(fs, path, ino)

    def deleted(self, fs: FsState, ino: int) -> bool:
        """Was a directory deleted for good? What was renamed, or is in the trash, was not.

        :raises PartitionerError: who would know does not answer, or its backtrace cannot be read
        """
        if self._users(fs, ino):  # first, as most are there: then no MDS is asked
            return False
        cached = self._cached(fs, ino)
        return (cached is None or not cached.startswith("/")) and not self._users(fs, ino)

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

    def _checked(self, fs: FsState, path: str, ino: int) -> str:
        try:
            if self._host.on_fs(fs, lambda mount: mount.ino(path), ino) == ino:
                return path
        except NotFound:
            pass
        raise Unavailable(f"{path!r} is being renamed: where it is now is looked at again")


def _held(fragment: Mapping[str, Any]) -> bool:
    """Is an MDS the authority over a fragment in which there is something? It exports no other."""
    return bool(fragment.get("is_auth")) and fragment.get("pins", {"child": 1}).get("child", 0) > 0


def _is_stray(parent: Parent) -> bool:
    return FIRST_OF_USERS > parent.ino != ROOT
