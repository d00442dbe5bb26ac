# SPDX-License-Identifier: LGPL-2.1-or-later
"""What may be begun in a look: what the limits leave, after what was begun before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .sleepers import LEFT, PART, SETTLE
from .state import Limits, Past, State
from .view import EMPTY, View

HOUR = 3600.0  # s
LATE = 10.0  # s that a move is under way: what is small does not wait for it


@dataclass(frozen=True)
class Pace:
    """What may be begun of what nobody waits for.

    :ivar moves, inodes: of all of them
    :ivar idle: the first may have more inodes than that: nothing is under way
    """

    moves: int
    inodes: float
    idle: bool


@dataclass(frozen=True)
class Budgets:
    """Of one look. placed: new directories that got a rank in it."""

    state: State
    view: View
    limits: Limits
    placed: int

    @cached_property
    def coming(self) -> list[Past]:
        """What was ordered, for its load or not, and was not seen to have arrived."""
        return [past for past in self.state.past if past.arrived < 0.0]

    @property
    def arriving(self) -> list[Past]:
        """Of these, what takes a while for its inodes. What is empty does not come at all until it is not."""
        return [past for past in self.coming if past.move.inodes > EMPTY]

    def moves(self) -> int:
        """Moves that may be begun now."""
        limits, moving = self.limits, len(self.state.moving) - min(len(self._hanging), self.limits.moves)
        return min(limits.moves - moving, limits.daily - self.view.begun) - self.placed

    def inodes(self) -> float:
        """Inodes that may be begun now: as many as may be under way may hang at clients besides; and what
        nobody waits for takes no more than its part."""
        hang = min(sum(past.move.inodes for past in self._hanging), self.limits.inodes)
        unhurried = sum(past.move.inodes for past in self.coming if past.move.load <= 0.0)
        return self._inodes(1.0, 1.0, hang + max(0.0, unhurried - self.limits.inodes * PART))

    def late(self) -> bool:
        """Is something under way for longer than most are, and does not hang?"""
        now, state = self.view.now, self.state
        slow = (p for p in self.coming if p.move.load > 0.0 and not state.hangs(p, now))
        return any(now - max(p.begun, state.waited) > LATE for p in slow)

    def pins(self) -> int:
        """Directories that may be pinned besides those that are."""
        return self.limits.pins - self.view.pins - self.placed

    def spent(self) -> str:
        """The budget of long standing that is used up, in words; "" for none."""
        view = self.view
        if view.begun >= self.limits.daily:
            return f"{view.begun} moves were begun within a day: no more may be (scheduler_moves_a_day)"
        if self.pins() <= 0:
            return f"{view.pins} directories are pinned: no more may be (scheduler_pins)"
        if self._begun >= self.limits.hourly:
            told = f"{self._begun:,.0f} inodes were begun to be moved within an hour"
            return f"{told}: no more may be (scheduler_inodes_an_hour)"
        return ""

    def unhurried_today(self) -> int:
        """Moves that may be begun of what nobody waits for: half of the day's are left to what is used."""
        return int(self.limits.daily * LEFT - self.view.begun) - self.placed

    def unhurried(self) -> Pace:
        """What may be begun now of what nobody waits for."""
        # What is new does not come while it is empty: it takes its place for a while only.
        placed = sum(self.view.now - past.begun < SETTLE for past in self.coming)
        moves = min(self.moves() - placed, self.unhurried_today())
        inodes = self._inodes(PART, LEFT)
        return Pace(moves, inodes, not self.arriving and inodes > 0.0)

    @cached_property
    def _hanging(self) -> list[Past]:
        """Of what is moved for its load."""
        return [p for p in self.coming if p.move.load > 0.0 and self.state.hangs(p, self.view.now)]

    def _inodes(self, at_once: float, hourly: float, hang: float = 0.0) -> float:
        """Parts of the budgets, less what is under way and what was begun within an hour.

        :param hang: inodes that do not count as under way
        """
        under_way = sum(past.move.inodes for past in self.coming) + self._scattering - hang
        return min(self.limits.inodes * at_once - under_way, self.limits.hourly * hourly - self._begun)

    @cached_property
    def _scattering(self) -> float:
        """Inodes that MDSs may still be distributing."""
        if not self.state.scattered:
            return 0.0
        there = {piece.ino for piece in self.view.pieces if piece.rank is not None}
        return self.state.scattering(there, self.view.now)

    def of_the_new(self) -> float:
        """Inodes of new directories that may be begun now: they wait for no large one, a part of the limit is
        theirs; and half of an hour's is left to what is used."""
        coming = sum(past.move.inodes for past in self.coming if past.move.load <= 0.0)
        at_once = max(self.inodes(), self.limits.inodes * PART - coming)
        return min(at_once, self.limits.hourly * LEFT - self._begun)

    def pins_of_the_new(self) -> int:
        """Of these, that may be pinned: half of all pins are left to what is used."""
        return int(self.limits.pins * LEFT) - self.view.pins - self.placed

    def spent_on_the_new(self) -> str:
        """Why what is new gets no rank, in words; "" while it does."""
        if self.unhurried_today() <= 0:
            return "half of a day's moves were begun: what is new gets no rank (scheduler_moves_a_day)"
        if self.pins_of_the_new() <= 0:
            return "half of all pins are set: what is new gets no rank (scheduler_pins)"
        return ""

    @cached_property
    def _begun(self) -> float:
        """Inodes, within an hour."""
        since, scattered = self.view.now - HOUR, self.state.scattered.values()
        moved = sum(p.move.inodes for p in self.state.past if p.begun > since)
        return moved + sum(s.inodes for s in scattered if s.begun > since)
