# SPDX-License-Identifier: LGPL-2.1-or-later
"""What fills a rank for a moment, one after the other; and what goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from test_schedule_core import LOOK, Cluster

from mds_partitioner.schedule.core.decision import Scheduler
from mds_partitioner.schedule.core.spells import Spell, brief, seen
from mds_partitioner.schedule.core.state import Limits, State
from mds_partitioner.schedule.core.view import Decision, Piece, RankView, View

TREES = range(1, 13)
LASTING = 15


def trees(inodes: float = 20_000.0) -> Cluster:
    """Large ones, spread evenly, that hardly anybody uses."""
    names = range(20)
    cluster = Cluster(dict.fromkeys(names, 1.0), parts=dict.fromkeys(names, 20), inodes=inodes)
    cluster.at = {ino: ino % 4 for ino in names}
    return cluster


def hot(cluster: Cluster, ino: int, seconds: float) -> list[Decision]:
    """What is decided while it fills its rank."""
    cluster.rates[ino] = 1000.0
    found = [cluster.look() for _ in range(round(seconds / LOOK))]
    cluster.rates[ino] = 1.0
    return found


def touched(ino: int, found: Sequence[Decision]) -> bool:
    """Was it moved or taken apart?"""
    return any(ino in (*each.split, *(move.ino for move in each.moves)) for each in found)


def test_what_is_walked_in_turn_is_let_be_after_three_and_what_lasts_is_relieved() -> None:
    """A tree is half walked when that is seen, and done when its parts are elsewhere."""
    cluster = trees()
    found = {tree: hot(cluster, tree, 30.0) for tree in TREES}
    apart = [tree for tree, decisions in found.items() if touched(tree, decisions)]
    assert apart == [1, 2, 3], "each of these may be the first that lasts"
    assert all("likely to end" in decision.why for decision in found[5])
    assert not cluster.state.acting, "no operator is called for it"
    assert not touched(LASTING, hot(cluster, LASTING, 30.0))
    assert touched(LASTING, hot(cluster, LASTING, 60.0)) and LASTING in cluster.state.split


@pytest.mark.parametrize(("seconds", "inodes"), [(60.0, 20.0), (300.0, 20_000.0)])
def test_what_pays_all_the_same_is_taken_apart(seconds: float, inodes: float) -> None:
    """As it is small, or goes on for long enough."""
    cluster = trees(inodes)
    assert all(touched(tree, hot(cluster, tree, seconds)) for tree in range(1, 7))


def test_the_same_ones_that_come_again_are_no_walk() -> None:
    cluster = trees()
    for tree in (1, 2, 3, 1, 2, 3):
        hot(cluster, tree, 65.0)
    assert len(cluster.state.spells) == 6
    assert touched(4, hot(cluster, 4, 20.0))


def test_a_walk_has_half_of_what_may_be_moved_in_an_hour() -> None:
    cluster = trees()
    cluster.limits = Limits(hourly=200_000.0)
    apart = [tree for tree in TREES if touched(tree, hot(cluster, tree, 120.0))]
    assert apart == [1, 2, 3, 4, 5]
    assert touched(LASTING, hot(cluster, LASTING, 300.0))


def view(now: float, *hot: tuple[int, int, float], told: frozenset[int] | None = None) -> View:
    """hot: inode number, rank, req/s; a rank that serves 1000 is full."""
    pieces = tuple(Piece(ino, f"/{ino}", rank, rate, 10.0) for ino, rank, rate in hot)
    served = {rank: sum(rate for _, of, rate in hot if of == rank) for rank in range(4)}
    ranks = tuple(RankView(rank, rate, full=rate >= 1000.0) for rank, rate in served.items())
    return View(now, ranks, pieces, told=told)


def spells(*lasted: float, at: float = 1000.0) -> tuple[Spell, ...]:
    """Of others that have ended, and of 99 that goes on since 20 s."""
    over = (Spell(ino, at - 60.0, 1000.0, 1000.0 * seconds) for ino, seconds in enumerate(lasted, 1))
    return (*over, Spell(99, at, 1000.0, 20_000.0))


@pytest.mark.parametrize(
    ("lasted", "left"),
    [
        ((30.0, 30.0), None),
        ((30.0, 30.0, 30.0), 10.0),
        ((30.0, 60.0, 120.0), 40.0),
        ((30.0, 10.0, 10.0, 10.0), 10.0),
        ((15.0, 15.0, 15.0), 20.0),
        ((10.0, 10.0, 10.0), None),
    ],
)
def test_how_long_it_goes_on_is_how_long_those_did_that_were_as_old(
    lasted: tuple[float, ...], left: float | None
) -> None:
    """And what is older than all of them may go on for as long again, until it is twice as old."""
    now = view(1000.0, (99, 0, 900.0), (5, 0, 100.0), (6, 1, 500.0))
    assert brief(spells(*lasted), now, 1000.0, 600.0) == ({} if left is None else {0: left})


def test_of_what_ended_long_ago_came_again_or_shares_its_rank_nothing_is_told() -> None:
    known, now = spells(30.0, 30.0, 30.0), view(1000.0, (99, 0, 1000.0))
    assert brief(known, now, 1000.0, 50.0) == {}
    assert brief((*known, known[0]._replace(last=130.0)), now, 1000.0, 600.0) == {}
    assert brief((*known, known[-1]._replace(last=130.0)), now, 1000.0, 600.0) == {}
    assert brief(known, view(1000.0, (99, 0, 500.0), (5, 0, 500.0)), 1000.0, 600.0) == {}


def look(before: Sequence[Spell], of: View) -> tuple[Spell, ...]:
    return seen(before, of, of.now - LOOK, LOOK, 3600.0)


def test_a_spell_goes_on_in_parts_on_several_ranks_and_through_a_pause() -> None:
    begun = look((), view(5.0, (1, 0, 900.0), (2, 0, 100.0)))
    assert begun == (Spell(1, 5.0, 900.0, 4500.0),)
    pieces = tuple(Piece(10 + i, f"/1/{i}", i, 450.0, 10.0, within=1) for i in range(4))
    apart = View(10.0, tuple(RankView(i, 450.0) for i in range(4)), (Piece(1, "/1", 3, 0.0, 1.0), *pieces))
    (later,) = look(begun, apart)
    assert later == Spell(1, 10.0, 900.0, 13_500.0) and later.seconds == 15.0, "so long on one rank"
    assert look(begun, replace(apart, again=True)) == (Spell(1, 10.0, 900.0, 4500.0),)
    assert look(begun, view(10.0, (1, 0, 100.0))) == begun
    assert look(begun, view(60.0, (1, 0, 1000.0))) == (Spell(1, 60.0, 1000.0, 9500.0),)
    assert look(begun, view(70.0, (1, 0, 1000.0))) == (*begun, Spell(1, 70.0, 1000.0, 5000.0))


def test_by_an_old_answer_nothing_begins_or_begins_again() -> None:
    """It tells what was asked for then, not which directory fills the rank now."""
    old = view(10.0, (1, 0, 1000.0), told=frozenset())
    assert look((), old) == ()
    quiet = (Spell(1, 0.0, 1000.0, 20_000.0),)
    assert look(quiet, old) == quiet
    assert look((Spell(1, 5.0, 1000.0, 20_000.0),), old) == (Spell(1, 10.0, 1000.0, 25_000.0),)


def test_when_what_goes_on_ended_is_not_known_where_nobody_looked() -> None:
    known = (Spell(1, 30.0, 1000.0, 30_000.0), Spell(2, 60.0, 1000.0, 20_000.0))
    state = State(at=60.0, spells=known)
    for now in (65.0, 70.0):
        state, _ = Scheduler(state, View(now, view(now).ranks, (), wait="paused"), Limits()).decide()
        assert state.spells == known[:1]
