# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was distributed, and is not any more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_cluster import FakeCluster, plan

from mds_partitioner.act.run import APPLIED, DONE, RUNNING, Head, Record, Run
from mds_partitioner.plan.plan import DISTRIBUTED_STEP, PIN_STEP, Step
from mds_partitioner.schedule.plans import gathered_again

INO, OTHER = 100, 101


def run(state: str, *steps: Step) -> Run:
    made = replace(plan(FakeCluster(), {INO: 1}), scheduled=True, steps=steps)
    return Run(
        "id", made, Head(state), {i: Record(APPLIED, step.expected, 1.0) for i, step in enumerate(steps)}
    )


def distributed(state: str = DONE, ino: int = INO, *more: Step) -> Run:
    return run(state, Step(0, DISTRIBUTED_STEP, 0, "/d", ino, "1", "0"), *more)


def pinned(state: str, value: str) -> Run:
    return run(state, Step(0, PIN_STEP, 0, "/d", INO, value, "-1"))


UNPINNED = Step(1, PIN_STEP, 0, "/d", INO, "-1", "2")


@pytest.mark.parametrize(
    ("runs", "gone", "free"),
    [
        ([distributed()], (), False),
        ([distributed()], (INO,), True),
        ([distributed(), pinned(DONE, "2")], (), True),
        ([pinned(DONE, "2"), distributed(DONE, INO, UNPINNED)], (), False),
        ([pinned(DONE, "2"), distributed(RUNNING)], (), False),
        ([distributed(DONE, OTHER), pinned(DONE, "2")], (), False),
    ],
    ids=[
        "it is distributed",
        "it is deleted",
        "it was moved as a whole since",
        "it had been moved as a whole before",
        "it is just being distributed, and has its pin yet",
        "what was distributed is in it",
    ],
)
def test_nothing_is_placed_by_mdss_where_it_is_deleted_or_a_pin_of_ours_holds_it(
    runs: list[Run], gone: tuple[int, ...], free: bool
) -> None:
    assert gathered_again(runs, 1, gone) == (frozenset({INO}) if free else frozenset())
