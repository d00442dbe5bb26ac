# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pieces to have placed part by part, by the MDSs, as what is in them is made.

Of a directory that is on several ranks libcephfs and ceph-fuse look up every name at the lowest of those that
they have capabilities of it from (Client.cc, choose_target_mds), when MDSs tell them of no replicas, as with
mds_forward_all_requests_to_auth. That rank passes them on, which costs it as much as to answer: a crowd that
reads one directory's files gets through less. What changes something goes to the right rank at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from ...model import NO_PIN
from .candidates import candidates
from .choose import Budget
from .look import Look
from .moves import chosen, paying
from .view import Piece, Scatter

READ = 0.65  # of a rank's requests look up a name: files are mostly read there. Each create looks up one, too

Own = tuple[Piece, float]
"""A piece that is on one rank, and its load, req/s."""


def scattered(look: Look, stuck: Sequence[int]) -> tuple[Scatter, ...]:
    """Of what comes and goes, and of files, on ranks that nothing else relieves, what brings most. It need
    not rest: it does not come back from there.

    :param stuck: ranks that are full, or nearly so, and that no move relieves
    """
    pieces = (p for p in look.view.pieces if p.rank in stuck and p.ino not in look.expected.bound)
    may = [
        (piece, look.expected.load(piece))
        for piece in pieces
        if not refused(look, piece) and not (piece.files and _waits(look, piece.rank))
    ]
    best = scatter(may, look.loads, look.shares, look.band)
    found = [replace(each, inodes=_inodes(look, look.pieces[each.ino])) for each in best]
    taken = accumulate(each.inodes for each in found)
    left = look.budgets.inodes()
    alone = left > 0.0 and not (look.state.awaited or look.expected.moved)
    return tuple(s for i, (s, all_) in enumerate(zip(found, taken)) if all_ <= left or (alone and not i))


def refused(look: Look, piece: Piece) -> str:
    """Why MDSs are not to place what is in it, in words; "" where they may."""
    if piece.held:
        return piece.held
    if piece.ino in look.state.scattered:
        return look.state.gathered or "what is in it is placed by the MDSs already"
    if piece.ino in {*look.together, *look.linked}:
        return "it is not divided"
    if not piece.scatters:
        return piece.undivided or "it cannot be divided, as far as is known"
    if not set(piece.scatters) <= {r.rank for r in look.view.ranks}:
        return "MDSs would put parts of it on ranks that are not to be used"
    if piece.parts != 0 and _along(look, piece) is None:
        return "it has parts of its own"
    if (
        piece.files
        and not piece.many
        and any(r.lookups > READ for r in look.view.ranks if r.rank == piece.rank)
    ):
        return "its files are looked up: were they on several ranks, clients would ask the wrong ones"
    inodes = _inodes(look, piece)
    alone = not (look.state.awaited or look.expected.moved) and look.budgets.inodes() > 0.0
    if not look.pays(look.expected.load(piece), inodes) or (inodes > look.limits.inodes and not alone):
        return f"it has {inodes:,.0f} inodes"
    return ""


def _inodes(look: Look, piece: Piece) -> float:
    """That would move, with what goes along."""
    return piece.inodes + sum(p.inodes for p in _along(look, piece) or ())


def _along(look: Look, piece: Piece) -> list[Piece] | None:
    """Of what is seen as its parts, those that would go along with what is left of it, as they have no pins;
    None: it is not, or too much is asked of them."""
    parts = [p for p in look.view.pieces if p.within == piece.ino]
    unread = not piece.files and (piece.unknown or len(parts) < (piece.parts or 0))
    if piece.ino not in look.state.split or unread:
        return None
    along = [p for p in parts if p.rank == piece.rank and p.pin == NO_PIN]
    return along if sum(map(look.expected.load, along)) <= look.band * look.asked.share else None


def _waits(look: Look, rank: int | None) -> bool:
    """Would a move relieve it that is only not to be made yet? Clients ask the wrong ranks for what is in
    fragments elsewhere, so that is for what nothing else will help."""
    later, one = candidates(look, resting=True), Budget(1, math.inf, True)
    return bool(rank is not None and paying(look, chosen(look, later, one, {rank})[0]))


def scatter(
    pieces: Sequence[Own], load: Mapping[int, float], share: Mapping[int, float], least: float
) -> tuple[Scatter, ...]:
    """Those that together relieve most; () when none of them relieves anybody enough.

    Two that fill a rank each relieve nobody when only one of them is spread, so they are taken together: the
    largest, the two largest, and so on.

    :param load: req/s by rank, of everything
    :param share: req/s that each rank should have
    :param least: by how much the fullest rank that they are on must get emptier, in parts of its share
    """
    order = sorted(pieces, key=lambda own: (-own[1], own[0].ino))
    sets = [order[: n + 1] for n in range(len(order))]
    best = max(sets, key=lambda some: (_relief(some, load, share), -len(some)), default=[])
    if not best or _relief(best, load, share) < least:
        return ()
    return tuple(_scatter(piece, own) for piece, own in best)


def _after(pieces: Sequence[Own], load: Mapping[int, float]) -> dict[int, float]:
    after = dict(load)
    for piece, own in pieces:
        assert piece.rank is not None
        after[piece.rank] -= own
        for rank, number in Counter(piece.scatters).items():
            after[rank] += own * number / len(piece.scatters)
    return after


def _relief(pieces: Sequence[Own], load: Mapping[int, float], share: Mapping[int, float]) -> float:
    """Of the fullest of all ranks that have them, before or then, in parts of its share."""
    after = _after(pieces, load)
    ranks = {piece.rank for piece, _ in pieces} | {r for piece, _ in pieces for r in piece.scatters}
    of = [r for r in load if r in ranks]
    return max(load[r] / share[r] for r in of) - max(after[r] / share[r] for r in of)


def _scatter(piece: Piece, own: float) -> Scatter:
    assert piece.rank is not None
    gain = own * (1.0 - piece.scatters.count(piece.rank) / len(piece.scatters))
    how = "what is in it is spread by its names" if piece.files else "what comes and goes is placed when made"
    why = f"{piece.path}: {how}; relieves rank {piece.rank} by {gain:.0f} req/s"
    return Scatter(piece.ino, piece.path, piece.rank, piece.scatters, own, gain, why)
