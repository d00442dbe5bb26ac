# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was taken apart, and has been little used for long, becomes one again: pins are kept few.

Its parts go to the rank where the rest of it is; what is there needs no pin of its own any more; and when no
part has one, it is seen as a whole. Ranks follow no pin that is taken off, so a part is moved first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from ..model import NO_PIN
from .demand import Demand
from .sleepers import EMPTY
from .state import State
from .view import Move, Piece

LITTLE = 0.25  # of a rank's share: with so much, all of it can be moved as a whole should there be more
QUIET = 86_400.0  # s in which clients were at work elsewhere: what is used by day keeps its ranks by night
LONGEST = 60.0  # s that a look stands for, at most


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


def quiet(
    before: Mapping[int, float],
    split: Collection[int],
    pieces: Sequence[Piece],
    demand: Mapping[int, Demand],
    share: float,
    dt: float,
) -> dict[int, float]:
    """s for which little has been asked of each that was taken apart, by inode number.

    :param share: req/s that a rank has, on the mean; while no client is at work no time passes
    :param dt: s since the look before
    """
    if not split:
        return {}
    below = families(pieces)
    asked = {
        p.ino: demand[p.ino].mean + sum(demand[kid.ino].mean for kid in below.get(p.ino, ()))
        for p in pieces
        if p.ino in split
    }
    passed = min(dt, LONGEST) if share > 0.0 else 0.0
    return {ino: before.get(ino, 0.0) + passed for ino, load in asked.items() if load <= LITTLE * share}


def due(quiet_for: Mapping[int, float]) -> bool:
    """Has anything been little used for so long?"""
    return any(passed >= QUIET for passed in quiet_for.values())


def joined(state: State, inos: Collection[int]) -> State:
    """These are seen as a whole from now on: what was known of what was left of them is over."""
    return replace(
        state,
        split=state.split - set(inos),
        asleep=state.asleep - set(inos),
        demand={ino: known for ino, known in state.demand.items() if ino not in inos},
        quiet={ino: passed for ino, passed in state.quiet.items() if ino not in inos},
    )


class Reunion:
    """What may be undone of what was taken apart, in a look."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        split: Collection[int],
        quiet_for: Mapping[int, float],
        resting: Collection[int],
    ) -> None:
        """``resting``: inode numbers of what was moved within an hour, or had its pin taken off."""
        self._resting = resting
        there, self._below = {piece.ino: piece for piece in pieces}, families(pieces)
        quiet_ones = (there[ino] for ino, passed in quiet_for.items() if passed >= QUIET and ino in there)
        # The innermost first: what is in several pieces is no part that could be moved.
        self._over = [
            piece
            for piece in quiet_ones
            if piece.rank is not None and not any(kid.ino in split for kid in self._below[piece.ino])
        ]

    def whole(self) -> tuple[int, ...]:
        """Inode numbers of what is one again."""
        return tuple(
            piece.ino
            for piece in self._over
            if all(kid.rank == piece.rank and kid.pin == NO_PIN for kid in self._below[piece.ino])
        )

    def needless(self) -> list[Move]:
        """Pins that are to be taken off: of what stays where it is without one."""
        return [
            Move(kid.ino, kid.path, piece.rank, piece.rank, 0.0, 0.0, 0.0, f"no pin: {_why(piece)}")
            for piece in self._over
            for kid in self._below[piece.ino]
            if piece.rank is not None and kid.rank == piece.rank and kid.pin != NO_PIN and self._may(kid)
        ]

    def home(
        self,
        asked: Mapping[int, float],
        load: Mapping[int, float],
        most: Mapping[int, float],
        inodes: float,
        moves: int,
    ) -> list[Move]:
        """Parts that go where the rest is, as far as that makes no rank too full.

        :param asked: req/s of each piece, by inode number; load: by rank, req/s
        :param most: req/s that a rank may have
        :param inodes: that may be begun now; moves: the same
        """
        found, room = list[Move](), {rank: most[rank] - load[rank] for rank in load}
        for piece in self._over:
            away = [kid for kid in self._below[piece.ino] if kid.rank != piece.rank]
            more = sum(asked[kid.ino] for kid in away)
            if piece.rank is None or more > room.get(piece.rank, -1.0):
                continue
            room[piece.rank] -= more
            found += [
                Move(kid.ino, kid.path, kid.rank, piece.rank, asked[kid.ino], 0.0, kid.inodes, _why(piece))
                for kid in away
                # MDSs export nothing that is empty.
                if kid.rank is not None and kid.inodes > EMPTY and self._may(kid)
            ]
        taken = accumulate(move.inodes for move in found)
        return [move for move, so_far in zip(found, taken) if so_far <= inodes][: max(0, moves)]

    def _may(self, piece: Piece) -> bool:
        return not piece.held and piece.ino not in self._resting


def _why(piece: Piece) -> str:
    return f"for a day {piece.path} has had less than a quarter of a rank's share: it needs no parts"
