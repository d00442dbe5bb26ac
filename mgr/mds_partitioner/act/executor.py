# SPDX-License-Identifier: LGPL-2.1-or-later
"""Carries out what ``core.py`` decides: reads, journals, writes; one tick at a time."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Optional

from ..abreast import MOST
from ..ceph.host import Host
from ..clock import Now
from ..errors import CephError, JournalError, PartitionerError, Unavailable, unexpected
from ..model import FsState, other_pools
from ..options import Settings
from ..plan.plan import Plan, Step
from ..verify.guards import Hold, late_clients
from ..workers import Workers
from .changes import (
    Change,
    ConfigChange,
    DirectoryChange,
    Gone,
    NotTaken,
    Whereabouts,
    bind,
)
from .choice import later
from .core import (
    Seen,
    StepCore,
    Transition,
    after_tick,
    half_done,
    next_step,
    not_taken,
    paused,
    shortened,
)
from .halts import Halts
from .journal import Journal
from .polls import MOST as NOT_ANSWERED
from .polls import Met, Overruled, Polls, seen_lately
from .run import (
    ACTIVE,
    HOURS_OVER,
    KEPT,
    ROLLING_BACK,
    SCHEDULER_STOPPED,
    SKIPPED,
    STOPPED,
    TOO_OLD,
    UNDONE,
    Head,
    Record,
    Run,
    held_by_operator,
    kept_back,
    left_to_scheduler,
    of_cluster,
    of_scheduler,
    outdated,
    removed,
    retold,
    returned,
    stopped_with_fs,
    user_of,
    way_home,
)
from .sight import Sight

ABREAST = 16  # steps of a plan of the scheduler at once: a full MDS takes up to two seconds for each
LOST = 120.0  # s for which all calls hang, though no rank is silent, nor tells of slow requests
NO_SESSION = (
    "MDSs do not answer this manager's client, and nothing is wrong with any rank: its session may be gone, "
    "as MDSs evicted it: run 'ceph mgr fail': the next manager goes on"
)
Guard = Callable[[FsState], Optional[Hold]]
Unwanted = Callable[[Plan], Optional[str]]
"""Why what the scheduler decided with a plan is not begun; "": it is. None: that was not read yet."""


class Doubtful(CephError):
    """An earlier change was not answered: the step is looked at again, and no other phase before."""


class Executor:
    """Takes a run forward (or back) one tick at a time."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        where: Whereabouts,
        guard: Guard,
        distributed: Callable[[int], Mapping[int, str]],
        runs: Callable[[], Sequence[Run]],
        unwanted: Unwanted,
        log: logging.Logger,
        halts: Halts,
        abreast: int = ABREAST,
    ) -> None:
        """``guard`` says why nothing may be begun now, or None. ``halts``: orders to stop or hold.

        :param distributed: ``ceph.dir.pin.distributed`` that this module set on a file system, by inode
            number
        :param runs: all plans
        :param abreast: steps of a plan of the scheduler at once
        """
        self._host, self._journal, self._where = host, journal, where
        self._guard, self._runs, self._sight = guard, runs, Sight(distributed, runs, log)
        self._unwanted, self._log, self._halts, self._abreast = unwanted, log, halts, abreast
        # File systems go side by side, too: steps of one never queue behind those of another that hangs.
        each = 2 * abreast + NOT_ANSWERED - 1  # begun, and left: see Polls.away
        self._workers, self._polls = Workers("steps of the scheduler's plans", each * MOST), Polls()

    def shutdown(self) -> None:
        """Begin no more steps side by side; wait for none."""
        self._workers.shutdown()

    def tick(self, run: Run, settings: Settings, now: Now) -> None:
        """One pass over the steps. What fails is tried again on the next tick."""
        began: Head = run.head
        try:
            fs = self._host.fs_unless_removed(run.plan.fscid)
            if fs is None:
                gone = removed(run, held=held_by_operator(run, now))
                self._journal.head(run, only_from=began.state, **gone)
                run.memory.halted = False  # there is nothing left for an operator to hold
                self._give_back(run, run.head, settings, now)
            elif stopped_with_fs(run) and fs.has(run.plan.metadata_pool):
                run.memory.since.clear()  # nothing could arrive meanwhile
                self._journal.head(run, only_from=STOPPED, **returned(run))
            elif began.state not in ACTIVE or held_by_operator(run, now):
                return
            elif not fs.has(run.plan.metadata_pool):
                raise CephError(other_pools(run.plan.fs))
            else:
                self._release(run, now)
                self._leave_unwanted(run, began, settings, now)
                held = self._held_up(run, fs)
                if held is None or held.back:
                    self._go_on(run, began, fs, settings, held, now)
        except Overruled:
            return
        except PartitionerError as e:
            self._wait(run, began, str(e), over=not held_by_operator(run, now))

    def _give_back(self, run: Run, began: Head, settings: Settings, now: Now) -> None:
        """Of a file system that is no more: what is set for the whole cluster. All else stays as it is."""
        for i in of_cluster(run):
            self._step(run, began, i, None, settings, now, back=True)

    def _go_on(
        self, run: Run, began: Head, fs: FsState, settings: Settings, held: Hold | None, now: Now
    ) -> None:
        """``held``: why nothing more may be begun."""
        self._steps(run, began, fs, settings, now, begins=held is None)
        self._journal.keep_made(run)  # this one may be gone when an operator takes it back
        head = after_tick(began, run.plan, run.records, run.memory.troubles, self._later(run, now))
        if held is not None and head.state in ACTIVE:
            self._wait(run, began, held.why, over=True)
        elif now.steady - run.memory.hung >= LOST and head.state in ACTIVE:
            self._wait(run, began, NO_SESSION, over=True)
        else:
            self._change(run, began, head)

    def wait(self, run: Run, why: str) -> None:
        """Something went wrong that no step answers for: the plan says so, and is tried again."""
        self._wait(run, run.head, why)

    def _wait(self, run: Run, began: Head, why: str, *, over: bool = False) -> None:
        """``over``: of an operator's pause nothing is left."""
        waits = paused(began, why, over=over)
        if waits != began and not retold(began, waits):
            self._log.warning("plan %s waits: %s", run.plan.name, why)
        try:
            self._change(run, began, waits)
        except JournalError as e:
            # The pause cannot be written, but neither can a step: nothing changes until the mon answers.
            self._log.error("plan %s: %s", run.plan.name, e)

    def _change(self, run: Run, began: Head, head: Head) -> None:
        if run.head is began and not run.memory.halted:
            # Reasons count seconds and requests, and each write is the mon's.
            change = self._journal.retell if retold(began, head) else self._journal.replace_head
            change(run, began, head)

    def _leave_unwanted(self, run: Run, began: Head, settings: Settings, now: Now) -> None:
        """What the scheduler decided before it was stopped, or too long ago, is not begun any more, and the
        plan can end."""
        self._leave(run, began, self._refused(run) or "", now)
        left = {step.phase for i, step in enumerate(run.plan.steps) if i not in run.records}
        if left_to_scheduler(run) and outdated(run, now.steady, settings.arrival_timeout, left):
            self._leave(run, began, TOO_OLD, now)

    def _leave(self, run: Run, began: Head, why: str, now: Now) -> None:
        troubles = run.memory.troubles
        for i in kept_back(run, why):
            told = f"{why}: {troubles[i]}" if why == TOO_OLD and i in troubles else why
            skipped = Transition(Record(SKIPPED, "", now.wall, shortened(told)))
            self._do(run, began, i, None, skipped, "", now)
            troubles.pop(i, None)

    def _refused(self, run: Run) -> str | None:
        """Why no more of it may be begun; "": it may. None: that is not known yet."""
        return self._unwanted(run.plan) if left_to_scheduler(run) else ""

    def _stale(self, run: Run, i: int, settings: Settings, now: Now) -> str | None:
        """Why a directory that was about to be changed, and was not, is let be: the scheduler decided that
        before it was stopped, or too long ago. "": whether it was stopped is not known yet. None: it goes on.
        """
        step = run.plan.steps[i]
        if not (step.ino and of_scheduler(run)):
            return None
        if outdated(run, now.steady, settings.arrival_timeout, {step.phase}):
            return f"{TOO_OLD}: {run.memory.troubles[i]}" if i in run.memory.troubles else TOO_OLD
        unwanted = self._unwanted(run.plan)
        return {None: "", SCHEDULER_STOPPED: SCHEDULER_STOPPED}.get(unwanted)

    def _release(self, run: Run, now: Now) -> None:
        """End an operator's pause whose time is over: before anything is begun, or left alone.

        :raises Overruled: an order to stop or hold has come in this tick
        """
        memory, orders = run.memory, self._halts.given(run.plan.fscid)

        def release() -> None:
            memory.halted, memory.untold = False, {}

        if memory.halted:  # read once: an order may come at any moment, and is not ended by the one before
            over = not held_by_operator(run, now)
            if not (over and self._halts.unless(run.plan.fscid, orders, release)):
                raise Overruled

    def _held_up(self, run: Run, fs: FsState) -> Hold | None:
        """What keeps it from beginning anything; None: nothing does. A rollback begins while it may go on."""
        held = self._guard(fs)
        if held is not None:
            run.memory.hung = math.inf  # what hangs may wait for that
        if held is None or (held.back and run.heading() == ROLLING_BACK):
            return None
        if not (held.back and run.plan.scheduled):
            run.memory.since.clear()  # nothing may arrive meanwhile, nor is put back: the time begins anew
        if not held.back:
            self._wait(run, run.head, held.why, over=True)
            self._journal.keep_made(run)  # the pause may have stood while steps were looked at
        return held

    def _steps(
        self, run: Run, began: Head, fs: FsState, settings: Settings, now: Now, *, begins: bool
    ) -> None:
        heading, troubles = run.heading(), run.memory.troubles
        width = self._abreast if run.plan.scheduled and heading != ROLLING_BACK else 1
        self._take_in(run, self._polls.answered(run), now)
        tried = seen_lately(run, settings.arrival_timeout, now.steady)
        while True:
            batch: list[int] = []
            tried |= self._polls.away(run, width > 1)
            refused = [i for i in troubles if i not in run.memory.doubtful]
            for _ in range(width):
                begun = sum(i not in run.records and i not in troubles for i in batch)
                why = self._refused(run)  # the hours may end during a tick
                room = settings.max_moves - begun if begins and why in ("", HOURS_OVER) else None
                barred = tried.union(kept_back(run, why or ""))
                i = next_step(run.plan, heading, run.records, barred, refused, room, width > 1)
                if i is not None:
                    tried.add(i)
                    batch.append(i)
            if not batch or self._take_in(run, self._made(run, began, batch, fs, settings, now, width), now):
                return  # whoever did not answer now will not answer the next step either

    def _take_in(self, run: Run, met: Met, now: Now) -> bool:
        """What steps met. Did somebody not answer?"""
        troubles, away = run.memory.troubles, False
        for i, error in met.items():
            troubles.pop(i, None)  # the last one tried is the last one there
            run.memory.doubtful.discard(i)
            run.memory.hung = self._hung(run, i, error, now)
            if isinstance(error, Doubtful):
                run.memory.doubtful.add(i)
            if error is None:
                continue
            self._log.warning("plan %s, step %d: %s", run.plan.name, i, error)
            troubles[i] = str(error)
            away = away or isinstance(error, Unavailable)
        return away

    def _hung(self, run: Run, i: int, error: PartitionerError | None, now: Now) -> float:
        """As of a plan's memory, when a step has met ``error``."""
        fscid, ino = run.plan.fscid, run.plan.steps[i].ino
        if not ino:
            return run.memory.hung
        if error is None:
            return math.inf
        hangs = self._host.hangs(fscid, ino) or self._host.in_flight(fscid, ino) is not None
        return min(run.memory.hung, now.steady) if hangs else run.memory.hung

    def _made(
        self,
        run: Run,
        began: Head,
        batch: list[int],
        fs: FsState,
        settings: Settings,
        now: Now,
        width: int,
    ) -> Met:
        """Do these steps, several at once if so many may go; what each met, as far as that is known yet.

        :raises JournalError, Overruled: any of them did
        """

        def made(i: int) -> PartitionerError | None:
            try:
                self._step(run, began, i, fs, settings, now, back=run.heading() == ROLLING_BACK)
            except (JournalError, Overruled):
                raise
            except PartitionerError as e:
                return e
            except Exception as e:  # what nobody expected of one step must not stop the others
                self._log.exception("plan %s, step %d", run.plan.name, i)
                return CephError(unexpected(e))
            return None

        if width == 1:
            return {i: made(i) for i in batch}
        looked_at = run.records.keys() & set(batch)
        begun = {i: self._workers.submit(partial(made, i)) for i in batch}
        return self._polls.met(run, begun, looked_at)

    def _step(
        self, run: Run, began: Head, i: int, fs: FsState | None, settings: Settings, now: Now, *, back: bool
    ) -> None:
        """``back``: it is to be undone."""
        step, record = run.plan.steps[i], run.records.get(i)
        if fs is not None:
            self._refuse_hung(fs.fscid, step.ino)
        ranks = fs.ranks_in if fs is not None else ()
        home = way_home(step, record.old, ranks) if record is not None else None
        change: Change | None = None
        try:
            change = self._sight.knowing(run, i, bind(step, user_of(run), self._host, self._where, fs))
            seen = self._sight.see(run, i, change, home, now)
        except Gone as e:
            seen = Seen(None, str(e))
        if _overruled(run, began):  # what was confirmed just now is not in what the order has written
            self._journal.keep_made(run)
        at = self._later(run, now) if back else now.wall
        core = StepCore(step, record, seen, at, settings.arrival_timeout)
        late = None
        if run.plan.scheduled and core.late and not (isinstance(change, DirectoryChange) and change.empty()):
            late = self._late(fs, step, settings)
        stale = self._stale(run, i, settings, now)
        returns = back or i in half_done(run.plan, run.records)
        what = core.back(home) if returns else core.forward(ranks, run.plan.force, late, home, stale)
        free = run.plan.force or what.write != step.value or self._sight.distributes(run, i)
        if isinstance(change, DirectoryChange) and not free:
            change = replace(change, unless_held=True)  # he may be quicker still
        try:
            self._do(run, began, i, change, what, seen.value or "", now)
        except NotTaken as e:
            ended = not_taken(step, run.records[i], what.write, str(e), at)
            self._do(run, began, i, None, Transition(ended), "", now)
        if seen.in_doubt:
            raise Doubtful(seen.in_doubt)

    def _later(self, run: Run, now: Now) -> float:
        """When it is undone, or ends: after all plans that were made before. What it sets has the clock's
        time: that it was begun tells the order, and one asks when something was moved."""
        return later(self._runs(), run.plan.fscid, now.wall)

    def _refuse_hung(self, fscid: int, ino: int) -> None:
        """:raises CephError: a call about this directory hangs, and each further one would take a thread"""
        if self._host.hangs(fscid, ino):
            kind = CephError if self._host.in_flight(fscid, ino) is None else Doubtful
            raise kind("an earlier call about it was not answered yet")

    def _late(self, fs: FsState | None, step: Step, settings: Settings) -> str:
        """The scheduler counts on what it moves: what does not come in time is put back."""
        mds = next((m.name for m in fs.mds if m.rank == step.home), "") if fs is not None else ""
        clients = late_clients(mds, self._host.health())
        told = f": {clients[0]}" if clients else ""
        return f"put back, as the MDSs had not moved it within {settings.arrival_timeout:g} s{told}"

    def _do(
        self, run: Run, began: Head, i: int, change: Change | None, what: Transition, was: str, now: Now
    ) -> None:
        """Journal the record, then set the value: either may be missing. ``was``: the value so far."""
        if what.record is not None:
            self._check(run, began)
            # It may be as planned because another manager began it, or a write whose answer was lost.
            begun = self._journal.look_up(run, i) if i not in run.records and what.write is None else None
            if begun is not None:
                run.records[i] = begun
                return
            ended = i in run.records and what.record.state in (SKIPPED, UNDONE, KEPT)
            if ended and isinstance(change, ConfigChange):
                change.option.let_go()  # first, so that no claim outlives the step
            self._journal.record(run, i, what.record)
            self._log.info("plan %s: step %d is %s %s", run.plan.name, i, what.record.state, what.record.why)
            run.memory.made.discard(i)
            run.memory.since[i] = now.steady
        if what.write is not None and change is not None:
            self._check(run, began)
            if i not in run.memory.recorded:
                # What a replaced manager makes of the new value, which is not its own, is then not read.
                self._journal.record(run, i, run.records[i])
                self._check(run, began)
            try:
                change.write(what.write, was, lambda: not self._stops(run, began, i, what.write))
            except PartitionerError:
                if self._stops(run, began, i, what.write):
                    raise Overruled from None
                raise
            run.memory.made.add(i)
            if _overruled(run, began):  # the pause may be written already
                self._journal.keep_made(run)

    def _stops(self, run: Run, began: Head, i: int, value: str | None) -> bool:
        """Has an order come that it must not be written?"""
        step = run.plan.steps[i]
        ours = step.ino and value == step.value and of_scheduler(run)
        return _overruled(run, began) or bool(ours and self._unwanted(run.plan) == SCHEDULER_STOPPED)

    def _check(self, run: Run, began: Head) -> None:
        if _overruled(run, began):
            raise Overruled


def _overruled(run: Run, began: Head) -> bool:
    return run.head is not began or run.memory.halted
