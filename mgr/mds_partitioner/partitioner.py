# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans and their execution: what the ``partition`` commands and the scheduler do."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Optional

from . import clock
from .abreast import Each, in_turn
from .act import choice
from .act.core import interrupted
from .act.executor import Executor
from .act.journal import Journal, Unreadable, check_name, new_id
from .act.merge import merged
from .act.run import (
    ACTIVE,
    APPLIED,
    DONE,
    IN_FORCE,
    INTENT,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    STOPPED,
    Head,
    Record,
    Run,
    find,
    in_force,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    owned_settings,
    plan_user,
    progress,
    user_of,
)
from .act.shared import SharedOption, sweep
from .act.switch import policy_in_force
from .analyzer import Analyzer
from .clock import Now
from .engine_client import EngineClient
from .errors import BadInput, Busy, JournalError, NotFound, PartitionerError, Unavailable, unexpected
from .host import Host
from .model import FsState
from .observe.ranks import silence
from .options import Settings
from .plan.circumstances import FORWARDS, TO_AUTH, Ours, Wish, brood_of, check_ranks, gather
from .plan.plan import CONFIG_STEP, Plan
from .plan.planner import make_plan
from .plan.ranks import format_ranks
from .verify.guards import why_wait
from .verify.whereabouts import MdsWhereabouts

Progress = Callable[[str, str, Optional[float]], None]  # event id, message, 0 to 1 or None when it is over
LATER = 0.001  # s between two plans, at least


def nobody(fs: FsState) -> str:
    """No scheduler acts."""
    return ""


def check_duration(seconds: int | None) -> None:
    """Of a pause. :raises BadInput: it is not positive"""
    if seconds is not None and seconds <= 0:
        raise BadInput(f"duration {seconds} is not allowed: give a number of seconds above 0")


class Partitioner:
    """All plans, and the one mover that executes them."""

    def __init__(
        self,
        host: Host,
        engine: EngineClient,
        analyzer: Analyzer,
        settings: Callable[[], Settings],
        on_progress: Progress,
        log: logging.Logger,
        now: Callable[[], Now] = clock.read,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self._host, self._engine, self._analyzer = host, engine, analyzer
        self._settings, self._on_progress, self._log, self._now = settings, on_progress, log, now
        self._journal = Journal(host.store, host.incarnation(), new_id)
        where = MdsWhereabouts(host)
        self._executor = Executor(host, self._journal, where, self._why_wait, self._distributed, log)
        self._lock = threading.Lock()  # of the names that are being taken
        self._creating: set[str] = set()
        self._runs: list[Run] | None = None
        self.unreadable: list[Unreadable] = []
        self.scheduled: Callable[[FsState], str] = nobody  # why, beside a scheduler, nobody else acts

    def begin(self) -> None:
        """Read the journal; plans that another manager left unfinished go on."""
        runs, self.unreadable = self._journal.load()
        now = self._now()
        for run in runs:
            if run.head.state not in (READY, DONE, ROLLED_BACK):
                self._journal.claim(run)
            if run.head.until is not None:
                run.memory.hold = now.steady + run.head.until - now.wall
        for bad in self.unreadable:
            self._log.error("the journal of plan '%s' cannot be read: %s", bad.name, bad.why)
        self._claim(runs)
        self._sweep(lambda: runs)
        self._runs = runs

    def _claim(self, runs: Sequence[Run]) -> None:
        """What was set by a manager that knew of no claims is claimed now."""
        for option, record in self._options(runs):
            if record.state in (INTENT, APPLIED) and option.replaced() is None:
                option.claim(record.old)

    def _sweep(self, runs: Callable[[], Sequence[Run]]) -> None:
        """Claims that no plan stands for go; whose plan cannot be read is not known."""

        def users() -> set[str]:
            unreadable = {plan_user(bad.id) for bad in self.unreadable}
            return unreadable | {option.user for option, _ in self._options(runs())}

        sweep(self._host.store, ("plan",) if self.unreadable else ("plan", "scheduler"), users)

    def _options(self, runs: Sequence[Run]) -> list[tuple[SharedOption, Record]]:
        """Options of the cluster that plans have set, or are about to."""
        return [
            (SharedOption(self._host, step.target, user_of(run), step.value), record)
            for run in runs
            if run.head.state != ROLLED_BACK
            for i, record in tuple(run.records.items())
            if (step := run.plan.steps[i]).kind == CONFIG_STEP and record.state in IN_FORCE
        ]

    def shutdown(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown()

    def active(self) -> list[Run]:
        """Plans that are being executed, paused or rolled back."""
        return [run for run in self._runs or [] if run.head.state in ACTIVE]

    def executing(self, fs: FsState) -> str | None:
        """Name of the plan that is being executed on a file system, if any."""
        return next((run.plan.name for run in self.active() if run.plan.fscid == fs.fscid), None)

    def tick(self, each: Each = in_turn) -> None:
        """Take every active plan one step further, and end those whose file system was removed."""
        there = {fs.fscid for fs in self._host.file_systems()}
        due: dict[int, list[Run]] = {}
        for run in list(self._runs or []):
            gone = run.plan.fscid not in there and run.head.state != ROLLED_BACK
            if run.head.state in ACTIVE or gone:
                due.setdefault(run.plan.fscid, []).append(run)
        each({fscid: partial(self._tick_all, runs) for fscid, runs in due.items()})

    def _tick_all(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self._tick(run)

    def _tick(self, run: Run) -> None:
        try:
            self._executor.tick(run, self._pace(run), self._now())
        except Exception as e:  # what nobody expected of one plan must not stop the others
            self._log.exception("plan %s", run.plan.name)
            self._executor.wait(run, unexpected(e))
        self._report(run)

    def _pace(self, run: Run) -> Settings:
        """What the scheduler moves it has already counted; all of its plan is begun at once."""
        settings = self._settings()
        if not run.plan.scheduled or run.heading() == ROLLING_BACK:
            return settings
        return replace(settings, max_moves=max(len(run.plan.steps), 1))

    def _distributed(self, fscid: int) -> dict[int, str]:
        return owned_distributed(self.known(), fscid)

    def all(self, fs: FsState) -> list[Run]:
        """The plans of a file system, oldest first."""
        return [run for run in self.known() if run.plan.fscid == fs.fscid]

    def of_removed(self) -> list[Run]:
        """Plans of file systems that are gone, oldest first: they have ended, or are about to."""
        there = {fs.fscid for fs in self._host.file_systems()}
        return [run for run in self.known() if run.plan.fscid not in there]

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
        """Make a plan from the newest analysis, and save it.

        :raises BadInput: an unknown heavy mode, a rank that does not exist, a bad name
        :raises Busy: the name is taken, or a plan is being executed
        """
        if name is not None:
            choice.refuse_reserved(check_name(name))
        wish = Wish(heavy, check_ranks(fs, ranks), force, to_auth)
        judgement, now, settings = self._analyzer.judgement(fs), self._now(), self._settings()
        ended = self._analyzer.get(fs).ended or now.wall
        choice.refuse_active(self.all(fs), fs.name)
        runs = self.known()
        ours = Ours(
            pins=owned_pins(runs, fs.fscid),
            masks=owned_masks(runs, fs.fscid),
            settings=owned_settings(runs, fs.fscid),
            moved_at=moved_at(runs, fs.fscid),
            distributed=owned_distributed(runs, fs.fscid),
            policy=policy_in_force(self._host.store, fs),
            to_auth=self._to_auth(fs) if to_auth else None,
        )
        made = make_plan(
            name or choice.free_name(self._names()),
            judgement,
            wish.ranks,
            lambda judged: gather(self._host, fs, judged, wish, ours),
            settings,
            self._engine.call,
            lambda path, lasts: brood_of(self._host, fs, path, lasts),
            now.wall,
            ended - judgement.caveats.span(settings.epoch),
        )
        if save:
            self._save(made)
        return made

    def _to_auth(self, fs: FsState) -> str:
        """The option as a plan sees it: the claim of an older one, which outlives it, will do."""
        forced = in_force(choice.operators(self.known()), fs.fscid)
        holders = [user_of(run) for run, i, _ in forced if run.plan.steps[i].target == TO_AUTH]
        return SharedOption(self._host, TO_AUTH, holders[-1] if holders else "", FORWARDS).read()

    def _save(self, made: Plan) -> None:
        with self._lock:
            taken = self._names() | self._creating
            self._creating.add(made.name)
        try:
            run = self._journal.create(self._dated(made), taken)
            with self._lock:
                self.known().append(run)
        finally:
            self._creating.discard(made.name)

    def _dated(self, made: Plan) -> Plan:
        """Later than all others of its file system, whatever the host's clock was set to since: what is
        undone first goes by that."""
        others = (run.plan.created for run in self.known() if run.plan.fscid == made.fscid)
        return replace(made, created=max(made.created, max(others, default=0.0) + LATER))

    def propose(self, fs: FsState, made: Plan) -> Run:
        """Save a plan of the scheduler under a name that is chosen here. Nobody executes it before ``admit``.

        :raises Busy: a plan that an operator started is under way
        """
        choice.refuse_active(choice.operators(self.all(fs)), fs.name)
        head = Head(RUNNING, started=self._now().wall)
        name = self._reserve_name()
        try:
            return self._journal.create(self._dated(replace(made, name=name)), self._names(), head)
        except PartitionerError:
            self._creating.discard(name)
            raise

    def admit(self, run: Run) -> None:
        """From now on it is executed, beside the scheduler's others."""
        with self._lock:
            self.known().append(run)
            self._creating.discard(run.plan.name)

    def withdraw(self, run: Run) -> None:
        """Forget what was proposed and not admitted."""
        self._creating.discard(run.plan.name)
        self._journal.discard(run.id, run.plan.fscid)

    def merge(self, fs: FsState, old: Sequence[Run]) -> None:
        """Make one of plans of the scheduler that have ended: the mon keeps what is to be undone, not how it
        came about.

        :param old: oldest first, none other between them; () for what was not done yet of the last ones
        :raises JournalError: the mon was not told yet; it is before anything else is written
        """
        self._journal.finish(fs.fscid)
        if not old:
            return
        plan, records = merged(old, self._reserve_name())
        done = replace(old[-1].head, started=old[0].head.started)
        run = self._journal.merge(plan, done, records)
        with self._lock:
            left = [other for other in self.known() if other not in old[:-1]]
            self._runs = [run if other is old[-1] else other for other in left]
            self._creating.discard(plan.name)
        self._journal.finish(fs.fscid)

    def start(self, fs: FsState, name: str) -> Run:
        """Execute a plan, or go on with a stopped one. Starting a finished plan does nothing.

        :raises Busy: another plan of the file system is under way
        :raises BadInput: it needs a rank that does not exist any more, or was rolled back, be it in part
        """
        self._refuse_beside_scheduler(fs)
        run = self._find(fs, name)
        if run.head.state in (RUNNING, DONE):
            if run.head.state == RUNNING and not run.memory.halted:
                raise Busy(f"plan '{name}' is being executed already ({progress(run):.0%})")
            run.memory.halted = False
            return run
        choice.refuse_active(self.all(fs), fs.name)
        if run.heading() == ROLLED_BACK:
            raise BadInput(f"plan '{name}' was rolled back: make a new one ('partition plan')")
        if run.heading() == ROLLING_BACK:
            raise BadInput(f"plan '{name}' was stopped while it was rolled back: roll it back to the end")
        choice.refuse_outdated(run, self.known())
        gone = sorted(run.plan.ranks_used() - set(fs.ranks_in))
        if gone:
            raise BadInput(
                f"plan '{name}' needs rank {format_ranks(gone)}, which '{fs.name}' does not have "
                f"(it has {format_ranks(fs.ranks_in)}): make a new plan"
            )
        self._go(run, state=RUNNING, why="", started=self._now().wall, finished=None)
        return run

    def pause(self, fs: FsState, seconds: int | None) -> Run:
        """Begin no further step; moves under way end. :raises BadInput: a duration that is not positive."""
        check_duration(seconds)
        runs, now = self._active(fs), self._now()
        for run in runs:
            run.memory.halted = True
            run.memory.hold = None if seconds is None else now.steady + seconds
        until = None if seconds is None else now.wall + seconds
        self._keep(runs, state=PAUSED, by_operator=True, until=until)
        return runs[-1]

    def _keep(self, runs: Sequence[Run], **changes: Any) -> None:
        """Journal what holds already; what the mon does not take of one keeps no other from being told."""
        failed: JournalError | None = None
        for run in runs:
            try:
                self._journal.head(run, why="by command", resume_to=interrupted(run.head), **changes)
                self._report(run)
            except JournalError as e:
                failed = failed or e
        if failed is not None:
            raise failed

    def resume(self, fs: FsState) -> Run:
        """Go on with a paused plan; a guard may pause it again at once."""
        runs = self._active(fs)
        for run in runs:
            if run.head.state == PAUSED or run.memory.halted:
                self._go(run, state=interrupted(run.head), why="", by_operator=False, until=None)
        return runs[-1]

    def stop(self, fs: FsState) -> Run:
        """End the execution where it is; what was done stays until it is rolled back.

        Nothing more is begun from this moment on, even while the mon does not answer. What an MDS has been
        asked for already may still be made; the journal has it.

        :raises JournalError: the mon did not take it; this manager has stopped all the same
        """
        runs = self._active(fs)
        for run in runs:
            run.memory.halted, run.memory.hold = True, None
        self._keep(runs, state=STOPPED, finished=self._now().wall)
        return runs[-1]

    def rollback(self, fs: FsState, name: str | None) -> Run:
        """Put back every value that a plan replaced.

        :raises NotFound: nothing of the file system is in force
        :raises Busy: a newer plan is in force and must be rolled back first
        """
        self._refuse_beside_scheduler(fs)
        forced = [run for run, _, _ in in_force(self.known(), fs.fscid)]
        if name is None and not forced:
            raise NotFound(f"no plan of '{fs.name}' is in force: there is nothing to roll back")
        run = forced[-1] if name is None else self._find(fs, name)
        if run.head.state in (ROLLED_BACK, ROLLING_BACK) and not run.memory.halted:
            return run
        newer = [r.plan.name for r in forced if r.plan.created > run.plan.created]
        if newer:
            raise Busy(f"plan '{newer[-1]}' was made after '{run.plan.name}': roll that one back first")
        self.undo(run)
        return run

    def undo(self, run: Run) -> None:
        """Put back what a plan replaced; what was made after it must have been put back before."""
        self._go(
            run, state=ROLLING_BACK, why="", by_operator=False, until=None, resume_to=RUNNING, finished=None
        )

    def _go(self, run: Run, **changes: Any) -> None:
        """An operator lets a plan go on: what halted it is over once the journal has that."""
        self._journal.head(run, **changes)
        run.memory.halted, run.memory.hold = False, None

    def remove(self, name: str, fs: FsState | None = None) -> None:
        """Forget a plan; pins it set become the operator's. Names are unique: ``fs`` only limits the search.

        :raises Busy: it is being executed
        :raises NotFound: there is none of that name
        """
        bad = next((b for b in self.unreadable if b.name == name), None)
        if bad is not None:
            self._journal.unseal(bad.id)
            self.unreadable.remove(bad)
            self._sweep(self.known)
            self._journal.sweep(bad.id)
            return
        run = find(self.known() if fs is None else self.all(fs), name)
        if run.head.state in ACTIVE:
            raise Busy(f"plan '{name}' is {run.head.state}: stop it first")
        self._journal.unseal(run.id)
        with self._lock:  # a new list: others may be going through the old one
            self._runs = [other for other in self.known() if other is not run]
        self._sweep(self.known)
        self._journal.sweep(run.id)

    def newest(self, fs: FsState, name: str | None) -> Run:
        """The named plan, else the one that is meant (act/choice.py). :raises NotFound: none"""
        if name is not None:
            return self._find(fs, name)
        run = choice.newest(self.all(fs))
        if run is None:
            raise NotFound(f"'{fs.name}' has no plan: run 'ceph mds_partitioner partition plan {fs.name}'")
        return run

    def _why_wait(self, fs: FsState) -> str | None:
        return why_wait(fs, self._host.health(), silence(self._host, fs, self._now().wall))

    def known(self) -> list[Run]:
        """Every plan. :raises Unavailable: the journal was not read yet."""
        if self._runs is None:
            raise Unavailable("the module is starting: its journal was not read yet")
        return self._runs

    def _names(self) -> set[str]:
        """Every name that a plan has, on whatever file system."""
        return {run.plan.name for run in self.known()} | {bad.name for bad in self.unreadable}

    def _find(self, fs: FsState, name: str) -> Run:
        return find(self.all(fs), name)

    def _active(self, fs: FsState) -> list[Run]:
        found = [run for run in self.all(fs) if run.head.state in ACTIVE]
        if not found:
            raise NotFound(f"no plan of '{fs.name}' is being executed")
        return found

    def _refuse_beside_scheduler(self, fs: FsState) -> None:
        why = self.scheduled(fs)
        if why:
            raise Busy(why)

    def _reserve_name(self) -> str:
        """The next name of a plan of the scheduler; nobody else gets it."""
        with self._lock:
            name = choice.next_name(self._names() | self._creating)
            self._creating.add(name)
        return name

    def _report(self, run: Run) -> None:
        event = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run.plan.name}/{run.plan.created}"))
        message = f"mds_partitioner: plan '{run.plan.name}' on '{run.plan.fs}' ({run.head.state})"
        self._on_progress(event, message, progress(run) if run.head.state in ACTIVE else None)
