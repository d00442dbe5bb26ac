# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator does in the file system, inside the sandbox: pins, renames, removals, and looks; and the
module's own, to be compared with a model of them.

Request, a JSON line each: {"do": a method of Mount, "args": [...]}
Answer: {"value": ...}, or {"error": text} when the file system refused it.
"""

import errno
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cephfs

# The module's file system without the module, which only a manager can import.
_package = sys.modules["mds_partitioner"] = ModuleType("mds_partitioner")
_package.__path__ = [str(Path(__file__).parents[2] / "mgr/mds_partitioner")]
errors = import_module("mds_partitioner.errors")
filesystem = import_module("mds_partitioner.ceph.filesystem")

PIN = "ceph.dir.pin"
FILES = 10  # in a directory that is made


class Mount:
    """What can be done; paths are absolute, ranks numbers or -1."""

    def __init__(self) -> None:
        self._fs = cephfs.LibCephFS(auth_id="admin", conffile="/etc/ceph/ceph.conf")
        self._fs.mount()
        self._module = filesystem.FileSystem(self._fs, filesystem.Attempt())

    def end(self) -> None:
        self._fs.shutdown()

    def pin(self, path: str, rank: int) -> int:
        """Pin a directory; its inode's number."""
        list(self._children(path))  # an MDS exports only what it has in cache
        ino = int(self._fs.lstat(path).st_ino)
        self._fs.setxattr(path, PIN, str(rank).encode(), 0)
        return ino

    def make(self, path: str, children: int) -> None:
        """Make a directory with files, and so many like it in it."""
        self._fs.mkdirs(path, 0o755)
        for number in range(FILES):
            self._fs.close(self._fs.open(f"{path}/f{number}", "w", 0o644))
        for number in range(children):
            self.make(f"{path}/c{number}", 0)

    def rename(self, old: str, new: str) -> None:
        self._fs.rename(old, new)

    def remove(self, path: str) -> None:
        """Remove a directory and all below it."""
        for name, is_dir in list(self._children(path)):
            if is_dir:
                self.remove(f"{path}/{name}")
            else:
                self._fs.unlink(f"{path}/{name}")
        self._fs.rmdir(path)

    def scan(self, path: str) -> list[list[Any]]:
        """[path, inode number, pin] of every directory from path down."""
        found = [[path, int(self._fs.lstat(path).st_ino), self._pin_of(path)]]
        for name, is_dir in list(self._children(path)):
            if is_dir:
                found += self.scan(f"{path}/{name}")
        return found

    def known(self, path: str) -> tuple[int, str, str] | None:
        """What the module reads of a directory: inode number, pin, ceph.dir.pin.distributed; None: gone."""
        try:
            ino = self._module.ino(path)
            return ino, str(self._module.pin(path)), self._module.get(path, filesystem.DISTRIBUTED)
        except errors.NotFound:
            return None

    def set_attribute(self, path: str, ino: int, attribute: str, value: str) -> None:
        """As the module sets it."""
        self._module.set_attribute(path, ino, attribute, value)

    def _pin_of(self, path: str) -> int:
        self._fs.getxattr(path, "ceph.dir.rentries")  # asked of the MDS, and brings the pin along
        try:
            return int(self._fs.getxattr(path, PIN))
        except cephfs.Error as e:
            if abs(getattr(e, "errno", 0)) != errno.ENODATA:
                raise
            return -1

    def _children(self, path: str) -> Iterator[tuple[str, bool]]:
        handle = self._fs.opendir(path)
        try:
            while entry := self._fs.readdir(handle):
                if entry.d_name not in (b".", b".."):
                    yield entry.d_name.decode(), entry.is_dir()
        finally:
            self._fs.closedir(handle)


def main() -> None:
    """Serve until standard input ends; a mount that has failed is replaced."""
    mount: Mount | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            mount = mount or Mount()
            answer = {"value": getattr(mount, request["do"])(*request["args"])}
        except cephfs.Error as e:
            answer = {"error": str(e)}
            if abs(getattr(e, "errno", 0)) not in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY):
                mount = None
        except errors.PartitionerError as e:
            answer = {"error": str(e)}
        print(json.dumps(answer), flush=True)
    if mount is not None:
        mount.end()


if __name__ == "__main__":
    main()
