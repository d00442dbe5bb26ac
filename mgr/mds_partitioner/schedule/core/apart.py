# SPDX-License-Identifier: LGPL-2.1-or-later
"""Taking a directory apart: its parts go to their ranks, and what is left of it to the highest.

A part's own inode stays with its parent. Clients are told of no replicas while the scheduler acts, and ask
the lowest rank that gave them a capability of a directory (``Client::choose_target_mds``). So with the parent
on the lowest rank every request for every part goes there, only to be passed on; with the parent on the
highest it goes to the part's own rank (docs/benchmarking.md, Forwards). What is left goes last: clients keep
the capability of a rank that has a part no more, but not of one that has given its parent away.

Where the parts that stay would need too many pins, all of it goes to the highest rank first, as a whole.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from statistics import fmean

from ...model import NO_PIN
from .candidates import candidates
from .choose import Budget, Candidate
from .evenness import waited
from .look import Look
from .state import FRESH, State
from .together import Whole
from .view import FIXED_BELOW, OURS_BELOW, UNREAD, Move, Piece

FEW = 128  # parts that may get pins where they are, so that they stay when what is left goes up
SLOW = 0.5  # of what ranks can do on the mean


def at_once(look: Look) -> tuple[tuple[int, ...], str]:
    """What is seen as its parts from now on, whatever else is to be done, and why."""
    here = _come(look.state, look.pieces)
    if here:
        return here, told(look, here)
    pinned = _pinned(look)
    return pinned, told(look, pinned, why=OURS_BELOW) if pinned else ""


def _come(state: State, there: Collection[int]) -> tuple[int, ...]:
    """Of what is to be taken apart, what has come to the highest rank, or will not.

    :param there: inode numbers of pieces
    """
    begun = {past.move.ino for past in state.past if past.arrived < 0.0}
    return tuple(sorted(ino for ino in state.apart if ino in there and ino not in begun))


def _pinned(look: Look) -> tuple[int, ...]:
    """What has parts that we pinned: a plan of an operator's did, or a scheduler whose record was lost. What
    they have is in no piece, so it does not say how much that is."""
    ours = (p for p in look.view.pieces if p.held == OURS_BELOW and p.ino not in look.state.split)
    return tuple(p.ino for p in ours if p.parts)


def opened(state: State, inos: Collection[int], there: Collection[int]) -> State:
    """These are seen as their parts from now on: what was known of them as a whole is over."""
    if not inos:
        return replace(state, apart=state.apart.intersection(there)) if state.apart else state
    served = {ino: Whole(state.demand[ino].mean) for ino in inos if ino in state.demand}
    return replace(
        state,
        wholes={**state.wholes, **served},
        past=tuple(replace(p, looks=FRESH, settled=0.0) if p.move.ino in inos else p for p in state.past),
        # Of what is split only its own entries are left in the piece.
        demand={ino: known for ino, known in state.demand.items() if ino not in inos},
        split=state.split | set(inos),
        apart=(state.apart & set(there)) - set(inos),
    )


def wanted(look: Look, may: Sequence[Candidate], stuck: Sequence[int]) -> tuple[int, ...]:
    """Inode numbers of what is to be taken apart: of crowded ranks all that fits nowhere, though it rests;
    else of each that nothing relieves the largest piece, if it has a good part of the load.

    :param may: what may be moved now
    :param stuck: ranks that no move relieves
    """
    if look.budgets.spent():
        return ()
    ranks = crowded(look)
    large = _fits_nowhere(look, may, ranks)
    if large:
        return large
    parts = [(look.pieces[c.key], c.load) for c in may]
    parts += [(p, look.expected.load(p)) for p in look.view.pieces if p.held == FIXED_BELOW]
    parts = [(p, load) for p, load in parts if _divisible(look, p) and p.ino not in look.state.split]
    found = []
    for rank in filter(ranks.__contains__, stuck):
        much = look.band * look.shares[rank]
        unread = (p.requests for p in look.view.pieces if p.rank == rank and p.held == UNREAD)
        if sum(unread) > much:
            continue  # what relieves it may be among these
        own = [(load, -p.ino) for p, load in parts if p.rank == rank and load >= much]
        if own:
            found.append(-max(own)[1])
    return tuple(found)


def _fits_nowhere(look: Look, may: Sequence[Candidate], ranks: Collection[int]) -> tuple[int, ...]:
    """Inode numbers of what is too large for every rank, on one of these. ``may``: as for ``wanted``"""
    asked, most = look.asked.by_ino, _most_that_fits(look)
    large = {
        p.ino for p in look.view.pieces if p.rank in ranks and asked[p.ino] > most and _divisible(look, p)
    }
    if not large:
        return ()
    found = tuple(c.key for c in candidates(look, resting=True) if c.key in large)
    moves = set(higher(look, found)) - {c.key for c in may}  # what rests would, as a whole, once more
    return tuple(ino for ino in found if ino not in moves)


def _divisible(look: Look, piece: Piece) -> bool:
    return (piece.parts or 0) > 1 and piece.ino not in look.linked


def crowded(look: Look) -> frozenset[int]:
    """Ranks that are full, or nearly so, or where many have waited for long: their cache may be too small.
    More than one rank would gain nothing for clients of others."""
    return look.busy | {rank for rank in look.loads if waited(look, rank)}


def higher(look: Look, inos: Sequence[int]) -> list[int]:
    """Of what is to be taken apart, what goes to the highest rank before: it has many parts, most of its load
    will be on other ranks, and it is little enough to be moved once more."""
    most, asked, goal = _most_that_fits(look), look.expected.load, _goal(look)
    # No advice is given of what is left.
    few = 0 if look.view.advised else min(FEW, look.budgets.pins_of_the_new())
    many = (piece for piece in map(look.pieces.__getitem__, inos) if (piece.parts or 0) > few)
    pieces = [piece for piece in many if piece.rank is not None and piece.rank < goal and not piece.held]
    return [piece.ino for piece in pieces if asked(piece) > most and piece.at_most <= look.limits.inodes]


def lifted(look: Look, inos: Sequence[int], budget: Budget) -> tuple[Move, ...]:
    """Of what goes to the highest ranks, what goes now: each to one of its own, or that would be the next to
    have all."""
    free, left, pins = _free(look), budget.inodes, look.budgets.pins()
    found: list[Move] = []
    for piece in map(look.pieces.__getitem__, inos):
        highest = next((r for r in free if piece.rank is not None and r > piece.rank), None)
        if highest is None:
            continue
        alone = budget.idle and not found
        pins -= piece.pin == NO_PIN
        if piece.rank is None or len(found) >= budget.moves or pins < 0:
            break
        if not (alone or piece.inodes <= left):
            break
        asks = look.expected.load(piece)
        gain = min(asks, look.loads[piece.rank] - look.shares[piece.rank])
        why = f"{asks:.0f} req/s, to be taken apart: clients of its parts ask the lowest rank they know"
        found.append(Move(piece.ino, piece.path, piece.rank, highest, asks, gain, piece.inodes, why))
        left -= piece.inodes
        free.remove(highest)
    return tuple(found)


def told(look: Look, inos: Sequence[int], when: str = "", why: str = "as a whole it fits nowhere") -> str:
    """That these are taken apart, in words."""
    more = f" and {len(inos) - 1} more are" if len(inos) > 1 else " is"
    return f"{look.pieces[inos[0]].path}{more} {when}looked at as parts: {why}"


def _goal(look: Look) -> int:
    """The highest of these that is not full either; -1: all are."""
    return max(_roomy(look), default=-1)


def _free(look: Look) -> list[int]:
    """Those that nothing is under way to that is to be taken apart, the highest first."""
    coming = {p.move.target for p in look.state.past if p.arrived < 0.0 and p.move.ino in look.state.apart}
    return sorted((rank for rank in _roomy(look) if rank not in coming), reverse=True)


def _roomy(look: Look) -> list[int]:
    return [rank for rank in quick(look) if rank in look.trusted and rank not in look.busy]


def quick(look: Look) -> list[int]:
    """Ranks that are not much slower than others: all of it is there for a while, and its parts are exported
    from there."""
    least = SLOW * fmean(look.capacity[rank] for rank in look.loads)
    return [rank for rank in look.loads if look.capacity[rank] >= least]


def _most_that_fits(look: Look) -> float:
    """req/s of a piece that is not too large for every rank, nor will be when those in doubt can do less."""
    sure = 1.0 - look.doubt
    return (1.0 + look.band) * max(look.shares.values()) / sure if sure > 0.0 else math.inf
