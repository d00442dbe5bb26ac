# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan and how far it got, and what can be asked of plans."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ceph.host import FS_TIMEOUT
from ..clock import Now
from ..errors import JournalError, NotFound
from ..model import NO_PIN, other_pools
from ..observe.children import Placed
from ..observe.subtrees import ancestors
from ..plan.plan import (
    AUTOMATE,
    CONFIG_STEP,
    DISTRIBUTED_STEP,
    FS_STEP,
    MASK_STEP,
    OF_ALL,
    PIN_STEP,
    About,
    Plan,
    Step,
)

# States of a plan.
READY, RUNNING, PAUSED, STOPPED, DONE = "ready", "running", "paused", "stopped", "done"
ROLLING_BACK, ROLLED_BACK = "rolling-back", "rolled-back"
ACTIVE = (RUNNING, PAUSED, ROLLING_BACK)

# States of a step. INTENT and UNDOING are written before the change, the others after it.
INTENT, APPLIED, SKIPPED, UNDOING, UNDONE, KEPT = "intent", "done", "skipped", "undoing", "undone", "kept"
IN_FORCE = (INTENT, APPLIED, UNDOING)

FOLLOWED = (PIN_STEP, DISTRIBUTED_STEP)  # what MDSs move directories for on a tick

LATE = 60.0  # s after a decision of the scheduler's, in which its plan is kept: loads go on
EXPIRES = LATE + FS_TIMEOUT  # s in which it is begun: one directory that hangs holds up its plan for so long
SCHEDULER_STOPPED, HOURS_OVER = "the scheduler was stopped", "the hours in which it acts were over"
TOO_OLD = "it could not be begun in time"
BY_COMMAND = "by command"  # why what an operator has stopped or paused does not go on
BY_OPERATOR = "an operator changed"  # begins the reasons of steps about what is his since
TAKEN = f"{BY_OPERATOR} it to"  # begins the reason of a step in place of whose value another one is
LET_BE = (SCHEDULER_STOPPED, HOURS_OVER, TOO_OLD)
"""Why steps of the scheduler's are skipped that were not even tried."""


@dataclass(frozen=True)
class Head:
    """The mutable part of a plan. Times in seconds since the Unix epoch."""

    state: str = READY
    why: str = ""  # why it is paused or ended
    by_operator: bool = False  # paused by a command, not by a guard; or it was when its file system went
    until: float | None = None  # end of a pause
    resume_to: str = RUNNING  # what a pause or a stop interrupted
    started: float | None = None  # a plan of the scheduler's: when it was made; see by_hand
    finished: float | None = None


@dataclass(frozen=True)
class Record:
    """What was done about one step. ``old`` is the value the step replaced; ``time`` is Unix time, s."""

    state: str
    old: str
    time: float
    why: str = ""


Made = tuple[Step, Record]
"""A step that was made, and what was done about it."""


@dataclass
class Memory:
    """What only this manager knows of a plan; the next one begins anew, but for what is ``told``.

    :ivar decided: when the loads were seen that a plan of the scheduler's goes by, steady clock, s
    :ivar halted: an operator said stop or pause; nothing is begun any more, whether that is journaled or not
    :ivar hold: end of an operator's pause, steady clock, s
    :ivar untold: what an order to stop or hold makes of the head, and the mon has not taken yet
    :ivar recorded: steps whose record this manager has written
    :ivar made: steps under way whose value this manager, or one before it, has set and was told so, or that
        this one has seen there
    :ivar told: those of them that the mon knows, or is told before anything else
    :ivar asked: when it was asked last whether a step has arrived, steady clock, s
    :ivar loaded: when MDSs were made to read its directory last, likewise
    :ivar since: when a step was first seen in its state, steady clock, s
    :ivar above: when it was read what places directories from above, steady clock, s, and what did, by the
        path of what they are in
    :ivar troubles: steps that Ceph did not let it read or set at the last try, and its words; the one that
        was tried longest ago first
    :ivar doubtful: of these, those of which an earlier change was not answered
    :ivar hung: since when calls about its directories hang, and none was answered, though nothing is wrong
        with any rank, steady clock, s
    :ivar reported: the state that ``ceph progress`` was told last
    :ivar seal: as it is in the mon
    :ivar written: how many records this manager has written
    :ivar ended: its head when it had ended, how many records were written, what was in force then, and what
        an operator had taken: as long as both are the same, so are these
    :ivar writing: held while the head is written, so that a later one is not overtaken; no other plan waits
    :ivar telling: held for a moment while ``untold`` changes
    """

    decided: float = math.inf
    halted: bool = False
    hold: float | None = None
    untold: dict[str, Any] = field(default_factory=dict)
    recorded: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    told: frozenset[int] = frozenset()
    asked: dict[int, float] = field(default_factory=dict)
    loaded: dict[int, float] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    above: tuple[float, dict[str, Mapping[str, Placed]]] = field(default_factory=lambda: (-math.inf, {}))
    troubles: dict[int, str] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    hung: float = math.inf
    reported: str = ""
    seal: str = ""
    written: int = 0
    ended: tuple[Head | None, int, Sequence[Made], Collection[About]] = (None, 0, (), ())
    writing: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    telling: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def order(self, changes: Mapping[str, Any]) -> None:
        """An operator's, to stop or hold; the mon is to be told."""
        with self.telling:
            self.untold = dict(changes)

    def is_told(self, untold: Mapping[str, Any]) -> None:
        """The mon has that, or what was ordered after it. An order that came while it was written has not."""
        with self.telling:
            if self.untold is untold:
                self.untold = {}


@dataclass(frozen=True)
class GoesOn:
    """An operator's order that a plan goes on.

    :ivar refuse: raises Busy if another order has come
    :ivar begin: lets it begin, unless another order has come. Was none? Raises Busy if it must not
    :ivar untold: what was ordered before, and the mon does not know yet
    """

    refuse: Callable[[], None]
    begin: Callable[[], bool]
    untold: Mapping[str, Any]


@dataclass(eq=False)
class Run:
    """A plan and how far it got; the journal writes every change of it before it is made here."""

    id: str
    plan: Plan
    head: Head
    records: dict[int, Record] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)

    def heading(self) -> str:
        """Its state, as if no pause or stop were: RUNNING or ROLLING_BACK while there is a way to go, READY
        before, DONE or ROLLED_BACK at its end."""
        return self.head.resume_to if self.head.state in (PAUSED, STOPPED) else self.head.state

    def ordered(self) -> Head:
        """The head as an operator's order to stop or hold makes it, has the mon taken that or not."""
        return replace(self.head, **self.memory.untold)


def hangs(run: Run, now: float, longest: float) -> bool:
    """Is a directory on its way for longer, there or home? now: steady clock, s; longest: s"""
    since = dict(run.memory.since)  # polls that were left may add to it
    going = (i for i, at in since.items() if now - at > longest and run.plan.steps[i].kind in FOLLOWED)
    return any(i in run.records and run.records[i].state in (INTENT, UNDOING) for i in going)


def find(runs: Iterable[Run], name: str, unreadable: Mapping[str, str]) -> Run:
    """The named plan.

    :param unreadable: why plans cannot be read, by name
    :raises JournalError: it is one of these
    :raises NotFound: with the names there are
    """
    known = list(runs)
    for run in known:
        if run.plan.name == name:
            return run
    if name in unreadable:
        raise JournalError(f"plan '{name}' cannot be read: {unreadable[name]}: what it set stays as it is")
    names = ", ".join([*(run.plan.name for run in known), *unreadable]) or "none"
    raise NotFound(f"plan '{name}' does not exist (there are: {names})")


def user_of(run: Run) -> str:
    """As what a plan has a claim on an option; the scheduler's plans follow each other."""
    return scheduler_user(run.plan.fscid) if run.plan.scheduled else plan_user(run.id)


def plan_user(id_: str) -> str:
    """As what a plan that is not the scheduler's has one."""
    return f"plan/{id_}"


def scheduler_user(fscid: int) -> str:
    """As what the scheduler of a file system has one."""
    return f"scheduler/{fscid}"


def by_hand(run: Run) -> bool:
    """Was a plan of the scheduler started by an operator? By the scheduler it is when it is made."""
    return run.head.started != run.plan.created


def of_scheduler(run: Run) -> bool:
    """Is it on its way, as the scheduler alone has decided?"""
    return run.plan.scheduled and run.heading() != ROLLING_BACK and not by_hand(run)


def left_to_scheduler(run: Run) -> bool:
    """Is something to begin of it that the scheduler alone has decided?"""
    return len(run.records) < len(run.plan.steps) and of_scheduler(run)


def outdated(run: Run, now: float, patience: float, phases: Collection[int]) -> bool:
    """Has the scheduler decided it too long ago for steps of some phases to be begun? A later phase waits for
    the moves of those before.

    :param now: steady clock, s; patience: how long moves are waited for, s
    """
    waits = phases and min(phases) > min(step.phase for step in run.plan.steps)
    return now - run.memory.decided > EXPIRES + (patience if waits else 0.0)


def kept_back(run: Run, why: str) -> list[int]:
    """Steps that are not begun any more for a reason; "": there is none.

    An option that the scheduler needs is no matter of hours or loads. When its hours are over, the rest of
    what was begun of a row is done; of what is kept back for another reason that is put back.
    """
    if not why:
        return []
    steps, records = run.plan.steps, dict(run.records)
    kept = [i for i, step in enumerate(steps) if i not in records and (step.ino or why == SCHEDULER_STOPPED)]
    begun = {steps[i].row for i, record in records.items() if record.state in IN_FORCE}
    return [i for i in kept if why != HOURS_OVER or steps[i].row not in begun]


def removed(run: Run, *, held: bool) -> dict[str, object]:
    """What becomes of a plan whose file system is gone. What it set of directories is in the metadata pool,
    and in force where that gets a file system anew ('fs new --recover'): it can be rolled back then.

    :param held: by an operator: it does not go on by itself then
    """
    if run.head.state not in ACTIVE:
        return {}
    ordered, why = run.ordered(), _gone(run) if run.plan.fscid >= 0 else other_pools(run.plan.fs)
    if ordered.state == STOPPED:
        why = ordered.why
    until = ordered.until if held else None
    return {"state": STOPPED, "why": why, "resume_to": run.heading(), "by_operator": held, "until": until}


def returned(run: Run) -> dict[str, object]:
    """And of one that was ``stopped_with_fs``, when that is there again: an operator's pause holds."""
    if run.head.by_operator:
        return {"state": PAUSED, "why": BY_COMMAND}
    return {"state": run.heading(), "why": ""}


def stopped_with_fs(run: Run) -> bool:
    """Was it ``removed`` under way, as the scheduler alone has decided? Nobody has stopped it, and the
    scheduler goes on beside it: so does it, when its file system is there again."""
    gone = run.head.state == STOPPED and run.head.why in (_gone(run), other_pools(run.plan.fs))
    return gone and of_scheduler(run)


def _gone(run: Run) -> str:
    return f"file system '{run.plan.fs}' was removed"


def of_cluster(run: Run) -> list[int]:
    """Steps that set an option of the whole cluster, and are not undone."""
    made = sorted(dict(run.records).items())
    return [i for i, record in made if run.plan.steps[i].kind == CONFIG_STEP and record.state in IN_FORCE]


def held_by_operator(run: Run, now: Now) -> bool:
    """Does an operator's stop or pause hold?"""
    head, memory = run.head, run.memory
    ordered = memory.halted or paused_by_command(head)
    return ordered and (memory.hold is None or now.steady < memory.hold)


def paused_by_command(head: Head) -> bool:
    """Is it waiting for an operator?"""
    return head.state == PAUSED and head.by_operator


def paused_by_guard(head: Head) -> bool:
    """Is it waiting for the cluster, not for the operator?"""
    return head.state == PAUSED and not head.by_operator


def retold(before: Head, head: Head) -> bool:
    """Does it wait for the cluster as before, for the same but in what that counts, as seconds?"""
    if not paused_by_guard(before) or head == before or replace(head, why=before.why) != before:
        return False
    return _COUNTS.sub("", head.why) == _COUNTS.sub("", before.why)


_COUNTS = re.compile(r"\d+(?:[.,]\d+)*")


def way_home(step: Step, old: str, ranks: Iterable[int]) -> str | None:
    """The pin that takes a directory home before its old pin, none, is put back; None when not needed."""
    if step.kind != PIN_STEP or old != str(NO_PIN) or step.home not in ranks:
        return None
    return str(step.home) if str(step.home) != step.value else None


def on_way_home(step: Step, record: Record | None, value: str) -> bool:
    """Is that the pin that takes it home, set when its undoing was begun, be its rank there still or not?"""
    if record is None or record.state != UNDOING:
        return False
    return value == way_home(step, record.old, [step.home])


def in_force(runs: Iterable[Run], fscid: int) -> list[tuple[Run, int, Record]]:
    """Steps of this file system that were made and not undone, oldest first."""
    return [
        (run, i, record)
        for run in runs
        if run.plan.fscid == fscid and run.head.state != ROLLED_BACK
        for i, record in sorted(run.records.items())
        if record.state in IN_FORCE
    ]


def steps_in_force(runs: Iterable[Run], fscid: int) -> list[Made]:
    """The same, without whose they are, and without what an operator has taken since."""
    made: list[Made] = []
    for run in runs:
        if run.plan.fscid == fscid:
            ours, his = _made(run)
            made = [(step, record) for step, record in made if step.about not in his] if his else made
            made.extend(ours)
    return made


def taken_from(run: Run) -> Collection[About]:
    """What an operator has changed that a plan had set, or was about to. It is his, whatever he sets it to,
    be that what an older plan had."""
    return _made(run)[1]


def _made(run: Run) -> tuple[Sequence[Made], Collection[About]]:
    """What is in force, and what an operator has taken. Of what has ended they are found once."""
    head, written, (ended, then, made, his) = run.head, run.memory.written, run.memory.ended
    if head is ended and written == then:
        return made, his
    steps, records = run.plan.steps, tuple(run.records.items())  # the mover may add one meanwhile
    made = [(steps[i], record) for _, i, record in in_force([run], run.plan.fscid)]
    his = frozenset(steps[i].about for i, record in records if _taken(record))
    if head.state in (DONE, ROLLED_BACK):
        run.memory.ended = head, written, made, his
    return made, his


def _taken(record: Record) -> bool:
    """A step whose begin was written has an old value; of options that may be none, and they have claims."""
    return record.state in (SKIPPED, KEPT, UNDONE) and record.old != "" and record.why.startswith(TAKEN)


def owned_values(made: Iterable[Made]) -> dict[About, tuple[str, ...]]:
    """The values of this module's that may be there: the one that was set last, and where that step has not
    ended, as far as is known, also the one that an earlier step had set, and the pin of a way home.

    :param made: of one file system, oldest first
    """
    ours: dict[About, tuple[str, ...]] = {}
    for step, record in made:
        home = (str(_pin(step, record)),) if step.kind == PIN_STEP else ()
        before = () if record.state == APPLIED else ours.get(step.about, ())
        ours[step.about] = (step.value, *home, *(value for value in before if value == record.old))
    return ours


def owned_pins(made: Iterable[Made]) -> dict[int, int]:
    """The pin that this module last set, by inode number."""
    return {step.ino: _pin(step, record) for step, record in made if step.kind == PIN_STEP}


def pinned_paths(made: Iterable[Made]) -> dict[str, int]:
    """The same by path, as that was when it was pinned."""
    return {step.target: _pin(step, record) for step, record in made if step.kind == PIN_STEP}


def homes(made: Iterable[Made]) -> dict[int, int]:
    """The rank that a directory had before this module first pinned it, by inode number; see ``origins``."""
    return origins(step for step, _ in made if step.kind == PIN_STEP)


def origins(steps: Iterable[Step]) -> dict[int, int]:
    """By inode number, the rank that directories had before the first of these pins, oldest first. What was
    where something above it had been pinned to came along, so it is from where that came from."""
    found: dict[int, int] = {}
    been: dict[str, tuple[int, set[str]]] = {}  # by path: where it is from, and its pins since
    for step in steps:
        above = next(
            (been[path] for path in ancestors(step.target) if path != step.target and path in been), None
        )
        along = above is not None and str(step.home) in above[1]
        found.setdefault(step.ino, above[0] if above is not None and along else step.home)
        been.setdefault(step.target, (found[step.ino], set()))[1].add(step.value)
    return found


def owned_masks(made: Iterable[Made]) -> dict[int, str]:
    """The ``ceph.dir.bal.mask`` that this module last set, by inode number."""
    return {step.ino: step.value for step, _ in made if step.kind == MASK_STEP}


def owned_distributed(made: Iterable[Made]) -> dict[int, str]:
    """The ``ceph.dir.pin.distributed`` that this module last set, by inode number."""
    return {step.ino: step.value for step, _ in made if step.kind == DISTRIBUTED_STEP}


def distributed_last(runs: Iterable[Run]) -> dict[int, int]:
    """What the scheduler distributed last in a directory, or that itself: its inode number, by that of the
    directory. Not what was rolled back."""
    ours = (run for run in runs if run.plan.scheduled and run.head.state != ROLLED_BACK)
    return {
        run.plan.rows[step.row].ino: step.ino
        for run in ours
        for step in run.plan.steps
        if step.kind == DISTRIBUTED_STEP
    }


def balancing(runs: Iterable[Run], fscid: int) -> str | None:
    """The plan that has switched ``balance_automate`` on, and is not being rolled back."""
    forced = ((run, run.plan.steps[i]) for run, i, _ in in_force(runs, fscid))
    needs = (run for run, step in forced if (step.kind, step.target) == (FS_STEP, AUTOMATE))
    return next((run.plan.name for run in needs if run.head.state != ROLLING_BACK), None)


def _pin(step: Step, record: Record) -> int:
    return step.home if record.state == UNDOING and step.home >= 0 else int(step.value)


def moved_at(runs: Iterable[Run], fscid: int) -> dict[int, float]:
    """When a directory was last moved by a plan, by the inode number of the row's directory."""
    moved: dict[int, float] = {}
    for run in runs:
        if run.plan.fscid != fscid:
            continue
        steps, rows = run.plan.steps, run.plan.rows
        for i, record in tuple(run.records.items()):  # the mover may add one meanwhile
            row = steps[i].row
            if row != OF_ALL and record.state in (INTENT, APPLIED):
                ino = rows[row].ino
                moved[ino] = max(moved.get(ino, 0.0), record.time)
    return moved


def ended_states(run: Run) -> tuple[str, ...]:
    """The states of a step that has nothing left to do, in the direction that the plan goes."""
    back = run.heading() in (ROLLING_BACK, ROLLED_BACK)
    return (UNDONE, KEPT, SKIPPED) if back else (APPLIED, SKIPPED, UNDONE, KEPT)


def progress(run: Run) -> float:
    """Part of the steps that have ended, 0 to 1; while rolling back, of those that were made."""
    back = run.heading() in (ROLLING_BACK, ROLLED_BACK)
    total = len(run.records) if back else len(run.plan.steps)
    records, ended = tuple(run.records.values()), ended_states(run)  # the mover may add one meanwhile
    return sum(record.state in ended for record in records) / total if total else 1.0
