# SPDX-License-Identifier: LGPL-2.1-or-later
"""How soon the scheduler knows what it may move, and at what pace it reads when nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_cluster import SETTINGS, Directory
from scheduled import NOGROUP, Cluster, LoadedMount, Manager

from mds_partitioner.errors import Unavailable
from mds_partitioner.schedule.record import ACT, ADVISE, Turn

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


class Woken(Manager):
    """The loop that reads begins at once when it is woken."""

    _reads = False

    def _wake(self) -> None:
        super()._wake()
        if not self._reads:
            self._reads = True
            self.rounds.read()
            self._reads = False


def until(manager: Manager, seconds: int, found: Callable[[Turn], object]) -> float:
    """When it first decided so, by the steady clock, s."""
    for _ in range(seconds):
        manager.run(1)
        if any(map(found, manager.scheduling.get(manager.fs).turns)):
            return manager.cluster.steady
    raise AssertionError("it never did")


def large() -> Manager:
    """All is in a directory with four parts, which fits nowhere, of a full rank."""
    cluster = Cluster([0.0, 1.0, 1.0])
    for i in range(4):
        cluster.directories[200 + i] = Directory(f"{NOGROUP}/s0/c{i}")
        cluster.load[200 + i] = 100.0
    manager = Woken(cluster)
    manager.scheduling.start(manager.fs, ACT)
    return manager


def test_what_is_in_parts_now_is_seen_so_at_once() -> None:
    manager = large()
    until(manager, 60, lambda turn: turn.split)
    manager.run(1)
    seen = manager.scheduling.watch(manager.fs).view
    assert seen is not None and {p.ino for p in seen.pieces if p.within} == {200, 201, 202, 203}
    assert not manager.failures["looks"]


def test_what_a_full_rank_has_is_looked_at_again_as_soon_as_its_parts_are_counted() -> None:
    """Not a whole look later."""
    manager = large()
    watch = manager.scheduling.watch(manager.fs)
    while watch.pressing_since is None:
        manager.run(1)
    began = watch.pressing_since
    assert until(manager, 60, lambda turn: True) - began <= 2.0


def test_it_is_looked_at_before_its_time_once_in_an_interval() -> None:
    manager = large()
    watch, looks = manager.scheduling.watch(manager.fs), []
    for now in range(100, 120):
        watch.due = 1000.0
        watch.hasten(float(now), 5.0)
        looks.append(watch.due < 1000.0)
    assert looks == [number % 5 == 0 for number in range(20)]
