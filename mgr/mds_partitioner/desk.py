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

from mgr_module import HandleCommandResult

from .errors import Unavailable
from .workers import GivenUp, Workers

PATIENCE = 3.0  # s that the manager's thread waits for a command
IN_A_ROW = 0.5  # s that it waits when it has left one already: several that hang add up to little more
KEPT = 600.0  # s that the end of a command is kept for whoever asks again
THREADS = 8  # commands under way at once
URGENT_THREADS = 4  # beside these, for commands that end or hold something

Work = Callable[[], HandleCommandResult]


class Desk:
    """Where commands are handed in, and their results fetched."""

    def __init__(self) -> None:
        self._workers = Workers("commands", THREADS)
        self._urgent = Workers("urgent commands", URGENT_THREADS)
        self._lock = threading.Lock()  # of the tables alone
        self._left: dict[Hashable, Future[HandleCommandResult]] = {}  # commands that took longer
        self._ended: dict[Hashable, float] = {}  # and when they ended, by the monotonic clock, s

    def run(self, what: str, given: Hashable, work: Work, *, urgent: bool, keep: bool) -> HandleCommandResult:
        """Do a command, or wait on for the same one; EINPROGRESS when it takes longer than 3 s.

        :param what: the command, for messages
        :param given: what tells two commands apart: their names and arguments
        :param urgent: has it threads of its own, so that no other command can take the last one?
        :param keep: is a result that nobody waited for kept? What is only looked at is read anew
        """
        workers = self._urgent if urgent else self._workers
        with self._lock:
            self._forget()
            future = self._left.get(given)
            in_a_row = not urgent and any(not f.done() for f in self._left.values())
        future = future or workers.submit(work)
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
        self._workers.shutdown()
        self._urgent.shutdown()

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
