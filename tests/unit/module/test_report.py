# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables an operator reads."""

import pytest
from world import World, plan

from mds_partitioner.act.journal import APPLIED, KEPT, ROLLED_BACK, SKIPPED, UNDONE, Head, Record, Run
from mds_partitioner.report.partition import progress, row_status


@pytest.mark.parametrize(("state", "said"), [(KEPT, "Kept"), (UNDONE, "Rolled back"), (SKIPPED, "Skipped")])
def test_nothing_is_in_progress_once_a_rollback_has_ended(state: str, said: str) -> None:
    run = Run(plan(World(), {100: 1}), Head(state=ROLLED_BACK), {0: Record(state, "-1", 1.0)})
    assert progress(run) == 1.0
    assert row_status(run, 0) == said


def test_a_row_whose_pin_has_arrived_is_done() -> None:
    run = Run(plan(World(), {100: 1}), Head(state="done"), {0: Record(APPLIED, "-1", 1.0)})
    assert row_status(run, 0) == "Done"
