# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands run beside the manager's own thread, so that one that takes long keeps no other from being heard.

A manager has one thread a module, its Finisher (DaemonServer.cc and ActivePyModules.cc of both releases):
while it is in a command, all further ones wait behind it, an operator's ``partition stop`` among them. It
must answer before it takes the next, so it waits for a few seconds only. A command that takes longer goes on;
the same command again waits for the same end, and tells what came out.
"""

import errno
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from mgr_module import HandleCommandResult

from .errors import Unavailable
from .workers import GivenUp, Workers

PATIENCE = 3.0  # s that the manager's thread waits for a command
IN_A_ROW = 0.5  # s that it waits when it has left one already: several that hang add up to little more
KEPT = 600.0  # s that the end of a command is kept for whoever asks again
Work = Callable[[], HandleCommandResult]


@dataclass(frozen=True)
class Line:
    """Commands that wait for no other line's."""

    name: str
    threads: int  # commands under way at once; more are refused
    alone: bool = False  # is one of them done after the other?
    urgent: bool = False  # does one wait its full time, whatever else has taken long?


LOOK = Line("commands that look", 8)
MAKE = Line("commands that analyze and plan", 4, alone=True)
CHANGE = Line("commands that begin something", 4, alone=True)  # what one checks, no other changes meanwhile
URGENT = Line("commands that put something back or tell what is known", 4, urgent=True)
# They hold something in memory and then tell the mon, which may take 20 s a write: as they come from one
# thread, which gives each PATIENCE, they never fill their line.
STOP = Line("commands that stop or hold something", 64, urgent=True)
LINES = (LOOK, MAKE, CHANGE, URGENT, STOP)


class Desk:
    """Where commands are handed in, and their results fetched."""

    def __init__(self) -> None:
        self._workers = {line: Workers(line.name, line.threads) for line in LINES}
        self._turns = {line: threading.Lock() for line in LINES if line.alone}
        self._lock = threading.Lock()  # of the tables alone
        self._left: dict[Hashable, Future[HandleCommandResult]] = {}  # commands that took longer
        self._ended: dict[Hashable, float] = {}  # and when they ended, by the monotonic clock, s

    def run(self, what: str, given: Hashable, work: Work, line: Line, *, keep: bool) -> HandleCommandResult:
        """Do a command, or wait on for the same one; EINPROGRESS when it takes longer than 3 s.

        :param what: the command, for messages
        :param given: what tells two commands apart: their names and arguments
        :param keep: is a result that nobody waited for kept? What is only looked at is read anew
        """
        workers = self._workers[line]
        with self._lock:
            self._forget()
            future = self._left.get(given)
            in_a_row = not line.urgent and any(not f.done() for f in self._left.values())
        future = future or workers.submit(partial(self._do, line, work))
        try:
            result = workers.result(future, f"'{what}'", IN_A_ROW if in_a_row else PATIENCE)
        except GivenUp:
            self._leave(given, future, keep)
            message = f"'{what}' takes longer and goes on: give the same command again for what comes out"
            return HandleCommandResult(-errno.EINPROGRESS, "", message)
        except Unavailable as e:
            return HandleCommandResult(-e.code, "", f"{e}; see 'ceph health detail', and try again")
        except Exception:
            self._fetched(given)
            raise
        self._fetched(given)
        return result

    def shutdown(self) -> None:
        """Take no more commands."""
        for workers in self._workers.values():
            workers.shutdown()

    def _do(self, line: Line, work: Work) -> HandleCommandResult:
        with self._turns.get(line, nullcontext()):
            return work()

    def _leave(self, given: Hashable, future: "Future[HandleCommandResult]", keep: bool) -> None:
        with self._lock:
            known = self._left.get(given) is future
            self._left[given] = future
        if not known:
            future.add_done_callback(lambda _: self._end(given, future, keep))

    def _end(self, given: Hashable, future: "Future[HandleCommandResult]", keep: bool) -> None:
        with self._lock:
            if self._left.get(given) is not future:
                return
            if keep:
                self._ended[given] = time.monotonic()
            else:
                del self._left[given]

    def _fetched(self, given: Hashable) -> None:
        with self._lock:
            self._left.pop(given, None)
            self._ended.pop(given, None)

    def _forget(self) -> None:
        now = time.monotonic()
        for given in [g for g, ended in self._ended.items() if now - ended > KEPT]:
            del self._left[given], self._ended[given]
