# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operations drawn by weight on files drawn by popularity: closed-loop, endless unless counted."""

import itertools
import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import cephfs

from lab.clients.jobs import files
from lab.clients.jobs.base import Job, Step
from lab.clients.spec import ClientSpec
from lab.clients.tree import Popularity, directory, path_of

_Op = Callable[[random.Random, deque[str], str], None]


class Mix(Job):
    """The default job."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        super().__init__(fs, client, seed)
        self._popularity = Popularity(client.dirs * client.files, client.used_files, client.zipf, seed)
        self._taken = itertools.count()
        self._ops: dict[str, _Op] = {
            "create": self._create,
            "stat": lambda rng, made, prefix: files.stat(fs, self._pick(rng)),
            "open": lambda rng, made, prefix: files.open_and_close(fs, self._pick(rng)),
            "readdir": lambda rng, made, prefix: files.readdir(fs, self._pick(rng).rpartition("/")[0]),
            "unlink": self._unlink,
        }

    def directories(self) -> Iterable[str]:
        """Those to create in."""
        if not self.client.mix.get("create") or not self.client.home:
            return ()
        return (directory(self.client, number) for number in range(self.client.dirs))

    def steps(self, worker: int) -> Iterator[Step]:
        """Draw the operations."""
        rng = random.Random(self.seed * 1_000_003 + worker)
        mix = [(op, weight) for op, weight in self.client.mix.items() if weight > 0]
        names, weights = [op for op, _ in mix], [weight for _, weight in mix]
        made: deque[str] = deque()
        # The process id keeps the names of an earlier run's files out of the way.
        prefix = f"n{os.getpid()}-{worker}"
        while self.client.operations is None or next(self._taken) < self.client.operations:
            op = rng.choices(names, weights)[0]
            if op == "unlink" and not made:
                if "create" not in names:
                    return
                op = "create"
            yield op, partial(self._ops[op], rng, made, prefix)

    def _pick(self, rng: random.Random) -> str:
        return path_of(self.client, self._popularity.draw(rng))

    def _create(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        where = directory(self.client, rng.randrange(self.client.dirs))
        path = f"{where}/{prefix}-{rng.getrandbits(48):012x}"
        self.fs.close(self.fs.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        made.append(path)

    def _unlink(self, rng: random.Random, made: deque[str], prefix: str) -> None:
        path = made.popleft()
        try:
            self.fs.unlink(path)
        except cephfs.ObjectNotFound:
            raise
        except cephfs.Error:
            made.append(path)
            raise
