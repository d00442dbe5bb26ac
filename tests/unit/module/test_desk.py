# SPDX-License-Identifier: LGPL-2.1-or-later
"""One thread brings all commands of a module: none may hold it, and an order to stop is always heard."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator

import pytest
from mgr_module import HandleCommandResult

from mds_partitioner import desk as desk_module
from mds_partitioner.desk import CHANGE, IN_A_ROW, LOOK, MAKE, PATIENCE, URGENT, Desk, Line
from mds_partitioner.workers import Workers

RESULT = Workers.result


def said(text: str) -> HandleCommandResult:
    return HandleCommandResult(0, text, "")


class Slow:
    """A command that ends when it is let."""

    def __init__(self) -> None:
        self.begun, self.go, self.times = threading.Event(), threading.Event(), 0

    def __call__(self) -> HandleCommandResult:
        self.times += 1
        self.begun.set()
        assert self.go.wait(60)
        return said(f"made {self.times}")


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.shutdown()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slow], None]:
    """From now on the manager's thread leaves a command as soon as it has begun."""

    def leave(slow: Slow) -> None:
        def impatient(workers, future, what, seconds):  # type: ignore[no-untyped-def]
            assert slow.begun.wait(60)
            return RESULT(workers, future, what, 0.0)

        monkeypatch.setattr(desk_module.Workers, "result", impatient)

    return leave


def run(
    desk: Desk, name: str, work: Callable[[], HandleCommandResult], line: Line = LOOK, *, keep: bool = True
) -> HandleCommandResult:
    return desk.run(name, name, work, line, keep=keep)


def test_a_command_that_is_quick_answers_itself(desk: Desk) -> None:
    assert run(desk, "status", lambda: said("fine")) == said("fine")
    assert run(desk, "status", lambda: said("as well")) == said("as well")


def test_a_command_that_takes_long_goes_on_and_is_not_begun_twice(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    hasty(slow)
    for _ in range(2):
        first = run(desk, "partition plan", slow)
        assert first.retval == -errno.EINPROGRESS and "give the same command again" in first.stderr
    monkeypatch.undo()
    assert run(desk, "partition stop", lambda: said("stopped"), URGENT) == said("stopped")
    slow.go.set()
    assert run(desk, "partition plan", slow) == said("made 1")
    assert run(desk, "partition plan", slow) == said("made 2")


def test_what_nobody_fetched_of_a_look_is_read_anew(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "partition status", slow, keep=False)
    monkeypatch.undo()
    ended = threading.Event()
    for future in desk._left.values():
        future.add_done_callback(lambda _: ended.set())
    slow.go.set()
    assert ended.wait(60)
    assert run(desk, "partition status", slow, keep=False) == said("made 2")


def test_a_result_that_nobody_fetches_is_forgotten(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "balance on", slow)
    monkeypatch.undo()
    ended = threading.Event()
    for future in desk._left.values():
        future.add_done_callback(lambda _: ended.set())
    slow.go.set()
    assert ended.wait(60)
    monkeypatch.setattr(desk_module, "KEPT", -1.0)
    assert run(desk, "balance on", slow) == said("made 2")


def test_when_all_threads_hang_an_order_is_heard_all_the_same(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = [Slow() for _ in range(LOOK.threads)]
    for i, slow in enumerate(hung):
        hasty(slow)
        run(desk, f"analyze start {i}", slow)
    monkeypatch.undo()
    monkeypatch.setattr(desk_module, "IN_A_ROW", 0.0)
    refused = run(desk, "imbalance", lambda: said("0.5"))
    assert refused.retval == -errno.EAGAIN and "all 8 threads for commands that look wait" in refused.stderr
    monkeypatch.undo()
    assert run(desk, "partition stop", lambda: said("stopped"), URGENT) == said("stopped")
    for slow in hung:
        slow.go.set()


def test_a_command_that_breaks_is_not_kept(desk: Desk) -> None:
    def broken() -> HandleCommandResult:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(desk, "status", broken)
    assert run(desk, "status", lambda: said("fine")) == said("fine")


def test_several_that_hang_hold_the_managers_thread_hardly_longer_than_one(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "partition plan", slow)
    monkeypatch.undo()
    waited: list[float] = []
    result = desk_module.Workers.result

    def watched(workers, future, what, seconds):  # type: ignore[no-untyped-def]
        waited.append(seconds)
        return result(workers, future, what, 60.0)

    monkeypatch.setattr(desk_module.Workers, "result", watched)
    run(desk, "imbalance", lambda: said("0.5"))
    run(desk, "partition stop", lambda: said("stopped"), URGENT)
    slow.go.set()
    assert run(desk, "partition plan", slow) == said("made 1")
    run(desk, "imbalance", lambda: said("0.5"))
    assert waited[:2] == [IN_A_ROW, PATIENCE] and waited[-1] == PATIENCE


def test_what_changes_something_is_done_one_after_the_other(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, waiting = Slow(), Slow(), Slow()
    do = Desk._do

    def watched(desk: Desk, line: Line, work: Callable[[], HandleCommandResult]) -> HandleCommandResult:
        if work is second:
            waiting.begun.set()
        return do(desk, line, work)

    monkeypatch.setattr(Desk, "_do", watched)
    hasty(first)
    run(desk, "balance on", first, CHANGE)
    hasty(waiting)
    assert run(desk, "partition start", second, CHANGE).retval == -errno.EINPROGRESS
    assert not second.begun.is_set()
    monkeypatch.undo()
    assert run(desk, "partition plan", lambda: said("a plan"), MAKE) == said("a plan")
    first.go.set()
    assert second.begun.wait(60)
    second.go.set()
    assert run(desk, "partition start", second, CHANGE) == said("made 1")
