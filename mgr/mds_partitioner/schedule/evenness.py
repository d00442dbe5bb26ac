# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it time to act? A little above its share a rank may be for ever."""

from __future__ import annotations

import math
from dataclasses import replace

from ..engine.inside import CHANGED, CROWD
from ..judge.fullness import MORE
from .demand import HELD
from .load import utilisations
from .look import Look
from .noise import BAND
from .state import State
from .view import RankView

FAR = 0.85  # an importer has at most this part of the exporter's utilisation
URGENT = 0.7  # beside a rank so much emptier, one look at a full one is enough (FoundationDB)
NEW = 3  # looks, at most, for which it is waited until what a rank can do is known anew


def uneven(look: Look) -> tuple[State, str]:
    """The state then, and why it acts or does not."""
    state, view = look.state, look.view
    more = look.expected.more()
    ranks = [replace(r, requests=r.requests + more.get(r.rank, 0.0)) for r in view.ranks]
    relative = utilisations(ranks, look.capacity)
    top = max(relative, key=lambda r: (relative[r], -r))
    lowest = min(relative.values())
    far = relative[top] > 1.0 + look.band
    if not ((far or look.idle) and lowest < FAR * relative[top]):
        return replace(state, held=0, acting=False), _even(look.band)
    full = any(r.full and relative[r.rank] > 1.0 for r in ranks)
    held = state.held + 1
    urgent = far and full and lowest < URGENT * relative[top]
    harm = view.harmful or (look.idle and full)
    acting = (state.acting and (full or view.harmful)) or urgent or (harm and held >= HELD)
    return replace(state, held=held, acting=acting), f"rank {top} has {relative[top]:.2f} times its share"


def doubtful(look: Look) -> int | None:
    """A rank that has just become slower, by what it serves, and is not known yet to be: by what is known it
    has room, and would get more."""
    falls = (r.rank for r in look.view.ranks if r.rank not in look.state.stale and _falls(look, r))
    return next((rank for rank in falls if look.loads[rank] < look.shares[rank]), None)


def _falls(look: Look, rank: RankView) -> bool:
    """Is it full of as many requests as ever, and serves less?"""
    could = CHANGED * (rank.capacity or 0.0)
    as_many = rank.inside >= CROWD or rank.crowd < MORE * rank.inside
    before = look.state.rates[rank.rank][-NEW:]
    return rank.full and rank.crowd < math.inf and as_many and rank.requests < could <= max(before)


def _even(band: float) -> str:
    return "even" + (f", as far as its noise lets be told: {band:.0%} of a share" if band > BAND else "")
