# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tree that a client's job needs, before the clock starts."""

import contextlib
import os
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cephfs

from lab.clients import weblog
from lab.clients.lines import say
from lab.clients.spec import ClientSpec
from lab.clients.threads import join, start
from lab.clients.tree import directory, parents, path_of

_PREPARERS = 8


def tree(client: ClientSpec) -> tuple[list[str], Sequence[str]]:
    """Directories, each after those above it, and files."""
    if client.job in ("dbench", "programs"):
        return [], []
    if client.job == "weblog":
        assert client.source is not None
        with Path(client.source).open() as lines:
            files = [client.home + path for path in weblog.files(lines)]
        return sorted({above for file in files for above in parents(file)}), files
    directories = [directory(client, number) for number in range(client.dirs)]
    above = parents(directories[0])
    return above + directories, [path_of(client, number) for number in range(client.dirs * client.files)]


class Prepare:
    """One client's preparation."""

    def __init__(self, fs: Any, client: ClientSpec, stop: threading.Event) -> None:
        self._fs = fs
        self._client = client
        self._stop = stop
        self._failures: list[str] = []

    def run(self) -> bool:
        """Make what is missing; False when stopped or failed."""
        started = time.monotonic()
        directories, files = tree(self._client)
        for path in directories:
            with contextlib.suppress(cephfs.ObjectExists):
                self._fs.mkdir(path, 0o755)
        complete = join(start(lambda number: self._fill(files, number), _PREPARERS), self._stop)
        seconds = round(time.monotonic() - started, 3)
        line = {"client": self._client.name, "prepared": len(files), "seconds": seconds}
        say({**line, "errors": self._failures} if self._failures else line)
        return complete and not self._failures and not self._stop.is_set()

    def _fill(self, files: Sequence[str], first: int) -> None:
        content = random.Random(self._client.name).randbytes(self._client.size)
        for path in files[first::_PREPARERS]:
            if self._stop.is_set():
                return
            try:
                fd = self._fs.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
                if content:
                    self._fs.write(fd, content, 0)
                self._fs.close(fd)
            except cephfs.Error as e:
                self._failures.append(str(e))
                return
