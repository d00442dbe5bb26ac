# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs inside the lab, on libcephfs: what the tests do to the file system and read from it.

python3 - COMMAND < this file; then one JSON value with the arguments; the answer is JSON on standard output
"""

import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cephfs

PIN = "ceph.dir.pin"
THREADS = 6


def children(fs: Any, path: bytes) -> Iterator[tuple[bytes, bool]]:
    handle = fs.opendir(path)
    try:
        while entry := fs.readdir(handle):
            if entry.d_name not in (b".", b".."):
                yield entry.d_name, entry.is_dir()
    finally:
        fs.closedir(handle)


def directories(fs: Any, path: bytes) -> Iterator[bytes]:
    """Every directory from path down, but what the volumes module is deleting meanwhile."""
    yield path
    for name, is_dir in list(children(fs, path)):
        if is_dir and name != b"_deleting":
            yield from directories(fs, path.rstrip(b"/") + b"/" + name)


def read_pin(fs: Any, path: bytes) -> int:
    # Recursive statistics are always asked of the MDS; the answer brings the pin along.
    fs.getxattr(path, "ceph.dir.rentries")
    try:
        return int(fs.getxattr(path, PIN))
    except cephfs.Error as e:
        if getattr(e, "errno", None) not in (errno.ENODATA, -errno.ENODATA):
            raise
        return -1


def pins(fs: Any, root: str) -> dict[str, int]:
    """The pin of every directory from root down, by path."""
    return {os.fsdecode(path): read_pin(fs, path) for path in directories(fs, os.fsencode(root))}


def pin(fs: Any, paths: dict[str, int]) -> None:
    """Pin directories: {path: rank}."""
    for path, rank in paths.items():
        raw = os.fsencode(path)
        list(children(fs, raw))
        fs.setxattr(raw, PIN, str(rank).encode(), 0)


def unpin(fs: Any, root: str) -> list[str]:
    """Bring everything below root home to rank 0: what is pinned is pinned to 0; how many there were."""
    found = [path for path, rank in pins(fs, root).items() if rank != -1]
    pin(fs, dict.fromkeys(found, 0))
    return found


def attribute(fs: Any, asked: list[str]) -> str:
    """An extended attribute of a directory: [path, name]."""
    path, name = asked
    return str(fs.getxattr(os.fsencode(path), name).decode())


def mkdirs(fs: Any, paths: list[str]) -> None:
    for path in paths:
        fs.mkdirs(os.fsencode(path), 0o755)


def rename(fs: Any, names: list[str]) -> None:
    fs.rename(os.fsencode(names[0]), os.fsencode(names[1]))


def rmtree(fs: Any, path: str) -> None:
    raw = os.fsencode(path)
    for name, is_dir in list(children(fs, raw)):
        child = raw + b"/" + name
        if is_dir:
            rmtree(fs, os.fsdecode(child))
        else:
            fs.unlink(child)
    fs.rmdir(raw)


def content(path: bytes) -> bytes:
    """What a file of the tree holds: its own name, hashed, so that no two files are alike."""
    return hashlib.sha256(path).digest()


def _build_dir(fs: Any, path: bytes, files: int) -> None:
    for i in range(files):
        name = path + b"/f%05d" % i
        fd = fs.open(name, os.O_CREAT | os.O_WRONLY, 0o600 | (i % 64))
        fs.write(fd, content(name), 0)
        fs.close(fd)


def build(fs: Any, tree: dict[str, Any]) -> None:
    """Make {"paths": [directory, ...], "files": N in each}."""
    mkdirs(fs, tree["paths"])  # one after the other: two that make the same parent are in each other's way
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [pool.submit(_build_dir, fs, os.fsencode(p), tree["files"]) for p in tree["paths"]]
        for job in jobs:
            job.result()


def _digest_dir(fs: Any, path: bytes) -> tuple[int, str]:
    """One line a file: name, mode, owner, times, size, hash of the content."""
    lines = []
    for name, is_dir in list(children(fs, path)):
        if is_dir or not name.startswith(b"f"):
            continue  # the load makes and removes files whose names begin with n
        file = path + b"/" + name
        info = fs.lstat(file)
        fd = fs.open(file, os.O_RDONLY, 0)
        try:
            data = fs.read(fd, 0, 1 << 16)
        finally:
            fs.close(fd)
        lines.append(
            f"{os.fsdecode(name)} {info.st_mode:o} {info.st_uid} {info.st_gid} {info.st_mtime} "
            f"{info.st_size} {hashlib.sha256(data).hexdigest()}"
        )
    mode = stat.S_IMODE(fs.stat(path).st_mode)
    return len(lines), hashlib.sha256("\n".join([f"{mode:o}", *sorted(lines)]).encode()).hexdigest()


def checksums(fs: Any, paths: list[str]) -> dict[str, tuple[int, str]]:
    """Number of files and checksum of each directory, by path."""
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = {p: pool.submit(_digest_dir, fs, os.fsencode(p)) for p in paths}
        return {p: job.result() for p, job in jobs.items()}


COMMANDS: dict[str, Any] = {
    f.__name__: f for f in (pins, pin, unpin, attribute, mkdirs, rename, rmtree, build, checksums)
}


def main() -> None:
    fs = cephfs.LibCephFS(auth_id="admin", conffile="/etc/ceph/ceph.conf")
    fs.mount()
    try:
        answer = COMMANDS[sys.argv[1]](fs, json.loads(sys.argv[2]))
    finally:
        fs.shutdown()
    print(json.dumps(answer))


main()
