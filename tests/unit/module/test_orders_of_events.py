# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans of the scheduler, managers that die, MDSs that refuse, an operator: in whatever order, no pin is left
that nobody owns, and none of his is replaced."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

from fake_cluster import SETTINGS, Crash, plan
from scheduled import NOGROUP, Cluster, Manager

from mds_partitioner.act.choice import live
from mds_partitioner.act.merge import ended
from mds_partitioner.act.run import ROLLING_BACK, STOPPED
from mds_partitioner.errors import PartitionerError

HISTORIES = 500
INOS = (100, 101, 102)
OPERATORS = 7  # no plan's pin
PATIENCE = replace(SETTINGS, arrival_timeout=6)


class History:
    """What happens is drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self._dice, self._cluster = random.Random(seed), Cluster(loads=(100.0,) * 4)
        self._cluster.files = dict.fromkeys(INOS, 1)
        for ino in INOS[1:]:
            self._cluster.directories[ino].path = f"{NOGROUP}/s0/{ino}"
        self._cluster.watch = self._seen
        self.wrong: list[str] = []
        self.his = dict.fromkeys(INOS, -1)  # what is to be there at the end
        self._taken: set[int] = set()  # what he took off: nothing that was begun before sets it again
        self._just: set[int] = set()  # what was set in this second
        self._untold: set[int] = set()  # what was in one in which a manager died
        self._take_over()

    def play(self) -> None:
        """Some events, and then, in peace, a rollback of all that is in force."""
        events = (
            *(self._tick, self._tick, self._order, self._order, self._order, self._pin, self._take_over),
            *(self._die, self._roll_back, self._merge, self._refuse, self._hang),
        )
        for _ in range(self._dice.randrange(4, 18)):
            with suppress(PartitionerError):
                self._dice.choice(events)()
        self._cluster.refused.clear()
        self._cluster.lag = 1
        self._pass(1)
        for _ in range(20):
            if live(self._plans.of(self._manager.fs)):
                with suppress(PartitionerError):
                    self._manager.partitioner.rollback(self._manager.fs, None)
                self._pass(12)
        pins = {ino: self._cluster.directories[ino].pin for ino in INOS}
        if pins != self.his or live(self._plans.of(self._manager.fs)):
            self.wrong.append(f"{pins} at the end, not {self.his}")

    def _seen(self, event: str) -> None:
        for ino, directory in self._cluster.directories.items():
            if event.startswith(f"pin {directory.path} "):
                self._just.add(ino)
                if directory.pin == OPERATORS or ino in self._taken:
                    self.wrong.append(f"{event}, where an operator has set {directory.pin}")

    def _take_over(self) -> None:
        self._manager = Manager(self._cluster)
        self._manager.unwanted = lambda fscid: ""
        self._manager.mover._settings = lambda: PATIENCE
        self._plans = self._manager.partitioner.plans

    def _pass(self, seconds: int) -> None:
        for _ in range(seconds):
            self._just.clear()
            try:
                self._manager.mover.tick()
            except Crash:
                self._untold |= self._just
                self._take_over()
            self._cluster.pass_time()
            self._cluster.wall += 1.0
            self._cluster.steady += 1.0

    def _tick(self) -> None:
        self._pass(self._dice.choice((1, 3, 8, 20)))

    def _die(self) -> None:
        self._cluster.crash_at = len(self._cluster.events) + self._dice.randrange(7)
        self._pass(2)
        self._cluster.crash_at = None

    def _order(self) -> None:
        """As the scheduler does: only what has no pin of an operator's. What was decided may be under way."""
        known = self._plans.of(self._manager.fs)
        at = self._cluster.directories
        free = [ino for ino in INOS if OPERATORS not in (at[ino].pin, at[ino].rank)]
        if free and not any(run.head.state == STOPPED or run.heading() == ROLLING_BACK for run in known):
            ino = self._dice.choice(free)
            self._taken.discard(ino)
            made = plan(self._cluster, {ino: self._dice.randrange(4)})
            ordered = replace(made, scheduled=True, created=self._cluster.wall)
            self._plans.admit(self._plans.propose(self._manager.fs, ordered))

    def _pin(self) -> None:
        """He sets his own, or takes off what is there."""
        ino = self._dice.choice(INOS)
        at = self._cluster.directories[ino]
        if at.pin not in (-1, OPERATORS) and ino not in self._untold and not self._waits(ino):
            self._taken.add(ino)
        at.pin = self.his[ino] = OPERATORS if at.pin == -1 else -1

    def _waits(self, ino: int) -> bool:
        """Is a step about it not begun yet? It may find what it was planned upon."""
        known = self._plans.of(self._manager.fs)
        return any(s.ino == ino and i not in r.records for r in known for i, s in enumerate(r.plan.steps))

    def _roll_back(self) -> None:
        self._manager.partitioner.rollback(self._manager.fs, None)

    def _merge(self) -> None:
        runs = self._plans.of(self._manager.fs)
        some = ended(runs, {run.id for run in runs})
        if len(some) > 1:
            self._plans.merge(self._manager.fs, some)

    def _refuse(self) -> None:
        self._cluster.refused ^= {self._cluster.directories[self._dice.choice(INOS)].path}

    def _hang(self) -> None:
        self._cluster.lag = self._dice.choice((0, 1, 3, 1000))


def test_no_order_of_events_leaves_a_pin_that_nobody_owns_or_replaces_an_operators() -> None:
    wrong = {}
    for seed in range(HISTORIES):
        history = History(seed)
        history.play()
        if history.wrong:
            wrong[seed] = history.wrong
    assert not wrong
