# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs with the hook remember of visits, between two cells on one cluster."""

import time

from lab.api import Lab
from lab.errors import LabError
from lab.ranks import holders

_PATIENCE_S = 60.0
_POLL_S = 0.1


def forget(lab: Lab, ranks: int) -> None:
    """End windows until nothing is remembered. :raises LabError: somebody still visits inodes"""
    deadline = time.monotonic() + _PATIENCE_S
    for rank in range(ranks):
        target = holders(lab)[rank][0]
        # An MDS goes on with what clients left that have ended: some visits come late.
        while left := _end_window(lab, target):
            if time.monotonic() > deadline:
                raise LabError(f"rank {rank} remembers {left} inodes after {_PATIENCE_S:.0f} s")
            time.sleep(_POLL_S)


def _end_window(lab: Lab, target: str) -> int:
    """The inodes that are remembered still."""
    return int(lab.monitor.json("dump mindex", target=target, path="/", depth=0, end_window=True)["inodes"])
