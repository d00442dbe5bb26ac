# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler in place of an operator who plans: started, paused, stopped, undone; it acts meanwhile."""

import random
import time

from lab.errors import LabError
from tests.chaos.crank import DONE, STOPPED, Crank

ACT, OFF = "act", "off"
LET = "lets the scheduler act"
LOOKS_S = (2.0, 12.0)  # in which it looks and moves undisturbed
# While it acts, mostly nothing.
ORDERS = [*[LET] * 12, "pause", "pause for 3 s", "resume", "resume", "resume", "stop", "off", "off and undo"]


class SchedulerCrank(Crank):
    """Its plans are the scheduler's."""

    def turn(self, rng: random.Random) -> str:
        """One thing that an operator may do now."""
        self.learn()
        if self._mode() != ACT:
            return self._act()
        order = rng.choice(ORDERS)
        if order.startswith("off"):
            return self._off(order.endswith("undo"))
        if order == LET:
            time.sleep(rng.uniform(*LOOKS_S))
            return LET
        return self._order(order, "of the scheduler")

    def end(self) -> None:
        """It is stopped, and all that it ever did is undone. :raises LabError: no answer"""
        if self._mode() != OFF:
            self._off(undo=True)
            self._cluster.wait("the scheduler has undone what it did", lambda: self._mode() == OFF)
        super().end()

    def _act(self) -> str:
        """What was stopped, or is left of an earlier start, is undone first."""
        left = [plan for plan in self._cluster.module("partition ls") if plan["state"] in (STOPPED, DONE)]
        if left and (self._mode() == OFF or any(plan["state"] == STOPPED for plan in left)):
            return self._order("rollback", left[-1]["name"])  # the newest first
        self.counts["scheduler start"] += 1
        self._cluster.module("scheduler start", mode=ACT)
        return "starts the scheduler"

    def _off(self, undo: bool) -> str:
        self.counts["scheduler stop --rollback" if undo else "scheduler stop"] += 1
        self._cluster.module("scheduler stop", rollback=undo)
        return "stops the scheduler" + (" and undoes all" if undo else "")

    def _mode(self) -> str:
        try:
            return str(self._cluster.module("scheduler status")["mode"])
        except LabError as e:
            raise LabError(f"no mode of the scheduler: {e}") from None
