# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ``scheduler`` commands."""

from typing import Optional

from ..desk import STOP
from ..errors import JournalError, NotFound
from ..model import FsState
from ..observe.roots import found_soon
from ..report import scheduler as report
from ..report.hotspots import hotspots_text, hotspots_value
from ..report.text import TOP
from ..schedule.record import Kept, is_off
from .declare import Answer, Services, reads, writes


class SchedulerCommands(Services):
    """Keep a file system even without an operator."""

    @writes("scheduler start")
    def scheduler_start(
        self, fs: Optional[str] = None, mode: Optional[str] = None, format: str = "table"
    ) -> Answer:
        """Look at the load every few seconds and tell what to move, or move it.

        --mode is advise, which changes nothing, or act. Without it one that is on stays as it is, and one
        that is off begins to advise.
        """
        found = self.host.fs(fs)
        return _ordered(found, self.scheduling.start(found, mode))

    @writes("scheduler stop", STOP)
    def scheduler_stop(
        self, fs: Optional[str] = None, rollback: bool = False, format: str = "table"
    ) -> Answer:
        """Begin nothing more; with --rollback undo all that was done since the start"""
        found = self.host.fs(fs)
        try:
            return _ordered(found, self.scheduling.stop(found, rollback))
        except NotFound:
            return Answer(report.off_value(found), is_off(found.name))  # it was never started

    @reads("scheduler status")
    def scheduler_status(
        self, fs: Optional[str] = None, format: str = "table", top: int = report.LAST
    ) -> Answer:
        """Show the mode, what the scheduler does and why, and what it leaves alone.

        Also the load, capacity and utilisation of ranks, moves under way, and the last decisions: five of
        each, or --top.
        """
        found = self.host.fs(fs)
        try:
            kept, watch = self.scheduling.get(found), self.scheduling.watch(found)
        except (JournalError, NotFound):
            why = self.ledger.unread(found)
            return Answer(report.off_value(found) | {"problem": why}, why or is_off(found.name))
        seen = report.Status(found, kept, watch, self.scheduling.next_look(found))
        return Answer(report.status_value(seen), report.status_text(seen, top))

    @reads("hotspots")
    def hotspots(self, fs: Optional[str] = None, format: str = "table") -> Answer:
        """Name directories that have become hot, are so from time to time, or always.

        Each with its rank, clients, share of all requests, since when and how often; as the scheduler has
        seen them in the last hour. While it does not look there is no answer but why.
        """
        found = self.host.fs(fs)
        seen = self.scheduling.hotspots(found)
        return Answer(hotspots_value(seen), hotspots_text(seen))

    @reads("scheduler history")
    def scheduler_history(
        self,
        fs: Optional[str] = None,
        directory: Optional[str] = None,
        format: str = "table",
        top: int = TOP,
    ) -> Answer:
        """Show each move: when, from where to where, why, the gain predicted and the real one.

        Also the requests before and since. --directory shows those of one, whatever it was called then (its
        path, or as it is shown).
        """
        found = self.host.fs(fs)
        kept = self.scheduling.get(found)
        one: Optional[report.One] = None
        if directory is not None:
            one = report.One(*found_soon(self.host, found, report.meant(kept, directory)))
        return Answer(report.history_value(kept, one), report.history_text(kept, one, top))


def _ordered(fs: FsState, kept: Kept) -> Answer:
    see = f"see 'ceph mds_partitioner scheduler status {fs.name}'"
    return Answer(report.kept_value(fs, kept), f"{report.mode_line(fs, kept)}\n{see}")
