# SPDX-License-Identifier: LGPL-2.1-or-later
"""The adjustment of the Indirect Lookup Table (3.3), on cases worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.schedule.core.lookup_table import LookupTable, Shift, adjust


def entries_of(table: LookupTable) -> Counter[int]:
    return Counter(table.owners)


def test_an_overloaded_server_gives_what_its_extra_holds_and_no_more() -> None:
    # Load 100 of 10 entries, mean 60: Extra 40, Load_e 10, so 4. The other: Extra -40, Load_e 2, room for 20.
    table = LookupTable((0,) * 10 + (1,) * 10)
    assert adjust(table, [100.0, 20.0]) == [Shift(entry, 0, 1) for entry in range(4)]


def test_an_extra_below_one_entry_gives_nothing() -> None:
    # Extra 9, Load_e 10.
    assert adjust(LookupTable((0,) * 10 + (1,) * 10), [100.0, 82.0]) == []


@pytest.mark.parametrize(
    ("loads", "taken"),
    [
        # The mean is 100, server 1 has 10 entries.
        ([104.5, 95.5], 0),  # Extra -4.5, Load_e 9.55: room for 0.47 of an entry
        ([105.0, 95.0], 1),  # 5 / 9.5 = 0.53
        ([112.0, 88.0], 1),  # 12 / 8.8 = 1.36
        ([115.0, 85.0], 2),  # 15 / 8.5 = 1.76
    ],
)
def test_room_for_half_an_entry_counts_as_one(loads: list[float], taken: int) -> None:
    # 100 small entries at the giver, so that what it offers is never the limit.
    table = LookupTable((0,) * 100 + (1,) * 10)
    assert len(adjust(table, loads)) == taken


def test_who_has_most_room_gets_first() -> None:
    # Mean 40. Server 0 offers floor(60 / 10) = 6. Room: 1 has (40 - 16) / 4 = 6.5, 2 has (40 - 4) / 1 = 36.5.
    table = LookupTable((0,) * 10 + (1,) * 4 + (2,) * 4)
    moves = adjust(table, [100.0, 16.0, 4.0])
    assert Counter(move.target for move in moves) == {2: 6}
    assert len({move.entry for move in moves}) == 6


def test_a_server_that_was_just_added_gets_entries() -> None:
    # Nothing is known of its entries, since it has none: it counts them at the table's mean, 90 / 9 = 10.
    table = LookupTable((0, 1, 2) * 3)
    moves = adjust(table, [30.0, 30.0, 30.0, 0.0])
    # Mean 22.5: each of the three has Extra 7.5, less than an entry of 10: none can give.
    assert moves == []
    finer = LookupTable(tuple(entry % 3 for entry in range(36)))
    # Load_e 2.5: each gives 3; the newcomer has room for 9.
    assert entries_of(finer.moved(adjust(finer, [30.0, 30.0, 30.0, 0.0]))) == {0: 9, 1: 9, 2: 9, 3: 9}


def test_weights_are_computing_power() -> None:
    table = LookupTable.round_robin(40, 2)
    # Equal loads, but server 1 is three times as fast: its fair load is 60 of 80, Load_e is 2.
    assert len(adjust(table, [40.0, 40.0], [1.0, 3.0])) == 10
    assert adjust(table, [20.0, 60.0], [1.0, 3.0]) == []


@pytest.mark.parametrize("loads", [[0.0, 0.0], [7.0, 7.0]])
def test_even_or_idle_servers_keep_their_entries(loads: list[float]) -> None:
    assert adjust(LookupTable.round_robin(8, 2), loads) == []


@pytest.mark.parametrize(
    ("loads", "weights", "named"),
    [
        ([1.0], None, r"\[1\]"),
        ([1.0, -2.0], None, "-2.0"),
        ([1.0, float("nan")], None, "nan"),
        ([1.0, 1.0], [1.0], "1 weights for 2 loads"),
        ([1.0, 1.0], [1.0, 0.0], "above 0"),
    ],
)
def test_what_does_not_fit_is_named(loads: list[float], weights: list[float] | None, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        adjust(LookupTable((0, 1)), loads, weights)


@given(st.data())
def test_nobody_goes_past_the_fair_load_by_more_than_half_an_entry(data: st.DataObject) -> None:
    servers = data.draw(st.integers(1, 6))
    owners = data.draw(st.lists(st.integers(0, servers - 1), min_size=1, max_size=60))
    loads = data.draw(st.lists(st.floats(0, 1e6), min_size=servers, max_size=servers))
    table = LookupTable(tuple(owners))
    moves = adjust(table, loads)
    fair, counts = sum(loads) / servers, entries_of(table)
    given_away, taken = Counter(move.source for move in moves), Counter(move.target for move in moves)
    assert not given_away.keys() & taken.keys()
    assert len({move.entry for move in moves}) == len(moves)
    assert all(table.owners[move.entry] == move.source for move in moves)
    slack = 1e-6 * (1 + sum(loads))
    for server, count in given_away.items():
        assert loads[server] - loads[server] / counts[server] * count >= fair - slack
    for server, count in taken.items():
        if counts[server]:
            per_entry = loads[server] / counts[server]
            assert loads[server] + per_entry * (count - 0.5) <= fair + slack
