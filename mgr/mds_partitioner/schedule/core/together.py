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

from ...model import NO_PIN
from .view import Move, Piece, View

PEERS = 0.1  # messages between its ranks for each request there, at least
SLOWER = 0.85  # of what it got through as a whole, at most
LEAST = 0.02  # of that, at least: with less its clients have ended; renames may wait for an MDS's tick each
HELPS = 1.1  # times what it got through in parts, at least, it does together; else it was not that
LOOKS = 6  # before which nothing is judged
MEMORY = 12  # looks of which a mean is, roughly: clients that rename are uneven from look to look
JUDGED = 600.0  # s, since it is in parts: later the load is another one
LATE = 120  # looks, ten minutes of them: when parts have not come by then, or clients, nothing is learned
WAITS = 300.0  # s, at most, for which one keeps others from coming together: its clients may have ended
NOTHING = 1e-3  # req/s of what nobody uses: it is moved all the same, and not as what is new
LASTS = 86_400.0  # s, after which it may be tried again


@dataclass(frozen=True)
class Whole:
    """Of what was taken apart. Times: steady clock, s; -1: never.

    :ivar served: req/s that it got through on one rank, last
    :ivar apart: since when it is on several
    :ivar worse: req/s that it got through there, the mean of its last looks within JUDGED
    :ivar peers: messages between its ranks for each request there, likewise; looks: so many
    :ivar well: it got through as much there, for a while: that it is in parts is not what makes it slower
    :ivar since: when it was found to be better off together; coming: looks for which it has been apart, or
        nobody used it, since
    :ivar together: looks for which it has been on one rank again, and in use; better: req/s then, their mean
    """

    served: float
    apart: float = -1.0
    worse: float = 0.0
    peers: float = 0.0
    looks: int = 0
    well: bool = False
    since: float = -1.0
    coming: int = 0
    together: int = 0
    better: float = 0.0

    @property
    def proved(self) -> bool:
        """Together again it was seen to get through more."""
        return self.since >= 0.0 and self.together >= MEMORY

    @property
    def slower(self) -> bool:
        """It gets through less in parts, because of messages between ranks."""
        return self._less and self.peers >= PEERS and self.looks >= LOOKS

    def in_question(self, now: float) -> bool:
        """It may be, and is to be looked at closely. now: steady clock, s"""
        return self._less and self.since < 0.0 <= self.apart and now - self.apart <= JUDGED

    @property
    def _less(self) -> bool:
        return not self.well and LEAST * self.served <= self.worse < SLOWER * self.served


def families(pieces: Iterable[Piece]) -> dict[int, list[Piece]]:
    """What was taken out of each, and out of that; by inode number."""
    within = {piece.ino: piece.within for piece in pieces}
    found: dict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        for above in enclosing(piece.ino, within):
            found[above].append(piece)
    return found


def seen(
    wholes: Mapping[int, Whole],
    split: Collection[int],
    scattered: Collection[int],
    view: View,
    stale: Collection[int],
) -> dict[int, Whole]:
    """With what a look shows.

    :param wholes: by inode number; split: of what is in parts; scattered: of what MDSs place
    :param stale: ranks that are not seen as they are
    """
    found = {ino: _tried_again(whole, view.now) for ino, whole in wholes.items() if ino in split}
    if view.advised or not found:
        return found
    below = families(view.pieces)
    for head in (p for p in view.pieces if p.ino in found):
        everything = (head, *below[head.ino])
        ranks = {piece.rank for piece in everything}
        told = view.told is None or any(piece.ino in view.told for piece in everything)
        placed = any(piece.ino in scattered for piece in everything)
        if None in ranks or placed or not told or not ranks.isdisjoint(stale):
            continue  # it is not seen as it is
        mine = [rank for rank in view.ranks if rank.rank in ranks]
        has, all_of_it = sum(piece.requests for piece in everything), sum(r.requests for r in mine)
        peers = sum(r.peers for r in mine) / max(all_of_it, NOTHING)
        whole = found[head.ino]
        if whole.since >= 0.0:
            found[head.ino] = _gathered(whole, has, len(ranks) > 1)
        else:
            found[head.ino] = (
                _in_parts(whole, has, peers, view.now) if len(ranks) > 1 else _on_one(whole, has)
            )
    return found


def _gathered(whole: Whole, has: float, apart: bool) -> Whole:
    """One that comes together, or has. It is let go when that does not help, or parts of it do not come;
    nothing is known when its clients have ended before: what comes later is another load.

    :param has: req/s; apart: it is on several ranks still
    """
    if whole.proved:
        return whole
    if apart or has < LEAST * whole.served:
        if whole.coming < LATE:
            return replace(whole, coming=whole.coming + 1)
        return _let_go(whole) if apart else Whole(whole.served)
    looks = whole.together + 1
    better = whole.better + (has - whole.better) / looks
    vain = looks == MEMORY and better < HELPS * whole.worse
    return _let_go(whole) if vain else replace(whole, together=looks, better=better)


def _let_go(whole: Whole) -> Whole:
    """It is as free as before, and not tried again."""
    return replace(whole, served=0.0, since=-1.0)


def _on_one(whole: Whole, has: float) -> Whole:
    return replace(whole, served=(whole.served + has) / 2.0) if whole.apart < 0.0 else whole


def _in_parts(whole: Whole, has: float, peers: float, now: float) -> Whole:
    if whole.apart >= 0.0 and now - whole.apart > JUDGED:
        return whole
    looks = whole.looks + 1
    new = 1.0 / min(looks, MEMORY)
    worse = whole.worse + new * (has - whole.worse)
    return replace(
        whole,
        apart=whole.apart if whole.apart >= 0.0 else now,
        worse=worse,
        well=whole.well or (looks >= MEMORY and worse >= SLOWER * whole.served),
        peers=whole.peers + new * (peers - whole.peers),
        looks=looks,
    )


def found_better(
    wholes: Mapping[int, Whole], pieces: Iterable[Piece], fixed: Collection[int], now: float
) -> dict[int, Whole]:
    """With one marked that is slower, the outermost. None until the last one is proved, or was let go, or
    takes too long: which of them the messages between ranks are of is not known.

    :param fixed: inode numbers of what may not be moved now: it has its turn when it may
    """
    if any(
        whole.since >= 0.0 and not whole.proved and now - whole.since <= WAITS for whole in wholes.values()
    ):
        return dict(wholes)
    due = {ino for ino, whole in wholes.items() if whole.since >= 0.0 or (whole.slower and ino not in fixed)}
    within = {piece.ino: piece.within for piece in pieces} if due else {}
    outer = [ino for ino in sorted(due) if wholes[ino].since < 0.0 and due.isdisjoint(enclosing(ino, within))]
    if not outer:
        return dict(wholes)
    worst = min(outer, key=lambda ino: wholes[ino].worse / wholes[ino].served)
    return {**wholes, worst: replace(wholes[worst], since=now)}


def members(
    wholes: Mapping[int, Whole],
    pieces: Mapping[int, Piece],
    scattered: Collection[int],
    ranks: Collection[int],
) -> dict[int, int]:
    """What stays together, by inode number: which whole it is of. None of what is on several ranks itself.

    :param pieces: by inode number; scattered: of what MDSs place
    :param ranks: that may have load
    """
    ours = {
        ino
        for ino, whole in wholes.items()
        if whole.since >= 0.0 and ino in pieces and pieces[ino].rank in ranks and ino not in scattered
    }
    within = {ino: piece.within for ino, piece in pieces.items()} if ours else {}
    found = {}
    for ino in within:
        of = next((above for above in (ino, *enclosing(ino, within)) if above in ours), None)
        if of is not None and ino not in scattered:
            found[ino] = of
    return found


def homewards(
    of: Mapping[int, int], pieces: Mapping[int, Piece], asked: Mapping[int, float], ranks: Collection[int]
) -> list[Move]:
    """What is not yet where the rest of it is, or has a pin elsewhere: MDSs take back what is empty, and
    bring it there again. Parts without a pin are there, or come along.

    :param of: as ``members``
    :param asked: req/s by inode number
    :param ranks: that may have load
    """
    found = []
    for ino, whole in of.items():
        piece, head = pieces[ino], pieces[whole]
        if piece.rank is None or head.rank is None or piece.held or not {piece.rank, head.rank} <= set(ranks):
            continue
        why = f"{head.path} was slower in parts: what is renamed or linked between them takes both ranks"
        load = max(asked[ino], NOTHING)
        if piece.rank != head.rank:
            move = Move(ino, piece.path, piece.rank, head.rank, load, 0.0, piece.inodes, why, gathers=True)
            found.append(move)
        elif piece.pin not in (NO_PIN, head.rank):
            found.append(Move(ino, piece.path, head.rank, head.rank, 0.0, 0.0, 0.0, why, keeps=True))
    return found


def _tried_again(whole: Whole, now: float) -> Whole:
    again = 0.0 <= whole.since < now - LASTS
    return Whole(whole.served) if again else whole


def enclosing(ino: int, within: Mapping[int, int]) -> list[int]:
    """What it was taken out of, and what that was, and so on. What was renamed meanwhile may seem to be in
    itself."""
    found: list[int] = []
    at = within.get(ino, 0)
    while at and at != ino and at not in found:
        found.append(at)
        at = within.get(at, 0)
    return found
