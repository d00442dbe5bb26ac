# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables an operator reads."""

import pytest
from world import World, plan

from mds_partitioner.act.journal import APPLIED, KEPT, ROLLED_BACK, SKIPPED, UNDONE, Head, Record, Run
from mds_partitioner.model import RankSample
from mds_partitioner.report import imbalance
from mds_partitioner.report.partition import progress, row_status


@pytest.mark.parametrize(("state", "said"), [(KEPT, "Kept"), (UNDONE, "Rolled back"), (SKIPPED, "Skipped")])
def test_nothing_is_in_progress_once_a_rollback_has_ended(state: str, said: str) -> None:
    run = Run(plan(World(), {100: 1}), Head(state=ROLLED_BACK), {0: Record(state, "-1", 1.0)})
    assert progress(run) == 1.0
    assert row_status(run, 0) == said


def test_a_row_whose_pin_has_arrived_is_done() -> None:
    run = Run(plan(World(), {100: 1}), Head(state="done"), {0: Record(APPLIED, "-1", 1.0)})
    assert row_status(run, 0) == "Done"


def test_imbalance_has_a_row_a_rank_with_load_forecast_and_amounts() -> None:
    samples = [RankSample(r, f"m{r}", 300.0 * (r == 0), 0.002, None, 10, 5, 1, 0, 0, 1, 0) for r in (0, 1)]
    judged = {
        "forecast": [400.0, 10.0],
        "matrix": [[0.0, 150.0], [0.0, 0.0]],
        "triggered": True,
        "imbalance_factor": 0.98765,
        "cov": 1.0,
        "urgency": 0.9,
        "mean": 150.0,
        "capacity": {"value": 300.0, "source": "option"},
    }
    lines = imbalance.text(judged, samples).splitlines()
    assert lines[1].split() == ["0", "300", "400", "2.0", "ms", "-", "10", "-", "150"]
    assert "imbalance factor 0.988 (CoV 1.00, urgency 0.90, mean 150 req/s): uneven enough to act" in lines
    assert [r["forecast"] for r in imbalance.value(judged, samples)["ranks"]] == [400.0, 10.0]
