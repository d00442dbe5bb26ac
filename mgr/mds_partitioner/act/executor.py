# SPDX-License-Identifier: LGPL-2.1-or-later
"""Executes a plan: small state machines, one a step, a few under way at a time.

    (none) -> intent -> done        forward; the old value is in the journal before anything changes
    (none) -> skipped               its directory is gone, or an operator changed the value since
    intent|done -> undoing -> undone   rollback: back to the rank it came from, then the old value
    intent|done -> kept             rollback: an operator changed the value since

A step found as ``intent`` after a manager died may or may not have been made: the present value tells.
"""

import logging
import time
from collections.abc import Callable

from ..errors import CephError, JournalError, PartitionerError
from ..host import Host
from ..model import NO_PIN, FsState
from ..options import Settings
from ..plan.plan import PIN_STEP, Step
from .changes import Gone, Whereabouts, bind
from .journal import (
    APPLIED,
    DONE,
    INTENT,
    KEPT,
    PAUSED,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    SKIPPED,
    UNDOING,
    UNDONE,
    Journal,
    Record,
    Run,
)

Guard = Callable[[FsState], str | None]


class Executor:
    """Takes a run forward (or back) one tick at a time."""

    def __init__(
        self, host: Host, journal: Journal, where: Whereabouts, guard: Guard, log: logging.Logger
    ) -> None:
        """``guard`` says why nothing may be changed now, or None."""
        self._host, self._journal, self._where = host, journal, where
        self._guard, self._log = guard, log

    def tick(self, run: Run, settings: Settings) -> None:
        """One pass over the steps. A failure of Ceph pauses the plan; it is tried again on the next tick."""
        try:
            fs = self._host.fs(run.plan.fs)
            if fs.fscid != run.plan.fscid:
                raise CephError(f"'{fs.name}' is another file system than the one that was planned for")
            if not self._may_go(run, fs):
                return
            if run.head.state == RUNNING:
                self._forward(run, fs, settings)
            elif run.head.state == ROLLING_BACK:
                self._back(run, fs, settings)
        except PartitionerError as e:
            self._wait(run, str(e))

    def _wait(self, run: Run, why: str) -> None:
        self._log.warning("plan %s waits: %s", run.plan.name, why)
        if run.head.state == PAUSED and run.head.by_operator:
            return
        before = run.head.state
        interrupted = run.head.resume_to if before == PAUSED else before
        try:
            self._journal.head(
                run,
                only_from=before,
                state=PAUSED,
                why=why,
                by_operator=False,
                until=None,
                resume_to=interrupted,
            )
        except JournalError as e:
            # The pause cannot be written, but neither can a step: nothing changes until the mon answers.
            self._log.error("plan %s: %s", run.plan.name, e)

    def _may_go(self, run: Run, fs: FsState) -> bool:
        head = run.head
        held = head.until is None or time.time() < head.until
        if head.state == PAUSED and head.by_operator and held:
            return False
        why = self._guard(fs)
        if why is not None:
            self._wait(run, why)
            return False
        if head.state == PAUSED:
            self._journal.head(
                run, only_from=PAUSED, state=head.resume_to, why="", by_operator=False, until=None
            )
        return True

    def _forward(self, run: Run, fs: FsState, settings: Settings) -> None:
        under_way = 0
        for i, record in sorted(run.records.items()):
            if record.state == INTENT and not self._settle(run, i, record, fs, settings):
                under_way += 1
        steps = run.plan.steps
        waiting = [i for i in range(len(steps)) if i not in run.records]
        phase = min((steps[i].phase for i in waiting), default=None)
        for i in waiting:
            if under_way >= settings.max_moves:
                return
            # A later phase begins when the earlier ones have ended, moves under way included.
            if steps[i].phase != phase or any(
                steps[j].phase < steps[i].phase for j, r in run.records.items() if r.state == INTENT
            ):
                continue
            under_way += self._begin(run, i, fs)
        if not waiting and under_way == 0:
            self._journal.head(run, only_from=RUNNING, state=DONE, why="", finished=time.time())

    def _begin(self, run: Run, i: int, fs: FsState) -> bool:
        """Make a step; is it under way?"""
        step = run.plan.steps[i]
        if step.kind == PIN_STEP and int(step.value) not in (NO_PIN, *fs.ranks_in):
            self._skip(run, i, f"rank {step.value} does not exist any more")
            return False
        try:
            change = bind(step, self._host, self._where, fs)
            old = change.read()
        except Gone as e:
            self._skip(run, i, str(e))
            return False
        if old not in (step.expected, step.value) and not run.plan.force:
            self._skip(run, i, f"an operator changed it from {step.expected} to {old} after it was planned")
            return False
        self._journal.record(run, i, Record(INTENT, old, time.time()))
        if old != step.value:
            change.write(step.value)
        return True

    def _skip(self, run: Run, i: int, why: str) -> None:
        self._log.warning("plan %s: step %d is skipped: %s", run.plan.name, i, why)
        self._journal.record(run, i, Record(SKIPPED, "", time.time(), why))

    def _settle(self, run: Run, i: int, record: Record, fs: FsState, settings: Settings) -> bool:
        """Has a step that was begun come to an end? Makes it when a dead manager did not get that far."""
        step = run.plan.steps[i]
        try:
            change = bind(step, self._host, self._where, fs)
        except Gone as e:
            self._skip(run, i, str(e))
            return True
        now = change.read()
        if now == record.old != step.value:
            change.write(step.value)
            return False
        if now != step.value:
            self._skip(run, i, f"an operator changed it to {now} while it was under way")
            return True
        if change.arrived(step.value):
            self._journal.record(run, i, Record(APPLIED, record.old, time.time()))
            return True
        if time.time() - record.time > settings.arrival_timeout:
            why = f"set, but the MDSs have not moved it within {settings.arrival_timeout} s"
            self._journal.record(run, i, Record(APPLIED, record.old, time.time(), why))
            return True
        return False

    def _back(self, run: Run, fs: FsState, settings: Settings) -> None:
        undo = [
            i for i, r in sorted(run.records.items(), reverse=True) if r.state in (INTENT, APPLIED, UNDOING)
        ]
        if not undo:
            self._journal.head(run, only_from=ROLLING_BACK, state=ROLLED_BACK, why="", finished=time.time())
            return
        last = max(run.plan.steps[i].phase for i in undo)
        for i in [i for i in undo if run.plan.steps[i].phase == last][: settings.max_moves]:
            self._undo(run, i, fs, settings)

    def _undo(self, run: Run, i: int, fs: FsState, settings: Settings) -> None:
        step, record = run.plan.steps[i], run.records[i]
        try:
            change = bind(step, self._host, self._where, fs)
        except Gone as e:
            self._journal.record(run, i, Record(KEPT, record.old, time.time(), str(e)))
            return
        now, via = change.read(), _way_back(step, record, fs)
        if record.state != UNDOING:
            if now not in (step.value, record.old):
                why = f"an operator changed it to {now} since"
                self._journal.record(run, i, Record(KEPT, record.old, time.time(), why))
                return
            record = Record(UNDOING, record.old, time.time())
            self._journal.record(run, i, record)
        if via is not None and now not in (via, record.old):
            change.write(via)
            return
        waited = time.time() - record.time > settings.arrival_timeout
        if via is not None and now == via and not (change.arrived(via) or waited):
            return
        if now != record.old:
            change.write(record.old)
        self._journal.record(run, i, Record(UNDONE, record.old, time.time()))


def _way_back(step: Step, record: Record, fs: FsState) -> str | None:
    """The pin that takes a directory home before its old pin, none, is restored; None when not needed."""
    if step.kind != PIN_STEP or record.old != str(NO_PIN) or step.home not in fs.ranks_in:
        return None
    return str(step.home) if str(step.home) != step.value else None
