# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs analyses: at most one a file system, sampled in a thread of its own, begun again after a fail-over."""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from .engine_client import EngineClient
from .errors import BadInput, Busy, NotFound, PartitionerError
from .host import Host
from .judge.analysis import FAILED, RUNNING, STOPPED, Analysis
from .judge.judgement import Judgement, judge, rank_arguments
from .judge.window import WindowSummary
from .model import FsState, RankSample
from .observe.directories import named
from .observe.observer import Observer
from .observe.ranks import observe_ranks
from .options import Settings
from .plan.hints import mask_of

LONGEST = 7 * 24 * 3600  # s


class Analyzer:
    """The analyses of all file systems."""

    def __init__(
        self, host: Host, engine: EngineClient, settings: Callable[[], Settings], log: logging.Logger
    ) -> None:
        self._host, self._engine, self._settings, self._log = host, engine, settings, log
        self._analyses: dict[int, Analysis] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._sample, name="mds_partitioner-sampler", daemon=True)

    def begin(self) -> None:
        """Start sampling; analyses that ran when the last manager died begin anew."""
        for key, value in self._host.store.items("analysis/").items():
            wanted = json.loads(value)
            try:
                self._start(self._host.fs(wanted["fs"]), wanted["duration"], wanted["directories"])
            except NotFound:
                self._host.store.delete(key)
        self._thread.start()

    def shutdown(self) -> None:
        """End the sampling thread."""
        self._ended = True
        self._wake.set()

    def start(self, fs: FsState, duration: int | None, directories: Sequence[str]) -> Analysis:
        """Begin an analysis of ``duration`` seconds.

        :raises BadInput: a duration under one epoch or over a week
        :raises Busy: one is running
        :raises NotFound: a named directory does not exist
        """
        settings = self._settings()
        seconds = settings.analyze_duration if duration is None else duration
        if not settings.epoch <= seconds <= LONGEST:
            raise BadInput(
                f"duration {seconds} is not allowed: give {settings.epoch} (one epoch) to {LONGEST} seconds"
            )
        with self._lock:
            running = self._analyses.get(fs.fscid)
            if running is not None and running.state == RUNNING:
                raise Busy(f"'{fs.name}' is being analyzed ({running.progress():.0%}); stop that one first")
        if directories:
            self._host.on_fs(fs, lambda mount: named(mount, directories))
        wanted = {"fs": fs.name, "duration": seconds, "directories": list(directories)}
        self._host.store.put(f"analysis/{fs.fscid}", json.dumps(wanted))
        return self._start(fs, seconds, directories)

    def stop(self, fs: FsState) -> Analysis:
        """End an analysis now, judging what was sampled. Stopping an ended one is fine."""
        analysis = self.get(fs)
        if analysis.state == RUNNING:
            analysis.state = STOPPED
            analysis.finish(self._settings(), STOPPED)
            self._host.store.delete(f"analysis/{fs.fscid}")
        return analysis

    def get(self, fs: FsState) -> Analysis:
        """The newest analysis of a file system. :raises NotFound: there is none."""
        try:
            return self._analyses[fs.fscid]
        except KeyError:
            raise NotFound(
                f"'{fs.name}' was not analyzed yet: run 'ceph mds_partitioner analyze start {fs.name}'"
            ) from None

    def judgement(self, fs: FsState) -> Judgement:
        """What the newest finished analysis found. :raises Busy: it is not finished."""
        analysis = self.get(fs)
        if analysis.state == RUNNING:
            raise Busy(f"the analysis of '{fs.name}' is at {analysis.progress():.0%}: wait for it or stop it")
        if analysis.judgement is None:
            raise NotFound(f"the analysis of '{fs.name}' {analysis.state}: {analysis.problem or 'no epoch'}")
        return analysis.judgement

    def imbalance(
        self, fs: FsState, before: Sequence[tuple[RankSample, ...]] = ()
    ) -> tuple[dict[str, Any], tuple[RankSample, ...]]:
        """The engine's judgement of this moment, and the ranks' samples.

        :param before: samples of earlier epochs, oldest first, which the forecast needs
        """
        settings = self._settings()
        samples = observe_ranks(self._host, fs, settings.epoch)
        names = [s.name for s in samples]
        epochs = [*(epoch for epoch in before if [s.name for s in epoch] == names), samples]
        series = {row[-1].rank: row for row in zip(*epochs, strict=True)}
        arguments = rank_arguments(series, settings, self.learned(fs.fscid), mask_of(fs))
        return self._engine.call("judge", arguments), samples

    def _start(self, fs: FsState, duration: int, directories: Sequence[str]) -> Analysis:
        observer = Observer(self._host, fs.name, directories)

        def judge_window(window: WindowSummary, settings: Settings) -> Judgement:
            return self._judge(fs, window, settings)

        analysis = Analysis(fs.name, duration, observer.observe, observer.facts, judge_window)
        with self._lock:
            self._analyses[fs.fscid] = analysis
        self._wake.set()
        return analysis

    def _judge(self, fs: FsState, window: WindowSummary, settings: Settings) -> Judgement:
        limit = int(self._host.config("mds_cache_memory_limit"))
        found = judge(window, settings, limit, self.learned(fs.fscid), self._engine.call)
        if found.learned_capacity is not None:
            self.learn(fs.fscid, found.learned_capacity)
        return found

    def learn(self, fscid: int, capacity: float) -> None:
        """Remember the capacity of a file system's ranks, req/s."""
        self._host.store.put(f"capacity/{fscid}", str(capacity))

    def learned(self, fscid: int) -> float | None:
        """The capacity that saturated ranks taught, req/s."""
        value = self._host.store.items(f"capacity/{fscid}").get(f"capacity/{fscid}")
        return None if value is None else float(value)

    def _sample(self) -> None:
        while not self._ended:
            started = time.monotonic()
            settings = self._settings()
            for fscid, analysis in list(self._analyses.items()):
                if analysis.state == RUNNING:
                    self._step(fscid, analysis, settings)
            left = settings.epoch - (time.monotonic() - started)
            running = any(a.state == RUNNING for a in self._analyses.values())
            self._wake.wait(max(0.1, left) if running else None)
            self._wake.clear()

    def _step(self, fscid: int, analysis: Analysis, settings: Settings) -> None:
        try:
            analysis.step(settings)
        except PartitionerError as e:
            self._log.warning("analysis of %s: %s", analysis.fs, e)
            analysis.problem = str(e)
        except Exception as e:  # the sampling thread must outlive whatever a release's answer looks like
            self._log.exception("analysis of %s", analysis.fs)
            analysis.problem = f"{type(e).__name__}: {e}"
        if analysis.progress() >= 1 and analysis.state == RUNNING and analysis.problem:
            analysis.state = FAILED
        if analysis.state != RUNNING:
            try:
                self._host.store.delete(f"analysis/{fscid}")
            except PartitionerError as e:
                self._log.warning("analysis of %s: %s", analysis.fs, e)
