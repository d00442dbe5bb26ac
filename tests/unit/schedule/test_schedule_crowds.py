# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks serve what they can, but on one of them many more requests wait than on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mds_partitioner.engine.inside import CROWD
from mds_partitioner.schedule.core import Scheduler
from mds_partitioner.schedule.crowds import CROWDED, STEP
from mds_partitioner.schedule.demand import HELD
from mds_partitioner.schedule.state import FRESH, Limits, State
from mds_partitioner.schedule.view import Decision, Piece, RankView, View

LOOK, SERVED = 5.0, 1000.0  # s, req/s of each rank
INSIDE = (4.0, 4.0, 4.0, 18.0, 18.0)
EACH = 20  # pieces on a crowded rank; on others one has all


def ranks(inside: Sequence[float], served: Mapping[int, float], full: bool = True) -> tuple[RankView, ...]:
    return tuple(
        RankView(r, rate := served.get(r, SERVED), inside=n, full=full, capacity=rate)
        for r, n in enumerate(inside)
    )


def view(
    look: int, inside: Sequence[float] = INSIDE, served: Mapping[int, float] = {}, full: bool = True
) -> View:
    pieces = [
        Piece(100 * r + k, f"/r{r}/{k:02d}", r, served.get(r, SERVED) / each, 100.0)
        for r, n in enumerate(inside)
        for each in [EACH if n >= CROWD else 1]
        for k in range(each)
    ]
    return View(look * LOOK, ranks(inside, served, full), tuple(pieces))


def decided(views: Sequence[View], state: State | None = None) -> tuple[State, list[Decision]]:
    state, found = state or State(), []
    for each in views:
        state, decision = Scheduler(state, each, Limits()).decide()
        found.append(decision)
    return state, found


def test_after_some_looks_a_little_of_what_waits_goes_to_ranks_where_less_does() -> None:
    state, found = decided([view(look) for look in range(HELD + 1)])
    assert [bool(d.moves) for d in found] == [False] * (HELD - 1) + [True, False]
    moves = found[HELD - 1].moves
    assert {m.source for m in moves} == {3} and {m.target for m in moves} <= {0, 1, 2}
    assert "requests wait 18 ms on rank 3, and 10 ms on the mean" in found[HELD - 1].why
    assert all(m.load == pytest.approx(SERVED / EACH) and m.gain == 0.0 for m in moves)
    assert sum(m.load for m in moves) == pytest.approx(STEP * SERVED)
    assert (state.crowded, state.eased) == (HELD, 1) and not found[HELD].moves, (
        "what is under way is waited for"
    )
    after, _ = decided([view(HELD + 1, [9.0] * 5)], replace(state, past=()))
    assert (after.crowded, after.eased) == (0, 0)


def test_when_it_was_seen_what_became_of_it_the_next_go_at_once() -> None:
    state, (*_, first) = decided([view(look) for look in range(HELD)])
    there = {m.ino: m.target for m in first.moves}

    def arrived(look: int) -> View:
        seen = view(look)
        return replace(seen, pieces=tuple(replace(p, rank=there.get(p.ino, p.rank)) for p in seen.pieces))

    _, found = decided([arrived(HELD + look) for look in range(5)], state)
    when = [look for look, d in enumerate(found) if d.moves]
    assert when == [FRESH], "two looks after they came"
    assert not {m.ino for m in found[FRESH].moves} & there.keys()
    assert sum(m.load for m in found[FRESH].moves) == pytest.approx(2.0 * STEP * SERVED), "others came"


@pytest.mark.parametrize(
    "quiet",
    [
        view(0, full=False),
        replace(view(0), ranks=(*view(0, full=False).ranks[:1], *view(0).ranks[1:])),
        view(0, [0.9 * CROWD, 1.0, 1.0, 1.0, 1.0]),
        view(0, [10.0, 9.0, 9.0, 9.0, 9.0 * CROWDED]),
        # A rank that can do less and has less waiting, so that all wait alike.
        view(0, [16.0, 16.0, 16.0, 16.0, 4.0], {4: 250.0}),
        view(0, [0.0] * 5),
        replace(view(0), advised=True),
        replace(view(0), wait="an operator paused it"),
    ],
    ids=[
        "not full",
        "one is not full",
        "few wait",
        "not much worse",
        "unlike ranks",
        "idle",
        "advice",
        "paused",
    ],
)
def test_nothing_is_done(quiet: View) -> None:
    _, found = decided([replace(quiet, now=look * LOOK) for look in range(3 * HELD)])
    assert not any(d.moves for d in found)


def test_one_look_in_between_that_is_not_so_begins_anew() -> None:
    bad, good = [view(look) for look in range(HELD - 1)], view(HELD - 1, [9.0] * 5)
    state, found = decided([*bad, good, *(view(HELD + look) for look in range(HELD - 1))])
    assert not any(d.moves for d in found) and state.crowded == HELD - 1


def test_what_does_not_bring_what_it_costs_stays() -> None:
    dear = tuple(replace(piece, inodes=1e6) for piece in view(0).pieces)
    _, found = decided([replace(view(look), pieces=dear) for look in range(2 * HELD)])
    assert not any(d.moves for d in found)


def test_no_more_is_pinned_than_may_be() -> None:
    most = Limits().pins - 1
    _, found = decided([replace(view(look), pins=most) for look in range(HELD)])
    assert Counter(len(d.moves) for d in found) == {0: HELD - 1, 1: 1}
