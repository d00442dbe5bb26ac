# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pieces to have placed part by part, by the MDSs, as what is in them is made."""

from collections import Counter
from collections.abc import Mapping, Sequence

from .view import Piece, Scatter

Own = tuple[Piece, float]
"""A piece that is on one rank, and its load, req/s."""


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
    how = "its files are spread by their names" if piece.files else "what comes and goes is placed when made"
    why = f"{piece.path}: {how}; relieves rank {piece.rank} by {gain:.0f} req/s"
    return Scatter(piece.ino, piece.path, piece.rank, piece.scatters, own, gain, why)
