# SPDX-License-Identifier: LGPL-2.1-or-later
"""How soon the scheduler knows what it may move, and at what pace it reads when nobody waits for it."""

from __future__ import annotations

import pytest
from fake_cluster import SETTINGS
from scheduled import Cluster, LoadedMount, Manager

from mds_partitioner.errors import Unavailable
from mds_partitioner.schedule.record import ADVISE

MANY = 500  # directories, all alike
PACED = SETTINGS.epoch * MANY / SETTINGS.rentries_per_epoch  # s that all take with pauses


@pytest.mark.parametrize(("load", "waited"), [(2.0, True), (0.02, False)])
def test_what_may_relieve_a_full_rank_is_read_without_pauses(load: float, waited: bool) -> None:
    manager = Manager(Cluster((load,) * MANY))
    manager.scheduling.start(manager.fs, ADVISE)
    watch = manager.scheduling.watch(manager.fs)
    seconds = 0
    while not watch.known.directories or watch.catalogue.known.unread:
        manager.run(1)
        seconds += 1
    assert watch.state.acting is waited
    assert seconds <= PACED / 2.0 if waited else seconds >= PACED


def test_what_is_not_answered_is_not_asked_for_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def silent(_: LoadedMount, path: str) -> tuple[int, int]:
        asked.append(path)
        raise Unavailable("no MDS answers")

    monkeypatch.setattr(LoadedMount, "rentries_and_pin", silent)
    manager = Manager(Cluster((2.0,) * MANY))
    manager.scheduling.start(manager.fs, ADVISE)
    seconds = 20
    manager.run(seconds)
    assert manager.scheduling.watch(manager.fs).pressing_since is not None
    assert 0 < len(asked) <= SETTINGS.rentries_per_epoch * (1 + seconds / SETTINGS.epoch)
