# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans and their execution: what the ``partition`` commands and the scheduler do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from . import clock
from .abreast import Each, in_turn
from .act import choice
from .act.core import interrupted
from .act.events import Progress, report
from .act.executor import ABREAST, Executor, Unwanted
from .act.halts import check_duration
from .act.journal import Journal, check_name
from .act.registry import Plans
from .act.run import (
    ACTIVE,
    DONE,
    PAUSED,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    STOPPED,
    GoesOn,
    Run,
    balancing,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    owned_values,
    progress,
    steps_in_force,
)
from .analyzer import Analyzer
from .ceph.host import Host
from .clock import Now
from .engine_client import EngineClient
from .errors import BadInput, Busy, JournalError, NotFound, PartitionerError, Unavailable, unexpected
from .model import FsState
from .observe.ranks import silent
from .options import Settings
from .plan.anew import plan_anew
from .plan.caveats import of_failed
from .plan.circumstances import Ours, Wish, brood_of, check_ranks, gather
from .plan.plan import AUTOMATE, DISTRIBUTED_STEP, FS_STEP, Plan
from .plan.planner import make_plan
from .plan.present import present
from .plan.ranks import format_ranks
from .policy.switch import policy_in_force
from .verify.guards import Hold, hold
from .verify.whereabouts import MdsWhereabouts

GOES_ON: dict[str, Any] = {"why": "", "by_operator": False, "until": None, "finished": None}
"""What of the head an order to go on resets."""

ANEW = 2  # times that a plan is made anew, as something was deleted meanwhile


def _stops(run: Run) -> bool:
    """Has an operator stopped it, whether the mon has that yet or not?"""
    return run.ordered().state == STOPPED


def _refuse_stopped(run: Run) -> None:
    if _stops(run):
        raise NotFound(f"plan '{run.plan.name}' was stopped: there is nothing to resume")


def _of_what_is_there(make: Callable[[], Plan]) -> Plan:
    """What is deleted while a plan is made is no part of it when it is made anew.

    :raises NotFound: something was deleted each time
    """
    for _ in range(ANEW):
        with suppress(NotFound):
            return make()
    return make()


class Partitioner:
    """Makes plans, takes orders of them, and is the one mover that executes them."""

    def __init__(
        self,
        host: Host,
        engine: EngineClient,
        analyzer: Analyzer,
        journal: Journal,
        plans: Plans,
        settings: Callable[[], Settings],
        log: logging.Logger,
        now: Callable[[], Now] = clock.read,
        *,
        on_progress: Progress,
        scheduled: Callable[[FsState], str],
        unwanted: Unwanted,
        failed: Callable[[], None],
        abreast: int = ABREAST,
    ) -> None:
        """``plans``: those of the journal.

        :param scheduled: why, beside a scheduler, nobody else acts; "": none does
        :param unwanted: why what the scheduler decided is not to be begun
        :param failed: told of each failure
        :param abreast: steps of a plan of the scheduler at once
        """
        self._host, self._engine, self._analyzer = host, engine, analyzer
        self._journal, self.plans = journal, plans
        self._settings, self._log, self._now = settings, log, now
        self._on_progress, self._scheduled, self._failed = on_progress, scheduled, failed
        where = MdsWhereabouts(host)
        self._executor = Executor(
            *(host, journal, where, self._hold, self._distributed, plans.known),
            unwanted=unwanted,
            log=log,
            halts=plans.halts,
            abreast=abreast,
        )

    def shutdown(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown()

    def executing(self, fs: FsState) -> str | None:
        """Name of the plan that is being executed on a file system, if any."""
        return next((run.plan.name for run in self.plans.active() if run.plan.fscid == fs.fscid), None)

    def balancing(self, fs: FsState) -> str | None:
        """Name of the plan that needs ``balance_automate`` on a file system, if any.

        :raises Unavailable: the journal was not read yet
        """
        return balancing(self.plans.known(), fs.fscid)

    def tick(self, each: Each = in_turn) -> None:
        """Take every active plan one step further, and end those whose file system was removed; tell the mon
        what it did not answer."""
        there = {fs.fscid for fs in self._host.file_systems()}
        due = dict.fromkeys([*(run.plan.fscid for run in self._due(there)), *self._journal.behind()])
        each({fscid: partial(self._tick_all, fscid, there) for fscid in due})

    def _due(self, there: Collection[int]) -> list[Run]:
        """Plans of which something is to be done. ``there``: IDs of the file systems that there are."""
        return [
            run
            for run in self.plans.read()
            if run.head.state in ACTIVE
            or (run.plan.fscid not in there and (run.head.state != ROLLED_BACK or run.plan.scheduled))
        ]

    def _tick_all(self, fscid: int, there: Collection[int]) -> None:
        try:
            self._journal.catch_up(fscid)
        except JournalError as e:
            self._failed()
            self._log.warning("the mon is told again: %s", e)
        ticked = set[str]()
        while left := [r for r in self._due(there) if r.plan.fscid == fscid and r.id not in ticked]:
            # What is only looked at may be frozen, and takes a while: also what came meanwhile goes first.
            run = min(left, key=lambda run: len(run.records) == len(run.plan.steps))
            ticked.add(run.id)
            self._tick(run)
        self._journal.tidy(fscid)

    def _tick(self, run: Run) -> None:
        before = set(run.memory.troubles)
        try:
            if run.memory.halted:
                self._journal.tell(run)
            if run.head.state == ROLLED_BACK:
                self._forget_of_removed(run)
                return
            self._executor.tick(run, self._pace(run), self._now())
        except JournalError as e:
            self._failed()
            self._log.warning("plan %s: %s: it is tried again", run.plan.name, e)
        except Exception as e:  # what nobody expected of one plan must not stop the others
            self._failed()
            self._log.exception("plan %s", run.plan.name)
            self._executor.wait(run, unexpected(e))
        for _ in run.memory.troubles.keys() - before:
            self._failed()
        self._report(run)

    def _forget_of_removed(self, run: Run) -> None:
        """What the scheduler did on a file system that is no more; nobody gave these plans their names."""
        try:
            if self._host.fs_unless_removed(run.plan.fscid) is None:
                self.plans.remove(run.plan.name)
        except PartitionerError as e:
            self._log.warning("plan %s: %s: it is forgotten later", run.plan.name, e)

    def _report(self, run: Run) -> None:
        fs = self._host.fs_by_id(run.plan.fscid)
        report(run, run.plan.fs if fs is None else fs.name, self._on_progress)

    def _pace(self, run: Run) -> Settings:
        """What the scheduler moves it has already counted; all of its plan is begun at once."""
        settings = self._settings()
        if not run.plan.scheduled or run.heading() == ROLLING_BACK:
            return settings
        return replace(settings, max_moves=max(len(run.plan.steps), 1))

    def _distributed(self, fscid: int) -> dict[int, str]:
        in_force = steps_in_force(self.plans.known(), fscid)  # of pins there may be thousands
        made = [(step, record) for step, record in in_force if step.kind == DISTRIBUTED_STEP]
        begun = (ino for (_, ino, _), values in owned_values(made).items() if "1" in values)
        return owned_distributed(made) | dict.fromkeys(begun, "1")

    def plan(
        self,
        fs: FsState,
        *,
        name: str | None,
        heavy: str,
        ranks: Sequence[int] | None,
        force: bool,
        to_auth: bool = False,
        save: bool = True,
    ) -> Plan:
        """Make a plan from what was found last, of directories as they are now, and save it.

        :raises BadInput: an unknown heavy mode, a rank that does not exist, a bad name
        :raises Busy: the name is taken, or a plan is being executed
        """
        if name is not None:
            choice.refuse_reserved(check_name(name))
        wish = Wish(heavy, check_ranks(fs, ranks), force, to_auth)
        found, now, settings = self._analyzer.found(fs), self._now(), self._settings().checked()
        failed = of_failed(self._analyzer.get(fs), found.ended)
        choice.refuse_active(self.plans.of(fs), fs.name)
        runs = self.plans.known()
        at = choice.later_than_all(runs, fs.fscid, now.wall)
        before = steps_in_force(runs, fs.fscid)
        switch, values = policy_in_force(self._host.store, fs), owned_values(before)
        made_before = {name for kind, _, name in values if kind == FS_STEP}
        ours = Ours(
            pins=owned_pins(before),
            masks=owned_masks(before),
            values=values,
            moved_at=moved_at(runs, fs.fscid),
            distributed=owned_distributed(before),
            policy=switch.policy if switch else None,
            for_policy=switch is not None and not switch.old_automate and AUTOMATE not in made_before,
            to_auth=self.plans.to_auth(fs) if to_auth else None,
        )

        def make() -> Plan:
            return make_plan(
                name or self.plans.free_name(),
                present(self._host, fs, found.judgement, ours.pins),
                wish.ranks,
                lambda judged: gather(self._host, fs, judged, wish, ours),
                settings,
                self._engine.call,
                lambda path, lasts: brood_of(self._host, fs, path, lasts),
                now.wall,
                found.ended,
            )

        made = _of_what_is_there(make)
        only = None if ranks is None else wish.ranks
        made = replace(made, created=at, ranks=only, caveats=(*made.caveats, *failed))
        return self.plans.save(made, named=name is not None) if save else made

    def start(self, fs: FsState, name: str, halts: int | None = None) -> Run:
        """Execute a plan, or go on with a stopped one. Starting a finished plan does nothing.

        :param halts: orders to stop that had been given when this one was; None: when it comes here
        :raises Busy: another plan of the file system is under way, or was executed or undone since this one
            was made; it was stopped meanwhile
        :raises BadInput: it needs a rank that does not exist any more, or was rolled back, be it in part
        """
        halts = self.plans.halts.given(fs.fscid) if halts is None else halts
        self.plans.halts.refuse(fs.fscid, fs.name, halts)
        self._refuse_beside_scheduler(fs)
        run = self.plans.named(fs, name)
        self._refuse(fs, run)
        if run.head.state == DONE:
            return run
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
            raise BadInput(
                f"plan '{name}' was rolled back: make a new one ('{plan_anew(run.plan, fs.name)}')"
            )
        if run.heading() == ROLLING_BACK:
            raise BadInput(f"plan '{name}' was stopped while it was rolled back: roll it back to the end")
        choice.refuse_outdated(run, self.plans.known(), fs.name)
        choice.refuse_overtaken(run, self.plans.known(), fs.name)
        gone = sorted(run.plan.ranks_used() - set(fs.ranks_in))
        if gone:
            raise BadInput(
                f"plan '{name}' needs rank {format_ranks(gone)}, which '{fs.name}' does not have "
                f"(it has {format_ranks(fs.ranks_in)}): make a new plan"
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
        changes["why"] = "by command"
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
                self._report(run)
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

    def _hold(self, fs: FsState) -> Hold | None:
        return hold(fs, self._host.health(), silent(self._host, fs, self._now().wall))

    def _refuse_beside_scheduler(self, fs: FsState) -> None:
        why = self._scheduled(fs)
        if why:
            raise Busy(why)
