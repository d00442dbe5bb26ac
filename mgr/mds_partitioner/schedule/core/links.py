# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients make hard links in is not divided over ranks, and if it is, its parts stay where they are.

A link may be in another part than its file. When the file is just being moved to another rank, no rank has it
for a moment; and as long as it is new, nor does the data pool say where it is. Its rank writes that there
when the part of its journal expires in which the file was made (journal.cc, LogSegment::try_to_expire): there
is no time limit. An MDS that is asked for the link then takes it for damaged (MDCache.cc,
open_remote_dentry_finish): MDS_DAMAGE, "backtrace". Tried on 20.2.4: within seconds after forty parts of a
directory were moved in which clients made snapshots by links.

Which directory the links are made in is not told, only on which rank. Directories right below the root may be
linked with each other as well; who then reads by a link asks something of the file's directory alone. A rank
is told of links to its files that another makes (MMDSPeerRequest, OP_LINKPREP). MDSs refuse a link from one
subvolume to another, or to what is in none (Server.cc, handle_client_link: EXDEV).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from .together import enclosing
from .view import Piece, RankView

MANY = 0.02  # of a rank's requests
OFTEN = 5.0  # links/s, however many requests there are: each may be of what is just moving
LEAST = 1.0  # links/s, or what tells of them: with less a rank that does next to nothing would count
MUCH = 0.1  # of the rank's requests: what has so much may be what they are made in
LASTS = 600.0  # s, at least: those who make snapshots by links also read and delete for a while
# s, where the MDS does not tell of its journal: that keeps 128 segments of 1,024 events, which take so long
# at nine a second (mds_log_max_segments, mds_log_events_per_segment).
UNTOLD = 4 * 3600.0
UNDER_WAY = -1  # lower than any rank

T = TypeVar("T")


class Mark(NamedTuple):
    """When they were made last: by the steady clock, s, and by the journal of the rank that has them."""

    at: float
    rank: int
    written: int = 0

    def now(self, ranks: Mapping[int, RankView], now: float) -> Mark | None:
        """The same at another time; None: all that was made until then is where the data pool says."""
        rank = ranks.get(self.rank)
        if rank is None or not (rank.written and self.written):
            return self if now - self.at <= UNTOLD else None
        # An MDS that began anew counts from 0, and has all in its journal that the one before had.
        mark = self._replace(written=min(self.written, rank.written))
        expired = rank.written - rank.journal >= mark.written
        return None if expired and now - self.at > LASTS else mark


@dataclass(frozen=True)
class Links:
    """Where many were made lately, and when that was last.

    :ivar on: by rank
    :ivar of: by inode number of what has much there, and is no part of anything
    :ivar used: directories right below the root, by rank and inode number, that were used while that rank was
        one of ``on``, or was told of requests by one that made links
    """

    on: Mapping[int, Mark] = field(default_factory=dict)
    of: Mapping[int, Mark] = field(default_factory=dict)
    used: Mapping[tuple[int, int], Mark] = field(default_factory=dict)

    def seen(self, ranks: Sequence[RankView], pieces: Sequence[Piece], now: float) -> Links:
        """After a look."""
        many = {r.rank: _much(r) for r in ranks if _many(r)}
        views = {r.rank: r for r in ranks}
        marks = {r.rank: Mark(now, r.rank, r.written) for r in ranks}
        on = _lately(self.on, {rank: marks[rank] for rank in many}, views, now)
        ends = on.keys() | {r.rank for r in ranks if many and r.peers >= LEAST}
        asked = defaultdict[tuple[int, int], float](float)
        root = roots(pieces) if ends or self.of else {}
        for piece in pieces if ends else ():
            if piece.rank in ends:
                asked[piece.rank, root[piece.ino]] += piece.requests
        many_of = (at for at, requests in asked.items() if at[0] in many and requests >= many[at[0]])
        much = self._elsewhere(pieces, root, marks) | {ino: marks[rank] for rank, ino in many_of}
        top = {piece.ino for piece in pieces if _top(piece)} if ends else set()
        used = (at for at, requests in asked.items() if at[1] in top and requests >= LEAST)
        here = {at: marks[at[0]] for at in used if at[0] in marks}
        return Links(on, _lately(self.of, much, views, now), _lately(self.used, here, views, now))

    def _elsewhere(
        self, pieces: Sequence[Piece], root: Mapping[int, int], marks: Mapping[int, Mark]
    ) -> dict[int, Mark]:
        """Of ``of``, what has left its rank altogether: what was new there is so in another's journal."""
        ranks = defaultdict[int, set[int]](set)
        for piece in pieces if self.of else ():
            if root[piece.ino] in self.of:
                ranks[root[piece.ino]].add(UNDER_WAY if piece.rank is None else piece.rank)
        left = {ino: min(on) for ino, on in ranks.items() if self.of[ino].rank not in on}
        return {ino: marks[rank] for ino, rank in left.items() if rank in marks}

    def held(self, pieces: Sequence[Piece]) -> frozenset[int]:
        """Inode numbers of what is not divided, or stays as a part where it is: all of what has much there,
        on whatever rank, and what is on that rank; and what may be linked with that from right below the
        root."""
        if not self.on and not self.of:
            return frozenset()
        root, ends = roots(pieces), self._ends(pieces)
        tops = {ino for _, ino in ends}

        def stays(piece: Piece) -> bool:
            of = root[piece.ino]
            return piece.rank in self.on or of in self.of or piece.ino in tops or (piece.rank, of) in ends

        return frozenset(piece.ino for piece in pieces if stays(piece))

    def kept(self, pieces: Sequence[Piece], held: Collection[int]) -> frozenset[int]:
        """Of what is held, what is not moved as a whole either, as others may have links of its files: parts,
        and what is right below the root, if two of these were used.

        :param held: inode numbers, as of ``held``
        """
        several = bool(held and self._ends(pieces))
        return frozenset(p.ino for p in pieces if p.ino in held and (p.within or (several and _top(p))))

    def _ends(self, pieces: Sequence[Piece]) -> set[tuple[int, int]]:
        """Of ``used``, if two of them or more are still there and links are made of one: what these may be
        from and to."""
        there = {piece.ino for piece in pieces} if self.used else set()
        found = {(rank, ino) for rank, ino in self.used if ino in there}
        several = len({ino for _, ino in found}) > 1
        return found if several and any(rank in self.on for rank, _ in found) else set()


def _many(rank: RankView) -> bool:
    each = rank.links * rank.requests
    return each >= OFTEN or (each >= LEAST and rank.links >= MANY)


def _much(rank: RankView) -> float:
    """req/s: what has so many there may be what they are made in."""
    return rank.requests * (MUCH if rank.links >= MANY else min(MUCH, rank.links))


def _top(piece: Piece) -> bool:
    """Is it right below the root?"""
    return piece.path.count("/") == 1


def _lately(
    before: Mapping[T, Mark], seen: Mapping[T, Mark], ranks: Mapping[int, RankView], now: float
) -> dict[T, Mark]:
    left = {key: mark for key, of in before.items() if (mark := of.now(ranks, now)) is not None}
    return {**left, **seen}


def roots(pieces: Iterable[Piece]) -> dict[int, int]:
    """What each is a part of, at last, by inode number; itself, if of nothing."""
    within = {piece.ino: piece.within for piece in pieces}
    return {ino: (ino, *enclosing(ino, within))[-1] for ino in within}
