# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ILT report says what the runs showed, whatever that is."""

from pathlib import Path

import numpy as np
import pytest

from sim.papers.ilt import document, experiments, published, reporting
from sim.papers.ilt.cluster import Counts
from sim.papers.ilt.experiments import Outcomes
from sim.papers.ilt.run import Outcome
from sim.papers.ilt.workload import Kind


def outcomes_of(responses: dict[str, float]) -> Outcomes:
    """Every run of a system with one mean response."""
    return {
        (system, setting): Outcome(
            system=system,
            arrivals=np.array([100.0, 9_000.0]),
            responses=np.full(2, responses[system]),
            by_kind={Kind.READ: responses[system]},
            waiting=np.full((8, 200), 0.5),
            counts=Counts(forwards=7),
            added_for=1_234.0,
        )
        for system, setting in experiments.cells()
    }


@pytest.mark.parametrize(
    ("responses", "first", "second"),
    [
        ({"ILT": 1.0, "Vesta": 2.0, "LH3": 4.0}, "ILT, Vesta, LH3", "Vesta before LH3** (the paper: by 2.7"),
        ({"ILT": 9.0, "Vesta": 2.0, "LH3": 1.0}, "LH3, Vesta, ILT", "none of the"),
    ],
)
def test_the_order_is_the_one_that_was_seen(responses: dict[str, float], first: str, second: str) -> None:
    text = document.text(outcomes_of(responses))
    orders = [line.split("|")[-2].strip() for line in text.splitlines() if line.startswith("| no bursts")]
    assert orders == [first]
    assert second in text
    assert ("quickest in none of the" in text) == (first == "LH3, Vesta, ILT")


def test_every_picture_of_the_text_is_drawn_and_no_place_is_left_open(tmp_path: Path) -> None:
    outcomes = outcomes_of({"ILT": 1.0, "Vesta": 2.0, "LH3": 4.0})
    reporting.draw(outcomes, tmp_path)
    text = document.text(outcomes)
    assert "$" not in text
    assert {path.name for path in tmp_path.iterdir()} == set(document.PICTURES.values())
    assert all(f"]({name})" in text for name in document.PICTURES.values())


def test_the_dispatchers_formulas() -> None:
    assert published.dispatcher_response(0.5, 1.0) == pytest.approx(1.0)
    # Half of the wait of M/M/1: 0.5 + 0.5 / 2.
    assert published.deterministic_response(0.5, 1.0) == pytest.approx(0.75)
    assert (
        published.dispatcher_response(1.0, 1.0) == published.deterministic_response(2.0, 1.0) == float("inf")
    )
