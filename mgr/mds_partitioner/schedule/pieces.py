# SPDX-License-Identifier: LGPL-2.1-or-later
"""From what was seen of ranks and directories to the pieces that the scheduler may move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..model import NO_PIN, Directory, DirectoryFacts, FsState, RankSample
from ..observe.heat import Heat, requests
from ..observe.subtrees import SubtreeMap
from ..plan.circumstances import Circumstances
from ..plan.fixed import operators
from .catalogue import Known
from .core.view import OURS_BELOW, UNREAD, UNREAD_MASK, Piece
from .owned import Owned

FIXED_BELOW = "a directory below it has a pin of its own"


class Settled(NamedTuple):
    """What says whether a directory may be moved (plan/fixed.py)."""

    directory: Directory
    pin: int
    ephemeral: bool


class Sized(NamedTuple):
    """A directory without what is seen as pieces of its own: the rank that has all of it, req/s, inodes."""

    rank: int | None
    requests: float
    inodes: float


@dataclass(frozen=True)
class Seen:
    """A file system at one moment.

    :ivar ranks: their samples
    :ivar heat: by rank; of one that did not answer, what it answered last
    :ivar split: inode numbers of pieces that are seen as their parts
    :ivar moving: of those that are under way
    """

    fs: FsState
    ranks: tuple[RankSample, ...]
    heat: Mapping[int, Heat]
    where: SubtreeMap
    known: Known
    owned: Owned
    split: frozenset[int]
    moving: frozenset[int] = frozenset()


def pieces(seen: Seen) -> tuple[Piece, ...]:
    """One a directory. A rank's requests are shared out by popularity."""
    c = seen.known.circumstances(seen.fs, seen.owned)
    within, all_facts, shown = seen.known.within, seen.known.facts, {0, *seen.split}
    kids: dict[int, list[Directory]] = {}
    for directory in seen.known.directories:
        if within.get(directory.ino) in seen.split:
            kids.setdefault(within[directory.ino], []).append(directory)

    rates = requests(seen.heat, {sample.rank: sample.requests for sample in seen.ranks})

    def inodes(directory: Directory) -> float:
        facts = all_facts.get(directory.path)
        return 0.0 if facts is None else max(1.0, facts.rentries)

    def of_itself(directory: Directory, below: Sequence[Directory]) -> tuple[float, float]:
        """Its requests, req/s, and inodes; of most there is nothing below, and there are thousands."""
        rate, size = rates.get(directory.path, 0.0), inodes(directory)
        if below:
            rate -= sum(rates.get(kid.path, 0.0) for kid in below if not seen.where.root(kid.path))
            size -= sum(map(inodes, below))
        return max(0.0, rate), max(1.0, size)

    found: list[tuple[Directory, bool, Sized]] = []
    for directory in seen.known.directories:
        if within.get(directory.ino, 0) not in shown:
            continue  # it is known, but not seen as one of its own yet
        below = kids.get(directory.ino, ())
        rank = rank_of(directory.path, seen.where, bool(below), directory.ino in seen.moving)
        found.append((directory, bool(below), Sized(rank, *of_itself(directory, below))))

    moves = _in_cache([sized for _, _, sized in found], seen.ranks)

    def piece(directory: Directory, split: bool, sized: Sized) -> Piece:
        facts = all_facts.get(directory.path)
        scattered = seen.known.fragments.get(directory.ino)
        inodes, most = moves(sized)
        return Piece(
            ino=directory.ino,
            path=directory.path,
            rank=sized.rank,
            requests=sized.requests,
            inodes=inodes,
            within=within.get(directory.ino, 0),
            held=UNREAD if facts is None else _held(facts, seen, c, split),
            parts=seen.known.parts.get(directory.ino),
            fresh=directory.ino in seen.known.fresh,
            scatters=() if scattered is None or sized.rank is None else scattered.parts(sized.rank),
            files=scattered is not None and scattered.files,
            pin=NO_PIN if facts is None else _ours(directory, seen),
            first=seen.owned.homes.get(directory.ino, -1),
            strangers=directory.ino in seen.known.strangers,
            unknown=directory.ino in seen.known.unknown,
            most=most,
        )

    return tuple(piece(*each) for each in found)


def _in_cache(found: Sequence[Sized], ranks: Sequence[RankSample]) -> Callable[[Sized], tuple[float, float]]:
    """The inodes of each that move, and at most: those that its rank has in its cache. Of these it is taken
    to have its part by size, or by requests if that is more; it may be all of them."""
    size: dict[int | None, float] = defaultdict(float)
    requests: dict[int | None, float] = defaultdict(float)
    for each in found:
        size[each.rank] += each.inodes
        requests[each.rank] += each.requests
    cached: dict[int | None, int] = {s.rank: s.inodes for s in ranks if s.inodes < size[s.rank]}

    def moving(of: Sized) -> tuple[float, float]:
        if of.rank not in cached:
            return of.inodes, 0.0
        used = of.requests / requests[of.rank] if requests[of.rank] else 0.0
        part = max(of.inodes / size[of.rank], used)
        most = min(of.inodes, cached[of.rank])
        return max(1.0, min(most, cached[of.rank] * part)), most

    return moving


def _ours(directory: Directory, seen: Seen) -> int:
    """The pin that we have set, if it is there still. Its facts are known."""
    ours = seen.owned.pins.get(directory.ino, NO_PIN)
    return ours if seen.known.pin(directory, seen.owned) == ours else NO_PIN


def rank_of(path: str, where: SubtreeMap, split: bool, moving: bool) -> int | None:
    """That has all of a piece; None while it is on several.

    What a balancer left elsewhere below it comes along when it is moved, so it is where it is itself.

    :param split: it is seen as its parts
    :param moving: it is under way, and there when all of it is
    """
    ranks = where.ranks(path) if moving and not split else where.own(path)
    return ranks[0] if len(ranks) == 1 else None


def _held(facts: DirectoryFacts, seen: Seen, c: Circumstances, split: bool) -> str:
    directory = facts.directory
    pin = seen.known.pin(directory, seen.owned)
    found = operators(Settled(directory, pin, seen.where.ephemeral(directory.path)), c)
    if found is not None:
        return f"{found.reason}: {found.why}" if found.why else found.reason
    below = () if split else seen.where.fixed_below(directory.path)
    if below:
        ours = all(pin != NO_PIN and seen.owned.pins.get(ino) == pin for ino, pin in below)
        return OURS_BELOW if ours else FIXED_BELOW
    # With our hook an operator may have masked it; only what is busy is asked about.
    unread = seen.known.masks is not None and directory.ino not in seen.known.masks
    return UNREAD_MASK if unread else ""
