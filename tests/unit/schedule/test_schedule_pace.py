# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much is under way at once while clients suffer by it, and when they do no more."""

from dataclasses import replace

import pytest

from mds_partitioner.schedule.core import Scheduler
from mds_partitioner.schedule.pace import LEAST, pace
from mds_partitioner.schedule.state import Limits, State
from mds_partitioner.schedule.view import Piece, RankView, View

LOOK = 5.0  # s


@pytest.mark.parametrize(
    ("before", "calm", "requests", "moving", "after"),
    [
        (1.0, 1000.0, 600.0, True, 0.5),
        (0.2, 1000.0, 0.0, True, LEAST),
        (0.5, 1000.0, 750.0, True, 0.625),
        (0.5, 1000.0, 600.0, False, 0.625),
        (1.0, 1000.0, 2000.0, True, 1.0),
        (1.0, 0.0, 0.0, True, 1.0),
    ],
    ids=["they suffer", "no less", "they do not", "by themselves", "they get more", "nothing is known"],
)
def test_pace(before: float, calm: float, requests: float, moving: bool, after: float) -> None:
    assert pace(before, calm, requests, moving) == after


def view(now: float, served: float) -> View:
    """Forty pieces on rank 0, which is full."""
    ranks = (RankView(0, served, 20.0, True), *(RankView(rank, 0.0) for rank in (1, 2, 3)))
    pieces = tuple(Piece(ino, f"/p{ino}", 0, served / 40.0, 1000.0) for ino in range(1, 41))
    return View(now, ranks, pieces, harmful=True)


def test_a_cluster_whose_clients_suffer_is_given_less_at_once() -> None:
    limits = Limits(inodes=8000.0)
    state, first = Scheduler(State(), view(LOOK, 1000.0), limits).decide()
    assert len(first.moves) == 8
    suffers, _ = Scheduler(state, view(2 * LOOK, 100.0), limits).decide()
    assert suffers.pace == 0.5
    there = replace(suffers, past=(), stale=frozenset())
    _, then = Scheduler(there, view(3 * LOOK, 1000.0), limits).decide()
    assert len(then.moves) == 5
    assert "62% of the budgets" in then.why


def test_clients_that_left_while_something_moves_do_not_slow_it_for_ever() -> None:
    state, _ = Scheduler(State(), view(LOOK, 1000.0), Limits(inodes=8000.0)).decide()
    paces = []
    for look in range(2, 40):
        state, _ = Scheduler(state, view(look * LOOK, 300.0), Limits(inodes=8000.0)).decide()
        paces.append(state.pace)
    assert min(paces) < 0.5 and paces[-1] == 1.0
