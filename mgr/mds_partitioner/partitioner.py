# SPDX-License-Identifier: LGPL-2.1-or-later
"""Orders to plans: what the ``partition`` commands and the scheduler let begin, wait, end and go back.
act/mover.py executes them, planning.py makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from . import clock
from .act import choice
from .act.core import interrupted
from .act.events import Progress, report
from .act.halts import check_duration
from .act.journal import Journal
from .act.registry import Plans
from .act.run import (
    BY_COMMAND,
    DONE,
    PAUSED,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    STOPPED,
    GoesOn,
    Run,
    balancing,
    progress,
)
from .ceph.host import Host
from .clock import Now
from .errors import BadInput, Busy, JournalError, NotFound, PartitionerError, Unavailable
from .model import FsState
from .plan.anew import plan_anew
from .plan.ranks import format_ranks

GOES_ON: dict[str, Any] = {"why": "", "by_operator": False, "until": None, "finished": None}
"""What of the head an order to go on resets."""


def _stops(run: Run) -> bool:
    """Has an operator stopped it, whether the mon has that yet or not?"""
    return run.ordered().state == STOPPED


def _refuse_stopped(run: Run) -> None:
    if _stops(run):
        raise NotFound(f"plan '{run.plan.name}' was stopped: there is nothing to resume")


class Partitioner:
    """Takes orders to the plans of all file systems."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        plans: Plans,
        now: Callable[[], Now] = clock.read,
        *,
        on_progress: Progress,
        scheduled: Callable[[FsState], str],
    ) -> None:
        """``plans``: those of the journal.

        :param scheduled: why, beside a scheduler, nobody else acts; "": none does
        """
        self._host, self._journal, self.plans, self._now = host, journal, plans, now
        self._on_progress, self._scheduled = on_progress, scheduled

    def under_way(self, fs: FsState) -> str | None:
        """In words, the plan that is under way on a file system, if any, and what can be done about it."""
        runs = (run for run in self.plans.active() if run.plan.fscid == fs.fscid)
        return next((choice.under_way(run, fs.name) for run in runs), None)

    def balancing(self, fs: FsState) -> str | None:
        """Name of the plan that needs ``balance_automate`` on a file system, if any.

        :raises Unavailable: the journal was not read yet
        """
        return balancing(self.plans.known(), fs.fscid)

    def start(self, fs: FsState, name: str, halts: int | None = None) -> Run:
        """Execute a plan, or go on with a stopped one. Starting a finished plan does nothing.

        :param halts: orders to stop that had been given when this one was; None: when it comes here
        :raises Busy: another plan of the file system is under way, or was executed or undone since this one
            was made; it was stopped or forgotten meanwhile
        :raises BadInput: it needs a rank that does not exist any more, or was rolled back, be it in part
        """
        halts = self.plans.halts.given(fs.fscid) if halts is None else halts
        self.plans.halts.refuse(fs.fscid, fs.name, halts)
        self._refuse_beside_scheduler(fs)
        run = self.plans.named(fs, name)
        self._refuse(fs, run)
        if run.head.state == DONE:
            return run
        with self.plans.reserved(run):  # where another one is just made it may be forgotten
            if run.head.state == RUNNING:
                self._go(run, halts, state=RUNNING, started=self._later(fs))
                return run
            # Asked again when the mon has it: a rollback of the scheduler's may have been ordered meanwhile.
            self._go(
                run, halts, lambda: self._refuse_beside_scheduler(fs), state=RUNNING, started=self._later(fs)
            )
        return run

    def refusal(self, fs: FsState, run: Run | None) -> str:
        """Why ``start`` would refuse a plan as things are now; "": it would not.

        :param run: None: one that is made for it
        """
        try:
            self._refuse_beside_scheduler(fs)
            if run is not None:
                self._refuse(fs, run)
        except (BadInput, Busy) as e:
            return str(e)
        return ""

    def _refuse(self, fs: FsState, run: Run) -> None:
        """:raises Busy, BadInput: as ``start``"""
        name = run.plan.name
        if run.head.state == DONE:
            return
        if run.head.state == RUNNING:
            if not run.memory.halted:
                raise Busy(f"plan '{name}' is being executed already ({progress(run):.0%})")
            return
        choice.refuse_active(choice.not_beside(run, self.plans.of(fs)), fs.name)
        if run.heading() == ROLLED_BACK:
            raise BadInput(f"plan '{name}' was rolled back: make a new one ('{plan_anew(run.plan, fs)}')")
        if run.heading() == ROLLING_BACK:
            raise BadInput(f"plan '{name}' was stopped while it was rolled back: roll it back to the end")
        choice.refuse_outdated(run, self.plans.known(), fs)
        choice.refuse_overtaken(run, self.plans.known(), fs)
        gone = choice.ranks_gone(run, fs)
        if gone:
            back = f"undo it ('partition rollback {fs.name} {name}')"  # nobody makes one of the scheduler's
            instead = back if run.plan.scheduled else f"make a new one ('{plan_anew(run.plan, fs)}')"
            raise BadInput(
                f"plan '{name}' needs rank {format_ranks(gone)}, which '{fs.name}' does not have "
                f"(it has {format_ranks(fs.ranks_in)}): {instead}"
            )

    def _later(self, fs: FsState) -> float:
        """When a plan is begun or ended, Unix, s."""
        return choice.later(self.plans.read(), fs.fscid, self._now().wall)

    def pause(self, fs: FsState, seconds: int | None) -> Run:
        """Begin no further step; moves under way end. :raises BadInput: as ``check_duration``."""
        check_duration(seconds)
        now = self._now()
        hold = None if seconds is None else now.steady + seconds
        until = None if seconds is None else now.wall + seconds
        return self._interrupt(fs, hold, state=PAUSED, by_operator=True, until=until)

    def _interrupt(self, fs: FsState, hold: float | None, **changes: Any) -> Run:
        """Nothing more is begun; then it is journaled. Of the plans that there are, the newest.

        :param hold: until then, steady clock, s; None: until it is to go on
        :raises Unavailable: it is not known yet which there are; it holds all the same
        """
        changes["why"] = BY_COMMAND
        runs: list[Run] = []

        def halt() -> None:
            runs.extend(self.plans.active_of(fs))
            for run in runs:
                if changes["state"] == STOPPED or run.ordered().state != STOPPED:  # no pause ends a stop
                    run.memory.halted, run.memory.hold = True, hold
                    run.memory.order(changes)

        self.plans.early(fs.fscid, hold, **changes)
        try:
            self.plans.halts.give(fs.fscid, halt)
        except Unavailable as e:
            e.args = (f"{e}; what is under way is held as soon as it is known",)
            raise
        self._keep(runs)
        return runs[-1]

    def _keep(self, runs: Sequence[Run]) -> None:
        """Journal what holds already, unless another order has come meanwhile; what the mon does not take of
        one keeps no other from being told."""
        failed: JournalError | None = None
        for run in runs:
            try:
                self._journal.interrupt(run)
                report(run, self._host, self._on_progress)
            except JournalError as e:
                failed = failed or e
        if failed is not None:
            raise failed

    def resume(self, fs: FsState) -> Run:
        """Go on with a paused plan; a guard may pause it again at once.

        :raises NotFound: none is being executed, or it is being stopped
        :raises Busy: stopped meanwhile
        """
        halts, runs = self.plans.halts.given(fs.fscid), self.plans.active_of(fs)
        going = [run for run in runs if not _stops(run)]
        for run in going:
            if run.head.state == PAUSED or run.memory.halted:
                check = partial(_refuse_stopped, run)  # it waits for a stop that is just being written
                self._go(run, halts, check=check, state=interrupted(run.head))
        if not going:
            _refuse_stopped(runs[-1])
        return going[-1]

    def stop(self, fs: FsState) -> Run:
        """End the execution where it is; what was done stays until it is rolled back.

        Nothing more is begun from this moment on, even while the mon does not answer, nor what is about to
        be. What an MDS has been asked for already may still be made; the journal has it.

        :raises JournalError: the mon did not take it; this manager has stopped all the same, and tells
            it again
        """
        return self._interrupt(fs, None, state=STOPPED, finished=self._later(fs))

    def rollback(self, fs: FsState, name: str | None) -> Run:
        """Put back every value that a plan replaced.

        :raises NotFound: nothing of the file system is in force or under way
        :raises BadInput: it was not executed
        :raises Busy: a newer plan is in force or under way, and must be rolled back first; it was stopped
            meanwhile
        """
        halts = self.plans.halts.given(fs.fscid)
        self._refuse_beside_scheduler(fs)
        live = choice.live(self.plans.of(fs))
        if name is None and not live:
            none = f"no plan of '{fs.name}' is in force: there is nothing to roll back"
            raise NotFound(f"{none}{self.plans.unread()}")
        run = live[-1] if name is None else self.plans.named(fs, name)
        choice.refuse_unexecuted(run, live, fs.name)
        if run.head.state in (ROLLED_BACK, ROLLING_BACK) and not run.memory.halted:
            return run
        newer = [other for other in live if choice.made_after(other, run)]
        if newer:
            raise Busy(choice.rolled_back_first(newer[-1], run))
        self.undo(run, halts)
        return run

    def undo(self, run: Run, halts: int) -> None:
        """Put back what a plan replaced; what was made after it must have been put back before.

        :param halts: orders to stop that had been given when it was decided
        :raises Busy: one was given since, or it is just merged with others or removed
        """
        with self.plans.reserved(run):
            self._go(run, halts, state=ROLLING_BACK, resume_to=RUNNING)

    def _go(
        self,
        run: Run,
        halts: int,
        refuse: Callable[[], None] = lambda: None,
        check: Callable[[], None] = lambda: None,
        **changes: Any,
    ) -> None:
        """An operator lets a plan go on: what halted it is over once the journal has that. Until then it is
        halted, so that a stop that comes while the mon is waited for finds nothing begun.

        :param refuse: raises Busy if it must not, after all
        :param check: raises if it must not by what was ordered before; asked when that is written
        :raises Busy: so it is, or a stop came; the plan is as it was before
        """
        memory, given, fscid = run.memory, self.plans.halts, run.plan.fscid
        was = memory.halted, memory.hold, memory.untold

        def halt() -> None:
            nonlocal was
            was = memory.halted, memory.hold, memory.untold
            memory.halted, memory.hold = True, None

        def release() -> None:
            memory.halted, memory.hold = False, None

        def as_before() -> None:
            memory.halted, memory.hold, memory.untold = was

        def overruled() -> None:
            given.refuse(fscid, run.plan.fs, halts)

        def begin() -> bool:
            refuse()
            return given.unless(fscid, halts, release)

        def forbidden() -> None:
            overruled()
            check()

        if not given.unless(fscid, halts, halt):
            overruled()
        order = GoesOn(forbidden, begin, was[2])
        try:
            begun = self._journal.go_on(run, order, **GOES_ON, **changes)
        except PartitionerError:
            given.unless(fscid, halts, as_before)
            raise
        if not begun:
            overruled()

    def _refuse_beside_scheduler(self, fs: FsState) -> None:
        why = self._scheduled(fs)
        if why:
            raise Busy(why)
