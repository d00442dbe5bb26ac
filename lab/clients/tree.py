# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a client's prepared files are, below what it mounts, and which one is used next."""

import itertools
import random
from bisect import bisect_right

from lab.clients.spec import ClientSpec


def directory(client: ClientSpec, number: int) -> str:
    """Path of a prepared directory."""
    return f"{client.home}/d{client.first_dir + number:04d}"


def path_of(client: ClientSpec, number: int) -> str:
    """Path of a prepared file: neighbours by number are in different directories."""
    return f"{directory(client, number % client.dirs)}/f{number // client.dirs:05d}"


def path_in_scan(client: ClientSpec, turn: int) -> str:
    """Path of the file whose turn it is when one directory is read after the other."""
    return f"{directory(client, turn // client.files)}/f{turn % client.files:05d}"


def parents(path: str) -> list[str]:
    """All directories above a path but the root, the highest first."""
    names = path.strip("/").split("/")[:-1]
    return ["/" + "/".join(names[: k + 1]) for k in range(len(names))]


class Popularity:
    """Draws from a working set: a fixed random sample of all files, uniform or by Zipf's law."""

    def __init__(self, total: int, used: int, zipf: float, seed: int) -> None:
        """Choose used of total files; popularity falls with the power zipf of a file's place among them."""
        self.working_set = random.Random(seed).sample(range(total), used)
        weights = ((i + 1) ** -zipf for i in range(used)) if zipf else ()
        self._cumulative = list(itertools.accumulate(weights))

    def draw(self, rng: random.Random) -> int:
        """The next file's number."""
        if not self._cumulative:
            return rng.choice(self.working_set)
        point = rng.random() * self._cumulative[-1]
        return self.working_set[min(bisect_right(self._cumulative, point), len(self.working_set) - 1)]
