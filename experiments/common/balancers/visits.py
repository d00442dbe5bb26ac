# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs with the hook remember of visits, between two cells on one cluster."""

import functools

from lab.api import Lab
from lab.ranks import holders
from lab.waiting import until

_PATIENCE_S = 60.0
_POLL_S = 0.1


def forget(lab: Lab, ranks: int) -> None:
    """End windows until nothing is remembered. :raises LabError: somebody still visits inodes"""
    for rank in range(ranks):
        target = holders(lab)[rank][0]
        # An MDS goes on with what clients left that have ended: some visits come late.
        what = f"rank {rank} remembers no inodes"
        until(functools.partial(_nothing_left, lab, target), _PATIENCE_S, what, every=_POLL_S)


def _nothing_left(lab: Lab, target: str) -> bool:
    """Of visits, after the end of a window."""
    answer = lab.monitor.json("dump mindex", target=target, path="/", depth=0, end_window=True)
    return int(answer["inodes"]) == 0
