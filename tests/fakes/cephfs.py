# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for libcephfs' binding, which the host lacks: exceptions, and a mount that fails as one does."""

from __future__ import annotations

import errno
import stat
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

CEPH_STATX_MODE, CEPH_STATX_INO, CEPH_STATX_BTIME = 0x1, 0x100, 0x800
AT_SYMLINK_NOFOLLOW = 0x100


class Error(Exception):
    """As cephfs.Error: args are an errno and a text."""


class ObjectNotFound(Error):
    """ENOENT."""


class ObjectExists(Error):
    """EEXIST."""


def fail(code: int, message: str) -> NoReturn:
    """As make_ex of cephfs.pyx."""
    raise (ObjectNotFound if code == errno.ENOENT else Error)(code, message)


@dataclass
class Inode:
    """What is at a path. ``shown``: as what ``readdir`` names it; ``target``: of a symbolic link."""

    ino: int
    mode: int = stat.S_IFDIR
    shown: bytes = b""
    target: bytes = b""
    attributes: dict[str, str] = field(default_factory=dict)


class DirEntry(NamedTuple):
    """As in the binding."""

    d_name: bytes
    d_ino: int
    mode: int = stat.S_IFDIR

    def is_dir(self) -> bool:
        """As in the binding."""
        return stat.S_ISDIR(self.mode)


class LibCephFS:
    """A mount. Paths are in bytes, with the names that MDSs have.

    ``stat``, ``opendir`` and ``open`` have the path in what they say of an error, as text; so one that is not
    UTF-8 hides it. ``statx`` has it in bytes, ``getxattr`` not at all.
    """

    def __init__(self) -> None:
        self.inodes = {b"/": Inode(1)}
        self.refusal = 0  # the number of an error that each call meets, if any
        self.asked: list[str] = []  # attributes

    def add(self, path: bytes, ino: int, **more: Any) -> Inode:
        """Something that is there from now on."""
        self.inodes[path] = found = Inode(ino, **more)
        return found

    def _code(self, path: bytes, *, follow: bool = True) -> int:
        """The number of the error that a path meets; 0: none."""
        real = self._real(path, follow=follow)
        parent = self.inodes.get(real.rpartition(b"/")[0] or b"/")
        if parent is not None and not stat.S_ISDIR(parent.mode):
            return errno.ENOTDIR
        return self.refusal or (0 if real in self.inodes else errno.ENOENT)

    def _real(self, path: bytes, *, follow: bool) -> bytes:
        real = b""
        names = path.strip(b"/").split(b"/")
        for i, name in enumerate(names):
            real = real.rstrip(b"/") + b"/" + name
            found = self.inodes.get(real)
            if found is not None and found.target and (follow or i < len(names) - 1):
                real = found.target
        return real

    def stat(self, path: bytes) -> NoReturn:
        """Not for the module: what it says of an error may hide that."""
        raise AssertionError("statx tells errors")

    def statx(self, path: bytes, mask: int, flag: int) -> dict[str, Any]:
        """As in the binding."""
        follow = not flag & AT_SYMLINK_NOFOLLOW
        if code := self._code(path, follow=follow):
            fail(code, f"error in stat: {path!r}")
        found = self.inodes[self._real(path, follow=follow)]
        known = {
            CEPH_STATX_MODE: ("mode", found.mode),
            CEPH_STATX_INO: ("ino", found.ino),
            CEPH_STATX_BTIME: ("btime", datetime.fromtimestamp(0)),
        }
        return dict(value for bit, value in known.items() if mask & bit)

    def _directory(self, path: bytes, message: str) -> bytes:
        real = self._real(path, follow=True)
        code = self._code(path)
        if not code and not stat.S_ISDIR(self.inodes[real].mode):
            code = errno.ENOTDIR
        if code:
            fail(code, message.format(path.decode("utf-8")))
        return real

    def opendir(self, path: bytes) -> list[DirEntry]:
        """As in the binding."""
        real = self._directory(path, "opendir failed at {}")
        below = {
            at: i
            for at, i in self.inodes.items()
            if at != b"/" and at.rpartition(b"/")[0] == real.rstrip(b"/")
        }
        own = self.inodes[real].ino
        found = [DirEntry(i.shown or at.rpartition(b"/")[2], i.ino, i.mode) for at, i in below.items()]
        return [DirEntry(b".", own), DirEntry(b"..", 1), *found]

    def readdir(self, handle: list[DirEntry]) -> DirEntry | None:
        """As in the binding."""
        return handle.pop(0) if handle else None

    def closedir(self, handle: list[DirEntry]) -> None:
        """As in the binding."""

    def open(self, path: bytes, flags: int, mode: int) -> int:
        """As in the binding, of a directory."""
        return self.inodes[self._directory(path, "error in open {}")].ino

    def getxattr(self, path: bytes, name: str) -> bytes:
        """As in the binding."""
        self.asked.append(name)
        if code := self._code(path):
            fail(code, "error in getxattr")
        found = self.inodes[self._real(path, follow=True)].attributes
        if name not in found:
            fail(errno.ENODATA, "error in getxattr")
        return found[name].encode()
