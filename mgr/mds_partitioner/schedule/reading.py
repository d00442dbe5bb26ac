# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories are read about next, for the looks: the busiest first, and a few of all each time."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from heapq import nlargest
from itertools import chain

from ..act.run import Run
from ..clock import Now
from ..model import FsState
from ..observe.heat import requests
from ..options import Settings
from .catalogue import Known, Wanted
from .core.view import FIXED_BELOW, OURS_BELOW, UNREAD_MASK, Piece, View
from .deleted import absent
from .plans import owned
from .watch import Watch

FEW = 64  # directories that are read at first: with 24 side by side a full MDS answers them within a round
A_RANK = 2  # directories of a full rank that are looked into besides, each time
FILLS = 0.5  # of a full rank: what has so much of it is looked into


class News(enum.Enum):
    """What a round found that is to be looked at at once."""

    NONE = enum.auto()
    FIRST = enum.auto()  # there was not much to see, or to decide on
    PARTS = enum.auto()  # of what may relieve a rank


def read(
    fs: FsState, watch: Watch, runs: Collection[Run], settings: Settings, now: Callable[[], Now]
) -> News:
    """Read some.

    First the list alone; then a few, the busiest first, so that these are known soon; then as many more as
    are known each time: every round lists all there are. Pauses keep to ``rentries_per_epoch``, but for what
    may relieve a rank as soon as it is read: that is read once.
    """
    view = watch.view
    seen = () if view is None else view.pieces
    hot = frozenset() if view is None else _undivided(view, watch.state.split)
    # The parts of what is on its way to be taken apart are known when it comes.
    moving = frozenset(move.ino for move in watch.state.moving)
    known = watch.catalogue.known
    # What waits to be read is no piece yet.
    served = {rank: of.requests for rank, of in watch.ranks.items()} if known.waiting else {}
    warm = requests(watch.heat, served)
    asked = {path: warm[path] for path in known.waiting if path in warm} | {p.path: p.requests for p in seen}
    # Only where a rank wants relief, and nothing else was found: an operator's plan may have pinned in these.
    pressed = watch.pressing_since is not None
    count = _to_count(view) if pressed and view is not None and view.ranks else frozenset()
    right = {path: part for found in watch.right.values() for path, part in found.items()}
    wanted = Wanted(asked, watch.state.split | watch.state.apart, hot, moving, count, settings.epoch, right)
    share = min(max(FEW, len(known.facts)), settings.rentries_per_epoch)
    limit = share if known.directories else 0
    at = now().wall
    ours = owned(runs, fs.fscid, at, wanted.split | count, chain.from_iterable(watch.subtrees.values()))
    if watch.catalogue.refresh(fs, limit, wanted, ours, at):
        watch.read_due = now().steady
        return News.PARTS
    listed = {directory.ino for directory in watch.catalogue.known.directories}
    parted = watch.state.split.union(watch.state.scattered, watch.state.apart).difference(listed)
    watch.catalogue.deleted.look(fs, absent(runs, fs.fscid, listed) | parted)
    if watch.catalogue.known.unread:
        # What is not answered is not asked for at once again.
        answered = len(watch.catalogue.known.facts) > len(known.facts)
        urgent = answered and (pressed or watch.state.acting) and _awaited(view, watch.catalogue.known)
        pause = 0.0 if urgent else settings.epoch * share / settings.rentries_per_epoch
        watch.read_due = min(watch.read_due, now().steady + pause)
    if known.seen != watch.catalogue.known.seen:
        return News.FIRST
    # In this round: what a look has not taken in yet is no news.
    new = unknown(view) - known.parts.keys() if pressed and view is not None else frozenset()
    return News.PARTS if new and new <= watch.catalogue.known.parts.keys() else News.NONE


def unknown(view: View) -> frozenset[int]:
    """Inode numbers of those that have most to do and that nobody has looked into yet."""
    busiest = nlargest(len(view.ranks), view.pieces, key=lambda piece: piece.requests)
    return frozenset(piece.ino for piece in busiest if piece.parts is None and piece.requests > 0.0)


def _to_count(view: View) -> frozenset[int]:
    """Inode numbers of those whose parts are counted besides those of the busiest of all ranks, which may be
    others' or elsewhere: what has pins of ours in it, and what has most to do of what may be moved from ranks
    that are full, or the fullest, as far as it was not looked into yet."""
    found = {piece.ino for piece in view.pieces if piece.held == OURS_BELOW}
    for rank in _fullest(view):
        own = (p for p in view.pieces if p.rank == rank and p.requests > 0.0)
        new = (p for p in own if _may_be_divided(p))
        found |= {p.ino for p in nlargest(A_RANK, new, key=lambda p: p.requests)}
    return frozenset(found)


def _may_be_divided(piece: Piece) -> bool:
    return piece.held == UNREAD_MASK or (piece.parts is None and piece.held in ("", FIXED_BELOW))


def _fullest(view: View) -> set[int]:
    """The ranks that are full, or the one that serves most."""
    top = max(view.ranks, key=lambda rank: rank.requests)
    return {rank.rank for rank in view.ranks if rank.full} or {top.rank}


def _awaited(view: View | None, known: Known) -> bool:
    """Has one of those that are used on these ranks not been read yet? It may not be moved until then."""
    if view is None or not view.ranks:
        return False
    ranks = _fullest(view)
    return any(p.rank in ranks and p.requests > 0.0 and p.path not in known.facts for p in view.pieces)


def _undivided(view: View, split: Collection[int]) -> frozenset[int]:
    """Inode numbers of those that a rank is too full for, and that have no parts that could be moved, or no
    more: of what is ``split`` only its own entries are left."""
    full = {rank.rank: rank.requests for rank in view.ranks if rank.full or view.harmful}
    one = (piece for piece in view.pieces if piece.parts == 0 or piece.ino in split)
    pieces = (piece for piece in one if piece.requests and not piece.held)
    return frozenset(p.ino for p in pieces if p.rank in full and p.requests >= FILLS * full[p.rank])
