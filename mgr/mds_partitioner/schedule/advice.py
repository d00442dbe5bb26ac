# SPDX-License-Identifier: LGPL-2.1-or-later
"""The view as it would be had the advice been followed: so advice goes on, and is not given twice."""

from collections.abc import Mapping
from dataclasses import replace

from .view import Piece, RankView, View

INSIDE = 1.25  # requests: with fewer a rank rests at times (engine/saturation.py)


def as_if(view: View, advised: Mapping[int, int]) -> View:
    """With pieces on the ranks that were advised, by inode number. What is held or gone since is left.

    A piece takes its part of its rank's requests along, and of those inside.
    """
    ranks = {r.rank: r for r in view.ranks}
    requests = {rank: r.requests for rank, r in ranks.items()}
    inside = {rank: r.inside for rank, r in ranks.items()}
    found = []
    for piece in view.pieces:
        source, target = piece.rank, advised.get(piece.ino)
        if target is None or source is None or piece.held or not {source, target} <= ranks.keys():
            found.append(piece)
            continue
        waiting = ranks[source].inside * piece.requests / (ranks[source].requests or 1.0)
        for of, amount in ((requests, piece.requests), (inside, waiting)):
            of[source] -= amount
            of[target] += amount
        found.append(replace(piece, rank=target))
    moved = (replace(r, requests=max(0.0, requests[n]), inside=max(0.0, inside[n])) for n, r in ranks.items())
    return replace(view, ranks=tuple(_filled(r, ranks[r.rank]) for r in moved), pieces=tuple(found))


def _filled(rank: RankView, before: RankView) -> RankView:
    return rank if rank.requests == before.requests else replace(rank, full=rank.inside >= INSIDE)


def outstanding(advised: Mapping[int, int], pieces: Mapping[int, Piece]) -> dict[int, int]:
    """Of the advice, what is still possible, and not done by somebody meanwhile."""
    return {
        ino: target
        for ino, target in advised.items()
        if ino in pieces and pieces[ino].rank not in (None, target)
    }
