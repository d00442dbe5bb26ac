# SPDX-License-Identifier: LGPL-2.1-or-later
"""``status`` and ``imbalance``."""

import time
from typing import Optional

from ..desk import URGENT
from ..errors import JournalError, NotFound, Unavailable
from ..model import FsState
from ..report import imbalance as report
from ..report.balance import UNREADABLE
from ..report.overview import Overview, overview_text, overview_value, removed_values, unreadable_values
from ..schedule.record import OFF
from ..verify.guards import silence
from .declare import Answer, Services, reads


class OverviewCommands(Services):
    """What goes on, on every file system and on one."""

    @reads("status", URGENT)
    def show_status(self, format: str = "table") -> Answer:
        """Show every file system: its analysis, plans in force, newest plan, policy and scheduler"""
        seen = [overview_value(self._overview(fs)) for fs in self.host.file_systems()]
        seen += removed_values(self.partitioner.plans.of_removed())
        seen += unreadable_values([bad.name for bad in self.partitioner.plans.unreadable])
        return Answer(seen, overview_text(seen))

    def _overview(self, fs: FsState) -> Overview:
        try:
            analysis = self.analyzer.get(fs)
            analyzed = f"{analysis.state} {analysis.progress(time.monotonic()):.0%}"
        except NotFound:
            analyzed = "none"
        except Unavailable:
            analyzed = "starting"
        return Overview(
            fs,
            analyzed,
            self.partitioner.plans.of(fs),
            self.balancer.get(fs),
            self._mode(fs),
            bool(self.balancer.unread(fs)),
        )

    def _mode(self, fs: FsState) -> str:
        try:
            kept = self.scheduling.get(fs)
        except NotFound:
            return OFF
        except JournalError:
            return UNREADABLE
        except Unavailable:
            return "starting"
        return f"{kept.mode}, paused" if kept.paused else kept.mode

    @reads("imbalance")
    def show_imbalance(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Show the newest epoch's imbalance factor, load of ranks, and amounts that Lunule would move"""
        found = self.host.fs(fs)
        now = time.monotonic()
        verdict, samples = self.ranks.judge(found, now), self.ranks.history(found, now).latest
        text, quiet = report.text(verdict, samples), silence(found, self.ranks.silent(found))
        problem = f"{quiet}: not judged" if quiet else ""
        return Answer(report.value(verdict, samples, problem), f"{text}\n{problem}" if problem else text)
