# SPDX-License-Identifier: LGPL-2.1-or-later
"""What fails and is tried again, counted by stage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

OBSERVE, JUDGE, SCHEDULE, MOVE, BALANCE = "observe", "judge", "schedule", "move", "balance"


class Errors:
    """Since the manager has begun; several threads count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys((OBSERVE, JUDGE, SCHEDULE, MOVE, BALANCE), 0)

    def count(self, stage: str) -> None:
        """One more."""
        with self._lock:
            self._counts[stage] += 1

    def of(self, stage: str) -> Callable[[], None]:
        """What counts one more of this stage."""
        return partial(self.count, stage)

    def counts(self) -> dict[str, int]:
        """By stage."""
        with self._lock:
            return dict(self._counts)
