# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ctrl-C and other ends from outside, as one exception: everything is cleaned up, once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(BaseException):
    """A signal that asks for the end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def _end(signum: int, frame: FrameType | None) -> None:
    # One is enough: a second must not interrupt the cleaning up.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise EndedError(signum)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Within, the first such signal is raised as EndedError and further ones are ignored."""
    previous = {signum: signal.signal(signum, _end) for signum in _SIGNALS}
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
