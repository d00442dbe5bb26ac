# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is kept of a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.state import Past
from mds_partitioner.schedule.core.view import Move, Scatter
from mds_partitioner.schedule.record import ACT, DRIFT, Gains, Shifting, Turn, gains, shifted


def test_what_a_distribution_brought_is_told_a_minute_later() -> None:
    scatter = Scatter(7, "/s", 0, (0, 1), 100.0, 50.0, "")
    turn = Turn(100.0, ACT, "", (), (), fullest=0, share=100.0, before=1.8, scatter=(scatter,))
    assert turn.followed({}, {0: 1.1}, 130.0).real is None
    assert turn.followed({}, {0: 1.1}, 161.0).real == pytest.approx(70.0)
    assert turn.followed({}, {0: 1.1}, 900.0).real is None, "the load may be another one"
    undone = replace(turn, lost=(7,))
    assert undone.followed({}, {0: 1.8}, 161.0).real is None


def test_what_was_refused_is_no_gain() -> None:
    """Of two moves one, or both."""
    moves = [Past(Move(i, f"/{i}", 0, 1, 9.0, 9.0, 10.0, ""), 100.0, 105.0, settled=9.0) for i in (7, 8)]
    refused = [replace(past, settled=0.0, lost=True) for past in moves]
    turn = Turn(100.0, ACT, "", (), (), fullest=0, share=100.0, before=1.8, after=1.5)
    each = [replace(turn, moves=tuple(of)) for of in (moves, (moves[0], refused[1]), refused)]
    assert [of.gain for of in each] == [18.0, 9.0, 0.0]
    assert gains(each, 0.0) == Gains(2, pytest.approx(27.0), pytest.approx(60.0))
    assert replace(each[2], after=None).followed({}, {0: 1.8}, 161.0).real is None


def test_what_has_not_changed_is_the_very_same_on_the_other_clock() -> None:
    past = Past(Move(7, "/s", 0, 1, 9.0, 9.0, 10.0, ""), 100.0, arrived=104.0)
    turns = [Turn(100.0 + i, ACT, "", (past,), (9.0,), 0, 100.0, 1.8) for i in range(3)]
    shift = Shifting()
    before = shift(turns, 1e9)
    assert before == shifted(turns, 1e9)
    again = [*turns[1:], replace(turns[0], plan="new")]
    after = shift(again, 1e9 + DRIFT / 2.0)
    assert after[:2] == before[1:] and all(a is b for a, b in zip(after, before[1:]))
    assert shift(again, 1e9 + 2.0 * DRIFT) == shifted(again, 1e9 + 2.0 * DRIFT), "the clock was set"


def test_a_decision_whose_moves_got_no_further_is_the_very_same() -> None:
    past = Past(Move(7, "/s", 0, 1, 9.0, 9.0, 10.0, ""), 100.0)
    turn = Turn(100.0, ACT, "", (past,), (9.0,), fullest=0, share=100.0, before=1.8)
    assert turn.followed({(7, 100.0): replace(past)}, {0: 1.1}, 102.5) is turn
    arrived = replace(past, arrived=105.0)
    assert turn.followed({(7, 100.0): arrived}, {0: 1.1}, 105.0).moves == (arrived,)
