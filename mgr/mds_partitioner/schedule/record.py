# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler did and why, as it is kept for the next manager and shown to operators."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Union

from ..act.run import LET_BE
from .core.state import FRESH, HANGS, Past, Scattered
from .core.together import MEMORY, Whole
from .core.view import Move, Scatter

OFF, ADVISE, ACT, UNDOING = "off", "advise", "act", "rolling-back"  # modes
MODES = (ADVISE, ACT)
TURNS = 200  # that are kept, and all that moved something within an hour, or placed what is made
LONG = 600.0  # s, after which the load may be another one than that which was distributed
HOUR, DAY = 3600.0, 86_400.0  # s
DRIFT = 0.5  # s: times are kept in whole ones


@dataclass(frozen=True)
class Turn:
    """A look that came to something. Times as those of its moves.

    :ivar mode: ADVISE: the moves were told, not made
    :ivar requests: of each move's directory, req/s
    :ivar plan: that made them; "" in advise
    :ivar fullest: the rank that it relieves most; where it relieves none, the one with most of its share
    :ivar share: req/s that were its share; before: what it had, in parts of that
    :ivar after: the same when all moves had arrived and settled; None: not yet
    :ivar split: paths that are seen as their parts since
    :ivar left: what was not done, or was put back: inode number and why
    :ivar undone: what it did was rolled back
    :ivar scatter: what is placed as it is made since; lost: inode numbers of those that were not, or were put
        back
    """

    at: float
    mode: str
    why: str
    moves: tuple[Past, ...]
    requests: tuple[float, ...]
    fullest: int
    share: float
    before: float
    after: Optional[float] = None
    plan: str = ""
    split: tuple[str, ...] = ()
    left: tuple[tuple[int, str], ...] = ()
    undone: bool = False
    scatter: tuple[Scatter, ...] = ()
    lost: tuple[int, ...] = ()

    @property
    def stands(self) -> bool:
        """Was it made, and not rolled back?"""
        return self.mode == ACT and not self.undone

    @property
    def about(self) -> tuple[tuple[int, str], ...]:
        """What it moved, or had placed: inode number and path."""
        done: tuple[Union[Scatter, Move], ...] = (*self.scatter, *(past.move for past in self.moves))
        return tuple((each.ino, each.path) for each in done)

    def trouble(self, of: Callable[[int, str], bool] = lambda ino, path: True) -> tuple[str, ...]:
        """What was not done, one sentence each. ``of``: which directories, by inode number and path"""
        paths = dict(self.about)
        left = ((paths[ino], why) for ino, why in self.left if of(ino, paths[ino]))
        return tuple(f"{path!r} was left where it is: {why}" for path, why in left)

    @property
    def untried(self) -> frozenset[int]:
        """Inode numbers of what was let be: it need not rest."""
        return frozenset(ino for ino, why in self.left if why in LET_BE)

    @property
    def gain(self) -> float:
        """req/s by which that rank was to be relieved: of what leaves it, without what was not done."""
        return sum(each.gain for each in self._done if each.source == self.fullest)

    @property
    def real(self) -> Optional[float]:
        """req/s by which it was, at the load of that time; None: not yet known, or it was undone."""
        return None if self.after is None or self.undone else (self.before - self.after) * self.share

    @property
    def _done(self) -> tuple[Union[Scatter, Move], ...]:
        """What it moved, or had placed, without what was left where it is, or put back."""
        placed = (each for each in self.scatter if each.ino not in self.lost)
        return () if self.undone else (*placed, *(past.move for past in self.moves if not past.lost))

    def followed(
        self, now: Mapping[tuple[int, float], Past], relative: Mapping[int, float], at: float
    ) -> "Turn":
        """With how far its moves are, and what is distributed a minute later.

        :param relative: load by rank in parts of its share
        :param at: now, as its own times
        """
        moves = tuple(now.get((p.move.ino, p.begun), p) for p in self.moves)
        spread = any(each.ino not in self.lost for each in self.scatter)
        # What is new, or only waits, relieves nobody of requests.
        relieved = spread or any(p.move.gain for p in moves if not p.lost)
        soon = not spread or HANGS <= at - self.at <= LONG
        settled = self.after is None and relieved and soon and all(p.settled >= 0.0 for p in moves)
        after = relative.get(self.fullest) if settled else self.after
        return self if (moves, after) == (self.moves, self.after) else replace(self, moves=moves, after=after)


Shift = Callable[[Sequence[Turn], float], tuple[Turn, ...]]


@dataclass(frozen=True)
class Capacity:
    """What one MDS can serve, req/s, as it was found with so many requests inside."""

    mds: str
    value: float
    inside: float = 0.0


@dataclass(frozen=True)
class InParts:
    """A directory that was taken apart. Times: Unix, s; -1: never.

    :ivar served: req/s that it got through as a whole
    :ivar apart: since when it is on several ranks
    :ivar since: since when it is known that it is better off on one
    :ivar worse: req/s that it got through on several then
    :ivar proved: together again it was seen to get through more
    """

    ino: int
    served: float
    apart: float = -1.0
    since: float = -1.0
    worse: float = 0.0
    proved: bool = False


@dataclass(frozen=True)
class Totals:
    """What was done in all, whenever it was started: decisions that became plans, moves that arrived, and
    inodes that were to come along."""

    decisions: int = 0
    moves: int = 0
    inodes: float = 0.0

    def decided(self) -> "Totals":
        """One more."""
        return replace(self, decisions=self.decisions + 1)

    def followed(self, before: Sequence[Turn], after: Sequence[Turn]) -> "Totals":
        """With what has come to another rank between two looks at the same turns."""
        news = ((old, new) for old, new in zip(before, after) if new is not old and new.plan)
        pasts = (pair for old, new in news for pair in zip(old.moves, new.moves))
        came = [new.move for old, new in pasts if old.arrived < 0.0 <= new.arrived and not new.lost]
        moved = [move for move in came if move.source != move.target]
        inodes = sum(move.inodes for move in moved)
        return replace(self, moves=self.moves + len(moved), inodes=self.inodes + inodes)


@dataclass(frozen=True)
class Hour:
    """Moves that were begun in the hour from ``start`` on, which is when the first was."""

    start: float
    moves: int


@dataclass(frozen=True)
class Kept:
    """The scheduler of one file system. Times: Unix, s.

    :ivar since: when it was started: ``stop --rollback`` undoes what was done since
    :ivar turns: the last ones, oldest first
    :ivar split: inode numbers of directories that are seen as their parts
    :ivar day: the hours of the last day in which something was moved, oldest first
    :ivar until: end of an operator's pause; None: until it is resumed
    :ivar wholes: what is known of those that are split
    :ivar metadata_pool: its file system's; None: an earlier version kept it
    :ivar prepared: what acting needs beside pins was done since the start: from then on it is the operator's
    """

    fs: str
    mode: str
    since: float
    turns: tuple[Turn, ...] = ()
    split: tuple[int, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    done: Totals = Totals()
    day: tuple[Hour, ...] = ()
    paused: bool = False
    until: Optional[float] = None
    wholes: tuple[InParts, ...] = ()
    prepared: bool = False
    metadata_pool: Optional[int] = None


def is_off(fs: str) -> str:
    """That nobody looks, and what to do. fs: its name"""
    return f"the scheduler of '{fs}' is off: start it with 'ceph mds_partitioner scheduler start {fs}'"


def on_clock(kept: Kept, by: float, shift: Optional[Shift] = None) -> Kept:
    """The same on another clock, ``by`` s ahead; ``since`` and ``wholes`` stay on the wall's.

    :param shift: what does so with turns; None: ``shifted``
    """
    until = None if kept.until is None else kept.until + by
    day = tuple(replace(hour, start=hour.start + by) for hour in kept.day)
    return replace(kept, turns=(shift or shifted)(kept.turns, by), day=day, until=until)


def not_after(turns: Sequence[Turn], now: float) -> tuple[Turn, ...]:
    """The same, where the clock they were told by was ahead: what seems to be to come was just now."""
    return tuple(
        replace(t, at=min(t.at, now), moves=tuple(_not_after(past, now) for past in t.moves)) for t in turns
    )


def _not_after(past: Past, now: float) -> Past:
    return replace(past, begun=min(past.begun, now), arrived=min(past.arrived, now))


def shifted(turns: Sequence[Turn], by: float) -> tuple[Turn, ...]:
    """The same turns on another clock, ``by`` s ahead."""
    return tuple(replace(t, at=t.at + by, moves=tuple(_shifted(p, by) for p in t.moves)) for t in turns)


class Shifting:
    """The same, again and again: those that have not changed since the last time are the very same objects.
    What the clocks differ by changes by no more than is lost when times are kept."""

    def __init__(self) -> None:
        self._by = 0.0
        self._known: dict[int, tuple[Turn, Turn]] = {}  # before and after; by id() of the one before

    def __call__(self, turns: Sequence[Turn], by: float) -> tuple[Turn, ...]:
        """The turns on the other clock."""
        if abs(by - self._by) > DRIFT:
            self._by, self._known = by, {}
        known = self._known
        self._known = {id(t): known.get(id(t)) or (t, shifted([t], self._by)[0]) for t in turns}
        return tuple(self._known[id(t)][1] for t in turns)


def _shifted(past: Past, by: float) -> Past:
    return replace(past, begun=past.begun + by, arrived=_at(past.arrived, by))


def _at(time: float, by: float) -> float:
    """A time on another clock; -1 is never."""
    return time + by if time >= 0.0 else time


def in_parts(wholes: Mapping[int, Whole], by: float) -> tuple[InParts, ...]:
    """What is kept of these, by inode number, on a clock that is ``by`` s ahead."""
    known = sorted(wholes.items())
    return tuple(
        InParts(ino, w.served, _at(w.apart, by), _at(w.since, by), w.worse, w.proved) for ino, w in known
    )


def wholes(kept: Sequence[InParts], by: float) -> dict[int, Whole]:
    """The way back. What was before that clock began was at its beginning."""

    def then(time: float) -> float:
        return max(0.0, _at(time, by)) if time >= 0.0 else time

    def whole(of: InParts) -> Whole:
        looks = MEMORY if of.proved else 0
        return Whole(of.served, then(of.apart), of.worse, since=then(of.since), together=looks)

    return {of.ino: whole(of) for of in kept}


def latest(turns: Sequence[Turn], there: Collection[int], since: float) -> tuple[Turn, ...]:
    """Those that are kept: the last ones; before them what is placed as it is made, which is set once, and
    moves that budgets and rests go by.

    :param there: inode numbers of what is so placed, and was not deleted
    :param since: when the oldest of those moves were begun
    """

    def lasts(turn: Turn) -> bool:
        moved = turn.mode == ACT and any(past.begun >= since for past in turn.moves)
        return not turn.undone and (moved or any(s.ino in there for s in turn.scatter))

    return (*filter(lasts, turns[:-TURNS]), *turns[-TURNS:])


def made(turns: Sequence[Turn], since: float) -> tuple[Past, ...]:
    """Moves that were made since a time, or have not arrived, and hold: not advised or rolled back; oldest
    first."""
    of = (t for t in turns if t.stands)
    moves = ((p, t.untried) for t in of for p in t.moves if p.begun >= since or p.arrived < 0.0)
    return tuple(p for p, untried in moves if p.move.ino not in untried)


def scattered(turns: Sequence[Turn]) -> dict[int, Scattered]:
    """What is placed as it is made, by inode number."""
    made = (t for t in turns if t.stands)
    ordered = ((s, t) for t in made for s in t.scatter if s.ino not in t.untried)
    return {s.ino: Scattered(s.ranks, t.at, s.ino in t.lost, s.inodes) for s, t in ordered}


def counted(day: Sequence[Hour], now: float, moves: int) -> tuple[Hour, ...]:
    """With moves that are begun now; what is older than a day is forgotten. ``now``: on its clock"""
    *before, last = (*_last_day(day, now), Hour(now, 0))
    if before and now - before[-1].start < HOUR:
        *before, last = before
    return (*before, replace(last, moves=last.moves + moves))


def uncounted(day: Sequence[Hour], then: float, moves: int) -> tuple[Hour, ...]:
    """Without moves that were counted then, on its clock, and were never begun."""
    start = max((hour.start for hour in day if hour.start <= then + 2 * DRIFT), default=None)
    left = (replace(hour, moves=hour.moves - moves) if hour.start == start else hour for hour in day)
    return tuple(hour for hour in left if hour.moves > 0)


def begun(day: Sequence[Hour], now: float) -> int:
    """Moves of the last day, and of what was left then of an hour. ``now``: on its clock"""
    return sum(hour.moves for hour in _last_day(day, now))


def _last_day(day: Sequence[Hour], now: float) -> list[Hour]:
    return [hour for hour in day if now - DAY - HOUR < hour.start]


def put_back(turns: Sequence[Turn], distributed: Collection[int]) -> tuple[Turn, ...]:
    """With that as lost which is not placed as it is made any more.

    :param distributed: inode numbers of what is, or may be yet
    """

    def left(turn: Turn) -> Turn:
        gone = {s.ino for s in turn.scatter}.difference(distributed, turn.lost)
        if turn.mode != ACT or not gone:
            return turn
        all_of_it = not turn.moves and {s.ino for s in turn.scatter} <= {*gone, *turn.lost}
        return replace(turn, undone=True) if all_of_it else replace(turn, lost=(*turn.lost, *sorted(gone)))

    return tuple(map(left, turns))


def rolled_back(turns: Sequence[Turn], plans: Collection[str]) -> tuple[Turn, ...]:
    """With those undone whose plans are."""
    return tuple(replace(t, undone=True) if t.mode == ACT and t.plan in plans else t for t in turns)


def not_home(turns: Sequence[Turn], away: Mapping[int, str]) -> tuple[Turn, ...]:
    """With what was put back and has not come home, as the last one tells that moved it.

    :param away: why, by inode number
    """
    last = {ino: turn for turn in turns if turn.stands for ino, _ in turn.about}

    def told(turn: Turn) -> Turn:
        new = tuple((ino, why) for ino, why in away.items() if last.get(ino) is turn)
        return replace(turn, left=(*turn.left, *new)) if new else turn

    return tuple(map(told, turns))


def under_way(kept: Kept) -> list[tuple[Past, float]]:
    """Moves that have not arrived, oldest first, and what was asked of each, req/s. When it is off nobody
    looks whether they have."""
    if kept.mode == OFF:
        return []
    made = (t for t in kept.turns if t.stands)
    moves = (entry for t in made for entry in zip(t.moves, t.requests))
    return [(past, requests) for past, requests in moves if past.arrived < 0.0 and past.move.load > 0.0]


@dataclass(frozen=True)
class Gains:
    """Of decisions that have settled: how many, req/s that were predicted, and req/s that came."""

    settled: int
    predicted: float
    real: float


def gains(turns: Sequence[Turn], since: float) -> Gains:
    """Of what was done since a time, and not undone. Where all was refused, or put back, nothing was."""
    own = (turn for turn in turns if turn.stands and turn.at >= since)
    done = (turn for turn in own if turn.gain)
    settled = [turn for turn in done if turn.real is not None]
    predicted, real = sum(turn.gain for turn in settled), sum(turn.real or 0.0 for turn in settled)
    return Gains(len(settled), predicted, real)


def failed(past: Sequence[Past], keys: Collection[tuple[int, float]], now: float) -> tuple[Past, ...]:
    """With those moves ended, by inode number and when they were begun, that will not arrive."""
    return tuple(
        replace(p, arrived=now, looks=FRESH, settled=0.0, lost=True) if (p.move.ino, p.begun) in keys else p
        for p in past
    )
