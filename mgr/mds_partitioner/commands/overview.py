# SPDX-License-Identifier: LGPL-2.1-or-later
"""``status`` and ``imbalance``."""

import time
from typing import Optional

from ..errors import NotFound, Unavailable
from ..model import FsState
from ..report import imbalance as report
from ..report.text import table
from .declare import Answer, Services, reads

COLUMNS = ("Name", "Ranks", "Analysis", "Plan", "Balance")


class OverviewCommands(Services):
    """What goes on, on every file system and on one."""

    @reads("status", urgent=True)
    def show_status(self, format: str = "table") -> Answer:
        """Show what the module is doing on every file system"""
        rows = [self._overview(fs) for fs in self.host.file_systems()]
        cells = [tuple(row.values()) for row in rows]
        return Answer(rows, table(COLUMNS, cells, ("Name", "Analysis", "Plan", "Balance")))

    def _overview(self, fs: FsState) -> dict[str, object]:
        try:
            analysis = self.analyzer.get(fs)
            analyzed = f"{analysis.state} {analysis.progress(time.monotonic()):.0%}"
        except NotFound:
            analyzed = "none"
        except Unavailable:
            analyzed = "starting"
        runs = self.partitioner.all(fs)
        switch = self.balancer.get(fs)
        return {
            "fs": fs.name,
            "ranks": len(fs.ranks_in),
            "analysis": analyzed,
            "plan": f"{runs[-1].plan.name}: {runs[-1].head.state}" if runs else "none",
            "balance": f"{switch.policy}: {switch.state}" if switch else "off",
        }

    @reads("imbalance")
    def show_imbalance(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Show the imbalance factor of this moment, each rank's load, and what Lunule would move"""
        found = self.host.fs(fs)
        now = time.monotonic()
        verdict, samples = self.ranks.judge(found, now), self.ranks.history(found, now).latest
        return Answer(report.value(verdict, samples), report.text(verdict, samples))
