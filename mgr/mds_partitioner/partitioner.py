# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans and their execution: what the ``partition`` commands do."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence

from .act.executor import Executor
from .act.journal import (
    ACTIVE,
    DONE,
    PAUSED,
    READY,
    ROLLED_BACK,
    ROLLING_BACK,
    RUNNING,
    STOPPED,
    Head,
    Journal,
    Run,
    check_name,
    find,
    in_force,
    moved_at,
    owned_masks,
    owned_pins,
    owned_settings,
)
from .analyzer import Analyzer
from .engine_client import EngineClient
from .errors import BadInput, Busy, NotFound, Unavailable
from .host import Host
from .model import FsState
from .observe.ranks import silence
from .options import Settings
from .plan.circumstances import Ours, Wish, check_ranks, children_of, gather
from .plan.plan import Plan
from .plan.planner import make_plan
from .plan.ranks import format_ranks
from .report.partition import progress
from .verify.arrival import MdsWhereabouts
from .verify.guards import why_wait

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
    ) -> None:
        self._host, self._engine, self._analyzer = host, engine, analyzer
        self._settings, self._on_progress, self._log = settings, on_progress, log
        self._journal = Journal(host.store)
        where = MdsWhereabouts(host)
        self._executor = Executor(host, self._journal, where, self._why_wait, log)
        self._lock = threading.Lock()
        self._runs: list[Run] | None = None

    def begin(self) -> None:
        """Read the journal; plans that another manager left unfinished go on."""
        self._runs = self._journal.load()

    def active(self) -> list[Run]:
        """Plans that are being executed, paused or rolled back."""
        return [run for run in self._runs or [] if run.head.state in ACTIVE]

    def executing(self, fs: FsState) -> str | None:
        """Name of the plan that is being executed on a file system, if any."""
        return next((run.plan.name for run in self.active() if run.plan.fscid == fs.fscid), None)

    def tick(self) -> None:
        """Take every active plan one step further."""
        for run in self.active():
            self._executor.tick(run, self._settings())
            self._report(run)

    def all(self, fs: FsState) -> list[Run]:
        """The plans of a file system, oldest first."""
        return [run for run in self._known() if run.plan.fscid == fs.fscid]

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
        judgement = self._analyzer.judgement(fs)
        self._refuse_active(fs)
        runs = self._known()
        ours = Ours(
            pins=owned_pins(runs, fs.fscid),
            masks=owned_masks(runs, fs.fscid),
            settings=owned_settings(runs, fs.fscid),
            moved_at=moved_at(runs, fs.fscid),
        )
        made = make_plan(
            name or self._free_name(runs),
            judgement,
            wish.ranks,
            lambda judged: gather(self._host, fs, judged, wish, ours),
            self._settings(),
            self._engine.call,
            lambda path: children_of(self._host, fs, path),
            time.time(),
        )
        if save:
            with self._lock:
                self._known().append(self._journal.create(made, self._known()))
        return made

    def start(self, fs: FsState, name: str) -> Run:
        """Execute a plan, or go on with a stopped one. Starting a finished plan does nothing.

        :raises Busy: another plan of the file system is under way
        :raises BadInput: it needs a rank that does not exist any more, or was rolled back
        """
        run = self._find(fs, name)
        if run.head.state in (RUNNING, DONE):
            if run.head.state == RUNNING:
                raise Busy(f"plan '{name}' is being executed already ({progress(run):.0%})")
            return run
        self._refuse_active(fs)
        if run.head.state == ROLLED_BACK:
            raise BadInput(f"plan '{name}' was rolled back: make a new one ('partition plan')")
        gone = sorted(run.plan.ranks_used() - set(fs.ranks_in))
        if gone:
            raise BadInput(
                f"plan '{name}' needs rank {format_ranks(gone)}, which '{fs.name}' does not have "
                f"(it has {format_ranks(fs.ranks_in)}): make a new plan"
            )
        self._journal.head(run, state=RUNNING, why="", started=time.time(), finished=None)
        return run

    def pause(self, fs: FsState, seconds: int | None) -> Run:
        """Begin no further step; moves under way end. :raises BadInput: a duration that is not positive."""
        if seconds is not None and seconds <= 0:
            raise BadInput(f"duration {seconds} is not allowed: give a number of seconds above 0")
        run = self._active(fs)
        until = None if seconds is None else time.time() + seconds
        interrupted = run.head.resume_to if run.head.state == PAUSED else run.head.state
        self._journal.head(
            run, state=PAUSED, why="by command", by_operator=True, until=until, resume_to=interrupted
        )
        return run

    def resume(self, fs: FsState) -> Run:
        """Go on with a paused plan; a guard may pause it again at once."""
        run = self._active(fs)
        if run.head.state == PAUSED:
            self._journal.head(run, state=run.head.resume_to, why="", by_operator=False, until=None)
        return run

    def stop(self, fs: FsState) -> Run:
        """End the execution where it is; what was done stays until it is rolled back."""
        run = self._active(fs)
        self._journal.head(run, state=STOPPED, why="by command", finished=time.time())
        self._report(run)
        return run

    def rollback(self, fs: FsState, name: str | None) -> Run:
        """Put back every value that a plan replaced.

        :raises NotFound: nothing of the file system is in force
        :raises Busy: a newer plan is in force and must be rolled back first
        """
        forced = [run for run, _, _ in in_force(self._known(), fs.fscid)]
        if not name and not forced:
            raise NotFound(f"no plan of '{fs.name}' is in force: there is nothing to roll back")
        run = self._find(fs, name) if name else forced[-1]
        if run.head.state in (ROLLED_BACK, ROLLING_BACK):
            return run
        newer = [r.plan.name for r in forced if r.plan.created > run.plan.created]
        if newer:
            raise Busy(f"plan '{newer[-1]}' was made after '{run.plan.name}': roll that one back first")
        self._journal.head(
            run, state=ROLLING_BACK, why="", by_operator=False, until=None, resume_to=RUNNING, finished=None
        )
        return run

    def remove(self, fs: FsState, name: str) -> None:
        """Forget a plan; pins it set become the operator's. :raises Busy: it is being executed."""
        run = self._find(fs, name)
        if run.head.state in ACTIVE:
            raise Busy(f"plan '{name}' is {run.head.state}: stop it first")
        self._journal.remove(run)
        with self._lock:
            self._known().remove(run)

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
        return why_wait(fs, self._host.health(), silence(self._host, fs))

    def _known(self) -> list[Run]:
        if self._runs is None:
            raise Unavailable("the module is starting: its journal was not read yet")
        return self._runs

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

    def _free_name(self, runs: Sequence[Run]) -> str:
        taken = {run.plan.name for run in runs}
        return next(f"plan-{i}" for i in range(1, len(taken) + 2) if f"plan-{i}" not in taken)

    def _report(self, run: Run) -> None:
        event = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{run.plan.name}/{run.plan.created}"))
        message = f"mds_partitioner: plan '{run.plan.name}' on '{run.plan.fs}' ({run.head.state})"
        self._on_progress(event, message, progress(run) if run.head.state in ACTIVE else None)


def paused_by_guard(head: Head) -> bool:
    """Is it waiting for the cluster, not for the operator?"""
    return head.state == PAUSED and not head.by_operator
