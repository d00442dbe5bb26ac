# SPDX-License-Identifier: LGPL-2.1-or-later
"""Algorithm 1 of Lunule (section 3.2)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mds_partitioner.engine.arrays import Bools, Floats
from mds_partitioner.engine.imbalance import variation
from mds_partitioner.engine.roles import Roles, demands, roles
from tests.unit.loads import HARMFUL, uneven

RANKS = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1e5), min_size=n, max_size=n),
        st.lists(st.floats(0, 1e5), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
    )
)
LIMIT = st.one_of(st.just(math.inf), st.floats(1.0, 1e5))
THRESHOLD = st.floats(0, 1)


def decide(
    loads: list[float], predicted: list[float] | None = None, threshold: float = 0.01, limit: float = math.inf
) -> Roles:
    current = np.array(loads, dtype=float)
    forecast = current if predicted is None else np.array(predicted, dtype=float)
    return roles(current, forecast, threshold, limit, np.ones(current.size, dtype=bool))


def demands_among(
    current: Floats, predicted: Floats, threshold: float, limit: float, allowed: Bools
) -> tuple[Floats, Floats]:
    exports, imports = np.zeros_like(current), np.zeros_like(current)
    if allowed.any():
        exports[allowed], imports[allowed] = demands(current[allowed], predicted[allowed], threshold, limit)
    return exports, imports


@given(RANKS, THRESHOLD, LIMIT)
def test_nobody_sends_more_than_its_demand_nor_takes_more_than_its(
    ranks: tuple[list[float], list[float], list[bool]], threshold: float, limit: float
) -> None:
    current, predicted = np.array(ranks[0]), np.array(ranks[1])
    exports, imports = demands_among(current, predicted, threshold, limit, np.array(ranks[2]))
    result = roles(current, predicted, threshold, limit, np.array(ranks[2]))
    slack = 1e-9 * (1.0 + current.sum() + predicted.sum())
    assert (result.matrix >= 0).all()
    assert (result.matrix.sum(axis=1) <= exports + slack).all()
    assert (result.matrix.sum(axis=0) <= imports + slack).all()
    assert (exports <= limit).all()
    assert (imports <= limit).all()


@given(RANKS, THRESHOLD, LIMIT)
def test_nobody_both_exports_and_imports(
    ranks: tuple[list[float], list[float], list[bool]], threshold: float, limit: float
) -> None:
    result = roles(np.array(ranks[0]), np.array(ranks[1]), threshold, limit, np.array(ranks[2]))
    assert not set(result.exporters) & set(result.importers)
    sends, takes = result.matrix.sum(axis=1) > 0, result.matrix.sum(axis=0) > 0
    assert not (sends & takes).any()
    assert set(np.flatnonzero(sends)) <= set(result.exporters)
    assert set(np.flatnonzero(takes)) <= set(result.importers)


@given(RANKS, THRESHOLD, LIMIT)
def test_a_rank_outside_the_mask_takes_no_part(
    ranks: tuple[list[float], list[float], list[bool]], threshold: float, limit: float
) -> None:
    allowed = np.array(ranks[2])
    result = roles(np.array(ranks[0]), np.array(ranks[1]), threshold, limit, allowed)
    assert allowed[result.importers].all()
    assert allowed[result.exporters].all()
    assert not result.matrix[:, ~allowed].any()
    assert not result.matrix[~allowed].any()


@given(RANKS, THRESHOLD, LIMIT)
def test_as_much_is_moved_as_both_sides_allow(
    ranks: tuple[list[float], list[float], list[bool]], threshold: float, limit: float
) -> None:
    current, predicted, allowed = np.array(ranks[0]), np.array(ranks[1]), np.array(ranks[2])
    exports, imports = demands_among(current, predicted, threshold, limit, allowed)
    moved = roles(current, predicted, threshold, limit, allowed).matrix.sum()
    assert moved == pytest.approx(min(exports.sum(), imports.sum()), rel=1e-6, abs=1e-6)


def factor(loads: Floats) -> float:
    """CoV over sqrt(n): the IF of a cluster whose busiest rank is full."""
    return variation(loads) / math.sqrt(loads.size)


@settings(deadline=None)
@given(uneven(256).map(np.array), LIMIT)
def test_what_is_harmful_moves_makes_it_less_so_and_takes_nobody_across_the_mean(
    loads: Floats, limit: float
) -> None:
    assume(factor(loads) > HARMFUL)
    exports, imports = demands(loads, loads, 0.01, limit, harmful=True)
    moved = roles(loads, loads, 0.01, limit, np.ones(loads.size, dtype=bool), harmful=True).matrix
    sent, taken, mean = moved.sum(axis=1), moved.sum(axis=0), loads.mean()
    slack = 1e-9 * (1.0 + loads.sum())
    assert moved.sum() > 0
    after = loads - sent + taken
    assert factor(after) < factor(loads)
    assert (after[sent > 0] >= mean - slack).all()
    assert (after[taken > 0] <= mean + slack).all()
    assert (sent <= exports + slack).all()
    assert (taken <= imports + slack).all()
    assert not ((sent > 0) & (taken > 0)).any()
    assert (sent <= limit + slack).all()
    assert (taken <= limit + slack).all()


@pytest.mark.parametrize("ranks", [4, 16, 64, 256])
def test_beside_one_hot_rank_the_others_take_although_each_is_close_to_the_mean(ranks: int) -> None:
    hot = 1 + 0.09 * (ranks - 1)  # every other rank is 9 % below the mean
    loads = [100.0 * hot] + [91.0] * (ranks - 1)
    result = decide(loads, threshold=0.01)
    assert result.exporters.tolist() == [0]
    assert result.matrix[0, 1:] == pytest.approx([9.0] * (ranks - 1))


def test_beside_one_cold_rank_the_others_give_although_each_is_close_to_the_mean() -> None:
    result = decide([109.0] * 9 + [19.0], threshold=0.01)
    assert result.matrix[:9, 9] == pytest.approx([9.0] * 9)


def test_two_ranks_within_the_threshold_move_only_what_is_harmful() -> None:
    loads, all_of_them = np.array([109.0, 91.0]), np.ones(2, dtype=bool)
    assert not roles(loads, loads, 0.01, math.inf, all_of_them).matrix.any()
    assert roles(loads, loads, 0.01, math.inf, all_of_them, harmful=True).matrix[0, 1] == pytest.approx(9)


def test_those_beyond_the_threshold_come_first() -> None:
    result = decide([180.0, 95.0, 92.0, 60.0, 73.0], threshold=0.01)
    assert result.matrix[0].tolist() == pytest.approx([0, 5, 8, 40, 27])
    assert decide([120.0, 95.0, 125.0, 60.0], threshold=0.01).importers.tolist() == [1, 3]
    assert decide([115.0, 95.0, 105.0, 85.0], threshold=0.01).importers.tolist() == [3]


@settings(deadline=None)
@given(uneven(256).map(np.array), st.floats(0.0, 1.0), LIMIT)
def test_what_hot_ranks_give_makes_the_factor_less_and_makes_nobody_hot(
    loads: Floats, part: float, limit: float
) -> None:
    mean = loads.mean()
    hot = loads > 1.3 * mean
    assume(hot.any())
    hot &= np.arange(hot.size) >= np.flatnonzero(hot)[int(part * (hot.sum() - 1))]
    moved = roles(loads, loads, 0.01, limit, np.ones(loads.size, dtype=bool), hot=hot, above=0.15).matrix
    sent, taken = moved.sum(axis=1), moved.sum(axis=0)
    slack = 1e-9 * (1.0 + loads.sum())
    assert sent[hot].sum() == pytest.approx(np.minimum(limit, loads - mean)[hot].sum(), abs=slack) or (
        limit < math.inf
    )
    assert not sent[~hot].any()
    after = loads - sent + taken
    assert factor(after) < factor(loads)
    near = (loads / mean - 1.0) ** 2 <= 0.01
    assert (after[(taken > 0) & ~near] <= mean + slack).all()
    assert (after[(taken > 0) & near] <= 1.15 * mean + slack).all()


def test_what_a_hot_rank_gives_is_not_cut_into_pieces_smaller_than_any_subtree() -> None:
    loads = np.array([300.0] + [100.0] * 255)
    all_of_them = np.ones(256, dtype=bool)
    taken = roles(loads, loads, 0.01, math.inf, all_of_them, hot=loads > 200.0, above=0.15).matrix[0]
    mean = loads.mean()
    assert taken.max() == pytest.approx(1.15 * mean - 100.0)
    assert np.count_nonzero(taken) == 13, "not a 255th of it to each"


def test_a_falling_rank_takes_no_more_than_its_gap() -> None:
    assert decide([300, 100], predicted=[300, 0]).matrix[0, 1] == pytest.approx(100)


def test_an_idle_cluster_moves_nothing() -> None:
    result = decide([0, 0, 0], predicted=[5, 5, 5])
    assert not result.matrix.any()
    assert not result.importers.size


def test_the_hot_rank_fills_the_cold_ones_up_to_the_mean() -> None:
    result = decide([400, 0, 100, 100])
    assert result.matrix.tolist() == [[0, 150, 50, 50], [0] * 4, [0] * 4, [0] * 4]


def test_a_rank_whose_own_growth_fills_its_gap_does_not_import() -> None:
    assert decide([300, 0], predicted=[300, 200]).importers.tolist() == []
    assert decide([300, 0], predicted=[300, 100]).matrix[0, 1] == pytest.approx(50)


def test_a_rank_within_the_threshold_of_the_mean_has_no_role() -> None:
    result = decide([110, 90], threshold=0.0101)
    assert not result.exporters.size
    assert not result.importers.size
    assert decide([110, 90], threshold=0.0099).exporters.tolist() == [0]


def test_no_rank_moves_more_than_the_epoch_allows() -> None:
    assert decide([1000, 0], limit=20).matrix[0, 1] == 20
