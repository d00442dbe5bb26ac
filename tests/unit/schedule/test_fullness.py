# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a rank can do is known as well as it was crowded when that was seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mds_partitioner.judge.fullness import Fullness, Taught, fullness
from mds_partitioner.model import RankSample
from mds_partitioner.schedule.looker import rank_view


def sample(requests: float, inside: float, moved: float = 0.0) -> RankSample:
    return RankSample(0, "m0", requests, 0.0, 0, 0, 0, 0.0, moved, 1, quickest=inside / requests)


def seen(row: RankSample, known: dict[str, Taught], full: bool, value: float | None) -> Fullness:
    def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert (name, arguments["earlier"]) == (
            "capacities",
            [known["m0"].value if known else None],
        )
        return {"full": [0] if full else [], "capacities": [value]}

    return fullness({0: [row]}, Fullness(capacity=known), engine, ())


@pytest.mark.parametrize(
    ("row", "full", "value", "inside"),
    [
        (sample(500.0, 2.0), True, 500.0, 40.0),
        (sample(520.0, 60.0), True, 520.0, 60.0),
        (sample(300.0, 20.0), True, 300.0, 20.0),
        (sample(900.0, 2.0), True, 900.0, 2.0),
        (sample(400.0, 0.5), False, 500.0, 40.0),
        (sample(300.0, 80.0, moved=100.0), True, 500.0, 40.0),
    ],
    ids=["as much with fewer", "with more", "less than before", "more", "is not full", "has other work"],
)
def test_how_crowded_it_was_at_that_rate(row: RankSample, full: bool, value: float, inside: float) -> None:
    found = seen(row, {"m0": Taught(500.0, 40.0)}, full, value)
    assert found.capacity["m0"].value == value
    assert found.capacity["m0"].inside == pytest.approx(inside)


def test_what_is_full_for_the_first_time_is_as_crowded_as_it_is() -> None:
    assert seen(sample(500.0, 2.0), {}, True, 500.0).capacity["m0"].inside == pytest.approx(2.0)


def test_less_with_few_inside_says_nothing_of_what_it_can_do_with_many() -> None:
    known = Taught(500.0, 40.0)
    assert seen(sample(300.0, 2.0), {"m0": known}, True, 300.0).capacity["m0"] == known
    assert seen(sample(300.0, 30.0), {"m0": known}, True, 300.0).capacity["m0"].value == 300.0
    assert seen(sample(300.0, 7.0), {"m0": Taught(500.0, 9.0)}, True, 300.0).capacity["m0"].value == 300.0


def test_less_than_so_few_inside_would_make_is_what_it_can_do_now() -> None:
    """A hundred requests at once make ten times what one makes, at most."""
    known = Taught(500.0, 100.0)
    assert seen(sample(45.0, 1.0), {"m0": known}, True, 45.0).capacity["m0"] == known
    assert seen(sample(35.0, 1.0), {"m0": known}, True, 35.0).capacity["m0"] == Taught(35.0, 1.0)


def test_what_is_not_known_any_more_is_no_less_than_it_was() -> None:
    """Whoever forgot it would take the best rank of all for the next best."""
    row = sample(600.0, 0.3)
    assert seen(row, {"m0": Taught(500.0, 40.0)}, False, None).capacity["m0"] == Taught(600.0, 0.0)
    assert seen(row, {"m0": Taught(1000.0, 40.0)}, False, None).capacity["m0"] == Taught(1000.0, 0.0)
    assert not seen(row, {}, False, None).capacity


@pytest.mark.parametrize(
    ("served", "inside", "crowd", "reports", "crowded"),
    [
        (430.0, 0.5, 20.0, 6, 0.0),
        (430.0, 0.5, 20.0, 5, 30.0),
        (430.0, 2.0, 20.0, 6, 30.0),
        (300.0, 0.5, 20.0, 6, 30.0),
        (430.0, 0.5, 1.5, 6, 30.0),
    ],
    ids=["it rests", "not for long", "it works", "it has little to do", "so do full ones"],
)
def test_a_rank_that_rests_beside_full_ones_can_do_more(
    served: float, inside: float, crowd: float, reports: int, crowded: float
) -> None:
    """It was learned while the host was slow, and nothing comes to it any more that would show more."""

    def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"full": [1], "capacities": [430.0, 700.0]}

    rests, full = sample(served, inside), replace(sample(700.0, crowd), rank=1, name="m1")
    known = {"m0": Taught(430.0, 30.0), "m1": Taught(700.0, 30.0)}
    found = fullness(
        {0: [rests] * reports, 1: [full] * reports}, Fullness(capacity=known), engine, ()
    ).capacity
    assert found["m0"] == Taught(430.0, crowded)
    assert found["m1"].inside == 30.0


@pytest.mark.parametrize(("served", "taught"), [(190.0, Taught(190.0)), (100.0, None)])
def test_what_rests_though_it_does_as_much_as_full_ones_did_that_easily(
    served: float, taught: Taught | None
) -> None:
    """Its clients ask for what costs less; else all would pass for even."""

    def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"full": [1], "capacities": [None, 200.0]}

    rests, full = sample(served, 0.3), replace(sample(200.0, 25.0), rank=1, name="m1")
    found = fullness({0: [rests] * 6, 1: [full] * 6}, Fullness(), engine, ()).capacity
    assert found.get("m0") == taught


def beside(
    row: RankSample, reports: int = 6, busy: int = 6, best: float = 1000.0
) -> dict[int, list[RankSample]]:
    """m1 with such reports, beside m0, which was full in the last ones."""
    full = RankSample(0, "m0", best, 0.0, 0, 0, 0, 0.0, 0.0, 1, quickest=16.0 / best)
    before = [replace(full, requests=100.0, quickest=0.001)] * (reports - busy)
    return {0: [*before, *[full] * busy], 1: [replace(row, rank=1, name="m1")] * reports}


def one_is_full(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"full": [0], "capacities": arguments["earlier"]}


NOTHING = RankSample(1, "m1", 0.0, 0.0, 0, 0, 0, 0.0, 0.0, 1)
SLOW = Taught(100.0, 12.0)


@pytest.mark.parametrize(
    ("rows", "awaited", "known"),
    [
        (beside(NOTHING), (), None),
        (beside(sample(9.0, 0.1)), (), None),
        (beside(sample(30.0, 0.1)), (), SLOW),
        (beside(sample(5.0, 2.0)), (), SLOW),
        (beside(NOTHING, reports=5, busy=5), (), SLOW),
        (beside(NOTHING, busy=5), (), SLOW),
        (beside(NOTHING, best=110.0), (), SLOW),
        (beside(NOTHING), (1,), SLOW),
        (beside(NOTHING), (0,), None),
    ],
    ids=[
        *("idle", "nearly idle", "has something to do", "its few wait", "not for long"),
        *("the other is full just now", "it is as good", "something is on its way", "to the other"),
    ],
)
def test_what_a_rank_taught_that_is_idle_beside_full_ones_is_tried_anew(
    rows: dict[int, list[RankSample]], awaited: tuple[int, ...], known: Taught | None
) -> None:
    """Its host was slow, and all that is large would be too much for it for ever."""
    best = Taught(rows[0][-1].requests, 16.0)
    found = fullness(rows, Fullness(capacity={"m0": best, "m1": SLOW}), one_is_full, awaited)
    assert found.capacity == {"m0": best} | ({} if known is None else {"m1": known})


def tries(busy: Callable[[int], bool], looks: int) -> list[int]:
    """The looks in which a rank is tried that is slow indeed, if others are full in some."""
    known = {"m0": Taught(1000.0, 16.0), "m1": SLOW}
    found, tried = Fullness(), []
    for look in range(looks):
        rows = beside(NOTHING, busy=6 if busy(look) else 0)
        found = fullness(rows, replace(found, capacity=known), one_is_full, ())
        tried += [] if "m1" in found.capacity else [look]
    return tried


def test_what_is_slow_indeed_is_tried_once_in_ten_minutes_and_less_often_by_and_by() -> None:
    assert tries(lambda look: True, 6000) == [0, 120, 360, 840, 1800, 3240, 4680]
    assert tries(lambda look: look < 100 or look > 400, 700) == [0, 401, 521], "what was long ago"


@pytest.mark.parametrize(
    ("now", "serves", "full", "other"),
    [
        ((350.0, 380.0), 100.0, False, 540.0),
        ((350.0, 690.0), 100.0, False, 1000.0),
        ((350.0, 380.0), 650.0, False, 1000.0),
        ((350.0, 380.0), 460.0, True, 540.0),
        ((1050.0, 980.0), 100.0, False, 1400.0),
        ((1050.0, 980.0), 900.0, True, 1000.0),
        ((690.0, 700.0), 100.0, False, 1000.0),
    ],
    ids=[
        *(
            "both slower",
            "one slower",
            "the third shows it is not",
            "the third is full of few",
            "both quicker",
        ),
        *("both quicker, the third is full of few", "as ever"),
    ],
)
def test_what_all_full_ranks_show_alike_counts_for_the_others(
    now: tuple[float, float], serves: float, full: bool, other: float
) -> None:
    """The host has become slower, or clients ask for other things."""

    def engine(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"full": [0, 1, 2] if full else [0, 1], "capacities": [*now, 1000.0]}

    rows = {
        rank: [replace(sample(rate, inside), rank=rank, name=f"m{rank}")]
        for rank, (rate, inside) in enumerate(((now[0], 20.0), (now[1], 20.0), (serves, 4.0)))
    }
    known = {"m0": Taught(700.0, 30.0), "m1": Taught(700.0, 30.0), "m2": Taught(1000.0, 30.0)}
    before = {name: taught.value for name, taught in known.items()}
    found = fullness(rows, Fullness(capacity=known, before=(before,)), engine, ())
    assert found.capacity["m2"] == Taught(pytest.approx(other, rel=0.01), 30.0)

    def later(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"full": [0, 1, 2] if full else [0, 1], "capacities": arguments["earlier"]}

    assert fullness(rows, found, later, ()).capacity == found.capacity, "once"


@pytest.mark.parametrize(
    ("served", "passed", "able"), [(80.0, 310.0, 80.0), (60.0, 0.0, 390.0), (9.0, 400.0, 9.0)]
)
def test_what_is_passed_on_leaves_less_time_for_what_is_served(
    served: float, passed: float, able: float
) -> None:
    """Once it is not any more the rank can do as much of its own again."""
    row = replace(sample(served, 20.0), forwards=passed)
    assert rank_view(row, Fullness(capacity={"m0": Taught(390.0, 20.0)}), 0.0).capacity == able
    assert rank_view(row, Fullness(), 500.0).capacity == 500.0, "the option is of what is served"
    both = rank_view(row, Fullness(capacity={"m0": Taught(390.0, 20.0)}), 500.0)
    assert (both.capacity, both.crowd) == (able, 20.0), "ranks may differ: what each has taught is its own"
    less = rank_view(row, Fullness(capacity={"m0": Taught(390.0, 20.0)}), able / 2.0)
    assert (less.capacity, less.crowd) == (able / 2.0, math.inf), "none can do more than an operator says"


def test_those_that_have_taught_nothing_are_no_better_than_what_one_has_taught() -> None:
    """With an option above what ranks really do the first that is full would be emptied."""
    row = replace(sample(50.0, 0.1), name="m1")
    assert rank_view(row, Fullness(capacity={"m0": Taught(600.0, 20.0)}), 3000.0).capacity is None
    assert rank_view(row, Fullness(capacity={"m0": Taught(3100.0, 20.0)}), 3000.0).capacity == 3000.0
