# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories a group of clients uses, and how that changes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats


@dataclass(frozen=True)
class Past:
    """What a pattern may look at.

    :ivar now: s
    :ivar requests: of the group, answered so far
    :ivar clients: of the group
    :ivar beside: places, among the group's directories, of those on the rank that was given one last
    """

    now: float
    requests: float
    clients: float
    beside: tuple[int, ...]


class Pattern(ABC):
    """Of one group; ``parts`` is asked once a step.

    :ivar settled: nothing changes any more
    :ivar files: requests in which a client meets each file of a directory once, in order; 0: files are met at
        random
    """

    settled = False
    files = 0

    @abstractmethod
    def parts(self, past: Past) -> Floats | None:
        """(directories,): the part of the requests that each gets; None: as before."""

    def remade(self, past: Past) -> Sequence[int]:
        """Places of directories that are deleted and made anew now."""
        return ()


class Fixed(Pattern):
    """The same for ever."""

    def __init__(self, parts: Floats) -> None:
        """parts: (directories,), their sum is 1"""
        self._parts = parts

    def parts(self, past: Past) -> Floats | None:
        """Once."""
        self.settled = True
        return self._parts


def by_zipf(directories: int, exponent: float, rng: np.random.Generator) -> Floats:
    """(directories,): parts by Zipf's law, 0 for uniform; which directory has which is drawn."""
    parts = np.arange(1, directories + 1) ** -exponent
    return np.asarray(rng.permutation(parts / parts.sum()))


class HotSet(Pattern):
    """A part of the requests goes to a few directories, which are others every now and then."""

    def __init__(
        self, directories: int, hot: int, share: float, jumps: float, rng: np.random.Generator
    ) -> None:
        """:param hot: directories; share: of the requests; jumps: s, inf for never"""
        self._size, self._hot, self._share, self._every, self._rng = directories, hot, share, jumps, rng
        self._due = 0.0

    def parts(self, past: Past) -> Floats | None:
        """At each jump."""
        if past.now < self._due:
            return None
        self._due += self._every
        self.settled = math.isinf(self._due)
        parts = np.full(self._size, (1.0 - self._share) / self._size)
        parts[self._rng.choice(self._size, self._hot, replace=False)] += self._share / self._hot
        return parts


class Scan(Pattern):
    """One directory after the other, each as long as its files take; from the beginning when it is over."""

    def __init__(self, directories: int, files: int, start: float) -> None:
        """:param start: part of the directories that come last"""
        self._size, self.files, self._first = directories, files, int(start * directories)
        self.at = -1

    def parts(self, past: Past) -> Floats | None:
        """At each new directory."""
        turn = int(past.requests / past.clients / self.files)
        at = (self._first + turn) % self._size
        if at == self.at:
            return None
        self.at = at
        parts = np.zeros(self._size)
        parts[at] = 1.0
        return parts


class Churn(Pattern):
    """All directories alike; each is deleted and made anew when it had so many requests."""

    def __init__(self, directories: int, files: int, rng: np.random.Generator) -> None:
        self._size, self._files = directories, files
        self._ages = (
            rng.permutation(directories) / directories
        )  # in lives, so that they do not all end at once
        self._lives = np.zeros(directories)
        self._begun = False

    def parts(self, past: Past) -> Floats | None:
        """Once."""
        if self._begun:
            return None
        self._begun = True
        return np.full(self._size, 1.0 / self._size)

    def remade(self, past: Past) -> Sequence[int]:
        """Those whose life is over."""
        lives = np.floor(past.requests / self._size / self._files + self._ages)
        ended = np.flatnonzero(lives > self._lives)
        self._lives = lives
        return [int(d) for d in ended]


class Adversary(Pattern):
    """A part of the requests goes to all that is on the rank that was given something last."""

    def __init__(self, directories: int, share: float) -> None:
        self._size, self._share = directories, share
        self._last: tuple[int, ...] | None = None

    def parts(self, past: Past) -> Floats | None:
        """At each move."""
        if past.beside == self._last:
            return None
        self._last = past.beside
        if not past.beside:
            return np.full(self._size, 1.0 / self._size)
        parts = np.full(self._size, (1.0 - self._share) / self._size)
        parts[list(past.beside)] += self._share / len(past.beside)
        return parts
