# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands run beside the manager's own thread, so that one that takes long keeps no other from being heard.

A manager has one thread a module, its Finisher (DaemonServer.cc and ActivePyModules.cc of both releases):
while it is in a command, all further ones wait behind it, an operator's ``partition stop`` among them. It
must answer before it takes the next, so it waits for a few seconds only, and for few of those that come one
right behind the other. A command that takes longer goes on; the same command again waits for the same end,
and tells what came out, unless another order was given since: "stopped" must not be said of what was started
again.
"""

from __future__ import annotations

import errno
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from mgr_module import HandleCommandResult

from .errors import Unavailable
from .workers import Apart, GivenUp, Workers

PATIENCE = 3.0  # s that the manager's thread waits for a command
IN_A_ROW = 0.5  # s that it waits when it has left one already: several that hang add up to little more
BUDGET = 4.0  # s in WINDOW that it waits while more and more come: an order to stop may be behind them
WINDOW = 10.0  # s
BRIEF = 0.05  # s that it waits then: what asks nobody is told all the same
IDLE = 0.2  # s between two commands, if none was waiting: less than the ceph tool takes to start
KEPT = 60.0  # s that the end of a command is kept for whoever asks again: later it is wanted anew
HELD = 10.0  # s, likewise, of what may be over: a pause has an end, and so has why something failed
LOOKED = 3.0  # s, likewise, of what was only looked at
Work = Callable[[], HandleCommandResult]


@dataclass(frozen=True)
class Line:
    """Commands that wait for no other line's; and of one line, for none of another file system."""

    name: str
    threads: int  # commands of a file system under way at once; more are refused
    alone: bool = False  # of a file system, is one of them done after the other?
    urgent: bool = False  # does one wait its full time, whatever one else has taken long?
    kept: float = KEPT  # s that the end of one is kept


LOOK = Line("commands that look", 8)
MAKE = Line("commands that analyze and plan", 4, alone=True)
CHANGE = Line("commands that begin something", 4, alone=True)  # what one checks, no other changes meanwhile
URGENT = Line("commands that put something back or tell what is known", 4, urgent=True)
# They hold something in memory and then tell the mon, which may take 20 s a write: as they come from one
# thread, which gives each PATIENCE, they never fill their line.
STOP = Line("commands that stop something", 64, urgent=True)
HOLD = Line("commands that hold something for a while", 64, urgent=True, kept=HELD)
# What was stopped goes on, backwards: so these are none of those that stop.
UNDO = Line("commands that stop something and undo it", 64, urgent=True)
LINES = (LOOK, MAKE, CHANGE, URGENT, STOP, HOLD, UNDO)
STOPS = {STOP, HOLD, UNDO}


def anywhere() -> int | None:
    """Of no file system in particular."""
    return None


class Crowd:
    """How long the manager's thread has waited of late for commands that came one right behind the other."""

    def __init__(self) -> None:
        self._waits: deque[tuple[float, float]] = deque()  # when one was over, and s that it took

    def waited(self, began: float, ended: float) -> None:
        """Until a moment, for one command."""
        self._waits.append((ended, ended - began))

    def left(self, now: float) -> float:
        """s that the next may be waited for; after a moment without commands nobody waits behind it."""
        if self._waits and now - self._waits[-1][0] >= IDLE:
            self._waits.clear()
        while self._waits and now - self._waits[0][0] >= WINDOW:
            self._waits.popleft()
        return max(0.0, BUDGET - sum(seconds for _, seconds in self._waits))


@dataclass
class Left:
    """A command that took longer.

    :ivar look: does it change nothing?
    :ivar old: was an order given, or did one end, since it began to look?
    :ivar ended: by the monotonic clock, s; None: not yet
    """

    workers: Workers
    future: Future[HandleCommandResult]
    line: Line
    look: bool
    old: bool = False
    ended: float | None = None

    def kept(self) -> float:
        """s that its end is kept."""
        if self.look:
            return 0.0 if self.old else LOOKED
        failed = self.future.cancelled() or self.future.exception() or self.future.result().retval < 0
        return min(HELD, self.line.kept) if failed else self.line.kept

    def outdated(self, order: Line) -> bool:
        """Is it to be done once more when it is given again, as another order was handed in since?

        What stops takes nothing back of what stops. What urgent commands do may be done twice; what others do
        may not while it is under way. Only what analyzes and plans ends what was analyzed and planned.
        """
        if {self.line, order} <= {STOP, HOLD} or (self.line is MAKE and order is not MAKE):
            return False
        return self.line.urgent or self.ended is not None


class Desk:
    """Where commands are handed in, and their results fetched."""

    def __init__(self) -> None:
        self._workers = {line: Apart(line.name, line.threads) for line in LINES}
        self._turns: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()  # of the tables alone
        self._left: dict[Hashable, Left] = {}
        self._crowd = Crowd()

    def run(
        self,
        what: str,
        given: Hashable,
        work: Work,
        line: Line,
        *,
        keep: bool,
        where: Callable[[], int | None] = anywhere,
    ) -> HandleCommandResult:
        """Do a command, or wait on for the same one; EINPROGRESS when it takes longer than 3 s, or many come.

        :param what: the command, for messages
        :param given: what tells two commands apart: their names and arguments
        :param keep: is a result that nobody waited for kept? What is only looked at is soon read anew
        :param where: the file system that it is about: of one line, those of others wait for none of it
        """
        began, at = time.monotonic(), where()
        full = self._workers[line].full(at)
        with self._lock:
            self._forget(began)
            left = self._left.get(given)
            if left is not None and left.look and left.old:
                left = None  # what it saw may be over
            if left is None and keep:
                self._outdate(line)
            hung = any(not other.future.done() for other in self._left.values())
            patience = self._patience(line, began, hung, hopeless=full or left is not None)
        if left is None:
            workers, future = self._workers[line].submit(at, partial(self._do, line, at, work))
            left = Left(workers, future, line, look=not keep)
        try:
            return self._wait(what, given, left, patience, full)
        finally:
            with self._lock:
                self._crowd.waited(began, time.monotonic())

    def _patience(self, line: Line, now: float, hung: bool, *, hopeless: bool) -> float:
        """s that a command is waited for. The lock is held.

        :param hung: one that was left is not done yet
        :param hopeless: there is no thread for it, or it is under way already
        """
        if line in STOPS:
            return PATIENCE
        usual = IN_A_ROW if hung and not line.urgent else PATIENCE
        return min(usual, max(self._crowd.left(now), 0.0 if hopeless else BRIEF))

    def _wait(
        self, what: str, given: Hashable, left: Left, patience: float, full: bool
    ) -> HandleCommandResult:
        try:
            result = left.workers.result(left.future, f"'{what}'", patience, begins=not full)
        except GivenUp:
            self._leave(given, left)
            message = f"'{what}' takes longer and goes on: give the same command again for what comes out"
            return HandleCommandResult(-errno.EINPROGRESS, "", message)
        except Unavailable as e:
            return HandleCommandResult(-e.code, "", f"{e}; see 'ceph health detail', and try again")
        except Exception:
            self._fetched(given, left)
            raise
        self._fetched(given, left)
        return result

    def shutdown(self) -> None:
        """Take no more commands."""
        for workers in self._workers.values():
            workers.shutdown()

    def _do(self, line: Line, where: int | None, work: Work) -> HandleCommandResult:
        with self._turn(line, where) if line.alone else nullcontext():
            return work()

    def _turn(self, line: Line, where: int | None) -> threading.Lock:
        with self._lock:
            return self._turns[line, where]

    def _leave(self, given: Hashable, left: Left) -> None:
        with self._lock:
            if self._left.get(given) is left:
                return
            self._left[given] = left
        left.future.add_done_callback(lambda _: self._end(left))

    def _end(self, left: Left) -> None:
        with self._lock:
            left.ended = time.monotonic()
            self._age(left)

    def _fetched(self, given: Hashable, left: Left) -> None:
        with self._lock:
            self._left.pop(given, None)
            self._age(left)

    def _age(self, ended: Left) -> None:
        """What was seen before an order has ended may be so no more. The lock is held."""
        for left in self._left.values():
            left.old = left.old or not ended.look

    def _outdate(self, order: Line) -> None:
        """Of what is left, forget what an order makes old. The lock is held."""
        for left in self._left.values():
            left.old = True
        self._left = {given: left for given, left in self._left.items() if not left.outdated(order)}

    def _forget(self, now: float) -> None:
        """What nobody has fetched for long. The lock is held."""
        self._left = {
            given: left
            for given, left in self._left.items()
            if left.ended is None or now - left.ended < left.kept()
        }
