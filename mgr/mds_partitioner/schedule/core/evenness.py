# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it time to act? A little above its share a rank may be for ever."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from ...engine.inside import CROWD, LEAST_RATE
from .choose import LEAST
from .demand import BEGINS, HELD
from .load import pressures, utilisations
from .look import Look
from .noise import BAND
from .roams import Roams
from .state import NOBODY, Past, Rising, State, parted
from .wakes import ASLEEP, WAKES

FAR = 0.85  # an importer has at most this part of the exporter's utilisation
LONG = 60.0  # s that requests wait beside an idle rank at one that is not full: the metadata pool is slow
RESUMED = 15.0  # s, in which each rank has told twice what it serves since
ENDS = 0.8  # of that: it ends, or goes elsewhere
RISES = HELD - 1  # looks, at most, for which it is waited until it is known what will be used how much
URGENT = 0.7  # beside a rank so much emptier, one look at a full one is enough (FoundationDB)


def uneven(look: Look) -> tuple[State, str]:
    """The state then, and why it acts or does not."""
    view, relative = look.view, _relative(look)
    state = replace(look.state, roams=_roaming(look, relative))
    top = max(relative, key=lambda r: (relative[r], -r))
    lowest = min(relative.values())
    far = relative[top] > 1.0 + look.band
    if not ((far or look.idle) and lowest < FAR * relative[top]):
        even = replace(state, held=0, hot=NOBODY, acting=False, even=not look.crawling, rising=Rising())
        return even, _even(look)
    full = any(r.full and relative[r.rank] > 1.0 for r in view.ranks)
    # What has come to be taken apart kept its clients waiting: no load begins.
    came = top not in state.stale and parted(state.past, state.split, view.now, RESUMED)
    times = 1.0 if came else _times(look)
    one = 0 if view.again else 1  # look more
    # Of what is uneven before a load begins nothing follows for what it will be.
    held = 1 if times > BEGINS else state.held + one
    stays = times <= BEGINS and not _passes(look, top)
    urgent = far and full and lowest < URGENT * relative[top] and times >= ENDS and stays
    hot = _hot(look, relative, top, one) if far and top in _keeping(look) else NOBODY
    lasts = (view.harmful and held >= HELD) or (look.idle and full and stays) or hot[1] >= HELD
    state = replace(state, held=held, hot=hot, even=False)
    waits = waited(look.then(state), top) and lowest < URGENT * relative[top]
    acting = (state.acting and (full or view.harmful)) or urgent or lasts or waits
    told = f"rank {top} has {relative[top]:.2f} times its share"
    rising = _rising(look, top, one) if far else Rising()
    state = replace(state, rising=rising)
    if rising.inos:
        return replace(state, acting=False), f"{told}: what was idle there is used now, by and by"
    if not (acting or full or view.harmful):
        told = f"{told}: nothing is moved while no rank is full, and nobody waits"
    return replace(state, acting=acting), told


def _passes(look: Look, rank: int) -> bool:
    """Has its load come from other ranks since the look before, or begun to go there, by itself? It may be
    elsewhere in a moment."""
    rates = [row for r in look.view.ranks if len(row := look.state.rates.get(r.rank, ())[-2:]) == 2]
    own = look.state.rates.get(rank, ())[-2:]
    if len(own) < 2 or rank in look.state.stale or ENDS * own[0] <= own[1] <= BEGINS * own[0]:
        return False
    return abs(sum(now - before for before, now in rates)) < abs(own[1] - own[0]) / 2.0


def _roaming(look: Look, relative: Mapping[int, float]) -> Roams:
    """With this look. While all that is served rises or falls it tells who was first to report."""
    state, now = look.state, look.view.now
    if look.view.again:
        return state.roams
    far = (r for r in look.full if relative.get(r, 0.0) > 1.0 + look.band)
    hot = sorted(far, key=lambda r: (-relative[r], r))
    if not ENDS <= _times(look) <= BEGINS:
        stays = state.roams.stays_on(hot, now, state.dt)
        return replace(state.roams, at=now) if stays else state.roams
    did = {r.rank: r.requests + r.forwards for r in look.view.ranks}
    return state.roams.seen(hot, did, _moved_away(state), now, state.dt)


def _moved_away(state: State) -> float:
    """req/s that left the rank that was full last, since it was, as we moved them; but for what ended."""
    roams = state.roams
    if any(done.begun >= roams.since and not done.lost for done in state.scattered.values()):
        return math.inf  # MDSs spread it over ranks: how much of it left this one is not known
    left = (
        p for p in state.past if p.move.source == roams.rank and (p.under_way or p.arrived >= roams.since)
    )
    return sum(_took(p, state.split) for p in left)


def _took(past: Past, split: Collection[int]) -> float:
    """req/s. Of what is in parts by now its parts have them."""
    whole = past.settled < 0.0 or (past.move.ino in split and not past.lost)
    return past.move.load if whole else min(past.move.load, past.settled)


def _hot(look: Look, relative: Mapping[int, float], top: int, one: int) -> tuple[int, int]:
    """Which full rank has had too much for how many looks. Of several each may have most in one of them.

    :param one: look more
    """
    before, looks = look.state.hot
    if before in _keeping(look) and relative.get(before, 0.0) > 1.0 + look.band:
        return before, looks + one
    return top, 1


def _keeping(look: Look) -> frozenset[int]:
    """Full ranks that keep clients waiting: one that is a little fuller than others does no harm before."""
    return frozenset(r.rank for r in look.view.ranks if r.rank in look.full and r.inside >= CROWD)


def _rising(look: Look, rank: int, one: int) -> Rising:
    """Is a part of a rank's load on what had next to nothing a look ago? It is not known yet how much all
    that will have, and nothing is learned of that while some of it moves.

    :param one: look more
    """
    state, now, share = look.state, look.view.now, look.asked.share
    idle = state.asleep.keys() | {wake.ino for wake in state.wakes if wake.at == now}
    own = ((p.ino, state.demand[p.ino]) for p in look.view.pieces if p.rank == rank and p.ino in idle)
    rising = {ino: d.mean for ino, d in own if d.turned == now and d.mean > ASLEEP * share}
    new = sum(load for ino, load in rising.items() if ino not in state.rising.inos)
    waits = state.rising.looks < RISES and new > max(LEAST * share, sum(rising.values()) / 2.0)
    return Rising(state.rising.looks + one, state.rising.inos | rising.keys()) if waits else Rising()


def _times(look: Look) -> float:
    """What all ranks serve, in times of what they did a look ago, where several are used. They report by
    turns, 5 s apart: while a load begins or ends, what they serve tells who was first to report."""
    rates = [look.state.rates.get(r.rank, ()) for r in look.view.ranks]
    used: dict[int | None, float] = defaultdict(float)
    for piece in look.view.pieces:
        # What begins is not expected at once where a rank is not full.
        used[piece.rank] += max(piece.requests, look.state.demand[piece.ino].mean)
    several = sum(load > WAKES * look.asked.share for load in used.values()) > 1
    if min(map(len, rates)) < 2 or not several:
        return 1.0
    now, before = sum(row[-1] for row in rates), sum(row[-2] for row in rates)
    return now / before if before else math.inf if now else 1.0


def waited(look: Look, rank: int) -> bool:
    """Have many requests waited there for so long, though it may not be full, while it was uneven?"""
    state, since = look.state, look.state.crowded.get(rank, math.inf)
    if state.held * state.dt < LONG or look.view.now - since < LONG:
        return False
    return any(r.rank == rank and r.work >= LEAST_RATE for r in look.view.ranks)


def beyond(look: Look) -> bool:
    """Has a rank more than noise makes of its share?"""
    return max(_relative(look).values()) > 1.0 + look.band


def doubtful(look: Look) -> int | None:
    """The rank where most wait, when it may have become slower: others have less to do for that alone."""
    pressure = pressures(look.view.ranks)
    top = max(pressure, key=lambda r: (pressure[r], -r))
    return top if top in look.doubted else None


def _relative(look: Look) -> dict[int, float]:
    """What each rank is asked for, in parts of its share."""
    more = look.asked.more
    ranks = [replace(r, requests=r.requests + more[r.rank]) if r.rank in more else r for r in look.view.ranks]
    return utilisations(ranks, look.capacity)


def _even(look: Look) -> str:
    noise = f", as far as its noise lets be told: {look.band:.0%} of a share" if look.band > BAND else ""
    slow = ", ".join(map(str, sorted(look.crawling)))
    return f"even{noise}" + (f", but for rank {slow}, where requests wait and few are served" if slow else "")
