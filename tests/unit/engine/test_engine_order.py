# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which move is made first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.engine.bad_input import BadInputError
from mds_partitioner.engine.order import order


def moves(loads: list[float], *listed: tuple[float, float, int, int, int | None]) -> list[int]:
    """Each move: req/s, inodes, from, to, after."""
    load, inodes, source, target, after = (list(column) for column in zip(*listed))
    args: dict[str, Any] = {
        "ranks": list(range(len(loads))),
        "loads": loads,
        "load": load,
        "inodes": inodes,
        "source": [[rank] for rank in source],
        "target": [[rank] for rank in target],
        "after": after,
    }
    found = order(args)["order"]
    assert isinstance(found, list)
    return [int(str(i)) for i in found]


def test_the_empty_rank_is_filled_first() -> None:
    assert moves([90, 30, 0], (5, 1, 0, 1, None), (30, 1, 0, 2, None)) == [1, 0]


def test_of_equal_loads_the_one_with_fewer_inodes_goes_first() -> None:
    assert moves([60, 0, 0], (20, 1000, 0, 1, None), (20, 10, 0, 2, None)) == [1, 0]


def test_a_parent_goes_before_its_children_and_for_what_they_bring() -> None:
    """Moving the whole heavy one gains nothing; with its children on, it gains the most of all."""
    heavy = (80, 10, 0, 2, None), (40, 5, 2, 0, 0), (20, 2, 2, 1, 0)
    assert moves([84, 0, 0], *heavy, (4, 10, 0, 1, None)) == [0, 2, 1, 3]


def test_moves_of_nothing_known_keep_their_order_at_the_end() -> None:
    assert moves([10, 0], (0, 0, 0, 1, None), (0, 0, 0, 1, None), (5, 1, 0, 1, None)) == [2, 0, 1]


RANK = st.integers(0, 3)
MOVE = st.tuples(st.floats(0, 100), st.floats(0, 1e6), RANK, RANK)


@given(st.lists(st.floats(0, 1000), min_size=4, max_size=4), st.lists(MOVE, min_size=1, max_size=12))
def test_every_move_is_made_once_and_the_first_is_the_best(
    loads: list[float], listed: list[tuple[float, float, int, int]]
) -> None:
    found = moves(loads, *((*m, None) for m in listed))
    assert sorted(found) == list(range(len(listed)))

    def gain(move: tuple[float, float, int, int]) -> float:
        load, inodes, source, target = move
        after = np.array(loads)
        after[source] -= load
        after[target] += load
        return float(((np.array(loads) ** 2).sum() - (after**2).sum()) / max(inodes, 1.0))

    assert gain(listed[found[0]]) >= max(map(gain, listed)) - 1e-3


@pytest.mark.parametrize("after", [0, 1, -1, "x"])
def test_a_move_comes_after_an_earlier_one(after: Any) -> None:
    with pytest.raises(BadInputError, match="after"):
        moves([1, 1], (1, 1, 0, 1, after))
