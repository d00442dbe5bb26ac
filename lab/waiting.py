# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one way to wait for something."""

import time
from collections.abc import Callable
from typing import TypeVar

from lab.errors import LabError

T = TypeVar("T")


def until(
    ask: Callable[[], T | None], seconds: float, what: str | Callable[[], str], *, every: float = 0.2
) -> T:
    """Ask, with so many seconds between, until the answer is neither None nor False; that answer.

    what: what is waited for, or a function that tells what is still missing
    :raises LabError: not within so many seconds
    """
    deadline = time.monotonic() + seconds
    while (answer := ask()) is None or answer is False:
        if time.monotonic() > deadline:
            raise LabError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(every)
    return answer
