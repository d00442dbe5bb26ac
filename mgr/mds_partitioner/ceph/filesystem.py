# SPDX-License-Identifier: LGPL-2.1-or-later
"""The few libcephfs calls the module makes, with errors an operator can read."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import cephfs

from ..errors import CephError, NotFound, Unavailable
from ..model import NO_PIN
from .charmap import Charmap, Charmaps, parse_charmap, stays
from .volumes import kept_in

GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # a link to itself may be where a directory was
PIN = "ceph.dir.pin"
RENTRIES = "ceph.dir.rentries"
ENTRIES = "ceph.dir.entries"
SUBDIRS = "ceph.dir.subdirs"
BAL_MASK = "ceph.dir.bal.mask"  # an MDS without our hook does not take it
NO_MASK = "-1"
DISTRIBUTED, RANDOM = "ceph.dir.pin.distributed", "ceph.dir.pin.random"
CHARMAP = "ceph.dir.charmap"  # an MDS before Tentacle has none


def _code(error: cephfs.Error) -> int:
    # Without a number: the mount is not in a state to be asked (LibCephFSStateError).
    return abs(int(error.args[0])) if error.args and isinstance(error.args[0], int) else errno.ENOTCONN


def _count(text: str) -> int:
    """A recursive statistic; MDSs may have it below 0 for a while, which is printed as 2^64 less that."""
    number = int(text)
    return 0 if number >= 1 << 63 else number


@dataclass(frozen=True)
class Write:
    """A change of a directory that the MDS was asked for and has not answered yet."""

    ino: int
    path: str  # when it was asked for
    attribute: str
    value: str


class Attempt:
    """One use of a mount by one thread. Its caller may give it up: then it begins no change any more.

    :ivar ino: of the directory that it is about; None: of several, or not said
    """

    def __init__(self, ino: int | None = None) -> None:
        self.ino = ino
        self._lock = threading.Lock()
        self._given_up = False
        self._write: Write | None = None

    @contextmanager
    def writing(self, write: Write) -> Iterator[None]:
        """Around a change. :raises Unavailable: the caller has given up; the change is not made."""
        with self._lock:
            if self._given_up:
                raise Unavailable(f"{write.attribute} of {write.path!r} was not set: given up before")
            self._write = write
        try:
            yield
        finally:
            with self._lock:
                self._write = None

    def in_flight(self) -> Write | None:
        """The change that is being made at this moment."""
        with self._lock:
            return self._write

    def hangs(self) -> bool:
        """Was it given up without having begun a change? Asked while it has not ended."""
        with self._lock:
            return self._given_up and self._write is None

    def give_up(self) -> Write | None:
        """From now on no change is begun; the one that has been begun already and cannot be called back."""
        with self._lock:
            self._given_up = True
            return self._write


class FileSystem:
    """A mounted file system. Paths are absolute; bytes that are not UTF-8 travel as surrogates.

    Names are those that MDSs have, where a charmap makes others of what clients type: these find them, too.
    One is for one call, and remembers what it was told of links.
    """

    def __init__(self, handle: Any, attempt: Attempt, charmaps: Charmaps | None = None) -> None:
        """``charmaps``: remembered from one to the next."""
        self._handle, self._attempt = handle, attempt
        self._charmaps = charmaps or Charmaps()
        self._links: dict[str, bool] = {}  # paths in which something was looked for: are they over a link?

    @contextmanager
    def _readable_errors(self, what: str, path: str) -> Iterator[None]:
        try:
            yield
        except (cephfs.Error, UnicodeDecodeError) as e:
            # The binding's own words have the path as text: of one that is not UTF-8 they hide the error.
            code = _code(e) if isinstance(e, cephfs.Error) else self._hidden(path)
            kind = NotFound if code in GONE else CephError
            raise kind(f"cannot {what} {path!r}: {os.strerror(code)}", code) from e

    def _hidden(self, path: str) -> int:
        """The number of an error that a call on a directory met: that of a call that can tell it, if any."""
        try:
            mode = self._statx(path, cephfs.CEPH_STATX_MODE)["mode"]
        except cephfs.Error as e:
            return _code(e)
        return errno.EIO if stat.S_ISDIR(mode) else errno.ENOTDIR

    def _statx(self, path: str, mask: int, flags: int = 0) -> Any:
        """``stat`` would hide errors."""
        return self._handle.statx(os.fsencode(path), mask, flags)

    def ino(self, path: str) -> int:
        """Inode number of a directory, or of a symbolic link in its place: MDSs follow none.

        :raises NotFound: there is nothing of that name
        """
        with self._readable_errors("stat", path):
            return int(self._statx(path, cephfs.CEPH_STATX_INO, cephfs.AT_SYMLINK_NOFOLLOW)["ino"])

    def is_directory(self, path: str) -> bool:
        """Or is it a file? :raises NotFound: neither."""
        with self._readable_errors("stat", path):
            return stat.S_ISDIR(self._statx(path, cephfs.CEPH_STATX_MODE)["mode"])

    def is_link(self, path: str) -> bool:
        """Is it a symbolic link? :raises NotFound: it is not there."""
        with self._readable_errors("stat", path):
            mode = self._statx(path, cephfs.CEPH_STATX_MODE, cephfs.AT_SYMLINK_NOFOLLOW)["mode"]
            return stat.S_ISLNK(mode)

    def over_link(self, path: str) -> bool:
        """Is a symbolic link on the way to it? It is found all the same, but MDSs, which follow none, do not
        know it by this path. Each directory is asked about once.

        :raises NotFound: one on the way is not there
        """
        link, above = False, ""
        for name in path.strip("/").split("/")[:-1]:
            above = f"{above}/{name}"
            if above not in self._links:
                self._links[above] = link or self.is_link(above)
            link = self._links[above]
        return link

    def born(self, path: str) -> float:
        """When it was made, seconds since the Unix epoch, by the clock of the client that made it.

        :raises NotFound: no such file or directory
        """
        with self._readable_errors("stat", path):
            return float(self._statx(path, cephfs.CEPH_STATX_BTIME)["btime"].timestamp())

    def ephemeral_pins(self, path: str) -> tuple[bool, bool]:
        """Its own ``ceph.dir.pin.distributed`` and ``.random``: are they set? The MDS is asked."""
        return self.get(path, DISTRIBUTED) == "1", float(self.get(path, RANDOM)) > 0.0

    def get(self, path: str, attribute: str) -> str:
        """A virtual extended attribute as text."""
        with self._readable_errors(f"read {attribute} of", path):
            return str(self._handle.getxattr(os.fsencode(path), attribute).decode())

    def pin(self, path: str) -> int:
        """``ceph.dir.pin`` of the directory itself; -1 when it follows its parent."""
        return self.rentries_and_pin(path)[1]

    def rentries_and_pin(self, path: str) -> tuple[int, int]:
        """See ``rentries`` and ``pin``: what one question to the MDS brings.

        The client library answers for a pin from its cache, which another mount's change does not reach;
        recursive statistics are always asked of the MDS, and the answer brings the pin along.
        """
        rentries = self.rentries(path)
        try:
            return rentries, int(self.get(path, PIN))
        except CephError as e:
            if e.code == errno.ENODATA:
                return rentries, NO_PIN
            raise

    def mask(self, path: str) -> str:
        """``ceph.dir.bal.mask`` of the directory itself, ranks as a list; "-1" when it follows its parent."""
        try:
            return self.get(path, BAL_MASK)
        except CephError as e:
            if e.code == errno.ENODATA:
                return NO_MASK
            raise

    def load(self, path: str) -> None:
        """Make the MDS read a directory: it exports nothing that it does not have in its cache.

        Not more than is needed: the MDS gives this client capabilities of what is listed. libcephfs answers
        for the directory itself and for its parent without asking (Client.cc, _readdir_r_cb).
        """
        with self._readable_errors("list", path):
            handle = self._handle.opendir(os.fsencode(path))
            try:
                while (entry := self._handle.readdir(handle)) and entry.d_name in (b".", b".."):
                    pass
            finally:
                self._handle.closedir(handle)

    def set_attribute(
        self, path: str, ino: int, attribute: str, value: str, may: Callable[[], bool] = lambda: True
    ) -> None:
        """Set what moves a directory.

        An MDS answers before its journal is written and shows the old value until then; so this waits for it.

        :param may: asked when the directory was found, right before the change
        :raises Unavailable: the caller has given up, or it may not any more; nothing was set
        :raises NotFound: the path is not that inode's any more; nothing was set
        """
        with self._opened(path, ino) as descriptor:
            if not may():
                raise Unavailable(
                    f"{attribute} of {path!r} was not set: it is not as it was, or not wanted any more"
                )
            with self._attempt.writing(Write(ino, path, attribute, value)):
                with self._readable_errors(f"set {attribute} of", path):
                    self._handle.fsetxattr(descriptor, attribute, value.encode(), 0)
                with self._readable_errors("sync", path):
                    self._handle.sync_fs()

    @contextmanager
    def _opened(self, path: str, ino: int) -> Iterator[int]:
        """A directory's descriptor, which stays that directory's whatever its path becomes.

        :raises NotFound: the path is not that inode's any more
        """
        with self._readable_errors("open", path):
            descriptor = self._handle.open(os.fsencode(path), os.O_RDONLY | os.O_DIRECTORY, 0)
        try:
            with self._readable_errors("stat", path):
                found = int(self._handle.fstat(descriptor).st_ino)
            if found != ino:
                raise NotFound(f"{path!r} was replaced by another directory")
            yield descriptor
        finally:
            with suppress(cephfs.Error):  # what was done with it is done
                self._handle.close(descriptor)

    def rentries(self, path: str) -> int:
        """Files and directories: the directory itself and all below it (recursive statistics)."""
        return _count(self.get(path, RENTRIES))

    def entries(self, path: str) -> int:
        """How many files and directories are right below it."""
        return _count(self.get(path, ENTRIES))

    def subdirs(self, path: str) -> int:
        """How many of them are directories."""
        return _count(self.get(path, SUBDIRS))

    def subdirectories(self, path: str) -> list[tuple[str, int]]:
        """Names and inode numbers of the directories right below, by name; without the volumes module's own,
        which are nobody's load."""
        found, own, internal = [], 0, kept_in(path)
        with self._readable_errors("list", path):
            handle = self._handle.opendir(os.fsencode(path))
            try:
                while entry := self._handle.readdir(handle):
                    name = os.fsdecode(entry.d_name)
                    if name == ".":
                        own = int(entry.d_ino)
                    elif entry.is_dir() and name != ".." and name not in internal:
                        found.append((name, int(entry.d_ino)))
            finally:
                self._handle.closedir(handle)
        if not found:
            self._charmaps.forget(own)  # of what is empty it may be changed
        if not all(stays(name) for name, _ in found):
            charmap = self._charmaps.find(own, lambda: self._charmap(path))
            found = [(charmap(name), ino) for name, ino in found] if charmap else found
        return sorted(found)

    def name_in(self, path: str, name: str) -> str:
        """What an entry of a directory is called, which clients may also find by this name.

        :raises NotFound: no such directory
        """
        if stays(name):
            return name
        charmap = self._charmaps.find(self.ino(path), lambda: self._charmap(path))
        return charmap(name) if charmap else name

    def _charmap(self, path: str) -> Charmap | None:
        """What MDSs make of names there; None: nothing. Only what is empty can be given another."""
        try:
            return parse_charmap(self.get(path, CHARMAP))
        except CephError as e:
            if e.code != errno.ENODATA:
                raise
            return None
