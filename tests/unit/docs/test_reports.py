# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reports beside cells have the figures of today's correction."""

from pathlib import Path

import pytest

from docs.claims.results import Results
from experiments.conditions import tables
from lab.sandbox import checkout

TOP = checkout() / "docs/results"
HEAD = "| op/s (/ built-in) | "
REPORTS = sorted(path.with_name(path.name.replace("-figures", "")) for path in TOP.rglob("*-figures.md"))


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: str(path.relative_to(TOP)))
def test_a_report_is_what_its_cells_say(report: Path) -> None:
    text = report.read_text()
    lines = text[text.index(HEAD) :].partition("\n\n")[0].splitlines()
    balancers, loads = lines[0].strip("| ").split(" | ")[1:], [line.split(" | ")[0][2:] for line in lines[2:]]
    folder = report.parent.relative_to(TOP)
    cells = [cell for load in loads for cell in Results(TOP).cells(f"{folder}/{load}-*")]
    assert tables.beside(cells, loads, balancers).splitlines() == lines
