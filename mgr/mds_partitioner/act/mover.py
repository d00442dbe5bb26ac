# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one mover: every tick, it takes the plans that are under way one step further."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from .. import clock
from ..abreast import Each, in_turn
from ..ceph.host import Host
from ..ceph.pools import Pools
from ..clock import Now
from ..errors import JournalError, PartitionerError, unexpected
from ..model import FsState
from ..observe.ranks import silent
from ..options import Settings
from ..plan.plan import DISTRIBUTED_STEP
from ..verify.guards import FOLLOWS_PINS, Hold, hold
from ..verify.obeyed import Obeyed
from ..verify.whereabouts import MdsWhereabouts
from .events import Progress, report
from .executor import ABREAST, Executor, Unwanted
from .journal import Journal
from .registry import Plans
from .run import (
    ACTIVE,
    ROLLING_BACK,
    Run,
    hangs,
    of_cluster,
    owned_distributed,
    owned_values,
    steps_in_force,
    stopped_with_fs,
)

LONG = 60.0  # s that a directory is on its way, before it is asked whether MDSs follow pins at all


class Mover:
    """Executes the plans of all file systems."""

    def __init__(
        self,
        host: Host,
        journal: Journal,
        plans: Plans,
        settings: Callable[[], Settings],
        log: logging.Logger,
        now: Callable[[], Now] = clock.read,
        *,
        on_progress: Progress,
        unwanted: Unwanted,
        failed: Callable[[], None],
        abreast: int = ABREAST,
    ) -> None:
        """``plans``: those of the journal.

        :param unwanted: why what the scheduler decided is not to be begun
        :param failed: told of each failure
        :param abreast: steps of a plan of the scheduler at once
        """
        self._host, self._journal, self._plans = host, journal, plans
        self._settings, self._log, self._now = settings, log, now
        self._on_progress, self._failed = on_progress, failed
        self._pools, self._pins = Pools(host, now), Obeyed(host, FOLLOWS_PINS)
        self._over: Collection[str] = ()
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

    def tick(self, each: Each = in_turn) -> None:
        """Take every active plan one step further, and end those whose file system was removed; tell the mon
        what it did not answer."""
        known = self._host.file_systems()
        there = {fs.fscid for fs in known}
        self._over = self._find_over(there)
        away = [run for run in self._plans.read() if self._plans.is_away(run, known)]
        to_do = (run.plan.fscid for run in (*away, *self._due(there)))
        due = dict.fromkeys([*to_do, *self._journal.behind(), *self._plans.unclaimed])
        each({fscid: partial(self._tick_all, fscid, known) for fscid in due})

    def _due(self, there: Collection[int]) -> list[Run]:
        """Plans of which something is to be done. ``there``: IDs of the file systems that there are."""

        def due(run: Run) -> bool:
            if run.head.state in ACTIVE:
                return True
            if run.plan.fscid in there:
                return stopped_with_fs(run)
            return bool(of_cluster(run)) or run.id in self._over

        return [run for run in self._plans.read() if due(run)]

    def _find_over(self, there: Collection[int]) -> Collection[str]:
        """IDs of plans of the scheduler of whose file systems nothing is left: nobody gave them names."""
        pools = {
            run.id: run.plan.metadata_pool
            for run in self._plans.read()
            if run.plan.scheduled and run.plan.fscid not in there and run.plan.metadata_pool is not None
        }
        known: Collection[int] = self._pools.known() if pools else ()
        return {id_ for id_, pool in pools.items() if pool not in known}

    def _tick_all(self, fscid: int, known: Sequence[FsState]) -> None:
        there = {fs.fscid for fs in known}
        try:
            self._journal.catch_up(fscid)
            self._plans.follow(fscid, known)
            self._plans.claim_followed()
        except PartitionerError as e:
            self._failed()
            self._log.warning("the mon is told again: %s", e)
        ticked = set[str]()
        while left := [r for r in self._due(there) if r.plan.fscid == fscid and r.id not in ticked]:
            if fscid in self._plans.unclaimed:
                return  # what a step has set of a shared option would be another's
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
            self._executor.tick(run, self._pace(run), self._now())
            if run.head.state not in ACTIVE and not of_cluster(run) and run.id in self._over:
                self._forget_of_removed(run)
                return
        except JournalError as e:
            self._failed()
            self._log.warning("plan %s: %s: it is tried again", run.plan.name, e)
        except Exception as e:  # what nobody expected of one plan must not stop the others
            self._failed()
            self._log.exception("plan %s", run.plan.name)
            self._executor.wait(run, unexpected(e))
        for _ in run.memory.troubles.keys() - before:
            self._failed()
        report(run, self._host, self._on_progress)

    def _forget_of_removed(self, run: Run) -> None:
        """What the scheduler did on a file system that is no more; nobody gave these plans their names."""
        try:
            if self._host.fs_unless_removed(run.plan.fscid) is None:
                self._plans.remove(run.plan.name)
        except PartitionerError as e:
            self._log.warning("plan %s: %s: it is forgotten later", run.plan.name, e)

    def _pace(self, run: Run) -> Settings:
        """What the scheduler moves it has already counted; all of its plan is begun at once."""
        settings = self._settings()
        if not run.plan.scheduled or run.heading() == ROLLING_BACK:
            return settings
        return replace(settings, max_moves=max(len(run.plan.steps), 1))

    def _distributed(self, fscid: int) -> dict[int, str]:
        in_force = steps_in_force(self._plans.known(), fscid)  # of pins there may be thousands
        made = [(step, record) for step, record in in_force if step.kind == DISTRIBUTED_STEP]
        begun = (ino for (_, ino, _), values in owned_values(made).items() if "1" in values)
        return owned_distributed(made) | dict.fromkeys(begun, "1")

    def _hold(self, fs: FsState) -> Hold | None:
        now, longest = self._now(), min(LONG, self._settings().arrival_timeout)
        runs = (run for run in self._plans.read() if run.plan.fscid == fs.fscid and run.head.state in ACTIVE)
        late = any(hangs(run, now.steady, longest) for run in runs)
        pins = not self._pins.off(now.steady, doubted=late)
        return hold(fs, self._pools.health(fs), silent(self._host, fs, now.wall), pins=pins)
