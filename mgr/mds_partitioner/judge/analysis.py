# SPDX-License-Identifier: LGPL-2.1-or-later
"""An analysis: a window that fills epoch by epoch, then a judgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..clock import Now
from ..errors import PartitionerError
from ..model import DirectoryFacts, Observation
from ..options import Settings
from .archive import Found
from .history import History
from .judgement import Judgement
from .window import Checkpoint, Window, WindowSummary

Observe = Callable[[Settings, float], tuple[Observation, History]]
Facts = Callable[[], Mapping[str, DirectoryFacts]]
Judge = Callable[[WindowSummary, Settings], Judgement]

CHECKPOINT_EVERY = 600.0  # s
RUNNING, FINISHED, STOPPED, FAILED = "running", "finished", "stopped", "failed"


@dataclass
class Analysis:
    """One analysis of one file system, as it is shown."""

    fs: str
    duration: int  # s
    started: float  # monotonic, s
    state: str = RUNNING
    problem: str = ""  # why the last epoch was not sampled
    note: str = ""  # what befell it: begun anew by another manager
    epochs: int = 0  # sampled
    judgement: Judgement | None = None
    ended: float | None = None  # Unix, s
    part: float | None = None  # of its time, 0 to 1, when it ended; None: it runs

    def progress(self, now: float) -> float:
        """0 to 1. ``now``: monotonic, s."""
        if self.state == FINISHED:
            return 1.0
        return min(1.0, (now - self.started) / self.duration) if self.part is None else self.part


def ended(analysis: Analysis, state: str) -> Found | None:
    """What is kept of an analysis that ends in this state; None: it came to no judgement."""
    if analysis.judgement is None or analysis.ended is None:
        return None
    return Found(
        analysis.fs,
        analysis.duration,
        analysis.epochs,
        state,
        analysis.ended,
        analysis.judgement,
        1.0 if analysis.part is None else analysis.part,
    )


def restored(found: Found) -> Analysis:
    """The analysis that a manager before this one made. Only one that runs needs to know when it began."""
    analysis = Analysis(found.fs, found.duration, started=float("-inf"))
    analysis.state, analysis.epochs = found.state, found.epochs
    analysis.judgement, analysis.ended, analysis.part = found.judgement, found.ended, found.part
    return analysis


class Sampling:
    """Takes an analysis's epochs. ``step`` is called once an epoch by the sampling thread."""

    def __init__(
        self, analysis: Analysis, observe: Observe, facts: Facts, judge: Judge, kept: Checkpoint | None = None
    ) -> None:
        """``kept``: what another manager had sampled."""
        self.analysis = analysis
        self._window = Window(analysis.fs) if kept is None else Window.resumed(analysis.fs, kept)
        self._observe, self._facts, self._judge = observe, facts, judge
        self.late = 0  # epochs that it has gone on for, as it could not be ended
        self._saved = analysis.started if kept is None else analysis.started + kept.elapsed

    def step(self, settings: Settings, now: float) -> bool:
        """Sample one epoch; is the time over? An epoch that fails is skipped; the last one, too.

        :param now: monotonic, s
        :raises PartitionerError: this epoch could not be sampled, and it is not the last one of something to
            judge
        """
        # Before the last epoch is due, so that an analysis takes as long as was asked for.
        over = now - self.analysis.started >= self.analysis.duration - settings.epoch / 2
        try:
            self._window.add(*self._observe(settings, now))
        except PartitionerError as e:
            self.analysis.problem = str(e)
            if over and self._window.ready:
                return True
            raise
        self.analysis.epochs = self._window.epochs
        self.analysis.problem = ""
        return over

    def checkpoint(self, now: float) -> Checkpoint | None:
        """What is worth saving now: a hundredth of a long analysis, and ten minutes at least, since the last.

        :param now: monotonic, s
        """
        if now - self._saved < max(CHECKPOINT_EVERY, self.analysis.duration / 100):
            return None
        self._saved = now
        return self._window.checkpoint(now - self.analysis.started)

    def judge(self, settings: Settings, at: Now) -> None:
        """Judge what was sampled. :raises PartitionerError: the engine failed."""
        if self._window.ready:
            self.analysis.judgement = self._judge(self._window.summary(self._facts()), settings)
        self.analysis.part = self.analysis.progress(at.steady)
        self.analysis.ended = at.wall
