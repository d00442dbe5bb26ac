# SPDX-License-Identifier: LGPL-2.1-or-later
"""Permanent, cyclical and sudden hot spots over a window: "frequent load skews" (section IV-A)."""

from dataclasses import dataclass

import numpy as np

from sim.model.arrays import Floats, Ints
from sim.papers.tpps.setting import Setting

Files = Ints


@dataclass(frozen=True)
class HotSpot:
    """Files ``first`` to ``first + size - 1``, hot from ``start`` to ``end``, s; ``weight`` among them."""

    kind: str
    first: int
    size: int
    start: float
    end: float
    weight: float

    def hot_at(self, t: float) -> bool:
        return self.start <= t < self.end


@dataclass(frozen=True)
class Second:
    """Where one second's requests go: ``shares[i]`` of all to ``files[i]``, the rest to any file alike."""

    files: Files
    shares: Floats
    rest: float

    def sample(self, count: int, files: int, random: np.random.Generator) -> Files:
        """Files of ``count`` requests; ``files``: how many there are."""
        hot = random.random(count) < 1.0 - self.rest
        chosen = random.integers(files, size=count)
        if len(self.files):
            weights = np.cumsum(self.shares) / self.shares.sum()
            picks = np.minimum(np.searchsorted(weights, random.random(count)), len(self.files) - 1)
            chosen[hot] = self.files[picks[hot]]
        return chosen


def hot_spots(setting: Setting, random: np.random.Generator) -> list[HotSpot]:
    """All hot spots of one window."""
    window = float(setting.window_s)
    spots = [
        HotSpot("permanent", _directory(setting, random), setting.directory_files, 0.0, window, 1.0)
        for _ in range(setting.permanent)
    ]
    for turn in range(setting.cyclical):
        spots += _cycle(setting, turn, _directory(setting, random))
    return spots + _sudden(setting, random)


def seconds(setting: Setting, spots: list[HotSpot]) -> list[Second]:
    """The window, a second each."""
    return [_second(setting, [spot for spot in spots if spot.hot_at(t)]) for t in range(setting.window_s)]


def _directory(setting: Setting, random: np.random.Generator) -> int:
    return int(random.integers(setting.directories)) * setting.directory_files


def _cycle(setting: Setting, turn: int, first: int) -> list[HotSpot]:
    long = setting.cycle_s / setting.cyclical
    starts = np.arange(turn * long, setting.window_s, setting.cycle_s)
    return [
        HotSpot("cyclical", first, setting.directory_files, float(start), float(start) + long, 1.0)
        for start in starts
    ]


def _sudden(setting: Setting, random: np.random.Generator) -> list[HotSpot]:
    # From before the window, so that it begins as it goes on.
    t = -5.0 * setting.sudden_for_s
    spots = []
    while (t := t + random.exponential(setting.sudden_every_s)) < setting.window_s:
        first, end = _directory(setting, random), t + random.exponential(setting.sudden_for_s)
        size = 1 if random.random() < setting.single_file else setting.directory_files
        if end > 0.0:
            spots.append(HotSpot("sudden", first, size, t, end, 2.0))
    return spots


def _second(setting: Setting, spots: list[HotSpot]) -> Second:
    if not spots:
        return Second(np.zeros(0, dtype=np.int64), np.zeros(0), 1.0)
    weight = sum(spot.weight for spot in spots)
    files = np.concatenate([np.arange(spot.first, spot.first + spot.size) for spot in spots])
    shares = np.concatenate(
        [np.full(spot.size, setting.hot_share * spot.weight / weight / spot.size) for spot in spots]
    )
    # One directory may be hot for two reasons.
    unique, where = np.unique(files, return_inverse=True)
    together = np.zeros(len(unique))
    np.add.at(together, where, shares)
    return Second(unique, together, 1.0 - setting.hot_share)
