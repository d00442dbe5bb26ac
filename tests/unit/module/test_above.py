# SPDX-License-Identifier: LGPL-2.1-or-later
"""What places directories from above: which of many groups are read in a round, and how often each."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from fake_cluster import Directory
from scheduled import BEGINNING, Cluster, LoadedMount

from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, NotFound
from mds_partitioner.schedule import asking
from mds_partitioner.schedule.asking import FRESH
from mds_partitioner.schedule.catalogue import Catalogue, Wanted
from mds_partitioner.schedule.owned import Owned

GROUPS, ANSWERS = 60, 25
ROUND = 10.0  # s
ALL_READ = 3  # rounds


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for what is not begun."""
    monkeypatch.setattr(asking, "wait", lambda futures, seconds: None)


class Full(Cluster):
    """Groups of one subvolume each, on a rank that answers so many questions about them in a round."""

    def __init__(self) -> None:
        super().__init__([])
        for i in range(GROUPS):
            self.directories |= {1000 + i: Directory(group(i)), 2000 + i: Directory(f"{group(i)}/s")}
        self.asked: list[str] = []
        host: Any = self
        # All are listed each time.
        self.catalogue = Catalogue(host, BEGINNING, lambda: Now(BEGINNING, 0.0))
        self.late = 0.0

    def begin_on_fs(self, fs: Any, question: Any) -> Future[Any]:
        """Host.begin_on_fs."""
        if "Above._read" not in str(question.func):
            return super().begin_on_fs(fs, question)
        if len(self.asked) >= ANSWERS:
            return Future()  # it is not begun
        self.asked.append(question.keywords["path"])
        return super().begin_on_fs(fs, question)

    def round(self, requests: Mapping[str, float] | None = None, owned: Owned | None = None) -> list[str]:
        """What is asked about in the next one."""
        self.asked = []
        now = BEGINNING + self.late
        self.catalogue.refresh(self.state, 200, Wanted(requests or {}), owned or Owned(), now)
        self.late += ROUND
        return self.asked

    @property
    def known(self) -> set[str]:
        """Directories whose facts count."""
        return set(self.catalogue.known.facts)


def group(number: int) -> str:
    return f"/volumes/g{number:02d}"


def test_all_of_many_groups_are_read_by_and_by_and_each_once_a_minute() -> None:
    cluster = Full()
    rounds = [cluster.round() for _ in range(ALL_READ)]
    assert cluster.known == {f"{group(i)}/s" for i in range(GROUPS)}
    assert sorted(path for asked in rounds for path in asked) == ["/volumes", *map(group, range(GROUPS))]
    while cluster.late <= FRESH:
        assert not cluster.round()
    assert [cluster.round() for _ in range(ALL_READ)] == rounds


def test_groups_of_what_has_most_to_do_are_read_first_and_new_ones_before_those_that_are_known() -> None:
    cluster = Full()
    busy = {f"{group(59)}/s": 20.0, f"{group(58)}/s": 30.0, f"{group(7)}/s": 0.0}
    assert cluster.round(busy)[:4] == ["/volumes", group(58), group(59), group(0)]
    for _ in range(ALL_READ):
        cluster.round(busy)
    cluster.late += FRESH
    cluster.directories |= {3000: Directory("/volumes/new"), 3001: Directory("/volumes/new/s")}
    assert cluster.round(busy)[0] == "/volumes/new"
    assert "/volumes/new/s" in cluster.known


def test_groups_that_cannot_be_read_stand_in_the_way_of_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, read = {group(i) for i in range(ANSWERS)}, LoadedMount.ephemeral_pins

    def failing(mount: LoadedMount, path: str) -> tuple[bool, bool]:
        if path in broken:
            raise CephError("it cannot be read")
        return read(mount, path)

    monkeypatch.setattr(LoadedMount, "ephemeral_pins", failing)
    cluster = Full()
    for _ in range(ALL_READ):
        cluster.round()
    assert cluster.known == {f"{group(i)}/s" for i in range(ANSWERS, GROUPS)}
    assert set(cluster.round()) == broken, "and are asked again"


def test_a_group_that_has_just_gone_places_nothing_and_is_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = LoadedMount.ephemeral_pins

    def going(mount: LoadedMount, path: str) -> tuple[bool, bool]:
        if path == group(0):
            raise NotFound("it has gone")
        return read(mount, path)

    cluster = Full()
    with monkeypatch.context() as gone:
        gone.setattr(LoadedMount, "ephemeral_pins", going)
        for _ in range(ALL_READ):
            cluster.round()
    assert f"{group(0)}/s" in cluster.known
    cluster.directories[1000].pin = 2  # another one of that name
    assert cluster.round() == [group(0)]
    assert set(cluster.catalogue.known.above) == {group(0)}


def test_what_we_pin_above_is_read_at_once_and_what_an_operator_pins_within_a_minute() -> None:
    cluster = Full()
    for _ in range(ALL_READ):
        cluster.round()
    cluster.directories[1000].pin, cluster.directories[1001].pin = 2, 3
    ours = Owned({1000: 2}, {1000: BEGINNING + cluster.late - 5.0})
    assert cluster.round(owned=ours) == [group(0)]
    assert not cluster.round(owned=ours)
    cluster.catalogue.doubt({1002})
    assert cluster.round(owned=ours) == [group(2)]
    while cluster.late <= FRESH + ROUND:
        cluster.round(owned=ours)
    assert {path: at.pin for path, at in cluster.catalogue.known.above.items()} == {group(0): 2, group(1): 3}


def test_groups_are_read_again_when_the_clock_was_put_back() -> None:
    cluster = Full()
    cluster.late = 3600.0
    rounds = [cluster.round() for _ in range(ALL_READ)]
    cluster.late = 0.0
    again = [cluster.round() for _ in range(ALL_READ)]
    assert sorted(map(sorted, again)) == sorted(map(sorted, rounds))
    assert not cluster.round()
