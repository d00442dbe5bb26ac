# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ctrl-C and other ends from outside, as one exception: everything is cleaned up, once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(BaseException):
    """A signal that asks for the end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@dataclass
class _Held:
    """How many hold an end back, and the signal that came meanwhile."""

    by: int = 0
    signum: int | None = None


_held = _Held()


def _end(signum: int, frame: FrameType | None) -> None:
    # One is enough: a second must not interrupt the cleaning up.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if _held.by:
        _held.signum = signum
    else:
        raise EndedError(signum)


@contextmanager
def held() -> Iterator[None]:
    """Within, an end waits: none may come between what is made and the note of who removes it."""
    _held.by += 1
    try:
        yield
    finally:
        _held.by -= 1
        if not _held.by and (signum := _held.signum) is not None:
            _held.signum = None
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
