# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pools there are, as it is told seldom: the manager makes the whole OSDMap anew for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..clock import Now
from ..model import POOL_FULL, FsState, HealthCheck
from .host import Host

SELDOM = 60.0  # s


class Pools:
    """All pools: 'fs rm' leaves those of a file system."""

    def __init__(self, host: Host, now: Callable[[], Now]) -> None:
        self._host, self._now = host, now
        self._known: tuple[float, Mapping[int, str]] | None = None

    def known(self) -> Mapping[int, str]:
        """Those that there were not long ago: their names by their IDs."""
        known, now = self._known, self._now().steady
        if known is None or now - known[0] >= SELDOM:
            self._known = known = now, self._host.pools()
        return known[1]

    def health(self, fs: FsState) -> dict[str, HealthCheck]:
        """The raised health checks, by code: of full pools only the metadata pool of a file system. To others
        its MDSs write nothing when directories move."""
        checks = self._host.health()
        full = checks.get(POOL_FULL)
        if full is None or not full.detail:
            return checks
        name = self.known().get(fs.metadata_pool)
        if name is None:  # it is new, and believed
            return checks
        # "pool 'NAME' is full (no space)" or "(running out of quota)" (OSDMap.cc)
        ours = tuple(line for line in full.detail if line.startswith(f"pool '{name}' "))
        others = {code: check for code, check in checks.items() if code != POOL_FULL}
        return others | {POOL_FULL: replace(full, detail=ours)} if ours else others
