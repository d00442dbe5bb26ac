# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is kept of a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mds_partitioner.schedule.core.view import Scatter
from mds_partitioner.schedule.record import ACT, Turn


def test_what_a_distribution_brought_is_told_a_minute_later() -> None:
    scatter = Scatter(7, "/s", 0, (0, 1), 100.0, 50.0, "")
    turn = Turn(100.0, ACT, "", (), (), fullest=0, share=100.0, before=1.8, scatter=(scatter,))
    assert turn.followed({}, {0: 1.1}, 130.0).real is None
    assert turn.followed({}, {0: 1.1}, 161.0).real == pytest.approx(70.0)
    assert turn.followed({}, {0: 1.1}, 900.0).real is None, "the load may be another one"
    undone = replace(turn, lost=(7,))
    assert undone.followed({}, {0: 1.8}, 161.0).real is None
