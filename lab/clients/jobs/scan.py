# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every directory listed and every file touched once, in order, as a training job reads its data set."""

import itertools
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from lab.clients.jobs import files
from lab.clients.jobs.base import Job, Step
from lab.clients.spec import ClientSpec
from lab.clients.tree import directory, path_in_scan

_BLOCK = 1 << 20


class Scan(Job):
    """Workers take the next file each; begins at ``start`` and goes round."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        super().__init__(fs, client, seed)
        self._total = client.dirs * client.files
        self._first = int(client.start * self._total)
        self._turns = itertools.count()
        self._touch = files.TOUCH[client.touch]

    def steps(self, worker: int) -> Iterator[Step]:
        """The files that this worker gets."""
        wanted = min(self._total, self.client.operations or self._total)
        while (turn := next(self._turns)) < wanted:
            number = (self._first + turn) % self._total
            if turn == 0 or number % self.client.files == 0:
                where = directory(self.client, number // self.client.files)
                yield "readdir", partial(files.readdir, self.fs, where)
            yield self.client.touch, partial(self._touch, self.fs, path_in_scan(self.client, number))

    def last(self) -> Iterator[Step]:
        """Write the record file."""
        if self.client.record is not None:
            yield "record", partial(self._write, self.client.record)

    def _write(self, path: str) -> None:
        self.make_directories(path.rpartition("/")[0])
        text = "".join(f"{path_in_scan(self.client, n)}\n" for n in range(self._total)).encode()
        fd = self.fs.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
        try:
            for offset in range(0, len(text), _BLOCK):
                self.fs.write(fd, text[offset : offset + _BLOCK], offset)
        finally:
            self.fs.close(fd)
