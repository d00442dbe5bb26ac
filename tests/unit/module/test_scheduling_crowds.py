# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler in the manager, where all ranks are full and on one of them most wait."""

from __future__ import annotations

import pytest
from scheduled import Cluster, Manager

from mds_partitioner.report.scheduler import One, history_text
from mds_partitioner.schedule.record import ACT, ADVISE, gains

CAPACITY = 300.0  # req/s


class Crowded(Cluster):
    """Each rank serves what it can, and has the more inside the more is asked of it."""

    def counter(self, mds: str, path: str) -> list[tuple[float, ...]]:
        """Host.counter."""
        if path != "mds.reply_latency":
            return super().counter(mds, path)
        served = CAPACITY
        latency = 4.0 * self.demand(int(mds[1:])) / CAPACITY / served
        return [(self.wall - 5.0, 0.0, 0.0), (self.wall, 5 * served * latency * 1e9, 5 * served)]


@pytest.fixture
def cluster() -> Crowded:
    """Rank 0 is asked for five times what it can serve, by twenty directories; others for a little more."""
    found = Crowded([75.0] * 20 + [310.0] * 3, ranks=4, capacity=CAPACITY)
    for i in range(3):
        found.directories[120 + i].rank = i + 1
    return found


def why(manager: Manager) -> list[str]:
    kept = manager.scheduling.get(manager.fs)
    return [turn.why for turn in kept.turns if "requests wait" in turn.why]


def test_those_that_wait_go_elsewhere_and_nothing_is_said_to_be_gained(cluster: Crowded) -> None:
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ACT)
    manager.run(100)
    assert why(manager) and cluster.demand(0) < 1_200.0
    kept = manager.scheduling.get(manager.fs)
    eased = [turn for turn in kept.turns if "requests wait" in turn.why]
    assert all(turn.gain == 0.0 and turn.real is None for turn in eased)
    assert all("req/s that wait" in past.move.why for turn in eased for past in turn.moves)
    assert gains(eased, 0.0).settled == 0, "no prediction, so none that was wrong"
    path = eased[0].moves[0].move.path
    assert "ms on rank 0, and" in history_text(kept, One(path), 0)
    before = cluster.snapshot()
    manager.scheduling.stop(manager.fs, rollback=True)
    manager.run(100)
    assert cluster.snapshot() != before and cluster.demand(0) == 1_500.0


def test_advice_is_of_what_ranks_serve(cluster: Crowded) -> None:
    manager = Manager(cluster)
    manager.scheduling.start(manager.fs, ADVISE)
    manager.run(100)
    assert not why(manager)
