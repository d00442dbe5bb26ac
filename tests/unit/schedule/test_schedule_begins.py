# SPDX-License-Identifier: LGPL-2.1-or-later
"""A load that begins, or jumps: popularity follows it by and by, and a rank that exports tells nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import Decision, Piece, RankView, View

LOOK = 5.0  # s
CAPACITY = 500.0
BUSY = {1: 10, 2: 11, 3: 12, 4: 13}  # a piece on each of the other ranks
OWN, WAKING = 0, (1, 2, 3, 4)  # all on rank 0


def view(now: float, own: Mapping[int, float], others: float, served: float | None = None) -> View:
    """Rank 0 is full, and serves these; or so much with what is no piece's."""
    total = sum(own.values()) if served is None else served
    ranks = (
        RankView(0, total, 20.0, total > 0.0, CAPACITY),
        *(RankView(r, others, others / 90.0, False, CAPACITY) for r in BUSY),
    )
    pieces = [Piece(ino, f"/p{ino}", 0, rate, 4000.0, parts=0) for ino, rate in own.items()]
    return View(
        now,
        ranks,
        (*pieces, *(Piece(i, f"/p{i}", r, others, 4000.0, parts=0) for r, i in BUSY.items())),
        True,
    )


def follow(looks: Sequence[View]) -> tuple[State, list[Decision]]:
    state, decisions = State(), list[Decision]()
    for each in looks:
        state, decision = Scheduler(state, each, Limits()).decide()
        decisions.append(decision)
    return state, decisions


def even(looks: int = 8) -> list[View]:
    """Each rank has one that is used."""
    own = {OWN: 450.0} | dict.fromkeys(WAKING, 0.0)
    return [view(LOOK * (i + 1), own, 450.0) for i in range(looks)]


def jump(*rates: Sequence[float]) -> list[View]:
    """What wakes has these, look after look; what was used before has less and less."""
    before = even()
    now, left = before[-1].now, [300.0, 100.0, 0.0, 0.0, 0.0, 0.0]
    own = ({OWN: old} | dict(zip(WAKING, new)) for old, new in zip(left, rates))
    return [*before, *(view(now + LOOK * (i + 1), of, left[i]) for i, of in enumerate(own))]


@pytest.mark.parametrize(
    "rates",
    [
        ((120.0, 3.0, 3.0, 3.0), (100.0, 100.0, 100.0, 100.0), (120.0,) * 4),
        ((60.0, 20.0, 20.0, 20.0), (100.0,) * 4, (120.0,) * 4),
    ],
    ids=["one first", "all, by and by"],
)
def test_what_wakes_is_moved_together_when_it_is_known_how_much_each_has(
    rates: tuple[Sequence[float], ...],
) -> None:
    *_, first, second, third = follow(jump(*rates))[1]
    assert not first.moves and "by and by" in first.why
    moves = second.moves or third.moves
    assert {m.ino for m in moves} < set(WAKING) and len(moves) == 3


def test_what_wakes_time_and_again_holds_nothing_up_for_more_than_two_looks() -> None:
    """One more in each look."""
    rates = [[150.0 if i <= look else 0.0 for i in range(4)] for look in range(4)]
    assert [bool(d.moves) for d in follow(jump(*rates))[1][-4:-1]] == [False, False, True]


def test_what_is_told_again_before_ranks_report_is_waited_for_as_well() -> None:
    first = jump((60.0, 20.0, 20.0, 20.0))[8]
    *_, last = follow([*even(), replace(first, now=first.now - 1.0, again=True)])[1]
    assert not last.moves and "by and by" in last.why


def test_what_was_waited_for_in_vain_is_waited_for_when_it_begins_once_more() -> None:
    """It was even again before anything moved."""
    first = jump((60.0, 20.0, 20.0, 20.0))[8]
    calm = [replace(look, now=first.now + LOOK * (i + 1)) for i, look in enumerate(even(40))]
    later = replace(first, now=calm[-1].now + LOOK)
    *_, last = follow([*even(), first, *calm, later])[1]
    assert not last.moves and "by and by" in last.why


def test_the_way_to_what_clients_begin_to_use_is_no_load_that_stays() -> None:
    """They look it up once. Nothing else is learned of a rank until what it gives away has gone."""
    idle = [view(LOOK * (i + 1), dict.fromkeys(WAKING, 0.0), 0.0) for i in range(3)]
    begins = view(20.0, dict.fromkeys(WAKING, 70.0), 0.0, 360.0)
    begins = replace(begins, pieces=tuple(piece._replace(held="pinned") for piece in begins.pieces))
    goes_on = replace(begins, now=25.0)
    assert follow([*idle, begins])[0].rest[0] == 0.0
    assert follow([*idle, begins, goes_on])[0].rest[0] == 80.0, "but this is"
    mostly = replace(begins, ranks=(replace(begins.ranks[0], requests=600.0), *begins.ranks[1:]))
    assert follow([*idle, mostly])[0].rest[0] == 320.0, "what is more than that is not the way there"
    told_again = replace(begins, now=22.0, again=True)  # of pieces: ranks have reported nothing since
    assert follow([*idle, begins, told_again])[0].rest[0] == 0.0
