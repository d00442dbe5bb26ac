# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often an MDS ticks, as it says itself, and as an operator has it."""

from __future__ import annotations

from typing import Any

import pytest
from scheduled import Cluster

from mds_partitioner.ceph.tick import QUICK, TICK, USUAL_TICK, Ticks, ticks
from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.schedule.tick_interval import TickInterval
from mds_partitioner.workers import GivenUp

OTHERS = {"fsid": {"default": "00000000", "override": "11111111", "final": "11111111"}}


def answered(answer: Any) -> Any:
    host: Any = (cluster := Cluster())
    cluster.odd = {"m0": answer}
    return ticks(host, cluster.state, {"m0"})["m0"]


@pytest.mark.parametrize(
    ("levels", "told", "usual"),
    [
        ({}, None, USUAL_TICK),
        ({"default": 5.0, "mon": 3.0, "final": 3.0}, None, 3.0),
        ({"default": 5.0, "mon": 3.0, "file": 2.0, "final": 2.0}, None, 2.0),
        ({"default": 5.0, "override": 1.0, "final": 1.0}, 1.0, 5.0),
        ({"default": 5.0, "mon": 0.5, "override": 1.0, "final": 1.0}, 1.0, 0.5),
    ],
)
def test_what_an_mds_was_told_goes_over_what_is_set_elsewhere(
    levels: dict[str, float], told: float | None, usual: float
) -> None:
    assert answered({"diff": OTHERS | ({TICK: levels} if levels else {})}) == Ticks(told, usual)


@pytest.mark.parametrize(
    ("found", "operators"),
    [
        (Ticks(None, 5.0), 5.0),
        (Ticks(float(QUICK), 5.0), 5.0),
        (Ticks(8.0, 5.0), 8.0),
        (Ticks(0.5, 5.0), 0.5),
    ],
)
def test_what_the_scheduler_has_told_is_not_the_operators(found: Ticks, operators: float) -> None:
    assert found.operators == operators


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"diff": []}, {"diff": {TICK: 1}}, {"diff": {TICK: {"mon": "often"}}}]
)
def test_an_answer_of_another_form_is_a_refusal_of_that_mds_alone(answer: Any) -> None:
    error = answered(answer)
    assert isinstance(error, CephError) and "mds.m0 answered 'config diff get'" in str(error)


def test_one_that_does_not_answer_is_not_known() -> None:
    assert isinstance(answered(GivenUp("no answer")), Unavailable)


def test_mdss_have_two_seconds_for_each_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins to move waits for them."""
    host: Any = (cluster := Cluster())
    tell_each, asked = cluster.tell_each, list[tuple[str, float]]()

    def timed(fs: Any, names: list[str], prefix: str, *, within: float = 16.0, **arguments: Any) -> Any:
        asked.append((prefix, within))
        return tell_each(fs, names, prefix, within=within, **arguments)

    monkeypatch.setattr(cluster, "tell_each", timed)
    interval = TickInterval(host, cluster.now)
    interval.shorten(cluster.state)
    interval.restore(cluster.state.fscid)
    look = "config diff get"
    assert asked == [(prefix, 2.0) for prefix in (look, "config set", look, "config unset")]
