# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs analyses: at most one a file system, each sampled in a thread of its own. What one found outlives the
manager; one that ran when it died is begun anew."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import clock
from .ceph.host import Host
from .errors import BadInput, Busy, CephError, NotFound, PartitionerError, Removed, Unavailable, Unheard
from .judge.analysis import FAILED, FINISHED, RUNNING, STOPPED, Analysis, Asked, Sampling, ended, restored
from .judge.archive import Archive, Found
from .judge.history import History
from .judge.judgement import Judgement, judge
from .judge.verdict import Engine
from .judge.wanted import Wanted
from .judge.window import Checkpoint, WindowSummary
from .model import FsState, Observation
from .observe.cache import cache_limit
from .observe.directories import named
from .observe.observer import Observer
from .options import LONGEST, Settings
from .plan.ranks import format_ranks
from .ranks import Ranks, rankless
from .verify.guards import inactive

PATIENCE = 60.0  # s that an order to stop waits for who is ending it already
LATE = 3  # epochs after its time in which it is tried to end it: an engine or an MDS may be away for a moment
BEGUN_ANEW = "what the last manager had sampled is lost: begun anew by this one at"
CAME_TO_NOTHING = "it came to nothing: plans are made from the analysis before it, which ended"
WENT_ON = "what the last manager sampled after epoch {} is lost: this one went on at"


class Analyzer:
    """The analyses of all file systems."""

    def __init__(
        self, host: Host, engine: Engine, ranks: Ranks, settings: Callable[[], Settings], log: logging.Logger
    ) -> None:
        self._host, self._engine, self._ranks, self._settings, self._log = host, engine, ranks, settings, log
        self._found = Archive(host.store, "judgement/", Found)
        self._checkpoints = Archive(host.store, "checkpoint/", Checkpoint)
        self._wanted = Wanted(host.store)
        self._analyses: dict[int, Analysis] = {}  # the newest of each
        self._last: dict[int, Found] = {}  # the newest of each that came to a judgement, as the store has it
        self._samplings: dict[int, Sampling] = {}  # of those that run
        self._saving: set[int] = set()  # file systems of which a checkpoint is on its way, or its undoing
        self._lock = threading.Lock()  # of the tables alone; never held while something is waited for
        self._begun = False
        self._ended = threading.Event()

    def begin(self) -> None:
        """Start sampling. What earlier analyses found is still there; those that ran go on from their last
        checkpoint, or begin anew. Called again after it has failed, it goes on with the others."""
        self._restore()
        checkpoints = self._checkpoints.load()
        wanted = self._wanted.load()
        for fscid in checkpoints.keys() - wanted.keys():
            self._checkpoints.forget(fscid)  # it came when its analysis had ended
        for fscid in wanted.keys() - self._samplings.keys():
            fs = self._host.fs_unless_removed(fscid)
            if fs is None:
                self._drop(fscid)
                continue
            asked = wanted[fscid]
            if isinstance(asked, ValueError):
                why = "analyze '%s' again: what was asked for cannot be read: %s"
                self._log.error(why, fs.name, asked)
                continue
            self._go_on(fs, asked, checkpoints.get(fscid))
        self._begun = True

    def _go_on(self, fs: FsState, asked: Asked, kept: Checkpoint | ValueError | None) -> None:
        """With what the last manager was sampling, unless that had ended."""
        found = self._analyses.get(fs.fscid)
        if found is not None and (found.ended or 0.0) >= asked.begun:
            self._drop(fs.fscid)  # only this key was left
            return
        if isinstance(kept, ValueError):
            self._log.error("the checkpoint of '%s' cannot be read: %s", fs.name, kept)
            kept = None
        analysis = self._start(fs, asked, kept)
        analysis.note = (
            f"{BEGUN_ANEW if kept is None else WENT_ON.format(kept.epochs)} {clock.told(time.time())}"
        )

    def _restore(self) -> None:
        for fscid, found in self._found.load().items():
            if self._host.fs_unless_removed(fscid) is None:
                self._found.forget(fscid)
            elif isinstance(found, ValueError):
                self._log.error("the judgement of file system %d cannot be read: %s", fscid, found)
            else:  # where this manager knows one, that is newer
                self._last.setdefault(fscid, found)
                self._analyses.setdefault(fscid, restored(found))

    def shutdown(self) -> None:
        """End the sampling threads."""
        self._ended.set()

    def start(self, fs: FsState, duration: int | None, directories: Sequence[str]) -> Analysis:
        """Begin an analysis of ``duration`` seconds.

        :raises BadInput: a duration under one epoch or over a week; a file, or the root, in ``directories``,
            or more than can be kept
        :raises Busy: one is running, or has just been stopped while it was saved
        :raises NotFound: a named directory does not exist
        :raises Unavailable: what the last manager was sampling was not read yet
        """
        self._refuse_early()
        settings = self._settings().checked()
        seconds = settings.analyze_duration if duration is None else duration
        _refuse_duration(seconds, settings.epoch, by_option=duration is None)
        with self._lock:
            last = self._analyses.get(fs.fscid)
            if last is not None and last.state == RUNNING:
                raise Busy(f"'{fs.name}' is being analyzed ({_percent(last)}); stop that one first")
            if fs.fscid in self._saving:  # the next manager would take that for this one's
                raise Busy(
                    f"what the last analysis of '{fs.name}' was saving is not removed yet: give "
                    "'analyze start' again in a moment"
                )
        # The last one's end must not pass for this one's, if the clock was put back; kept are whole seconds.
        found = self._last.get(fs.fscid)
        ended_before = 0.0 if found is None else found.ended + 2.0
        if directories:
            self._host.on_fs(fs, lambda mount: named(mount, directories))
        asked = Asked(fs.name, seconds, tuple(directories), max(time.time(), ended_before))
        self._checkpoints.forget(fs.fscid)  # one that the mon did not let go is of another analysis
        self._wanted.save(fs.fscid, asked)
        return self._start(fs, asked)

    def stop(self, fs: FsState) -> Analysis:
        """End an analysis now, judging what was sampled; what is being saved of it is not waited for.
        Stopping an ended one is fine.

        :raises Busy: it ends by itself, and that takes long
        :raises PartitionerError: it cannot be judged now, and goes on
        """
        analysis, sampling = self.get(fs), self._samplings.get(fs.fscid)
        if sampling is not None:
            try:
                self._end(fs.fscid, sampling, self._settings(), STOPPED, PATIENCE)
            except PartitionerError as e:
                e.args = (f"{e}; the analysis goes on: give 'analyze stop' again when that works",)
                raise
            if analysis.state == RUNNING:
                see = f"'ceph mds_partitioner analyze status {fs.name}'"
                raise Busy(f"the analysis of '{fs.name}' is ending by itself: {see} tells what it found")
        return analysis

    def get(self, fs: FsState) -> Analysis:
        """The newest analysis of a file system.

        :raises NotFound: there is none
        :raises Unavailable: what the last manager left was not read yet
        """
        analysis = self._analyses.get(fs.fscid)
        if analysis is not None:
            return analysis
        self._refuse_early()
        raise NotFound(
            f"'{fs.name}' was not analyzed yet: run 'ceph mds_partitioner analyze start {fs.name}'"
        )

    def _refuse_early(self) -> None:
        if not self._begun:
            raise Unavailable("the module is starting: what was analyzed before was not read yet")

    def last(self, fs: FsState) -> Found | None:
        """The newest analysis that came to a judgement, whatever runs, or failed, since. None: none did.

        :raises Unavailable: what the last manager left was not read yet
        """
        found = self._last.get(fs.fscid)
        if found is None:
            self._refuse_early()
        return found

    def found(self, fs: FsState) -> Found:
        """What a plan is made from: the ``last``. As a failed one is not kept, the next manager has the same.

        :raises Busy: another one runs
        :raises NotFound: none came to a judgement
        """
        analysis, found = self.get(fs), self.last(fs)
        if analysis.state == RUNNING:
            raise Busy(f"the analysis of '{fs.name}' is at {_percent(analysis)}: wait for it or stop it")
        if found is None:
            raise NotFound(f"the analysis of '{fs.name}' {analysis.state}: {analysis.problem or 'no epoch'}")
        return found

    def _start(self, fs: FsState, asked: Asked, kept: Checkpoint | None = None) -> Analysis:
        observer = Observer(self._host, asked.directories)

        def observe(settings: Settings, now: float) -> tuple[Observation, History]:
            present = self._host.fs_unless_removed(fs.fscid)
            if present is None:
                raise Removed(f"file system '{fs.name}' was removed")
            history = self._ranks.history(present, now)
            _refuse_untold(present, history)
            saturated = self._saturated(present, now)
            # Where all ranks are full at a time there is nothing to be had for whom they hold back; but one
            # that is alone may get others.
            there = {sample.rank for sample in history.latest}
            full = saturated if saturated and (len(there) == 1 or set(saturated) < there) else ()
            seen = observer.observe(present, settings, history.latest, full)
            busy = saturated is not None and bool(self._ranks.full(fs.fscid))
            return replace(seen, saturated=saturated, busy=busy), history

        def judge_window(window: WindowSummary, settings: Settings) -> Judgement:
            limit = cache_limit(self._host, self._host.fs_by_id(fs.fscid) or fs)
            return judge(window, settings, limit, self._ranks.learned(fs.fscid), self._engine)

        elapsed, epochs = (kept.elapsed, kept.epochs) if kept else (0.0, 0)
        analysis = Analysis(fs.name, asked.duration, time.monotonic() - elapsed, epochs=epochs)
        sampling = Sampling(analysis, observe, observer.facts, judge_window, kept)
        with self._lock:
            self._analyses[fs.fscid] = analysis
            self._samplings[fs.fscid] = sampling
        # A thread each: a file system that does not answer holds up no other's analysis.
        name, of = "mds_partitioner-sampler", (fs.fscid, sampling)
        threading.Thread(target=self._sample, args=of, name=name, daemon=True).start()
        return analysis

    def _saturated(self, fs: FsState, now: float) -> tuple[int, ...] | None:
        """Ranks that are so now; None while nobody can judge: that costs no epoch."""
        try:
            return self._ranks.judge(fs, now).saturated
        except PartitionerError as e:
            self._log.warning("analysis of %s: %s", fs.name, e)
            return None

    def _sample(self, fscid: int, sampling: Sampling) -> None:
        while not self._ended.is_set() and not sampling.over:
            started = time.monotonic()
            settings = self._settings()
            self._step(fscid, sampling, settings)
            self._ended.wait(sampling.analysis.pause(settings.epoch, started, time.monotonic()))

    def _step(self, fscid: int, sampling: Sampling, settings: Settings) -> None:
        analysis, problem, passes = sampling.analysis, "", True
        try:
            if sampling.step(settings, time.monotonic()):
                self._end(fscid, sampling, settings, FINISHED)
            else:
                self._checkpoint(fscid, sampling)
        except Removed as e:
            self._log.warning("analysis of %s ends: %s", analysis.fs, e)
            self._fail(fscid, sampling)
            return
        except PartitionerError as e:
            self._log.warning("analysis of %s: %s", analysis.fs, e)
            problem, passes = str(e), isinstance(e, (Unavailable, CephError))
        except Exception as e:  # sampling must outlive whatever a release's answer looks like
            self._log.exception("analysis of %s", analysis.fs)
            problem, passes = f"{type(e).__name__}: {e}", False
        if sampling.over or self._ended.is_set():  # nothing that fails then is its fault
            return
        analysis.problem = problem or analysis.problem
        if analysis.problem and analysis.progress(time.monotonic()) >= 1:
            sampling.late += 1
            if not passes or sampling.late > LATE:
                self._fail(fscid, sampling)

    def _checkpoint(self, fscid: int, sampling: Sampling) -> None:
        """Save what was sampled, if that is due. Of what has ended nothing is left."""
        checkpoint = sampling.checkpoint(time.monotonic())
        if checkpoint is None:
            return
        with self._lock:
            if sampling.over:
                return
            self._saving.add(fscid)
        try:
            self._save(fscid, sampling, checkpoint)
        finally:
            self._saving.discard(fscid)

    def _save(self, fscid: int, sampling: Sampling, checkpoint: Checkpoint) -> None:
        """What has ended meanwhile may have been removed before all of this was there."""
        try:
            if not self._checkpoints.save(fscid, checkpoint):
                self._log.warning(
                    "analysis of %s: too large to be saved: a fail-over loses it", sampling.analysis.fs
                )
        finally:
            if sampling.over:
                self._checkpoints.forget(fscid)

    def _end(
        self, fscid: int, sampling: Sampling, settings: Settings, state: str, patience: float = 0.0
    ) -> None:
        """Judge it, unless somebody else does, or has. ``patience``: s to wait for him

        :raises PartitionerError: it cannot be judged, and goes on
        """
        with sampling.claim(patience) as mine:
            if mine:
                sampling.judge(settings, clock.read())
                self._close(fscid, sampling, state if sampling.analysis.judgement else FAILED)

    def _fail(self, fscid: int, sampling: Sampling) -> None:
        """It came to nothing, unless somebody judges it just now."""
        with sampling.claim() as mine:
            if mine:
                self._close(fscid, sampling, FAILED)

    def _close(self, fscid: int, sampling: Sampling, state: str) -> None:
        """When it is seen as ended, the next manager knows that, too. The claim is held."""
        analysis, sampling.over = sampling.analysis, True
        try:
            self._keep(fscid, analysis, state)
            self._drop(fscid)
        except PartitionerError as e:  # the next manager sees by the judgement that it has ended
            self._log.warning("analysis of %s: %s", analysis.fs, e)
        finally:
            with self._lock:
                del self._samplings[fscid]
                analysis.state = state

    def _keep(self, fscid: int, analysis: Analysis, state: str) -> None:
        """For the next manager. It is known to this one all the same."""
        found, before = ended(analysis, state), self._last.get(fscid)
        if found is None:
            kept = "" if before is None else f"{CAME_TO_NOTHING} {clock.told(before.ended)}"
            analysis.note = "; ".join(filter(None, (analysis.note, kept)))
            return
        self._last[fscid] = found
        try:
            if not self._found.save(fscid, found):
                analysis.note = "too large to be kept: the next manager will not know it"
        except PartitionerError as e:
            self._log.warning("analysis of %s: %s", analysis.fs, e)
            analysis.note = f"the next manager will not know it: {e}"

    def _drop(self, fscid: int) -> None:
        """Nothing is left to be gone on with."""
        self._wanted.forget(fscid)
        self._checkpoints.forget(fscid)


def _refuse_untold(fs: FsState, history: History) -> None:
    """:raises Unavailable: it is not known what some rank serves: it would count as idle, or as not there"""
    away = inactive(fs)
    if away is not None:
        raise Unheard(f"no epoch is sampled while a rank is not active: {away}")
    if not history.latest:
        raise rankless(fs)
    untold = [sample.rank for sample in history.latest if not sample.rated]
    if untold:
        raise Unheard(
            f"what rank {format_ranks(untold)} serves is not known: it has said nothing of late, or not "
            "twice since it or this manager was started"
        )


def _refuse_duration(seconds: int, epoch: int, *, by_option: bool) -> None:
    """``by_option``: nobody typed it. :raises BadInput: under one epoch, or over a week"""
    if epoch <= seconds <= LONGEST:
        return
    allowed = f"give {epoch} (one epoch) to {LONGEST} seconds"
    if not by_option:
        raise BadInput(f"duration {seconds} is not allowed: {allowed}")
    command = "ceph config set mgr mgr/mds_partitioner/analyze_duration SECONDS"
    raise BadInput(f"the option analyze_duration is {seconds}: {allowed} ('{command}'), or a --duration")


def _percent(analysis: Analysis) -> str:
    return f"{analysis.progress(time.monotonic()):.0%}"
