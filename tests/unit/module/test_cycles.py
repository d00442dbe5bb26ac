# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often Python looks for cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from mds_partitioner import cycles

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
