# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether a load goes from rank to rank by itself."""

import math

import pytest

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.roams import GONE, LATE, MEMORY, Roams
from mds_partitioner.schedule.core.state import Limits, Past, Scattered, State
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View

LOOK = 5.0  # s
LIFTED = Move(1, "/p", 0, 3, 800.0, 600.0, 5000.0, "")
HOT = Roams(0, since=0.0, at=20.0, requests=1000.0)


@pytest.mark.parametrize(
    ("served", "ours", "now", "stays"),
    [
        ({0: 300.0, 1: 1000.0}, 0.0, 25.0, ((25.0, 25.0),)),
        ({0: 300.0, 1: 1000.0}, 300.0, 25.0, ((25.0, 25.0),)),
        ({0: 300.0, 1: 1000.0}, 400.0, 25.0, ()),
        ({0: 990.0, 1: 1000.0}, 0.0, 25.0, ()),
        ({1: 1000.0}, 0.0, 25.0, ()),
        ({0: 300.0, 1: 1000.0}, 0.0, 21.0 + GONE, ()),
    ],
    ids=[
        "it went",
        "it went, and some was moved",
        "it was moved",
        "two ranks have most by turns",
        "the rank is gone",
        "it ended, and later another one began",
    ],
)
def test_a_load_has_gone_elsewhere_when(
    served: dict[int, float], ours: float, now: float, stays: tuple[tuple[float, float], ...]
) -> None:
    seen = HOT.seen([1], served, ours, now, LOOK)
    assert (seen.rank, seen.since, seen.at, seen.requests) == (1, now - LOOK, now, 1000.0)
    assert seen.stays == stays


def test_what_stays_where_it_was_is_the_same_load() -> None:
    seen = HOT.seen([2, 0], {0: 950.0, 2: 1000.0}, 0.0, 25.0, LOOK)
    assert seen == Roams(0, 0.0, 25.0, 950.0)
    assert HOT.seen([], {0: 10.0}, 0.0, 25.0, LOOK) == HOT


def test_it_is_forgotten_how_long_loads_stayed_long_ago() -> None:
    known = Roams(0, 0.0, 20.0, 1000.0, ((10.0, 10.0), (20.0, 10.0)))
    assert known.seen([], {}, 0.0, 15.0 + MEMORY, LOOK).stays == ((20.0, 10.0),)


@pytest.mark.parametrize(
    ("stayed", "lasts"),
    [(0.0, 40.0 - LATE), (25.0, 15.0 - LATE), (40.0, 0.0), (100.0, 60.0 - LATE)],
    ids=["it has just come", "it has been there for a while", "as long as usual", "for longer"],
)
def test_it_stays_as_long_as_before_or_as_long_again(stayed: float, lasts: float) -> None:
    roams = Roams(0, 0.0, 5.0, 1000.0, ((-60.0, 30.0), (-10.0, 50.0)))
    assert (roams.usual, roams.lasts(stayed)) == (40.0, lasts)
    assert Roams().lasts(stayed) == math.inf


@pytest.mark.parametrize(
    ("past", "ours"),
    [
        (Past(LIFTED, 85.0, 95.0, 9, 0.0), True),
        (Past(LIFTED, 60.0, 95.0, 1), True),
        (Past(LIFTED, 85.0, 95.0, 9, 0.0, lost=True), False),
        (Past(LIFTED, 60.0, 75.0, 9, 800.0), False),
    ],
    ids=["in parts since", "begun before the rank was full once more", "it did not come", "long before"],
)
def test_what_was_moved_away_did_not_go_by_itself(past: Past, ours: bool) -> None:
    """Ranks report late: what it left is seen when it has come, and is in its parts."""
    known = State(at=95.0, split=frozenset({1}), past=(past,), roams=Roams(0, 80.0, 95.0, 900.0))
    parts = [Piece(10 + i, f"/p/{i}", 3, 50.0, 300.0, 1) for i in range(16)]
    ranks = RankView(0, 100.0), RankView(1, 0.0), RankView(2, 0.0), RankView(3, 800.0, 9.0, True)
    view = View(100.0, ranks, (Piece(1, "/p", 3, 0.0, 1.0), *parts), True)
    state, _ = Scheduler(known, view, Limits()).decide()
    assert (state.roams.rank, state.roams.stays) == (3, () if ours else ((100.0, 20.0),))


@pytest.mark.parametrize(("passed", "went"), [(0.0, ((100.0, 90.0),)), (700.0, ())])
def test_what_a_rank_passes_on_has_not_gone_from_there_by_itself(
    passed: float, went: tuple[tuple[float, float], ...]
) -> None:
    ranks = (RankView(0, 100.0, forwards=passed), RankView(1, 0.0), RankView(2, 0.0))
    view = View(100.0, (*ranks, RankView(3, 800.0, 9.0, True)), (Piece(2, "/q", 3, 800.0, 500.0),), True)
    state, _ = Scheduler(State(at=95.0, roams=Roams(0, 10.0, 95.0, 900.0)), view, Limits()).decide()
    assert (state.roams.rank, state.roams.stays) == (3, went)


@pytest.mark.parametrize(
    ("begun", "lost", "ours"), [(85.0, False, True), (85.0, True, False), (40.0, False, False)]
)
def test_what_was_distributed_did_not_go_by_itself(begun: float, lost: bool, ours: bool) -> None:
    done = {9: Scattered((0, 1, 2, 3), begun, lost)}
    known = State(at=95.0, scattered=done, roams=Roams(0, 80.0, 95.0, 900.0))
    ranks = RankView(0, 100.0), RankView(1, 0.0), RankView(2, 0.0), RankView(3, 800.0, 9.0, True)
    view = View(100.0, ranks, (Piece(9, "/d", None, 800.0, 1.0),), True)
    state, _ = Scheduler(known, view, Limits()).decide()
    assert (state.roams.rank, state.roams.stays) == (3, () if ours else ((100.0, 20.0),))


def test_a_load_that_stays_stays_though_all_that_is_served_rises_and_falls() -> None:
    state = State(roams=Roams(0, 0.0, 100.0, 1000.0, ((-10.0, 30.0),)))
    for look, others in enumerate((300.0, 300.0, 30.0, 300.0, 300.0)):
        ranks = RankView(0, 1000.0, 9.0, True, 1000.0), *(RankView(rank, others / 3.0) for rank in (1, 2, 3))
        pieces = tuple(Piece(1 + r.rank, f"/{r.rank}", r.rank, r.requests, 9000.0) for r in ranks)
        view = View(100.0 + LOOK * (look + 1), ranks, pieces, True)
        state, _ = Scheduler(state, view, Limits()).decide()
    assert (state.roams.since, state.roams.at) == (0.0, 125.0)
