# SPDX-License-Identifier: LGPL-2.1-or-later
"""LINE's workload formula and the classes made from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.engine.classes import HEAVY, LIGHT, MODERATE, classes, fair_share
from mds_partitioner.engine.workload import Workload, workload

TABLE = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=50
)


def work(rows: list[tuple[int, int, int]]) -> Workload:
    wss, reqs, rentries = (np.array(column, dtype=float) for column in zip(*rows))
    return workload(wss, reqs, rentries)


def points(rows: list[tuple[int, int, int]]) -> list[float]:
    values: list[float] = work(rows).points.tolist()
    return values


def test_it_gives_the_numbers_of_lines_table() -> None:
    table = [
        (1_000_000, 1_203_030, 50_000_000),
        (700_000, 500_000, 1_000_000),
        (100_000, 5_000, 5_000_000),
        (3_000, 20_000, 70_000),
    ]
    assert [round(p) for p in points(table)] == [339, 137, 21, 3]
    assert sum(points(table)) == pytest.approx(500)


@given(TABLE)
def test_all_subvolumes_together_have_200_points_for_wss_and_requests_and_100_for_entries(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = list(zip(*rows))
    parts = zip((200, 200, 100), columns)
    assert sum(points(rows)) == pytest.approx(sum(worth for worth, column in parts if sum(column) > 0))


@given(TABLE, st.integers(1, 1000))
def test_the_unit_of_a_column_does_not_matter(rows: list[tuple[int, int, int]], unit: int) -> None:
    assert points([(w * unit, q, e) for w, q, e in rows]) == pytest.approx(points(rows))


@given(st.integers(1, 20))
def test_idle_subvolumes_have_no_workload(count: int) -> None:
    assert points([(0, 0, 0)] * count) == [0.0] * count


@given(TABLE, st.integers(1, 50))
def test_only_more_than_a_fair_share_is_heavy(rows: list[tuple[int, int, int]], ranks: int) -> None:
    values = work(rows)
    fair = fair_share(values.points, ranks)
    larger = np.maximum(values.points, values.by_requests)
    named = classes(values, fair)
    assert len(named) == len(rows)
    for value, name in zip(larger, named):
        assert (name == HEAVY) <= (value > fair)
        assert (name == LIGHT) <= (value < 0.1 * fair or value == 0)
    assert named.count(HEAVY) < max(2 * ranks, 2)


def test_a_tenth_of_the_fair_share_is_moderate() -> None:
    values = Workload(np.array([200.0, 100.0, 10.0, 9.9]), *[np.zeros(4)] * 3)
    assert classes(values, 100.0) == [HEAVY, MODERATE, MODERATE, LIGHT]


def test_more_than_a_fair_share_of_the_requests_is_heavy_however_few_the_inodes() -> None:
    rows = [(1_000, 25, 1_000)] * 3 + [(10, 25, 10)]
    values = work(rows)
    assert values.points[3] < fair_share(values.points, 5)
    assert classes(values, fair_share(values.points, 5)) == [HEAVY] * 4


@given(TABLE)
def test_the_points_by_requests_alone_are_as_many_as_the_points(rows: list[tuple[int, int, int]]) -> None:
    values = work(rows)
    asked = sum(reqs for _, reqs, _ in rows) > 0
    assert sum(values.by_requests) == pytest.approx(sum(values.points) * asked)


@given(TABLE)
def test_with_one_rank_nothing_is_heavy(rows: list[tuple[int, int, int]]) -> None:
    values = work(rows)
    assert HEAVY not in classes(values, fair_share(values.points, 1))
