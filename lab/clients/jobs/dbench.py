# SPDX-License-Identifier: LGPL-2.1-or-later
"""dbench's load file, replayed by each worker in a directory of its own, as dbench's own clients do.

The data path is left out (lab/clients/loadfile.py); locks of byte ranges
become locks of the file, libcephfs has no others. Results that differ from the recorded ones are errors.
"""

import fcntl
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cephfs

from lab.clients import loadfile
from lab.clients.jobs import files
from lab.clients.jobs.base import Job, Step, UnexpectedError
from lab.clients.loadfile import Operation
from lab.clients.spec import ClientSpec

_DIRECTORY = 0x1  # FILE_DIRECTORY_FILE of the create options
_CREATE, _OVERWRITE_IF = 0x2, 0x5  # create dispositions
_TIMES = (1_000_000_000, 1_000_000_000)  # access, modification: Unix s


class Dbench(Job):
    """All workers replay the same lines."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        super().__init__(fs, client, seed)
        assert client.source is not None
        each = None if client.operations is None else max(1, client.operations // client.workers)
        with Path(client.source).open() as lines:
            self._operations = list(itertools.islice(loadfile.operations(lines), each))

    def directories(self) -> Iterable[str]:
        """Each worker's."""
        return map(self._home, range(self.client.workers))

    def steps(self, worker: int) -> Iterator[Step]:
        """Replay all of it."""
        replay = Replay(self.fs, self._home(worker), owner=worker)
        for operation in self._operations:
            yield operation.name, partial(replay.do, operation)
        replay.close_all()

    def _home(self, worker: int) -> str:
        return f"{self.client.home}/w{worker}"


class Replay:
    """One worker's: its directory and its open files by the recorded handles."""

    def __init__(self, fs: Any, home: str, owner: int) -> None:
        self._fs, self._home, self._owner = fs, home, owner
        self._open: dict[int, int] = {}
        self._does: dict[str, Callable[[Operation], None]] = {
            "NTCreateX": self._create,
            "Close": lambda op: self._fs.close(self._open.pop(self._known(op))),
            "QUERY_PATH_INFORMATION": lambda op: self._fs.stat(self._path(op)),
            "QUERY_FILE_INFORMATION": lambda op: self._fs.fstat(self._handle(op)),
            "QUERY_FS_INFORMATION": lambda op: self._fs.statfs(self._home),
            "SET_FILE_INFORMATION": lambda op: self._fs.futime(self._handle(op), _TIMES),
            "FIND_FIRST": lambda op: files.readdir(self._fs, self._path(op).rpartition("/")[0]),
            "Flush": lambda op: self._fs.fsync(self._handle(op), 0),
            "LockX": lambda op: self._fs.flock(self._handle(op), fcntl.LOCK_EX, self._owner),
            "UnlockX": lambda op: self._fs.flock(self._handle(op), fcntl.LOCK_UN, self._owner),
            "Rename": lambda op: self._fs.rename(self._path(op), self._path(op, 1)),
            "Unlink": lambda op: self._fs.unlink(self._path(op)),
            "Mkdir": self._mkdir,
            "Deltree": lambda op: self._remove(self._path(op)),
        }

    def do(self, op: Operation) -> None:
        """One operation; UnexpectedError when it does not end as recorded."""
        if op.name not in self._does:
            raise UnexpectedError(f"no such operation: {op.name}")
        # A pattern that matched nothing was answered so, but the directory was listed all the same.
        absent = not op.fine and op.name != "FIND_FIRST"
        try:
            self._does[op.name](op)
        except cephfs.ObjectNotFound:
            if absent:
                return
            raise
        if absent:
            raise UnexpectedError(f"{op.name}: there is something that there was not")

    def close_all(self) -> None:
        """Close what the part that was replayed left open."""
        for fd in self._open.values():
            self._fs.close(fd)
        self._open.clear()

    def _path(self, op: Operation, which: int = 0) -> str:
        return self._home + op.paths[which]

    def _known(self, op: Operation) -> int:
        number = op.numbers[0]
        if number not in self._open:
            raise UnexpectedError(f"{op.name}: the file is not open")
        return number

    def _handle(self, op: Operation) -> int:
        return self._open[self._known(op)]

    def _create(self, op: Operation) -> None:
        options, disposition, handle = op.numbers
        path = self._path(op)
        if options & _DIRECTORY:
            if disposition == _CREATE:
                self._make(path)
            flags = os.O_RDONLY | os.O_DIRECTORY
        else:
            made = {_CREATE: os.O_CREAT, _OVERWRITE_IF: os.O_CREAT | os.O_TRUNC}
            flags = os.O_RDWR | made.get(disposition, 0)
        try:
            fd = self._fs.open(path, flags, 0o644)
        except cephfs.ObjectNotFound:
            raise
        except cephfs.Error:
            # dbench does the same: a directory may be opened without saying that it is one.
            fd = self._fs.open(path, os.O_RDONLY | os.O_DIRECTORY, 0o644)
        if not op.fine:
            self._fs.close(fd)
        else:
            self._open[handle] = fd

    def _mkdir(self, op: Operation) -> None:
        self._make(self._path(op))

    def _make(self, path: str) -> None:
        try:
            self._fs.mkdir(path, 0o755)
        except cephfs.ObjectExists:
            return

    def _remove(self, path: str) -> None:
        """A tree, if there is one."""
        try:
            handle = self._fs.opendir(path)
        except cephfs.ObjectNotFound:
            return
        try:
            entries = []
            while (entry := self._fs.readdir(handle)) is not None:
                entries.append(entry)
        finally:
            self._fs.closedir(handle)
        for entry in entries:
            name = os.fsdecode(entry.d_name)
            if name in (".", ".."):
                continue
            if entry.is_dir():
                self._remove(f"{path}/{name}")
            else:
                self._fs.unlink(f"{path}/{name}")
        self._fs.rmdir(path)
