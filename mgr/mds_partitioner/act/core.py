# SPDX-License-Identifier: LGPL-2.1-or-later
"""What to do next about a plan: no I/O, no clock, no thread. ``executor.py`` does what this says.

(none) -> intent -> done           forward; the old value is in the journal before anything changes
intent -> undoing -> undone        forward, where what does not arrive in time is put back
intent -> undone                   forward, where that could not be set in time
done -> undoing -> undone          forward, where what belongs to it was left alone: see half_done
(none) -> skipped                  its directory is gone, or an operator changed the value since
intent|done -> undoing -> undone   rollback: back to the rank it came from, then the old value
intent|done -> kept                rollback: an operator changed the value since, or a policy of ours needs it
intent -> skipped, undoing -> kept these MDSs do not take such a value, old or new
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ..ceph.filesystem import NO_MASK
from ..model import NO_PIN
from ..plan.plan import FS_STEP, MASK_STEP, OF_ALL, PIN_STEP, RANK_MASK, Plan, Step
from ..plan.ranks import balanced_ranks, format_ranks, parse_ranks
from .run import (
    ACTIVE,
    APPLIED,
    BY_OPERATOR,
    DONE,
    IN_FORCE,
    INTENT,
    KEPT,
    PAUSED,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    SKIPPED,
    TAKEN,
    UNDOING,
    UNDONE,
    Head,
    Record,
    on_way_home,
    paused_by_command,
)


@dataclass(frozen=True)
class Seen:
    """What a step is about, as it is now.

    :ivar value: the present value; None: the directory does not exist any more
    :ivar gone: in words, why there is no value
    :ivar arrived: the MDSs follow the value
    :ivar made: this manager, or one before it, has set the value and was told so, or this one has seen it
    :ivar in_doubt: in words, that a change of it was given up and may still be made
    :ivar held: in words, an operator's own setting that places it, or what is in it; asked until it is set
    :ivar barred: in words, why it must not be set, force or not
    :ivar waited: s since this manager first saw the record in its state, on the steady clock
    :ivar shared: a policy of ours has switched it on, and puts back what there was without both
    :ivar stays: in words, why it is not put back
    :ivar overtaken: it had the planned value, and a later plan of ours has replaced that
    :ivar taken: an operator took away what a later plan had set; asked before it is begun, and, where it has
        the planned value or is on its way home, when it is to be undone
    """

    value: str | None
    gone: str = ""
    arrived: bool = False
    made: bool = False
    in_doubt: str = ""
    held: str = ""
    waited: float = 0.0
    shared: bool = False
    barred: str = ""
    stays: str = ""
    overtaken: bool = False
    taken: bool = False


@dataclass(frozen=True)
class Transition:
    """First ``record`` is made durable, then ``write`` is set; either may be None."""

    record: Record | None = None
    write: str | None = None


NOTHING = Transition()
NOT_DONE = (SKIPPED, UNDONE, KEPT)
OFF = "false"  # of a setting that a policy of ours had found so
ON_ITS_WAY = "it was on its way when it was to be undone"
NOT_HOME = "its old pin is put back, but the MDSs have not moved it home within"
LONGEST = 1000  # characters of a reason: a path may have thousands, and a record must fit into a key
ENDING = 300  # of these that are the last ones: what happened is told after the path that it happened to
CUT = "..."
SETTLED = 10.0  # s after which an export that had begun is over


def same(step: Step, one: str, other: str) -> bool:
    """Do two values of a step mean the same? A mask can be written in more than one way."""
    if one == other:
        return True
    of_mask = step.kind == FS_STEP and step.target == RANK_MASK
    return of_mask and balanced_ranks(one) == balanced_ranks(other)


def _needs(step: Step) -> set[int]:
    """The ranks that its value names."""
    if step.kind == PIN_STEP:
        return {int(step.value)} - {NO_PIN}
    if step.kind == MASK_STEP:
        return set() if step.value == NO_MASK else set(parse_ranks(step.value))
    if (step.kind, step.target) == (FS_STEP, RANK_MASK):
        return set(balanced_ranks(step.value) or ())
    return set()


def shortened(why: str) -> str:
    """A reason that fits into a record: what is too much is left out of the middle."""
    return why if len(why) <= LONGEST else why[: LONGEST - ENDING - len(CUT)] + CUT + why[-ENDING:]


class StepCore:
    """Decides about one step.

    Invariant, whatever happens between two decisions (a crash, another manager, an operator, a change that
    fails or comes late):

    1. a value is set only after a record that holds the value it replaces is durable;
    2. a value that is neither the planned one, nor the one that was replaced, nor the way back between them,
       nor a later plan's, is an operator's and is never replaced; nor is what he sets then, be it an older
       plan's, unless a later one has found it as it is to be;
    3. "done" is recorded only of the planned value, "undone" only of the old value, as it was read back, or
       as a later plan has found it;
    4. no decision is taken while a change may still be made that was given up.
    """

    def __init__(self, step: Step, record: Record | None, seen: Seen, now: float, timeout: float) -> None:
        """:param now: Unix time, s; timeout: how long an arrival is waited for, s."""
        self._step, self._record, self._seen = step, record, seen
        self._now, self._timeout = now, timeout

    def forward(
        self,
        ranks: Collection[int],
        force: bool,
        late: str | None = None,
        home: str | None = None,
        stale: str | None = None,
    ) -> Transition:
        """Towards the planned value. ``ranks`` exist; ``force``: an operator's value is replaced, too.

        :param late: why what has not arrived in time is put back; None: it stays as it is set
        :param home: as for ``back``
        :param stale: why what was to be set, and is not, is let be, once it cannot come late; "": that is not
            known yet, and it waits; None: it is set
        """
        record = self._record
        if self._seen.in_doubt:
            return NOTHING
        if record is None:
            return self._begin(ranks, force)
        if record.state == UNDOING:
            return self.back(home)
        if record.state != INTENT:
            return NOTHING
        if self._seen.value is not None and not same(self._step, self._seen.value, self._step.value):
            return self._astray(record, self._seen.value, ranks, force, late, stale)
        return self._as_set(record, late, home)

    def _as_set(self, record: Record, late: str | None, home: str | None) -> Transition:
        """It is under way, and as it was set, or gone."""
        seen = self._seen
        if seen.value is None:
            return self._to(SKIPPED, seen.gone)
        if seen.arrived:
            return self._to(APPLIED)
        if not self.late:
            return NOTHING
        if late is None:
            return self._to(APPLIED, f"set, but the MDSs have not moved it within {self._timeout:g} s")
        return Transition(Record(UNDOING, record.old, self._now, late), home or record.old)

    def _astray(
        self,
        record: Record,
        value: str,
        ranks: Collection[int],
        force: bool,
        late: str | None,
        stale: str | None,
    ) -> Transition:
        """It is under way, and another ``value`` is there."""
        step, seen = self._step, self._seen
        if seen.overtaken:  # before that was recorded; the later one goes back to it
            return self._to(APPLIED, "set, and replaced by a later plan")
        if seen.barred:
            return self._to(SKIPPED, seen.barred)
        if seen.made or not same(step, value, record.old):
            return self._changed(SKIPPED, "while it was under way")
        if seen.held and not force:
            return self._to(SKIPPED, seen.held)
        if late is not None:  # it could not be set in time, and was decided on what was then
            return self._to(UNDONE, late)
        if (
            stale is not None
        ):  # a manager before may have set it, and MDSs show that when they have written it
            return self._to(UNDONE, stale) if stale and seen.waited >= SETTLED else NOTHING
        return self._to_missing_rank(ranks) or Transition(write=step.value)

    @property
    def late(self) -> bool:
        """Has it been waited for as long as is allowed?"""
        return self._seen.waited > self._timeout

    def _begin(self, ranks: Collection[int], force: bool) -> Transition:
        step, seen = self._step, self._seen
        missing = self._to_missing_rank(ranks)
        if missing is not None:
            return missing
        if seen.value is None:
            return self._to(SKIPPED, seen.gone)
        value = OFF if seen.shared else seen.value  # the policy's end must not be this plan's
        if same(step, value, step.value):
            return self._to(SKIPPED, _already(step))
        if not force and not same(step, value, step.expected):
            why = f"{BY_OPERATOR} it from {step.expected} to {value} after it was planned"
            return self._to(SKIPPED, why)
        if seen.barred:
            return self._to(SKIPPED, seen.barred)
        if seen.taken:
            return self._to(SKIPPED, f"{BY_OPERATOR} what a later plan had set")
        if seen.held and not force:
            return self._to(SKIPPED, seen.held)
        return Transition(Record(INTENT, value, self._now), step.value)

    def _to_missing_rank(self, ranks: Collection[int]) -> Transition | None:
        """What it comes to when a rank of it does not exist any more; None: all do."""
        gone = _needs(self._step).difference(ranks)
        return self._to(SKIPPED, f"rank {format_ranks(gone)} does not exist any more") if gone else None

    def back(self, home: str | None) -> Transition:
        """Towards the old value. ``home``: the pin that takes it home first, or None."""
        step, record, seen = self._step, self._record, self._seen
        if record is None or record.state not in IN_FORCE or seen.in_doubt:
            return NOTHING
        if seen.value is None:
            return self._to(KEPT, seen.gone)
        if same(step, seen.value, record.old):
            if step.ino and (record.state == APPLIED or (record.state == INTENT and seen.made)):
                return self._changed(UNDONE, "before it was undone")  # be it what an older plan had set
            return self._to(UNDONE, "" if record.why == ON_ITS_WAY else record.why)
        if seen.shared:
            return self._to(KEPT, "the policy of 'balance on' needs it: 'balance off' puts it back")
        if seen.stays:
            return self._to(KEPT, seen.stays)
        undoing = record.state == UNDOING
        if same(step, seen.value, step.value) and not seen.taken:
            # MDSs that have begun to move it do not look at its pin again: it may arrive all the same.
            why = ON_ITS_WAY if record.state == INTENT else ""
            begun = Record(UNDOING, record.old, self._now, why)
            return Transition(None if undoing else begun, home or record.old)
        if on_way_home(step, record, seen.value) and not seen.taken:  # ours, its rank there or not
            # What was late, or had not come, may be on its way still, and must come back first.
            home_for_good = seen.arrived and (not record.why or seen.waited >= SETTLED)
            if home is None or home_for_good or NOT_HOME in record.why:
                return Transition(write=record.old)
            return Transition(self._not_home(record), record.old) if self.late else NOTHING
        return self._changed(KEPT, "since")

    def _not_home(self, record: Record) -> Record:
        """Its old pin is put back all the same: nobody would find out otherwise."""
        before = "" if record.why in ("", ON_ITS_WAY) else f"{record.why}; "
        return replace(record, time=self._now, why=shortened(f"{before}{NOT_HOME} {self._timeout:g} s"))

    def _changed(self, state: str, when: str) -> Transition:
        return self._to(state, f"{TAKEN} {self._seen.value} {when}")

    def _to(self, state: str, why: str = "") -> Transition:
        old = self._record.old if self._record is not None else ""
        return Transition(Record(state, old, self._now, shortened(why)))


def not_taken(step: Step, record: Record, write: str | None, why: str, now: float) -> Record:
    """What becomes of a step, ``record`` so far, where MDSs take no such value as it was to ``write``."""
    return Record(SKIPPED if write == step.value else KEPT, record.old, now, why)


@dataclass(frozen=True)
class Due:
    """Steps in the order in which they are looked at.

    :ivar moving: under way and in no trouble
    :ivar fresh: those that may be begun now, in no trouble
    :ivar stuck: in trouble, the one that was tried longest ago first
    """

    moving: list[int]
    fresh: list[int]
    stuck: list[int]


def next_step(
    plan: Plan,
    heading: str,
    records: Mapping[int, Record],
    tried: Collection[int],
    troubled: Collection[int],
    limit: int | None,
    eager: bool = False,
) -> int | None:
    """The step to look at next in this tick; None: there is none.

    A later phase of a row begins when its earlier ones have ended, moves under way included, and that of a
    setting when those of all rows have; backwards it is a phase of all rows at a time. What is in trouble
    comes last, and holds up no step of its own phase; backwards no other one either. But Ceph may refuse all
    steps, and take them later. So what was refused in this tick counts as a move, and beside as many in
    trouble as may move a new one is begun only where nothing moves.

    :param tried: steps that were looked at in this tick
    :param troubled: steps that Ceph did not let us read or set at the last try, the longest ago first
    :param limit: how many may be under way; None: nothing is to be begun, but what was goes on
    :param eager: what may be begun comes before what is looked at, whether it has arrived, but not before
        what is put back
    """
    due = _due(plan, heading, records, troubled)
    moving, refused = len(due.moving), sum(i in tried for i in due.stuck)
    full = limit is None or moving + refused >= limit
    may_begin = limit is not None and (moving + len(due.stuck) < limit or not (moving or refused))
    stuck = [i for i in due.stuck if limit is None and i in records] if full else due.stuck
    fresh = due.fresh if may_begin and not full else []
    first = [i for i in due.moving if not eager or records[i].state == UNDOING]
    order = (*first, *fresh, *due.moving, *stuck)
    return next((i for i in order if i not in tried), None)


def _due(plan: Plan, heading: str, records: Mapping[int, Record], troubled: Collection[int]) -> Due:
    back = heading == ROLLING_BACK
    moving, ready = _find_back(plan, records, troubled) if back else _find_forward(plan, records)
    found = {*moving, *ready}
    return Due(
        [i for i in moving if i not in troubled],
        [i for i in ready if i not in troubled],
        [i for i in troubled if i in found],
    )


def _find_forward(plan: Plan, records: Mapping[int, Record]) -> tuple[list[int], list[int]]:
    steps = plan.steps
    back = half_done(plan, records)
    moving = [i for i in sorted(records) if records[i].state in (INTENT, UNDOING) or i in back]
    waiting = [i for i in range(len(steps)) if i not in records]
    first: dict[int, int] = {}
    for i in (*waiting, *moving):
        for row in {steps[i].row, OF_ALL}:
            first[row] = min(steps[i].phase, first.get(row, steps[i].phase))
    return moving, [i for i in waiting if steps[i].phase == first[steps[i].row]]


def _find_back(
    plan: Plan, records: Mapping[int, Record], troubled: Collection[int]
) -> tuple[list[int], list[int]]:
    undo = [i for i in sorted(records, reverse=True) if records[i].state in IN_FORCE]
    # Of whatever phase: one may have been begun while a later one was in trouble.
    moving = [i for i in undo if records[i].state == UNDOING]
    waiting = [i for i in undo if records[i].state != UNDOING]
    phase = max((plan.steps[i].phase for i in undo if i not in troubled), default=None)
    return moving, [i for i in waiting if plan.steps[i].phase == phase or i in troubled]


def half_done(plan: Plan, records: Mapping[int, Record]) -> list[int]:
    """Steps that are done, and put back as another phase of their row was not: each row of the scheduler's is
    done as a whole or not at all. By itself a pin that was taken off, say, leaves its directory to nobody.
    """
    if not plan.scheduled:
        return []
    known, left = tuple(records.items()), dict[int, set[int]]()  # others may add one meanwhile
    for i, record in known:
        if record.state in NOT_DONE:
            left.setdefault(plan.steps[i].row, set()).add(plan.steps[i].phase)
    steps = ((i, plan.steps[i]) for i, record in known if record.state == APPLIED)
    return sorted(i for i, step in steps if left.get(step.row, {step.phase}) != {step.phase})


def going_back(plan: Plan, records: Mapping[int, Record]) -> set[int]:
    """Rows of which something is still to be put back, without a rollback."""
    under_way = (i for i, record in records.items() if record.state == UNDOING)
    return {plan.steps[i].row for i in (*half_done(plan, records), *under_way)}


def left_before(plan: Plan, records: Mapping[int, Record], i: int) -> str:
    """Why an earlier phase of its row was not done, so that a step must not be, either; "": it was. Of an
    operator's plan, why no child is pinned: all of a fanout would go along with its parent."""
    step = plan.steps[i]
    if i in records or not step.phase:
        return ""
    known = ((plan.steps[j], record) for j, record in tuple(records.items()))
    before = [(s, r) for s, r in known if s.row == step.row and s.phase < step.phase]
    if plan.scheduled:
        return next((r.why for _, r in before if r.state in NOT_DONE), "")
    if step.row in plan.in_place:
        return ""
    pins = [(s, r) for s, r in before if s.kind == PIN_STEP and s.value != str(NO_PIN)]
    left = [r.why for s, r in pins if r.state in NOT_DONE and not _is_pinned(s, r.why)]
    return f"no directory in it was pinned: {left[0]}" if left and len(left) == len(pins) else ""


def _is_pinned(step: Step, why: str) -> bool:
    """Has a directory a pin all the same whose step was not done, be it an operator's? ``why``: that was"""
    by_operator = why.startswith(f"{BY_OPERATOR} it ") and f" to {NO_PIN} " not in why
    return by_operator or why == _already(step)


def _already(step: Step) -> str:
    """Why a step is skipped that has nothing to do."""
    return f"it is {step.value} already"


def has_ended(plan: Plan, heading: str, records: Mapping[int, Record]) -> bool:
    """Is there nothing left to do?"""
    if heading == ROLLING_BACK:
        return not any(record.state in IN_FORCE for record in records.values())
    going = (INTENT, UNDOING)  # UNDOING: it was late, or half done
    left = len(records) < len(plan.steps) or any(r.state in going for r in records.values())
    return not (left or half_done(plan, records))


def interrupted(head: Head) -> str:
    """What a pause now, or one more, goes back to."""
    return head.resume_to if head.state == PAUSED else head.state


def paused(head: Head, why: str, *, over: bool = False) -> Head:
    """The head of a plan that has to wait for the cluster; an operator's pause stays his, unless it is
    ``over``. What is not under way waits for nothing: it would go on by itself afterwards."""
    if head.state not in ACTIVE or (paused_by_command(head) and not over):
        return head
    return replace(
        head, state=PAUSED, why=shortened(why), by_operator=False, until=None, resume_to=interrupted(head)
    )


def after_tick(
    head: Head,
    plan: Plan,
    records: Mapping[int, Record],
    troubles: Mapping[int, str],
    now: float,
) -> Head:
    """The head after all steps that could be looked at were. ``now``: Unix time, s."""
    heading = interrupted(head)
    going = replace(head, state=heading, why="", by_operator=False, until=None)
    if has_ended(plan, heading, records):
        state = ROLLED_BACK if heading == ROLLING_BACK else DONE
        return replace(going, state=state, resume_to=RUNNING, finished=now)
    due = _due(plan, heading, records, troubles)
    if troubles and not (due.moving or due.fresh):
        return paused(replace(going, state=heading), _in_words(plan, troubles))
    return going


def _in_words(plan: Plan, troubles: Mapping[int, str]) -> str:
    first = min(troubles)
    more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
    return f"{plan.steps[first].target!r}: {troubles[first]}{more}: it is tried again"
