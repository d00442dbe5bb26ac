# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often Python looks for cycles."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator

import pytest

from mds_partitioner import cycles
from mds_partitioner.ceph.host import told_each

MOST = 4  # of those a look; Python's own number made more than 40


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_what_a_look_makes_is_not_gone_through_while_it_is_made() -> None:
    rest = gc.get_threshold()[1:]
    cycles.look_seldom()
    assert gc.get_threshold()[1:] == rest and gc.get_freeze_count()
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    made = [[number] for number in range(MOST * cycles.MADE - 1)]
    assert made and gc.get_stats()[0]["collections"] - before <= MOST


def test_a_collector_that_is_other_modules_too_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in cycles.OTHERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert cycles.alone()
    monkeypatch.setitem(sys.modules, "balancer", sys)
    assert not cycles.alone()


def test_what_mdss_answered_is_gone_through_once_when_it_is_there() -> None:
    answers = {name: json.dumps([{} for _ in range(5_000)]) for name in "ab"}
    gc.set_threshold(700, 10, 10)
    before = gc.get_stats()[0]["collections"]
    told = told_each("dump loads", answers)
    assert gc.isenabled() and gc.get_stats()[0]["collections"] - before <= 1
    assert [len(of) for of in told.values()] == [5_000, 5_000]


@pytest.mark.parametrize("begin", [gc.enable, gc.disable])
def test_it_is_left_as_it_was_whatever_happens(begin: Callable[[], None]) -> None:
    begin()
    before = gc.isenabled()
    try:
        with pytest.raises(ZeroDivisionError), cycles.not_now():
            assert not gc.isenabled() and 1 / 0
        assert gc.isenabled() == before
    finally:
        gc.enable()
