# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clients that know what they wrote, inside the sandbox: python3 -m lab.inside.writers write|verify.

write [WRITERS]: processes that create, overwrite, rename and remove files and directories, each below a
directory of its own, until standard input ends; standard output is then what must be there: {path: content}.
verify: reads such JSON from standard input, compares, and prints {"files", "missing", "wrong", "extra"}.
Only what the file system acknowledged with fsync counts as written.
"""

import errno
import json
import multiprocessing
import os
import random
import sys
import threading
from multiprocessing.synchronize import Event
from typing import Any

import cephfs

ROOT = "/stress"
DIRS = 6  # directories a writer
MOST = 400  # files a directory: several times what a fragment is split at
RANKS = 4
MASK = "ceph.dir.bal.mask"
DONE = ("operations", "masks", "masks_refused")
SHOWN = 20  # paths named a kind of difference

Files = dict[str, str]


def mount() -> Any:
    fs = cephfs.LibCephFS(conffile="/etc/ceph/ceph.conf")
    fs.mount()
    return fs


def content(path: str, turn: int) -> str:
    return f"{path} {turn} " + "x" * (turn % 50)


class Writer:
    """One process; ``files`` is what must be there."""

    def __init__(self, number: int) -> None:
        self.fs = mount()
        self.rng = random.Random(number)
        self.top = f"{ROOT}/w{number}"
        self.files: Files = {}
        self.operations = 0
        self.masks = self.masks_refused = 0
        self._made = 0
        self.dirs = [f"{self.top}/d{i}" for i in range(DIRS)]
        for path in self.dirs:
            self.fs.mkdirs(path, 0o755)

    def step(self) -> None:
        """One operation; many files while there are few, and the other way round."""
        self.operations += 1
        growing = (self.operations // (MOST * DIRS)) % 2 == 0
        names = ("create", "overwrite", "rename", "remove", "rename_directory", "look", "mask")
        weights = (60, 10, 8, 5 if growing else 70, 0.05, 15, 0.05)
        getattr(self, f"_{self.rng.choices(names, weights)[0]}")()

    def _write(self, path: str) -> None:
        text = content(path, self.operations)
        fd = self.fs.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        try:
            self.fs.write(fd, text.encode(), 0)
            self.fs.fsync(fd, 0)
        finally:
            self.fs.close(fd)
        self.files[path] = text

    def _create(self) -> None:
        if len(self.files) >= MOST * DIRS:
            return self._remove()
        self._made += 1
        return self._write(f"{self.rng.choice(self.dirs)}/f{self._made}")

    def _any(self) -> str | None:
        return self.rng.choice(list(self.files)) if self.files else None

    def _overwrite(self) -> None:
        if path := self._any():
            self._write(path)

    def _rename(self) -> None:
        if path := self._any():
            self._made += 1
            new = f"{self.rng.choice(self.dirs)}/r{self._made}"
            self.fs.rename(path, new)
            self.files[new] = self.files.pop(path)

    def _remove(self) -> None:
        if path := self._any():
            self.fs.unlink(path)
            del self.files[path]

    def _rename_directory(self) -> None:
        at = self.rng.randrange(DIRS)
        self._made += 1
        old, new = self.dirs[at], f"{self.top}/D{self._made}"
        self.fs.rename(old, new)
        self.dirs[at] = new
        self.files = {
            new + path.removeprefix(old) if path.startswith(old + "/") else path: text
            for path, text in self.files.items()
        }

    def _look(self) -> None:
        if path := self._any():
            self.fs.stat(path)

    def _mask(self) -> None:
        ranks = self.rng.sample(range(RANKS), self.rng.randint(1, RANKS))
        try:
            self.fs.setxattr(self.top, MASK, ",".join(map(str, ranks)).encode(), 0)
            self.masks += 1
        except cephfs.InvalidValue:
            self.masks_refused += 1

    def end(self) -> None:
        """Everything acknowledged is on disk, or in a journal, afterwards."""
        self.fs.sync_fs()
        self.fs.unmount()
        self.fs.shutdown()


def work(number: int, stop: Event, pipe: Any) -> None:
    """A writer's process: tells what it wrote, or what went wrong."""
    try:
        writer = Writer(number)
        while not stop.is_set():
            writer.step()
        writer.end()
        done = {name: getattr(writer, name) for name in DONE}
        pipe.send({"files": writer.files, **done})
    except Exception as e:
        pipe.send({"error": f"writer {number}: {type(e).__name__}: {e}"})


def until_told(stop: Event) -> None:
    """Standard input's end is the writers'."""
    sys.stdin.read()
    stop.set()


def write(writers: int) -> int:
    multiprocessing.set_start_method("spawn")
    make_root()  # mkdirs of two clients at once can fail with EEXIST
    stop = multiprocessing.Event()
    pipes, processes = [], []
    for number in range(writers):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=work, args=(number, stop, theirs))
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    threading.Thread(target=until_told, args=(stop,), daemon=True).start()
    told = [_told(number, pipe) for number, pipe in enumerate(pipes)]
    for process in processes:
        process.join()
    files: Files = {}
    for each in told:
        files |= each.get("files", {})
    errors = [each["error"] for each in told if "error" in each]
    done = {name: sum(each.get(name, 0) for each in told) for name in DONE}
    json.dump({"files": files, **done, "errors": errors}, sys.stdout)
    return 1 if errors else 0


def make_root() -> None:
    fs = mount()
    try:
        fs.mkdirs(ROOT, 0o755)
    finally:
        fs.unmount()
        fs.shutdown()


def _told(number: int, pipe: Any) -> dict[str, Any]:
    try:
        told: dict[str, Any] = pipe.recv()
    except EOFError:
        return {"error": f"writer {number} died"}
    return told


def found(fs: Any, path: str) -> Files:
    """Every file below a directory, read whole."""
    files: Files = {}
    handle = fs.opendir(path)
    entries = []
    try:
        while entry := fs.readdir(handle):
            if entry.d_name not in (b".", b".."):
                entries.append((entry.d_name.decode(), entry.is_dir()))
    finally:
        fs.closedir(handle)
    for name, is_dir in entries:
        child = f"{path}/{name}"
        if is_dir:
            files |= found(fs, child)
            continue
        fd = fs.open(child, os.O_RDONLY, 0o644)
        try:
            files[child] = fs.read(fd, 0, 1 << 16).decode()
        finally:
            fs.close(fd)
    return files


def verify(expected: Files) -> int:
    fs = mount()
    try:
        there = found(fs, ROOT)
    except cephfs.Error as e:
        print(json.dumps({"error": f"cannot read {ROOT}: {e} ({errno.errorcode.get(abs(e.args[0]), '')})"}))
        return 1
    finally:
        fs.unmount()
        fs.shutdown()
    differences = {
        "missing": sorted(expected.keys() - there.keys()),
        "extra": sorted(there.keys() - expected.keys()),
        "wrong": sorted(path for path in expected.keys() & there.keys() if expected[path] != there[path]),
    }
    counts = {name: len(paths) for name, paths in differences.items()}
    shown = {name: paths[:SHOWN] for name, paths in differences.items() if paths}
    print(json.dumps({"files": len(there), **counts, "paths": shown}))
    return 1 if any(counts.values()) else 0


def main() -> int:
    if sys.argv[1] == "write":
        return write(int(sys.argv[2]))
    return verify(json.load(sys.stdin))


if __name__ == "__main__":
    sys.exit(main())
