# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which names a client looks up that remembers few: libcephfs's cache of directory entries, in our words.

src/client/Client.cc and src/include/lru.h of 20.2: a name that is looked up goes to the head; one that was
just made, to the middle; after each operation the tail is dropped. A directory stays while a name in it does,
and counts.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

MIDDLE = 0.75  # client_cache_mid: the part of what may be dropped that is above the middle
SEED = 5  # of how long each request takes, and with it the order of the threads


class Entries:
    """An LRU list in two parts, and those that were found in use at its end."""

    def __init__(self, size: int) -> None:
        """size: client_cache_size"""
        self._size = size
        self._top: list[str] = []
        self._bottom: list[str] = []
        self._aside: list[str] = []
        self._within: dict[str, set[str]] = defaultdict(set)  # the names that are there in each directory
        self._known: set[str] = set()

    def __contains__(self, path: str) -> bool:
        """Is it known what the name is?"""
        return path in self._known

    def add(self, path: str) -> None:
        """It is about to be looked up."""
        within = self._within[_above(path)]
        if path not in within:
            within.add(path)
            self._bottom.insert(0, path)
            self._level()

    def touch(self, path: str, known: bool = True) -> None:
        """It was found, or there is no such name."""
        self.add(path)
        self._take(path)
        self._top.insert(0, path)
        self._level()
        if known:
            self._known.add(path)

    def trim(self) -> None:
        """Drop what is too much, the last used first; what is in use is put aside."""
        while self._count() > self._size:
            self._level()
            end = self._bottom or self._top
            if not end:
                return
            path = end.pop()
            if self._within.get(path):
                self._aside.append(path)
            else:
                self._drop(path)

    def _drop(self, path: str) -> None:
        self._known.discard(path)
        above = _above(path)
        self._within[above].discard(path)
        if not self._within[above] and above in self._aside:
            self._aside.remove(above)
            self._bottom.append(above)
        self._level()

    def _take(self, path: str) -> None:
        for part in (self._top, self._bottom, self._aside):
            if path in part:
                part.remove(path)

    def _count(self) -> int:
        return len(self._top) + len(self._bottom) + len(self._aside)

    def _level(self) -> None:
        used = sum(1 for path, within in self._within.items() if path and within)
        wanted = int(MIDDLE * (self._count() - used))
        while len(self._top) < wanted and self._bottom:
            self._top.append(self._bottom.pop(0))
        while len(self._top) > max(0, wanted):
            self._bottom.insert(0, self._top.pop())


def lookups(paths: Sequence[str], missing: Sequence[bool], size: int, threads: int) -> Counter[str]:
    """How often each name is asked of an MDS.

    :param paths: of files, each after the other taken by a thread that is free
    :param missing: of each, whether there is no such file
    """
    entries, asked = Entries(size), Counter[str]()
    rng = np.random.default_rng(SEED)
    work = iter(zip(paths, missing, strict=True))
    turns = [(rng.exponential(), k, _walk(work, entries, asked)) for k in range(threads)]
    heapq.heapify(turns)
    while turns:
        now, k, walk = heapq.heappop(turns)
        if next(walk, False):
            heapq.heappush(turns, (now + rng.exponential(), k, walk))
    return asked


def _walk(work: Iterator[tuple[str, bool]], entries: Entries, asked: Counter[str]) -> Iterator[bool]:
    """A thread: True for each request."""
    for path, absent in work:
        names = path.strip("/").split("/")
        for depth in range(1, len(names) + 1):
            place = "/" + "/".join(names[:depth])
            if place not in entries:
                entries.add(place)
                asked[place] += 1
                yield True
            entries.touch(place, known=not (absent and depth == len(names)))
        entries.trim()


def _above(path: str) -> str:
    return path.rpartition("/")[0]
