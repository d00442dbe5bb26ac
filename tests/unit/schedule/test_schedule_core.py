# SPDX-License-Identifier: LGPL-2.1-or-later
"""The scheduler's core, look after look, on a small cluster that does what it says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mds_partitioner.engine.inside import CROWD
from mds_partitioner.model import NO_PIN
from mds_partitioner.schedule.core.apart import FEW
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.demand import HELD
from mds_partitioner.schedule.core.links import Links, Mark
from mds_partitioner.schedule.core.look import Look
from mds_partitioner.schedule.core.newcomers import ranks_of_new
from mds_partitioner.schedule.core.sleepers import PART, Stakes, expected, spread, weights
from mds_partitioner.schedule.core.state import Limits, Past, Scattered, State
from mds_partitioner.schedule.core.view import (
    FIXED_BELOW,
    OURS_BELOW,
    UNREAD,
    Beside,
    Decision,
    Move,
    Piece,
    RankView,
    View,
)
from mds_partitioner.schedule.core.wakes import Wake

LOOK = 5.0  # s
CAPACITY = 1000.0
MANY = 200  # parts: too many to give pins to those that stay
THRESHOLD = 0.075  # of the variation over the root of the number of ranks, as the imbalance factor's


@dataclass
class Cluster:
    """Pieces with a rate each, and moves that take some looks. A rank serves no more than it can."""

    rates: dict[int, float]
    ranks: int = 4
    takes: int = 2
    inodes: float = 1000.0
    capacity: dict[int, float] = field(default_factory=dict)
    held: frozenset[int] = frozenset()
    fresh: frozenset[int] = frozenset()
    parts: dict[int, int | None] = field(default_factory=dict)
    scatters: dict[int, tuple[int, ...]] = field(default_factory=dict)
    files: frozenset[int] = frozenset()
    now: float = 0.0
    state: State = field(default_factory=State)
    limits: Limits = field(default_factory=Limits)
    history: list[tuple[float, Move]] = field(default_factory=list)
    wait: str = ""
    begun: int = 0  # moves, and pins

    def __post_init__(self) -> None:
        self.at = dict.fromkeys(self.rates, 0)
        self.taught: dict[int, float] = {}
        self.under_way: dict[int, tuple[int, int]] = {}  # by piece: where to, looks left

    def able(self, rank: int) -> float:
        return self.capacity.get(rank, CAPACITY)

    def loads(self) -> dict[int, float]:
        found = dict.fromkeys(range(self.ranks), 0.0)
        for piece, rank in self.at.items():
            found[rank] += self.rates[piece]
        return found

    def view(self) -> View:
        asked = self.loads()
        fits = {r: min(1.0, self.able(r) / asked[r]) if asked[r] else 1.0 for r in asked}
        full = {r: asked[r] >= 0.95 * self.able(r) for r in asked}
        self.taught |= {r: self.able(r) for r in asked if full[r]}
        ranks = tuple(
            RankView(r, asked[r] * fits[r], 1.0 / fits[r], full[r], self.taught.get(r)) for r in asked
        )
        pieces = tuple(
            Piece(
                ino=piece,
                path=f"/p{piece}",
                rank=rank,
                requests=self.rates[piece] * fits[rank],
                inodes=self.inodes,
                held="pinned" if piece in self.held else "",
                parts=self.parts.get(piece, 0),
                fresh=piece in self.fresh,
                scatters=self.scatters.get(piece, ()),
                files=piece in self.files,
            )
            for piece, rank in self.at.items()
        )
        used = [r.requests / self.able(r.rank) for r in ranks]
        variation = stdev(used) / fmean(used) / math.sqrt(len(used)) if any(used) and len(used) > 1 else 0.0
        harmful = any(full.values()) or (variation > THRESHOLD and max(used) > 0.5)
        return View(self.now, ranks, pieces, harmful, wait=self.wait, begun=self.begun, pins=self.begun)

    def look(self, *, measured: bool = True) -> Decision:
        for piece, (target, left) in list(self.under_way.items()):
            if left <= 1:
                self.at[piece] = target
                del self.under_way[piece]
            else:
                self.under_way[piece] = (target, left - 1)
        self.now += LOOK if measured else LOOK / 2.0
        view = replace(self.view(), measured=measured)
        self.state, decision = Scheduler(self.state, view, self.limits).decide()
        for move in decision.moves:
            assert move.ino not in self.under_way, "what is under way is not ordered again"
            assert (self.at[move.ino], move.ino in self.held) == (move.source, False)
            self.under_way[move.ino] = (move.target, self.takes)
            self.history.append((self.now, move))
        return decision

    def go(self, looks: int, each: Callable[[int], None] = lambda look: None) -> None:
        for look in range(looks):
            each(look)
            self.look()

    def fullest(self) -> float:
        used = [load / self.able(r) for r, load in self.loads().items()]
        mean = sum(self.loads().values()) / sum(self.able(r) for r in range(self.ranks))
        return max(used) / mean


def hot(pieces: int = 20, rate: float = 100.0, **more: Any) -> Cluster:
    """All on rank 0, which is asked for twice what it can serve."""
    return Cluster(dict.fromkeys(range(1, pieces + 1), rate), **more)


def test_from_cold_it_is_even_within_five_looks_and_stays_so() -> None:
    cluster = hot()
    cluster.go(6)
    assert cluster.fullest() <= 1.1
    moves = len(cluster.history)
    assert moves == 15
    cluster.go(200)
    assert len(cluster.history) == moves


@pytest.mark.parametrize("takes", [1, 2, 3, 6, 12])
def test_moves_that_take_long_are_not_ordered_twice(takes: int) -> None:
    cluster = hot(takes=takes)
    cluster.go(60)
    assert cluster.fullest() <= 1.1
    assert len(cluster.history) == 15


def test_a_move_that_hangs_does_not_hide_for_long_what_else_becomes_of_its_ranks() -> None:
    """A client holds it up: until it is put back the load goes on."""
    cluster = hot()
    cluster.look()
    stuck = cluster.history[0][1]
    cluster.under_way[stuck.ino] = (stuck.target, 10**6)
    cluster.go(15)
    assert cluster.fullest() <= 1.3
    cluster.rates |= {piece: 300.0 for piece, rank in cluster.at.items() if rank == 0 and piece != stuck.ino}
    hotter, moves = cluster.fullest(), len(cluster.history)
    cluster.go(12)
    assert cluster.now < cluster.limits.deadline
    assert len(cluster.history) > moves and cluster.fullest() < 0.8 * hotter
    assert stuck.ino not in {move.ino for _, move in cluster.history[1:]}


def test_a_large_move_that_hangs_does_not_take_all_that_may_be_under_way() -> None:
    cluster = hot(inodes=10_000.0, limits=Limits(inodes=25_000.0))
    cluster.look()
    for _, move in cluster.history:
        cluster.under_way[move.ino] = (move.target, 10**6)
    moves = len(cluster.history)
    assert moves == 2
    cluster.go(20)
    assert cluster.now < cluster.limits.deadline
    assert len(cluster.history) > moves + 4


def test_the_slow_rank_gets_its_part() -> None:
    cluster = hot(40, 50.0, capacity={1: 400.0})
    cluster.go(20)
    assert cluster.loads()[1] <= 320.0
    cluster.go(300)  # what was moved has rested
    assert cluster.fullest() <= 1.15


def test_a_rank_that_comes_back_is_judged_when_its_clients_have_come_back_too() -> None:
    cluster = hot()
    cluster.go(20)
    moves = len(cluster.history)
    everything = cluster.view()
    without = replace(everything, ranks=everything.ranks[:2] + everything.ranks[3:], wait="rank 2 has failed")
    cluster.now += LOOK
    cluster.state, _ = Scheduler(cluster.state, replace(without, now=cluster.now), cluster.limits).decide()
    there = [piece for piece, rank in cluster.at.items() if rank == 2]
    before = {piece: cluster.rates[piece] for piece in there}
    for part in (0.0, 0.1, 0.3, 0.6, 1.0):
        cluster.rates |= {piece: part * rate for piece, rate in before.items()}
        decision = cluster.look()
        assert "rank 2 has come, or come back, just now" in decision.why
    cluster.go(20)
    assert len(cluster.history) == moves


def test_what_nobody_has_looked_into_is_neither_squeezed_in_nor_taken_apart() -> None:
    cluster = Cluster({1: 900.0, 2: 900.0, **dict.fromkeys(range(3, 9), 20.0)}, parts={1: None, 2: None})
    cluster.go(4)
    assert not {move.ino for _, move in cluster.history} & {1, 2}
    assert cluster.state.split == frozenset()
    cluster.parts = {1: 0, 2: 0}
    cluster.look()
    assert {move.ino for _, move in cluster.history} & {1, 2}, "there is nothing in them: they go as they are"


@pytest.mark.parametrize("limits", [Limits(daily=4), Limits(pins=4)])
def test_what_is_new_and_what_is_not_share_the_budgets(limits: Limits) -> None:
    cluster = hot(limits=limits)
    cluster.at |= {1: 1}  # something is spread
    cluster.rates |= dict.fromkeys(range(50, 60), 0.0)
    cluster.at |= dict.fromkeys(range(50, 60), 0)
    cluster.fresh = frozenset(range(50, 60))
    cluster.inodes = 10.0
    cluster.look()
    assert len(cluster.history) == 4


@pytest.mark.parametrize(("most", "others"), [(7, 1), (6, 0)])
def test_what_is_pinned_already_may_be_moved_when_no_more_may_be_pinned(most: int, others: int) -> None:
    cluster = hot(limits=Limits(pins=most))
    view = replace(cluster.view(), now=LOOK, pins=6)
    pieces = tuple(piece._replace(pin=0 if piece.ino <= 6 else NO_PIN) for piece in view.pieces)
    _, decision = Scheduler(State(), replace(view, pieces=pieces), cluster.limits).decide()
    moved = {move.ino for move in decision.moves}
    assert moved >= set(range(1, 7)) and len(moved) == 6 + others


@pytest.mark.parametrize(
    ("limits", "told"), [(Limits(pins=7), "(scheduler_pins)"), (Limits(daily=7), "(scheduler_moves_a_day)")]
)
def test_what_may_not_be_moved_is_not_taken_apart_either(limits: Limits, told: str) -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: 8}, limits=limits)
    view = replace(cluster.view(), now=LOOK, pins=7, begun=7)
    _, decision = Scheduler(State(), view, limits).decide()
    assert (decision.moves, decision.split) == ((), ())
    assert told in decision.why


def moved_twice(piece: int, now: float) -> State:
    """It has come from rank 0 to rank 1 for the second time within the hour."""
    came = [Move(piece, f"/p{piece}", 0, 1, 300.0, 300.0, 1000.0, "uneven") for _ in range(2)]
    past = tuple(Past(m, now - ago, now - ago + 10.0, 3, 900.0) for m, ago in zip(came, (300.0, 60.0)))
    return State(past=past)


@pytest.mark.parametrize(("parts", "apart"), [(8, True), (MANY, False)], ids=["few parts", "many parts"])
def test_what_rests_is_taken_apart_where_it_is_or_not_at_all(parts: int, apart: bool) -> None:
    """As a whole it may go nowhere, and its parts are new. Of many parts all of it would move once more."""
    cluster = Cluster({1: 1800.0, 2: 200.0}, ranks=3, parts={1: parts}, now=1000.0)
    cluster.at |= {1: 1, 2: 0}
    cluster.state = moved_twice(1, cluster.now)
    cluster.go(20)
    assert (1 in cluster.state.split) == apart
    assert cluster.at[1] == 1 and not any(move.ino == 1 for _, move in cluster.history)


def test_what_was_moved_twice_within_an_hour_rests_for_the_rest_of_it() -> None:
    cluster = hot(3, 500.0)
    move = Move(1, "/p1", 1, 0, 500.0, 100.0, 1000.0, "")
    for times, rests in ((1, False), (2, True)):
        for ago, stays in ((700.0, rests), (3700.0, False)):
            past = tuple(Past(move, 5000.0 - ago - i, 5000.0 - ago, 2, 500.0) for i in range(times))
            view = replace(cluster.view(), now=5000.0)
            view = replace(
                view, pieces=tuple(p._replace(held="" if p.ino == 1 else "x") for p in view.pieces)
            )
            _, decision = Scheduler(State(past=past), view, cluster.limits).decide()
            assert (not decision.moves) == stays


def test_what_arrives_between_two_looks_makes_room_for_more_but_teaches_nothing() -> None:
    cluster = hot(takes=1, inodes=20_000.0)
    cluster.go(2)
    first = cluster.history[-1][1]
    view = replace(cluster.view(), now=cluster.now + 2.5, measured=False)

    def glance(where: int, *new: Piece) -> tuple[State, Decision]:
        seen = (p._replace(requests=999.0, rank=where if p.ino == first.ino else p.rank) for p in view.pieces)
        between = replace(view, pieces=(*seen, *new))
        return Scheduler(cluster.state, between, cluster.limits).decide()

    assert glance(first.source)[1].moves == ()
    state, decision = glance(first.target)
    assert [move.ino != first.ino for move in decision.moves] == [True]
    before = cluster.state
    assert (state.demand, state.rates, state.at) == (before.demand, before.rates, before.at)
    assert all(past.looks == 0 for past in state.past[-2:])
    assert {first.source, first.target} <= state.stale
    unknown = view.pieces[0]._replace(ino=99, path="/new")
    assert glance(first.target, unknown)[1].moves == (), "what it asks for is not known"


def test_while_nobody_knows_what_a_full_rank_holds_back_nothing_small_is_moved_to_make_it_exact() -> None:
    large, small = range(100, 133), range(16)
    cluster = Cluster(dict.fromkeys(large, 30.0) | dict.fromkeys(small, 11.0))
    cluster.at |= {ino: ino % 4 for ino in small}
    moved = cluster.look().moves
    assert len(moved) == 24, "eight for each of the others"
    assert {move.ino for move in moved} <= set(large), "0.08 above the mean is near enough"


def test_an_even_load_with_noise_moves_nothing() -> None:
    cluster = hot(40, 24.0)
    cluster.at = {piece: piece % 4 for piece in cluster.rates}

    def noise(look: int) -> None:
        for piece in cluster.rates:
            cluster.rates[piece] = 24.0 * (1.0 + 0.3 * ((piece * 7 + look * 13) % 11 - 5) / 5)

    cluster.go(120, noise)
    assert cluster.history == []


def test_what_noise_lets_be_told_is_said_with_even() -> None:
    cluster = Cluster(dict.fromkeys(range(4), 100.0))
    cluster.at = {piece: piece for piece in range(4)}
    assert [cluster.look().why for _ in range(4)][-1] == "even"
    for look in range(12):
        cluster.rates = {piece: 100.0 + 10.0 * (-1) ** (look * (piece + 1)) for piece in range(4)}
        why = cluster.look().why
    assert why == "even, as far as its noise lets be told: 20% of a share"


def spread_and_new(new: int, **more: Any) -> Cluster:
    """Four ranks with 200 req/s each, and new directories without any on rank 0."""
    cluster = Cluster(
        {**dict.fromkeys(range(1, 9), 100.0), **dict.fromkeys(range(1000, 1000 + new), 0.0)}, **more
    )
    cluster.at = {piece: piece % 4 if piece < 1000 else 0 for piece in cluster.rates}
    cluster.fresh = frozenset(range(1000, 1000 + new))
    return cluster


def test_what_is_new_gets_a_rank_at_once_and_is_not_moved_when_its_load_comes() -> None:
    cluster = spread_and_new(40, inodes=1.0)
    cluster.go(3)
    found = Counter(rank for piece, rank in cluster.at.items() if piece in cluster.fresh)
    assert len(found) == 4 and max(found.values()) - min(found.values()) <= 2
    assert cluster.state.stale == frozenset(), "what is empty changes nothing that is seen"
    assert all(move.gain == 0.0 and "entry" in move.why for _, move in cluster.history)
    moved = len(cluster.history)
    cluster.rates |= dict.fromkeys(cluster.fresh, 20.0)
    cluster.go(60)
    assert len(cluster.history) <= moved + 2


def test_of_what_is_new_a_rank_with_more_load_gets_less() -> None:
    cluster = spread_and_new(64, inodes=1.0)
    cluster.rates |= {4: 180.0, 8: 180.0}  # rank 0: 360 of 960; its share is 240
    cluster.go(3)
    found = Counter(rank for piece, rank in cluster.at.items() if piece in cluster.fresh)
    assert found[0] in (10, 11) and min(found[1], found[2], found[3]) > 15


def test_among_very_many_ranks_one_with_more_load_gets_less_of_what_is_new_too() -> None:
    load = {r: 200.0 if r == 5 else 80.0 if r % 2 else 120.0 for r in range(256)}
    new = [Piece(10_000 + k, f"/{k}", 0, 0.0, 1.0, fresh=True) for k in range(16_384)]
    moves = ranks_of_new([*new, Piece(1, "/other", 1, 100.0, 1.0)], (), load, dict.fromkeys(load, 1000.0))
    found = Counter(move.target for move in moves)
    assert found[5] < 0.8 * fmean(found[r] for r in range(6, 256, 2))


@pytest.mark.parametrize(
    "why", ["all are on one rank", "it is full already", "it is held", "nothing is asked for"]
)
def test_what_is_new_stays_where_it_is_when(why: str) -> None:
    cluster = spread_and_new(8, inodes=5000.0 if why == "it is full already" else 1.0)
    if why == "all are on one rank":
        cluster.at = dict.fromkeys(cluster.at, 0)
        cluster.rates |= dict.fromkeys(range(1, 9), 10.0)
    if why == "it is held":
        cluster.held = cluster.fresh
    if why == "nothing is asked for":
        cluster.rates = dict.fromkeys(cluster.rates, 0.0)
    cluster.go(5)
    assert cluster.history == []


def test_what_is_new_is_not_ordered_again_though_its_load_comes_before_it_is_there() -> None:
    cluster = spread_and_new(8, takes=8, inodes=1.0)
    cluster.look()
    ordered = {move.ino for _, move in cluster.history}
    assert ordered and cluster.state.moving == (), (
        "an MDS exports nothing that is empty: it is not waited for"
    )
    cluster.rates |= dict.fromkeys(ordered, 200.0)
    cluster.go(4)
    assert Counter(move.ino for _, move in cluster.history)[min(ordered)] == 1


def test_what_is_new_on_a_rank_that_is_masked_out_is_left_alone() -> None:
    cluster = spread_and_new(8, inodes=1.0)
    view = replace(cluster.view(), now=5.0)
    masked = replace(view, ranks=tuple(r for r in view.ranks if r.rank))
    assert Scheduler(State(), masked, Limits()).decide()[1].moves == ()


def test_what_is_new_waits_for_no_move_and_holds_up_none() -> None:
    cluster = hot(inodes=200.0)
    cluster.go(2)
    cluster.rates |= dict.fromkeys(range(1000, 1016), 0.0)
    cluster.at |= dict.fromkeys(range(1000, 1016), 0)
    cluster.fresh = frozenset(range(1000, 1016))
    cluster.go(4)
    assert cluster.fullest() <= 1.1
    assert len({cluster.at[piece] for piece in cluster.fresh}) == 4


def test_nothing_is_taken_apart_while_directories_of_its_rank_are_not_known_yet() -> None:
    cluster = Cluster(dict.fromkeys(range(16), 200.0), ranks=5, parts=dict.fromkeys(range(16), 10))
    view = cluster.view()
    pieces = tuple(p._replace(held=UNREAD if p.ino >= 8 else "") for p in view.pieces)
    looks = [replace(view, now=view.now + LOOK * k, pieces=pieces) for k in range(3)]
    _, first = Scheduler(State(), looks[0], Limits()).decide()
    assert first.moves and not first.split
    state, split = State(), list[int]()
    for look in (
        replace(look, pieces=tuple(p._replace(held="pinned" if p.ino >= 8 else "") for p in pieces))
        for look in looks
    ):
        state, decision = Scheduler(state, look, Limits()).decide()
        split += [*decision.split, *state.apart]
    assert split, "when they are known, and may not be moved, it is"


def test_where_the_whole_is_even_enough_only_full_ranks_are_relieved() -> None:
    rates = {rank * 10 + i: 60.0 for rank in range(16) for i in range(10)}
    cluster = Cluster(rates, ranks=16)
    cluster.at = {piece: piece // 10 for piece in rates}
    cluster.rates |= dict.fromkeys(range(10), 100.0) | {10 + i: 78.0 for i in range(10)}
    view = replace(cluster.view(), harmful=False)
    assert [r.rank for r in view.ranks if r.full] == [0]
    _, decision = Scheduler(State(), replace(view, now=5.0), Limits()).decide()
    assert {move.source for move in decision.moves} == {0}
    _, decision = Scheduler(State(), replace(view, now=5.0, harmful=True), Limits()).decide()
    assert {move.source for move in decision.moves} > {0, 1}


@pytest.mark.parametrize(
    ("others", "inside", "gives"),
    [(780.0, 30.0, True), (900.0, 30.0, False), (780.0, CROWD, True), (780.0, 0.9 * CROWD, False)],
    ids=["far", "near", "some wait", "few wait"],
)
def test_a_full_rank_is_relieved_for_long_having_more_though_the_whole_is_even_enough(
    others: float, inside: float, gives: bool
) -> None:
    """No rank is idle, and none so much emptier that one look is enough. A load that breathes makes ranks
    full of a handful that have a directory more than others, and that is even."""
    ranks = tuple(
        RankView(r, others if r else 1000.0, 1.0 if r else inside, not r, 1000.0, 30.0) for r in range(6)
    )
    pieces = tuple(
        Piece(50 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 20.0, 100.0)
        for r in ranks
        for k in range(20)
    )
    state, sources = State(), list[set[int]]()
    for look in range(HELD):
        view = View(LOOK * look, ranks, pieces)
        state, decision = Scheduler(state, view, Limits()).decide()
        sources.append({move.source for move in decision.moves})
    assert sources == [set(), set(), {0} if gives else set()]


def test_two_full_ranks_that_have_most_by_turns_are_relieved_as_one_is() -> None:
    """What a full rank serves is uneven by a little, so which of them has most is drawn anew in each look."""
    state, sources = State(), set[int]()
    for look in range(2 * HELD):
        rates = [1000.0, 995.0, *[780.0] * 4]
        rates = [rates[1 - r] if r < 2 and look % 2 else rates[r] for r in range(6)]
        ranks = tuple(
            RankView(r, rate, 30.0 if r < 2 else 1.0, r < 2, 1000.0, 30.0) for r, rate in enumerate(rates)
        )
        pieces = tuple(
            Piece(50 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 20.0, 100.0)
            for r in ranks
            for k in range(20)
        )
        state, decision = Scheduler(state, View(LOOK * look, ranks, pieces), Limits()).decide()
        sources |= {move.source for move in decision.moves}
    assert sources == {0, 1}


def test_ranks_that_are_full_by_turns_are_left_alone() -> None:
    """As a scan makes them: what is moved for a look's sake is cold when it comes."""
    state = State()
    for look in range(4 * HELD):
        top = look % 6
        ranks = tuple(
            RankView(r, 1000.0 if r == top else 800.0, 30.0 if r == top else 1.0, r == top, 1000.0, 30.0)
            for r in range(6)
        )
        pieces = tuple(
            Piece(50 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 20.0, 100.0)
            for r in ranks
            for k in range(20)
        )
        state, decision = Scheduler(state, View(LOOK * look, ranks, pieces), Limits()).decide()
        assert not decision.something


def walks(cluster: Cluster, looks: int) -> Callable[[int], None]:
    """A backup that fills a rank with one directory after the other, each for so many looks."""

    def each(look: int) -> None:
        on = 1 + look // looks % len(cluster.rates)
        cluster.rates = {piece: 900.0 if piece == on else 12.0 for piece in cluster.rates}

    return each


@pytest.mark.parametrize("looks", [1, 2, 3, 5])
def test_a_load_that_goes_from_rank_to_rank_by_itself_is_run_after_once(looks: int) -> None:
    cluster = Cluster(dict.fromkeys(range(1, 41), 12.0), inodes=1500.0)
    cluster.at = {piece: piece % 4 for piece in cluster.rates}
    cluster.go(80, walks(cluster, looks))
    assert len(cluster.history) < 12
    assert cluster.look().why.startswith("what fills rank") or not cluster.state.acting


def test_a_load_that_went_from_rank_to_rank_and_stays_is_relieved_again() -> None:
    cluster = Cluster(dict.fromkeys(range(1, 41), 12.0), inodes=1500.0)
    cluster.at = {piece: piece % 4 for piece in cluster.rates}
    cluster.go(40, walks(cluster, 3))
    cluster.rates = {piece: 900.0 if piece == 7 else 60.0 for piece in cluster.rates}
    cluster.go(20)
    assert cluster.fullest() <= 1.15


@pytest.mark.parametrize(("then", "acts"), [(950.0, True), (650.0, False)])
def test_a_rank_whose_load_has_come_from_another_or_begins_to_go_there_is_looked_at_once_more(
    then: float, acts: bool
) -> None:
    state, found = State(), list[bool]()
    for look, (first, second) in enumerate([(450.0, 550.0), (950.0, 50.0), (then, 1000.0 - then)]):
        rates = (first, second, 400.0, 400.0)
        ranks = tuple(RankView(r, rate, 9.0, rate > 600.0, CAPACITY) for r, rate in enumerate(rates))
        pieces = tuple(
            Piece(50 * r + k, f"/{r}/{k}", r, rate / 20.0, 100.0)
            for r, rate in enumerate(rates)
            for k in range(1, 21)
        )
        state, decision = Scheduler(state, View(LOOK * look, ranks, pieces), Limits()).decide()
        found.append(decision.something)
    assert found == [False, False, acts]


def two_ranks(first: RankView, second: RankView) -> View:
    """All that is on them stays there."""
    pieces = (Piece(r.rank + 1, f"/{r.rank}", r.rank, r.requests, 10.0, held="x") for r in (first, second))
    return View(0.0, (first, second), tuple(pieces), harmful=True)


def looked_at(view: View, looks: int = 10) -> tuple[State, Decision]:
    state, decision = State(), Decision()
    for look in range(looks):
        state, decision = Scheduler(state, replace(view, now=LOOK * look), Limits()).decide()
    return state, decision


def test_ranks_that_are_not_alike_are_even_by_what_each_can_do() -> None:
    alike = two_ranks(RankView(0, 600.0, 0.6, capacity=1000.0), RankView(1, 240.0, 0.6, capacity=400.0))
    state, decision = looked_at(alike)
    assert (state.even, decision.why) == (True, "even")
    for now, wait in ((60.0, "rank 2 has failed"), (65.0, "")):
        state, _ = Scheduler(state, replace(alike, now=now, wait=wait), Limits()).decide()
        assert state.even == (not wait)
    full = two_ranks(RankView(0, 450.0, 0.6, capacity=1000.0), RankView(1, 390.0, 9.0, True, 400.0))
    assert not looked_at(full)[0].even


def test_a_rank_that_crawls_is_not_even() -> None:
    crawls = two_ranks(RankView(0, 600.0, 0.6, capacity=1000.0), RankView(1, 40.0, 20.0, capacity=400.0))
    state, decision = looked_at(crawls)
    assert decision.why.startswith("even, but for rank 1") and not state.even


@pytest.mark.parametrize(("load", "told"), [(200.0, "800 req/s are for what cannot"), (700.0, "/a: x")])
def test_a_load_that_is_in_no_directory_on_one_rank_is_told(load: float, told: str) -> None:
    ranks = RankView(0, 1000.0, 20.0, True, 1000.0, 20.0), RankView(1, 10.0, 0.1)
    piece = Piece(5, "/a", 0, load, 100.0, held="x")
    _, decision = looked_at(View(0.0, ranks, (piece,), harmful=True))
    assert decision.why.startswith("rank 0 has too much") and told in decision.why


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (Beside(uncounted=500.0), "800 req/s are for what it counts in no directory, as locks of files"),
        (Beside(purged=500.0), "800 req/s are for what the volumes module deletes"),
        (Beside(uncounted=300.0), "800 req/s are for what cannot be moved"),
    ],
)
def test_what_a_load_is_that_is_no_directorys_is_told_by_most_of_it(beside: Beside, told: str) -> None:
    ranks = RankView(0, 1000.0, 20.0, True, 1000.0, 20.0), RankView(1, 10.0, 0.1)
    piece = Piece(5, "/a", 0, 200.0, 100.0, held="x")
    _, decision = looked_at(View(0.0, ranks, (piece,), harmful=True, beside={0: beside}))
    assert told in decision.why


def test_idle_moves_nothing() -> None:
    cluster = hot(rate=0.0)
    cluster.go(10)
    assert cluster.history == []
    assert cluster.look().why == "idle"


def test_one_rank_is_even_by_itself() -> None:
    cluster = hot(ranks=2, held=frozenset(range(1, 21)))
    cluster.go(5)
    assert cluster.state.acting
    cluster.ranks = 1
    assert cluster.look().why == "one rank only"
    assert not cluster.state.acting, "nothing is uneven, so nothing is stuck"


def test_a_load_that_is_light_is_left_alone() -> None:
    cluster = hot(4, 20.0)
    cluster.go(30)
    assert cluster.history == []


def test_what_is_held_stays() -> None:
    cluster = hot(held=frozenset(range(1, 16)))
    cluster.go(10)
    assert {move.ino for _, move in cluster.history} == set(range(16, 21))


def test_nothing_moves_while_it_must_wait() -> None:
    cluster = hot(wait="rank 1 has failed")
    cluster.go(5)
    assert cluster.history == []
    assert cluster.look().why == "rank 1 has failed"
    cluster.wait = ""
    cluster.go(6)
    assert cluster.fullest() <= 1.1


def until_split(cluster: Cluster, looks: int = 20) -> list[Move]:
    """What was ordered until 1 was split."""
    for _ in range(looks):
        if 1 in cluster.look().split:
            return [move for _, move in cluster.history]
    raise AssertionError("not split")


def test_a_piece_that_fits_nowhere_is_split_on_the_highest_rank() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: MANY})
    (move,) = (move for move in until_split(cluster) if move.ino == 1)
    assert (move.source, move.target) == (0, 3)
    assert 0.0 < move.gain < move.load
    assert cluster.at[1] == 3 and cluster.state.split == {1}


@pytest.mark.parametrize("parts", [2, FEW])
def test_a_piece_of_which_all_parts_may_have_pins_is_split_where_it_is(parts: int) -> None:
    """It would all be moved twice. What is left of it goes up when its parts have gone."""
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: parts})
    assert 1 not in {move.ino for move in until_split(cluster)} and cluster.at[1] == 0


def test_a_piece_is_not_moved_to_a_slow_rank_to_be_split_there() -> None:
    cluster = Cluster(
        {1: 4000.0, 2: 50.0}, parts={1: MANY}, capacity={0: 2000.0, 1: 2000.0, 2: 2000.0, 3: 200.0}
    )
    cluster.state = replace(cluster.state, capacity=cluster.capacity)
    cluster.taught = dict(cluster.capacity)
    cluster.go(6)
    assert 1 in cluster.state.split
    assert [move.target for _, move in cluster.history if move.ino == 1] == [2]


def raised(
    at: int,
    ranks: int,
    kids: int,
    own: float = 2.0,
    busy: int | None = None,
    passed: float = 60.0,
    **head: Any,
) -> list[tuple[int, int | None, int]]:
    """What is moved while a directory in parts, with so many req/s of its own, is on a rank; its parts are
    elsewhere, or ``busy`` of them, and the others where it is. What is ordered is seen three looks later."""
    pins: dict[int, int] = {}

    def view(now: float) -> View:
        of = {100 + i: i % ranks if busy is None or i < busy else at for i in range(kids)}
        away = {ino: rank if rank != at else NO_PIN for ino, rank in of.items()}
        parts = tuple(
            Piece(ino, f"/p/k{ino}", rank, 100.0, 1000.0, within=1, pin=pins.get(ino, away[ino]))
            for ino, rank in of.items()
        )
        load = Counter(of.values())
        shown = tuple(
            RankView(r, 100.0 * load[r] + own * (r == at), 0.3, False, CAPACITY, forwards=passed * (r == at))
            for r in range(ranks)
        )
        piece = Piece(1, "/p", at, own, 10.0, **head)
        return View(now, shown, (piece, *parts), False)

    state, moves = State(split=frozenset({1})), []
    for look in range(20):
        state, decision = Scheduler(state, view(LOOK * look), Limits()).decide()
        moves += [(move.ino, move.source, move.target) for move in decision.moves]
        if look % 3 == 2:
            pins |= {move.ino: move.pin for past in state.past if (move := past.move)}
    return moves


@pytest.mark.parametrize(
    ("at", "ranks", "found"),
    [(3, 4, []), (3, 8, [(103, 3, 3), (1, 3, 7)]), (0, 4, [(100, 0, 0), (1, 0, 3)])],
)
def test_what_is_in_parts_goes_to_the_highest_rank_when_it_is_not_there(
    at: int, ranks: int, found: list[tuple[int, int, int]]
) -> None:
    """Clients ask the lowest rank that they know it from, which would pass all on. There are more ranks than
    there were, or it was too much to be moved as a whole. What has no pin would go along."""
    assert raised(at, ranks, kids=ranks) == found


@pytest.mark.parametrize(
    ("own", "passed", "goes"),
    [(90.0, 60.0, False), (90.0, 95.0, True), (2.0, 20.0, False), (600.0, 60.0, True), (600.0, 20.0, False)],
)
def test_what_is_in_parts_stays_where_it_is_without_room_or_when_little_is_passed_on(
    own: float, passed: float, goes: bool
) -> None:
    assert ((1, 0, 3) in raised(0, 4, kids=4, own=own, passed=passed)) is goes


@pytest.mark.parametrize(
    ("kids", "busy", "goes"), [(16, 4, True), (60, 20, True), (200, 40, False), (200, 160, True)]
)
def test_no_more_pins_are_set_for_that_than_there_are(kids: int, busy: int, goes: bool) -> None:
    found = raised(0, 4, kids, busy=busy, passed=2000.0)
    assert ((1, 0, 3) in found) is goes
    assert goes or not [ino for ino, source, target in found if source == target]


def test_parts_that_nobody_has_read_would_go_along() -> None:
    assert raised(0, 4, kids=4, unknown=True) == []


def test_a_rank_that_what_is_in_parts_now_has_left_gets_its_share_though_it_has_not_reported_since() -> None:
    parts = [Piece(10 + i, f"/p/{i}", 3, 50.0, 300.0, 1) for i in range(16)]
    ranks = (
        RankView(0, 400.0, 9.0, True, 800.0),
        RankView(1, 0.0),
        RankView(2, 0.0),
        RankView(3, 800.0, 9.0, True),
    )
    lifted = Past(Move(1, "/p", 0, 3, 800.0, 600.0, 5000.0, ""), 90.0, 95.0, looks=9, settled=0.0)
    state = State(at=95.0, split=frozenset({1}), past=(lifted,), rest={0: 0.0, 3: 0.0}, acting=True)
    for now in (100.0, 103.0):
        view = View(now, ranks, (Piece(1, "/p", 3, 0.0, 1.0), *parts), True)
        state, decision = Scheduler(state, view, Limits()).decide()
        if decision.moves:
            break
    assert Counter(move.target for move in decision.moves) == {0: 4, 1: 4, 2: 4}


def test_what_stood_still_while_it_came_to_be_taken_apart_is_no_load_that_begins() -> None:
    parts = [Piece(10 + i, f"/p/{i}", 3, 1.0, 100.0, 1) for i in range(16)]
    lifted = Past(Move(1, "/p", 0, 3, 800.0, 600.0, 9000.0, ""), 80.0, 95.0, looks=9, settled=0.0)
    state = State(at=95.0, split=frozenset({1}), past=(lifted,), acting=False)
    for now, first, last in ((97.5, 40.0, 20.0), (102.5, 10.0, 400.0)):
        ranks = (RankView(0, first), RankView(1, 1.0), RankView(2, 1.0), RankView(3, last, 9.0, last > 100.0))
        seen = [piece._replace(requests=last / 16.0) for piece in parts]
        own = Piece(1, "/p", 3, 0.0, 1.0), Piece(2, "/q", 0, 5.0, 100.0)
        state, decision = Scheduler(state, View(now, ranks, (*own, *seen), True), Limits()).decide()
    assert {move.source for move in decision.moves} == {3}


def test_a_piece_on_the_highest_rank_is_split_as_it_is() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: MANY})
    cluster.at[1] = 3
    assert 1 not in {move.ino for move in until_split(cluster)}


def test_large_pieces_of_several_full_ranks_are_taken_apart_together() -> None:
    cluster = Cluster({1: 1500.0, 2: 1500.0, 3: 10.0, 4: 10.0}, parts={1: MANY, 2: MANY})
    cluster.at[2] = 1
    cluster.look()
    assert {(move.ino, move.target) for _, move in cluster.history} == {(1, 3), (2, 2)}


def test_large_pieces_do_not_go_to_the_same_rank_to_be_taken_apart_there() -> None:
    """It would be the next to have all."""
    cluster = Cluster({1: 2000.0, 2: 2000.0, 3: 500.0}, ranks=3, parts={1: MANY, 2: MANY}, takes=4)
    cluster.go(3)
    assert {(move.ino, move.target) for _, move in cluster.history if move.ino < 3} == {(1, 2), (2, 1)}


def test_a_piece_that_does_not_come_to_the_highest_rank_is_split_where_it_is() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: MANY}, takes=1000, limits=Limits(deadline=30.0))
    until_split(cluster)
    assert cluster.at[1] == 0


def test_what_is_too_much_to_be_moved_once_more_is_split_where_it_is() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, parts={1: MANY}, inodes=25_001.0)
    assert 1 not in {move.ino for move in until_split(cluster)}


def test_what_would_fit_on_a_rank_is_split_where_it_is_for_the_sake_of_a_part_or_two() -> None:
    cluster = Cluster({1: 700.0, 2: 900.0, 3: 500.0}, ranks=2, parts={1: MANY}, held=frozenset({2, 3}))
    cluster.at[3] = 1
    assert until_split(cluster) == [] and cluster.at[1] == 0


@pytest.mark.parametrize(("there", "goal"), [(1000.0, 4), (700.0, 5)])
def test_a_piece_is_split_on_the_highest_rank_that_is_not_full(there: float, goal: int) -> None:
    cluster = Cluster({1: 2000.0, 2: there}, ranks=6, parts={1: MANY}, held=frozenset({2}))
    cluster.at[2] = 5
    assert [move.target for move in until_split(cluster)] == [goal]


def test_a_piece_is_split_where_it_is_when_all_higher_ranks_are_full() -> None:
    cluster = Cluster({1: 2000.0, 2: 1000.0, 3: 1000.0}, ranks=4, parts={1: MANY}, held=frozenset({2, 3}))
    cluster.at |= {1: 1, 2: 2, 3: 3}
    assert until_split(cluster) == [] and cluster.at[1] == 1


def test_of_each_rank_that_nothing_relieves_the_largest_is_split() -> None:
    held = {3: 900.0, 4: 900.0, 5: 500.0, 6: 500.0}
    cluster = Cluster({1: 700.0, 2: 700.0, **held}, parts={1: MANY, 2: MANY}, held=frozenset(held))
    cluster.at |= {2: 1, 4: 1, 5: 2, 6: 3}
    splits = [cluster.look().split for _ in range(20)]
    assert next(filter(None, splits)) == (1, 2)


def test_nothing_makes_way_for_what_is_only_passing() -> None:
    """On its way to be taken apart a piece counts as it will be: everywhere alike."""
    cluster = Cluster({1: 1600.0} | dict.fromkeys(range(2, 18), 25.0), parts={1: MANY}, takes=6)
    for piece in range(2, 18):
        cluster.at[piece] = piece % 4
    assert {move.ino for move in until_split(cluster)} == {1}


@pytest.mark.parametrize("load", [8.0, 40.0])
def test_nothing_makes_way_for_what_is_taken_apart_where_it_is(load: float) -> None:
    """Its parts go, and are enough: the others need not, though it leaves no room for them as a whole."""
    cluster = Cluster({1: 2000.0} | dict.fromkeys(range(2, 12), load), parts={1: 40})
    assert until_split(cluster) == []


def test_what_is_taken_apart_where_it_is_does_not_keep_others_from_leaving_for_themselves() -> None:
    cluster = Cluster({1: 1200.0} | dict.fromkeys(range(2, 12), 90.0), parts={1: 40})
    assert 0 < len(until_split(cluster)) < 6


def test_nothing_goes_to_a_full_rank_as_what_is_taken_apart_there_leaves_it_later() -> None:
    cluster = Cluster(
        {1: 2000.0, **dict.fromkeys(range(2, 16), 100.0), 50: 300.0, 51: 300.0},
        parts={1: 8},
        held=frozenset({50, 51}),
        inodes=100.0,
    )
    cluster.at |= {**dict.fromkeys(range(2, 16), 1), 50: 2, 51: 3}
    assert {move.target for move in until_split(cluster)} == {2, 3}


def test_more_than_may_be_under_way_at_once_is_taken_apart_by_turns() -> None:
    cluster = Cluster({1: 1500.0, 2: 1400.0}, parts={1: MANY, 2: MANY}, inodes=15_000.0)
    cluster.go(2)
    assert sum(move.inodes for move in cluster.state.moving) == 15_000.0
    cluster.go(10)
    assert cluster.state.split == {1, 2}


def test_what_comes_and_goes_and_fits_nowhere_is_placed_as_it_is_made() -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, scatters={1: (0, 1, 2, 3)})
    decisions = [cluster.look() for _ in range(10)]
    (found,) = (scatter for decision in decisions for scatter in decision.scatter)
    assert (found.ino, found.source, found.ranks) == (1, 0, (0, 1, 2, 3))
    assert found.gain == pytest.approx(0.75 * CAPACITY, rel=0.1), "of what it was seen to serve"


def test_two_that_fill_a_rank_each_are_placed_together() -> None:
    cluster = Cluster({1: 2000.0, 2: 2000.0}, scatters={1: (0, 1, 2, 3), 2: (0, 1, 2, 3)})
    cluster.at[2] = 1
    decisions = [cluster.look() for _ in range(10)]
    assert [{s.ino for s in decision.scatter} for decision in decisions if decision.scatter] == [{1, 2}]
    assert cluster.history == []


def test_what_was_moved_as_a_whole_before_it_was_seen_to_come_and_go_need_not_rest() -> None:
    cluster = Cluster({1: 2000.0, 2: 2000.0})
    cluster.go(8)
    assert sorted(cluster.at.values()) in ([0, 1], [0, 2], [0, 3])
    cluster.scatters = {1: (0, 1, 2, 3), 2: (0, 1, 2, 3)}
    assert {s.ino for _ in range(6) for s in cluster.look().scatter} == {1, 2}


@pytest.mark.parametrize("files", [True, False])
def test_files_are_not_scattered_where_a_move_will_do_when_nothing_rests(files: bool) -> None:
    every, two = (0, 1, 2, 3), (1, 2)
    cluster = Cluster(dict.fromkeys(two, 700.0), scatters=dict.fromkeys(two, every), now=5000.0)
    cluster.files = frozenset(two if files else ())
    cluster.at = dict.fromkeys(two, 1)
    moves = [Move(ino, f"/p{ino}", 0, 1, 700.0, 1.0, 1000.0, "") for ino in two]
    cluster.state = State(past=tuple(Past(m, 4900.0 + i, 4950.0, 2, 700.0) for m in moves for i in range(2)))
    assert any(cluster.look().scatter for _ in range(10)) is not files
    alone = Cluster({1: 2000.0}, scatters={1: every}, files=frozenset({1}))
    assert any(alone.look().scatter for _ in range(10))


@pytest.mark.parametrize("price", [0.25, 100.0])
def test_a_directory_of_more_files_than_may_be_under_way_is_scattered_alone_if_it_pays(price: float) -> None:
    cluster = Cluster({1: 2000.0}, scatters={1: (0, 1, 2, 3)}, files=frozenset({1}), inodes=100_001.0)
    cluster.limits = Limits(price=price)
    assert any(cluster.look().scatter for _ in range(10)) is (price < 1.0)


def test_a_full_rank_of_which_nothing_is_known_yet_gets_nothing() -> None:
    """It may be as slow as it looks, or have few clients."""
    state, moves = State(), list[Move]()
    for look in range(4):
        able = 80.0 if look > 2 else None
        slow = RankView(3, 80.0, 64.0, True, able)
        ranks = (*(RankView(r, 1000.0, 16.0 + 4 * (r == 0), True, 1000.0, 16.0) for r in range(3)), slow)
        pieces = tuple(
            Piece(10 * r + k, f"/{r}{k}", r, ranks[r].requests / 10, 100.0)
            for r in range(4)
            for k in range(10)
        )
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces, harmful=True), Limits()).decide()
        moves += decision.moves
    assert not [move for move in moves if move.target == 3]


@pytest.mark.parametrize("capacity", [None, 2000.0])
@pytest.mark.parametrize(("inside", "moves"), [(30.0, True), (4.0, False)])
def test_a_rank_where_many_wait_for_the_metadata_pool_is_relieved_after_a_minute(
    inside: float, moves: bool, capacity: float | None
) -> None:
    """It is not full, and three are idle."""
    state, begun = State(), list[float]()
    for look in range(20):
        ranks = tuple(
            RankView(r, 0.0 if r else 400.0, 0.0 if r else inside, capacity=capacity) for r in range(4)
        )
        pieces = tuple(Piece(100 + k, f"/{k}", 0, 20.0, 10_000.0 if capacity else 100.0) for k in range(20))
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces), Limits()).decide()
        begun += [look * LOOK for _ in decision.moves]
    assert bool(begun) is moves
    assert not moves or (min(begun) >= 50.0 and len(begun) == (2 if capacity else 15))


@pytest.mark.parametrize(
    ("crowded", "begins"),
    [
        ((15,), math.inf),
        ((2, 15, 16, 17, 28), math.inf),
        (range(4, 40), 75.0),
        ((*range(9), *range(20, 40)), 155.0),
    ],
)
@pytest.mark.parametrize("parts", [0, 12])
def test_a_stall_moves_nothing_of_a_light_load_that_has_been_uneven_for_long(
    crowded: Sequence[int], begins: float, parts: int
) -> None:
    """Requests wait for a minute when they do in each report of it."""
    state, begun = State(), math.inf
    for look in range(40):
        inside = 16.0 if look in crowded else 0.3
        ranks = tuple(RankView(r, 0.0 if r else 160.0, 0.0 if r else inside) for r in range(4))
        many = 1 if parts else 40
        pieces = tuple(Piece(100 + k, f"/{k}", 0, 160.0 / many, 500.0, parts=parts) for k in range(many))
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces), Limits()).decide()
        begun = min(begun, look * LOOK) if decision.something else begun
    assert begun == begins


@pytest.mark.parametrize("every", [5.0, 30.0])
@pytest.mark.parametrize(
    ("missing", "crowded"),
    [
        ([range(20, 44)], (44,)),
        ([range(20, 44)], (19, 44)),  # nobody knows how it was between
        ([range(20, 44), range(45, 69)], (44, 69)),
        ([range(20, 44), range(45, 46)], (46,)),
        ([range(20, 21)], (21,)),
    ],
)
def test_a_stall_moves_nothing_though_looks_were_missing_before_it(
    missing: Sequence[range], crowded: Sequence[int], every: float
) -> None:
    """They fail while MDSs do not answer; how it was then is not known."""
    state, away = State(), {look for looks in missing for look in looks}
    for look in (look for look in range(80) if look not in away):
        inside = 16.0 if look in crowded else 0.3
        ranks = tuple(RankView(r, 0.0 if r else 160.0, 0.0 if r else inside) for r in range(4))
        pieces = tuple(Piece(100 + k, f"/{k}", 0, 4.0, 500.0) for k in range(40))
        state, decision = Scheduler(state, View(look * every, ranks, pieces), Limits()).decide()
        assert not decision.something


@pytest.mark.parametrize(("requests", "inside"), [(18.0, 50.0), (300.0, 40.0)])
def test_a_rank_that_crawls_does_not_pass_for_idle(requests: float, inside: float) -> None:
    """Its host swaps, or its cache is too small: it is not full by what it serves."""
    ranks = [RankView(r, 1000.0, 16.0, True, 1000.0, 16.0) for r in range(3)]
    ranks.append(RankView(3, requests, inside, False, 1000.0, 16.0))
    pieces = [Piece(100 * r + k, f"/{r}/{k}", r, 25.0, 100.0) for r in range(3) for k in range(40)]
    pieces.append(Piece(400, "/3", 3, requests, 100.0))
    found, _ = first_of(View(0.0, tuple(ranks), tuple(pieces), harmful=True), looks=20)
    assert [move for move in found if 3 in (move.target, move.source)] == []


@pytest.mark.parametrize(("requests", "inside"), [(50.0, 5.0), (50.0, 1.3), (59.0, 2.0), (15.0, 5.0)])
def test_where_a_few_requests_wait_though_next_to_none_is_served_there_is_no_room(
    requests: float, inside: float
) -> None:
    """Its time goes to capabilities, or to other ranks. By its rate it has most room."""
    ranks = (RankView(0, requests, inside), RankView(1, 600.0, 12.0, True), *rested(2, 3))
    pieces = [Piece(100 + k, f"/{k}", 1, 20.0, 100.0) for k in range(30)]
    pieces += [Piece(10 + r.rank, f"/r{r.rank}", r.rank, r.requests, 100.0) for r in ranks if r.rank != 1]
    found, _ = first_of(View(0.0, ranks, tuple(pieces), harmful=True), looks=10)
    assert found and {move.target for move in found} == {2, 3}


def rested(*ranks: int) -> tuple[RankView, ...]:
    return tuple(RankView(rank, 350.0, 0.35) for rank in ranks)


def stalls(looks: int, mute: bool) -> list[Move]:
    """Full ranks that have the same; one of them serves nothing for some looks."""
    pieces = tuple(Piece(100 * r + k, f"/{r}/{k}", r, 4.0, 1000.0) for r in range(4) for k in range(100))
    state, found = State(), list[Move]()
    for look in range(30):
        away = 20 <= look < 20 + looks
        ranks = [RankView(r, 400.0, 12.0, True, 400.0, 12.0) for r in range(4)]
        if away:
            ranks[3] = RankView(3, 0.0, 0.0, False, 400.0, 12.0)
        seen = View(look * LOOK, tuple(ranks), pieces, mute=frozenset([3] if away and mute else []))
        state, decision = Scheduler(state, seen, Limits()).decide()
        found += decision.moves
    return found


def test_a_rank_that_serves_nothing_for_a_look_is_not_taken_for_idle() -> None:
    assert stalls(looks=1, mute=False) == []


def test_a_rank_that_does_not_answer_gets_nothing() -> None:
    assert {move.target for move in stalls(looks=4, mute=False)} == {3}, "it may be idle"
    assert stalls(looks=4, mute=True) == []


@pytest.mark.parametrize(
    ("sick", "mute"), [(RankView(3, 30.0, 12.0, False, 600.0, 16.0), ()), (RankView(3, 0.0), (3,))]
)
def test_nothing_that_is_new_goes_to_a_rank_that_crawls_or_does_not_answer(
    sick: RankView, mute: Sequence[int]
) -> None:
    ranks = (*(RankView(r, 300.0, 0.5, False, 600.0, 16.0) for r in range(3)), sick)
    old = tuple(Piece(r + 1, f"/{r}", r, 300.0 if r < 3 else sick.requests, 100.0) for r in range(4))
    state, targets = State(), Counter[int]()
    for look in range(20):
        new = tuple(Piece(100 * look + k, f"/{look}/{k}", 0, 0.0, 1.0, fresh=True) for k in range(10, 40))
        seen = View(look * LOOK, ranks, (*old, *new), mute=frozenset(mute))
        state, decision = Scheduler(state, seen, Limits()).decide()
        if look > 10:
            targets.update(move.target for move in decision.moves)
    assert targets[1] > 50 < targets[2] and not targets[3]


def test_a_rank_that_crawls_beside_others_that_rest_is_not_relieved_of_its_scan() -> None:
    ranks = [RankView(r, 200.0, 0.2, False, 2000.0) for r in range(3)]
    ranks.append(RankView(3, 100.0, 9.0, False, 2000.0))
    pieces = [
        Piece(100 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 9, 100.0)
        for r in ranks
        for k in range(9)
    ]
    assert first_of(View(0.0, tuple(ranks), tuple(pieces)), looks=40) == ([], [])


def test_one_that_has_a_part_with_a_pin_of_ours_is_seen_as_its_parts() -> None:
    """It was renamed into it; by its load nobody would have looked into it."""
    ranks = tuple(RankView(r, 1000.0 if r else 10.0, 9.0 if r else 0.1, bool(r), 1000.0) for r in range(2))
    archive = Piece(1, "/archive", 0, 5.0, 100.0, held=OURS_BELOW, parts=1)
    _, decision = Scheduler(State(), View(LOOK, ranks, (archive,), harmful=True), Limits()).decide()
    assert decision.split == (1,)


@pytest.mark.parametrize(
    ("held", "parts", "split"), [(FIXED_BELOW, 9, [1]), (FIXED_BELOW, 1, []), ("x", 9, [])]
)
def test_what_may_not_move_for_a_pin_in_it_is_seen_as_its_parts_where_it_fills_a_rank(
    held: str, parts: int, split: list[int]
) -> None:
    """An operator's pin below it keeps it where it is, but not what is beside that."""
    ranks = (RankView(0, 1000.0, 20.0, True, 1000.0, 16.0), *(RankView(r, 10.0, 0.1) for r in (1, 2)))
    hot = Piece(1, "/hot", 0, 980.0, 5000.0, held=held, parts=parts)
    state, found = State(), list[int]()
    for look in range(8):
        state, decision = Scheduler(state, View(look * LOOK, ranks, (hot,), True), Limits()).decide()
        found += decision.split
        assert not decision.moves
    assert found == split


def crumbs(rank: int, many: int, load: float, inodes: float) -> tuple[Piece, ...]:
    return tuple(Piece(1000 * (rank + 1) + k, f"/r{rank}/{k}", rank, load, inodes) for k in range(many))


def first_of(view: View, looks: int = 6) -> tuple[list[Move], list[int]]:
    """What is moved, and scattered, in some looks that show the same."""
    state, moves, spread = State(), list[Move](), list[int]()
    for look in range(looks):
        state, decision = Scheduler(state, replace(view, now=look * LOOK), Limits()).decide()
        moves, spread = [*moves, *decision.moves], [*spread, *(s.ino for s in decision.scatter)]
    return moves, spread


def test_small_directories_that_do_not_pay_are_in_nobodys_way() -> None:
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (2, 3))
    hot = RankView(0, 1000.0, 20.0, True, CAPACITY)
    files = Piece(1, "/hot", 0, 765.0, 5000.0, scatters=(0, 1, 2, 3), files=True)
    seen = View(
        0.0, (hot, RankView(1, 0.0, capacity=CAPACITY), *idle), (files, *crumbs(0, 100, 2.35, 12_000.0)), True
    )
    assert first_of(seen) == ([], [1])
    held = Piece(1, "/pinned", 0, 880.0, 5000.0, held="pinned")
    other = RankView(1, 1000.0, 10.0, True, CAPACITY)
    both = (held, *crumbs(0, 60, 2.0, 9_000.0), *crumbs(1, 10, 100.0, 500.0))
    moves, _ = first_of(View(0.0, (hot, other, *idle), both, True))
    assert {move.source for move in moves} == {1}


@pytest.mark.parametrize(("lookups", "spread"), [(1.0, []), (0.7, []), (0.5, [1]), (0.0, [1])])
def test_files_that_are_mostly_looked_up_stay_in_one_piece(lookups: float, spread: list[int]) -> None:
    """Clients that ask one rank for all names gain nothing when it has to pass them on."""
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    hot = RankView(0, 1000.0, 20.0, True, CAPACITY, lookups=lookups)
    files = Piece(1, "/hot", 0, 988.0, 5000.0, scatters=(0, 1, 2, 3), files=True)
    assert first_of(View(0.0, (hot, *idle), (files,), True))[1] == spread
    for other in (files._replace(files=False), files._replace(many=True)):
        assert first_of(View(0.0, (hot, *idle), (other,), True))[1] == [1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"files": True}, "its files are looked up"),
        ({"scatters": ()}, "it cannot be divided, as far as is known"),
        ({"scatters": (), "undivided": "it has few files"}, "it has few files"),
        ({"scatters": (0, 1, 2, 9)}, "on ranks that are not to be used"),
        ({"held": "pinned-by-operator"}, "pinned-by-operator"),
    ],
)
def test_one_directory_that_fills_a_rank_and_is_not_divided_is_named(
    change: dict[str, Any], why: str
) -> None:
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    hot = RankView(0, 1000.0, 20.0, True, CAPACITY, lookups=0.9)
    one = Piece(1, "/hot", 0, 988.0, 5000.0, scatters=(0, 1, 2, 3))._replace(**change)
    state, decision = State(), Decision()
    for look in range(6):
        state, decision = Scheduler(state, View(look * LOOK, (hot, *idle), (one,), True), Limits()).decide()
    assert "/hot" in decision.why and why in decision.why


@pytest.mark.parametrize(
    ("part", "whole", "spread"),
    [
        ({"rank": 1, "pin": 1, "requests": 100.0}, {}, True),
        ({"pin": 0, "requests": 100.0}, {}, True),
        ({}, {}, True),  # it goes along, and nobody asks for it
        ({"requests": 100.0}, {}, False),  # as much would go to any rank
        ({"inodes": 10_000_000.0}, {}, False),  # it costs more than it brings
        ({}, {"parts": 2}, False),  # another one is not read yet
        ({}, {"unknown": True}, False),
    ],
)
def test_what_comes_and_goes_beside_parts_that_stay_is_placed_when_made(
    part: dict[str, Any], whole: dict[str, Any], spread: bool
) -> None:
    """Those that have pins stay where they are; those that have none count by what they are asked for, and by
    what is in them."""
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    hot = RankView(0, 1000.0, 20.0, True, CAPACITY)
    stays = Piece(2, "/jobs/old", 0, 0.0, 1000.0, within=1)._replace(**part)
    rest = Piece(1, "/jobs", 0, 1000.0, 800.0, parts=1, scatters=(0, 1, 2, 3))
    # Neither is moved as a whole: what does not rest goes first.
    rests = tuple(Past(Move(ino, "", 1, 0, 9.0, 9.0, 9.0, ""), 0.0, 10.0, 9, 9.0) for ino in (1, 2))
    state, found = State(split=frozenset({1}), past=rests), list[int]()
    for look in range(3, 9):
        view = View(look * LOOK, (hot, *idle), (rest._replace(**whole), stays), True, pins=1)
        state, decision = Scheduler(state, view, Limits()).decide()
        found += [s.ino for s in decision.scatter]
    assert found == ([1] if spread else [])


@pytest.mark.parametrize("number", [1, 2])
def test_what_has_much_in_the_cache_for_what_is_asked_of_it_is_in_nobodys_way_either(number: int) -> None:
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    hot = RankView(0, 1000.0, 20.0, True, CAPACITY)
    files = Piece(1, "/hot", 0, 988.0, 5000.0, scatters=(0, 1, 2, 3), files=True)
    beside = [Piece(k, f"/old{k}", 0, 12.0 / number, 300_000.0) for k in range(2, 2 + number)]
    _, spread = first_of(View(0.0, (hot, *idle), (files, *beside), True))
    assert spread == [1]


def test_small_ones_do_not_go_in_place_of_large_ones_that_only_rest_or_are_not_known_yet() -> None:
    ranks = (RankView(0, 560.0, 3.0, False, CAPACITY), *(RankView(r, 250.0, 1.0) for r in (1, 2, 3)))
    large = tuple(Piece(k, f"/{k}", 0, 170.0, 100.0) for k in (1, 2, 3))
    rested = tuple(
        Past(Move(p.ino, p.path, 1, 0, 170.0, 100.0, 100.0, ""), 0.0, 10.0, 9, 170.0) for p in large
    )
    state = State(past=rested, at=95.0)
    for look in range(20, 30):
        seen = View(look * LOOK, ranks, (*large, *crumbs(0, 100, 0.5, 10.0)), True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        assert not decision.moves
    unread = tuple(p._replace(parts=None) for p in large)
    assert not first_of(View(0.0, ranks, (*unread, *crumbs(0, 100, 0.5, 10.0)), True))[0]


def test_of_several_large_directories_one_is_scattered_at_a_time() -> None:
    full = tuple(RankView(r, 1000.0, 20.0, True, CAPACITY) for r in (0, 1))
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (2, 3))
    pieces = tuple(
        Piece(1 + r, f"/hot{r}", r, 990.0, 300_000.0, scatters=(0, 1, 2, 3), files=True) for r in (0, 1)
    )
    _, spread = first_of(View(0.0, (*full, *idle), pieces, True), 2)
    assert len(spread) == 1


@pytest.mark.parametrize(
    ("limits", "number"), [(Limits(), 1), (Limits(hourly=10.0), 1), (Limits(hourly=0.0), 0)]
)
def test_what_is_scattered_is_under_way_and_counts_in_the_hour(limits: Limits, number: int) -> None:
    full = tuple(RankView(r, 1000.0, 20.0, True, CAPACITY) for r in (0, 1, 2, 3))
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (4, 5, 6, 7))
    pieces = tuple(
        Piece(1 + r, f"/hot{r}", r, 990.0, 20_000.0, scatters=tuple(range(8)), files=True) for r in range(4)
    )
    state, spread = State(), 0
    for look in range(8):
        seen = View(look * LOOK, (*full, *idle), pieces, True)
        state, decision = Scheduler(state, seen, limits).decide()
        spread += len(decision.scatter)
    assert spread == number


def test_what_is_new_waits_for_inodes_that_are_under_way_unless_it_is_empty() -> None:
    ranks = (RankView(0, 900.0, 5.0), RankView(1, 0.0))
    under_way = Past(Move(1, "/1", 0, 1, 300.0, 300.0, 24_000.0, ""), 0.0)
    old = (Piece(1, "/1", 0, 300.0, 24_000.0), Piece(2, "/2", 1, 1.0, 10.0))
    new = tuple(Piece(k, f"/new{k}", 0, 0.0, 900.0 if k < 50 else 1.0, fresh=True) for k in range(10, 90))
    state = State(past=(under_way,), at=0.0)
    _, decision = Scheduler(state, View(LOOK, ranks, (*old, *new)), Limits()).decide()
    moved = [move.inodes for move in decision.moves]
    assert sum(moved) <= PART * 25_000.0 + len(moved) and moved.count(1.0) > 10 and moved.count(900.0) > 3


def test_what_is_new_leaves_half_of_an_hours_inodes_and_of_all_pins() -> None:
    ranks = (RankView(0, 900.0, 5.0), RankView(1, 0.0))
    old = (Piece(1, "/1", 0, 300.0, 24_000.0), Piece(2, "/2", 1, 1.0, 10.0))
    new = tuple(Piece(k, f"/new{k}", 0, 0.0, 400.0, fresh=True) for k in range(10, 90))

    def moved(limits: Limits, pins: int) -> int:
        view = View(LOOK, ranks, (*old, *new), pins=pins)
        return len(Scheduler(State(at=0.0), view, limits).decide()[1].moves)

    assert moved(Limits(), 0) > 10
    assert moved(Limits(hourly=4_000.0), 0) == 5
    assert moved(Limits(pins=100), 45) == 5


def test_what_is_gone_when_it_has_arrived_is_waited_for_no_more() -> None:
    ranks = (RankView(0, 900.0, 5.0), RankView(1, 300.0, 1.0))
    arrived = Past(Move(1, "/1", 0, 1, 300.0, 300.0, 900.0, ""), 0.0, arrived=LOOK)
    state, there = State(past=(arrived,), at=0.0), (Piece(2, "/2", 0, 900.0, 10.0),)
    for look in range(1, 6):
        state, _ = Scheduler(state, View(LOOK * (look + 1), ranks, there), Limits()).decide()
    (past,) = state.past
    assert past.settled == 0.0 and not past.under_way and not past.lost


def test_a_load_that_comes_back_while_something_moves_finds_ranks_that_can_do_something() -> None:
    """The first look of a new manager was at a time when no client was at work."""
    state = State(past=(Past(Move(1, "/1", 0, 1, 300.0, 300.0, 9000.0, ""), 0.0),))
    pieces = (Piece(1, "/1", 0, 300.0, 9000.0), Piece(2, "/2", 0, 700.0, 100.0))
    for look in range(8):
        busy = RankView(0, 1000.0, 20.0, True) if look >= 4 else RankView(0, 0.0)
        seen = View(look * LOOK, (busy, RankView(1, 0.0)), pieces, True)
        state, _ = Scheduler(state, seen, Limits()).decide()
    assert state.capacity == {0: 1000.0, 1: 1000.0}


def test_what_is_used_by_turns_is_not_sent_to_and_fro_all_hour() -> None:
    phases = dict.fromkeys(range(1, 8), 300.0) | dict.fromkeys(range(8, 15), 75.0)
    cluster = Cluster(phases, ranks=5, inodes=2000.0)

    def turn(look: int) -> None:
        if look % 12 == 0:
            on, off = (range(1, 8), range(8, 15)) if look % 24 else (range(8, 15), range(1, 8))
            cluster.rates |= dict.fromkeys(on, 300.0) | dict.fromkeys(off, 75.0)

    cluster.go(700, turn)
    assert max(Counter(move.ino for _, move in cluster.history).values()) <= 4


def test_what_woke_counts_with_what_it_asks_for_not_with_what_its_full_rank_let_through() -> None:
    cluster = Cluster(dict.fromkeys(range(1, 11), 0.0) | {11: 50.0}, ranks=5, inodes=15_000.0)
    cluster.go(4)
    cluster.rates |= dict.fromkeys(range(1, 11), 300.0)
    cluster.go(10)
    loads = {wake.ino: wake.load for wake in cluster.state.wakes}
    assert len(loads) == 10 and max(loads.values()) == 300.0


def test_of_what_is_lifted_no_more_is_pinned_than_may_be() -> None:
    cluster = Cluster({1: 2000.0, 2: 2000.0}, parts={1: 9, 2: 9}, limits=Limits(pins=1))
    assert max(len(cluster.look().moves) for _ in range(10)) == 1


def test_what_a_full_rank_can_do_is_waited_for_a_few_looks_only() -> None:
    """One that exports all the time never shows it."""
    loads = (600.0, 1600.0, 400.0, 400.0)
    state, found = State(), list[int]()
    for look in range(12):
        ranks = tuple(
            RankView(r, load, 30.0 if r == 0 else 2.0, r < 2, 2000.0 if r else None)
            for r, load in enumerate(loads)
        )
        pieces = tuple(
            Piece(100 * r + k, f"/{r}/{k}", r, load / 10, 50.0)
            for r, load in enumerate(loads)
            for k in range(10)
        )
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces, True), Limits()).decide()
        found += [look for _ in decision.moves]
    assert found and min(found) > 1


@pytest.mark.parametrize(("rate", "moves"), [(16.0, False), (40.0, True)])
def test_a_few_requests_that_wait_long_move_nothing(rate: float, moves: bool) -> None:
    ranks = (RankView(0, rate, 9.6), *(RankView(r, 1.0) for r in (1, 2, 3)))
    pieces = tuple(Piece(k + 1, f"/{k}", 0, rate / 8, 50.0) for k in range(8))
    assert bool(first_of(View(0.0, ranks, pieces), 30)[0]) is moves


def beside_links(pieces: Sequence[Piece], links: float) -> list[Decision]:
    """Looks at a full rank and three idle ones; links are made for two of them, and read later."""
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    state, found = State(split=frozenset({9})), list[Decision]()
    for look in range(8):
        hot = RankView(0, 1000.0, 20.0, True, CAPACITY, 20.0, links=links if look < 2 else 0.0)
        seen = View(look * LOOK, (hot, *idle), tuple(pieces), True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        found.append(decision)
    return found


@pytest.mark.parametrize("links", [0.25, 0.0])
def test_what_hard_links_are_made_in_is_not_divided(links: float) -> None:
    large = beside_links([Piece(1, "/backup", 0, 990.0, 50_000.0, parts=40)], links)
    assert any(decision.split for decision in large) is not bool(links)
    files = Piece(2, "/flat", 0, 990.0, 500.0, scatters=(0, 1, 2, 3), files=True)
    spread = beside_links([files], links)
    assert any(decision.scatter for decision in spread) is not bool(links)
    parts = [
        Piece(9, "/of", 0, 0.0, 10.0, parts=5),
        *(Piece(k, f"/of/{k}", 0, 198.0, 100.0, 9) for k in range(10, 15)),
    ]
    moved = beside_links(parts, links)
    assert any(decision.moves for decision in moved) is not bool(links)
    if links:
        for found in (large, spread, moved):
            assert "what hard links may be made in is not divided" in found[-1].why
    whole = beside_links([Piece(k, f"/volumes/g/{k}", 0, 198.0, 100.0) for k in range(10, 15)], links)
    assert any(decision.moves for decision in whole), "links do not leave it"


def linking(rank: int, requests: float, of: float = 0.05) -> RankView:
    """A full rank; so much of its requests make links."""
    return RankView(rank, requests, 20.0, True, CAPACITY, 20.0, links=of)


def test_where_links_are_made_what_has_parts_is_moved_as_a_whole() -> None:
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3, 4))
    large = tuple(Piece(k, f"/volumes/g/{k}", 0, 250.0, 100.0, parts=10) for k in range(1, 5))
    moves, _ = first_of(View(0.0, (linking(0, 1000.0), *idle), large, True), 1)
    assert len(moves) == 3


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize(
    ("paths", "moves"),
    [
        (("/cache", "/work"), False),
        (("/cache", "/of/work", "/of", "/idle"), False),
        (("/cache", "/volumes/g/work", "/idle"), True),
        (("/volumes/g/cache", "/volumes/g/work"), True),
    ],
)
def test_what_is_right_below_the_root_stays_where_links_may_be_made_from_one_to_another(
    paths: Sequence[str], moves: bool, new: bool
) -> None:
    """MDSs make none from one subvolume to another, and what nobody uses is linked with nothing."""
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3))
    of = {path: 1 + k for k, path in enumerate(paths)}
    pieces = [
        Piece(k, path, 0, 0.0 if path in ("/idle", "/of") else 500.0, 800.0, of.get(path[:3], 0))
        for path, k in of.items()
    ]
    pieces += [Piece(k, f"{paths[0]}-{k}", 0, 0.0, 1.0, fresh=True) for k in range(9, 20 if new else 9)]
    state, found = State(split=frozenset({of.get("/of", 0)})), list[Decision]()
    for look in range(8):
        seen = View(look * LOOK, (linking(0, 1000.0, 0.1), *idle), tuple(pieces), True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        found.append(decision)
    moved = {move.ino for decision in found for move in decision.moves}
    assert bool(moved & {1, 2}) is moves and (moves or not moved)
    assert moves or "what hard links may be made in is not divided" in found[-1].why


def looks_at_links(
    looks: int, view: Callable[[int], tuple[Sequence[RankView], Sequence[Piece]]]
) -> dict[int, int]:
    """In which look each was moved first, by inode number."""
    state, moved = State(), dict[int, int]()
    for look in range(looks):
        ranks, pieces = view(look)
        state, decision = Scheduler(
            state, View(look * LOOK, tuple(ranks), tuple(pieces), True), Limits()
        ).decide()
        moved = dict.fromkeys((move.ino for move in decision.moves), look) | moved
    return moved


def test_what_had_links_to_each_other_below_the_root_stays_though_one_is_used_alone() -> None:
    """What reads by a link asks the directory of the file only."""
    idle = [RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3)]

    def view(look: int) -> tuple[Sequence[RankView], Sequence[Piece]]:
        made = look < 3
        others = (
            Piece(k, f"/volumes/g/{k}", 0, 100.0, 800.0, held="pinned by others") for k in range(10, 14)
        )
        work = Piece(2, "/work", 0, 300.0 if made else 0.5, 800.0)
        full = replace(linking(0, 1000.0, 0.1 * made), written=1 + look, journal=1)
        return (full, *idle), (Piece(1, "/cache", 0, 300.0, 800.0), work, *others)

    moved = looks_at_links(140, view)
    assert 2 not in moved and 600.0 < moved[1] * LOOK - 2 * LOOK < 640.0


@pytest.mark.parametrize(
    ("peers", "volumes", "moves"), [(30.0, "", False), (0.5, "", True), (30.0, "/volumes/g", True)]
)
def test_what_is_right_below_the_root_stays_where_links_to_it_are_made_on_another_rank(
    peers: float, volumes: str, moves: bool
) -> None:
    """Its rank is told of each of them by the one that makes them."""
    told = RankView(0, 1000.0, 20.0, True, CAPACITY, 20.0, peers=peers)
    ranks = (told, linking(1, 1000.0, 0.02), *(RankView(r, 0.0, capacity=CAPACITY) for r in (2, 3)))
    held = (Piece(10 + r, f"/volumes/g/{r}", r, 500.0, 800.0, held="pinned by others") for r in (0, 1))
    pieces = (Piece(1, "/a", 0, 500.0, 800.0), Piece(2, f"{volumes}/b", 1, 500.0, 800.0), *held)
    moved = looks_at_links(8, lambda _: (ranks, pieces))
    assert bool(moved.keys() & {1, 2}) is moves


def test_parts_of_what_links_are_made_in_stay_on_other_ranks_too() -> None:
    """The files are there, and their links elsewhere."""
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (0, 3))
    full = RankView(2, 1000.0, 20.0, True, CAPACITY, 20.0)
    snapshots = tuple(Piece(k, f"/of/s{k}", 1, 200.0, 100.0, 9) for k in range(10, 15))
    files = tuple(Piece(k, f"/of/f{k}", 2, 200.0, 100.0, 9) for k in range(20, 25))
    head = Piece(9, "/of", 0, 0.0, 10.0, parts=10)
    new = Piece(30, "/of/new", 1, 0.0, 1.0, 9, fresh=True)
    other = tuple(Piece(k, f"/x/{k}", 2, 100.0, 100.0, 8) for k in range(40, 45))
    pieces = (head, *snapshots, *files, new, Piece(8, "/x", 2, 0.0, 10.0, parts=5), *other)
    state, moved = State(split=frozenset({8, 9})), set[int]()
    for look in range(8):
        seen = View(look * LOOK, (*idle, linking(1, 1000.0, 0.3), full), pieces, True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        moved |= {move.ino for move in decision.moves}
    assert moved and moved <= {p.ino for p in other}


def test_a_link_now_and_then_on_a_rank_that_does_next_to_nothing_hinders_nobody() -> None:
    parts = [Piece(9, "/of", 0, 0.0, 10.0, parts=5), Piece(10, "/of/a", 0, 8.0, 10.0, 9)]
    assert Links().seen([RankView(0, 8.0, links=0.025)], parts, 0.0) == Links()
    assert Links().seen([RankView(0, 80.0, links=0.025)], parts, 0.0) == Links(
        {0: Mark(0.0, 0)}, {9: Mark(0.0, 0)}, {(0, 9): Mark(0.0, 0)}
    )


def test_some_links_a_second_count_however_many_requests_there_are() -> None:
    parts = [
        Piece(9, "/of", 0, 0.0, 10.0, parts=5),
        Piece(10, "/of/a", 0, 160.0, 10.0, 9),
        Piece(11, "/b", 0, 100.0, 1.0),
    ]
    assert Links().seen([RankView(0, 10_000.0, links=0.0004)], parts, 0.0) == Links()
    found = Links().seen([RankView(0, 10_000.0, links=0.015)], parts, 0.0)
    assert (found.on, found.of) == ({0: Mark(0.0, 0)}, {9: Mark(0.0, 0)})


@pytest.mark.parametrize(
    ("looks", "stays"),
    [
        ([(300.0, 900_000, 1000)], True),
        ([(3600.0, 9000, 8000)], True),
        ([(90_000.0, 9000, 8000)], True),
        ([(700.0, 140_000, 131_000)], False),
        ([(300.0, 100, 131_000), (900.0, 9000, 8990)], True),
        ([(300.0, 100, 131_000), (900.0, 9000, 8900)], False),
        ([(3600.0, 0, 0)], True),
        ([(14_401.0, 0, 0)], False),
    ],
    ids=[
        "a moment ago",
        "expires slowly",
        "for a day",
        "expired",
        "began anew",
        "began anew and expired",
        "does not tell",
        "long ago",
    ],
)
def test_where_links_were_made_it_is_not_divided_until_what_was_journaled_then_has_expired(
    looks: Sequence[tuple[float, int, int]], stays: bool
) -> None:
    """Until then nothing but the rank knows where a new file is."""
    pieces = [Piece(9, "/volumes/g/of", 0, 80.0, 10.0, parts=5)]
    links = Links().seen([RankView(0, 80.0, links=0.1, written=5000, journal=4000)], pieces, 0.0)
    for now, written, journal in looks:
        links = links.seen([RankView(0, 80.0, written=written, journal=journal)], pieces, now)
    assert links.held(pieces) == (frozenset({9}) if stays else frozenset())


def test_what_links_were_made_in_is_new_in_the_journal_of_the_rank_that_it_has_gone_to() -> None:
    links, pieces = Links(), [Piece(9, "/volumes/g/of", 0, 80.0, 10.0, parts=5)]
    for now, rank, written in ((0.0, 0, 5000), (5.0, None, 5000), (10.0, 1, 6000), (800.0, 1, 9000)):
        pieces = [piece._replace(rank=rank) for piece in pieces]
        first = RankView(0, 80.0, links=0.1 * (now == 0.0), written=written, journal=1)
        links = links.seen([first, RankView(1, 80.0, written=70_000 + written, journal=3500)], pieces, now)
    assert (links.on, links.of) == ({}, {9: Mark(10.0, 1, 76_000)})


def test_what_has_little_where_links_are_made_is_held_there_only() -> None:
    idle = tuple(RankView(r, 0.0, capacity=CAPACITY) for r in (2, 3))
    full = RankView(1, 1000.0, 20.0, True, CAPACITY, 20.0)
    linked = tuple(Piece(k, f"/of/{k}", 0, 86.0, 100.0, 9) for k in range(10, 15))
    other = tuple(Piece(k, f"/x/{k}", 1, 100.0, 100.0, 8) for k in range(20, 35))
    beside = Piece(40, "/x/40", 0, 30.0, 100.0, 8)
    heads = Piece(9, "/of", 0, 0.0, 10.0, parts=5), Piece(8, "/x", 1, 0.0, 10.0, parts=16)
    state, moved = State(split=frozenset({8, 9})), set[int]()
    for look in range(8):
        ranks = (linking(0, 460.0), full, *idle)
        seen = View(look * LOOK, ranks, (*heads, *linked, *other, beside), True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        moved |= {move.ino for move in decision.moves}
    assert moved and moved <= {p.ino for p in other}


def test_what_was_scattered_hinders_others_until_it_is_there_or_for_a_minute() -> None:
    ranks = (
        RankView(0, 1000.0, 20.0, True, CAPACITY),
        *(RankView(r, 0.0, capacity=CAPACITY) for r in (1, 2, 3)),
    )
    pieces = tuple(Piece(k, f"/{k}", 0, 100.0, 100.0) for k in range(10, 20))
    begun = Scattered((0, 1, 2, 3), 0.0, inodes=300_000.0)
    for rank, moves in ((None, True), (0, False)):
        state = State(scattered={1: begun})
        head = Piece(1, "/hot", rank, 0.0, 300_000.0)
        for look in range(4):
            seen = View(look * LOOK, ranks, (head, *pieces), True)
            state, decision = Scheduler(state, seen, Limits()).decide()
        assert bool(decision.moves or state.moving) is moves
        for look in range(12, 16):
            seen = View(look * LOOK, ranks, (head, *pieces), True)
            state, decision = Scheduler(state, seen, Limits()).decide()
        assert decision.moves or state.moving


def test_what_can_be_moved_as_a_whole_is() -> None:
    every = tuple(range(4))
    cluster = hot(8, 200.0, scatters=dict.fromkeys(range(1, 9), every))
    assert not any(cluster.look().scatter for _ in range(20))
    assert cluster.fullest() <= 1.1


@pytest.mark.parametrize("ranks", [(0, 0, 0, 0), (0, 1, 2, 9), ()])
def test_what_brings_nothing_or_needs_another_rank_is_not_placed(ranks: tuple[int, ...]) -> None:
    cluster = Cluster({1: 2000.0, 2: 50.0}, scatters={1: ranks})
    assert not any(cluster.look().scatter for _ in range(10))


def test_a_directory_rests_after_a_move_unless_its_load_really_changes() -> None:
    cluster = hot()
    cluster.go(10)
    first = {move.ino for _, move in cluster.history}
    away = next(piece for piece in first if cluster.at[piece] == 1)
    moves = len(cluster.history)
    cluster.go(20)
    assert len(cluster.history) == moves
    cluster.rates[away] = 900.0  # its rank is full again
    cluster.go(10)
    assert {move.source for _, move in cluster.history[moves:]} == {1}
    assert cluster.fullest() <= 1.3


def test_what_was_empty_when_it_got_its_rank_is_moved_when_its_load_comes_late() -> None:
    """MDSs exported nothing for minutes, so that it counts as lost; it is as new as it was then."""
    cluster = hot(12, 60.0)
    cluster.go(10)
    lost = Past(Move(1, "/p1", 3, 0, 0.0, 0.0, 1.0, ""), cluster.now - 310.0, cluster.now - 5.0, lost=True)
    cluster.at[1], moves = 0, len(cluster.history)
    past = (*(p for p in cluster.state.past if p.move.ino != 1), replace(lost, settled=0.0))
    cluster.state = replace(cluster.state, past=past)
    cluster.rates |= {piece: 400.0 if piece == 1 else cluster.rates[piece] for piece in cluster.rates}
    cluster.rates |= {piece: 400.0 for piece, rank in cluster.at.items() if rank == 0}
    cluster.go(8)
    assert 1 in {move.ino for _, move in cluster.history[moves:]}


def test_hours_of_moves_are_limited() -> None:
    cluster = hot(limits=Limits(hourly=5000.0))
    cluster.go(100)
    assert len(cluster.history) == 5


def test_under_way_at_once_is_limited() -> None:
    cluster = hot(inodes=8000.0, takes=4, limits=Limits(inodes=20_000.0))
    for _ in range(80):
        cluster.look()
        assert len(cluster.under_way) <= 2
    assert cluster.fullest() <= 1.2


def test_one_that_never_arrives_is_given_up() -> None:
    cluster = hot(takes=10_000, limits=Limits(deadline=100.0))
    cluster.go(40)
    assert not [past for past in cluster.state.past if past.under_way and cluster.now - past.begun > 105.0]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_happens_moves_are_bounded_and_nothing_goes_to_and_fro(data: st.DataObject) -> None:
    cluster = hot(12, 150.0, takes=data.draw(st.integers(1, 4)))

    def change(look: int) -> None:
        if cluster.under_way and data.draw(st.booleans()):
            cluster.look(measured=False)
        if look % 6 == 0 and data.draw(st.booleans()):
            piece = data.draw(st.sampled_from(sorted(cluster.rates)))
            cluster.rates[piece] = data.draw(st.sampled_from([5.0, 80.0, 150.0, 400.0]))

    cluster.go(60, change)
    last: dict[int, tuple[float, Move]] = {}
    changed = replace(cluster.state).demand
    assert set(changed) == set(cluster.rates)
    for at, move in cluster.history:
        before = last.get(move.ino)
        if before is not None and at - before[0] < 15.0:
            assert move.target != before[1].source, "back at once"
        last[move.ino] = (at, move)


def test_what_a_move_made_worse_goes_back_once() -> None:
    cluster = hot(20, 60.0, ranks=2, capacity={1: 250.0})
    cluster.go(12)
    there, back = (Counter(m.ino for _, m in cluster.history if m.target == rank) for rank in (1, 0))
    assert max(there.values()) == max(back.values()) == 1 and cluster.loads()[1] <= 300.0
    moves = len(cluster.history)
    cluster.go(100)
    assert len(cluster.history) == moves
    assert any("back" in move.why for _, move in cluster.history)


@pytest.mark.parametrize(
    ("others", "before", "moves"),
    [
        (RankView(0, 1000.0, 10.0, True, 1000.0), 30.0, False),
        (RankView(0, 950.0, 2.0, False, 1000.0), 30.0, False),
        (RankView(0, 1000.0, 10.0, True, 1000.0), 15.0, True),
        (RankView(0, 600.0, 0.6, False, 1000.0), 30.0, True),
    ],
    ids=["all are full", "others nearly are", "clients wait longer than before", "there is room"],
)
def test_what_has_just_come_to_a_rank_that_is_full_goes_on_only_where_that_helps(
    others: RankView, before: float, moves: bool
) -> None:
    """before: ms that its clients waited where it came from."""
    ranks = (others, replace(others, rank=1), RankView(2, 1000.0, 20.0, True, 1000.0))
    own = [
        Piece(100 * r + k, f"/{r}/{k}", r, rank.requests / 10.0, 100.0)
        for r, rank in enumerate(ranks)
        for k in range(10)
    ]
    pieces = (*own, Piece(1, "/large", 0, 400.0, 1e6, held="pinned"))
    came = [Move(p.ino, p.path, 3, 2, 100.0, 0.0, 100.0, "") for p in own if p.rank == 2]
    past = tuple(Past(m, -17.0, -12.0, 2, 100.0, latency=before / 1000.0) for m in came)
    state, found = State(past=past, elastic={p.ino: 1.0 for p in own}), list[Move]()
    for look in range(HELD + 2):
        view = View(LOOK * look, ranks, pieces)
        state, decision = Scheduler(state, view, Limits()).decide()
        found += decision.moves
        if found:
            break
    assert bool(found) is moves and {m.source for m in found} <= {2}


HALF = RankView(2, 530.0, 16.0, True, 530.0, 19.0)


@pytest.mark.parametrize(
    ("half", "inside", "moves"),
    [
        (HALF, 2.0, True),
        (replace(HALF, requests=1000.0, capacity=1000.0), 2.0, False),
        (HALF, 30.0, False),
    ],
    ids=["can do half", "can do as much", "as many wait elsewhere"],
)
def test_what_came_to_a_rank_that_turns_out_to_be_slower_goes_on_though_all_are_full(
    half: RankView, inside: float, moves: bool
) -> None:
    """Quick ones are full of few requests; nobody knew what the slow one can do when it got as much."""
    quick = [RankView(rank, 760.0, inside, True, 760.0, 2.2) for rank in (1, 3)]
    ranks = (RankView(0, 820.0, max(3.0, inside), True, 1100.0, 170.0), quick[0], half, quick[1])
    own = [
        Piece(100 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 12.0, 100.0)
        for r in ranks
        for k in range(12)
    ]
    came = [Move(p.ino, p.path, 0, p.rank or 0, p.requests, 0.0, 100.0, "") for p in own if p.rank]
    past = tuple(Past(m, -17.0, -12.0, 2, m.load, latency=0.15) for m in came)
    state, found = State(past=past, elastic={p.ino: 1.0 for p in own}), list[Move]()
    for look in range(HELD + 2):
        state, decision = Scheduler(state, View(LOOK * look, ranks, tuple(own)), Limits()).decide()
        found += [move for move in decision.moves if move.source == half.rank]
    assert bool(found) is moves


SLOWER = RankView(2, 500.0, 30.0, True, 1000.0, 12.0)


@pytest.mark.parametrize(
    ("slower", "waits", "gets"),
    [
        (SLOWER, True, False),
        (replace(SLOWER, inside=8.5), False, False),
        (replace(SLOWER, inside=2.0, crowd=40.0), False, True),
        (replace(SLOWER, requests=150.0, inside=2.0, crowd=40.0), False, False),
        (replace(SLOWER, full=False), False, False),
        (replace(SLOWER, crowd=math.inf), False, True),
    ],
    ids=[
        *("slower", "few wait", "hardly any wait", "hardly any wait, and too few for that are served"),
        *("not full, and waits", "told by an operator"),
    ],
)
def test_a_rank_that_may_have_become_slower_gets_nothing_until_that_is_known(
    slower: RankView, waits: bool, gets: bool
) -> None:
    """Where most requests wait nothing is moved: others have less to do for that alone."""

    def view(look: int, last: RankView) -> View:
        ranks = (RankView(0, 1600.0, 9.0, True, 1600.0, 9.0), RankView(1, 1000.0, 1.0), last)
        pieces = (
            Piece(50 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 40.0, 100.0)
            for r in ranks
            for k in range(40)
        )
        return View(LOOK * look, ranks, tuple(pieces), harmful=True)

    state = State()
    for look in range(4):
        state, decision = Scheduler(state, view(look, replace(slower, requests=990.0)), Limits()).decide()
        state = replace(state, past=())
    for look in (4, 5):
        state, decision = Scheduler(state, view(look, slower), Limits()).decide()
        assert ("rank 2 is full, and serves less than it should" in decision.why) == waits
        assert bool(decision.moves) == (not waits)
        assert any(move.target == 2 for move in decision.moves) == gets
        state = replace(state, past=())
    for look in (6, 7, 8):
        state, decision = Scheduler(state, view(look, slower), Limits()).decide()
    assert "serves less" not in decision.why, "it does not wait for ever"


@pytest.mark.parametrize(
    ("large", "more"),
    [(125.0, {"parts": 5}), (1000.0, {"parts": 9}), (600.0, {"scatters": (0, 1, 2, 3) * 4, "files": True})],
    ids=["parts", "all of a rank", "files"],
)
def test_nothing_is_taken_apart_or_distributed_for_one_bad_look_of_a_rank(
    large: float, more: dict[str, Any]
) -> None:
    """All others have too much then, and nothing fits on it as long as it is in doubt."""
    state = State()
    for look in range(6):
        bad = look in (4, 5)
        last = RankView(3, 450.0 if bad else 1000.0, 10.0 if bad else 20.0, True, 1000.0, 20.0)
        ranks = (*(RankView(r, 1000.0, 20.0, True, 1000.0, 20.0) for r in range(3)), last)
        pieces = [Piece(99, "/large", 0, large, 100.0, **more)]
        for rank in ranks:
            left = rank.requests - (large if rank.rank == 0 else 0.0)
            new = (Piece(10 * rank.rank + k, "/small", rank.rank, left / 7.0, 100.0) for k in range(7))
            pieces += new if left else ()
        seen = View(LOOK * look, ranks, tuple(pieces), harmful=True)
        state, decision = Scheduler(state, seen, Limits()).decide()
        assert not (decision.split or decision.scatter or state.apart)
    assert "serves less" not in decision.why and state.acting, "it would have, but for the doubt"


def test_what_fits_nowhere_is_taken_apart_beside_many_ranks_of_which_one_may_have_become_slower() -> None:
    """With many there is always one."""
    state, last = State(), Decision()
    for look in range(6):
        ranks = tuple(
            RankView(r, 400.0, 1.0, False, 1000.0, 20.0)
            if r > 8
            else RankView(r, 1000.0, 20.0, True, 1000.0, 20.0)
            for r in range(16)
        )
        ranks = tuple(replace(r, requests=450.0) if look > 3 and r.rank == look else r for r in ranks)
        pieces = [Piece(7, "/large", 0, 1000.0, 100.0, parts=MANY)]
        pieces += [Piece(10 * r.rank, "/small", r.rank, r.requests, 1e6) for r in ranks[1:]]
        seen = View(LOOK * look, ranks, tuple(pieces), harmful=True)
        state, last = Scheduler(state, seen, Limits()).decide()
        state = replace(state, split=frozenset(), apart=frozenset(), past=())
    assert "/large is to be looked at as parts" in last.why


@pytest.mark.parametrize("pin", [NO_PIN, 0, 1, 7])
def test_what_mdss_are_to_bring_elsewhere_is_left_to_them(pin: int) -> None:
    """They take back what is empty. Rank 7 is not there."""
    ranks = (RankView(0, 300.0, 20.0, True, 300.0), *(RankView(r, 0.0, 0.0, False, 300.0) for r in (1, 2, 3)))
    pieces = (
        Piece(1, "/1", 0, 150.0, 100.0, parts=0, pin=pin),
        Piece(2, "/2", 0, 150.0, 100.0, held="pinned", parts=0),
    )
    state, moved = State(), list[int]()
    for look in range(4):
        state, decision = Scheduler(state, View(LOOK * look, ranks, pieces, harmful=True), Limits()).decide()
        moved += [move.ino for move in decision.moves]
    assert moved == ([] if pin == 1 else [1])


def test_beside_many_ranks_a_doubt_about_one_keeps_nothing_from_what_no_move_relieves() -> None:
    state, split = State(), set[int]()
    for look in range(10):
        ranks = tuple(
            RankView(r, 400.0, 1.0, False, 1000.0, 20.0)
            if r > 8
            else RankView(r, 1000.0, 20.0, True, 1000.0, 20.0)
            for r in range(16)
        )
        bad = 1 + look % 8 if look > 3 else -1
        ranks = tuple(replace(r, requests=450.0) if r.rank == bad else r for r in ranks)
        known = Piece(
            7, "/l", 0, 600.0, 100.0, parts=9 if look > 4 else None, held="" if look > 4 else "unread"
        )
        pieces = [known, Piece(8, "/rest", 0, 400.0, 1e6, held="pinned")]
        pieces += [Piece(10 * r.rank, "/small", r.rank, r.requests, 1e6, held="pinned") for r in ranks[1:]]
        state, decision = Scheduler(state, View(LOOK * look, ranks, tuple(pieces), True), Limits()).decide()
        split |= {*decision.split, *state.apart}
    assert split == {7}


PARTED = State(split=frozenset({2}))


def with_a_rest(own: float, away: float, inodes: float, scatters: tuple[int, ...] = ()) -> View:
    """What is left of /big is on a full rank."""
    ranks = (
        RankView(0, 300.0, 20.0, True, 300.0, 20.0),
        *(RankView(r, 150.0, 0.5, False, 300.0) for r in (1, 2, 3)),
    )
    pieces = (
        Piece(
            1, "/other", 0, 245.0 - own, 500.0, parts=0, scatters=scatters, held="" if scatters else "pinned"
        ),
        Piece(2, "/big", 0, own, inodes, parts=5),
        Piece(3, "/big/a", 1, away, 10.0, within=2, pin=1),
        Piece(4, "/last", 0, 55.0, 10.0, held="pinned"),
    )
    return View(0.0, ranks, pieces, harmful=True)


@pytest.mark.parametrize(
    ("view", "moves", "scatters"),
    [
        (with_a_rest(95.0, 20.0, 1e3), True, False),
        (with_a_rest(95.0, 120.0, 1e3), False, False),
        (with_a_rest(95.0, 20.0, 1e3, (0, 1, 2, 3)), False, True),
        (with_a_rest(95.0, 20.0, 2e6, (0, 1, 2, 3)), False, True),
    ],
    ids=["alone", "its parts are asked for more", "files can be spread", "it does not pay"],
)
def test_what_is_left_of_what_is_in_parts_leaves_only_if_nothing_else_helps_and_no_more_is_passed_on(
    view: View, moves: bool, scatters: bool
) -> None:
    state, moved, spread = PARTED, set[int](), set[int]()
    for look in range(8):
        state, decision = Scheduler(state, replace(view, now=LOOK * look), Limits()).decide()
        moved |= {move.ino for move in decision.moves}
        spread |= {scatter.ino for scatter in decision.scatter}
        if moved or spread:
            break
    assert (moved, spread) == ({2} if moves else set(), {1} if scatters else set())


@pytest.mark.parametrize("lost", [True, False])
def test_what_could_not_be_distributed_is_moved_as_anything_else(lost: bool) -> None:
    state, moved = State(scattered={1: Scattered((0, 1, 2, 3), 0.0, lost)}), list[int]()
    ranks = (RankView(0, 300.0, 20.0, True, 300.0), *(RankView(r, 0.0, 0.0, False, 300.0) for r in (1, 2, 3)))
    pieces = (
        Piece(1, "/1", 0, 150.0, 100.0, parts=0),
        Piece(2, "/2", 0, 150.0, 100.0, held="pinned", parts=0),
    )
    for look in range(6):
        state, decision = Scheduler(state, View(LOOK * look, ranks, pieces, harmful=True), Limits()).decide()
        moved += [move.ino for move in decision.moves]
    assert moved == [1] * lost


def full_but_for_one(last: RankView) -> View:
    """Eleven ranks are full of as much as they can serve, and evenly so."""
    ranks = (*(RankView(r, 1000.0, 9.0, True, 1000.0, 9.0) for r in range(11)), last)
    pieces = (
        Piece(50 * r.rank + k, f"/{r.rank}/{k}", r.rank, r.requests / 40.0, 100.0)
        for r in ranks
        for k in range(40)
    )
    return View(0.0, ranks, tuple(pieces))


@pytest.mark.parametrize(
    ("last", "gets"),
    [
        (RankView(11, 100.0, 0.1, False, 1000.0), True),
        (RankView(11, 900.0, 0.9, False, 1000.0), False),
        (RankView(11, 500.0, 60.0, True, 1000.0), False),
    ],
    ids=["idle", "even", "full"],
)
def test_a_rank_that_is_idle_beside_many_full_ones_gets_its_share(last: RankView, gets: bool) -> None:
    """None of them has a tenth too much. One that is full has no room, whatever it is said to be able to."""
    state, view, targets = State(), full_but_for_one(last), set[int]()
    for look in range(12):
        state, decision = Scheduler(state, replace(view, now=LOOK * look), Limits()).decide()
        targets |= {move.target for move in decision.moves}
    assert (11 in targets) == gets


def test_a_rank_that_is_seen_to_be_idle_now_is_not_looked_at_for_half_a_minute_before_it_gets_more() -> None:
    state, view = State(), full_but_for_one(RankView(11, 750.0, 0.7, False, 1000.0))
    for look in range(HELD):
        state, decision = Scheduler(state, replace(view, now=LOOK * look), Limits()).decide()
        assert {move.target for move in decision.moves} == ({11} if look == HELD - 1 else set())


def test_where_nothing_fits_on_an_idle_rank_it_does_not_act_for_ever() -> None:
    view = full_but_for_one(RankView(11, 0.0, 0.0, False, 1000.0))
    whole = tuple(Piece(r.rank, f"/{r.rank}", r.rank, r.requests, 100.0) for r in view.ranks if r.requests)
    state = State()
    for look in range(20):
        seen = replace(view, now=LOOK * look, pieces=whole)
        state, decision = Scheduler(state, seen, Limits()).decide()
        assert not (decision.something or state.acting)


@pytest.mark.parametrize(("left", "back"), [(10.0, 1), (900.0, 0)])
def test_what_rests_goes_back_once_to_a_rank_that_has_next_to_nothing(left: float, back: int) -> None:
    """What is pinned on it by an operator ends, or goes on."""
    pieces = {0: 900.0} | dict.fromkeys(range(1, 21), 100.0)
    cluster = Cluster(pieces, ranks=3, held=frozenset({0}))
    cluster.go(10)
    assert all(move.source == 0 for _, move in cluster.history)
    cluster.rates[0] = left
    cluster.go(10)
    returned = Counter(move.ino for _, move in cluster.history if move.target == 0)
    assert max(returned.values(), default=0) == back


GROUPS, STAY = 6, 14  # groups of four; looks for which one is used


def jumping(inodes: float) -> Cluster:
    """All on rank 0; one group after the other has all the load, neighbours together."""
    return hot(4 * GROUPS, 0.0, inodes=inodes)


def jump(cluster: Cluster, look: int) -> None:
    used = look // STAY % GROUPS
    cluster.rates |= {piece: 450.0 if (piece - 1) // 4 == used else 0.0 for piece in cluster.rates}


def test_what_sleeps_is_spread_before_it_wakes() -> None:
    cluster = jumping(200.0)
    cluster.rates |= {24: 100.0}  # some client is at work
    cluster.look()
    cluster.go(3 * STAY, lambda look: jump(cluster, look))
    assert any("nobody uses it" in move.why for _, move in cluster.history)
    found = Counter(cluster.at.values())
    assert max(found.values()) - min(found.values()) <= 2
    moves = len(cluster.history)
    for used in range(3, GROUPS):
        jump(cluster, used * STAY)
        assert cluster.fullest() <= 2.0, "neighbours are not all on one rank"
        cluster.go(STAY)
    assert len(cluster.history) <= moves + 2


def test_what_sleeps_stays_where_it_is_while_all_that_wakes_finds_room() -> None:
    """Ranks that do a fiftieth of what they can: nothing is late."""
    cluster = jumping(10.0)
    cluster.taught = dict.fromkeys(range(4), CAPACITY)
    for look in range(3 * STAY):
        jump(cluster, look)
        cluster.rates = {piece: rate / 22.5 for piece, rate in cluster.rates.items()}
        cluster.look()
    assert len(cluster.state.wakes) >= 3 and cluster.history == []


def test_a_large_one_that_sleeps_and_is_under_way_holds_up_nothing_that_is_used() -> None:
    cluster = asleep(8, inodes=Limits().inodes, takes=10_000)
    cluster.look()
    (move,) = (move for _, move in cluster.history)
    assert move.load == 0.0
    cluster.inodes = 500.0
    cluster.rates |= {piece: 200.0 for piece in range(1, 9) if piece != move.ino}
    cluster.go(5)
    assert sum(move.load > 0.0 for _, move in cluster.history) >= 3


def test_what_is_larger_than_all_that_may_be_under_way_sleeps_where_it_is() -> None:
    cluster = asleep(40, inodes=Limits().inodes + 1.0)
    cluster.go(5)
    assert cluster.history == []


def test_what_sleeps_is_spread_by_what_it_had_when_it_woke() -> None:
    """One with all of a rank's share is not joined by those that have a tenth of it each."""
    sleepers = [Piece(n, f"/p{n}", 1 if n == 9 else 0, 0.0, 10.0) for n in range(1, 10)]
    wakes = [Wake(0.0, 80.0 if n == 9 else 10.0, n) for n in range(1, 10)]
    by, requests = Stakes(0.01, 1e6, 100, True), dict.fromkeys(range(1, 10), 1000.0)
    assert not spread(sleepers, weights(sleepers, wakes), {0: 1.0, 1: 1.0}, requests, (), by)
    assert len(spread(sleepers, weights(sleepers, ()), {0: 1.0, 1: 1.0}, requests, (), by)) == 3


def test_neighbours_are_apart_though_one_goes_at_a_time_and_others_fall_asleep() -> None:
    """Five groups of five are used in turn; each look moves one, and what was used falls asleep later."""
    pieces = {n: Piece(n, f"/p{n:02}", 0, 0.0, 10.0) for n in range(25)}
    pieces |= {n: pieces[n]._replace(rank=(1, 3, 4, 2, 0)[n]) for n in range(5)}
    by, capacity = Stakes(0.01, 10.0, 1, True), dict.fromkeys(range(5), 1.0)
    for look in range(40):
        asleep = [p for n, p in pieces.items() if n >= max(0, 10 - look)]
        late = dict.fromkeys((p.ino for p in asleep), 1000.0)
        for move in spread(asleep, weights(asleep, ()), capacity, late, range(5), by):
            pieces[move.ino] = pieces[move.ino]._replace(rank=move.target)
    groups = [Counter(pieces[n].rank for n in range(at, at + 5)) for at in range(5, 25, 5)]
    assert max(most := [max(group.values()) for group in groups]) <= 2 and sum(most) <= 6


def test_what_does_not_sleep_yet_is_a_neighbour_as_well() -> None:
    asleep = [Piece(n, f"/p{n}", 0, 0.0, 10.0) for n in (6, 7)]
    beside = [Piece(n, f"/p{n}", rank, 50.0, 10.0) for n, rank in enumerate((1, 2, 3, 4, 3, 4))]
    by, able = Stakes(0.01, 1e6, 100, True), {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.1, 4: 1.0}
    late = dict.fromkeys((6, 7), 1000.0)
    (move,) = spread(asleep, weights(asleep, ()), able, late, (), by, beside=beside)
    assert (move.ino, move.target) == (7, 1), "what is next to it is elsewhere"


@pytest.mark.parametrize("mute", [False, True])
def test_what_sleeps_on_a_rank_in_doubt_is_spread_and_none_is_sent_there(mute: bool) -> None:
    cluster = asleep(40, inodes=200.0)
    cluster.rates[1001] = 450.0
    view = replace(cluster.view(), now=cluster.now + LOOK, mute=frozenset({0, 2} if mute else ()))
    if not mute:
        first, *others = view.ranks
        view = replace(view, ranks=(replace(first, full=True, capacity=None), *others))
    state, decision = Scheduler(cluster.state, view, cluster.limits).decide()
    assert 0 not in Look.at(state, view, cluster.limits).trusted
    assert decision.moves and {move.source for move in decision.moves} == {0}
    assert (2 in {move.target for move in decision.moves}) == (not mute)
    pieces = [Piece(n, f"/p{n:02}", n % 2, 0.0, 1.0) for n in range(20)]
    by, late = Stakes(0.01, 1e6, 100, True), dict.fromkeys(range(20), 1000.0)
    found = spread(pieces, weights(pieces, ()), dict.fromkeys(range(4), 1.0), late, (), by, closed=(2,))
    assert {move.source for move in found} == {0, 1} and {move.target for move in found} == {3}


@pytest.mark.parametrize(
    ("again", "used", "waits"),
    [
        ((0, 0, 0), 0.0, {1: 100.0, 2: 200.0}),
        ((0, 0, 0), 1.0, {1: 0.0, 2: 100.0}),
        ((1, 1, 1), 0.0, {1: 100.0, 2: 0.0}),
        ((0, 0, 0, 0, 1, 1), 0.5, {1: 0.0, 2: 200.0}),
    ],
    ids=[
        "of what was used before none should have",
        "none of it woke, though all that slept had been used",
        "only what was used before woke",
        "half as many of it woke as of others, and two are not enough",
    ],
)
def test_what_was_used_before_is_told_from_what_is_used_for_the_first_time(
    again: Sequence[int], used: float, waits: Mapping[int, float]
) -> None:
    wakes = [Wake(0.0, 10.0, 7 + n, bool(of), used) for n, of in enumerate(again)]
    assert expected(wakes, {1: True, 2: False}, 100.0, 0.0, 100.0) == pytest.approx(waits)
    assert expected(wakes, {1: True, 2: False}, 10.0, 0.0, 100.0) == {}, "more may wake with these"


@pytest.mark.parametrize(
    ("every", "burst", "waits"),
    [(2.0, 1, False), (2.0, 25, True), (10.0, 1, True)],
    ids=["one or another, all the time", "a group, besides", "seldom"],
)
def test_what_sleeps_is_spread_also_where_something_wakes_all_the_time(
    every: float, burst: int, waits: bool
) -> None:
    """Homes: while a group wakes it is waited until all of it has."""
    now = 1000.0
    wakes = [Wake(now - every * ago, 10.0, ago) for ago in range(int(600.0 / every), 0, -1)]
    wakes += [Wake(now - 1.0, 10.0, 1000 + n) for n in range(burst - 1)]
    assert (expected(wakes, {1: False, 2: False}, now, 0.0, 600.0) == {}) is waits


@pytest.mark.parametrize("parts", [0, 10])
def test_what_is_dear_to_move_is_moved_when_the_load_has_been_uneven_for_long(parts: int) -> None:
    """A rank with a large cache is full for an hour: what would not pay in ten minutes has paid by then; and
    it is not taken apart for that it does not pay yet, as its parts would not, either."""
    limits = Limits(hourly=1e7)
    cluster = hot(20, 150.0, inodes=100_000.0, parts=dict.fromkeys(range(1, 21), parts), limits=limits)
    for _ in range(130):
        decision = cluster.look()
        assert not decision.something
    assert decision.why == "what is on rank 0 is worth a move when the load has been uneven for 750 s"
    assert not any(cluster.look().split for _ in range(200))
    assert cluster.fullest() <= 1.2
    assert sum(at == 0 for at in cluster.at.values()) <= 6


def test_what_would_never_pay_is_told_to_be_too_dear() -> None:
    cluster = hot(20, 150.0, inodes=1e6)
    for _ in range(800):
        decision = cluster.look()
        assert not decision.moves
    assert decision.why == (
        "rank 0 has too much: what is on it costs more to move than that brings within an hour"
    )


@pytest.mark.parametrize(
    ("able", "at"),
    [
        ((400.0, 500.0, 300.0, 600.0, 600.0), (1, 0, 0, 0, 3)),
        ((400.0, 600.0, 600.0, 500.0, 600.0), (1, 3, 4, 1, 4)),
        ((500.0, 300.0, 600.0, 400.0, 500.0), (1, 0, 4, 1, 1)),
    ],
)
def test_what_has_gone_just_now_is_not_moved(able: Sequence[float], at: Sequence[int]) -> None:
    """The load goes to others, of which several are on one rank and none on another: what was used before is
    expected to have what it had for some looks."""
    cluster = Cluster(dict.fromkeys(range(1, 6), 450.0) | dict.fromkeys(range(6, 11), 0.0), ranks=5)
    cluster.capacity = dict(enumerate(able))
    cluster.at = {piece: piece - 1 for piece in range(1, 6)} | dict(zip(range(6, 11), at))
    cluster.go(20)
    before = len(cluster.history)
    for left in (0.7, 0.0):  # it goes while it is looked at
        gone, come = 450.0 * left, 450.0 * (1.0 - left)
        cluster.rates = dict.fromkeys(range(1, 6), gone) | dict.fromkeys(range(6, 11), come)
        cluster.look()
    cluster.go(11)
    moved = {move.ino for _, move in cluster.history[before:] if move.load}
    assert moved and moved <= set(range(6, 11))


def test_what_jobs_leave_behind_is_not_spread() -> None:
    """Each minute another one is used, and the one before is not any more; all are on one rank."""
    jobs = 30
    cluster = Cluster(dict.fromkeys(range(1, jobs + 1), 0.0), inodes=200.0, now=5000.0)
    cluster.look()
    for job in range(1, jobs + 1):
        cluster.rates |= {job: 100.0, job - 1: 0.0}
        cluster.go(12)
    assert len(cluster.state.wakes) >= jobs - 2
    slept = ((when - 5000.0, move) for when, move in cluster.history if move.load == 0.0)
    assert [move for when, move in slept if when > max(60.0 * move.ino, 60.0 * jobs / 2)] == []


@pytest.mark.parametrize("idle", [0, 4, 5, 6])
def test_what_was_used_before_nobody_was_at_work_is_known_to_have_been(idle: int) -> None:
    """Between two jobs nothing at all is asked for, nor before the first for some looks."""
    cluster = Cluster({1: 0.0, 2: 0.0, 3: 0.0})
    cluster.go(idle)
    cluster.rates[1] = 100.0
    cluster.go(6)
    cluster.rates[1] = 0.0
    cluster.go(6)
    cluster.rates[3] = 100.0
    cluster.go(6)
    assert cluster.state.asleep == {1: True, 2: False}


@pytest.mark.parametrize("why", ["it costs more than it saves", "only two woke", "nothing woke"])
def test_what_sleeps_is_left_alone_when(why: str) -> None:
    cluster = jumping(1e6 if why == "it costs more than it saves" else 200.0)
    cluster.go((4 if why == "it costs more than it saves" else 1) * STAY, lambda look: jump(cluster, look))
    cluster.rates |= dict.fromkeys((5, 6), 450.0) if why == "only two woke" else {}
    cluster.go(2 * STAY)
    assert (len(cluster.state.wakes) == 2) == (why == "only two woke")
    assert not any("nobody uses it" in move.why for _, move in cluster.history)


def test_after_a_pause_of_all_no_piece_is_taken_for_more_than_its_rank_serves() -> None:
    """While something moves, what its ranks' pieces are expected to ask for is of before the pause."""
    cluster = hot(8, 60.0)
    cluster.go(20)
    rates = dict(cluster.rates)
    cluster.rates = dict.fromkeys(rates, 1e-9)
    cluster.go(20)
    cluster.rates = {piece: rate if cluster.at[piece] == 0 else 1e-9 for piece, rate in rates.items()}
    cluster.look()
    served = cluster.state.demand
    for piece, rank in cluster.at.items():
        assert served[piece].mean * cluster.state.scale[rank] <= sum(rates.values())
        assert cluster.state.scale[rank] <= 4.0


@pytest.mark.parametrize(("scattered", "back"), [({}, False), ({9: Scattered((1, 2), 50.0)}, True)])
def test_what_was_spread_frees_once_what_rests_beside_it(scattered: dict[int, Scattered], back: bool) -> None:
    """It was moved from rank 0 when that was full of what is spread over the others now."""
    moves = [Move(ino, f"/p{ino}", 0, 1, 300.0, 300.0, 100.0, "") for ino in (1, 2, 3)]
    past = tuple(Past(move, 0.0, 10.0, 2, 300.0) for move in moves)
    state = State(past=past, scattered=scattered)
    for now in (95.0, 100.0):
        ranks = (RankView(0, 300.0, 0.1), RankView(1, 1000.0, 9.0, True, 1000.0), RankView(2, 400.0, 0.5))
        pieces = tuple(Piece(ino, f"/p{ino}", 1, 300.0, 100.0) for ino in (1, 2, 3))
        state, decision = Scheduler(state, View(now, ranks, pieces, harmful=True), Limits()).decide()
        if decision.moves:
            break
    assert any(move.target == 0 for move in decision.moves) == back


def test_a_rank_that_serves_nothing_keeps_the_latency_that_it_had() -> None:
    cluster = hot()
    cluster.go(8)
    known = dict(cluster.state.latency)
    assert known[1] > 0.0
    cluster.rates = {piece: rate if cluster.at[piece] != 1 else 0.0 for piece, rate in cluster.rates.items()}
    cluster.go(5)
    assert cluster.state.latency[1] == known[1]


@pytest.mark.parametrize(
    ("inside", "full", "inodes", "moves"),
    [
        (1.0, False, 3e5, 0),
        (1.0, False, 2e5, 1),
        (20.0, True, 3e5, 1),
        (1.5, True, 2e5, 0),
        (1.5, True, 1e5, 1),
    ],
)
def test_relief_of_a_rank_that_is_not_full_or_of_few_requests_counts_less(
    inside: float, full: bool, inodes: float, moves: int
) -> None:
    """Lunule's urgency at 0.6 of its capacity is 0.73; 150 req/s for 600 s pay for 360,000 inodes at most. Of
    1.5 requests inside a third waits."""
    state, found = State(), list[Move]()
    for look in range(1, 5):
        ranks = (
            RankView(0, 600.0, inside, full, 1000.0),
            *(RankView(r, 0.0, 0.0, False, 1000.0) for r in (1, 2, 3)),
        )
        pieces = tuple(Piece(ino, f"/p{ino}", 0, 150.0, inodes) for ino in range(1, 5))
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces, harmful=True), Limits()).decide()
        found += decision.moves
    assert len(found) == moves


@pytest.mark.parametrize("parts", [0, 8])
@pytest.mark.parametrize(("inside", "full"), [(0.9, False), (20.0, False), (20.0, True)])
def test_only_crowded_ranks_have_something_taken_apart(parts: int, inside: float, full: bool) -> None:
    """A client that asks for one thing at a time gains nothing from more ranks. Where many wait for long,
    though it is not full, the cache may be too small for all parts; one directory does not fit better."""
    state, found = State(), list[Decision]()
    for look in range(1, 17):
        others = (RankView(r, 5.0, 0.0, False, 1000.0) for r in (0, 1, 2))
        ranks = (*others, RankView(3, 600.0, inside, full, 1000.0))
        pieces = (Piece(1, "/p1", 3, 600.0, 1000.0, parts=parts, scatters=(0, 1, 2, 3)),)
        state, decision = Scheduler(state, View(look * LOOK, ranks, pieces, harmful=True), Limits()).decide()
        found.append(decision)
    assert bool(state.split) == (parts > 0 and inside > 8.0)
    assert bool(state.scattered) == (not parts and full)
    told = any(each.why.startswith("rank 3 has more than its share, but is far from full") for each in found)
    assert told == (not full)


def test_ranks_that_report_the_begin_of_a_load_by_turns_are_not_evened() -> None:
    """A batch job goes to all ranks alike; the first to report has most of it."""
    state = State()
    pieces = tuple(Piece(n, f"/p{n}", n % 4, 0.0, 1000.0) for n in range(1, 9))
    moves = []
    for look, parts in enumerate([(0.01,) * 4, (0.01,) * 4, (0.98, 0.73, 0.48, 0.23), (1.0,) * 4], start=1):
        ranks = tuple(RankView(r, 1000.0 * p, 20.0 * p, p > 0.9, 1000.0) for r, p in enumerate(parts))
        seen = tuple(piece._replace(requests=500.0 * parts[piece.ino % 4]) for piece in pieces)
        state, decision = Scheduler(state, View(look * LOOK, ranks, seen, harmful=True), Limits()).decide()
        moves += decision.moves
    assert moves == []


@pytest.mark.parametrize("before", [0.01, 1.0], ids=["it begins while a trickle is uneven", "it ends"])
@pytest.mark.parametrize("looks", range(3, 9))
def test_while_a_load_begins_or_ends_nothing_follows_of_who_was_first_to_report(
    before: float, looks: int
) -> None:
    """The same with one light client left, so that it has been uneven for long; and when all clients stop."""
    others, after = (before, 1e-9) if before > 0.5 else (0.0, 1.0)
    parts = [*[(before, others, others, others)] * looks, (0.98, 0.73, 0.48, 0.23), (after,) * 4]
    state, pieces, moves = State(), tuple(Piece(n, f"/p{n}", n % 4, 0.0, 1000.0) for n in range(1, 9)), []
    for look, part in enumerate(parts, start=1):
        ranks = tuple(RankView(r, 1000.0 * p, 20.0 * p, p > 0.9, 1000.0) for r, p in enumerate(part))
        seen = tuple(piece._replace(requests=500.0 * part[piece.ino % 4]) for piece in pieces)
        harmful = sum(part) > 0.5
        state, decision = Scheduler(state, View(look * LOOK, ranks, seen, harmful), Limits()).decide()
        moves += decision.moves
    assert moves == []


def test_a_rank_that_went_or_came_since_the_last_measure_is_no_error() -> None:
    cluster = hot()
    cluster.go(3)
    view = replace(cluster.view(), now=cluster.now + 1.0, measured=False)
    less = replace(view, ranks=view.ranks[:-1], pieces=tuple(p for p in view.pieces if p.rank != 3))
    more = replace(view, ranks=(*view.ranks, RankView(9, 0.0)))
    for changed in (less, more):
        _, decision = Scheduler(cluster.state, changed, cluster.limits).decide()
        assert all(move.target in {r.rank for r in changed.ranks} for move in decision.moves)


def test_what_has_no_inodes_is_not_spread_either_when_nothing_woke() -> None:
    cluster = jumping(0.0)
    cluster.rates[1] = 450.0
    cluster.go(STAY)
    assert cluster.history == []


def test_how_often_things_wake_is_told_by_the_last_hour_however_long_it_has_looked() -> None:
    cluster = jumping(200.0)
    cluster.now = 100 * 3600.0
    cluster.state = State(began=0.0)
    cluster.look()
    cluster.go(3 * STAY, lambda look: jump(cluster, look))
    assert any("nobody uses it" in move.why for _, move in cluster.history)


def asleep(pieces: int, **more: Any) -> Cluster:
    """On rank 0 much that nobody uses, of which others woke lately; every rank has its share of the load."""
    used = dict.fromkeys(range(1001, 1005), 500.0)
    cluster = Cluster(dict.fromkeys(range(1, pieces + 1), 0.0) | used, now=5000.0, **more)
    cluster.at |= {1001 + rank: rank for rank in range(4)}
    cluster.look()
    wakes = tuple(Wake(cluster.now - 60.0 * ago, 450.0) for ago in range(20, 0, -1) for _ in range(4))
    cluster.state = replace(cluster.state, wakes=wakes, began=cluster.now - 3600.0)
    return cluster


@pytest.mark.parametrize(
    ("inodes", "limits", "most"), [(500.0, Limits(inodes=8000.0), 4), (5.0, Limits(moves=8), 88)]
)
def test_what_sleeps_and_comes_late_is_under_way_as_well(inodes: float, limits: Limits, most: int) -> None:
    cluster = asleep(400, inodes=inodes, takes=10_000, limits=limits)
    cluster.go(58)
    assert 0 < len(cluster.under_way) <= most, "eight in each half minute at most, if they may be empty"


def test_what_sleeps_and_is_under_way_leaves_less_for_others() -> None:
    cluster = asleep(400, inodes=500.0, takes=10_000, limits=Limits(inodes=6000.0))
    cluster.look()
    coming = len(cluster.under_way)
    cluster.rates |= dict.fromkeys(range(340, 401), 40.0)
    cluster.go(5)
    assert coming and coming < len(cluster.under_way) <= 12


def test_what_wakes_on_its_way_counts_and_need_not_rest_where_it_comes_to() -> None:
    cluster = asleep(40, inodes=200.0, takes=12)
    cluster.go(3)
    woken = [move.ino for _, move in cluster.history if move.target == 1][:3]
    cluster.rates |= dict.fromkeys(woken, 250.0)
    cluster.go(3)
    view = replace(cluster.view(), now=cluster.now + 1.0, measured=False)
    then = Look.at(cluster.state, view, cluster.limits).loads
    assert len(woken) == 3 and then[1] >= 1000.0
    cluster.go(30)
    assert cluster.fullest() <= 1.3


def test_what_was_moved_for_its_load_and_paused_as_it_came_is_no_stranger() -> None:
    past = Past(Move(1, "/p1", 1, 0, 500.0, 100.0, 1000.0, ""), 4900.0, 4950.0, 2, 0.0)
    cluster = hot(3, 500.0, now=5000.0, held=frozenset({2, 3}))
    cluster.state = State(past=(past,))
    assert [move.target == 1 for move in cluster.look().moves] == [False]


def test_a_load_that_pauses_and_goes_on_wakes_nothing() -> None:
    cluster = Cluster(dict.fromkeys(range(1, 41), 0.0), inodes=100.0)
    used = {1001 + i: 50.0 for i in range(40)}
    cluster.at |= {piece: piece % 4 for piece in used}
    for _ in range(4):
        cluster.rates |= used
        cluster.go(30)
        cluster.rates |= dict.fromkeys(used, 0.0)
        cluster.go(5)
    cluster.rates |= used
    cluster.go(30)
    assert cluster.history == [] and cluster.state.wakes == ()


@pytest.mark.parametrize("limits", [Limits(hourly=4000.0), Limits(daily=20), Limits(pins=20)])
def test_what_sleeps_leaves_half_of_the_budgets_of_long_standing(limits: Limits) -> None:
    cluster = asleep(400, inodes=200.0, limits=limits)
    for _ in range(20):
        cluster.begun = len(cluster.history)
        cluster.look()
    assert len(cluster.history) == 10


@pytest.mark.parametrize(("inodes", "moves"), [(1.0, False), (2.0, True)])
def test_what_is_empty_is_not_spread_as_it_would_not_move(inodes: float, moves: bool) -> None:
    cluster = asleep(40, inodes=inodes)
    cluster.go(10)
    assert bool(cluster.history) is moves


def test_only_what_goes_where_its_last_move_came_from_goes_back() -> None:
    cluster = Cluster({1: 500.0, 2: 700.0, 3: 600.0}, ranks=3, held=frozenset({2, 3}), now=5000.0)
    cluster.at |= {3: 1}
    first = Move(1, "/p1", 2, 1, 0.0, 0.0, 1000.0, "nobody uses it now")
    second = Move(1, "/p1", 1, 0, 500.0, 100.0, 1000.0, "500 req/s")
    cluster.state = State(past=(Past(first, 2500.0, 2510.0, 2, 0.0), Past(second, 3000.0, 3010.0, 2, 500.0)))
    assert [(move.target, "back" in move.why) for move in cluster.look().moves] == [(2, False)]


def test_clients_that_leave_while_something_moves_are_missed_less_and_less() -> None:
    cluster = hot(takes=40, inodes=2000.0)
    cluster.go(2)
    calm = cluster.state.calm
    assert calm > 0.0 and cluster.state.moving
    cluster.rates = {piece: rate / 10.0 for piece, rate in cluster.rates.items()}
    cluster.go(1)
    assert 0.8 * calm < cluster.state.calm < calm
    cluster.go(30)
    assert cluster.state.moving and cluster.state.calm < 0.3 * calm
