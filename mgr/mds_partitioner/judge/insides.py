# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the directories right below a busy one are asked for, over an analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TypeVar

_Key = TypeVar("_Key")
MOST = 200  # directories of one that are kept by name: what is left is shared out over the others
SEVERAL = 4  # times as many are remembered while it is seen


def in_common(before: Mapping[_Key, float], now: Mapping[_Key, float]) -> float | None:
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
    :ivar rest: req/s of those that are not among the parts
    """

    stay: float
    parts: tuple[Part, ...] = ()
    rest: float = 0.0


@dataclass
class InsidesSum:
    """What was seen of them so far: of no more than a few times as many as are kept by name.

    requests: req/s by path, summed over the looks; other: of those that are not among these, likewise; last:
    in the last look; same: summed over the looks that could be compared with the one before.
    """

    looks: int = 0
    requests: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    same: float = 0.0
    compared: int = 0
    other: float = 0.0

    def add(self, seen: Mapping[str, float]) -> None:
        """One more look. A directory that was not seen was asked for nothing."""
        same = in_common(self.last, seen)
        if same is not None:
            self.same, self.compared = self.same + same, self.compared + 1
        for path, rate in seen.items():
            if rate > 0.0:
                self.requests[path] = self.requests.get(path, 0.0) + rate
        before = sum(self.requests.values())
        self.requests = _busiest(self.requests)
        self.other += before - sum(self.requests.values())
        self.looks, self.last = self.looks + 1, _busiest(seen)

    def summary(self) -> Insides | None:
        """None while no two looks could be compared."""
        if not self.compared:
            return None
        mean = {path: total / self.looks for path, total in self.requests.items()}
        kept = sorted(mean, key=lambda path: (-mean[path], path))[:MOST]
        parts = tuple(Part(path, mean[path]) for path in kept)
        rest = self.other / self.looks + sum(mean.values()) - sum(mean[path] for path in kept)
        return Insides(self.same / self.compared, parts, rest)


def _busiest(requests: Mapping[str, float]) -> dict[str, float]:
    """Of so many at most."""
    if len(requests) <= SEVERAL * MOST:
        return dict(requests)
    return dict(nlargest(SEVERAL * MOST, requests.items(), key=lambda entry: entry[1]))
