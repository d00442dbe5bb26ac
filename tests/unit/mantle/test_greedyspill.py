# SPDX-License-Identifier: LGPL-2.1-or-later
"""mantle/greedyspill.lua: GIGA+'s policy."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.mantle.support import decide, metrics

ODD = st.one_of(st.just(math.nan), st.just(math.inf), st.just(-1.0), st.just("much"))


def test_half_is_spilled_to_an_idle_next_rank() -> None:
    targets, line = decide("greedyspill", metrics([100, 0, 0, 0]), 0)
    assert targets == [0, 350, 0, 0]
    assert line == "greedyspill: load 700.00: 350.00 spills to the idle rank 1"


def test_a_next_rank_that_has_load_gets_none() -> None:
    assert decide("greedyspill", metrics([100, 1, 0]), 0)[0] == [0, 0, 0]


def test_the_last_rank_has_nobody_to_spill_to() -> None:
    targets, line = decide("greedyspill", metrics([0, 100]), 1)
    assert targets == [0, 0]
    assert "no next rank" in line


def test_a_rank_outside_the_mask_gets_none() -> None:
    assert decide("greedyspill", metrics([100, 0]), 0, {"mask": [0]})[0] == [0, 0]
    assert decide("greedyspill", metrics([100, 0]), 0, {"mask": [0, 1]})[0] == [0, 350]


def test_the_next_rank_is_the_next_one_of_the_mask() -> None:
    seen, mask = metrics([100, 0, 0]), {"mask": [2, 0, 7]}
    targets, line = decide("greedyspill", seen, 0, mask)
    assert targets == [0, 0, 350]
    assert line == "greedyspill: load 700.00: 350.00 spills to the idle rank 2"
    assert decide("greedyspill", seen, 2, mask)[1].endswith("no migration: there is no next rank in the mask")
    busy = decide("greedyspill", metrics([100, 0, 1]), 0, mask)[1]
    assert busy.endswith("load 700.00, rank 2 has 7.00: nothing to spill")


@given(st.integers(0, 1), ODD)
def test_a_bad_metric_moves_nothing(rank: int, value: Any) -> None:
    seen = metrics([100, 0])
    seen[rank]["all.meta_load"] = value
    targets, line = decide("greedyspill", seen, 0)
    assert targets == [0, 0]
    assert f"all.meta_load of rank {rank} is unknown" in line
