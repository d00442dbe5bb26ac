# SPDX-License-Identifier: LGPL-2.1-or-later
"""The view as it would be had the advice been followed: so advice goes on, and is not given twice."""

from collections.abc import Mapping
from dataclasses import replace

from ...engine.inside import INSIDE
from .view import FOR_A_MOMENT, Piece, RankView, View


def as_if(view: View, advised: Mapping[int, tuple[int, ...]]) -> View:
    """With pieces on the ranks that were advised. What is held or gone since is left.

    A piece takes its part of its rank's requests along, and of those inside.

    :param advised: the rank of each equal part of a piece, by inode number
    """
    ranks = {r.rank: r for r in view.ranks}
    requests = {rank: r.requests for rank, r in ranks.items()}
    inside = {rank: r.inside for rank, r in ranks.items()}
    found = []
    for piece in view.pieces:
        source, targets = piece.rank, advised.get(piece.ino, ())
        if not targets or source is None or piece.held or not {source, *targets} <= ranks.keys():
            found.append(piece)
            continue
        waiting = ranks[source].inside * piece.requests / (ranks[source].requests or 1.0)
        for of, amount in ((requests, piece.requests), (inside, waiting)):
            of[source] -= amount
            for target in targets:
                of[target] += amount / len(targets)
        found.append(piece._replace(rank=targets[0] if len(targets) == 1 else None))
    # Nobody pins their parts, so when they would lose their pins is not known.
    found = [piece._replace(strangers=True) for piece in found]
    moved = (replace(r, requests=max(0.0, requests[n]), inside=max(0.0, inside[n])) for n, r in ranks.items())
    shown = tuple(_filled(r, ranks[r.rank]) for r in moved)
    return replace(view, ranks=shown, pieces=tuple(found), advised=True)


def _filled(rank: RankView, before: RankView) -> RankView:
    return rank if rank.requests == before.requests else replace(rank, full=rank.inside >= INSIDE)


def outstanding(advised: Mapping[int, tuple[int, ...]], view: View) -> dict[int, tuple[int, ...]]:
    """Of the advice, what is still possible, and not done by somebody meanwhile.

    :param view: as it was seen
    """
    ranks = {rank.rank for rank in view.ranks}
    pieces = {piece.ino: piece for piece in view.pieces if piece.ino in advised}
    return {
        ino: targets
        for ino, targets in advised.items()
        if ino in pieces and _possible(pieces[ino], targets) and ranks.issuperset(targets)
    }


def _possible(piece: Piece, targets: tuple[int, ...]) -> bool:
    """What is on several ranks, or held by an operator's setting since, will not go there."""
    if piece.rank is None or targets == (piece.rank,):
        return False
    return not piece.held or piece.held in FOR_A_MOMENT
