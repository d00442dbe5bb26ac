# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which inodes were visited, window by window: what a migration index is made of (Lunule, SC '21, 3.3, 4.1).

Inodes are not told apart: it is known how many of a directory's files are expected to have been visited. A
client that goes through a directory in order meets an interval of its files; any other request meets one at
random, all alike; a file that is made is one visited for the first time.
"""

from dataclasses import dataclass

import numpy as np

from sim.load.crowd import Crowd
from sim.model.arrays import Floats, Ints, sums

WINDOWS = 8  # remembered; the paper does not say how many


@dataclass(frozen=True)
class Seen:
    """(directories,) each, of a directory's own files. visits: requests in all windows; visited: inodes;
    revisited: those visited in more than one window; firsts: those visited in the newest window and in none
    of the others; unvisited: inodes visited in none."""

    visits: Floats
    visited: Floats
    revisited: Floats
    firsts: Floats
    unvisited: Floats


class Visits:
    """(windows, directories) each: requests; random: those that meet a file at random; made: files; low,
    high: the interval of files that was met in order, in parts of the directory. The last is the newest."""

    def __init__(self, directories: int) -> None:
        shape = (WINDOWS, directories)
        self._requests, self._random, self._made = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._low, self._high = np.ones(shape), np.zeros(shape)

    def count(self, crowd: Crowd, answered: Floats) -> None:
        """One step. answered: (entries,) requests, which the crowd has not counted yet."""
        size = self._requests.shape[1]
        walks = (crowd.files > 0) & (answered > 0.0)
        self._requests[-1] += sums(crowd.directory, answered, size)
        self._made[-1] += sums(crowd.directory, answered * crowd.makes, size)
        self._random[-1] += sums(crowd.directory, np.where(crowd.grows | walks, 0.0, answered), size)
        if walks.any():
            begin, end = crowd.walked(answered)
            np.minimum.at(self._low[-1], crowd.directory[walks], begin[walks])
            np.maximum.at(self._high[-1], crowd.directory[walks], end[walks])

    def end_window(self, inodes: Floats) -> Seen:
        """What is known now; a new window begins. inodes: (directories,)."""
        seen = self._seen(inodes)
        for values, empty in (
            *((a, 0.0) for a in (self._requests, self._random, self._made, self._high)),
            (self._low, 1.0),
        ):
            values[:-1] = values[1:]
            values[-1] = empty
        return seen

    def forget(self, directory: int) -> None:
        """A directory that was deleted."""
        for values in (self._requests, self._random, self._made, self._high):
            values[:, directory] = 0.0
        self._low[:, directory] = 1.0

    def _seen(self, inodes: Floats) -> Seen:
        visits = self._requests.sum(axis=0)
        used: Ints = np.flatnonzero(visits)
        visited, revisited, firsts = np.zeros_like(visits), np.zeros_like(visits), np.zeros_like(visits)
        made = self._made[:, used]
        old = inodes[used] - made.sum(axis=0)
        by_chance = -np.expm1(-self._random[:, used] / np.maximum(inodes[used], 1.0))
        parts = _expected(by_chance, self._low[:, used], self._high[:, used])
        visited[used], revisited[used], firsts[used] = parts * np.maximum(old, 0.0)
        visited[used] += made.sum(axis=0)
        firsts[used] += made[-1]
        return Seen(visits, visited, revisited, firsts, np.maximum(0.0, inodes - visited))


def _expected(by_chance: Floats, low: Floats, high: Floats) -> Floats:
    """(3, directories): the parts of the inodes that were visited, visited in more than one window, and in
    the newest alone. All: (windows, directories); by_chance: the probability that a file was met at random;
    low, high: the interval that was met in order."""
    walked = high > low
    directories = by_chance.shape[1]
    edges = [np.zeros((1, directories)), np.ones((1, directories))]
    if walked.any():
        edges += [np.where(walked, low, 0.0), np.where(walked, high, 0.0)]
    cuts = np.sort(np.concatenate(edges), axis=0)
    middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts, axis=0)
    never, once = np.ones_like(middle), np.zeros_like(middle)  # in the windows so far
    before = never
    for chance, has, begin, end in zip(by_chance, walked, low, high, strict=True):
        met = np.where(has & (middle > begin) & (middle < end), 1.0, chance)
        before = never
        once = once * (1.0 - met) + never * met
        never = never * (1.0 - met)
    return np.stack(
        [
            ((1.0 - never) * length).sum(axis=0),
            ((1.0 - never - once) * length).sum(axis=0),
            ((before - never) * length).sum(axis=0),
        ]
    )
