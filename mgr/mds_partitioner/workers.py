# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads for calls that may never return.

Neither librados' and libcephfs' bindings nor the manager's own calls take a time limit. So a call is made in
a thread of a pool, and its caller waits no longer than it wants to. The thread of a call that was given up is
lost to the pool until the call returns; each kind of call has a pool of its own, so that one kind that hangs
takes no thread from another.
"""

import threading
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from .errors import Unavailable

T = TypeVar("T")


class GivenUp(Unavailable):
    """The call was begun and has not returned in time: what it does may still happen."""


class Workers:
    """At most ``most`` calls of a kind at once, those included that were given up and still hang.

    The threads stay until ``shutdown``: Reef's manager returns to the Python state of a thread that sent a
    command after the answer has arrived, and dies when that thread has ended.
    """

    def __init__(self, name: str, most: int) -> None:
        """``name`` is what the calls are, as an error message names them."""
        self._name, self._most = name, most
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    def run(self, what: str, seconds: float, call: Callable[[], T]) -> T:
        """The call's result, or what it raises.

        :param what: the call, as the beginning of an error message
        :param seconds: how long to wait, for a free thread included
        :raises GivenUp: it was begun and has not returned; it goes on
        :raises Unavailable: every thread is held by a call that hangs; it was not begun, nor will it be
        """
        return self.result(self._pool.submit(call), what, seconds)

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Begin a call; its end is waited for by ``result``."""
        return self._pool.submit(call)

    def result(self, future: "Future[T]", what: str, seconds: float, *, begins: bool = False) -> T:
        """As ``run``. ``begins``: a thread is free, so it is begun, however short it is waited for"""
        try:
            return future.result(max(0.0, seconds))
        except FutureTimeout:
            if not begins and future.cancel():
                raise Unavailable(
                    f"{what} was not begun within {seconds:g} s: all {self._most} threads for {self._name} "
                    "wait for calls that were not answered"
                ) from None
            if future.done():  # it came at the last moment, or raised a TimeoutError of its own
                return future.result()
            raise GivenUp(f"{what}: no answer within {seconds:g} s") from None

    def shutdown(self) -> None:
        """Begin no more calls; wait for none."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Apart:
    """Calls of a kind, at most ``most`` at once of each party: one that hangs takes no thread from another.

    Whose calls have all ended needs no threads, and leaves them to the next who comes.
    """

    def __init__(self, name: str, most: int) -> None:
        """As ``Workers``."""
        self._name, self._most = name, most
        self._lock = threading.Lock()  # of the tables alone
        self._under_way: Counter[Hashable] = Counter()  # calls, those included that were given up
        self._serving: dict[Hashable, Workers] = {}
        self._spare: list[Workers] = []

    def full(self, party: Hashable) -> bool:
        """Would a call wait for a thread?"""
        with self._lock:
            return self._under_way[party] >= self._most

    def submit(self, party: Hashable, call: Callable[[], T]) -> "tuple[Workers, Future[T]]":
        """Begin a call; its end is waited for by the ``result`` of who does it."""
        with self._lock:
            if party not in self._serving:
                spare = self._spare.pop() if self._spare else None
                self._serving[party] = spare or Workers(self._name, self._most)
            workers = self._serving[party]
            self._under_way[party] += 1
        try:
            future = workers.submit(call)
        except BaseException:  # no thread can be started: it is not under way
            self._ended(party)
            raise
        future.add_done_callback(lambda _: self._ended(party))
        return workers, future

    def _ended(self, party: Hashable) -> None:
        with self._lock:
            self._under_way[party] -= 1
            if not self._under_way[party]:
                del self._under_way[party]
                self._spare.append(self._serving.pop(party))

    def shutdown(self) -> None:
        """As of ``Workers``."""
        with self._lock:
            serving = [*self._serving.values(), *self._spare]
        for workers in serving:
            workers.shutdown()
