# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's loops: what one of them meets holds up no other, and none ends of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from mds_partitioner import loop as loop_module
from mds_partitioner.errors import JournalError
from mds_partitioner.loop import Loop

Make = Callable[..., Loop]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setattr(loop_module, "RETRY", 0.0)
    made: list[Loop] = []

    def start(begin: Callable[[], None], work: Callable[[], float | None], failed: list[str]) -> Loop:
        made.append(Loop("test", begin, work, lambda: failed.append("failed"), logging.getLogger("test")))
        made[-1].start()
        return made[-1]

    yield start
    for loop in made:
        loop.end()


class Times:
    """Raises what it has, one after the other, then counts its calls."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.calls = list(errors), threading.Semaphore(0)

    def __call__(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.calls.release()


def test_work_goes_on_after_an_exception_which_is_counted(make: Make) -> None:
    work, failed = Times(ZeroDivisionError(), KeyError()), []
    make(lambda: None, work, failed)
    assert work.calls.acquire(timeout=60)
    assert failed == ["failed", "failed"]


def test_a_journal_that_cannot_be_read_is_tried_again_and_no_work_is_done_before(make: Make) -> None:
    begin, work, failed = Times(JournalError("no mon"), TypeError()), Times(), []
    make(begin, work, failed)
    assert work.calls.acquire(timeout=60)
    assert begin.calls.acquire(blocking=False) and failed == ["failed"]


def test_a_loop_that_waits_works_when_it_is_woken(make: Make) -> None:
    work = Times()
    loop = make(lambda: None, work, [])
    assert work.calls.acquire(timeout=60)
    loop.wake()
    assert work.calls.acquire(timeout=60)


def test_one_loop_that_hangs_holds_up_no_other(make: Make) -> None:
    gate, work = threading.Event(), Times()
    make(lambda: None, lambda: float(not gate.wait(60)), [])
    make(lambda: None, work, [])
    assert work.calls.acquire(timeout=60)
    gate.set()


def test_what_failed_is_tried_again_when_its_owner_says() -> None:
    work, tries, failed = Times(ZeroDivisionError()), list[str](), threading.Event()

    def retry() -> float:
        tries.append("asked")
        return 0.0

    loop = Loop("test", lambda: None, work, failed.set, logging.getLogger("test"), retry)
    loop.start()
    assert work.calls.acquire(timeout=60)
    loop.end()
    assert tries == ["asked"] and failed.is_set()


def test_a_loop_outlives_that_nobody_can_be_told_of_a_failure() -> None:
    def refuse() -> None:
        raise OSError("no space left")

    work = Times(ZeroDivisionError())
    loop = Loop("test", lambda: None, work, refuse, logging.getLogger("test"))
    loop.start()
    assert work.calls.acquire(timeout=60)
    loop.end()
