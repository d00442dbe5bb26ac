# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one rank can serve: when it counts as saturated, what that teaches, how many ranks it asks for."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.engine.arrays import Bools, Floats
from mds_partitioner.engine.bad_input import BadInputError
from mds_partitioner.engine.capacities import capacities
from mds_partitioner.engine.capacity import Capacity, choose_capacity, rank_capacities
from mds_partitioner.engine.capacity_source import CapacitySource
from mds_partitioner.engine.inside import LISTING
from mds_partitioner.engine.recommend import recommend
from mds_partitioner.engine.saturation import saturated_epochs, saturated_ranks

TABLE = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(
        *(
            st.lists(
                st.lists(st.floats(0, 1e4), min_size=shape[1], max_size=shape[1]),
                min_size=shape[0],
                max_size=shape[0],
            )
            for _ in range(3)
        )
    )
)


def epochs(
    rate: list[list[float]], latency: list[list[float]], fetches: list[list[float]] | None = None
) -> list[list[bool]]:
    none = np.zeros_like(np.array(rate, dtype=float)).tolist()
    tables = (np.array(table, dtype=float) for table in (rate, latency, fetches or none))
    marks: list[list[bool]] = saturated_epochs(*tables).tolist()
    return marks


# Measured on Tentacle, one rank at 10 % of a core: req/s and mean latency (s) in four epochs of 4 s.
MEASURED = {
    4: [(249, 0.0082), (227, 0.0067), (277, 0.0047), (251, 0.0069)],
    8: [(319, 0.0128), (250, 0.0172), (266, 0.0135), (289, 0.0119)],
    12: [(355, 0.0171), (269, 0.0264), (332, 0.0162), (314, 0.0193)],
    16: [(344, 0.0229), (214, 0.0461), (341, 0.0235), (266, 0.0396)],
    24: [(342, 0.0474), (366, 0.0432), (290, 0.0567), (311, 0.0413)],
    64: [(331, 0.1603), (295, 0.1693), (376, 0.1062), (261, 0.2085)],
}
# At random times: half of it, and a run in which the rank had other work at times, with half of its quota
# left (throttled in 109 to 144 of 229 periods).
OPEN_HALF = {
    "calm": [(121, 0.0009), (124, 0.0008), (127, 0.0026), (123, 0.0022)],
    "in bursts": [(211, 0.0008), (203, 0.0031), (206, 0.0131), (213, 0.0128), (213, 0.0182), (197, 0.004)],
}


def seen(points: list[tuple[float, float]]) -> tuple[Floats, Floats, Floats]:
    """One loaded rank and three idle ones: rate, latency, fetches."""
    rate, latency = (np.array([[p[i] for p in points], *[[0.0] * len(points)] * 3]) for i in (0, 1))
    return rate, latency, np.zeros_like(rate)


def undisturbed(rate: Floats, full: Bools, earlier: float | None = None) -> Capacity:
    """Of ranks that export nothing, and never rest."""
    return choose_capacity(rate, full, np.ones_like(full), np.zeros_like(full), 0.0, earlier, None)


@pytest.mark.parametrize("clients", MEASURED)
def test_a_full_rank_is_recognised_within_three_epochs_however_few_its_clients(clients: int) -> None:
    rate, latency, fetches = seen(MEASURED[clients][:3])
    marks = saturated_epochs(rate, latency, fetches)
    assert saturated_ranks(marks).tolist() == [True, False, False, False]
    capacity = undisturbed(rate, marks)
    assert capacity.source is CapacitySource.LEARNED
    assert capacity.value == pytest.approx(np.mean(rate[0]), rel=0.2)


@pytest.mark.parametrize("points", OPEN_HALF.values(), ids=OPEN_HALF)
def test_half_of_that_rate_at_random_times_is_not_full(points: list[tuple[float, float]]) -> None:
    assert not saturated_epochs(*seen(points)).any()


def test_a_rate_that_was_easy_lately_fills_a_rank_only_with_a_crowd_inside() -> None:
    easy, hard, crowd = (200.0, 0.002), (210.0, 0.012), (210.0, 0.05)
    assert not saturated_epochs(*seen([easy, hard, hard])).any()
    assert saturated_epochs(*seen([easy, crowd, crowd]))[0].tolist() == [False, True, True]
    assert saturated_epochs(*seen([easy, *[hard] * 7]))[0].tolist() == [False] * 7 + [True]


def test_latency_that_is_not_known_is_no_sign_of_ease() -> None:
    assert saturated_epochs(*seen([(307.0, 0.0), (307.0, 0.0058), (296.0, 0.0049)]))[0, 1:].all()


def test_a_rank_that_waits_for_the_metadata_pool_is_not_full() -> None:
    assert epochs([[500.0]], [[0.02]], [[400.0]]) == [[False]]
    assert epochs([[500.0]], [[0.02]], [[5.0]]) == [[True]]


def test_a_few_requests_that_wait_long_teach_nothing() -> None:
    assert epochs([[3.0] * 3], [[5.0] * 3]) == [[False] * 3]


def test_a_slow_rank_that_hardly_works_is_not_saturated() -> None:
    assert epochs([[1000], [50]], [[0.001], [1.0]]) == [[False], [False]]


def test_where_ranks_need_not_be_alike_one_that_is_far_slower_is_full_when_it_is_crowded() -> None:
    rate, latency = np.array([[1000.0] * 4, [60.0] * 4]), np.array([[0.05] * 4, [1.0] * 4])
    marks = saturated_epochs(rate, latency, np.zeros_like(rate), alike=False)
    assert marks.all()
    for little in (10.0, 19.0):  # it waits for something else
        few = np.array([[1000.0] * 4, [little] * 4])
        assert not saturated_epochs(few, latency, np.zeros_like(rate), alike=False)[1].any()
    assert not saturated_epochs(2.5 * few, latency, np.zeros_like(rate), alike=False)[1].any()
    answer = capacities(
        {
            "ranks": [0, 1],
            "loads": rate.tolist(),
            "latency": latency.tolist(),
            "fetches": np.zeros_like(rate).tolist(),
            "moved": np.zeros_like(rate).tolist(),
            "passed": np.zeros_like(rate).tolist(),
            "earlier": [None, None],
        }
    )
    assert answer == {"full": [0, 1], "capacities": [1000.0, 60.0]}


@given(TABLE)
def test_an_epoch_without_requests_is_never_saturated(tables: tuple[list[list[float]], ...]) -> None:
    rate, latency, fetches = (np.array(table) for table in tables)
    assert not (saturated_epochs(rate, latency, fetches) & (rate == 0)).any()


def test_a_rank_is_saturated_by_two_of_its_last_three_epochs() -> None:
    marks = np.array([[True, True, False, False, True], [False, False, True, True, False]])
    assert saturated_ranks(marks).tolist() == [False, True]
    assert saturated_ranks(np.array([[True]])).tolist() == [False]


def chosen(
    rate: list[float],
    full: list[bool],
    earlier: float | None,
    option: float = 0.0,
    moves: bool = False,
    rests: bool = False,
) -> Capacity:
    """Of one rank. moves: it exports while it is full; rests: while it is not"""
    calm = np.array([[not (moves and own) for own in full]])
    easy = np.array([[rests and not own for own in full]])
    return choose_capacity(np.array([rate]), np.array([full]), calm, easy, option, earlier, None)


def test_the_option_comes_before_what_was_learned() -> None:
    full = [True, True]
    assert chosen([500.0] * 2, full, 300.0, option=700.0) == Capacity(700.0, CapacitySource.OPTION)
    learned = chosen([500.0] * 2, full, 300.0)
    assert learned.source is CapacitySource.LEARNED and learned.value == pytest.approx(500.0)
    assert chosen([500.0] * 2, [False] * 2, 600.0) == Capacity(600.0, CapacitySource.EARLIER)
    assert chosen([500.0] * 2, [False] * 2, None) == Capacity(None, CapacitySource.UNKNOWN)
    assert chosen([500.0] * 2, [True, False], None) == Capacity(None, CapacitySource.UNKNOWN)


def test_less_than_was_known_is_believed_when_it_is_seen_again_and_by_half_at_most() -> None:
    assert chosen([30.0] * 3, [True, True, False], 9000.0).value == 9000.0
    assert chosen([30.0] * 3, [True] * 3, 9000.0).value == 4500.0
    assert chosen([8000.0] * 3, [True] * 3, 9000.0).value == pytest.approx(8000.0)


def test_a_rank_that_serves_more_than_was_learned_shows_that_it_can() -> None:
    assert chosen([1000.0, 900.0, 950.0], [False] * 3, 500.0) == Capacity(900.0, CapacitySource.EARLIER)
    assert chosen([1000.0, 100.0, 950.0], [False] * 3, 500.0).value == 500.0


def test_what_is_served_at_rest_is_no_capacity_and_what_was_learned_says_nothing_of_such_a_load() -> None:
    unknown, calm = Capacity(None, CapacitySource.UNKNOWN), [False] * 3
    assert chosen([2000.0] * 3, calm, 250.0, rests=True) == unknown
    assert chosen([2000.0] * 3, calm, 250.0, option=300.0, rests=True).value == 300.0
    assert chosen([2000.0, 200.0, 2000.0], calm, 250.0, rests=True).value == 250.0, "it did not last"
    assert chosen([2000.0] * 2, calm[:2], 250.0, rests=True).value == 250.0, "nobody knows yet"
    assert chosen([260.0] * 3, calm, 250.0, rests=True) == Capacity(250.0, CapacitySource.EARLIER)
    lately = [*[250.0] * 9, *[2000.0] * 3]
    assert chosen(lately, [True] * 9 + calm, None, rests=True) == unknown, "it listed until now"
    rate, marks = np.array([[2000.0] * 3, [250.0] * 3]), np.array([calm, [True] * 3])
    idle = np.array([[False, True, False], calm])
    beside = choose_capacity(rate, marks, np.ones_like(marks), idle, 0.0, None, None)
    assert beside == unknown, "once is enough: what it does with few inside it does easily"


def test_where_ranks_export_all_the_time_capacity_is_what_they_serve_meanwhile_or_kept_up_before() -> None:
    assert chosen([1000.0] * 4, [True] * 4, None, moves=True) == Capacity(1000.0, CapacitySource.LEARNED)
    before = [*[800.0] * 8, *[200.0] * 4]
    full = [*[False] * 8, *[True] * 4]
    assert chosen(before, full, None, moves=True) == Capacity(800.0, CapacitySource.LEARNED)
    assert chosen(before, full, 1500.0, moves=True) == Capacity(1500.0, CapacitySource.EARLIER)


def test_a_slow_rank_that_is_full_does_not_say_what_quicker_ones_can_do() -> None:
    rate = np.array([[800.0] * 4, [200.0] * 4])
    marks = np.array([[False] * 4, [True] * 4])
    assert undisturbed(rate, marks) == Capacity(800.0, CapacitySource.LEARNED)
    assert undisturbed(rate, marks, 1000.0).value == 800.0


def test_capacity_is_of_a_rank_that_was_saturated_often() -> None:
    rate = np.array([[400.0, 500.0, 450.0, 100.0], [9000.0, 1.0, 1.0, 1.0]])
    marks = np.array([[True, True, True, False], [True, False, False, False]])
    capacity = undisturbed(rate, marks)
    assert capacity.value == pytest.approx(450.0)


def test_ranks_are_recommended_by_the_larger_of_load_and_working_set() -> None:
    usual = {"bytes_per_inode": 1000.0, "cache_limit": 1e9, "saturated": False}
    advise = partial(recommend, busy_load=0.0, capacity=1000.0, **usual)
    by_load = advise(load=3001.0, wss=10.0)
    assert by_load.ranks == 5 and by_load.reason.startswith("5 for 3001 req/s")
    assert "1 for a working set" in by_load.reason
    by_wss = advise(load=10.0, wss=2_400_001.0)
    assert by_wss.ranks == 4 and by_wss.reason.startswith("1 for 10 req/s")
    assert "4 for a working set" in by_wss.reason
    by_times = advise(load=800.0, busy_load=3800.0, wss=10.0)
    told = "at least 6 for 3800 req/s, while a rank was saturated (800 on the mean) at 75 %"
    assert by_times.ranks == 6 and by_times.reason.startswith(told.replace(" %", "%"))
    assert advise(load=800.0, busy_load=850.0, wss=10.0).reason.startswith("2 for 800 req/s at"), "as ever"


@given(st.floats(0, 1e6), st.floats(0, 1e9), st.booleans())
def test_the_recommended_ranks_keep_the_load_below_three_quarters(
    load: float, wss: float, saturated: bool
) -> None:
    advice = recommend(
        load=load,
        busy_load=load,
        capacity=1000.0,
        wss=wss,
        bytes_per_inode=3e3,
        cache_limit=4e9,
        saturated=saturated,
    )
    assert advice.ranks is not None and advice.ranks >= 1
    assert load / advice.ranks <= 750.0 * (1 + 1e-9)
    assert wss * 3e3 / advice.ranks <= 3.2e9 * (1 + 1e-9)
    assert ("at least" in advice.reason) == saturated


@pytest.mark.parametrize("saturated", [True, False])
def test_an_idle_file_system_needs_one_rank(saturated: bool) -> None:
    advice = recommend(
        load=0.0,
        busy_load=0.0,
        capacity=1e4,
        wss=0.0,
        bytes_per_inode=3e3,
        cache_limit=4e9,
        saturated=saturated,
    )
    assert advice.ranks == 1


@given(st.floats(0, 1e6), st.floats(0, 1e9), st.booleans())
def test_no_number_of_ranks_comes_from_an_unknown_capacity(load: float, wss: float, saturated: bool) -> None:
    advice = recommend(
        load=load,
        busy_load=load,
        capacity=None,
        wss=wss,
        bytes_per_inode=3e3,
        cache_limit=4e9,
        saturated=saturated,
    )
    assert advice.ranks is None and "not known" in advice.reason


def test_a_rank_that_does_nothing_but_list_large_directories_is_full_as_well() -> None:
    """Of these it serves far fewer than others of lookups, and few even by themselves."""
    beside, alone = np.array([[200.0] * 4, [5000.0] * 4]), np.array([[15.0] * 4, [0.0] * 4])
    for rate, inside in ((beside, 4.0), (alone, 10.0)):
        latency = np.array([[inside / rate[0, 0]] * 4, [0.4 / 5000.0] * 4])
        listed = np.add(rate, [[(LISTING - 1.0) * rate[0, 0]] * 4, [0.0] * 4])
        for work, full in ((None, False), (listed, True)):
            marks = saturated_epochs(rate, latency, np.zeros_like(rate), work)
            assert (marks[0].all(), marks[1].any()) == (full, False)


def test_who_walks_small_directories_makes_no_full_rank_beside_it_look_idle() -> None:
    rate = np.array([[3500.0] * 4, [2500.0] * 4])
    latency, listed = np.array([[0.5 / 3500.0] * 4, [5.0 / 2500.0] * 4]), np.array([[3200.0] * 4, [0.0] * 4])
    marks = saturated_epochs(rate, latency, np.zeros_like(rate), rate + (LISTING - 1.0) * listed)
    assert marks[1].all() and not marks[0].any()


def test_each_rank_teaches_its_own_capacity() -> None:
    rates = [[100.0, 100.0, 100.0], [40.0, 42.0, 44.0], [10.0, 20.0, 85.0], [10.0, 10.0, 10.0]]
    inside = [[0.1] * 3, [0.1] * 3, [0.001] * 3, [0.001] * 3]
    none = [[0.0] * 3] * 4
    table = {"ranks": [3, 5, 6, 7], "loads": rates, "latency": inside, "fetches": none, "passed": none}
    still = {"moved": [[0.0] * 3] * 4}
    answer: Any = capacities(table | still | {"earlier": [None, 300.0, 80.0, None]})
    assert answer == {"full": [3, 5], "capacities": [100.0, 42.0, 80.0, None]}
    moving = {"moved": [[0.0] * 3, [0.0, 900.0, 900.0], [0.0] * 3, [0.0] * 3]}
    busy: Any = capacities(table | moving | {"earlier": [None, 300.0, 80.0, None]})
    assert busy == {"full": [3, 5], "capacities": [100.0, 300.0, 80.0, None]}, "it has other work, too"
    with pytest.raises(BadInputError, match="earlier has 1 values; allowed: one a rank, 4"):
        capacities(table | still | {"earlier": [None]})
    with pytest.raises(BadInputError, match="moved has 2 epochs; allowed: 3, as loads"):
        capacities(table | {"moved": [[0.0] * 2] * 4, "earlier": [None] * 4})


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ([100.0] * 6 + [50.0], 100.0),
        ([100.0] * 6 + [50.0, 54.0], 100.0),
        ([100.0] * 6 + [50.0, 54.0, 53.0], 53.0),
        ([100.0] * 6 + [50.0, 90.0, 50.0], 100.0),
        ([100.0] * 6 + [85.0] * 3, 100.0),
        ([50.0] * 6 + [100.0, 100.0], 100.0),
        ([50.0] * 6 + [100.0, 100.0, 45.0], 100.0),
        ([50.0] * 6 + [60.0, 60.0], 50.0),
        ([100.0, 40.0], 100.0),
    ],
)
def test_a_rank_that_became_slower_or_quicker_is_soon_known(rates: list[float], found: float) -> None:
    """Slower only when that was seen three times."""
    rate = np.array([rates])
    full, rests = np.ones_like(rate, dtype=bool), np.zeros(1, dtype=bool)
    assert rank_capacities(rate, full, rests, np.array([100.0])).tolist() == [found]


def test_what_a_rank_does_easily_says_that_it_can_do_more() -> None:
    """A hiccup had made its capacity 500."""
    table = {"ranks": [0], "loads": [[600.0] * 3], "fetches": [[0.0] * 3]}
    table |= {"moved": [[0.0] * 3], "passed": [[0.0] * 3]}
    easily: Any = capacities(table | {"latency": [[0.0005] * 3], "earlier": [500.0]})
    assert easily == {"full": [], "capacities": [None]}
    hardly: Any = capacities(table | {"latency": [[0.0015] * 3], "earlier": [500.0]})
    assert hardly == {"full": [], "capacities": [600.0]}
    seen_before: Any = capacities(table | {"latency": [[0.0005, 0.0005, 0.0]], "earlier": [500.0]})
    assert seen_before == {"full": [], "capacities": [600.0]}, "nothing is known of its latency"
    bit_by_bit: Any = capacities(
        table | {"loads": [[540.0, 545.0, 548.0]], "latency": [[0.0005] * 3], "earlier": [500.0]}
    )
    assert bit_by_bit == {"full": [], "capacities": [500.0]}, "or small steps would hide that it is more"
    little: Any = capacities(table | {"latency": [[0.0005] * 3], "earlier": [580.0]})
    assert little == {"full": [], "capacities": [580.0]}


def test_a_stall_of_a_rank_that_was_not_full_before_says_little_of_what_it_can_do() -> None:
    rate = np.array([[900.0] * 9 + [450.0] * 3])
    saturated = np.array([[False] * 9 + [True] * 3])
    rests, known = np.zeros(1, dtype=bool), np.array([1000.0])
    assert rank_capacities(rate[:, :-1], saturated[:, :-1], rests, known).tolist() == [1000.0]
    assert rank_capacities(rate, saturated, rests, known).tolist() == [450.0]


def test_one_full_epoch_teaches_nothing() -> None:
    table = {"ranks": [0], "loads": [[100.0] * 3], "latency": [[0.001, 0.001, 0.1]], "fetches": [[0.0] * 3]}
    answer: Any = capacities(table | {"moved": [[0.0] * 3], "passed": [[0.0] * 3], "earlier": [None]})
    assert answer["capacities"] == [None]


def test_what_a_rank_passes_on_takes_it_as_long_as_what_it_serves() -> None:
    table = {"ranks": [0], "loads": [[80.0] * 4], "latency": [[0.25] * 4], "fetches": [[0.0] * 4]}
    answer: Any = capacities(table | {"moved": [[0.0] * 4], "passed": [[310.0] * 4], "earlier": [390.0]})
    assert answer == {"full": [0], "capacities": [390.0]}
    with pytest.raises(BadInputError, match="passed has 3 epochs; allowed: 4, as loads"):
        capacities(table | {"moved": [[0.0] * 4], "passed": [[310.0] * 3], "earlier": [390.0]})


@pytest.mark.parametrize(("earlier", "able"), [(400.0, 400.0), (150.0, 200.0), (None, None)])
def test_to_pass_much_on_does_not_show_that_a_rank_could_serve_more(
    earlier: float | None, able: float | None
) -> None:
    """That may take far less time than, say, to create a file, and nobody would know until it is full."""
    table = {"ranks": [0], "loads": [[200.0] * 4], "latency": [[0.005] * 4], "fetches": [[0.0] * 4]}
    answer: Any = capacities(table | {"moved": [[0.0] * 4], "passed": [[900.0] * 4], "earlier": [earlier]})
    assert answer == {"full": [], "capacities": [able]}
