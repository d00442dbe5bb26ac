# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who turns the plans' crank: analyzes, plans, starts, pauses, resumes, stops, rolls back, removes."""

import json
import random
from collections import Counter
from typing import Any

from lab.errors import LabError
from tests.chaos.cluster import PATIENCE_S, Cluster
from tests.chaos.invariants import ENDED, speechless

ANALYSIS_S = 5
READY, DONE, STOPPED, ROLLED_BACK, ROLLING_BACK = "ready", "done", "stopped", "rolled-back", "rolling-back"


class Crank:
    """Plans of one world; what cannot be known after a lost answer is read from the module."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._analyzed = False
        self._inos: dict[str, list[int]] = {}
        self.counts: Counter[str] = Counter()

    def learn(self) -> None:
        """Which plans there are, what they order, and when their steps were done: before any look at pins."""
        names = self._names()
        for removed in set(self._inos) - set(names):
            del self._inos[removed]  # the name may be another plan's next
        for name in names:
            if name not in self._inos:
                plan = self._cluster.module("partition start", plan=name, dry_run=True)
                self._inos[name] = self._cluster.ordered(plan["steps"])
                self.counts["plans"] += 1
                self.counts["steps"] += len(plan["steps"])
            self._cluster.note_times(self._status(name)["steps"], self._inos[name])

    def turn(self, rng: random.Random) -> str:
        """One thing that an operator may do now."""
        self.learn()
        listed = self._cluster.module("partition ls")
        for plan in listed:
            if plan["state"] not in ENDED:
                return self._disturb(plan["name"], rng)
        for plan in listed:
            if plan["state"] == ROLLED_BACK and rng.random() < 0.5:
                return self._order("rm", plan["name"])
        for plan in reversed(listed):
            if plan["state"] == READY and rng.random() < 0.2:
                return self._order("rm", plan["name"])
            if plan["state"] == READY or (plan["state"] == STOPPED and rng.random() < 0.5):
                return self._order("start", plan["name"])
            if plan["state"] in (DONE, STOPPED) and rng.random() < 0.5:
                return self._order("rollback", plan["name"])
        return self._plan()

    def end(self) -> None:
        """Every plan ends, is undone, newest first, and is forgotten. :raises LabError: no answer"""
        cluster = self._cluster
        for name in reversed(self._names()):
            state = self._status(name)["state"]
            if state not in ENDED and state != ROLLING_BACK:
                self._ends(name, "resume")
            if self._status(name)["state"] in (DONE, STOPPED):
                self._order("rollback", name)
            self._ends(name)
        self.learn()
        cluster.check_restored()
        for name in reversed(self._names()):
            self._order("rm", name)

    def _ends(self, name: str, order: str | None = None) -> None:
        """Wait for its end, resumed if somebody has paused it; one that does not end is a violation."""
        try:
            if order and self._status(name)["by_operator"]:
                self._order(order, name)
            self._cluster.wait(f"plan {name} ends", lambda: self._status(name)["state"] in ENDED)
        except LabError:
            status = self._status(name)
            late = f"{status['state']} for {PATIENCE_S:g} s on a whole file system: {status['why']}"
            self._cluster.wrong += speechless([status]) or [f"plan {name} is {late}"]
            self._order("stop", name)

    def _disturb(self, name: str, rng: random.Random) -> str:
        order = rng.choice(["", "", "", "pause", "pause for 3 s", "resume", "resume", "stop", "rollback"])
        if not order:
            return f"lets {name} go on"
        return self._order(order, name)

    def _order(self, order: str, name: str) -> str:
        self.counts[order] += 1
        more: dict[str, Any] = {"duration": 3} if order == "pause for 3 s" else {}
        if order in ("start", "rollback", "rm"):
            more["plan"] = name
        self._cluster.module(f"partition {order.split(maxsplit=1)[0]}", **more)
        return f"{order}: {name}"

    def _plan(self) -> str:
        if not self._analyzed:
            there = [s.path for s in self._cluster.scan() if s.path.count("/") == 2]
            self._cluster.module("analyze start", duration=ANALYSIS_S, directories=json.dumps(there))
            self._analyzed = True
            return f"analyzes {len(there)} directories"
        self._analyzed = False  # whatever comes of it: a lost analysis is begun again
        if self._cluster.module("analyze status")["state"] == "running":
            self._analyzed = True
            return "waits for the analysis"
        plan = self._cluster.module("partition plan", heavy="fanout")
        return f"makes {plan['name']} of {len(plan['steps'])} steps"

    def _names(self) -> list[str]:
        """Oldest first."""
        return [str(plan["name"]) for plan in self._cluster.module("partition ls")]

    def _status(self, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self._cluster.module("partition status", plan=name)
        return status
