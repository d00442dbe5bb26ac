# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is slower in parts than as a whole: each rename between parts is of two ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from mds_partitioner.model import NO_PIN
from mds_partitioner.schedule.core.candidates import candidates
from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.learn import looked
from mds_partitioner.schedule.core.links import Links, Mark
from mds_partitioner.schedule.core.look import Look
from mds_partitioner.schedule.core.state import Limits, Past, Scattered, State
from mds_partitioner.schedule.core.together import JUDGED, LASTS, LATE, LOOKS, MEMORY, WAITS, Whole
from mds_partitioner.schedule.core.view import Move, Piece, RankView, View
from mds_partitioner.schedule.record import in_parts, wholes

LOOK = 5.0
CAPACITY = 600.0
AS_A_WHOLE = 500.0


@dataclass
class Spool:
    """One directory in four parts, all of its load in these; four ranks."""

    in_parts: float = 300.0  # req/s that it gets through on several ranks
    peers: float = 200.0  # messages/s between ranks then
    together: float = AS_A_WHOLE  # the same on one
    advised: bool = False
    inodes: float = 100.0
    held: frozenset[int] = frozenset()
    shown: int = 4  # ranks
    pins: dict[int, int] = field(default_factory=dict)  # elsewhere than where it is
    now: float = 0.0
    at: dict[int, int] = field(default_factory=lambda: {1: 3, 2: 0, 3: 1, 4: 2, 5: 3})
    within: dict[int, int] = field(default_factory=lambda: dict.fromkeys((2, 3, 4, 5), 1))
    state: State = field(
        default_factory=lambda: State(split=frozenset({1}), wholes={1: Whole(AS_A_WHOLE)}, began=0.0)
    )
    moves: list[Move] = field(default_factory=list)

    def view(self) -> View:
        spread = len(set(self.at.values())) > 1
        each = (self.in_parts if spread else self.together) / (len(self.at) - 1)
        load = {rank: sum(each for i, r in self.at.items() if r == rank and i != 1) for rank in range(4)}
        peers = self.peers / 4.0 if spread else 0.0
        ranks = tuple(
            RankView(
                r,
                load[r],
                20.0 if load[r] >= AS_A_WHOLE else 0.5,
                load[r] >= AS_A_WHOLE,
                CAPACITY,
                20.0,
                peers,
            )
            for r in range(self.shown)
        )
        pieces = tuple(
            Piece(
                i,
                f"/s/{i}",
                r,
                0.0 if i == 1 else each,
                self.inodes,
                self.within.get(i, 0),
                "pinned" * (i in self.held),
                pin=self.pins.get(i, r),
            )
            for i, r in self.at.items()
        )
        return View(self.now, ranks, pieces, harmful=not spread, advised=self.advised)

    def go(self, looks: int, each: Callable[[], None] = lambda: None) -> list[tuple[int, int]]:
        """Inode number and rank of what was moved."""
        found = []
        for _ in range(looks):
            each()
            self.now += LOOK
            self.state, decision = Scheduler(self.state, self.view(), Limits()).decide()
            self.at |= {move.ino: move.target for move in decision.moves}
            found += [(move.ino, move.target) for move in decision.moves]
            self.moves += decision.moves
        return found


def test_it_comes_together_where_the_rest_of_it_is_and_stays_so() -> None:
    spool = Spool()
    assert spool.go(LOOKS - 1) == []
    assert sorted(spool.go(2)) == [(2, 3), (3, 3), (4, 3)]
    assert "slower in parts" in spool.moves[0].why
    assert spool.go(200) == [], "though its rank is full and others are idle"
    assert spool.state.split == {1}


@pytest.mark.parametrize(
    "spool", [Spool(peers=25.0), Spool(in_parts=480.0), Spool(in_parts=8.0), Spool(advised=True)]
)
def test_it_stays_in_parts_when_renames_are_few_or_it_is_no_slower_or_sleeps_or_is_only_advised(
    spool: Spool,
) -> None:
    assert spool.go(10 * LOOKS) == []


@pytest.mark.parametrize(("well", "moves"), [(MEMORY, 0), (MEMORY // 2, 3)])
def test_what_got_through_as_much_in_parts_for_a_while_is_slower_for_another_reason(
    well: int, moves: int
) -> None:
    """Jobs between which its clients have less to do: that they are back would prove whatever was done."""
    spool = Spool(in_parts=AS_A_WHOLE)
    spool.go(well)
    spool.in_parts = 200.0
    assert len(spool.go(3 * LOOKS)) == moves


@pytest.mark.parametrize(("mostly", "now_and_then", "moves"), [(480.0, 250.0, 0), (300.0, 490.0, 3)])
def test_it_is_their_mean_that_counts(mostly: float, now_and_then: float, moves: int) -> None:
    spool = Spool()

    def uneven() -> None:
        spool.in_parts = now_and_then if round(spool.now / LOOK) % LOOKS == 3 else mostly

    assert len(spool.go(60, uneven)) == moves


def test_messages_between_ranks_are_counted_by_their_mean_too() -> None:
    spool = Spool()

    def uneven() -> None:
        spool.peers = 30.0 if round(spool.now / LOOK) % 2 else 200.0

    assert len(spool.go(60, uneven)) == 3


def test_what_becomes_less_long_after_it_was_taken_apart_is_another_load() -> None:
    spool = Spool(in_parts=480.0)
    spool.go(round(JUDGED / LOOK) + 2)
    spool.in_parts = 300.0
    assert spool.go(10 * LOOKS) == []


def test_when_it_does_not_help_it_is_as_free_as_it_was_and_not_tried_again() -> None:
    spool = Spool(together=310.0)
    assert spool.go(LOOKS + 1)
    assert spool.state.wholes[1].since >= 0.0
    spool.go(3 * LOOKS)
    assert spool.state.wholes[1].since < 0.0
    spool.at |= {2: 0, 3: 1, 4: 2}

    def as_it_is() -> None:
        assert spool.state.wholes[1].since < 0.0

    spool.go(10 * LOOKS, as_it_is)


@pytest.mark.parametrize(("gathers", "free"), [(True, True), (False, False)])
def test_what_was_gathered_in_vain_need_not_rest_for_that(gathers: bool, free: bool) -> None:
    """It was moved out for its load a while ago; its clients did less for a moment, and are back."""
    out = Move(2, "/s/2", 3, 0, 75.0, 75.0, 100.0, "")
    home = Move(2, "/s/2", 0, 3, 75.0, 0.0, 100.0, "", gathers=gathers)
    past = (Past(out, 0.0, 10.0, 9, 75.0), Past(home, 300.0, 310.0, 9, 75.0))
    let_go = State(at=395.0, split=frozenset({1}), wholes={1: Whole(0.0)}, began=0.0, past=past)
    ranks = (*(RankView(r, 0.0, 0.0, False, 300.0) for r in range(3)), RankView(3, 300.0, 20.0, True, 300.0))
    pieces = tuple(Piece(i, f"/s/{i}", 3, 75.0, 100.0, within=1, pin=3) for i in (2, 3, 4, 5))
    view = View(400.0, ranks, (Piece(1, "/s", 3, 0.0, 100.0, pin=3), *pieces), harmful=True)
    look = Look.at(looked(let_go, view, Limits()), view, Limits())
    assert (2 in {candidate.key for candidate in candidates(look)}) == free


@pytest.mark.parametrize(("mostly", "last", "stays"), [(450.0, 325.0, True), (250.0, 345.0, False)])
def test_whether_it_helps_is_judged_by_the_mean_and_once(mostly: float, last: float, stays: bool) -> None:
    spool = Spool(together=mostly)

    def as_one() -> bool:
        return spool.state.wholes[1].since >= 0.0

    while not as_one():
        spool.go(1)
    while spool.state.wholes[1].together < MEMORY - 1:
        spool.go(1)
    spool.together = last
    spool.go(1)
    assert as_one() == stays
    spool.together = 20.0
    spool.go(20)
    assert as_one() == stays, "once"
    known = wholes(in_parts(spool.state.wholes, 0.0), 0.0)[1]
    assert known.proved == stays, "and by the next manager as well"


def test_clients_that_end_say_nothing_of_it() -> None:
    spool = Spool()
    spool.go(LOOKS + 3)
    spool.together = 1.0
    spool.go(5 * MEMORY)
    assert spool.state.wholes[1].since >= 0.0 and not spool.state.wholes[1].proved
    spool.together = AS_A_WHOLE
    spool.go(2 * MEMORY)
    assert spool.state.wholes[1].proved


def test_a_load_that_comes_long_after_proves_nothing_of_the_one_before() -> None:
    spool = Spool()
    spool.go(LOOKS + 3)
    assert spool.state.wholes[1].since >= 0.0 and not spool.state.wholes[1].proved
    spool.together = 0.0
    spool.go(LATE + 2)
    spool.together = spool.in_parts = 2.0 * AS_A_WHOLE
    assert spool.go(2 * MEMORY), "it is as free as any"
    assert spool.state.wholes[1].since < 0.0 and len(set(spool.at.values())) > 1


def test_of_several_the_one_that_lost_most_comes_together_first() -> None:
    """Messages between ranks are not told by directory. The other one has its turn then, also when the first
    is not used any more."""
    spool = Spool(at={1: 3, 2: 0, 3: 1, 11: 2, 12: 0, 13: 1}, within={2: 1, 3: 1, 12: 11, 13: 11})
    lost = {1: Whole(160.0), 11: Whole(AS_A_WHOLE)}
    spool.state = replace(spool.state, split=frozenset({1, 11}), wholes=lost)

    def marked() -> set[int]:
        return {ino for ino, whole in spool.state.wholes.items() if whole.since >= 0.0}

    spool.go(LOOKS + 3)
    assert marked() == {11}
    del spool.at[11], spool.at[12], spool.at[13]
    spool.in_parts = 120.0
    spool.go(round(WAITS / LOOK))
    assert marked() == {1, 11}


def test_what_mdss_place_is_left_to_them() -> None:
    spool = Spool()
    spool.state = replace(spool.state, scattered={1: Scattered((0, 1, 2, 3), 0.0)})
    assert spool.go(10 * LOOKS) == []


def test_idle_parts_go_no_more_at_once_than_others() -> None:
    spool = Spool(
        inodes=1.0, at={1: 3} | {i: i % 3 for i in range(2, 302)}, within=dict.fromkeys(range(2, 302), 1)
    )
    found, most = 0, Limits().moves
    for _ in range(LOOKS + 1):
        spool.now += LOOK
        spool.state, decision = Scheduler(spool.state, spool.view(), Limits()).decide()
        found += len(decision.moves)  # none arrives
    assert found == most


def test_a_day_later_it_may_be_tried_again() -> None:
    spool = Spool()
    spool.go(LOOKS + 2)
    assert spool.state.wholes[1].since >= 0.0
    spool.now += LASTS
    assert spool.go(20) != []


def test_what_is_in_several_comes_together_as_the_outermost() -> None:
    spool = Spool(at={1: 3, 2: 0, 3: 2, 4: 1, 5: 0}, within={2: 1, 3: 1, 4: 3, 5: 3})
    spool.state = replace(
        spool.state, split=frozenset({1, 3}), wholes={1: Whole(AS_A_WHOLE), 3: Whole(AS_A_WHOLE)}
    )
    spool.go(LOOKS + 3)
    assert set(spool.at.values()) == {3}
    assert [ino for ino, whole in spool.state.wholes.items() if whole.since >= 0.0] == [1]


def test_no_more_goes_at_once_than_may() -> None:
    spool = Spool(inodes=10_000.0)
    assert spool.go(LOOKS - 1) == []
    assert len(spool.go(1)) == 2
    assert len(spool.go(5)) == 1


def test_what_it_was_before_is_remembered_when_it_is_taken_apart() -> None:
    ranks = (RankView(0, 900.0, 20.0, True, 900.0), *(RankView(r, 0.0, 0.0, False, 900.0) for r in (1, 2, 3)))
    view = View(LOOK, ranks, (Piece(1, "/s", 0, 900.0, 30_000.0, parts=8, pin=NO_PIN),), True)
    state, decision = Scheduler(State(), view, Limits()).decide()
    assert decision.split == (1,)
    assert state.wholes[1].served == pytest.approx(900.0)


def test_it_is_looked_at_closely_until_it_is_known() -> None:
    spool = Spool()
    assert not spool.state.wholes[1].in_question(0.0)
    spool.go(LOOKS - 1)
    assert spool.state.wholes[1].in_question(spool.now)
    assert not spool.state.wholes[1].in_question(spool.now + JUDGED)
    spool.go(2)
    assert not spool.state.wholes[1].in_question(spool.now), "it is known"
    spool = Spool(in_parts=480.0)
    spool.go(LOOKS)
    assert not spool.state.wholes[1].in_question(spool.now)


def test_what_mdss_took_back_as_it_was_empty_gets_its_pin_there_too() -> None:
    """They would bring it elsewhere as soon as there is something in it."""
    spool = Spool(pins={5: 0})
    spool.go(LOOKS + 1)
    (kept,) = [move for move in spool.moves if move.ino == 5]
    assert (kept.source, kept.target, kept.pin, kept.keeps) == (3, 3, 3, True)


def test_a_move_to_elsewhere_that_was_not_made_keeps_nothing_from_coming() -> None:
    spool = Spool()
    elsewhere = Move(2, "/s/2", 3, 0, 10.0, 0.0, 1.0, "")
    spool.state = replace(
        spool.state, past=(Past(elsewhere, 0.0, arrived=1.0, looks=2, settled=1.0, lost=True),)
    )
    spool.go(LOOKS + 1)
    assert 2 in {move.ino for move in spool.moves}


def test_it_is_free_again_when_a_part_does_not_come() -> None:
    """A client holds it up, or an operator has pinned something in it."""
    spool = Spool(held=frozenset({2}))
    spool.go(LOOKS + 2)
    assert spool.state.wholes[1].since >= 0.0
    spool.go(round(JUDGED / LOOK) + 1)
    assert spool.state.wholes[1].since < 0.0


def test_nothing_goes_to_or_from_a_rank_that_is_not_shown() -> None:
    """It is masked: what is on it is left there."""
    spool = Spool(shown=2)
    assert spool.go(3 * LOOKS) == []


def test_directories_that_seem_to_be_in_each_other_end_no_manager() -> None:
    """Two that were renamed, each into the other's place, before both were listed again."""
    spool = Spool(at={1: 3, 2: 0}, within={1: 2, 2: 1})
    spool.state = replace(spool.state, split=frozenset({1, 2}))
    assert spool.go(2 * LOOKS) == [(2, 3)], "they come together as any others do"


def test_what_hard_links_are_made_in_has_its_turn_when_they_end() -> None:
    spool = Spool()
    made_in = Links(on={3: Mark(1e9, 3)})

    def links() -> None:
        spool.state = replace(spool.state, linked=made_in)

    spool.go(2 * LATE, links)
    assert spool.moves == [] and spool.state.wholes[1].since < 0.0
    spool.state = replace(spool.state, linked=Links())
    assert sorted(spool.go(2)) == [(2, 3), (3, 3), (4, 3)]
