# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client's workers."""

import math
import threading
import time
from collections.abc import Callable
from functools import partial

_STOP_S = 30.0
_NAME = "worker-"


def start(work: Callable[[int], None], count: int) -> list[threading.Thread]:
    """Start workers, each with its number."""
    new = partial(threading.Thread, target=work, daemon=True)
    threads = [new(args=(k,), name=f"{_NAME}{k}") for k in range(count)]
    for thread in threads:
        thread.start()
    return threads


def join(threads: list[threading.Thread], stop: threading.Event) -> bool:
    """Wait for workers, but not for ever once they were told to stop; False if one is stuck."""
    deadline = math.inf
    for thread in threads:
        while thread.is_alive():
            if stop.is_set():
                deadline = min(deadline, time.monotonic() + _STOP_S)
            if time.monotonic() > deadline:
                return False
            thread.join(0.1)
    return True


def any_at_work() -> bool:
    """Whether a worker of this process has not ended."""
    return any(thread.name.startswith(_NAME) and thread.is_alive() for thread in threading.enumerate())
