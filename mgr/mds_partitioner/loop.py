# SPDX-License-Identifier: LGPL-2.1-or-later
"""A part of the module that works by itself: a thread that does one thing again and again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from .errors import PartitionerError

RETRY = 1.0  # s, after which what failed is tried again


def _soon() -> float:
    return RETRY


class Loop:
    """What one loop meets, an exception or a call that hangs, holds up no other."""

    def __init__(
        self,
        name: str,
        begin: Callable[[], None],
        work: Callable[[], float | None],
        failed: Callable[[], None],
        log: logging.Logger,
        retry: Callable[[], float] = _soon,
    ) -> None:
        """``begin`` is tried until it succeeds, then ``work`` again and again.

        :param work: returns after how many seconds it wants to be called again; None: not before ``wake``
        :param failed: told of each exception that nobody expected
        :param retry: after how many seconds work that failed is tried again
        """
        self._name, self._begin, self._work, self._failed, self._log = name, begin, work, failed, log
        self._retry = retry
        self._ended, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mds_partitioner-{name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Work at once, or as soon as the work under way has ended."""
        self._wake.set()

    def end(self) -> None:
        """Do nothing more; what is under way is not waited for."""
        self._ended.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._ended.is_set() and not self._tried():
            self._pause(RETRY)
        while not self._ended.is_set():
            try:
                pause = self._work()
            except Exception:  # it must outlive what it did not expect, and say so
                pause = self._outlived()
            self._pause(pause)

    def _outlived(self) -> float:
        """After how many seconds what has just failed is tried again."""
        self._unexpected("failed")
        try:
            return self._retry()
        except Exception:  # nor does it end of that
            return RETRY

    def _unexpected(self, what: str) -> None:
        """To tell it must not end the thread either."""
        with suppress(Exception):
            self._log.exception("the %s %s; it tries again", self._name, what)
            self._failed()

    def _tried(self) -> bool:
        try:
            self._begin()
        except PartitionerError as e:
            self._log.error("the %s cannot begin: %s", self._name, e)
            return False
        except Exception:
            self._unexpected("cannot begin")
            return False
        return True

    def _pause(self, seconds: float | None) -> None:
        self._wake.wait(seconds)
        self._wake.clear()
