# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pieces go where."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.schedule.core import choose as module
from mds_partitioner.schedule.core.choose import (
    FREEZE,
    HALF,
    Budget,
    Candidate,
    Choice,
    _relief,
    _targets,
    choose,
)
from mds_partitioner.schedule.core.load import shares

FREE = Budget(moves=100, inodes=1e9, idle=True)
CALM = dict.fromkeys(range(64), 0.0)
ALIKE = dict.fromkeys(range(64), 1000.0)


def loads_after(
    candidates: list[Candidate], loads: dict[int, float], chosen: list[Choice]
) -> dict[int, float]:
    load, after = {c.key: c.load for c in candidates}, dict(loads)
    for choice in chosen:
        after[choice.source] -= load[choice.key]
        after[choice.target] += load[choice.key]
    return after


def test_from_one_hot_rank_all_are_filled_alike() -> None:
    pieces = [Candidate(k, 0, 50.0, 1000.0) for k in range(20)]
    chosen, stuck = choose(pieces, {0: 1000.0, 1: 0.0, 2: 0.0, 3: 0.0}, ALIKE, CALM, 0.1, FREE)
    assert sorted(c.target for c in chosen) == [1] * 5 + [2] * 5 + [3] * 5
    assert stuck == []


def test_the_slow_rank_gets_less() -> None:
    pieces = [Candidate(k, 0, 30.0, 1000.0) for k in range(30)]
    capacity = {0: 400.0, 1: 400.0, 2: 800.0, 3: 800.0}
    loads = {0: 900.0, 1: 0.0, 2: 0.0, 3: 0.0}
    after = loads_after(pieces, loads, choose(pieces, loads, capacity, CALM, 0.05, FREE)[0])
    assert after == {0: 150.0, 1: 150.0, 2: 300.0, 3: 300.0}


def test_the_cheaper_of_two_alike_goes() -> None:
    pieces = [Candidate(1, 0, 100.0, 50_000.0), Candidate(2, 0, 100.0, 1000.0)]
    chosen, _ = choose(pieces, {0: 200.0, 1: 0.0}, ALIKE, CALM, 0.1, FREE)
    assert [c.key for c in chosen] == [2]


def test_of_two_full_ranks_that_with_more_inside_is_relieved_first() -> None:
    pieces = [Candidate(1, 0, 100.0, 10.0), Candidate(2, 1, 100.0, 10.0)]
    loads = {0: 1000.0, 1: 990.0, 2: 0.0}
    chosen, _ = choose(pieces, loads, ALIKE, {0: 2.0, 1: 30.0, 2: 0.0}, 0.1, Budget(1, 1e9, True))
    assert [c.key for c in chosen] == [2]


def test_what_could_be_divided_does_not_go_where_it_is_too_much() -> None:
    pieces = [Candidate(1, 0, 900.0, 10.0, divisible=True), Candidate(2, 0, 100.0, 10.0)]
    chosen, stuck = choose(pieces, {0: 1000.0, 1: 0.0}, ALIKE, CALM, 0.1, FREE)
    assert ([c.key for c in chosen], stuck) == ([2], [0])


def test_crumbs_leave_what_cannot_be_moved() -> None:
    """A hundred tenants, and one directory that an operator has pinned, or that fits nowhere."""
    crumbs = [Candidate(k, 0, 4.0, 100.0) for k in range(2, 102)]
    loads = {0: 1500.0, 1: 0.0, 2: 0.0, 3: 0.0}
    for pieces in (crumbs, [Candidate(1, 0, 1100.0, 100.0), *crumbs]):
        chosen, stuck = choose(pieces, loads, ALIKE, CALM, 0.1, FREE, small=[0])
        assert len(chosen) == 100 and stuck == [0]
        assert choose(pieces, loads, ALIKE, CALM, 0.1, FREE) == ([], [0]), "not unless it is said"
        assert max(loads_after(pieces, loads, chosen).values()) == 1100.0
    few = [Candidate(k, 0, 0.1, 1.0) for k in range(1_000)]
    assert choose(few, loads, ALIKE, CALM, 0.1, FREE) == ([], [0]), "pins for nothing"


def test_crumbs_stay_unless_all_are_crumbs() -> None:
    crumbs = [Candidate(k, 0, 1.0, 10.0) for k in range(2, 40)]
    loads = {0: 1038.0, 1: 0.0}
    chosen, _ = choose([Candidate(1, 0, 500.0, 10.0), *crumbs], loads, ALIKE, CALM, 0.01, FREE)
    assert [c.key for c in chosen] == [1]
    many = [Candidate(k, 0, 1.0, 10.0) for k in range(1000)]
    assert len(choose(many, {0: 1000.0, 1: 0.0}, ALIKE, CALM, 0.1, Budget(2000, 1e9, True))[0]) >= 450


def test_what_is_larger_than_the_budget_goes_only_alone() -> None:
    pieces = [Candidate(k, 0, 100.0, 60_000.0) for k in range(4)]
    loads = {0: 400.0, 1: 0.0}
    assert len(choose(pieces, loads, ALIKE, CALM, 0.1, Budget(10, 20_000.0, True))[0]) == 1
    assert choose(pieces, loads, ALIKE, CALM, 0.1, Budget(10, 20_000.0, False))[0] == []


def test_what_is_small_does_not_wait_when_what_is_under_way_is_late() -> None:
    """What is too large for what is left goes later: it is not said that nothing relieves the rank."""
    pieces = [Candidate(1, 0, 400.0, 15_000.0), *(Candidate(k, 0, 10.0, 3000.0) for k in range(2, 12))]
    loads = {0: 800.0, 1: 0.0}
    assert choose(pieces, loads, ALIKE, CALM, 0.1, Budget(10, 10_000.0, False)) == ([], [])
    chosen, stuck = choose(pieces, loads, ALIKE, CALM, 0.1, Budget(10, 10_000.0, False, late=True))
    assert (len(chosen), stuck) == (3, []) and 1 not in {c.key for c in chosen}


numbers = st.floats(0.0, 500.0, allow_nan=False)


@given(
    st.lists(st.tuples(st.integers(0, 5), numbers, st.floats(0.0, 1e5), st.booleans()), max_size=40),
    st.lists(st.floats(10.0, 2000.0), min_size=6, max_size=6),
    st.lists(numbers, min_size=6, max_size=6),
)
def test_no_choice_makes_a_rank_fuller_than_the_fullest_was(
    found: list[tuple[int, float, float, bool]], capacity: list[float], rest: list[float]
) -> None:
    pieces = [Candidate(k, *piece) for k, piece in enumerate(found)]
    of_rank, loads = dict(enumerate(capacity)), dict(enumerate(rest))
    for piece in pieces:
        loads[piece.rank] += piece.load
    chosen, _ = choose(pieces, loads, of_rank, CALM, 0.1, FREE)
    share, after = shares(loads, of_rank), loads_after(pieces, loads, chosen)
    used = [after[r] / share[r] for r in share if share[r]]
    assert not used or max(used) <= max(loads[r] / share[r] for r in share if share[r]) + 1e-9
    assert len({c.key for c in chosen}) == len(chosen)
    assert all(c.source != c.target and c.gain > 0.0 for c in chosen)


def test_back_where_it_came_from_is_the_last_resort() -> None:
    def target(loads: dict[int, float], *, back: bool) -> list[int]:
        piece = Candidate(1, 0, 300.0, 1000.0, avoid=1, back=back)
        return [c.target for c in choose([piece], loads, ALIKE, CALM, 0.1, FREE)[0]]

    assert target({0: 900.0, 1: 0.0, 2: 100.0}, back=True) == [2], "another rank will do"
    assert target({0: 900.0, 1: 0.0, 2: 880.0}, back=True) == [1]
    assert target({0: 900.0, 1: 0.0, 2: 880.0}, back=False) == []


def plainly(
    pieces: list[Candidate], source: int, loads: dict[int, float], share: dict[int, float]
) -> list[tuple[float, float, int, int]]:
    """What each piece brings for an inode, and in all, its key, and where it goes; the best one first."""
    excess = loads[source] - share[source]
    roomy = sorted(loads.keys() - {source}, key=lambda r: (loads[r] - share[r], r))
    found = []
    for piece in (piece for piece in pieces if piece.rank == source):
        for target in _targets(piece, roomy):
            fits = loads[target] + piece.load <= 1.1 * share[target]
            gain = _relief(piece, source, target, loads, share)
            if (fits or not piece.divisible) and gain >= min(HALF * piece.load, excess):
                found.append((-gain / (piece.inodes + FREEZE), -gain, piece.key, target))
                break
    return sorted(found)


few = st.sampled_from((0.0, 500.0, 1500.0))  # inodes: with twice the load some are as cheap


@given(
    st.lists(
        st.tuples(
            st.sampled_from((0, 0, 0, 1)),
            st.sampled_from((20.0, 40.0, 80.0)),
            few,
            st.booleans(),
            st.integers(-1, 3),
            st.booleans(),
        ),
        max_size=20,
    ),
    st.permutations(range(20)),
    st.lists(st.sampled_from((1.0, 1.3)), min_size=4, max_size=4),
)
def test_what_is_chosen_is_the_best_of_all(
    found: list[tuple[int, float, float, bool, int, bool]], keys: list[int], capacity: list[float]
) -> None:
    """Also where many are alike, or bring as much for each inode: then the lowest key goes."""
    pieces = [Candidate(key, *piece) for key, piece in zip(keys, found)]
    of_rank, loads = dict(enumerate(capacity)), dict.fromkeys(range(4), 0.0)
    for piece in pieces:
        loads[piece.rank] += piece.load
    share = shares(loads, of_rank)
    chosen, stuck = choose(pieces, loads, of_rank, CALM, 0.1, FREE)
    for choice in chosen:
        *_, key, target = plainly(pieces, choice.source, loads, share)[0]
        assert (choice.key, choice.target) == (key, target)
        gone = next(piece for piece in pieces if piece.key == key)
        pieces.remove(gone)
        loads[choice.source] -= gone.load
        loads[choice.target] += gone.load
    assert set(stuck) == {rank for rank in loads if loads[rank] > 1.1 * share[rank]}


def test_of_those_that_are_alike_one_is_tried_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan's siblings are expected to have what they all have on the mean."""
    tried = []

    def relief(piece: Candidate, *of: Any) -> float:
        tried.append(piece.key)
        return _relief(piece, *of)

    monkeypatch.setattr(module, "_relief", relief)
    pieces = [Candidate(key, 0, 1.0, 1000.0, divisible=key % 2 > 0) for key in range(1000, 0, -1)]
    loads = {0: 1000.0, 1: 0.0, 2: 0.0, 3: 0.0}
    chosen, _ = choose(pieces, loads, ALIKE, CALM, 0.1, Budget(64, 1e9, True))
    assert [choice.key for choice in chosen] == list(range(1, 65))
    assert len(tried) <= 3 * len(chosen)
