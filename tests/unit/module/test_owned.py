# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which values are this module's, and which an operator's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_cluster import FakeCluster, plan
from plans import circumstances

from mds_partitioner.act.run import APPLIED, INTENT, UNDOING, Made, Record, owned_values
from mds_partitioner.model import NO_PIN
from mds_partitioner.observe.children import Brood, Child, Placed
from mds_partitioner.plan.families import family, held
from mds_partitioner.plan.plan import PIN_STEP

STEP = plan(FakeCluster(), {100: 0}).steps[0]


def made(state: str, value: int, old: int) -> Made:
    return replace(STEP, value=str(value)), Record(state, str(old), 1.0)


@pytest.mark.parametrize(
    ("steps", "ours"),
    [
        ([made(APPLIED, 1, -1)], {"1"}),
        ([made(APPLIED, 1, -1), made(APPLIED, 2, 1)], {"2"}),
        ([made(INTENT, 1, -1)], {"1"}),
        ([made(APPLIED, 1, -1), made(INTENT, 2, 1)], {"2", "1"}),
        ([made(APPLIED, 1, -1), made(UNDOING, 2, 1)], {"2", "1", "0"}),  # 0: the way home
        ([made(APPLIED, 1, -1), made(INTENT, 2, 1), made(INTENT, 3, 1)], {"3", "1"}),
        ([made(APPLIED, 1, -1), made(INTENT, 2, 1), made(APPLIED, 3, 1)], {"3"}),
        ([made(APPLIED, 1, -1), made(INTENT, 2, 3)], {"2"}),  # 3 was an operator's
        ([made(INTENT, 2, 3)], {"2"}),
    ],
)
def test_what_a_step_was_to_replace_stays_ours_until_it_has_ended(steps: list[Made], ours: set[str]) -> None:
    assert set(owned_values(steps)[PIN_STEP, 100, ""]) == ours


@pytest.mark.parametrize("ours", [True, False])
def test_a_child_whose_pin_was_to_be_replaced_is_a_part_still(ours: bool) -> None:
    chain = (Placed("/a", 100, NO_PIN, False, False), Placed("/a/b", 101, 2, False, False))
    kids = tuple(Child(f"/a/b/{i}", 500 + i, 100, 1, 0.0, (1,)) for i in range(2))
    values = {(PIN_STEP, ino, ""): ("0", str(pin)) for ino, pin in ((101, 2), (500, 1), (501, 1))}
    c = replace(circumstances("fanout"), values=values if ours else {})
    brood = Brood(chain, 0.0, kids)
    assert (held(brood, c) is None) is ours
    assert family(brood, c, lambda *_: True, {}).lasting == (kids if ours else ())
