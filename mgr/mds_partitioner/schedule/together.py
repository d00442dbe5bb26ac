# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is slower in parts than it was as a whole comes together again, on one rank.

A rename from one part to another, or a hard link, takes the locks and journals of two ranks, and several
messages between them (Server.cc, handle_peer_request). Where clients do much of that all wait for it, though
no rank is full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from .view import Move, Piece, View

PEERS = 0.2  # messages between ranks for each request, at least
SLOWER = 0.9  # of what it got through as a whole, at most
LOOKS = 6  # for which it is so
LASTS = 86_400.0  # s, after which it may be tried again


@dataclass(frozen=True)
class Whole:
    """Of what was taken apart.

    :ivar served: req/s that it got through before
    :ivar slower: looks for which it has got through less
    :ivar since: when it was found to be better off together, steady clock, s; -1: it was not
    """

    served: float
    slower: int = 0
    since: float = -1.0


def families(pieces: Iterable[Piece]) -> dict[int, list[Piece]]:
    """What was taken out of each, and out of that; by inode number."""
    within = {piece.ino: piece.within for piece in pieces}
    found: dict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        above = piece.within
        while above:
            found[above].append(piece)
            above = within.get(above, 0)
    return found


def seen(
    wholes: Mapping[int, Whole], split: Collection[int], view: View, stale: Collection[int]
) -> dict[int, Whole]:
    """With what a look shows.

    :param wholes: by inode number; split: of what is in parts
    :param stale: ranks that are not seen as they are
    """
    found = {ino: _tried_again(whole, view.now) for ino, whole in wholes.items() if ino in split}
    requests, peers = sum(r.requests for r in view.ranks), sum(r.peers for r in view.ranks)
    if view.advised or not found or not requests:
        return found
    many, heads = peers >= PEERS * requests, {p.ino: p for p in view.pieces if p.ino in found}
    below = families(view.pieces)
    for ino, head in heads.items():
        everything, whole = (head, *below[ino]), found[ino]
        ranks = {piece.rank for piece in everything}
        if whole.since >= 0.0 or not ranks.isdisjoint(stale):
            continue
        less = sum(piece.requests for piece in everything) < SLOWER * whole.served
        slower = whole.slower + 1 if many and less and len(ranks) > 1 else 0
        found[ino] = replace(whole, slower=slower)
    return found


def found_better(wholes: Mapping[int, Whole], pieces: Iterable[Piece], now: float) -> dict[int, Whole]:
    """With those marked that were slower for long enough, the outermost alone."""
    within = {piece.ino: piece.within for piece in pieces}
    due = {ino for ino, whole in wholes.items() if whole.since >= 0.0 or whole.slower >= LOOKS}
    outer = {ino for ino in due if wholes[ino].since < 0.0 and due.isdisjoint(_above(ino, within))}
    return {ino: replace(whole, since=now) if ino in outer else whole for ino, whole in wholes.items()}


def members(wholes: Mapping[int, Whole], pieces: Iterable[Piece]) -> dict[int, int]:
    """What stays together, by inode number: which whole it is of."""
    within = {piece.ino: piece.within for piece in pieces}
    ours = {ino for ino, whole in wholes.items() if whole.since >= 0.0}
    found = {}
    for ino in within if ours else ():
        of = next((above for above in (ino, *_above(ino, within)) if above in ours), None)
        if of is not None:
            found[ino] = of
    return found


def homewards(
    of: Mapping[int, int], pieces: Mapping[int, Piece], bound: Collection[int], asked: Mapping[int, float]
) -> list[Move]:
    """What is not yet where the rest of it is. Parts without a pin are, or come along.

    :param of: as ``members``
    :param bound: inode numbers of what is not to be moved now
    :param asked: req/s by inode number
    """
    found = []
    for ino, whole in of.items():
        piece, head = pieces[ino], pieces.get(whole)
        if head is None or None in (piece.rank, head.rank) or piece.held or ino in bound:
            continue
        if piece.rank is not None and head.rank is not None and piece.rank != head.rank:
            why = f"{head.path} was slower in parts: what is renamed or linked between them takes both ranks"
            load = asked[ino]
            found.append(Move(ino, piece.path, piece.rank, head.rank, load, 0.0, piece.inodes, why))
    return found


def _tried_again(whole: Whole, now: float) -> Whole:
    return replace(whole, slower=0, since=-1.0) if 0.0 <= whole.since < now - LASTS else whole


def _above(ino: int, within: Mapping[int, int]) -> list[int]:
    """What it was taken out of, and what that was, and so on."""
    found = []
    at = within.get(ino, 0)
    while at:
        found.append(at)
        at = within.get(at, 0)
    return found
