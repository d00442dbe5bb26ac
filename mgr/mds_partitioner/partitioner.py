# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans and their execution: what the ``partition`` commands do."""

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from . import clock
from .act.core import interrupted
from .act.executor import Executor
from .act.journal import Journal, Unreadable, check_name, new_id
from .act.run import (
    ACTIVE,
    DONE,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    STOPPED,
    Run,
    find,
    in_force,
    moved_at,
    owned_distributed,
    owned_masks,
    owned_pins,
    owned_settings,
    progress,
)
from .act.switch import policy_in_force
from .analyzer import Analyzer
from .clock import Now
from .engine_client import EngineClient
from .errors import BadInput, Busy, NotFound, Unavailable
from .host import Host
from .model import FsState
from .observe.ranks import silence
from .options import Settings
from .plan.circumstances import Ours, Wish, brood_of, check_ranks, gather
from .plan.plan import Plan
from .plan.planner import make_plan
from .plan.ranks import format_ranks
from .verify.guards import why_wait
from .verify.whereabouts import MdsWhereabouts

Progress = Callable[[str, str, float | None], None]  # event id, message, 0 to 1 or None when it is over


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
        self._executor = Executor(host, self._journal, where, self._why_wait, log)
        self._lock = threading.Lock()  # of the names that are being taken
        self._creating: set[str] = set()
        self._runs: list[Run] | None = None
        self.unreadable: list[Unreadable] = []

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
        self._runs = runs

    def active(self) -> list[Run]:
        """Plans that are being executed, paused or rolled back."""
        return [run for run in self._runs or [] if run.head.state in ACTIVE]

    def executing(self, fs: FsState) -> str | None:
        """Name of the plan that is being executed on a file system, if any."""
        return next((run.plan.name for run in self.active() if run.plan.fscid == fs.fscid), None)

    def tick(self) -> None:
        """Take every active plan one step further, and end those whose file system was removed."""
        there = {fs.fscid for fs in self._host.file_systems()}
        for run in list(self._runs or []):
            gone = run.plan.fscid not in there and run.head.state != ROLLED_BACK
            if run.head.state in ACTIVE or gone:
                self._tick(run)

    def _tick(self, run: Run) -> None:
        try:
            self._executor.tick(run, self._settings(), self._now())
        except Exception as e:  # what nobody expected of one plan must not stop the others
            self._log.exception("plan %s", run.plan.name)
            self._executor.wait(run, f"{type(e).__name__}: {e}; see the manager's log")
        self._report(run)

    def all(self, fs: FsState) -> list[Run]:
        """The plans of a file system, oldest first."""
        return [run for run in self.known() if run.plan.fscid == fs.fscid]

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
            check_name(name)
        wish = Wish(heavy, check_ranks(fs, ranks), force, to_auth)
        judgement, now, settings = self._analyzer.judgement(fs), self._now(), self._settings()
        ended = self._analyzer.get(fs).ended or now.wall
        self._refuse_active(fs)
        runs = self.known()
        ours = Ours(
            pins=owned_pins(runs, fs.fscid),
            masks=owned_masks(runs, fs.fscid),
            settings=owned_settings(runs, fs.fscid),
            moved_at=moved_at(runs, fs.fscid),
            distributed=owned_distributed(runs, fs.fscid),
            policy=policy_in_force(self._host.store, fs),
        )
        made = make_plan(
            name or self._free_name(),
            judgement,
            wish.ranks,
            lambda judged: gather(self._host, fs, judged, wish, ours),
            settings,
            self._engine.call,
            lambda path, lasts: brood_of(self._host, fs, path, lasts),
            now.wall,
            ended - judgement.caveats.epochs * settings.epoch,
        )
        if save:
            self._save(made)
        return made

    def _save(self, made: Plan) -> None:
        with self._lock:
            taken = self._names() | self._creating
            self._creating.add(made.name)
        try:
            self.known().append(self._journal.create(made, taken))
        finally:
            self._creating.discard(made.name)

    def start(self, fs: FsState, name: str) -> Run:
        """Execute a plan, or go on with a stopped one. Starting a finished plan does nothing.

        :raises Busy: another plan of the file system is under way
        :raises BadInput: it needs a rank that does not exist any more, or was rolled back, be it in part
        """
        run = self._find(fs, name)
        if run.head.state in (RUNNING, DONE):
            if run.head.state == RUNNING and not run.memory.halted:
                raise Busy(f"plan '{name}' is being executed already ({progress(run):.0%})")
            run.memory.halted = False
            return run
        self._refuse_active(fs)
        if run.heading() == ROLLED_BACK:
            raise BadInput(f"plan '{name}' was rolled back: make a new one ('partition plan')")
        if run.heading() == ROLLING_BACK:
            raise BadInput(f"plan '{name}' was stopped while it was rolled back: roll it back to the end")
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
        if seconds is not None and seconds <= 0:
            raise BadInput(f"duration {seconds} is not allowed: give a number of seconds above 0")
        run, now = self._active(fs), self._now()
        run.memory.halted = True
        run.memory.hold = None if seconds is None else now.steady + seconds
        until = None if seconds is None else now.wall + seconds
        self._journal.head(
            run,
            state=PAUSED,
            why="by command",
            by_operator=True,
            until=until,
            resume_to=interrupted(run.head),
        )
        return run

    def resume(self, fs: FsState) -> Run:
        """Go on with a paused plan; a guard may pause it again at once."""
        run = self._active(fs)
        if run.head.state == PAUSED or run.memory.halted:
            self._go(run, state=interrupted(run.head), why="", by_operator=False, until=None)
        return run

    def stop(self, fs: FsState) -> Run:
        """End the execution where it is; what was done stays until it is rolled back.

        Nothing more is begun from this moment on, even while the mon does not answer. What an MDS has been
        asked for already may still be made; the journal has it.

        :raises JournalError: the mon did not take it; this manager has stopped all the same
        """
        run = self._active(fs)
        run.memory.halted, run.memory.hold = True, None
        self._journal.head(
            run,
            state=STOPPED,
            why="by command",
            resume_to=interrupted(run.head),
            finished=self._now().wall,
        )
        self._report(run)
        return run

    def rollback(self, fs: FsState, name: str | None) -> Run:
        """Put back every value that a plan replaced.

        :raises NotFound: nothing of the file system is in force
        :raises Busy: a newer plan is in force and must be rolled back first
        """
        forced = [run for run, _, _ in in_force(self.known(), fs.fscid)]
        if not name and not forced:
            raise NotFound(f"no plan of '{fs.name}' is in force: there is nothing to roll back")
        run = self._find(fs, name) if name else forced[-1]
        if run.head.state in (ROLLED_BACK, ROLLING_BACK) and not run.memory.halted:
            return run
        newer = [r.plan.name for r in forced if r.plan.created > run.plan.created]
        if newer:
            raise Busy(f"plan '{newer[-1]}' was made after '{run.plan.name}': roll that one back first")
        self._go(
            run, state=ROLLING_BACK, why="", by_operator=False, until=None, resume_to=RUNNING, finished=None
        )
        return run

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
            self._journal.sweep(bad.id)
            return
        run = find(self.known() if fs is None else self.all(fs), name)
        if run.head.state in ACTIVE:
            raise Busy(f"plan '{name}' is {run.head.state}: stop it first")
        self._journal.unseal(run.id)
        self.known().remove(run)
        self._journal.sweep(run.id)

    def newest(self, fs: FsState, name: str | None) -> Run:
        """The named plan, else the active one, else the last made or run. :raises NotFound: none."""
        if name:
            return self._find(fs, name)
        runs = self.all(fs)
        if not runs:
            raise NotFound(f"'{fs.name}' has no plan: run 'ceph mds_partitioner partition plan {fs.name}'")
        last = max(runs, key=lambda run: max(run.plan.created, run.head.started or 0, run.head.finished or 0))
        return next((run for run in runs if run.head.state in ACTIVE), last)

    def startable(self, fs: FsState) -> Run | None:
        """The newest plan, when it was not executed yet or was stopped."""
        runs = self.all(fs)
        return runs[-1] if runs and runs[-1].head.state in (READY, STOPPED) else None

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

    def _active(self, fs: FsState) -> Run:
        for run in self.all(fs):
            if run.head.state in ACTIVE:
                return run
        raise NotFound(f"no plan of '{fs.name}' is being executed")

    def _refuse_active(self, fs: FsState) -> None:
        for run in self.all(fs):
            if run.head.state in ACTIVE:
                raise Busy(
                    f"plan '{run.plan.name}' of '{fs.name}' is {run.head.state} ({progress(run):.0%}): "
                    "wait for it or stop it"
                )

    def _free_name(self) -> str:
        taken = self._names()
        return next(f"plan-{i}" for i in range(1, len(taken) + 2) if f"plan-{i}" not in taken)

    def _report(self, run: Run) -> None:
        event = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run.plan.name}/{run.plan.created}"))
        message = f"mds_partitioner: plan '{run.plan.name}' on '{run.plan.fs}' ({run.head.state})"
        self._on_progress(event, message, progress(run) if run.head.state in ACTIVE else None)
