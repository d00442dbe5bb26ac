# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler knows of this moment: the one truth for all that show it. No I/O, no clock."""

from __future__ import annotations

from collections import Counter

from .core.view import Piece
from .hotspots import Hotspot, hotspots, recent
from .record import ACT, MODES, OFF, UNDOING
from .watch import CALM, NOT_YET, Watch

UNDOES = "undoes what it did"
OVERDUE = 300.0  # s after it was due: a look that has not ended hangs


def looks(watch: Watch) -> bool:
    """Does it look at the load? Who is off, waits or undoes knows nothing of now."""
    return watch.kept.mode in MODES and watch.waits_since is None


def doing(watch: Watch) -> str:
    """What it does, and why."""
    return {OFF: OFF, UNDOING: UNDOES}.get(watch.kept.mode, watch.decision.why)


def trouble(watch: Watch) -> str:
    """What fails; "": nothing does. Directories are read only while it looks."""
    return watch.problem or (watch.unread if watch.kept.mode in MODES else "")


def blind(watch: Watch, now: float) -> str:
    """Why nothing is known of now; "": something is. now: steady clock, s"""
    if not looks(watch):
        return doing(watch)
    if watch.actual is None:
        return watch.problem or NOT_YET
    return watch.problem if now - watch.actual.now > CALM else ""


def spots(watch: Watch, now: float) -> tuple[tuple[Hotspot, Piece], ...]:
    """Hot spots that are still there, and what they are now, the hottest first. now: steady clock, s"""
    if watch.actual is None:
        return ()
    pieces = {piece.ino: piece for piece in watch.actual.pieces}
    found = hotspots(recent(watch.glimpses, now), len(watch.ranks))
    return tuple((spot, pieces[spot.ino]) for spot in found if spot.ino in pieces)


def held(watch: Watch) -> Counter[str]:
    """How many directories stay where they are, by reason."""
    pieces = () if watch.view is None else watch.view.pieces
    return Counter(piece.held for piece in pieces if piece.held)


def even(watch: Watch, now: float) -> bool:
    """Does it act, and find each rank with its share, by what that can do itself? now: steady clock, s

    Of ranks outside a mask it knows nothing, nor of anything while a look hangs.
    """
    acts = watch.kept.mode == ACT and looks(watch) and not trouble(watch)
    of_all = watch.view is not None and len(watch.view.ranks) == len(watch.ranks)
    late = now - max(watch.due, watch.measured) > OVERDUE  # due is 0.0 where it is to look at once
    return acts and of_all and watch.state.even and not late
