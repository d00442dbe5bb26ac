# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a look knows: once made, it holds whatever is ordered; what was ordered is expected at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from test_schedule_core import Cluster, hot
from test_schedule_together import Spool

from mds_partitioner.schedule.core.apart import opened
from mds_partitioner.schedule.core.learn import looked
from mds_partitioner.schedule.core.look import Look
from mds_partitioner.schedule.core.state import Limits, Past, Scattered, State
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View

ONCE = ("pieces", "linked", "full", "crawling", "capacity", "band")


def turning() -> None:
    """The slow rank crawls, and the load goes elsewhere now and then."""
    cluster = Cluster(dict.fromkeys(range(1, 21), 60.0), capacity={1: 300.0}, parts={1: 4, 2: None})

    def turn(look: int) -> None:
        if look % 20 == 0:
            cluster.rates |= dict.fromkeys(range(1, 11), 120.0 if look % 40 else 20.0)

    cluster.go(120, turn)


def of_files() -> None:
    """One directory is distributed, another one taken apart."""
    cluster = Cluster(
        {1: 2000.0, 2: 1500.0, 3: 10.0}, scatters={1: (0, 1, 2, 3)}, files=frozenset({1}), parts={2: 9}
    )
    cluster.go(60)


@pytest.mark.parametrize(
    "run", [lambda: hot(40, 60.0).go(30), turning, of_files, lambda: Spool().go(60)], ids=range(4)
)
def test_what_is_made_once_is_what_would_be_made_anew_after_each_order(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]
) -> None:
    then, times = Look.then, list[bool]()

    def checked(look: Look, state: State) -> Look:
        new, anew = then(look, state), Look.at(state, look.view, look.limits)
        assert [getattr(new, name) for name in ONCE] == [getattr(anew, name) for name in ONCE]
        if look.pieces.keys() <= state.demand.keys():  # of what was just taken apart nobody asks any more
            assert new.loads == anew.loads
        times.append(new.expected is not look.expected)
        return new

    monkeypatch.setattr(Look, "then", checked)
    run()
    assert {True, False} <= set(times), "some orders change what is expected, and most do not"


@pytest.mark.parametrize("moving", [True, False])
def test_what_is_in_parts_counts_once_as_they_come_to_be_known(moving: bool) -> None:
    """Also on a rank that is not seen as it is, as something else moves from there."""
    head, other = Piece(1, "/1", 0, 600.0, 10.0), Piece(2, "/2", 0, 100.0, 10.0)
    kids = tuple(Piece(10 + i, f"/1/{i}", 0, 190.0, 3.0, within=1) for i in range(3))
    in_parts = (*kids, head._replace(requests=30.0), other)
    state, way = State(), Past(Move(2, "/2", 0, 1, 100.0, 100.0, 10.0, ""), 5.0)
    for at, pieces in ((5.0, (head, other)), (10.0, (head, other)), (15.0, in_parts)):
        view = View(at, (RankView(0, 700.0), RankView(1, 0.0)), pieces)
        state = looked(state, view, Limits())
        if at == 5.0:
            state = opened(replace(state, past=(way,) if moving else ()), (1,), {1, 2})
    assert sum(known.mean for ino, known in state.demand.items() if ino != 2) == pytest.approx(600.0)


@pytest.mark.parametrize(
    ("ordered", "loads"),
    [
        ({}, {0: 300.0, 1: 0.0}),
        ({"held": 3}, {0: 300.0, 1: 0.0}),
        ({"past": (Past(Move(1, "/1", 0, 1, 200.0, 200.0, 10.0, ""), 5.0),)}, {0: 100.0, 1: 200.0}),
        ({"scattered": {1: Scattered((0, 1), 5.0)}}, {0: 200.0, 1: 100.0}),
        ({"apart": frozenset({2})}, {0: 250.0, 1: 50.0}),
    ],
    ids=["nothing", "no order", "a move", "a distribution", "a directory that is to be taken apart"],
)
def test_what_is_ordered_is_expected_at_once(ordered: dict[str, Any], loads: dict[int, float]) -> None:
    pieces = (Piece(1, "/1", 0, 200.0, 10.0), Piece(2, "/2", 0, 100.0, 10.0))
    view = View(5.0, (RankView(0, 300.0), RankView(1, 0.0)), pieces)
    look = Look.at(looked(State(), view, Limits()), view, Limits())
    assert look.then(replace(look.state, **ordered)).loads == pytest.approx(loads)


def test_a_look_before_ranks_report_again_teaches_nothing_of_them_twice() -> None:
    ranks = (RankView(0, 900.0, 9.0, True, 900.0), RankView(1, 100.0, 1.0))
    pieces = (Piece(1, "/a", 0, 900.0, 1.0), Piece(2, "/b", 1, 100.0, 1.0))
    moved = Past(Move(2, "/b", 0, 1, 100.0, 90.0, 1.0, ""), begun=80.0, arrived=90.0, looks=0)
    before = looked(State(at=90.0, past=(moved,)), View(95.0, ranks, pieces), Limits())
    again = looked(before, View(96.0, ranks, pieces, again=True), Limits())
    later = looked(before, View(100.0, ranks, pieces), Limits())
    assert (again.rates, again.dt, again.past[0].looks) == (before.rates, before.dt, before.past[0].looks)
    assert (len(later.rates[0]), later.dt, later.past[0].looks) == (2, 5.0, 2)
