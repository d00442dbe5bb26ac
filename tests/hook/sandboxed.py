# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs inside the lab, on libcephfs: python3 - COMMAND ARGUMENT < this file; the answer is JSON."""

import json
import os
import sys
from typing import Any

import cephfs


def mount() -> Any:
    fs = cephfs.LibCephFS(conffile="/etc/ceph/ceph.conf")
    fs.mount()
    return fs


def make(fs: Any, tree: dict[str, int]) -> dict[str, int]:
    """Directories, in order, with so many empty files in each; their inode numbers."""
    for path, files in tree.items():
        fs.mkdirs(path, 0o755)
        for number in range(files):
            fs.close(fs.open(f"{path}/f{number:04d}", os.O_CREAT | os.O_WRONLY, 0o644))
    fs.sync_fs()
    return {path: int(fs.stat(path).st_ino) for path in tree}


def rentries(fs: Any, path: str) -> int:
    return int(fs.getxattr(path, "ceph.dir.rentries"))


def visit(fs: Any, paths: list[str]) -> None:
    for path in paths:
        fs.stat(path)


def miss(fs: Any, paths: list[str]) -> None:
    """Ask for names that are not there."""
    for path in paths:
        try:
            fs.stat(path)
        except cephfs.ObjectNotFound:
            continue


def setxattr(fs: Any, what: list[str]) -> int:
    """[path, name, value]; an empty value removes. 0, or the errno."""
    path, name, value = what
    try:
        if value:
            fs.setxattr(path, name, value.encode(), 0)
        else:
            fs.removexattr(path, name)
    except cephfs.Error as e:
        return abs(int(getattr(e, "errno", 0) or 5))
    return 0


def getxattr(fs: Any, what: list[str]) -> str | None:
    """[path, name]; None when there is none."""
    try:
        value: bytes = fs.getxattr(what[0], what[1])
    except cephfs.Error as e:
        if abs(int(getattr(e, "errno", 0))) != 61:  # ENODATA
            raise
        return None
    return value.decode()


COMMANDS = {f.__name__: f for f in (make, rentries, visit, miss, setxattr, getxattr)}


def main() -> None:
    fs = mount()
    try:
        print(json.dumps(COMMANDS[sys.argv[1]](fs, json.loads(sys.argv[2]))))
    finally:
        fs.unmount()
        fs.shutdown()


main()
