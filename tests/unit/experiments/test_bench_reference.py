# SPDX-License-Identifier: LGPL-2.1-or-later
"""A correction by the reference load is kept only if it helps cells that it was not fitted on."""

import random
import time
from typing import Any

import pytest

from experiments.common.figures import correction, summary
from experiments.common.figures.correction import CELLS, Correction, fitted, speed
from lab.errors import LabError
from lab.sandboxed.reference import units


def cells(exponent: float, noise: float = 0.01) -> list[dict[str, Any]]:
    """On a machine between half and twice as fast as usual; op/s go with a power of that."""
    draw = random.Random(2021)
    found = []
    for run in range(1, CELLS + 1):
        fast = draw.uniform(0.5, 2.0)
        ops = 1000.0 * fast**exponent * draw.uniform(1 - noise, 1 + noise)
        found.append(
            {
                "key": f"zipf-tentacle-5x12-oracle-{run}",
                "date": f"2026-12-01T00:{run:02}:00+00:00",
                "spans": {"run": [0.0, 10.0]},
                "clients": [[t, ops, 1.0, 0] for t in range(1, 11)],
                # What is outside the run does not count.
                "reference": [[-1.0, 9e9, 0.05], *([float(t), 400.0 * fast, 0.05] for t in range(1, 11))],
            }
        )
    return found


def test_the_machine_is_taken_out() -> None:
    found = fitted(cells(0.8))
    assert found.exponent == pytest.approx(0.8, abs=0.05)
    assert found.kept and found.after < found.before / 10
    assert found.of(1000.0, found.at) == pytest.approx(1000.0)
    assert found.of(1000.0, found.at / 2) == pytest.approx(1000.0 * 2**found.exponent)
    assert str(found).startswith("kept: ")


def test_it_is_dropped_where_the_reference_load_tells_nothing() -> None:
    # The ten that judge do the opposite of the ten that it is fitted on.
    mixed = [
        one if k % 2 == 0 else two for k, (one, two) in enumerate(zip(cells(0.8), cells(-0.8), strict=True))
    ]
    found = fitted(mixed)
    assert not found.kept
    assert str(found).startswith("dropped: ")


def test_it_is_dropped_where_the_spread_may_be_smaller_by_chance() -> None:
    found = fitted(cells(0.05, noise=0.2))
    assert found.after < found.before and found.chance > 0.05
    assert not found.kept


def test_it_takes_twenty_equal_cells_with_a_reference_load() -> None:
    some = cells(1.0)
    with pytest.raises(LabError, match="19 cells of 1 kinds"):
        fitted(some[1:])
    with pytest.raises(LabError, match="20 cells of 2 kinds"):
        fitted([some[0] | {"key": "zipf-tentacle-5x12-builtin-1"}, *some[1:]])
    with pytest.raises(LabError, match="oracle-20 has no reference load"):
        fitted([*some[:-1], some[-1] | {"reference": []}])
    with pytest.raises(LabError, match="nothing to correct"):
        fitted([one | {"reference": some[0]["reference"]} for one in some])


def test_figures_are_given_corrected_as_well_if_the_correction_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (one, *_) = cells(1.0)
    was = speed(one)
    assert was is not None
    found = Correction(1.0, 2 * was, before=0.2, after=0.1, chance=0.01)
    monkeypatch.setattr(correction, "kept", lambda: found)
    assert correction.corrected(one, 100.0) == pytest.approx(200.0)
    assert correction.corrected({"spans": one["spans"]}, 100.0) is None, "a cell of before"
    monkeypatch.setattr(correction, "kept", lambda: None)
    assert correction.corrected(one, 100.0) is None
    assert summary.CORRECTED == "op/s, corrected"


def test_the_machines_speed_is_by_cpu_and_not_by_the_clock() -> None:
    (one, *_) = cells(1.0)
    half = [[t, done / 2, cpu / 2] for t, done, cpu in one["reference"]]
    assert speed(one | {"reference": half}) == speed(one), "its quota gave it less: the machine is as quick"
    slow = [[t, done / 2, cpu] for t, done, cpu in one["reference"]]
    was = speed(one)
    assert was is not None and speed(one | {"reference": slow}) == pytest.approx(was / 2)
    assert speed(one | {"reference": [[t, 0.0, 0.0] for t in range(1, 11)]}) is None


def test_the_load_does_its_units_until_it_is_time() -> None:
    memory = memoryview(bytearray(64 << 20))
    begun = time.monotonic()
    assert units(memory, begun + 0.05) > 1
    assert time.monotonic() - begun < 5.0
    assert units(memory, begun) == 0
