# SPDX-License-Identifier: LGPL-2.1-or-later
"""The statistics behind mIndex in plain Python, to compare a patched MDS with (Lunule, SC '21, 3.3 and 4.1).

Directories are known by inode number, and none is split. A window is a set of visits; an epoch ends with one.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WINDOWS = 8
MAX_DRAWS = 1024
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Summary:
    """A directory with all below it, over the last windows; as `dump mindex` names its fields."""

    visits: int
    first_visits: int
    visited: int
    revisited: int
    unvisited: int
    alpha: float
    beta: float
    l_t: int
    l_s: float
    mindex: float


def mix(x: int) -> int:
    """splitmix64, which the sibling rule draws with."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Reference:
    """``parents``: directory by directory, None at the top; ``below``: inodes below each, itself left out."""

    def __init__(self, parents: Mapping[int, int | None], below: Mapping[int, int]) -> None:
        self._parents, self._below = parents, below
        self._windows: deque[list[tuple[int, int]]] = deque([[]], maxlen=WINDOWS)  # (inode, directory)

    def visit(self, inode: int, directory: int) -> None:
        """An inode in a directory was visited; directories outside ``parents`` are not looked at."""
        if directory in self._parents:
            self._windows[-1].append((inode, directory))

    def end_window(self, epoch: int) -> dict[int, Summary]:
        """The statistics at the end of a window, by directory; the next window begins."""
        visits: Counter[int] = Counter()
        firsts: Counter[int] = Counter()
        seen: dict[int, set[int]] = {}
        home: dict[int, int] = {}
        for number, window in enumerate(self._windows):
            for inode, directory in window:
                visits[directory] += 1
                seen.setdefault(inode, set()).add(number)
                home[inode] = directory
        newest = len(self._windows) - 1
        for inode, windows in seen.items():
            if windows == {newest}:
                firsts[home[inode]] += 1
        self._windows.append([])
        return self._summaries(epoch, visits, firsts, seen, home)

    def _summaries(
        self,
        epoch: int,
        visits: Counter[int],
        firsts: Counter[int],
        seen: Mapping[int, set[int]],
        home: Mapping[int, int],
    ) -> dict[int, Summary]:
        visited = self._up(Counter(home[inode] for inode in seen))
        revisited = self._up(Counter(home[inode] for inode, windows in seen.items() if len(windows) > 1))
        all_visits, all_firsts = self._up(visits), self._up(firsts)
        unvisited = {d: max(0, self._below[d] - visited[d]) for d in self._parents}
        credit = self._credit(epoch, all_firsts, unvisited)
        return {
            d: _summary(
                all_visits[d], all_firsts[d], visited[d], revisited[d], unvisited[d], credit.get(d, 0.0)
            )
            for d in self._parents
        }

    def _up(self, own: Counter[int]) -> Counter[int]:
        """A directory's own numbers are those of all above it, too."""
        total: Counter[int] = Counter()
        for directory, number in own.items():
            for each in self._path(directory):
                total[each] += number
        return total

    def _path(self, directory: int) -> Iterator[int]:
        at: int | None = directory
        while at is not None:
            yield at
            at = self._parents[at]

    def _credit(self, epoch: int, firsts: Counter[int], unvisited: Mapping[int, int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for directory, parent in self._parents.items():
            siblings = sorted(d for d, p in self._parents.items() if p == parent and unvisited[d] > 0)
            draws = min(firsts[directory], MAX_DRAWS)
            for i in range(draws if siblings and parent is not None else 0):
                chance = mix(directory ^ mix(epoch * MAX_DRAWS + i))
                sibling = siblings[(chance >> 1) % len(siblings)]
                if chance & 1 and sibling != directory:
                    found[sibling] = found.get(sibling, 0.0) + firsts[directory] / draws
        return found


def _summary(
    visits: int, firsts: int, visited: int, revisited: int, unvisited: int, credit: float
) -> Summary:
    alpha = revisited / visited if visited else 0.0
    beta = unvisited / max(1, visits)
    l_s = firsts + credit
    return Summary(
        visits, firsts, visited, revisited, unvisited, alpha, beta, visits, l_s, alpha * visits + beta * l_s
    )
