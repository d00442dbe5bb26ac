# SPDX-License-Identifier: LGPL-2.1-or-later
"""The layer's caches. LRU and ARC are libCacheSim's; ARC is held against its definition in the tests.

The paper's own "ARC" (section IV-C) is not that of Megiddo and Modha (FAST'03, Figure 4), which divides the
cache itself between files seen once and files seen again, by an adaptive target. The paper has one queue of
entries seen more than once and one of names seen once: TwoQueues. PARC is that with names prefetched.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import libcachesim


class Outcome(enum.Enum):
    """What a request met. FILL: not cached, and now it is: one entry was written."""

    HIT = enum.auto()
    MISS = enum.auto()
    FILL = enum.auto()


class Cache(Protocol):
    """The layer: ten replicas alike, so one of them is modelled."""

    def request(self, file: int) -> Outcome:
        """One request for a file."""

    def holds(self, file: int) -> bool:
        """Whether a request would be a hit; changes nothing."""

    def __len__(self) -> int:
        """Entries held."""

    def prefetch(self, files: Sequence[int]) -> int:
        """What the strategy foretells, hottest first. How many entries had to be read and written for it."""


class Published:
    """A cache of libCacheSim, of ``size`` entries; every miss is a fill."""

    def __init__(self, kind: Callable[..., libcachesim.cache.CacheBase], size: int) -> None:
        self._cache = kind(cache_size=size, hashpower=12)
        self._request = libcachesim.Request()
        self._request.obj_size = 1

    def request(self, file: int) -> Outcome:
        self._request.obj_id = file
        return Outcome.HIT if self._cache.get(self._request) else Outcome.FILL

    def holds(self, file: int) -> bool:
        self._request.obj_id = file
        return self._cache.find(self._request, False) is not None

    def __len__(self) -> int:
        return int(self._cache.get_n_obj())

    def prefetch(self, files: Sequence[int]) -> int:
        return 0


def lru(size: int) -> Published:
    return Published(libcachesim.LRU, size)


def arc(size: int) -> Published:
    return Published(libcachesim.ARC, size)


class TwoQueues:
    """The paper's ARC: ``size`` entries seen more than once, ``ghost`` names of files seen once; both LRU.

    What is evicted becomes the latest of the names, as in ARC; the paper does not say.
    """

    def __init__(self, size: int, ghost: int) -> None:
        self._size = size
        self._ghost = ghost
        self._entries: OrderedDict[int, None] = OrderedDict()
        self._names: OrderedDict[int, None] = OrderedDict()

    def request(self, file: int) -> Outcome:
        if file in self._entries:
            self._entries.move_to_end(file)
            return Outcome.HIT
        if file not in self._names:
            self._remember([file])
            return Outcome.MISS
        del self._names[file]
        self._entries[file] = None
        if len(self._entries) > self._size:
            evicted, _ = self._entries.popitem(last=False)
            self._remember([evicted])
        return Outcome.FILL

    def holds(self, file: int) -> bool:
        return file in self._entries

    def files(self) -> Collection[int]:
        """All that are held."""
        return self._entries.keys()

    def __len__(self) -> int:
        return len(self._entries)

    def prefetch(self, files: Sequence[int]) -> int:
        return 0

    def _remember(self, files: Iterable[int]) -> None:
        for file in files:
            self._names[file] = None
            self._names.move_to_end(file)
        while len(self._names) > self._ghost:
            self._names.popitem(last=False)


class Parc(TwoQueues):
    """PARC: what is prefetched is a name seen once, so that its first request brings it in (section IV-C)."""

    def prefetch(self, files: Sequence[int]) -> int:
        # The hottest last, so that the queue loses it last.
        self._remember(file for file in reversed(files) if file not in self._entries)
        return 0


class PrefetchedOnly:
    """``size`` entries, LRU, that only prefetching brings in: a strategy by itself (Figures 7, 8 and 10)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[int, None] = OrderedDict()

    def request(self, file: int) -> Outcome:
        if file not in self._entries:
            return Outcome.MISS
        self._entries.move_to_end(file)
        return Outcome.HIT

    def holds(self, file: int) -> bool:
        return file in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def prefetch(self, files: Sequence[int]) -> int:
        new = [file for file in files if file not in self._entries]
        for file in reversed(new):
            self._entries[file] = None
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return len(new)
