# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of MDSs that are on by default, and without which they do not do what this module has set."""

from __future__ import annotations

import math
from contextlib import suppress

from ..ceph.host import Host
from ..errors import PartitionerError

AGAIN = 60.0  # s between two questions to the mon


class Obeyed:
    """One of them. Until the mon answers it is taken to be as it was."""

    def __init__(self, host: Host, option: str) -> None:
        self._host, self._option = host, option
        self._asked, self._off = -math.inf, False

    def off(self, now: float, *, doubted: bool) -> bool:
        """Has somebody switched it off? Asked while that is ``doubted``, and once it is until it is on again.

        :param now: steady clock, s
        """
        if (doubted or self._off) and now - self._asked >= AGAIN:
            self._asked = now
            with suppress(PartitionerError):
                self._off = not self._host.config(self._option)
        return self._off
