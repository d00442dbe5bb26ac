# SPDX-License-Identifier: LGPL-2.1-or-later
"""From what was seen of ranks and directories to the pieces that the scheduler may move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from ..model import NO_PIN, Directory, FsState, RankSample
from ..observe.heat import Heat, purged, requests, uncounted
from ..observe.subtrees import SubtreeMap
from ..plan.circumstances import Circumstances
from ..plan.fixed import operators
from .catalogue import Known
from .core.view import FIXED_BELOW, OURS_BELOW, UNREAD, UNREAD_MASK, Beside, Piece
from .fragments import Fragments
from .owned import Owned

LUMPED = "most is asked of one of its fragments, of one file maybe, which nothing divides"


class Settled(NamedTuple):
    """What says whether a directory may be moved (plan/fixed.py)."""

    directory: Directory
    pin: int
    ephemeral: bool


Sized = tuple[Union[int, None], float, float]
"""A directory without what is seen as pieces of its own: the rank that has all of it, req/s, inodes."""


@dataclass(frozen=True)
class Seen:
    """A file system at one moment.

    :ivar ranks: their samples
    :ivar heat: by rank; of one that did not answer, what it answered last
    :ivar split: inode numbers of pieces that are seen as their parts
    :ivar moving: of those that are under way
    :ivar lumps: by rank: paths of what is in fragments of which one has most of the load
    :ivar right: by rank and path: of what is asked of a directory, the part that is for what is right in it
    """

    fs: FsState
    ranks: tuple[RankSample, ...]
    heat: Mapping[int, Heat]
    where: SubtreeMap
    known: Known
    owned: Owned
    split: frozenset[int]
    moving: frozenset[int] = frozenset()
    lumps: Mapping[int, frozenset[str]] = field(default_factory=dict)
    right: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


def pieces(seen: Seen) -> tuple[Piece, ...]:
    """One a directory. A rank's requests are shared out by popularity."""
    c = seen.known.circumstances(seen.fs, seen.owned)
    known, within, all_facts = seen.known, seen.known.within, seen.known.facts
    found = _sized(seen)
    moves = _in_cache([sized for _, _, sized in found], seen.ranks)

    def piece(directory: Directory, split: bool, sized: Sized) -> Piece:
        ino, facts, (rank, rate, _) = directory.ino, all_facts.get(directory.path), sized
        pin = NO_PIN if facts is None else known.pin(directory, seen.owned)
        scattered = known.fragments.get(ino)
        why = known.undivided.get(ino, "") if scattered is None else _undivided(scattered, rank, seen)
        inodes, most = moves(sized)
        return Piece(
            ino,
            directory.path,
            rank,
            rate,
            inodes,
            within.get(ino, 0),
            UNREAD if facts is None else _held(directory, pin, seen, c, split),
            known.parts.get(ino),
            fresh=ino in known.fresh,
            scatters=() if scattered is None or rank is None or why else scattered.parts(rank),
            undivided=why,
            files=scattered is not None and scattered.files,
            many=scattered is not None and scattered.many,
            pin=pin if seen.owned.pins.get(ino) == pin else NO_PIN,
            first=seen.owned.homes.get(ino, -1),
            strangers=ino in known.strangers,
            unknown=ino in known.unknown,
            most=most,
        )

    return tuple(piece(*each) for each in found)


def beside(seen: Seen) -> dict[int, Beside]:
    """By rank: what it serves that is no piece's."""
    rates = _rates(seen)
    deletes = purged(seen.heat, rates)
    return {rank: Beside(rate, deletes.get(rank, 0.0)) for rank, rate in uncounted(seen.heat, rates).items()}


def _rates(seen: Seen) -> dict[int, float]:
    """req/s by rank."""
    return {sample.rank: sample.requests for sample in seen.ranks}


def _undivided(of: Fragments, rank: int | None, seen: Seen) -> str:
    """Why its load would not be shared out, in words; "" where it would."""
    if rank is None or not of.files:
        return ""
    if of.path in seen.lumps.get(rank, ()):
        return LUMPED
    if of.asked_for(seen.right.get(rank, {})):
        return ""
    return f"it is not known that most of it is asked of {of.path}, which alone could be divided"


def _sized(seen: Seen) -> list[tuple[Directory, bool, Sized]]:
    """What is a piece now; is it seen as its parts; and what it has of its own."""
    within, facts, shown = seen.known.within, seen.known.facts, {0, *seen.split}
    rates = requests(seen.heat, _rates(seen))
    kids: dict[int, list[Directory]] = {}
    for directory in seen.known.directories if seen.split else ():
        if within.get(directory.ino) in seen.split:
            kids.setdefault(within[directory.ino], []).append(directory)

    def inodes(path: str) -> float:
        read = facts.get(path)
        return 0.0 if read is None else max(1.0, read.rentries)

    found: list[tuple[Directory, bool, Sized]] = []
    for directory in seen.known.directories:
        ino, path = directory.ino, directory.path
        if within.get(ino, 0) not in shown:
            continue  # it is known, but not seen as one of its own yet
        below = kids.get(ino, ())
        rank = rank_of(path, seen.where, bool(below), ino in seen.moving)
        rate, size = rates.get(path, 0.0), inodes(path)
        if below:
            rate -= sum(rates.get(kid.path, 0.0) for kid in below if not seen.where.root(kid.path))
            size -= sum(inodes(kid.path) for kid in below)
        found.append((directory, bool(below), (rank, max(0.0, rate), max(1.0, size))))
    return found


def _in_cache(found: Sequence[Sized], ranks: Sequence[RankSample]) -> Callable[[Sized], tuple[float, float]]:
    """The inodes of each that move, and at most: those that its rank has in its cache. Of these it is taken
    to have its part by size, or by requests if that is more; it may be all of them."""
    size: dict[int | None, float] = defaultdict(float)
    requests: dict[int | None, float] = defaultdict(float)
    for rank, rate, inodes in found:
        size[rank] += inodes
        requests[rank] += rate
    cached: dict[int | None, tuple[int, float, float]] = {
        s.rank: (s.inodes, size[s.rank], requests[s.rank]) for s in ranks if s.inodes < size[s.rank]
    }

    def moving(of: Sized) -> tuple[float, float]:
        rank, rate, inodes = of
        if rank not in cached:
            return inodes, 0.0
        has, everything, served = cached[rank]
        part = max(inodes / everything, rate / served if served else 0.0)
        most = min(inodes, has)
        return max(1.0, min(most, has * part)), most

    return moving


def rank_of(path: str, where: SubtreeMap, split: bool, moving: bool) -> int | None:
    """That has all of a piece; None while it is on several.

    What a balancer left elsewhere below it comes along when it is moved, so it is where it is itself.

    :param split: it is seen as its parts
    :param moving: it is under way, and there when all of it is
    """
    ranks = where.ranks(path) if moving and not split else where.own(path)
    return ranks[0] if len(ranks) == 1 else None


def _held(directory: Directory, pin: int, seen: Seen, c: Circumstances, split: bool) -> str:
    found = operators(Settled(directory, pin, seen.where.ephemeral(directory.path)), c)
    if found is not None:
        return f"{found.reason}: {found.why}" if found.why else found.reason
    below = () if split else seen.where.fixed_below(directory.path)
    if below:
        ours = all(pin != NO_PIN and c.owns_pin(ino, pin) for ino, pin in below)
        return OURS_BELOW if ours else FIXED_BELOW
    # With our hook an operator may have masked it; only what is busy is asked about.
    unread = seen.known.masks is not None and directory.ino not in seen.known.masks
    return UNREAD_MASK if unread else ""
