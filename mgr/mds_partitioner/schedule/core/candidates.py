# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pieces may be moved now, and where not to: what was moved rests."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache, partial

from ...model import NO_PIN
from .choose import Candidate
from .demand import CHANGED, HELD, Demand
from .elastic import TOLD
from .look import Look
from .state import Past
from .turns import SOME, siblings
from .view import EMPTY, Piece

REALLY = 2.0  # times: a load that changed so much is another load
SLOWER = 0.8  # times what another can do, at most: as much as a rank must differ to have become slower
MOST = 0.75  # of siblings: so few are used that these are hardly used in turn
OFTEN = 4  # moves within the hour: it comes and goes, and would be sent to and fro for that


def candidates(look: Look, *, resting: bool = False, left: bool = False) -> list[Candidate]:
    """What may be moved now.

    :param resting: also what may be moved later
    :param left: also what is left of what is in parts
    """
    state = look.state
    going = {past.move.ino for past in state.past if past.settled < 0.0}
    # What was gathered, and is free again, as that did not help, is as it was before.
    before = [past for past in state.past if not past.move.gathers]
    last = {past.move.ino: past for past in before}
    # What is new was placed without a load, and what is lost was not moved.
    times = Counter(p.move.ino for p in before if p.move.load > 0.0 and not p.lost)
    lost = Counter(p.move.ino for p in before if p.lost)
    turned, pins_left = _turned(look), look.budgets.pins()
    parted = state.split - _rests(look) if left else state.split
    # A pin would end that; it is another piece soon; it goes with others only; it is moving.
    away = {*parted, *state.placed, *state.apart, *look.together, *going}
    linked, kept, loads, full, asked = look.linked, look.kept, look.loads, look.full, look.asked.by_ino
    room = cache(partial(_room, look))
    fixed, unsure = state.split | linked, _unsure(look)
    found = []
    for piece in look.view.pieces:
        ino, rank, pin = piece.ino, piece.rank, piece.pin
        if piece.held or rank is None or ino in away:
            continue
        if ino in kept:
            continue  # its files may have links in others
        if ino in unsure or _ebbs(state.demand[ino], piece):
            continue  # whether its turn comes, or it has gone, is known in a moment
        if pin == NO_PIN and pins_left <= 0:
            continue
        if pin != rank and pin in loads and not look.view.advised:
            continue  # MDSs took it back, as it was empty, and bring it there when it is not
        past, avoid, back = last.get(ino), -1, False
        if past is not None and not _changed(look, past, piece, turned, times[ino]):
            again = times[ino] > 1 or lost[ino] > 1
            rest = look.limits.memory if again else look.limits.rest
            rests = look.view.now - past.arrived < rest
            # Its rank can do less than was thought.
            worse = _worse(state.latency, past)
            wrong = not past.lost and times[ino] == 1 and rank in full and (worse or room(rank))
            if rests and not wrong and not resting:
                continue
            avoid = past.move.source
            back = wrong and (worse or look.empty(avoid))
        # What nobody has looked into yet is not squeezed in as a whole: it is known in a moment.
        divisible = (piece.parts is None or piece.parts > 1) and ino not in fixed
        found.append(Candidate(ino, rank, asked[ino], piece.inodes, divisible, avoid, back))
    return found


def _ebbs(known: Demand, piece: Piece) -> bool:
    """Is much less asked of it than usual, since the last look or the one before?"""
    return known.apart > 0 and piece.requests < CHANGED * known.mean


def _unsure(look: Look) -> frozenset[int]:
    """Inode numbers of what nobody uses, as most of its siblings, while it is not known whether they are used
    in turn. Where more are used the others likely were, or will be."""
    families = siblings(look.view.pieces).items()
    new = [k for within, k in families if within not in look.state.stay and len(k) >= SOME]
    idle = ([piece.ino for piece in kids if piece.requests <= 0.0] for kids in new)
    return frozenset(ino for kids, inos in zip(new, idle) if len(inos) > MOST * len(kids) for ino in inos)


def _rests(look: Look) -> frozenset[int]:
    """Inode numbers of what is left of what is in parts, if more is asked of that than of parts on other
    ranks: requests for these may be passed on from wherever it is. All parts on its own rank have pins."""
    heads = {p.ino: p for p in look.view.pieces if p.ino in look.state.split and not p.unknown}
    along, away = set[int](), defaultdict[int, float](float)
    for piece in look.view.pieces:
        head = heads.get(piece.within)
        if head is not None and piece.rank != head.rank:
            away[head.ino] += look.expected.load(piece)
        elif head is not None and piece.pin == NO_PIN:
            along.add(head.ino)
    may = (head for ino, head in heads.items() if ino not in along)
    return frozenset(head.ino for head in may if look.expected.load(head) > away[head.ino])


def _room(look: Look, full: int) -> bool:
    """Is there a rank that is better than a full one? Where all do what they can, one that can do more, and
    whose clients wait less; of full ones that are alike none is."""
    able, waits = look.capacity, look.state.latency

    def better(rank: int) -> bool:
        return able[full] < SLOWER * able[rank] and TOLD * waits.get(rank, 0.0) < waits.get(full, 0.0)

    return any(rank not in look.busy or better(rank) for rank in look.loads.keys() - look.doubted)


def _worse(latency: Mapping[int, float], past: Past) -> bool:
    """Do its clients wait longer than they did, and than they would where it came from?"""
    there, back = latency.get(past.move.target, 0.0), latency.get(past.move.source, 0.0)
    return 0.0 < past.latency < there and there > TOLD * back


def _turned(look: Look) -> dict[int, float]:
    """By rank: when something on it that counts last changed for good, or something else was spread over
    several ranks; steady clock, s."""
    spread = max((s.begun for s in look.state.scattered.values() if not s.lost), default=-1.0)
    found = dict.fromkeys((r.rank for r in look.view.ranks), spread)
    demands, long, much = look.state.demand, HELD * look.state.dt, look.band * look.asked.share
    for piece in look.view.pieces:
        demand, rank = demands[piece.ino], piece.rank
        # A single look of a full rank may be noise.
        if demand.turned >= 0.0 and rank is not None and demand.seconds >= long and demand.mean >= much:
            found[rank] = max(found.get(rank, -1.0), demand.turned)
    return found


def _changed(look: Look, past: Past, piece: Piece, turned: Mapping[int, float], times: int) -> bool:
    """Is its load, or what it shares a rank with, really another one since it arrived? What others do counts
    once: they do not send it around."""
    # What was empty did not come for that; it is to come when it is not.
    waits = past.lost and past.move.load <= 0.0 and past.move.inodes <= EMPTY
    if past.settled < 0.0 or (past.lost and not waits) or piece.rank is None:
        return False
    demand = look.state.demand[piece.ino]
    # What slept, or was new, when it moved was not moved for its load: that is as new as a stranger's.
    before, looks = (past.settled, HELD) if past.move.load > 0.0 else (0.0, 1)
    low, high = sorted((max(before, 1e-9), max(demand.mean, 1e-9)))
    own = high >= REALLY * low and demand.seconds >= looks * look.state.dt and times < OFTEN
    return own or (times <= 1 and turned.get(piece.rank, -1.0) > past.arrived)
