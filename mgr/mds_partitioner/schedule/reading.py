# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which directories are read about next, for the looks: the busiest first, and a few of all each time."""

from collections.abc import Callable, Collection
from heapq import nlargest

from ..act.run import Run
from ..clock import Now
from ..model import FsState
from ..observe.heat import requests
from ..options import Settings
from .catalogue import Wanted
from .core.view import OURS_BELOW, View
from .deleted import absent
from .plans import owned
from .watch import Watch

FEW = 16  # directories that are read at first
FILLS = 0.5  # of a full rank: what has so much of it is looked into


def read(
    fs: FsState, watch: Watch, runs: Collection[Run], settings: Settings, now: Callable[[], Now]
) -> bool:
    """Read some. Is there something to look at that was not there before?

    First the list alone; then a few, the busiest first, so that these are known soon; then as many more as
    are known each time: every round lists all there are.
    """
    seen = () if watch.view is None else watch.view.pieces
    hot = frozenset() if watch.view is None else _undivided(watch.view, watch.state.split)
    # The parts of what is on its way to be taken apart are known when it comes.
    moving = frozenset(move.ino for move in watch.state.moving)
    known = watch.catalogue.known
    # What waits to be read is no piece yet.
    served = {rank: of.requests for rank, of in watch.ranks.items()} if known.waiting else {}
    warm = requests(watch.heat, served)
    asked = {path: warm[path] for path in known.waiting if path in warm} | {p.path: p.requests for p in seen}
    # Only where a rank wants relief, and nothing else was found: an operator's plan may have pinned in these.
    pressed = watch.pressing_since is not None
    ours = frozenset(piece.ino for piece in seen if pressed and piece.held == OURS_BELOW)
    wanted = Wanted(asked, watch.state.split | watch.state.apart, hot, moving, ours)
    share = min(max(FEW, len(known.facts)), settings.rentries_per_epoch)
    limit = share if known.directories else 0
    watch.catalogue.refresh(fs, limit, wanted, owned(runs, fs.fscid, wanted.split), now().wall)
    listed = {directory.ino for directory in watch.catalogue.known.directories}
    parted = watch.state.split.union(watch.state.scattered).difference(listed)
    watch.catalogue.deleted.look(fs, absent(runs, fs.fscid, listed) | parted)
    if watch.catalogue.known.unread:
        pause = settings.epoch * share / settings.rentries_per_epoch
        watch.read_due = min(watch.read_due, now().steady + pause)
    return known.seen != watch.catalogue.known.seen


def unknown(view: View) -> bool:
    """Has nobody looked yet into one of those that have most to do?"""
    busiest = nlargest(len(view.ranks), view.pieces, key=lambda piece: piece.requests)
    return any(piece.parts is None and piece.requests > 0.0 for piece in busiest)


def _undivided(view: View, split: Collection[int]) -> frozenset[int]:
    """Inode numbers of those that a rank is too full for, and that have no parts that could be moved, or no
    more: of what is ``split`` only its own entries are left."""
    full = {rank.rank: rank.requests for rank in view.ranks if rank.full or view.harmful}
    one = (piece for piece in view.pieces if piece.parts == 0 or piece.ino in split)
    pieces = (piece for piece in one if piece.requests and not piece.held)
    return frozenset(p.ino for p in pieces if p.rank in full and p.requests >= FILLS * full[p.rank])
