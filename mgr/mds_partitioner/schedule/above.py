# SPDX-License-Identifier: LGPL-2.1-or-later
"""What places directories from above. Of some hundred groups a full MDS does not answer in one round."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial

from ..ceph.filesystem import FileSystem
from ..errors import NotFound
from ..observe.children import Placed, placed
from ..observe.subtrees import ancestors
from .asking import About, Lesson, Questions, fresh
from .owned import Owned

ABOVE = "above"  # what is asked


class Above:
    """Directories above those that may be moved, of one file system, by path.

    :ivar found: as they were read; None: it is gone, renamed or removed, and so is what was in it
    """

    def __init__(self) -> None:
        self.found: dict[str, Placed | None] = {}
        self._asked: dict[str, float] = {}  # when what was found was asked for, Unix, s
        self._tried: dict[str, float] = {}  # the same, also of those that could not be read

    def due(
        self, paths: Collection[str], requests: Mapping[str, float], owned: Owned, now: float
    ) -> Questions:
        """What is to be asked of these, once a minute each, or when we have pinned one since. First of those
        that were never read, the ones with most requests in them; then of those that were read longest ago.
        Others are forgotten.

        :param requests: req/s by path, of what is below them
        :param now: Unix, s
        """
        self.found = {path: at for path, at in self.found.items() if path in paths}
        self._asked = {path: at for path, at in self._asked.items() if path in self.found}
        # The clock may have been put back.
        self._tried = {path: min(at, now) for path, at in self._tried.items() if path in paths}
        stale = [path for path in paths if self._stale(path, owned, now)]
        busy = _busy(requests) if stale else {}
        stale.sort(key=lambda path: (self._tried.get(path, -math.inf), -busy.get(path, 0.0), path))
        return {(ABOVE, path): partial(self._read, path=path, now=now) for path in stale}

    def tried(self, failed: Collection[About], now: float) -> None:
        """These questions failed: what cannot be read stands in the way of no other. ``now``: Unix, s"""
        self._tried |= {str(of): now for what, of in failed if what == ABOVE}

    def doubt(self, inos: Collection[int]) -> None:
        """Somebody changed these directories' pins: they are read again, before all others."""
        for path in [path for path, at in self.found.items() if at is not None and at.ino in inos]:
            self._asked.pop(path, None)
            self._tried.pop(path, None)

    def _stale(self, path: str, owned: Owned, now: float) -> bool:
        at, asked = self.found.get(path), self._asked.get(path, -math.inf)
        if at is None or not fresh(asked, now):
            return True
        return owned.moved_at.get(at.ino, -math.inf) >= asked

    def _read(self, mount: FileSystem, path: str, now: float) -> Lesson:
        try:
            at: Placed | None = placed(mount, path)
        except NotFound:
            at = None

        def learn() -> None:
            self.found[path] = at
            self._asked[path] = self._tried[path] = now

        return learn


def _busy(requests: Mapping[str, float]) -> dict[str, float]:
    """req/s of all that is below each directory."""
    found: dict[str, float] = defaultdict(float)
    for path, served in requests.items():
        for above in ancestors(path) if served > 0.0 else ():
            found[above] += served
    return found
