# SPDX-License-Identifier: LGPL-2.1-or-later
"""The events: drawn from a seed, done one by one, then everything is healed and checked."""

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from lab.daemons import log_tail
from lab.errors import LabError
from tests.chaos.actors import WEIGHTS
from tests.chaos.cluster import RANKS, Cluster
from tests.chaos.crank import Crank

CRANK = "the crank"
CRANK_PART = 0.5  # of all events
LOOK_EVERY = 10  # events
PAUSE_S = (0.2, 3.0)  # between two events


class Scenario:
    """One run. What is drawn depends on the seed alone; what comes of it on the cluster, too."""

    def __init__(self, cluster: Cluster, crank: Crank, seed: int, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._rng = random.Random(seed)
        self._tell = tell
        self._crank = crank
        self.events: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def run(self, seconds: float) -> None:
        """Events, for so many seconds."""
        end = time.monotonic() + seconds
        self._cluster.begin_load()
        while time.monotonic() < end:
            self._one()
            if self.events.total() % LOOK_EVERY == 0:
                self._look()
            time.sleep(self._rng.uniform(*PAUSE_S))

    def end(self) -> None:
        """Heal, let the plans end, undo them, and check. :raises LabError: it does not heal"""
        cluster = self._cluster
        cluster.stop_load()
        for daemon, pids in cluster.lab.daemons().items():
            if not pids:
                cluster.wrong.append(f"{daemon} has died by itself")
                self._tell(log_tail(cluster.lab.name, daemon))
                cluster.lab.start(daemon)
        cluster.mon("fs set", fs_name=cluster.fs, var="max_mds", val=str(RANKS))
        cluster.wait_whole()
        cluster.check_now(self._crank.learn)
        self._crank.end()
        cluster.check_forgotten()

    def _one(self) -> None:
        crank = self._rng.random() < CRANK_PART
        actor = self._rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        name, rng = CRANK if crank else actor.__name__, random.Random(self._rng.random())
        self.events[name] += 1
        try:
            self._tell(self._crank.turn(rng) if crank else actor(self._cluster, rng))
        except LabError as e:
            self.refusals[name] += 1
            self._tell(f"{name}: {e}")

    def _look(self) -> None:
        try:
            self._cluster.wait_whole()
            self._cluster.check_now(self._crank.learn)
        except LabError as e:
            self._tell(f"a look: {e}")

    def result(self) -> dict[str, Any]:
        """What happened, and what was wrong."""
        return {
            "events": dict(self.events),
            "refused_or_lost": dict(self.refusals),
            "plans": dict(self._crank.counts),
            "operator_pins": len(self._cluster.history.operator),
            "violations": sorted(set(self._cluster.wrong)),
            "nobody_can_tell": self._cluster.excused,
        }
