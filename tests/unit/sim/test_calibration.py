# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the recorded cells tell: where things were, and what an MDS spent its time on."""

import math
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

from sim.calibrate import (
    APART,
    BALANCERS,
    CELLS,
    CHECKED,
    FITTED,
    FULL,
    LAB,
    WORKLOADS,
    Cell,
    errors,
    measured,
    table,
)
from sim.fit import apart, fit, private, requests_of, told
from sim.model.physics import Physics
from sim.placement import recorded


def test_no_workload_is_both_fitted_on_and_checked() -> None:
    assert sorted((*FITTED, *CHECKED)) == sorted(WORKLOADS)


def test_names_fall_into_fragments_by_cephs_hash() -> None:
    # By these numbers of directories the recorded loads of the ranks are explained (docs/results/bench).
    found = recorded("nlp")
    where = Counter(found.rank(PurePosixPath(f"/volumes/_nogroup/nlp/data/d{k:04d}")) for k in range(14))
    assert where == {0: 2, 1: 5, 3: 4, 4: 3}


def test_the_constants_are_what_the_fit_gives() -> None:
    found = fit(FITTED)
    assert found.spans > 100
    assert found.imports > 30
    assert found.value.forward_work == pytest.approx(Physics().forward_work, abs=0.01)
    assert found.value.export_work == pytest.approx(Physics().export_work, abs=0.01)
    assert found.value.import_work == pytest.approx(Physics().import_work, abs=0.01)
    assert found.value.relief == pytest.approx(LAB.relief, abs=0.01)
    assert found.value.full == pytest.approx(FULL, abs=0.01)
    assert "forward_work | 0.60" in told(found, FITTED)


def test_costs_are_the_same_on_the_workloads_that_they_were_not_fitted_on() -> None:
    ours, theirs = fit(FITTED), fit(CHECKED)
    for name in ("forward_work", "export_work", "import_work", "relief", "full"):
        off = getattr(ours.value, name) - getattr(theirs.value, name)
        both = math.hypot(getattr(ours.error, name), getattr(theirs.error, name))
        assert abs(off) < 2.5 * both, name


def test_ranks_of_one_quota_differ_as_much_on_the_checked_workloads() -> None:
    cost = fit(FITTED).value
    assert apart(FITTED, cost) == pytest.approx(APART, abs=0.01)
    assert apart(CHECKED, cost) == pytest.approx(APART, abs=0.02)


def test_who_shares_directories_with_nobody() -> None:
    found = {name: private(name) for name in WORKLOADS}
    assert found == {"cnn": 0.0, "nlp": 0.0, "web": 0.0, "mix": 0.25, "zipf": 1.0, "md": 1.0, "dbench": 1.0}


def test_requests_for_an_operation_are_what_mdss_answered() -> None:
    # A file's name in zipf's directory; on the way to a file of web more than two names (docs/results/bench).
    assert requests_of("zipf") == pytest.approx(0.93, abs=0.01)
    assert requests_of("web") == pytest.approx(2.68, abs=0.02)


def test_cells_that_do_not_count_are_in_no_median(tmp_path: Path) -> None:
    lines = CELLS.read_text().splitlines(keepends=True)
    at = {name: number for number, name in enumerate(lines[0].rstrip().split(","))}
    (first,) = (line for line in lines if line.startswith("zipf,builtin,1,"))
    row = first.split(",")
    twice = [str(2 * float(value)) if k == at["op/s / C"] else value for k, value in enumerate(row)]
    path = tmp_path / "cells.csv"
    path.write_text("".join([lines[0], first, ",".join(twice)]))
    assert measured(path)["zipf", "builtin"].speed == pytest.approx(1.5 * float(row[at["op/s / C"]]))
    twice[at["counts"]] = "False"
    path.write_text("".join([lines[0], first, ",".join(twice)]))
    assert measured(path)["zipf", "builtin"].speed == float(row[at["op/s / C"]])


def test_a_balancer_without_a_cell_that_counts_is_beside_no_other() -> None:
    real = {key: cell for key, cell in measured(CELLS).items() if key != ("cnn", "oracle")}
    even = {key: Cell(1.0, 0.0, 0.0, 0.0) for key in real}
    told = table(real, even, BALANCERS)
    (row,) = (line.split("|") for line in told.splitlines() if "cnn" in line and "builtin" in line)
    assert [text.strip() for text in row[3:7]] == ["1.00", "1.00", "-", "-"]
    assert len(errors(("cnn",), real, even)) == 4
