# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler knows of directories: what MDSs answered, some time after they were asked."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats, Ints
from sim.model.cluster import Cluster


@dataclass(frozen=True)
class Told:
    """Popularity as it was at a time (s), and who had what then. (directories,) each."""

    at: float
    popularity: Floats
    auth: Ints


class Answers:
    """They come ``late`` s after a look has asked, and tell nothing of what is frozen then. 0: everything is
    known at once, of what is frozen, too."""

    def __init__(self, late: float) -> None:
        """late: s"""
        self._late = late
        self._under_way: deque[Told] = deque()
        self._asked: dict[int, float] = {}  # when, s, by inode number
        self._read: set[int] = set()

    def popularity(self, cluster: Cluster) -> Told | None:
        """Ask once more; the newest answer that there is. None: none has come yet."""
        asked, names = cluster.counters.popularity.copy(), cluster.names
        if self._late and self._under_way:
            asked = np.where(names.frozen, self._under_way[-1].popularity, asked)
        self._under_way.append(Told(cluster.now, asked, names.auth.copy()))
        came = cluster.now - self._late
        while len(self._under_way) > 1 and self._under_way[1].at <= came:
            self._under_way.popleft()
        newest = self._under_way[0]
        return newest if newest.at <= came else None

    def read(self, cluster: Cluster, directory: int) -> bool:
        """Is it known what the directory is? It is asked from the first time that somebody wants to know."""
        ino = cluster.names.ino(directory)
        if not self._late or ino in self._read:
            return True
        asked = self._asked.setdefault(ino, cluster.now)
        if cluster.now - asked >= self._late and not cluster.names.frozen[directory]:
            self._read.add(ino)
        return ino in self._read
