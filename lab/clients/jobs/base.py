# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every job has."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cephfs

from lab.clients.spec import ClientSpec

Step = tuple[str, Callable[[], object]]
"""The name of an operation, and the operation; a cephfs.Error tells that it failed."""


class UnexpectedError(cephfs.Error):
    """An operation had another result than the recorded one."""


class Stopped(Exception):
    """An operation was broken off by the order to stop, and counts as none."""


class Job(ABC):
    """One client's job, shared by its workers."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        self.fs = fs
        self.client = client
        self.seed = seed

    def begin(self) -> None:
        """Before the clock starts."""
        for path in self.directories():
            self.make_directories(path)

    def directories(self) -> Iterable[str]:
        """Those that belong to this run alone, and so are not prepared."""
        return ()

    @abstractmethod
    def steps(self, worker: int) -> Iterator[Step]:
        """What a worker does until it has done its part; each step is done before the next is asked for."""

    def last(self) -> Iterator[Step]:
        """What is done once when all workers have done their part."""
        return iter(())

    def make_directories(self, path: str) -> None:
        """A directory and those above it; those that are there already are fine."""
        with contextlib.suppress(cephfs.ObjectExists):
            self.fs.mkdirs(path, 0o755)
