# SPDX-License-Identifier: LGPL-2.1-or-later
"""Orders to stop or hold plans, counted: what was about to begin before one does not begin after it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from ..errors import BadInput, Busy

LONGEST_PAUSE = 10 * 365 * 86_400  # s


def check_duration(seconds: int | None) -> None:
    """Of a pause. :raises BadInput: it is not positive, or longer than ten years"""
    if seconds is not None and not 0 < seconds <= LONGEST_PAUSE:
        raise BadInput(
            f"duration {seconds} is not allowed: give 1 to {LONGEST_PAUSE} seconds (ten years), "
            "or none to pause until 'partition resume'"
        )


class Halts:
    """Of all file systems, by ``fscid``. The lock is never held while anything is waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: Counter[int] = Counter()

    def give(self, fscid: int, halt: Callable[[], None] = lambda: None) -> None:
        """Nothing that is about to begin begins, and what is under way is held, in one moment.

        :param halt: holds it, which takes no time
        """
        with self._lock:
            self._given[fscid] += 1
            halt()

    def given(self, fscid: int) -> int:
        """How many were, until now."""
        with self._lock:
            return self._given[fscid]

    def unless(self, fscid: int, before: int, begin: Callable[[], None]) -> bool:
        """Begin, which takes no time, unless one was given since there were so many. Was none?"""
        with self._lock:
            none = self._given[fscid] == before
            if none:
                begin()
            return none

    def refuse(self, fscid: int, fs: str, before: int) -> None:
        """``fs``: its name. :raises Busy: one was given since there were so many"""
        if self.given(fscid) != before:
            raise Busy(f"it was stopped or paused meanwhile: nothing of it was begun on '{fs}'")
