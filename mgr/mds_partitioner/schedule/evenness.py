# SPDX-License-Identifier: LGPL-2.1-or-later
"""Is it time to act? A little above its share a rank may be for ever."""

from dataclasses import replace

from .demand import HELD
from .load import utilisations
from .look import Look
from .noise import BAND
from .state import State

FAR = 0.85  # an importer has at most this part of the exporter's utilisation
URGENT = 0.7  # beside a rank so much emptier, one look at a full one is enough (FoundationDB)


def uneven(look: Look) -> tuple[State, str]:
    """The state then, and why it acts or does not."""
    state, view = look.state, look.view
    more = look.expected.more()
    ranks = [replace(r, requests=r.requests + more.get(r.rank, 0.0)) for r in view.ranks]
    relative = utilisations(ranks, look.capacity)
    top = max(relative, key=lambda r: (relative[r], -r))
    lowest = min(relative.values())
    if not (relative[top] > 1.0 + look.band and lowest < FAR * relative[top]):
        return replace(state, held=0, acting=False), _even(look.band)
    full = any(r.full and relative[r.rank] > 1.0 for r in ranks)
    held = state.held + 1
    urgent = full and lowest < URGENT * relative[top]
    acting = (state.acting and (full or view.harmful)) or urgent or (view.harmful and held >= HELD)
    return replace(state, held=held, acting=acting), f"rank {top} has {relative[top]:.2f} times its share"


def _even(band: float) -> str:
    return "even" + (f", as far as its noise lets be told: {band:.0%} of a share" if band > BAND else "")
