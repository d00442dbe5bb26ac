# SPDX-License-Identifier: LGPL-2.1-or-later
"""One thread brings all commands of a module: none may hold it, and an order to stop is always heard."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from mgr_module import HandleCommandResult

from mds_partitioner import desk as desk_module
from mds_partitioner.commands.balance import BalanceCommands
from mds_partitioner.commands.declare import Services
from mds_partitioner.commands.overview import OverviewCommands
from mds_partitioner.commands.partition import PartitionCommands
from mds_partitioner.commands.scheduler import SchedulerCommands
from mds_partitioner.desk import (
    BRIEF,
    BUDGET,
    CHANGE,
    HOLD,
    IDLE,
    IN_A_ROW,
    LOOK,
    LOOKED,
    MAKE,
    PATIENCE,
    STOP,
    UNDO,
    URGENT,
    WINDOW,
    Desk,
    Line,
    anywhere,
)
from mds_partitioner.workers import GivenUp, Workers

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
        def impatient(workers, future, what, seconds, **more):
            assert slow.begun.wait(60)
            return RESULT(workers, future, what, 0.0, **more)

        monkeypatch.setattr(desk_module.Workers, "result", impatient)

    return leave


def run(
    desk: Desk,
    name: str,
    work: Callable[[], HandleCommandResult],
    line: Line = LOOK,
    *,
    keep: bool = True,
    where: Callable[[], int | None] = anywhere,
) -> HandleCommandResult:
    return desk.run(name, name, work, line, keep=keep, where=where)


def end(desk: Desk, slow: Slow) -> None:
    """Of what was left, and its end is known then."""
    ended = threading.Event()
    for left in desk._left.values():
        left.future.add_done_callback(lambda _: ended.set())
    slow.go.set()
    assert ended.wait(60)


def forget(desk: Desk, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """What is not kept for so long."""
    later = time.monotonic() + seconds
    with monkeypatch.context() as clock:
        clock.setattr(desk_module.time, "monotonic", lambda: later)
        run(desk, "imbalance", lambda: said("0.5"), keep=False)


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
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    slow.go.set()
    assert run(desk, "partition plan", slow) == said("made 1")
    assert run(desk, "partition plan", slow) == said("made 2")


@pytest.mark.parametrize(("seconds", "told"), [(LOOKED - 1.0, "made 1"), (LOOKED + 1.0, "made 2")])
def test_what_nobody_fetched_of_a_look_is_soon_read_anew(
    desk: Desk,
    hasty: Callable[[Slow], None],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    told: str,
) -> None:
    """A look that always takes longer than it is waited for would never be told."""
    slow = Slow()
    hasty(slow)
    run(desk, "partition status", slow, keep=False)
    monkeypatch.undo()
    end(desk, slow)
    forget(desk, monkeypatch, seconds)
    assert run(desk, "partition status", slow, keep=False) == said(told)


@pytest.mark.parametrize("ends_first", [True, False])
def test_what_was_seen_before_an_order_is_not_told_after_it(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch, ends_first: bool
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "partition status", slow, keep=False)
    monkeypatch.undo()
    if ends_first:
        end(desk, slow)
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    if not ends_first:
        end(desk, slow)
    assert run(desk, "partition status", slow, keep=False) == said("made 2")


def test_what_was_seen_before_an_order_ended_is_not_told_after_it(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, look = Slow(), Slow()
    hasty(order)
    run(desk, "partition start", order, CHANGE)
    hasty(look)
    run(desk, "partition status", look, keep=False)
    monkeypatch.undo()
    end(desk, look)
    order.go.set()
    assert run(desk, "partition start", order, CHANGE) == said("made 1")
    assert run(desk, "partition status", look, keep=False) == said("made 2")


def test_a_command_for_which_a_thread_is_free_is_begun_however_short_it_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a moment until it runs where the manager has much to do."""
    handed_in = list[Future[Any]]()

    def later(workers: Workers, work: Any) -> Future[Any]:
        handed_in.append(Future())
        return handed_in[-1]

    monkeypatch.setattr(desk_module, "PATIENCE", 0.0)
    monkeypatch.setattr(desk_module.Workers, "submit", later)
    assert run(desk, "balance on", lambda: said("on"), CHANGE).retval == -errno.EINPROGRESS
    assert handed_in[0].set_running_or_notify_cancel(), "it is not cancelled"


def test_who_looks_after_an_order_does_not_wait_for_who_looked_before(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "partition status", slow, keep=False)
    monkeypatch.undo()
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    assert run(desk, "partition status", lambda: said("is stopped"), keep=False) == said("is stopped")
    slow.go.set()


@pytest.mark.parametrize(
    ("line", "seconds", "said_then"),
    [
        (CHANGE, 50.0, "made 1"),
        (CHANGE, 70.0, "made 2"),
        (MAKE, 50.0, "made 1"),
        (MAKE, 70.0, "made 2"),
        (HOLD, 5.0, "made 1"),
        (HOLD, 15.0, "made 2"),
        (STOP, 15.0, "made 1"),
    ],
)
def test_a_result_that_nobody_fetches_is_forgotten(
    desk: Desk,
    hasty: Callable[[Slow], None],
    monkeypatch: pytest.MonkeyPatch,
    line: Line,
    seconds: float,
    said_then: str,
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "balance on", slow, line)
    monkeypatch.undo()
    end(desk, slow)
    forget(desk, monkeypatch, seconds)
    assert run(desk, "balance on", slow, line) == said(said_then)


@pytest.mark.parametrize(("seconds", "told"), [(5.0, "no mon"), (15.0, "made 2")])
def test_why_something_failed_is_told_for_some_seconds_only(
    desk: Desk,
    hasty: Callable[[Slow], None],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    told: str,
) -> None:
    """What kept it from it may be over: it is done once more then."""

    class Fails(Slow):
        def __call__(self) -> HandleCommandResult:
            done = super().__call__()
            return HandleCommandResult(-errno.ETIMEDOUT, "", "no mon") if self.times == 1 else done

    slow = Fails()
    hasty(slow)
    run(desk, "balance on", slow, CHANGE)
    monkeypatch.undo()
    end(desk, slow)
    forget(desk, monkeypatch, seconds)
    found = run(desk, "balance on", slow, CHANGE)
    assert found.stdout + found.stderr == told


@pytest.mark.parametrize(
    ("first", "order", "done"),
    [
        (STOP, CHANGE, "made 2"),
        (STOP, URGENT, "made 2"),
        (STOP, UNDO, "made 2"),
        (STOP, STOP, "made 1"),
        (STOP, HOLD, "made 1"),
        (URGENT, CHANGE, "made 2"),
        (CHANGE, STOP, "made 2"),
        (MAKE, CHANGE, "made 1"),
        (MAKE, MAKE, "made 2"),
    ],
)
@pytest.mark.parametrize("ends_first", [True, False])
def test_a_result_from_before_another_order_is_not_told_as_if_it_held(
    desk: Desk,
    hasty: Callable[[Slow], None],
    monkeypatch: pytest.MonkeyPatch,
    first: Line,
    order: Line,
    done: str,
    ends_first: bool,
) -> None:
    slow = Slow()
    hasty(slow)
    run(desk, "first", slow, first)
    monkeypatch.undo()
    ended = threading.Event()
    for left in desk._left.values():
        left.future.add_done_callback(lambda _: ended.set())
    if ends_first or order is first:
        slow.go.set()
        assert ended.wait(60)
    assert run(desk, "start", lambda: said("started"), LOOK, keep=False) == said("started")
    assert run(desk, "start", lambda: said("started"), order) == said("started")
    slow.go.set()
    if first is CHANGE and not ends_first:
        done = "made 1"  # it is not begun twice
    assert run(desk, "first", slow, first) == said(done)


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
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    for slow in hung:
        slow.go.set()


def test_a_stop_finds_a_thread_whatever_other_commands_hang(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (LOOK, MAKE, CHANGE, URGENT)
    hung = [(line, Slow()) for line in lines for _ in range(1 if line.alone else line.threads)]
    for i, (line, slow) in enumerate(hung):
        hasty(slow)
        run(desk, f"balance off fs{i}", slow, line)
    monkeypatch.undo()
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    for _, slow in hung:
        slow.go.set()


def test_stops_of_many_file_systems_that_hang_do_not_refuse_the_next(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = [Slow() for _ in range(16)]  # more than come in while the mon lets one wait
    for i, slow in enumerate(hung):
        hasty(slow)
        assert run(desk, f"partition stop fs{i}", slow, STOP).retval == -errno.EINPROGRESS
    monkeypatch.undo()
    assert run(desk, "partition stop", lambda: said("stopped"), STOP) == said("stopped")
    for slow in hung:
        slow.go.set()


def served(monkeypatch: pytest.MonkeyPatch, module: Any, command: str, **given: Any) -> Line:
    """The line that a command is handed in at."""
    lines: list[Line] = []
    monkeypatch.setattr(
        Desk, "run", lambda self, what, given, work, line, **_: lines.append(line) or said("")
    )
    module.desk = Desk()
    getattr(module, command)(**given)
    module.desk.shutdown()
    return lines[0]


@pytest.mark.parametrize(
    ("commands", "command", "line"),
    [
        (PartitionCommands, "partition_stop", STOP),
        (PartitionCommands, "partition_pause", HOLD),
        (SchedulerCommands, "scheduler_stop", STOP),
        (BalanceCommands, "balance_off", URGENT),
        (OverviewCommands, "show_status", URGENT),
        (PartitionCommands, "partition_start", CHANGE),
        (PartitionCommands, "partition_plan", MAKE),
        (PartitionCommands, "partition_status", LOOK),
    ],
)
def test_what_ends_or_holds_something_waits_for_no_other_command(
    monkeypatch: pytest.MonkeyPatch, commands: type[Services], command: str, line: Line
) -> None:
    assert served(monkeypatch, commands(), command) is line


def test_a_stop_that_puts_back_what_was_done_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stopped before, and told to be, is not stopped any more."""
    assert served(monkeypatch, SchedulerCommands(), "scheduler_stop", rollback=True) is UNDO
    assert served(monkeypatch, SchedulerCommands(), "scheduler_stop", rollback=False) is STOP


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

    def watched(workers, future, what, seconds, **more):
        waited.append(seconds)
        return result(workers, future, what, 60.0, **more)

    monkeypatch.setattr(desk_module.Workers, "result", watched)
    run(desk, "imbalance", lambda: said("0.5"))
    run(desk, "partition stop", lambda: said("stopped"), STOP)
    slow.go.set()
    assert run(desk, "partition plan", slow) == said("made 1")
    run(desk, "imbalance", lambda: said("0.5"))
    assert waited[:2] == [IN_A_ROW, PATIENCE] and waited[-1] == PATIENCE


def test_what_changes_something_is_done_one_after_the_other(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, waiting = Slow(), Slow(), Slow()
    do = Desk._do

    def watched(desk: Desk, line: Line, where: Any, work: Any) -> HandleCommandResult:
        if work is second:
            waiting.begun.set()
        return do(desk, line, where, work)

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


def test_what_changes_one_file_system_waits_for_no_other(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = Slow()
    hasty(hung)
    run(desk, "partition start a", hung, CHANGE, where=lambda: 1)
    monkeypatch.undo()
    assert run(desk, "partition start b", lambda: said("begun"), CHANGE, where=lambda: 2) == said("begun")
    hung.go.set()


@pytest.mark.parametrize("line", [LOOK, MAKE, CHANGE, URGENT])
def test_commands_of_a_file_system_that_hang_refuse_none_of_another(
    desk: Desk, hasty: Callable[[Slow], None], monkeypatch: pytest.MonkeyPatch, line: Line
) -> None:
    """Also those that wait for the turn of their file system."""
    hung = [Slow() for _ in range(line.threads)]
    for i, slow in enumerate(hung):
        hasty(slow if i == 0 or not line.alone else hung[0])
        run(desk, f"start {i}", slow, line, where=lambda: 1)
    monkeypatch.undo()
    refused = run(desk, "rollback", lambda: said("begun"), line, where=lambda: 1)
    assert refused.retval == -errno.EAGAIN
    assert run(desk, "rollback b", lambda: said("begun"), line, where=lambda: 2) == said("begun")
    assert run(desk, "rollback c", lambda: said("begun"), line, where=lambda: 3) == said("begun")
    for slow in hung:
        slow.go.set()


class Finisher:
    """The manager's thread, by a clock of its own: it takes the next command as soon as one is answered."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self._desk, self.now, self._takes = desk, 1000.0, 0.0
        self._ends: dict[Future[HandleCommandResult], float] = {}
        monkeypatch.setattr(desk_module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(desk_module.Workers, "submit", lambda workers, work: self._submit())
        monkeypatch.setattr(desk_module.Workers, "result", lambda workers, *args, **_: self._result(*args))

    def _submit(self) -> Future[HandleCommandResult]:
        future: Future[HandleCommandResult] = Future()
        future.set_running_or_notify_cancel()
        self._ends[future] = self.now + self._takes
        return future

    def _result(self, future: Any, what: str, seconds: float) -> HandleCommandResult:
        self.pass_by(min(seconds, max(0.0, self._ends.get(future, self.now) - self.now)))
        if future.done():
            return future.result()
        raise GivenUp("no answer yet")

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        for future in [future for future, ends in self._ends.items() if ends <= self.now]:
            del self._ends[future]
            future.set_result(said("answered"))

    def run(self, name: str, line: Line = LOOK, takes: float = 2.0) -> int:
        self._takes = takes
        return run(self._desk, name, lambda: said("done"), line, keep=line is not LOOK).retval


@pytest.fixture
def finisher(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Finisher:
    return Finisher(desk, monkeypatch)


@pytest.mark.parametrize("takes", [2.0, 60.0])
@pytest.mark.parametrize("line", [LOOK, MAKE, URGENT])
def test_a_stop_behind_hundreds_of_commands_is_heard_within_seconds(
    finisher: Finisher, line: Line, takes: float
) -> None:
    began = finisher.now
    answers = [finisher.run(f"partition status fs{i}", line, takes) for i in range(200)]
    assert finisher.now - began <= BUDGET + 200 * BRIEF
    assert answers[-1] == -errno.EINPROGRESS
    assert finisher.run("partition stop", STOP) == 0  # it is waited for, whatever was before
    assert finisher.now - began <= BUDGET + 200 * BRIEF + 2.0


def test_the_same_command_from_hundreds_is_not_waited_for_again(finisher: Finisher) -> None:
    began = finisher.now
    for _ in range(200):
        finisher.run("partition status", takes=60.0)
    assert finisher.now - began <= BUDGET + BRIEF


def test_what_asks_nobody_is_answered_in_a_crowd_too(finisher: Finisher) -> None:
    for _ in range(9):
        finisher.run("partition status")
    assert finisher.run("status", URGENT, takes=0.01) == 0
    assert finisher.run("partition ls", takes=0.01) == 0


def test_who_asks_alone_is_waited_for_each_time(finisher: Finisher) -> None:
    """A script that looks, or gives orders one after the other: nobody waits behind it."""
    for i in range(20):
        finisher.pass_by(IDLE + 0.1)
        assert finisher.run("partition status") == 0
        finisher.pass_by(IDLE + 0.1)
        assert finisher.run(f"analyze start fs{i}", MAKE) == 0


def test_in_a_crowd_that_does_not_end_some_are_waited_for(finisher: Finisher) -> None:
    answered: list[float] = []
    began = finisher.now
    while finisher.now < began + 4 * WINDOW:
        finisher.pass_by(IDLE / 2)
        if finisher.run("partition status", takes=1.0) == 0:
            answered.append(finisher.now)
    assert len(answered) >= 8 and answered[-1] > began + 3 * WINDOW


def test_when_its_threads_are_all_held_a_line_is_not_waited_for_in_a_crowd(finisher: Finisher) -> None:
    for i in range(LOOK.threads + 1):
        finisher.run(f"imbalance fs{i}", takes=60.0)
    began = finisher.now
    for i in range(100):
        finisher.run(f"hotspots fs{i}", takes=60.0)
    assert finisher.now - began <= BUDGET
