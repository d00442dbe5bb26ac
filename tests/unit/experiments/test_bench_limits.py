# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cell counts by what held its clients back, window by window."""

from collections.abc import Callable
from typing import Any

import pytest

from experiments.common.figures.limits import limits

RUN_S = 300


def cell(
    mds: Callable[[float], float],
    machine: Callable[[float], float] = lambda t: 0.5,
    ops: Callable[[float], float] = lambda t: 100.0,
    **more: Any,
) -> dict[str, Any]:
    """Two cores, an MDS at a tenth of one; which part of theirs it and the machine use at a second."""
    lines, busy, used = [], 0.0, 0.0
    for t in range(0, RUN_S + 1, 2):
        lines.append({"t": float(t), "busy": busy, "used": {"mds.a": used, "mds.b": 0.0, "clients": 1.0}})
        busy, used = busy + 2 * 2 * machine(t), used + 2 * 0.1 * mds(t)
    return {
        "mds_cpu": 10,
        "spans": {"run": [0.0, float(RUN_S)]},
        "clients": [[float(t), ops(t), 1.0, 0] for t in range(1, RUN_S + 1)],
        "cpu": lines,
        **more,
    }


def test_it_counts_if_an_mds_was_full_and_the_machine_was_not() -> None:
    found = limits(cell(lambda t: 1.0))
    assert found.counts
    assert (found.mds, found.machine, found.busiest) == pytest.approx((1.0, 0.0, 1.0))
    assert limits(cell(lambda t: 0.88)).counts, "a quota is not used to its end"
    assert not limits(cell(lambda t: 0.8)).counts
    assert not limits(cell(lambda t: 1.0, lambda t: 0.95)).counts


def test_a_run_in_which_the_machine_stood_still_does_not_count() -> None:
    run = cell(lambda t: 1.0)
    short, long = (
        run | {"cpu": [line for line in run["cpu"] if not 100 < line["t"] < 100 + s]} for s in (4, 20)
    )
    assert limits(short).counts
    assert limits(long).still == 20.0 and not limits(long).counts
    after = long | {"spans": {"run": [120.0, float(RUN_S)]}}
    assert limits(after).counts, "it was before the run"


def test_ten_full_seconds_are_not_enough() -> None:
    found = limits(cell(lambda t: 1.0 if t < 60 else 0.8))
    assert found.busiest == pytest.approx(1.0) and found.mds < 0.2
    assert not found.counts


def test_a_machine_that_was_full_for_most_of_the_time_has_room_on_the_mean() -> None:
    found = limits(cell(lambda t: 1.0, lambda t: 0.5 if t < 100 else 1.0))
    assert found.machine == pytest.approx(2 / 3, abs=0.03)
    assert not found.counts


def test_both_hold_in_the_same_windows() -> None:
    found = limits(cell(lambda t: 1.0 if t < 200 else 0.5, lambda t: 1.0 if t < 100 else 0.5))
    assert found.mds > 0.6 and found.machine < 0.4
    assert not found.counts, "an MDS alone was full for a third of the time"


def test_a_load_that_pauses_is_judged_while_it_is_there() -> None:
    def there(t: float) -> bool:
        return 100 < t <= 200

    found = limits(cell(lambda t: 1.0 if there(t) else 0.2, ops=lambda t: 400.0 if there(t) else 150.0))
    assert found.counts and found.mds > 0.8


def test_phases_have_each_their_best_window() -> None:
    two = {"spans": {"create": [0.0, 200.0], "reread": [200.0, 300.0]}}
    slower = cell(lambda t: 1.0 if t < 200 else 0.5, ops=lambda t: 100.0 if t <= 200 else 900.0, **two)
    assert limits(slower).counts


def test_quotas_and_cores_are_the_cells_own() -> None:
    assert limits(cell(lambda t: 1.0, mds_cpu_own={"mds.a": 20})).busiest == pytest.approx(0.5)
    assert limits(cell(lambda t: 1.0, lambda t: 0.5, cpus=2)).counts
    assert not limits(cell(lambda t: 1.0, lambda t: 0.5, cpus=1)).counts


def test_a_run_too_short_for_a_window_does_not_count() -> None:
    assert not limits(cell(lambda t: 1.0, spans={"run": [0.0, 8.0]})).counts
