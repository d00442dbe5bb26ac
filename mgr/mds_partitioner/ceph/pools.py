# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pools there are, as it is told seldom: the manager makes the whole OSDMap anew for it."""

from __future__ import annotations

from collections.abc import Callable

from ..clock import Now
from .host import Host

SELDOM = 60.0  # s


class Pools:
    """IDs of all pools: 'fs rm' leaves those of a file system."""

    def __init__(self, host: Host, now: Callable[[], Now]) -> None:
        self._host, self._now = host, now
        self._known: tuple[float, frozenset[int]] | None = None

    def known(self) -> frozenset[int]:
        """Those that there were not long ago."""
        now = self._now().steady
        if self._known is None or now - self._known[0] >= SELDOM:
            self._known = now, self._host.pools()
        return self._known[1]
