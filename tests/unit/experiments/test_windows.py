# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs serve for their CPU, window by window, and what a machine's speed does to it."""

import statistics
from typing import Any

import pytest

from experiments.common.figures.windows import SECONDS, SETTLED_S, Window, about_their_run, windows

LASTS = 300.0
SLOW = 150.0  # s; from then on the machine has nine tenths of its speed
FEELS = 2.0  # how much more of that an MDS feels than the reference load


def speed(t: float) -> float:
    return 0.9 if t > SLOW else 1.0


def run(moved: dict[float, int] | None = None) -> dict[str, Any]:
    """Two ranks that are full all the time; inodes that have moved, from a second on."""
    moved = moved or {}
    served = 0.0
    cell: dict[str, Any] = {"spans": {"run": [0.0, LASTS]}, "cpu": [], "samples": [], "reference": []}
    for t in map(float, range(int(LASTS) + 1)):
        inodes = max((count for at, count in moved.items() if at <= t), default=0)
        served += 100.0 * speed(t) ** FEELS
        cell["samples"].append(
            {"t": t, "ranks": {r: {"requests": served / 2, "exported_inodes": inodes} for r in "01"}}
        )
        # Its quota gives it half as much in some seconds, which says nothing of the machine.
        own = 0.05 if t % 2 else 0.025
        cell["reference"].append([t, 16_000 * speed(t) * own, own])
        if t % 2 == 0:
            cell["cpu"].append({"t": t, "used": {"mds.a": 0.05 * t, "mds.b": 0.05 * t, "clients": 0.3 * t}})
    return cell


def test_windows_are_of_the_run_once_it_has_settled() -> None:
    found = windows(run())
    assert len(found) == (LASTS - SETTLED_S) // SECONDS
    assert found[0].speed == pytest.approx(16_000)
    assert found[0].served == pytest.approx(1000, rel=0.02), "100 req/s for a tenth of a core"
    assert found[-1].speed == pytest.approx(0.9 * 16_000)
    assert found[-1].served == pytest.approx(810, rel=0.02)


def test_a_window_in_which_directories_move_is_left_out() -> None:
    moving = windows(run({100.0: 5_000}))
    assert len(moving) == len(windows(run())) - 1
    assert len(windows(run({100.0: 40}))) == len(windows(run())), "of a few inodes hardly anybody knows"


def test_a_cell_without_a_reference_load_has_none() -> None:
    assert windows(run() | {"reference": []}) == []
    assert windows(run() | {"cpu": []}) == []


def test_the_right_exponent_takes_the_machine_out() -> None:
    found = windows(run())
    measured, right, too_much = (
        statistics.stdev(about_their_run([found], by)) for by in (0.0, FEELS, 3 * FEELS)
    )
    assert measured > 0.05 and right < 0.02 and too_much > measured


def test_runs_are_told_by_their_own_mean() -> None:
    quick, slow = [Window(1.0, 200.0)] * 2, [Window(1.0, 100.0), Window(1.0, 50.0)]
    assert about_their_run([quick, slow], 1.0) == pytest.approx([0.0, 0.0, 1 / 3, -1 / 3])
