# SPDX-License-Identifier: LGPL-2.1-or-later
"""Advice stands as long as it can be followed."""

from __future__ import annotations

from typing import Any

import pytest

from mds_partitioner.schedule.core.advice import outstanding
from mds_partitioner.schedule.core.view import FOR_A_MOMENT, Piece, RankView, View


def view(rank: int | None = 0, **more: Any) -> View:
    ranks = tuple(RankView(rank, 100.0, 1.0, False, None) for rank in range(3))
    return View(0.0, ranks, (Piece(1, "/a", rank, 10.0, 5.0, **more),), harmful=True)


@pytest.mark.parametrize("held", ["", *FOR_A_MOMENT])
def test_it_stands_while_a_directory_is_where_it_was(held: str) -> None:
    assert outstanding({1: (2,)}, view(held=held)) == {1: (2,)}
    assert outstanding({1: (0, 1, 2)}, view(held=held)) == {1: (0, 1, 2)}


@pytest.mark.parametrize("held", ["pinned-by-operator", "a directory below it has a pin of its own"])
def test_what_an_operator_holds_since_is_none(held: str) -> None:
    assert outstanding({1: (2,)}, view(held=held)) == {}


@pytest.mark.parametrize(("targets", "rank"), [((2,), 2), ((2,), None), ((3,), 0), ((0, 1, 3), 0)], ids=str)
def test_what_was_done_or_divided_or_would_go_to_a_rank_that_is_gone_is_none(
    targets: tuple[int, ...], rank: int | None
) -> None:
    assert outstanding({1: targets}, view(rank)) == {}
    assert outstanding({7: (2,)}, view()) == {}, "it is gone"
