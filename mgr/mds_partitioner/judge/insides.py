# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the directories right below a busy one are asked for, over an analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Optional, TypeVar

_Key = TypeVar("_Key")
MOST = 200  # directories of one that are kept by name: what is left is shared out over the others
SEVERAL = 4 * MOST  # are remembered while it is seen, and at times twice as many
SURE = 2  # comparisons
OTHERS = ""  # those of a look that are not remembered


def in_common(before: Mapping[_Key, float], now: Mapping[_Key, float]) -> Optional[float]:
    """The part of a load, 0 to 1, that is on the same ones as before; None where there was none, or is none.

    :param before: req/s by whatever it is on; now: likewise
    """
    then, all_of_it = sum(before.values()), sum(now.values())
    if then <= 0.0 or all_of_it <= 0.0:
        return None
    return sum(min(before.get(key, 0.0) / then, rate / all_of_it) for key, rate in now.items())


@dataclass(frozen=True)
class Part:
    """One of them."""

    path: str
    requests: float  # req/s, mean


@dataclass(frozen=True)
class Insides:
    """All of them.

    :ivar stay: how much of the load stays on the same ones from one look to the next, 0 to 1; where they are
        used in turn, which one is busy now says little
    :ivar rest: req/s of those that are not among the parts; number: of these
    :ivar whole: req/s of all that is in the busy one, mean over the same looks; None: an older version saw it
    """

    stay: float
    parts: tuple[Part, ...] = ()
    rest: float = 0.0
    number: int = 0
    whole: Optional[float] = None


@dataclass
class InsidesSum:
    """What was seen of them so far: of no more than a few times as many as are kept by name.

    requests: req/s by path, summed over the looks; other, cut: the same of those that are not among these,
    and how many they are, or less; last: in the last look; same: summed over the looks that could be compared
    with the one before; whole: req/s of all that is in the busy one, summed over the looks in which that was
    told.
    """

    looks: int = 0
    requests: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    same: float = 0.0
    compared: int = 0
    other: float = 0.0
    cut: int = 0
    whole: float = 0.0
    told: int = 0

    def add(self, seen: Mapping[str, float], whole: Optional[float] = None) -> None:
        """One more look. A directory that was not seen was asked for nothing. ``whole``: req/s of all that is
        in the busy one"""
        if whole is not None:
            self.whole, self.told = self.whole + whole, self.told + 1
        now = {path: seen.get(path, 0.0) for path in self.last if path != OTHERS}
        same = in_common(self.last, now | {OTHERS: sum(seen.values()) - sum(now.values())})
        if same is not None:
            self.same, self.compared = self.same + min(1.0, same), self.compared + 1
        for path, rate in seen.items():
            if rate > 0.0:
                self.requests[path] = self.requests.get(path, 0.0) + rate
        if len(self.requests) > 2 * SEVERAL:  # seldom, so that what has become busy late is not cut again
            kept = _busiest(self.requests)
            self.other += sum(rate for path, rate in self.requests.items() if path not in kept)
            self.cut, self.requests = self.cut + len(self.requests) - len(kept), kept
        self.looks, self.last = self.looks + 1, _busiest(seen)
        self.last[OTHERS] = sum(rate for path, rate in seen.items() if path not in self.last)

    def summary(self) -> Optional[Insides]:
        """None while too few looks could be compared: a moment's requests would be taken for what is usual,
        and each plan would have other ones."""
        if self.compared < SURE:
            return None
        mean = {path: total / self.looks for path, total in self.requests.items()}
        kept = set(sorted(mean, key=lambda path: (-mean[path], path))[:MOST])
        parts = (Part(path, mean[path]) for path in sorted(kept, key=lambda path: (-mean[path], path)))
        rest = sum(rate for path, rate in mean.items() if path not in kept) + self.other / self.looks
        number = len(mean) - len(kept) + self.cut
        whole = self.whole / self.looks if self.told == self.looks else None
        return Insides(self.same / self.compared, tuple(parts), rest, number, whole)


def _busiest(requests: Mapping[str, float]) -> dict[str, float]:
    """Of so many at most."""
    return dict(nlargest(SEVERAL, requests.items(), key=lambda entry: entry[1]))
