# SPDX-License-Identifier: LGPL-2.1-or-later
"""An analysis: a window that fills epoch by epoch, then a judgement."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from ..clock import Now
from ..errors import PartitionerError, Removed, Unavailable
from ..model import DirectoryFacts, Observation
from ..options import Settings
from ..store import marked, unmarked
from .archive import Found
from .history import History
from .judgement import Judgement
from .window import Checkpoint, Window, WindowSummary

Observe = Callable[[Settings, float], tuple[Observation, History]]
Facts = Callable[[], Mapping[str, DirectoryFacts]]
Judge = Callable[[WindowSummary, Settings], Judgement]

CHECKPOINT_EVERY = 600.0  # s
SHORTEST = 0.1  # s between two epochs, where one takes longer than it lasts
SOON = 60.0  # s in which ranks tell a manager that has taken over what they serve, unless one is away
UNSAMPLED = "this manager has taken over, and sampled no epoch yet"
RUNNING, FINISHED, STOPPED, FAILED = "running", "finished", "stopped", "failed"


@dataclass(frozen=True)
class Asked:
    """What an analysis is to sample. It is kept while that runs, for a manager that goes on with it."""

    fs: str
    duration: int  # s
    directories: tuple[str, ...]  # in place of subvolumes
    begun: float  # Unix, s

    def to_json(self) -> str:
        """For the mon's key/value store."""
        return json.dumps(marked(asdict(self)))

    @classmethod
    def from_json(cls, text: str) -> Asked:
        """What ``to_json`` wrote. :raises ValueError: it cannot be read, or a later version wrote it"""
        try:
            kept = unmarked(json.loads(text))
            fs, paths = str(kept["fs"]), tuple(str(path) for path in kept["directories"])
            return cls(fs, int(kept["duration"]), paths, float(kept["begun"]))
        except (TypeError, KeyError, OverflowError, RecursionError) as e:
            raise ValueError(f"{type(e).__name__}: {e}") from e


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

    def pause(self, epoch: float, began: float, now: float) -> float:
        """s until the next epoch is sampled, and not beyond the analysis' time: an epoch may be longer.

        :param epoch: s; began: when the last one was, now: monotonic, s
        """
        rest, left = epoch - (now - began), self.started + self.duration - now
        return max(SHORTEST, min(rest, left) if left > 0.0 else rest)


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
    """Takes an analysis's epochs. ``step`` is called once an epoch by the sampling thread.

    :ivar late: epochs that it has gone on for, as it could not be ended
    :ivar over: whoever had the claim has ended it: what is saved of it from now on, or just now, is undone
    """

    def __init__(
        self, analysis: Analysis, observe: Observe, facts: Facts, judge: Judge, kept: Checkpoint | None = None
    ) -> None:
        """``kept``: what another manager had sampled."""
        self.analysis = analysis
        self._window = Window(analysis.fs) if kept is None else Window.resumed(analysis.fs, kept)
        self._observe, self._facts, self._judge = observe, facts, judge
        self.late, self.over = 0, False
        self._claims = threading.Condition()  # of who ends it; never held while Ceph or the engine is asked
        self._claimed = False
        self._adding = threading.Lock()  # nothing is added while the window is summed up
        self._begun = analysis.started if kept is None else analysis.started + kept.elapsed  # by this manager
        self._saved = self._begun

    @contextmanager
    def claim(self, patience: float = 0.0) -> Iterator[bool]:
        """Is it the caller's to end it? Nobody else's meanwhile; if it is not over then, it goes on.

        :param patience: s to wait for somebody else who is ending it
        """
        with self._claims:
            mine = self._claims.wait_for(lambda: not self._claimed, patience) and not self.over
            self._claimed = self._claimed or mine
        try:
            yield mine
        finally:
            if mine:
                with self._claims:
                    self._claimed = False
                    self._claims.notify_all()

    def step(self, settings: Settings, now: float) -> bool:
        """Sample one epoch; is the time over? An epoch that fails is skipped; the last one, too.

        :param now: monotonic, s
        :raises PartitionerError: this epoch could not be sampled, and it is not the last one of something to
            judge; there is none where the file system was removed
        """
        # Before the last epoch is due, so that an analysis takes as long as was asked for.
        over = now - self.analysis.started >= self.analysis.duration - settings.epoch / 2
        try:
            seen = self._observe(settings, now)
            if self.over:
                return False
            with self._adding:
                self._window.add(*seen)
        except PartitionerError as e:
            if self.over:  # it was ended meanwhile: nothing that fails then is its fault
                return False
            self.analysis.problem = str(e)
            if over and self._window.ready and not isinstance(e, Removed):
                return True
            raise
        self.analysis.epochs = self._window.epochs
        self.analysis.problem = ""
        return over

    def checkpoint(self, now: float) -> Checkpoint | None:
        """What is to be saved, if that is due. ``now``: monotonic, s."""
        if now - self._saved < CHECKPOINT_EVERY:
            return None
        self._saved = now
        return self._window.checkpoint(now - self.analysis.started)

    def judge(self, settings: Settings, at: Now) -> None:
        """Judge what was sampled. There is no judgement while of the ranks this manager knows nothing yet.

        :raises PartitionerError: the engine failed, or it has gone on for a moment only; nothing has changed
        """
        with self._adding:
            if self._window.epochs and not self._window.ready:
                unsampled = ": ".join(filter(None, (UNSAMPLED, self.analysis.problem)))
                if at.steady - self._begun < max(SOON, 2 * settings.epoch):
                    raise Unavailable(unsampled)
                self.analysis.problem = unsampled
            summary = self._window.summary(self._facts()) if self._window.ready else None
        if summary is not None:
            self.analysis.judgement = self._judge(summary, settings)
        self.analysis.part = self.analysis.progress(at.steady)
        self.analysis.ended = at.wall
