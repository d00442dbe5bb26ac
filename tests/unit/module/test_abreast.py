# SPDX-License-Identifier: LGPL-2.1-or-later
"""File systems side by side: one that hangs holds up no other."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from mds_partitioner import abreast as abreast_module
from mds_partitioner.abreast import Abreast, in_turn

WITHIN = 60.0  # s, until a test gives up
HANGS, GOES_ON = 1, 2


class Hang:
    """Of one file system: returns when it is let go."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Semaphore(0), threading.Event()

    def __call__(self) -> None:
        self.begun.release()
        assert self.open.wait(WITHIN)


@pytest.fixture
def late() -> threading.Event:
    return threading.Event()


@pytest.fixture
def abreast(late: threading.Event, monkeypatch: pytest.MonkeyPatch) -> Iterator[Abreast]:
    monkeypatch.setattr(abreast_module, "PATIENCE", 0.01)
    it = Abreast("test", late.set)
    yield it
    it.shutdown()


def until(abreast: Abreast, work: dict[int, Callable[[], None]], enough: Callable[[], bool]) -> None:
    """Run it as its loop does."""
    ends = time.monotonic() + WITHIN
    while not enough():
        assert time.monotonic() < ends, "not within the time"
        abreast.run(work)


def test_one_that_hangs_is_begun_once_and_the_other_again_and_again(abreast: Abreast) -> None:
    hang, times = Hang(), list[int]()
    until(abreast, {HANGS: hang, GOES_ON: lambda: times.append(1)}, lambda: len(times) >= 5)
    assert hang.begun.acquire(timeout=WITHIN) and not hang.begun.acquire(blocking=False)
    hang.open.set()


def test_the_end_of_what_was_not_waited_for_is_told(abreast: Abreast, late: threading.Event) -> None:
    hang = Hang()
    abreast.run({HANGS: hang})
    assert not late.is_set()
    hang.open.set()
    assert late.wait(WITHIN)


def test_what_hung_is_begun_again_when_it_has_ended(abreast: Abreast) -> None:
    hang, more = Hang(), list[int]()
    abreast.run({HANGS: hang})
    hang.open.set()
    until(abreast, {HANGS: lambda: more.append(1)}, lambda: bool(more))


def test_what_one_raises_keeps_no_other_from_being_done_and_is_told(abreast: Abreast) -> None:
    done = list[int]()

    def fails() -> None:
        raise KeyError("strange")

    with pytest.raises(KeyError, match="strange"):
        until(abreast, {HANGS: fails, GOES_ON: lambda: done.append(1)}, lambda: False)
    until(abreast, {GOES_ON: lambda: done.append(1)}, lambda: bool(done))


def test_of_several_that_raise_none_is_lost(abreast: Abreast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abreast_module, "PATIENCE", WITHIN)

    def fails(number: int) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError) as raised:
        abreast.run({number: partial(fails, number) for number in range(3)})
    text = "".join(traceback.format_exception(None, raised.value, raised.value.__traceback__))
    assert all(f"KeyError: {number}" in text for number in range(3))


def test_in_turn_is_in_the_order_given() -> None:
    done = list[int]()
    in_turn({2: lambda: done.append(2), 1: lambda: done.append(1)})
    assert done == [2, 1]
