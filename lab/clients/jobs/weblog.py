# SPDX-License-Identifier: LGPL-2.1-or-later
"""An Apache access log, read in order as the web server read its files."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cephfs

from lab.clients import weblog
from lab.clients.jobs import files
from lab.clients.jobs.base import Job, Step, UnexpectedError
from lab.clients.spec import ClientSpec


class WebLog(Job):
    """Workers take the next request each."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        super().__init__(fs, client, seed)
        assert client.source is not None
        with Path(client.source).open() as lines:
            self._requests = list(itertools.islice(weblog.requests(lines), client.operations))
        self._turns = itertools.count()

    def steps(self, worker: int) -> Iterator[Step]:
        """The requests that this worker gets."""
        touch = files.TOUCH[self.client.touch]
        while (turn := next(self._turns)) < len(self._requests):
            request = self._requests[turn]
            path = self.client.home + request.path
            if request.found:
                yield self.client.touch, partial(touch, self.fs, path)
            else:
                yield "miss", partial(_miss, self.fs, touch, path)


def _miss(fs: Any, touch: Callable[[Any, str], None], path: str) -> None:
    try:
        touch(fs, path)
    except cephfs.ObjectNotFound:
        return
    raise UnexpectedError("there is a file that the server had not")
