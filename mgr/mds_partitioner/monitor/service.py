# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes a snapshot once an epoch. Scrapes and pages read the newest one and never wait for the cluster.

An epoch may last a day. How far plans and analyses are is known at any time, and told within TICK. Where a
rank has not told yet what it serves, as after a fail-over of the managers, or file systems came, went or were
renamed, the epoch is looked at again, and counts once.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace

from ..act.choice import watched
from ..act.registry import Plans
from ..analyzer import Analyzer
from ..ceph.host import Host
from ..errors import BadOption, PartitionerError, Unavailable, Unheard, unexpected
from ..judge.analysis import RUNNING
from ..loop import Loop
from ..model import FsState
from ..options import Settings
from ..ranks import Ranks
from ..verify.guards import silence
from .options import MonitorSettings
from .sampler import (
    FallenBack,
    Past,
    Scheduled,
    Untold,
    analysis_state,
    failed,
    judged,
    observed,
    plan_state,
)
from .stages import JUDGE, OBSERVE, Errors
from .state import AnalysisState, FsSample, PlanState, Snapshot, Timing

TICK = 10.0  # s between two looks at plans and analyses, where epochs are longer
LEAST = 0.1  # s


def _nothing() -> None:
    """There is nothing to begin with."""


class Monitor:
    """The newest snapshot, and the thread that takes it."""

    def __init__(
        self,
        host: Host,
        ranks: Ranks,
        analyzer: Analyzer,
        plans: Plans,
        errors: Errors,
        settings: Callable[[], tuple[Settings, MonitorSettings]],
        log: logging.Logger,
        *,
        fallen_back: FallenBack,
        scheduler: Scheduled,
        publish: Callable[[], None],
    ) -> None:
        """``publish`` is called after each look."""
        self._host, self._ranks, self._analyzer, self._plans = host, ranks, analyzer, plans
        self._errors, self._settings, self._log = errors, settings, log
        self._fallen_back, self._scheduler, self._publish = fallen_back, scheduler, publish
        self._memories: dict[int, Past] = {}
        self._judgements = Timing()
        self._loop = Loop("monitor", _nothing, self._run, errors.of(OBSERVE), log, self._pause)
        self._began = self._looked = float("-inf")  # the newest epoch; the last look at it: monotonic, s
        self._done = math.inf  # when the newest epoch that ended began; before that, the thread
        self._ended = -math.inf  # when that one did
        self._untold = Untold()
        self.snapshot = Snapshot()

    def begin(self) -> None:
        """Start the thread."""
        self._done = time.monotonic()
        self._loop.start()

    def hasten(self) -> None:
        """Options are others: no longer epoch is waited for, and what was not judged is looked at at once."""
        untold = bool(self._untold.ranks)
        if untold:
            self._looked = -math.inf
        if untold or self._epoch() < self.snapshot.epoch:
            self._loop.wake()

    def late(self, now: float) -> float:
        """s by which an epoch is overdue; below 0: none is. For other threads: this one may hang, or fail.
        By the length that was told last: of a shorter one none may have begun yet. None is due while the one
        before takes longer than it should.

        :param now: monotonic, s
        """
        return now - max(self._done + self.snapshot.epoch, self._ended)

    def shutdown(self) -> None:
        """End the thread after the epoch it is in."""
        self._loop.end()

    def _run(self) -> float:
        now = time.monotonic()
        new = now - self._began > self._epoch() - LEAST
        if new or now > self._untold.again(self._looked) - LEAST or self._learned_since() or self._others():
            self._began, self._looked = now if new else self._began, now
            self.epoch(now, again=not new)
            self._done, self._ended = self._began, time.monotonic()
        else:
            self._look_at_work(now)
        self._publish()
        return self._pause()

    def _others(self) -> bool:
        """Are there other file systems by now, or others' names?"""
        return {s.fs for s in self.snapshot.filesystems} != {fs.name for fs in self._host.file_systems()}

    def _learned_since(self) -> bool:
        """Is by now known what a rank can serve? What was learned before a fail-over is read by and by."""
        seen = self.snapshot.filesystems
        without = {s.fs for s in seen if s.verdict is not None and s.verdict.capacity.value is None}
        known = self._host.file_systems() if without else []
        return any(self._ranks.learned(fs.fscid) is not None for fs in known if fs.name in without)

    def _pause(self) -> float:
        """s, until something is due."""
        due = min(self._began + self._epoch(), self._untold.again(self._looked))
        return max(LEAST, min(TICK, due - time.monotonic()))

    def _epoch(self) -> float:
        return float(self._settings()[0].epoch)

    def epoch(self, now: float, *, again: bool = False) -> None:
        """Take a snapshot.

        :param now: monotonic, s
        :param again: of the newest epoch, which counts as it is judged now
        """
        started = time.monotonic()
        settings, ours = self._settings()
        known = self._host.file_systems()
        there = frozenset(fs.fscid for fs in known)
        self._ranks.forget_all_but(there)
        self._host.forget_all_but(there)
        self._memories = {fs.fscid: self._memories.get(fs.fscid, Past()) for fs in known}
        for memory in () if again else self._memories.values():
            memory.begin()
        samples = tuple(self._sample(fs, ours, now) for fs in known)
        self._untold = self._untold.after(samples, now)
        taken = Snapshot(
            time=time.time(),
            epoch=float(settings.epoch),
            filesystems=samples,
            epochs=self.snapshot.epochs.plus(time.monotonic() - started),
            judgements=self._judgements,
            errors=self._errors.counts(),
        )
        failures = max(1, self.snapshot.engine_failures + (not again)) if taken.engine_problem else 0
        self.snapshot = replace(taken, engine_failures=failures)

    def _look_at_work(self, now: float) -> None:
        """The newest snapshot with plans, analyses, the scheduler, and the length of an epoch, as they are
        now; the same one where nothing has changed. now: monotonic, s"""
        top = self._settings()[1].top_subvolumes
        there = {fs.name: fs for fs in self._host.file_systems()}
        seen = self.snapshot.filesystems
        samples = tuple(self._renewed(s, there[s.fs], top, now) if s.fs in there else s for s in seen)
        epoch = self._epoch()
        if samples != seen or epoch > self.snapshot.epoch:  # a shorter one ends the one under way
            self.snapshot = replace(self.snapshot, filesystems=samples, epoch=epoch)

    def _renewed(self, sample: FsSample, fs: FsState, top: int, now: float) -> FsSample:
        return replace(
            sample,
            plan=self._plan(fs),
            analysis=self._analysis(fs, top),
            analyzing=self._analyzing(fs, now),
            scheduler=self._scheduler(fs),
        )

    def _sample(self, fs: FsState, ours: MonitorSettings, now: float) -> FsSample:
        memory, scheduler = self._memories[fs.fscid], self._scheduler(fs)
        even = scheduler is not None and scheduler.even
        try:
            samples = self._ranks.history(fs, now).latest
            sample = observed(fs, samples, self._fallen_back(fs), time.time())
            sample = replace(sample, problem=silence(fs, self._ranks.silent(fs)))
            if samples:
                sample = self._judge(fs, sample, memory, now, ours.imbalance_epochs, even=even)
            else:
                memory.miss(ours.imbalance_epochs)
        except PartitionerError as e:
            self._log.warning("monitoring of %s: %s", fs.name, e)
            self._errors.count(OBSERVE)
            sample = failed(fs, e, time.time())
        except Exception as e:  # what nobody expected of one file system must not hide the others
            self._log.exception("monitoring of %s", fs.name)
            self._errors.count(OBSERVE)
            sample = failed(fs, Unavailable(unexpected(e)), time.time())
        memory.count(sample, now)
        return replace(
            sample,
            uneven_epochs=memory.uneven_epochs,  # also of an epoch that cannot be judged
            uneven_at=memory.uneven_at,
            plan=self._plan(fs),
            analysis=self._analysis(fs, ours.top_subvolumes),
            analyzing=self._analyzing(fs, now),
            scheduler=scheduler,
            history=tuple(memory.history),
            streaks=memory.streaks,
            unjudged_since=memory.unjudged_since,
        )

    def _judge(
        self, fs: FsState, sample: FsSample, memory: Past, now: float, epochs: int, *, even: bool
    ) -> FsSample:
        started = time.monotonic()
        try:
            verdict = self._ranks.judge(fs, now)
        except Unheard as e:  # no fault of the engine's, nor is the next
            return replace(sample, problem=sample.problem or str(e))
        except BadOption as e:  # whoever else is silent: it is this that keeps all from being judged
            return replace(sample, problem=str(e))
        except PartitionerError as e:
            self._log.warning("monitoring of %s: %s", fs.name, e)
            self._errors.count(JUDGE)
            return replace(sample, problem=str(e), engine_problem=str(e))
        self._judgements = self._judgements.plus(time.monotonic() - started)
        known = {rank.rank for rank in sample.ranks if rank.load is not None}
        memory.judge(sample.time, verdict, epochs, whole=known.issuperset(fs.ranks_in), even=even)
        return judged(sample, verdict)

    def _plan(self, fs: FsState) -> PlanState | None:
        try:
            run = watched(self._plans.of(fs))
        except PartitionerError:  # the journal was not read yet
            return None
        return None if run is None else plan_state(run)

    def _analysis(self, fs: FsState, top: int) -> AnalysisState | None:
        """The last that came to a judgement, as plans are made from it. None: none did, or it is not known
        yet."""
        try:
            found = self._analyzer.last(fs)
        except PartitionerError:  # what was found earlier was not read yet
            return None
        return None if found is None else analysis_state(found, top)

    def _analyzing(self, fs: FsState, now: float) -> float | None:
        try:
            analysis = self._analyzer.get(fs)
        except PartitionerError:
            return None
        return analysis.progress(now) if analysis.state == RUNNING else None
