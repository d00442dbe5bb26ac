# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is left of a directory whose parts went from where it was: it is not left behind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mds_partitioner.model import NO_PIN
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.learn import looked
from mds_partitioner.schedule.core.look import Look
from mds_partitioner.schedule.core.state import Limits, Past, State
from mds_partitioner.schedule.core.together import Whole
from mds_partitioner.schedule.core.toll import Toll
from mds_partitioner.schedule.core.upwards import MANY, ahead
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View

LOOK = 5.0  # s
HEAD, HELD = 1, 9
LIMITS = Limits(daily=100, pins=100)


def view(kids: Sequence[int], *, full: bool = True, top: float = 0.0) -> View:
    """It is on rank 0, which passes on what is asked of its parts, 100 req/s each on these ranks. An operator
    has pinned what has so many req/s to rank 3."""
    load = [100.0 * kids.count(rank) + (top if rank == 3 else 5.0 * (rank == 0)) for rank in range(4)]
    passed = sum(load[1:]) - top
    ranks = [RankView(r, load[r], 0.5, r == 3 and top > 1000.0, 1000.0) for r in range(4)]
    ranks[0] = RankView(
        0, load[0], 20.0 if full else 0.5, full, max(load[0], 1000.0 - passed), forwards=passed
    )
    parts = [
        Piece(100 + i, f"/p/{i}", rank, 100.0, 200.0, within=HEAD, pin=rank or NO_PIN)
        for i, rank in enumerate(kids)
    ]
    held = [Piece(HELD, "/held", 3, top, 1000.0, held="pinned")] if top else []
    return View(LOOK, tuple(ranks), (Piece(HEAD, "/p", 0, 5.0, 10.0), *parts, *held), full)


def raised(seen: View, *under_way: Move) -> list[int]:
    """Where it goes, by and by; what is ordered otherwise is not done."""
    past = tuple(Past(move, LOOK) for move in under_way)
    state, goals = State(split=frozenset({HEAD}), past=past), []
    for look in range(6):
        pinned = {p.move.ino: p.move.pin for p in state.past if p.move.keeps}
        pieces = tuple(p._replace(pin=pinned.get(p.ino, p.pin)) for p in seen.pieces)
        now = replace(seen, now=LOOK * (look + 1), pieces=pieces)
        state, decision = Scheduler(state, now, LIMITS).decide()
        goals += [move.target for move in decision.moves if move.ino == HEAD]
    return goals


@pytest.mark.parametrize(
    ("kids", "top", "goals"),
    [
        ((0, 1, 1, 2, 2, 3), 0.0, [3]),
        ((0, 1, 1, 1, 2, 2, 2), 1300.0, [2]),
        ((0, 1, 2, 3, 3, 3), 1300.0, []),
    ],
    ids=["the highest", "the highest is full of others", "the next one would pass on as much"],
)
def test_beside_a_highest_rank_without_room_it_goes_to_the_next(
    kids: Sequence[int], top: float, goals: list[int]
) -> None:
    assert raised(view(kids, top=top)) == goals


@pytest.mark.parametrize(
    ("ino", "source", "target", "goals"),
    [(50, 1, 2, [3]), (50, 0, 2, []), (50, 1, 0, []), (101, 1, 2, [])],
    ids=["others", "from its rank", "to its rank", "a part"],
)
def test_it_waits_for_what_moves_of_its_own_alone(
    ino: int, source: int, target: int, goals: list[int]
) -> None:
    """Where loads come and go something moves nearly all the time."""
    seen = view((0, 1, 1, 2, 2, 3))
    seen = replace(seen, pieces=(*seen.pieces, Piece(50, "/other", source, 0.0, 500.0)))
    assert raised(seen, Move(ino, "", source, target, 50.0, 10.0, 500.0, "")) == goals


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("used", [{"begun": 60}, {"pins": 60}], ids=["moves", "pins"])
def test_what_fills_a_rank_with_what_it_passes_on_does_not_wait_for_half_of_the_budgets(
    used: dict[str, Any], full: bool
) -> None:
    """Nobody waits for it where its rank is not full."""
    seen = replace(view((0, 1, 1, 2, 2, 3), full=full), **used)
    assert raised(seen) == ([3] if full else [])


@pytest.mark.parametrize("used", [{"begun": 100}, {"pins": 100}], ids=["moves", "pins"])
def test_without_any_budget_it_waits(used: dict[str, Any]) -> None:
    assert raised(replace(view((0, 1, 1, 2, 2, 3)), **used)) == []


@pytest.mark.parametrize(("advised", "goals"), [(True, [3]), (False, [])])
def test_who_follows_advice_is_told_to_move_it_first(advised: bool, goals: list[int]) -> None:
    """No advice is given of what is left, for which it takes what clients make of the moves before."""
    load = [1000.0, 50.0, 50.0, 50.0]
    ranks = tuple(RankView(r, load[r], 40.0 if r == 0 else 0.5, r == 0, 1000.0) for r in range(4))
    state, found = State(), []
    for look in range(8):
        seen = View(LOOK * (look + 1), ranks, (Piece(HEAD, "/p", 0, 1000.0, 2000.0, parts=8),), True)
        state, decision = Scheduler(state, replace(seen, advised=advised), LIMITS).decide()
        found += [move.target for move in decision.moves]
        if decision.split:
            break
    assert found == goals


@pytest.mark.parametrize(("own", "late"), [(0.0, LOOK), (5.0, 90.0)], ids=["no load of its own", "it hangs"])
def test_what_is_under_way_is_not_sent_on_when_a_higher_rank_gets_room(own: float, late: float) -> None:
    kids = (1, 1, 1, 2, 2, 2)
    state, goals = State(split=frozenset({HEAD})), []
    for now, seen in ((LOOK, view(kids, top=1300.0)), (LOOK + late, view((*kids, 3)))):
        pieces = tuple(p._replace(requests=own) if p.ino == HEAD else p for p in seen.pieces)
        state, decision = Scheduler(state, replace(seen, now=now, pieces=pieces), LIMITS).decide()
        goals += [move.target for move in decision.moves if move.ino == HEAD]
    assert goals == [2]


@pytest.mark.parametrize(
    ("load", "inodes", "late", "goals"),
    [(50.0, 500.0, 90.0, []), (0.0, 500.0, LOOK, []), (0.0, 1.0, LOOK, [3])],
    ids=["it hangs", "nobody uses it", "it is empty"],
)
def test_it_waits_for_each_part_that_has_something_in_it(
    load: float, inodes: float, late: float, goals: list[int]
) -> None:
    seen = replace(view((1, 1, 1, 2, 2, 3)), now=LOOK + late)
    past = Past(Move(100, "", 1, 2, load, 0.0, inodes, ""), LOOK)
    _, decision = Scheduler(State(at=LOOK, split=frozenset({HEAD}), past=(past,)), seen, LIMITS).decide()
    assert [move.target for move in decision.moves if move.ino == HEAD] == goals


def begins(rest: float, *, apart: float = -1.0) -> set[int]:
    """The ranks of all parts once they have been sent from rank 0, where all of it is still.

    :param rest: req/s of what is left; apart: since when it is on several ranks, s
    """
    parts = [Piece(100 + i, f"/p/{i}", 0, 35.0, 50.0, within=HEAD) for i in range(20)]
    loads = [rest + 700.0, 0.0, 0.0, 0.0]
    ranks = tuple(RankView(r, loads[r], 20.0 if r == 0 else 0.0, r == 0, 1000.0) for r in range(4))
    whole = Whole(1000.0, apart=apart)
    state, sent = State(split=frozenset({HEAD}), wholes={HEAD: whole}), dict[int, int]()
    for look in range(6):
        now = 100.0 + LOOK * look
        seen = View(now, ranks, (Piece(HEAD, "/p", 0, rest, 10.0), *parts), True)
        state, decision = Scheduler(state, seen, LIMITS).decide()
        sent |= {move.ino: move.target for move in decision.moves}
    return {sent.get(part.ino, 0) for part in parts}


@pytest.mark.parametrize(
    ("rest", "apart", "ranks"),
    [(300.0, -1.0, {0, 1, 2}), (20.0, -1.0, {0, 1, 2, 3}), (300.0, 1.0, {1, 2, 3})],
    ids=["what is left fills a rank", "hardly anything is left", "it was taken apart long ago"],
)
def test_parts_are_not_sent_to_the_rank_that_what_is_left_will_fill(
    rest: float, apart: float, ranks: set[int]
) -> None:
    """It goes there after them, and they would leave that rank again."""
    assert begins(rest, apart=apart) == ranks


def test_where_no_part_may_go_what_is_left_stays_on_its_rank() -> None:
    """An operator has pinned them. Another full rank gives nothing to theirs."""
    parts = [Piece(100 + i, f"/p/{i}", 0, 40.0, 50.0, within=HEAD, held="pinned") for i in range(10)]
    others = [Piece(200 + i, f"/{i}", 1, 20.0, 50.0) for i in range(45)]
    more = [Piece(300 + i, f"/m/{i}", 2, 50.0, 50.0) for i in range(10)]
    loads = [800.0, 900.0, 500.0, 0.0]
    ranks = tuple(RankView(r, loads[r], 20.0 if r < 2 else 0.5, r < 2, 1000.0) for r in range(4))
    state = State(split=frozenset({HEAD}), wholes={HEAD: Whole(800.0)})
    sent = list[Move]()
    for look in range(3):
        pieces = (Piece(HEAD, "/p", 0, 400.0, 10.0), *parts, *others, *more)
        state, decision = Scheduler(state, View(LOOK * (look + 1), ranks, pieces, True), LIMITS).decide()
        sent += decision.moves
    assert sum(move.load for move in sent if move.target == 3) > 200.0
    assert {move.target for move in sent} == {3}


def test_what_is_left_of_two_does_not_count_on_one_rank_that_has_room_for_one() -> None:
    heads = [Piece(ino, f"/{ino}", 0, 150.0, 10.0) for ino in (1, 2)]
    parts = [
        Piece(100 * head + i, f"/{head}/{i}", 0, 35.0, 50.0, within=head)
        for head in (1, 2)
        for i in range(10)
    ]
    ranks = tuple(RankView(r, 0.0 if r else 1000.0, 0.0 if r else 20.0, r == 0, 1000.0) for r in range(4))
    state = State(split=frozenset({1, 2}), wholes={1: Whole(500.0), 2: Whole(500.0)})
    seen = View(LOOK, ranks, (*heads, *parts), True)
    look = Look.at(looked(state, seen, LIMITS), seen, LIMITS)
    assert ahead(look).expected.ahead == {1: 3, 2: 2}


def test_two_that_each_fill_a_rank_do_not_go_to_the_same_one_after_the_other() -> None:
    heads = [Piece(1, "/a", 0, 900.0, 10.0, pin=0), Piece(2, "/b", 1, 900.0, 10.0, pin=1)]
    parts = [
        Piece(100 * head + i, f"/{head}/{i}", rank, 40.0, 200.0, within=head, pin=rank)
        for head in (1, 2)
        for i, rank in enumerate((2, 2, 3, 3, 3))
    ]
    load = [900.0, 900.0, 160.0, 240.0]
    ranks = [
        RankView(r, load[r], 20.0 if r < 2 else 0.5, r < 2, 1000.0, forwards=200.0 * (r < 2))
        for r in range(4)
    ]
    state, moves = State(split=frozenset({1, 2})), []
    for look in range(2):
        seen = View(LOOK * (look + 1), tuple(ranks), (*heads, *parts), True)
        state, decision = Scheduler(state, seen, LIMITS).decide()
        moves += [(move.ino, move.target) for move in decision.moves if move.ino in (1, 2)]
    assert moves == [(1, 3)]


@pytest.mark.parametrize(("left", "kept"), [(6, 0), (7, 6)])
def test_the_last_pins_are_not_set_on_some_of_the_parts_that_would_go_along(left: int, kept: int) -> None:
    """What is left needs one as well; what relieves a rank would have none."""
    seen = replace(view((0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3)), pins=LIMITS.pins - left)
    _, decision = Scheduler(State(split=frozenset({HEAD})), seen, LIMITS).decide()
    assert len([move for move in decision.moves if move.keeps]) == kept


def eight(passed: float, sent: dict[int, int]) -> View:
    """Eight are on rank 0, which passes so much on for each of them, and is full as long as it has most of
    ten others with 60 req/s each. All that was sent has arrived."""
    others = [Piece(50 + i, f"/other/{i}", sent.get(50 + i, 0), 60.0, 1000.0) for i in range(10)]
    heads = [Piece(ino, f"/{ino}", sent.get(ino, 0), 10.0, 100.0, pin=0) for ino in range(1, 9)]
    parts = [
        Piece(100 * head + rank, f"/{head}/{rank}", rank, 20.0, 200.0, within=head, pin=rank)
        for head in range(1, 9)
        for rank in (1, 2, 3)
    ]
    pieces = (*others, *heads, *parts)
    load = [sum(piece.requests for piece in pieces if piece.rank == rank) for rank in range(4)]
    passed *= sum(head.rank == 0 for head in heads)
    full = sum(other.rank == 0 for other in others) > 5
    first = RankView(0, load[0], 20.0 if full else 0.5, full, 1000.0 - passed, forwards=passed)
    return View(LOOK, (first, *(RankView(r, load[r], 0.5, False, 1000.0) for r in (1, 2, 3))), pieces, full)


def looks(number: int, passed: float) -> list[list[int]]:
    """What goes, look after look."""
    sent: dict[int, int] = {}
    state, found = State(split=frozenset(range(1, 9))), list[list[int]]()
    for look in range(number):
        seen = replace(eight(passed, sent), now=LOOK * (look + 1))
        state, decision = Scheduler(state, seen, LIMITS).decide()
        found.append([move.ino for move in decision.moves])
        sent |= {move.ino: move.target for move in decision.moves}
    return found


@pytest.mark.parametrize(("passed", "first"), [(10.0, "others"), (70.0, "heads")])
def test_what_relieves_its_rank_of_more_goes_first(passed: float, first: str) -> None:
    """One after the other, eight small steps take more than a minute."""
    found = looks(8, passed)
    assert all(ino >= 50 for ino in found[0]) is (first == "others")
    assert {ino for look in found for ino in look if ino < 9} == set(range(1, 9)), "all of them go"


def test_what_is_asked_of_what_is_left_relieves_its_rank_as_well() -> None:
    """It has 200 req/s too much, passes on 150, and 300 are for what is left: its other parts stay."""
    away = [Piece(200 + i, f"/p/a{i}", 1 + i % 2, 55.0, 50.0, within=HEAD, pin=1 + i % 2) for i in range(10)]
    here = [Piece(100 + i, f"/p/h{i}", 0, 15.0, 50.0, within=HEAD) for i in range(10)]
    loads = [450.0, 275.0, 275.0, 0.0]
    ranks = [RankView(r, loads[r], 20.0 if r == 0 else 0.5, r == 0, 1000.0) for r in range(4)]
    ranks[0] = replace(ranks[0], forwards=150.0)
    state, moves, pins = State(split=frozenset({HEAD})), list[Move](), dict[int, int]()
    for look in range(2):
        own = (p._replace(pin=pins.get(p.ino, p.pin)) for p in here)
        seen = View(LOOK * (look + 1), tuple(ranks), (Piece(HEAD, "/p", 0, 300.0, 10.0), *away, *own), True)
        state, decision = Scheduler(state, seen, LIMITS).decide()
        moves += decision.moves
        pins |= {move.ino: move.target for move in decision.moves if move.keeps}
    assert [move.ino for move in moves if not move.keeps] == [HEAD]
    assert pins.keys() == {piece.ino for piece in here}


@pytest.mark.parametrize(("passed", "at_once"), [(70.0, 8), (4.0, 5), (0.5, 0)])
def test_as_many_go_at_once_as_so_much_is_passed_on_for(passed: float, at_once: int) -> None:
    """For each of them, a tenth of the 60 req/s that its parts are asked for."""
    numbers = [len([ino for ino in look if ino < 9]) for look in looks(8, passed)]
    assert next((number for number in numbers if number), 0) == at_once


@pytest.mark.parametrize(
    ("inodes", "full", "price", "goals"),
    [
        (20_000.0, True, 0.25, [3]),
        (20_000.0, True, 4.0, []),
        (20_000.0, False, 0.25, []),
        (200.0, False, 0.25, [3]),
    ],
    ids=["it pays", "it costs more than it brings", "nobody waits", "nobody waits, and it is little"],
)
def test_it_stays_where_moving_it_costs_more_than_what_is_passed_on(
    inodes: float, full: bool, price: float, goals: list[int]
) -> None:
    seen = view((1, 1, 1, 2, 2, 3), full=full)
    ranks = (replace(seen.ranks[0], forwards=70.0), *seen.ranks[1:])
    pieces = tuple(p._replace(inodes=inodes) if p.ino == HEAD else p for p in seen.pieces)
    state = State(split=frozenset({HEAD}), toll=Toll(price, 1e9))
    _, decision = Scheduler(state, replace(seen, ranks=ranks, pieces=pieces), LIMITS).decide()
    assert [move.target for move in decision.moves if move.ino == HEAD] == goals


@pytest.mark.parametrize("pin", [NO_PIN, 0])
def test_of_one_in_parts_and_another_that_is_a_part_of_it_not_both_go_at_once(pin: int) -> None:
    seen = eight(70.0, {})
    pieces = tuple(p._replace(within=1, pin=pin, inodes=500.0) if p.ino == 2 else p for p in seen.pieces)
    _, decision = Scheduler(State(split=frozenset({1, 2})), replace(seen, pieces=pieces), LIMITS).decide()
    assert len(decision.moves) == 1


def homes(passed: float, *, inside: float = 40.0) -> View:
    """300 of 400 parts are still on rank 0, and idle; it serves 390 req/s, and passes on others."""
    load = [390.0, 400.0, 400.0, 400.0]
    ranks = [RankView(r, load[r], 1.0, False, 1000.0) for r in range(4)]
    ranks[0] = RankView(0, load[0], inside, inside > 1.0, 1000.0, forwards=passed)
    where = [0] * 300 + [1, 2, 3] * 33
    parts = [
        Piece(100 + i, f"/p/{i}", r, 12.0 if r else 1.3, 200.0, within=HEAD, pin=r or NO_PIN)
        for i, r in enumerate(where)
    ]
    return View(LOOK, tuple(ranks), (Piece(HEAD, "/p", 0, 0.0, 10.0), *parts), True)


@pytest.mark.parametrize(
    ("passed", "inside", "goals"),
    [(390.0, 40.0, [3]), (389.0, 40.0, []), (1200.0, 0.5, [])],
    ids=["as much as it serves", "less", "nobody waits"],
)
def test_where_all_wait_for_what_is_passed_on_hundreds_of_parts_get_pins(
    passed: float, inside: float, goals: list[int]
) -> None:
    """Giving hundreds that are idle to other ranks in place of that keeps everybody waiting for longer."""
    seen, state, found, kept = homes(passed, inside=inside), State(split=frozenset({HEAD})), list[int](), 0
    for look in range(8):
        pinned = {p.move.ino: p.move.pin for p in state.past if p.move.keeps}
        pieces = tuple(p._replace(pin=pinned.get(p.ino, p.pin)) for p in seen.pieces)
        now = replace(seen, now=LOOK * (look + 1), pieces=pieces)
        state, decision = Scheduler(state, now, Limits()).decide()
        found += [move.target for move in decision.moves if move.ino == HEAD]
        kept += sum(move.keeps for move in decision.moves)
    assert found == goals
    assert kept == (300 if goals else 0)


def test_thousands_get_no_pins_for_that() -> None:
    seen = homes(1200.0)
    more = tuple(Piece(2000 + i, f"/p/more{i}", 0, 0.0, 200.0, within=HEAD) for i in range(MANY))
    _, decision = Scheduler(
        State(split=frozenset({HEAD})), replace(seen, pieces=(*seen.pieces, *more)), Limits()
    ).decide()
    assert decision.moves == ()


def test_what_a_rank_passes_on_while_it_gives_something_pins_nothing() -> None:
    """It serves little then: one such report says nothing of the next."""
    other = Past(Move(5000, "/other", 0, 1, 50.0, 50.0, 500.0, ""), 0.0, arrived=LOOK, looks=0)
    state = State(split=frozenset({HEAD}), past=(other,), at=LOOK)
    _, decision = Scheduler(state, replace(homes(1200.0), now=2 * LOOK), Limits()).decide()
    assert decision.moves == ()


def test_where_half_of_the_pins_are_set_few_parts_get_theirs_all_the_same() -> None:
    seen = homes(1200.0)
    kids = [p for p in seen.pieces if p.ino != HEAD]
    left = tuple(p for p in kids if p.rank or p.ino < 200)
    seen = replace(seen, pieces=(seen.pieces[0], *left), pins=500)
    limits = replace(LIMITS, pins=1000)
    assert len([p for p in left if not p.rank]) == 100
    _, decision = Scheduler(State(split=frozenset({HEAD})), seen, limits).decide()
    assert decision.moves and all(move.keeps for move in decision.moves)
