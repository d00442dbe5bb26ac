# SPDX-License-Identifier: LGPL-2.1-or-later
"""What falls asleep, and what wakes: a load comes to what had next to nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from .demand import Demand
from .view import View

WAKES = 0.1  # of a rank's share: what comes to have so much, and had next to nothing, woke
ASLEEP = 0.01  # of a rank's share: with less it has next to nothing
JUMPS = 0.3  # of all requests: with so much in what just woke the load is another one
GROWS = 60.0  # s after it woke, in which it comes to have what clients ask for: full ranks hold it back
APART = 20.0  # s: what wakes within that of something else wakes with it


@dataclass(frozen=True)
class Wake:
    """A piece that had next to nothing and came to have ``load`` req/s. at: steady clock, s.

    :ivar ino: its inode number
    :ivar again: it had been used before, and then no more; used: of what slept, so much had, 0 to 1
    :ivar pressed: it woke where there was little room; else it was not late, and need not have moved
    """

    at: float
    load: float
    ino: int = 0
    again: bool = False
    used: float = 0.0
    pressed: bool = True


def jumped(wakes: Sequence[Wake], now: float, requests: float) -> bool:
    """Has a good part of the load come to what slept, just now? requests: of all ranks, req/s."""
    return sum(wake.load for wake in wakes if now - wake.at <= APART) >= JUMPS * requests > 0.0


def woken(
    slept: Mapping[int, bool], before: Mapping[int, Demand], demand: Mapping[int, Demand], view: View
) -> tuple[dict[int, bool], tuple[Wake, ...]]:
    """What sleeps after this look, and what woke in it. While no client is at work nothing falls asleep, nor
    does what has gone on since, but is not expected to yet.

    :param slept: before it, by inode number: was it used before?
    :param before: the demand before it, by inode number
    """
    share = sum(r.requests for r in view.ranks) / max(1, len(view.ranks))
    most = ASLEEP * share
    at_work = view.pieces if share else ()
    idle = {p.ino for p in at_work if p.requests <= most and demand[p.ino].mean <= most}
    # It may have ended while no client was at work.
    fell = {
        ino: ino in before and (before[ino].mean > most or demand[ino].turned >= 0.0)
        for ino in idle - slept.keys()
    }
    asleep = {ino: used for ino, used in slept.items() if ino in demand} | fell
    woke = [i for i in sorted(asleep) if demand[i].mean >= WAKES * share > 0.0]
    used = fmean(asleep.values()) if asleep else 0.0
    wakes = tuple(Wake(view.now, demand[i].mean, i, asleep[i], used) for i in woke)
    return {ino: used for ino, used in asleep.items() if ino not in woke}, wakes


def grown(wake: Wake, demand: Mapping[int, Demand], cramped: Collection[int], now: float) -> Wake:
    """With what it has had at most: a full rank holds it back until it has moved.

    :param cramped: inode numbers of what is where there is little room
    :param now: steady clock, s
    """
    if now - wake.at > GROWS:
        return wake
    load = max(wake.load, demand[wake.ino].mean if wake.ino in demand else 0.0)
    late = wake.pressed or wake.ino in cramped
    same = (load, late) == (wake.load, wake.pressed)
    return wake if same else replace(wake, load=load, pressed=late)
