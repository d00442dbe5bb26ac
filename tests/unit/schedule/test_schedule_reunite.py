# SPDX-License-Identifier: LGPL-2.1-or-later
"""What becomes one again: within the budgets, and with nothing left behind."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.budgets import Pace
from mds_partitioner.schedule.core.demand import Demand
from mds_partitioner.schedule.core.reunite import QUIET, Reunion, due, highest, quiet
from mds_partitioner.schedule.core.state import Quiet
from mds_partitioner.schedule.core.view import Piece

HOME, AWAY = 0, 1
PLENTY = Pace(moves=100, inodes=1e6, idle=True)
ROOM = {HOME: 100.0, AWAY: 100.0}


def family(*inodes: float, rank: int = AWAY, pin: int = AWAY, ino: int = 1) -> tuple[Piece, ...]:
    """A directory that was taken apart, and its parts."""
    kids = (
        Piece(ino + 1 + i, f"/{ino}/{i}", rank, 1.0, size, within=ino, pin=pin, first=HOME)
        for i, size in enumerate(inodes)
    )
    return (Piece(ino, f"/{ino}", HOME, 0.0, 10.0), *kids)


def moved(pieces: tuple[Piece, ...], pace: Pace = PLENTY, room: dict[int, float] = ROOM) -> list[int]:
    over = {piece.ino for piece in pieces if not piece.within}
    reunion = Reunion(pieces, over, over, set(), room)
    return [move.ino for move in reunion.moves({piece.ino: piece.requests for piece in pieces}, pace)]


def test_pins_and_moves_share_one_budget() -> None:
    pieces = (*family(*[10.0] * 5), *family(*[10.0] * 5, rank=HOME, ino=100))
    assert len(moved(pieces)) == 10
    assert len(moved(pieces, replace(PLENTY, moves=7))) == 7


def test_what_was_never_pinned_or_came_from_elsewhere_stays_as_it_is() -> None:
    assert moved(family(10.0, pin=-1)) == []
    elsewhere = tuple(piece._replace(first=2 if piece.within else -1) for piece in family(10.0, 1.0))
    assert moved(elsewhere) == []
    along = tuple(piece._replace(first=2) for piece in family(10.0))
    assert moved(along) == [2]


def test_what_is_too_large_holds_up_no_other_and_goes_alone() -> None:
    pieces = (*family(9000.0, 10.0), *family(10.0, 9000.0, ino=100))
    assert moved(pieces, replace(PLENTY, inodes=6000.0, idle=False)) == [3, 101]
    assert moved(pieces, replace(PLENTY, inodes=6000.0)) == [2]


def test_what_finds_no_room_takes_none() -> None:
    pieces = tuple(p._replace(requests=90.0 if p.ino == 2 else 20.0) for p in family(*[10.0] * 4))
    assert moved(pieces, room={HOME: 50.0, AWAY: 50.0}) == [3, 4]


def test_what_was_emptied_loses_its_pin_where_it_is() -> None:
    pieces = family(1.0)
    (move,) = Reunion(pieces, {1}, {1}, set(), ROOM).moves({1: 0.0, 2: 0.0}, PLENTY)
    assert (move.source, move.target, move.pin) == (AWAY, AWAY, -1)


def test_where_a_rank_is_not_shown_nothing_is_done() -> None:
    assert moved(family(10.0), room={HOME: 100.0}) == []
    assert moved(family(10.0, rank=HOME), room={AWAY: 100.0}) == []


def test_it_is_whole_when_nothing_of_it_is_pinned_but_what_an_operator_has() -> None:
    done = family(10.0, 10.0, rank=HOME, pin=-1)
    held = {"held": "pinned by an operator", "rank": AWAY}
    his = tuple(piece._replace(**held) if piece.ino == 3 else piece for piece in done)
    strange = tuple(piece._replace(strangers=not piece.within) for piece in done)
    for pieces, whole in ((done, (1,)), (his, (1,)), (strange, ()), (family(10.0, rank=HOME), ())):
        assert Reunion(pieces, {1}, {1}, set(), ROOM).whole() == whole


@pytest.mark.parametrize(("share", "passes"), [(500.0, True), (5.0, False), (0.0, False)])
def test_nights_do_not_count_though_somebody_is_about(share: float, passes: bool) -> None:
    """A client that does next to nothing, or the module's own questions."""
    piece = Piece(1, "/s", HOME, 0.2, 10.0)
    found = quiet({1: Quiet(60.0)}, {1}, [piece], {1: Demand(0.2)}, (), share, 1000.0, 5.0)
    assert found == {1: Quiet(65.0 if passes else 60.0)}


def days(busy: Callable[[int], bool], most: int = 3) -> float:
    """When it is due, in days with 17 hours of work each, if it is used in these minutes of a day."""
    before, peak = dict[int, Quiet](), 0.0
    for minute in range(most * 1440):
        used = busy(minute % 1440)
        share = 250.0 if used else 5.0 if minute % 1440 < 420 else 200.0
        peak, own = highest(peak, share, 60.0), 1000.0 if used else 1.0
        piece = Piece(1, "/s", HOME, own, 10.0)
        before = quiet(before, {1}, [piece], {1: Demand(own)}, (), share, peak, 60.0)
        if due(before):
            return minute / 1440.0
    return math.inf


@pytest.mark.parametrize(
    ("busy", "over"),
    [
        (lambda minute: False, True),
        (lambda minute: 120 <= minute < 122, True),
        (lambda minute: minute in (120, 600, 601), True),
        (lambda minute: 120 <= minute < 130, False),
        (lambda minute: minute % 60 < 3, False),
    ],
)
def test_a_walk_of_two_minutes_a_night_keeps_no_pins(busy: Callable[[int], bool], over: bool) -> None:
    """What is used for longer, or time and again, is in use."""
    assert (days(busy) < 3.0) == over


def test_what_is_used_just_now_is_not_due() -> None:
    over, piece = {1: Quiet(QUIET)}, Piece(1, "/s", HOME, 1000.0, 10.0)
    used = quiet(over, {1}, [piece], {1: Demand(1000.0)}, (), 300.0, 300.0, 5.0)
    assert due(over) == {1} and used[1].passed == QUIET and not due(used)
    calm = [piece._replace(requests=1.0)]
    for _ in range(30):  # a pause of half an hour among those who come back
        used = quiet(used, {1}, calm, {1: Demand(1.0)}, (), 300.0, 300.0, 60.0)
    assert not due(used)
    for _ in range(10):
        used = quiet(used, {1}, calm, {1: Demand(1.0)}, (), 300.0, 300.0, 60.0)
    assert due(used) == {1}


def test_what_is_used_for_half_a_minute_each_hour_keeps_its_ranks() -> None:
    before = {1: Quiet()}
    for second in range(0, 3 * 86_400, 30):
        own = 1000.0 if second % 3600 == 0 else 1.0
        piece = Piece(1, "/s", HOME, own, 10.0)
        before = quiet(before, {1}, [piece], {1: Demand(own)}, (), 300.0, 300.0, 30.0) or {1: Quiet()}
        assert not due(before)
