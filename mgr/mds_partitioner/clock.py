# SPDX-License-Identifier: LGPL-2.1-or-later
"""What time it is, in the two ways that matter: for writing it down, and for waiting."""

import time
from dataclasses import dataclass
from typing import Optional

LAST = 253_402_214_400.0  # Unix, s: the last day of which each time zone has a date of four digits
FAR = 300 * 86_400.0  # s: a date that is further away would, without its year, be taken for a nearer one


@dataclass(frozen=True)
class Now:
    """One moment. A step of the host's clock changes ``wall`` and never ``steady``."""

    wall: float  # seconds since the Unix epoch: for what is kept and shown
    steady: float  # monotonic, s: for waits


def told(at: float, now: Optional[float] = None) -> str:
    """A moment (Unix, s) for people, by the host's time zone; no calendar has the latest that can be kept.

    :param now: from where it may be far; None: from this moment
    """
    away = abs(at - (time.time() if now is None else now))
    year = "%Y-" if away > FAR else ""
    return time.strftime(f"{year}%m-%d %H:%M:%S", time.localtime(min(at, LAST)))


def time_of_day(at: float) -> str:
    """The same of a moment of today."""
    return told(at, at).split()[1]


def zone(at: float) -> str:
    """The time zone that moments are told in, for who may be in another one."""
    return time.strftime("%Z", time.localtime(at))


def lasting(seconds: float) -> str:
    """How long something took, for people, in the largest unit of which it is two."""
    for unit, name in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0.0):.0f} s"


def read() -> Now:
    """The host's clocks."""
    return Now(time.time(), time.monotonic())


_BASE = time.time() - time.monotonic()


def from_epoch() -> Now:
    """The same, but that ``steady`` was ``wall`` when the manager started: so what was an hour ago is above 0
    also on a host that has just booted. Not to be compared with ``read``."""
    now = read()
    return Now(now.wall, _BASE + now.steady)
