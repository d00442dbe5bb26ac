# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many ranks, and which, the heavy subvolumes get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..arrays import Floats
from .evict import Crowd
from .instance import TOLERANCE
from .lpt import lumpy_level

TIE = 0.001
MOST_TRIED = 64
Ranks = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Stage:
    """What the heavies' ranks are chosen by.

    w (points), q (points by requests alone), s (inodes), homes (usable ranks each is on), most (ranks it can
    be split over): one a heavy, the heaviest first; base_w, base_s: (ranks,), what is there whatever is
    chosen; crowd: the other items where they are; largest, rest: the other items' workload, the largest
    descending and the sum of the rest; lower: the lower bound, points; room: inodes a rank; mask: the usable
    ranks of the current mask.
    """

    w: tuple[float, ...]
    q: tuple[float, ...]
    s: tuple[float, ...]
    homes: Ranks
    most: tuple[int, ...]
    base_w: Floats
    base_s: Floats
    crowd: Crowd
    largest: Floats
    rest: float
    lower: float
    room: float
    mask: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """ranks: one tuple a heavy; level: workload points the fullest rank is expected to reach; cost: level, or
    the most requests of heavies on one rank, in points, where these are more."""

    ranks: Ranks
    level: float
    cost: float


def excess(load: Floats, target: float) -> Floats:
    """(ranks,): what each is above the target by, 0 within the tolerance."""
    over = np.maximum(load - target, 0.0)
    over[over <= TOLERANCE * target] = 0.0
    return over


def emptiest(stage: Stage, load: Floats, over: Floats, target: float, favour: Floats) -> list[int]:
    """The ranks, those first that are over the least, most favoured, with fewest items to leave, lowest.

    load (points), over, favour: (ranks,); load and over are with the piece that is to be placed.
    """
    leavers = stage.crowd.leavers(np.maximum(target * (1.0 + TOLERANCE) - load, 0.0))
    order: list[int] = np.lexsort((leavers, -favour, over)).tolist()
    return order


def expected(stage: Stage, ranks: Ranks) -> float:
    """Workload points of the fullest rank with these ranks; a cache filled over its room weighs in
    proportion."""
    load, inodes = stage.base_w.copy(), stage.base_s.copy()
    for points, size, own in zip(stage.w, stage.s, ranks):
        load[list(own)] += points / len(own)
        inodes[list(own)] += size / len(own)
    crammed = stage.lower * float(inodes.max()) / stage.room
    return max(lumpy_level(load, stage.largest, stage.rest), crammed if crammed > stage.lower else 0.0)


def hottest(stage: Stage, ranks: Ranks) -> float:
    """The most requests of heavies on one rank, in points."""
    hot = np.zeros(stage.base_w.size)
    for points, own in zip(stage.q, ranks):
        hot[list(own)] += points / len(own)
    return float(hot.max())


def weighed(stage: Stage, ranks: Ranks) -> Choice:
    """These ranks for the heavies, and what they cost."""
    level = expected(stage, ranks)
    return Choice(ranks, level, max(level, hottest(stage, ranks)))


def best(
    stage: Stage, tried: Sequence[tuple[int, float, Callable[[], Ranks]]], current: Callable[[], Ranks] | None
) -> Choice:
    """The choice with the lowest cost, on fewest ranks among equals; the current one if it is as good.

    tried: (pieces, cost that it cannot beat, how to make it), in any order.
    """
    found: list[tuple[int, Choice]] = []
    lowest = np.inf
    for pieces, floor, make in sorted(tried, key=lambda t: (t[1], t[0]))[:MOST_TRIED]:
        if floor > lowest * (1.0 + TIE):
            break
        found.append((pieces, weighed(stage, make())))
        lowest = min(lowest, found[-1][1].cost)
        if lowest <= stage.lower * (1.0 + TIE):
            break
    if current is not None:
        now = weighed(stage, current())
        if now.cost <= lowest * (1.0 + TOLERANCE):
            return now
    return min((f for f in found if f[1].cost <= lowest * (1.0 + TIE)), key=lambda f: f[0])[1]


def floor_level(stage: Stage, pieces: Floats, inodes: Floats) -> float:
    """What no placement with these pieces on a rank can beat."""
    return max(stage.lower, float(pieces.max()), stage.lower * float(inodes.max()) / stage.room)


def choose_pool(stage: Stage) -> Choice:
    """Mode MASK: one pool of k ranks for all heavies, each rank bearing a k-th of them all.

    bal_rank_mask is one mask a file system. Tried: every k near the one at which the pool's ranks reach the
    mean, and the current mask.
    """
    ranks = stage.base_w.size
    work, requests, inodes = sum(stage.w), sum(stage.q), sum(stage.s)
    favour = np.zeros(ranks)
    for points, own in zip(stage.w, stage.homes):
        favour[list(own)] += points
    favour[list(stage.mask)] += 2.0 * work

    def level(k: int) -> float:
        return floor_level(stage, np.array([work / k]), np.array([inodes / k]))

    def pool(k: int) -> Ranks:
        load, target = stage.base_w + work / k, level(k)
        order = emptiest(stage, load, excess(load, target), target, favour)
        return (tuple(sorted(order[:k])),) * len(stage.w)

    even = int(np.ceil(max(work / stage.lower, requests / stage.lower, inodes / stage.room)))
    near = range(max(1, even - 8), min(ranks, even + 24) + 1)
    far = (min(ranks, even * factor) for factor in (2, 3, 4, ranks))
    tried = [(k, max(level(k), requests / k), partial(pool, k)) for k in {*near, *far} if k >= 1]
    current = (lambda: (stage.mask,) * len(stage.w)) if stage.mask else None
    return best(stage, tried, current)


def larger(stage: Stage) -> Floats:
    """(heavies,): points, or those by requests alone."""
    return np.asarray(np.maximum(np.array(stage.w), np.array(stage.q)))


def choose_fanout(stage: Stage) -> Choice:
    """Mode FANOUT: each heavy gets ranks of its own number, and bears a k-th of itself on each of its k.

    Tried: k = ceil(max(w, q) / T) for targets T from a quarter of the lower bound up over the values at which
    some k changes; and as many ranks as each has now.
    """
    ranks = stage.base_w.size
    large, most = larger(stage), np.minimum(np.array(stage.most), ranks)
    steps = np.unique(np.concatenate([p / np.arange(1, ranks + 1) for p in large.tolist()]))
    steps = steps[steps >= stage.lower][:24]
    targets = [stage.lower / 4, stage.lower / 3, stage.lower / 2, stage.lower, *steps.tolist()]
    splits = {tuple(np.clip(np.ceil(large / t - 1e-9).astype(int), 1, most).tolist()) for t in targets}
    now = tuple(min(len(set(own)), limit) for own, limit in zip(stage.homes, most.tolist()))

    def floor(split: tuple[int, ...]) -> float:
        return floor_level(stage, large / np.array(split), np.array(stage.s) / np.array(split))

    tried = [(sum(split), floor(split), partial(fan_out, stage, split)) for split in splits]
    return best(stage, tried, partial(fan_out, stage, now) if all(now) else None)


def fan_out(stage: Stage, split: tuple[int, ...]) -> Ranks:
    """Ranks for each heavy's pieces, the largest pieces first, on the ranks it has as far as they fit."""
    pieces, requests = np.array(stage.w) / np.array(split), np.array(stage.q) / np.array(split)
    target = floor_level(stage, pieces, np.array(stage.s) / np.array(split))
    hot_target = max(target, float(requests.max()))
    load, hot = stage.base_w.copy(), np.zeros(stage.base_w.size)
    given: dict[int, tuple[int, ...]] = {}
    for h in np.argsort(-larger(stage) / np.array(split), kind="stable").tolist():
        favour = np.zeros(load.size)
        favour[list(stage.homes[h])] = 1.0
        over = np.maximum(excess(load + pieces[h], target), excess(hot + requests[h], hot_target))
        order = emptiest(stage, load + pieces[h], over, target, favour)
        given[h] = tuple(sorted(order[: split[h]]))
        load[list(given[h])] += pieces[h]
        hot[list(given[h])] += requests[h]
    return tuple(given[h] for h in range(len(split)))
