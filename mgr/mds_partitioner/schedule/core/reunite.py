# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was taken apart, and has been little used for long, becomes one again: pins are kept few.

Its parts go to the rank where the rest of it is; what is there needs no pin of its own any more; and when no
part has one, it is seen as a whole. Ranks follow no pin that is taken off, so a part is moved first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ...model import NO_PIN
from .budgets import Pace
from .demand import Demand
from .state import Past, Quiet, State
from .together import families
from .view import EMPTY, Move, Piece

LITTLE = 0.25  # of a rank's share: with so much, all of it can be moved as a whole should there be more
QUIET = 86_400.0  # s in which clients were at work elsewhere: what is used by day keeps its ranks by night
DAY = 0.1  # of what a rank had at its most of late: with less, clients are at rest, and somebody is about
STANDS_FOR = 60.0  # s, at most, that a look tells of
BURST = 300.0  # s of use that end no day: what walks all trees by night needs no parts of them
AGAIN = 0.0025  # of the time it may be used so: as much of that is forgotten while it is not


def quiet(
    before: Mapping[int, Quiet],
    split: Collection[int],
    pieces: Sequence[Piece],
    demand: Mapping[int, Demand],
    past: Sequence[Past],
    share: float,
    peak: float,
    dt: float,
) -> dict[int, Quiet]:
    """For how long little has been asked of each that was taken apart, and no part was given away; by inode
    number.

    No time passes while no client is at work, and while all but what goes on in it by night is asleep; nor
    while it is used for a moment.

    :param share: req/s that a rank has, on the mean; peak: the most that this was of late
    :param dt: s since the look before
    """
    if not split:
        return {}
    below, last = families(pieces), {p.move.ino: p for p in past}
    found, span = dict[int, Quiet](), min(dt, STANDS_FOR)
    for piece in pieces:
        if piece.ino not in split or _given_away(piece, below[piece.ino], last):
            continue
        everything = (piece, *below[piece.ino])
        # The long mean is late when all load falls, and a look by itself may be noise.
        asked = min(sum(demand[p.ino].mean for p in everything), sum(p.requests for p in everything))
        known = before.get(piece.ino, Quiet())
        if asked <= LITTLE * peak:
            passes = share >= DAY * peak > 0.0 and asked <= LITTLE * share and not piece.strangers
            passed = known.passed + (span if passes else 0.0)
            found[piece.ino] = Quiet(passed, max(0.0, known.used - AGAIN * span))
        elif piece.ino in before and known.used + span <= BURST:
            found[piece.ino] = Quiet(known.passed, known.used + span)
    return found


def _given_away(piece: Piece, below: Sequence[Piece], last: Mapping[int, Past]) -> bool:
    """Was a part moved to another rank, for its load, within the time that moves are remembered?"""
    moves = (p.move for kid in below if (p := last.get(kid.ino)) is not None and not p.lost)
    return piece.rank is not None and any(m.load > 0.0 and m.target != piece.rank for m in moves)


def highest(before: float, share: float, dt: float) -> float:
    """req/s that a rank had at its most of late: less by half in a day. ``share``: that it has now"""
    return max(share, before * math.pow(0.5, dt / QUIET))


def due(quiet_for: Mapping[int, Quiet]) -> frozenset[int]:
    """Inode numbers of what was little used for so long."""
    return frozenset(ino for ino, of in quiet_for.items() if is_due(of))


def is_due(of: Quiet) -> bool:
    """Clients that come back do so by fits and starts: after any use it is waited until that is forgotten."""
    return of.passed >= QUIET and of.used <= 0.0


def joined(state: State, inos: Collection[int]) -> State:
    """These are seen as a whole from now on: what was known of what was left of them is over."""
    return replace(
        state,
        split=state.split - set(inos),
        asleep={ino: used for ino, used in state.asleep.items() if ino not in inos},
        demand={ino: known for ino, known in state.demand.items() if ino not in inos},
        quiet={ino: passed for ino, passed in state.quiet.items() if ino not in inos},
    )


class Reunion:
    """What may be undone of what was taken apart, in a look."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        split: Collection[int],
        over: Collection[int],
        resting: Collection[int],
        room: Mapping[int, float],
    ) -> None:
        """
        :param over: inode numbers of what was little used for so long
        :param resting: likewise of what was moved lately, or had its pin taken off
        :param room: by rank that is there: req/s that it may have more
        """
        self._resting, self._room, self._below = resting, room, families(pieces)
        # The innermost first: what is in several pieces is no part that could be moved.
        self._over = [
            (piece, piece.rank)
            for piece in pieces
            if piece.ino in over and piece.rank is not None and piece.rank in room and not piece.strangers
            if not any(kid.ino in split for kid in self._below[piece.ino])
        ]

    def whole(self) -> tuple[int, ...]:
        """Inode numbers of what is one again."""
        return tuple(
            piece.ino
            for piece, home in self._over
            # What is held is an operator's, or has such in it: it stays where it is in either case.
            if all(k.pin == NO_PIN and (k.rank == home or k.held) for k in self._below[piece.ino])
        )

    def moves(self, asked: Mapping[int, float], pace: Pace) -> tuple[Move, ...]:
        """Pins that are to be taken off, of what stays where it is without one; then parts that go where the
        rest is, as far as that makes no rank too full.

        :param asked: req/s of each piece, by inode number
        """
        found, left = list(self._needless())[: max(0, pace.moves)], pace.inodes
        room, first = dict(self._room), pace.idle
        for move in self._home(asked):
            fits = move.load <= room[move.target] and (move.inodes <= left or first)
            if not fits or len(found) >= pace.moves:
                continue
            found.append(move)
            room[move.target] -= move.load
            left, first = left - move.inodes, False
        return tuple(found)

    def _needless(self) -> Iterator[Move]:
        """MDSs export nothing that is empty, and take it back by themselves when it has no pin."""
        for piece, kid, rank, home in self._pinned():
            if rank == home or kid.inodes <= EMPTY:
                yield Move(kid.ino, kid.path, rank, rank, 0.0, 0.0, 0.0, f"no pin: {_why(piece)}")

    def _home(self, asked: Mapping[int, float]) -> Iterator[Move]:
        for piece, kid, rank, home in self._pinned():
            if rank != home and kid.inodes > EMPTY:
                yield Move(kid.ino, kid.path, rank, home, asked[kid.ino], 0.0, kid.inodes, _why(piece))

    def _pinned(self) -> Iterator[tuple[Piece, Piece, int, int]]:
        """Parts that may be moved now, each with what it is of, its rank and that one's.

        What came from elsewhere than the rest keeps its pin: a rollback could not tell any more from where.
        """
        for piece, home in self._over:
            for kid in self._below[piece.ino]:
                came_along = kid.pin != NO_PIN and kid.first in (home, piece.first)
                if came_along and kid.rank is not None and kid.rank in self._room and self._may(kid):
                    yield piece, kid, kid.rank, home

    def _may(self, piece: Piece) -> bool:
        return not piece.held and piece.ino not in self._resting


def _why(piece: Piece) -> str:
    return f"for a day {piece.path} has had less than a quarter of a rank's share: it needs no parts"
