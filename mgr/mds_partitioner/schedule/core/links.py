# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients make hard links in is not divided over ranks, and if it is, its parts stay where they are.

A link may be in another part than its file. When the file is just being moved to another rank, no rank has it
for a moment; and as long as it is new, nor does the data pool say where it is. An MDS that is asked for the
link then takes it for damaged (MDCache.cc, open_remote_dentry_finish): MDS_DAMAGE, "backtrace". Tried on
20.2.4: within seconds after forty parts of a directory were moved in which clients made snapshots by links.

Which directory the links are made in is not told, only on which rank. Directories right below the root may be
linked with each other as well. MDSs refuse a link from one subvolume to another, or to what is in none
(Server.cc, handle_client_link: EXDEV).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .together import enclosing
from .view import Piece, RankView

MANY = 0.02  # of a rank's requests
LEAST = 1.0  # links/s: with less a rank that does next to nothing would count
MUCH = 0.1  # of the rank's requests: what has so much may be what they are made in
LASTS = 600.0  # s: those who make snapshots by links also read and delete for a while


@dataclass(frozen=True)
class Links:
    """Where many were made lately. Steady clock, s, when that was last.

    :ivar on: by rank
    :ivar of: by inode number of what has much there, and is no part of anything
    """

    on: Mapping[int, float] = field(default_factory=dict)
    of: Mapping[int, float] = field(default_factory=dict)

    def seen(self, ranks: Iterable[RankView], pieces: Sequence[Piece], now: float) -> Links:
        """After a look."""
        many = {r.rank: r.requests for r in ranks if r.links >= MANY and r.links * r.requests >= LEAST}
        asked, root = defaultdict[tuple[int, int], float](float), roots(pieces) if many else {}
        for piece in pieces if many else ():
            if piece.rank in many:
                asked[piece.rank, root[piece.ino]] += piece.requests
        much = {ino for (rank, ino), requests in asked.items() if requests >= MUCH * many[rank]}
        return Links(_lately(self.on, many, now), _lately(self.of, much, now))

    def held(self, pieces: Sequence[Piece]) -> frozenset[int]:
        """Inode numbers of what is not divided, or stays as a part where it is: all of what has much there,
        on whatever rank, and what is on that rank."""
        if not self.on and not self.of:
            return frozenset()
        root = roots(pieces)
        return frozenset(p.ino for p in pieces if p.rank in self.on or root[p.ino] in self.of)


def kept(pieces: Sequence[Piece], held: Collection[int]) -> frozenset[int]:
    """Of what is held, what is not moved as a whole either, as others may have links of its files: parts, and
    what is right below the root, if two of these are used: to make a link asks something of both.

    :param held: inode numbers, as of ``Links.held``
    """
    own = [piece for piece in pieces if piece.ino in held] if held else []
    root = roots(pieces) if own else {}
    top, asked = {p.ino for p in own if p.path.count("/") == 1}, defaultdict[int, float](float)
    for piece in own:
        asked[root[piece.ino]] += piece.requests
    several = sum(asked[ino] >= LEAST for ino in top) > 1
    return frozenset(p.ino for p in own if p.within or (several and p.ino in top))


def _lately(before: Mapping[int, float], seen: Iterable[int], now: float) -> dict[int, float]:
    return {key: at for key, at in before.items() if now - at <= LASTS} | dict.fromkeys(seen, now)


def roots(pieces: Iterable[Piece]) -> dict[int, int]:
    """What each is a part of, at last, by inode number; itself, if of nothing."""
    within = {piece.ino: piece.within for piece in pieces}
    return {ino: (ino, *enclosing(ino, within))[-1] for ino in within}
