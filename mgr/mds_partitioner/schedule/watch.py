# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scheduler's loop knows of one file system."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ..judge.fullness import Fullness
from ..judge.history import History
from ..judge.verdict import Verdict
from ..model import Directory, Subtree
from ..observe.heat import GONE, PURGED, Heat
from ..observe.subtrees import SubtreeMap
from .asking import FRESH
from .catalogue import Catalogue, Known
from .core.load import capacities, utilisations
from .core.state import State
from .core.view import Decision, RankView, View
from .hotspots import Glimpse
from .record import ACT, Kept, Totals

CALM = 30.0  # s between two questions to MDSs while nothing can be done; to all of them where subtrees are
MEANWHILE = 8.0  # s, at least, between two to such ranks, where something is in parts
NOT_YET = "it has not looked yet"
APART = 2.5  # s between two answers, at least, that tell together what has gone
SOON = 3.0  # s until they are asked once more: no less than that
LONG_AGO = 8.0  # s: later what has gone meanwhile is hot still, beside what came
WITHIN = 2.0  # s, for what MDSs are asked in a look, if they are quick
LONGEST = 5.0  # s: the same, if they are not
SPARE = 2.0  # times as long, each time that one was too slow


def meanwhile(state: State) -> float:
    """s, at least, between two questions to a rank that something moves from or to."""
    return MEANWHILE if state.split else CALM


@dataclass(frozen=True)
class RankAnswer:
    """What a rank said of its popularity, when (steady clock, s), which subtrees it had, and whether that was
    so much that it is asked seldom."""

    at: float
    heat: Heat
    subtrees: tuple[Subtree, ...]
    long: bool = False

    def since(self, before: RankAnswer | None) -> Heat:
        """Without what has gone since; all there is, where that was just now, and of subtrees that came or
        went."""
        if before is None or self.at - before.at < APART:
            return self.heat
        changed = frozenset(subtree.path for subtree in {*before.subtrees} ^ {*self.subtrees})
        return self.heat.since(before.heat.besides(changed), self.at - before.at, self.roots)

    def long_after(self, before: RankAnswer | None) -> bool:
        """Is there one before, and so long ago that what is hot now cannot be told from what was, if much
        was?"""
        if before is None or self.at - before.at <= LONG_AGO:
            return False
        return before.heat.total >= GONE * self.heat.total

    @property
    def roots(self) -> frozenset[str]:
        """Where the rank's subtrees began."""
        return frozenset(subtree.path for subtree in self.subtrees)


@dataclass
class Watch:
    """What only this manager knows; the next one begins anew. ``kept.turns`` and ``kept.until`` are by the
    steady clock here, what is saved by the wall clock.

    :ivar told, subtrees: by rank; of one that did not answer, what it answered last
    :ivar heat: by rank, without what had gone at its last answer
    :ivar mute: ranks that did not tell it in time, or refused to, when they were asked last
    :ivar blurred: ranks whose last answer came long after the one before; sharpened: when one was asked once
        more for that last, steady clock, s
    :ivar lumps: of what could be distributed, by rank, that of which one fragment has most of the load
    :ivar right: of what is asked of what could be distributed, and of what that is in, the part that is for
        what is right in it, by rank and path
    :ivar ranks: at the last look
    :ivar known: of directories, at the last look
    :ivar glimpses: how the load was shared out, in the looks of the last hour that MDSs were asked in
    :ivar actual: the last look; view: the same, or in advise as it would be
    :ivar advised: in advise, where each equal part of a piece would be, by inode number
    :ivar idle_since: since when it is uneven and finds nothing to do, steady clock, s; None: it is not so
    :ivar pressing_since: since when a rank wants relief and nothing was found to do, likewise
    :ivar advised_since: since when moves are advised, and it neither waits nor fails, likewise
    :ivar waits_since: since when it has waited for what is none of its own, likewise; None: it does not
    :ivar waits_for: what it waited for in the last look; "": for nothing
    :ivar hastened: when it was to be looked at before its time last, likewise
    :ivar due, read_due: when it is looked at, and when directories are read; measured: when that was done
        last; asked: when MDSs were asked last; mapped: when all were asked for subtrees; saved: when it was
        saved (steady clock, s)
    :ivar spent: CPU seconds that this took since ``measured``, that look included; spent_before: likewise, up
        to that look; glance: likewise, what the last glance took alone
    :ivar ordered: when something was ordered last, or may have been by another manager, steady clock, s
    :ivar orders: of operators, so far; unsaved: the mon has not got the last one yet
    :ivar counted: what was done in all, as the mon has it: a manager that takes over tells no less
    :ivar problem: why the last look failed; unread: why directories could not be read last; unread_since:
        when that failed first since it did not, steady clock, s
    :ivar failing_since: when the first look failed of those that did since one did not, steady clock, s
    :ivar begun: when MDSs were asked last, by what they were asked and by name, whether they answered or
        not; steady clock, s
    :ivar patience: how long those may take to answer that were too slow, s; by what they are asked, and name
    :ivar where: where ``mapped_directories`` are, by ``subtrees``; None: these have changed
    """

    kept: Kept
    catalogue: Catalogue
    state: State = field(default_factory=State)
    history: History = field(default_factory=History)
    fullness: Fullness = field(default_factory=Fullness)
    verdict: Verdict | None = None
    told: dict[int, RankAnswer] = field(default_factory=dict)
    heat: dict[int, Heat] = field(default_factory=dict)
    lumps: dict[int, frozenset[str]] = field(default_factory=dict)
    right: dict[int, dict[str, float]] = field(default_factory=dict)
    subtrees: dict[int, list[Subtree]] = field(default_factory=dict)
    mute: frozenset[int] = frozenset()
    blurred: frozenset[int] = frozenset()
    sharpened: float = float("-inf")
    glimpses: tuple[Glimpse, ...] = ()
    advised: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ranks: dict[int, RankView] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    actual: View | None = None
    view: View | None = None
    decision: Decision = field(default_factory=lambda: Decision(why=NOT_YET))
    idle_since: float | None = None
    pressing_since: float | None = None
    advised_since: float | None = None
    waits_since: float | None = None
    waits_for: str = ""
    hastened: float = float("-inf")
    due: float = 0.0
    read_due: float = 0.0
    measured: float = float("-inf")
    spent: float = 0.0
    spent_before: float = 0.0
    glance: float = 0.0
    asked: float = float("-inf")
    mapped: float = float("-inf")
    ordered: float = float("-inf")
    begun: dict[str, dict[str, float]] = field(default_factory=dict)
    patience: dict[tuple[str, str], float] = field(default_factory=dict)
    where: SubtreeMap | None = None
    mapped_directories: tuple[Directory, ...] = ()
    saved: float = 0.0
    orders: int = 0
    unsaved: bool = False
    counted: Totals = field(default_factory=Totals)
    problem: str = ""
    unread: str = ""
    unread_since: float | None = None
    failing_since: float | None = None

    def forget(self) -> None:
        """It has not looked for a while: what it saw last is not so any more."""
        self.ranks, self.view, self.actual, self.where = {}, None, None, None
        self.told, self.heat, self.lumps, self.right, self.subtrees, self.verdict = {}, {}, {}, {}, {}, None
        self.mute = frozenset()
        self.unread, self.unread_since = "", None
        self.measured = self.asked = self.mapped = float("-inf")
        self.pressing_since = self.waits_since = None
        self.catalogue.doubt_above()
        self.look_fails()
        self.decision = Decision(why=NOT_YET)

    def look_fails(self) -> None:
        """Since when nothing was done about a load is told by looks, not by the clock."""
        self.idle_since = self.advised_since = None

    def has_looked(self, problem: str, now: float) -> None:
        """``problem``: why that failed; "": it did not. now: steady clock, s"""
        self.problem = problem
        if not problem:
            self.failing_since = None
            return
        self.look_fails()
        if self.failing_since is None:
            self.failing_since = now

    def has_read(self, problem: str, now: float) -> None:
        """Likewise of directories, which are read apart from looks."""
        self.unread = problem
        if not problem:
            self.unread_since = None
        elif self.unread_since is None:
            self.unread_since = now

    def advises(self, now: float, *, waits: bool) -> None:
        """After a look. now: steady clock, s"""
        if waits or not self.advised:
            self.advised_since = None
        elif self.advised_since is None:
            self.advised_since = now

    def waits(self, why: str, now: float) -> None:
        """It waits, or not: meanwhile directories are not read. now: steady clock, s"""
        if not why:
            if self.waits_since is not None and now - self.waits_since > FRESH:
                self.catalogue.doubt_above()
            self.waits_since = None
        elif self.waits_since is None:
            self.waits_since = now

    def presses(self, now: float, *, relief: bool) -> None:
        """A rank wants relief, or none does. now: steady clock, s"""
        if not relief:
            self.pressing_since = None
        elif self.pressing_since is None:
            self.pressing_since = now

    def located(self) -> SubtreeMap:
        """Where the known directories are; made anew only when these or the subtrees have changed."""
        where = self.where
        if where is None or self.mapped_directories != self.known.directories:
            paths = [d.path for d in self.known.directories]
            where = SubtreeMap((s for found in self.subtrees.values() for s in found), [*paths, PURGED])
            self.where, self.mapped_directories = where, self.known.directories
        return where

    def hasten(self, now: float, interval: float) -> None:
        """Look at once, before ranks report: once in that time, as full ones are asked. now: as all here"""
        if now - self.hastened >= interval:
            self.due, self.asked, self.hastened = 0.0, float("-inf"), now

    def late(self, prefix: str, names: Collection[str]) -> None:
        """What a full rank is too slow to tell would be asked for in vain time and again. For one that hangs
        nobody waits so long each time."""
        for key in ((prefix, name) for name in names):
            before = self.patience.get(key, WITHIN)
            self.patience[key] = WITHIN if before >= LONGEST else min(LONGEST, SPARE * before)

    def asks_anew(self, decision: Decision, now: float) -> bool:
        """Was it decided on shares of the load that are old, or may be? It is looked at once more then, and
        MDSs are asked."""
        if self.asked < now:
            self.asked, self.due = float("-inf"), 0.0
        elif self._blurs(decision, now):
            self.asked, self.due, self.sharpened = float("-inf"), now + SOON, now
        else:
            return False
        return True

    def _blurs(self, decision: Decision, now: float) -> bool:
        """Would something be moved for what is hot on a rank of which nobody can tell whether it is still? It
        can be told from what that says in a moment; while something moves that is glanced at instead."""
        if self.state.moving or now - self.sharpened < CALM:
            return False
        return any(move.load > 0.0 and move.source in self.blurred for move in decision.moves)

    @property
    def glances(self) -> bool:
        """Is it looked at in between? What has arrived makes room for more."""
        return self.kept.mode == ACT and bool(self.state.moving)


def relative(view: View) -> dict[int, float]:
    """What each rank serves, in parts of its share of all; {} when there is nothing."""
    if not any(rank.requests for rank in view.ranks):
        return {}
    return utilisations(view.ranks, capacities(view.ranks))
