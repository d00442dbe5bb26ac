# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories made, used and removed all the time, as mdtest and unpacking and building do."""

import itertools
import os
from collections.abc import Iterator
from functools import partial

from lab.clients.jobs import files
from lab.clients.jobs.base import Job, Step


class Churn(Job):
    """Each worker makes a tree below ``home``, stats and removes its files, and then the tree; then the
    next, until stopped. A tree is a directory and ``dirs`` - 1 in it, with ``files`` files in each."""

    def directories(self) -> Iterator[str]:
        """The one that lasts."""
        yield self.client.home or "/"

    def steps(self, worker: int) -> Iterator[Step]:
        """One tree after the other, each of a name of its own."""
        for turn in itertools.count():
            top = f"{self.client.home}/{self.client.name}.{worker}.{turn}"
            places = [top, *(f"{top}/d{number}" for number in range(1, self.client.dirs))]
            paths = [f"{place}/f{number}" for place in places for number in range(self.client.files)]
            for place in places:
                yield "mkdir", partial(self.fs.mkdir, place, 0o755)
            for path in paths:
                yield "create", partial(self._create, path)
            for path in paths:
                yield "stat", partial(files.stat, self.fs, path)
            for path in paths:
                yield "unlink", partial(self.fs.unlink, path)
            for place in reversed(places):
                yield "rmdir", partial(self.fs.rmdir, place)

    def _create(self, path: str) -> None:
        self.fs.close(self.fs.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
