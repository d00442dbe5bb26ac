# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pieces to give to which ranks so that the fullest is relieved most for the fewest inodes.

What is evened is utilisation, not requests: ranks need not be alike. A rank is relieved down to its share of
all load, no further; an importer is filled up to its own. So two neighbours never swap a load to and fro.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from .load import shares

FREEZE = 500.0  # inodes: what an export costs besides its inodes, as it stops clients for a moment
LEAST = 0.02  # of the exporter's share: less is not worth a move (FoundationDB: 1 to 2 %), unless so much
HALF = 0.5  # of a piece's load: a move that relieves by less turns the difference round
ROUNDING = 1.0 + 1e-9  # times what is computed, at most, is what it would be
MANY = 0.5  # of what it has too much is in pieces that are all smaller
SOME = 0.1  # of a share: all that is smaller brings something when it goes
NOTHING = 0.001  # of a share: nobody notices


class Candidate(NamedTuple):
    """A piece as it is expected to be. There are thousands, made anew in each look.

    :ivar key: that of the caller
    :ivar load: req/s
    :ivar divisible: it could be seen as its parts, so it need not go where it makes a rank too full
    :ivar avoid: a rank that it does not go to; -1: none
    :ivar back: it goes even there, if no other rank will do
    """

    key: int
    rank: int
    load: float
    inodes: float
    divisible: bool = False
    avoid: int = -1
    back: bool = False


Alike = list[Candidate]
"""Of a rank those that differ by their keys alone, as siblings do that are used in turn: what
holds of one holds of all. The lowest key is the last, and goes first."""


@dataclass(frozen=True)
class Choice:
    """One of the candidates, and where it goes. gain: req/s by which the fullest rank is relieved."""

    key: int
    source: int
    target: int
    gain: float


@dataclass(frozen=True)
class Budget:
    """What may be begun now. The first move may exceed ``inodes`` when nothing else is under way.

    :ivar late: something is under way for so long that what is too large waits for nobody's sake
    """

    moves: int
    inodes: float
    idle: bool
    late: bool = False


def choose(
    candidates: Sequence[Candidate],
    loads: Mapping[int, float],
    capacity: Mapping[int, float],
    pressure: Mapping[int, float],
    band: float,
    budget: Budget,
    sources: Collection[int] | None = None,
    closed: Collection[int] = (),
    small: Collection[int] = (),
    leaves: Mapping[int, float] = MappingProxyType({}),
) -> tuple[list[Choice], list[int]]:
    """Moves in the order in which they should be begun, and ranks that no candidate relieves, or crumbs only.

    :param loads: req/s by rank, of everything, also what is no candidate
    :param capacity: req/s by rank; only how they compare counts
    :param pressure: by rank: of those above their share, the highest is relieved first
    :param band: a rank no more than this much above its share (in parts of it) is left alone
    :param sources: ranks that may be relieved; None: all
    :param closed: ranks that get nothing
    :param small: ranks whose crumbs go where nothing else relieves them
    :param leaves: of these loads, req/s by rank, what leaves it besides, to where there is room then
    """
    share = shares(loads, capacity)
    load = {rank: own - leaves.get(rank, 0.0) for rank, own in loads.items()}
    on: dict[int, list[Candidate]] = {r: [] for r in load}
    for candidate in candidates:
        on.get(candidate.rank, []).append(candidate)
    own: dict[int, Iterable[Alike]] = {}
    crumbs: dict[int, list[Candidate]] = {}
    may = load.keys() if sources is None else sources
    chosen: list[Choice] = []
    stuck: list[int] = []
    spent, waits = set[int](), set[int]()
    left = budget.inodes
    while len(chosen) < budget.moves:
        above = [r for r in may if r not in spent and 0.0 < (1.0 + band) * share[r] < load[r]]
        if not above:
            break
        source = max(above, key=lambda r: (pressure[r], load[r] / share[r], -r))
        if source not in own:  # by what it had before anything went
            worth = _worth(on[source], loads[source] - share[source], share[source])
            own[source] = _Offers(worth)
            crumbs[source] = _crumbs(on[source], worth, share[source]) if source in small else []
        found = _best(own[source], source, load, share, band, closed)
        if found is None:
            if not crumbs[source]:
                spent.add(source)
            own[source], crumbs[source] = _Offers(crumbs[source]), []
            stuck = stuck if source in (*stuck, *waits) else [*stuck, source]
            continue
        alike, target = found
        piece = alike[-1]
        if piece.inodes > left and (chosen or not budget.idle):
            if not budget.late:
                break
            own[source] = [some for some in own[source] if some and some[-1].inodes <= left]
            waits.add(source)  # what is too large now relieves it later
            continue
        gain = _relief(piece, source, target, load, share)
        chosen.append(Choice(piece.key, source, target, gain))
        alike.pop()
        load[source] -= piece.load
        load[target] += piece.load
        left -= piece.inodes
    return chosen, stuck


def _worth(pieces: Sequence[Candidate], excess: float, share: float) -> Sequence[Candidate]:
    """Crumbs are left alone, unless a good part of what is too much is crumbs."""
    large = [p for p in pieces if p.load >= LEAST * share]
    crumbs = sum(p.load for p in pieces) - sum(p.load for p in large)
    return pieces if crumbs >= MANY * excess else large


def _crumbs(pieces: Sequence[Candidate], worth: Sequence[Candidate], share: float) -> list[Candidate]:
    """What was left out, for when nothing else relieves the rank: it has too much that cannot be moved, and
    all these wait behind that. Only if they are a good part of a share."""
    known = {piece.key for piece in worth}
    left = [p for p in pieces if p.key not in known and p.load >= NOTHING * share]
    together = sum(p.load for p in left)
    return left if together > SOME * share else []


class _Offers:
    """Of one rank, what may bring most for each inode first. There are thousands, and few are looked at: only
    these are grouped."""

    def __init__(self, pieces: Sequence[Candidate]) -> None:
        self._known: list[Alike] = []
        self._more = _grouped(pieces)

    def __iter__(self) -> Iterator[Alike]:
        yield from self._known
        for alike in self._more:
            self._known.append(alike)
            yield alike


def _grouped(pieces: Sequence[Candidate]) -> Iterator[Alike]:
    for _, as_much in groupby(sorted(pieces, key=_most, reverse=True), _most):
        kinds: dict[tuple[object, ...], Alike] = {}
        for piece in as_much:
            kinds.setdefault(piece[2:], []).append(piece)  # all but its key, and the rank
        for alike in kinds.values():
            alike.sort(reverse=True)
            yield alike


def _most(piece: Candidate) -> float:
    """req/s for each inode that its move may bring, at most."""
    return piece.load / (piece.inodes + FREEZE)


def _best(
    groups: Iterable[Alike],
    source: int,
    load: Mapping[int, float],
    share: Mapping[int, float],
    band: float,
    closed: Collection[int],
) -> tuple[Alike, int] | None:
    """The group of the piece that relieves the rank most for each inode, and the rank that has most room.

    :param groups: what may bring most for each inode first; those that have gone are empty
    """
    may = (r for r in load if r != source and r not in closed and share[r] > 0.0)
    roomy = sorted(may, key=lambda r: (load[r] - share[r], r))
    best, found = (0.0, 0.0, 0), None
    for alike in filter(None, groups):
        piece = alike[-1]
        if _most(piece) * ROUNDING < best[0]:
            break
        for target in _targets(piece, roomy):
            if piece.divisible and load[target] + piece.load > (1.0 + band) * share[target]:
                continue
            gain = _relief(piece, source, target, load, share)
            if gain > 0.0 and gain >= min(HALF * piece.load, load[source] - share[source]):
                this = (gain / (piece.inodes + FREEZE), gain, -piece.key)
                if found is None or this > best:
                    best, found = this, (alike, target)
                break
    return found


def _targets(piece: Candidate, roomy: Sequence[int]) -> list[int]:
    """The rank that has most room of those that it may go to, and one that will do if that does not."""
    first = next((r for r in roomy if r != piece.avoid), None)
    back = piece.back and piece.avoid in roomy
    return [*([] if first is None else [first]), *([piece.avoid] if back else [])]


def _relief(
    piece: Candidate, source: int, target: int, load: Mapping[int, float], share: Mapping[int, float]
) -> float:
    """req/s of the source by which the fuller of the two ranks gets emptier; at most what it has too much."""
    before = load[source] / share[source]
    after = max(
        (load[source] - piece.load) / share[source],
        (load[target] + piece.load) / share[target],
    )
    return min((before - after) * share[source], load[source] - share[source])
