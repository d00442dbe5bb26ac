# SPDX-License-Identifier: LGPL-2.1-or-later
"""An analysis: a window that fills epoch by epoch, then a judgement."""

import time
from collections.abc import Callable, Mapping

from ..model import DirectoryFacts, Snapshot
from ..options import Settings
from .judgement import Judgement
from .window import Window, WindowSummary

Observe = Callable[[Settings], Snapshot]
Facts = Callable[[], Mapping[str, DirectoryFacts]]
Judge = Callable[[WindowSummary, Settings], Judgement]

RUNNING, FINISHED, STOPPED, FAILED = "running", "finished", "stopped", "failed"


class Analysis:
    """One analysis of one file system. ``step`` is called once an epoch by the sampling thread."""

    def __init__(self, fs: str, duration: int, observe: Observe, facts: Facts, judge: Judge) -> None:
        """``duration`` in seconds."""
        self.fs = fs
        self.duration = duration
        self.started = time.time()
        self.state = RUNNING
        self.problem = ""
        self.judgement: Judgement | None = None
        self._window = Window(fs)
        self._observe, self._facts, self._judge = observe, facts, judge

    @property
    def epochs(self) -> int:
        """Epochs sampled."""
        return self._window.epochs

    def progress(self) -> float:
        """0 to 1."""
        if self.state == FINISHED:
            return 1.0
        return min(1.0, (time.time() - self.started) / self.duration)

    def step(self, settings: Settings) -> None:
        """Sample one epoch; judge when the time is over. An epoch that fails is skipped and remembered."""
        self._window.add(self._observe(settings))
        self.problem = ""
        # Before the last epoch is due, so that an analysis takes as long as was asked for.
        if time.time() - self.started >= self.duration - settings.epoch / 2:
            self.finish(settings, FINISHED)

    def finish(self, settings: Settings, state: str) -> None:
        """Judge what was sampled and end."""
        if self._window.epochs:
            self.judgement = self._judge(self._window.summary(self._facts()), settings)
        if self.state == RUNNING:
            self.state = state if self.judgement else FAILED
