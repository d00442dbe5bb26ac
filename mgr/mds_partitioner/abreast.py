# SPDX-License-Identifier: LGPL-2.1-or-later
"""Work for several file systems, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait

from .workers import Workers

MOST = 16  # file systems at once, those included that hang
PATIENCE = 2.0  # s that the others wait for a slow one, each time

Work = Mapping[int, Callable[[], None]]
"""What is to be done for a file system, by its fscid."""
Each = Callable[[Work], None]
"""Does the work of each."""


def in_turn(work: Work) -> None:
    """One after the other."""
    for call in work.values():
        call()


class Abreast:
    """Side by side: a file system that hangs holds up no other. Of each one call is under way at most."""

    def __init__(self, what: str, late: Callable[[], None]) -> None:
        """``what`` names the threads; ``late`` is called when a call ends that was not waited for."""
        self._workers, self._late = Workers(what, MOST), late
        self._under_way: dict[int, Future[None]] = {}

    def run(self, work: Work) -> None:
        """Begin it, and wait for it as long as ``PATIENCE`` lasts.

        :raises Exception: what the calls raised that have ended, begun by an earlier run or not; of several
            each is the context of the next, so that the log has them all
        """
        idle = work.keys() - self._under_way.keys()
        begun = {fscid: self._workers.submit(call) for fscid, call in work.items() if fscid in idle}
        self._under_way.update(begun)
        ended, slow = wait(self._under_way.values(), PATIENCE)
        for future in slow.intersection(begun.values()):
            future.add_done_callback(lambda _: self._late())
        self._under_way = {fscid: future for fscid, future in self._under_way.items() if future in slow}
        _raise(list(ended))

    def shutdown(self) -> None:
        """Begin nothing more; wait for nothing."""
        self._workers.shutdown()


def _raise(ended: Sequence[Future[None]]) -> None:
    """What they raised, all of it."""
    if ended:
        try:
            ended[0].result()
        finally:
            _raise(ended[1:])
