# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients make hard links in is not divided over ranks, and if it is, its parts stay where they are.

A link may be in another part than its file. When the file is just being moved to another rank, no rank has it
for a moment; and as long as it is new, nor does the data pool say where it is. An MDS that is asked for the
link then takes it for damaged (MDCache.cc, open_remote_dentry_finish): MDS_DAMAGE, "backtrace". Tried on
20.2.4: within seconds after forty parts of a directory were moved in which clients made snapshots by links.

Which directory the links are made in is not told, only on which rank: so it is each that may be it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .together import enclosing
from .view import Piece, RankView

MANY = 0.02  # of a rank's requests
LEAST = 1.0  # links/s: with less a rank that does next to nothing would count
LASTS = 600.0  # s: those who make snapshots by links also read and delete for a while


def seen(
    linked: Mapping[int, float], ranks: Iterable[RankView], pieces: Sequence[Piece], now: float
) -> dict[int, float]:
    """In what many may have been made, and when that was last, steady clock, s: inode numbers of what is no
    part of anything. ``linked``: as it was at the last look"""
    found = {ino: at for ino, at in linked.items() if now - at <= LASTS}
    least = {
        rank.rank: MANY * rank.requests
        for rank in ranks
        if rank.links >= MANY and rank.links * rank.requests >= LEAST
    }
    if not least:
        return found
    asked, of = defaultdict[tuple[int, int], float](float), roots(pieces)
    for piece in pieces:
        if piece.rank in least:
            asked[piece.rank, of[piece.ino]] += piece.requests
    return found | {root: now for (rank, root), requests in asked.items() if requests >= least[rank]}


def roots(pieces: Iterable[Piece]) -> dict[int, int]:
    """What each is a part of, at last, by inode number; itself, if of nothing."""
    within = {piece.ino: piece.within for piece in pieces}
    return {ino: (ino, *enclosing(ino, within))[-1] for ino in within}
