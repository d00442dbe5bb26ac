# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is checked after chaos can fail, each part of it, and does not fail without a reason."""

import pytest

from tests.chaos.invariants import (
    RACE_S,
    History,
    OperatorSet,
    Seen,
    left_behind,
    not_journaled,
    not_restored,
    speechless,
)

DIR = Seen("/chaos/d0", 100, -1)


def pinned(pin: int, ino: int = 100) -> Seen:
    return Seen("/chaos/d0", ino, pin)


def history(*sets: OperatorSet, planned: int | None = None, stepped: float | None = None) -> History:
    return History(
        {100: -1},
        list(sets),
        {} if planned is None else {100: {planned}},
        {} if planned is None else {100: {0}},
        {} if stepped is None else {100: {stepped}},
    )


@pytest.mark.parametrize("pin", [-1, 0, 2, 3])
def test_a_first_a_planned_a_passing_and_an_operators_pin_may_be_seen(pin: int) -> None:
    assert not_journaled([pinned(pin)], history(OperatorSet(100, 3, 1.0), planned=2)) == []


def test_a_pin_that_nobody_ordered_is_a_violation() -> None:
    (wrong,) = not_journaled([pinned(1)], history(OperatorSet(100, 3, 1.0), planned=2))
    assert "/chaos/d0" in wrong and "pin 1" in wrong


def test_another_directory_in_the_place_of_a_planned_one_must_not_have_its_pin() -> None:
    assert not_journaled([pinned(2, ino=101)], history(planned=2))
    assert not_restored([pinned(2, ino=101)], history(planned=2))[0]


def test_a_pin_that_a_rollback_left_is_a_violation() -> None:
    for left in (0, 2):
        assert not_restored([pinned(left)], history(planned=2, stepped=1.0))[0], left
    assert not_restored([DIR], history(planned=2, stepped=1.0)) == ([], [])


def test_an_operators_last_pin_must_have_come_through() -> None:
    sets = (OperatorSet(100, 3, 50.0), OperatorSet(100, 1, 100.0))
    assert not_restored([pinned(1)], history(*sets, planned=2, stepped=70.0)) == ([], [])
    for lost in (-1, 2, 3):
        assert not_restored([pinned(lost)], history(*sets, planned=2, stepped=70.0))[0], lost


def test_what_nobody_can_tell_is_excused_and_told() -> None:
    at = 100.0
    near = history(OperatorSet(100, 3, at), planned=2, stepped=at + RACE_S / 2)
    wrong, excused = not_restored([DIR], near)
    assert not wrong and len(excused) == 1
    assert not_restored([DIR], history(OperatorSet(100, 3, at), planned=2, stepped=at + 2 * RACE_S))[0]
    alike = history(OperatorSet(100, 2, at), planned=2, stepped=at - 100)
    assert not_restored([DIR], alike)[1] and not not_restored([DIR], alike)[0]
    assert not_restored([pinned(1)], alike)[0], "neither the operator's nor the first"


def test_a_plan_that_waits_must_say_for_what() -> None:
    assert speechless([{"plan": "p", "state": "paused", "why": ""}])
    assert not speechless([{"plan": "p", "state": "paused", "why": "rank 2"}])
    assert not speechless([{"plan": "p", "state": "done", "why": ""}])


def test_a_key_or_a_health_check_that_stays_is_a_violation() -> None:
    assert left_behind(["mgr/mds_partitioner/plan/x/seal"], [])
    assert left_behind([], ["MDS_PARTITIONER_PAUSED"])
    # Two managers on the lab's one host have one port.
    assert not left_behind([], ["OSD_DOWN", "MDS_PARTITIONER_ENDPOINT_DOWN"])
