# SPDX-License-Identifier: LGPL-2.1-or-later
"""Algorithm 1 of Lunule (section 3.2)."""

import math

import numpy as np
import pytest
from engine.arrays import Bools, Floats
from engine.roles import Roles, demands, roles
from hypothesis import given
from hypothesis import strategies as st

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
