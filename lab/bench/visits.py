# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs with the hook remember of visits, between two cells on one cluster."""

from lab.api import Lab
from lab.errors import LabError
from lab.ranks import holders

_WINDOWS = 8  # that an MDS remembers (SubtreeStats::WINDOWS)


def forget(lab: Lab, ranks: int) -> None:
    """End all windows of the recordings. :raises LabError: somebody still visits inodes"""
    daemons = holders(lab)
    for rank in range(ranks):
        target = daemons[rank][0]
        for _ in range(_WINDOWS + 1):
            dump = lab.monitor.json("dump mindex", target=target, path="/", depth=0, end_window=True)
        if left := int(dump["inodes"]):
            raise LabError(f"rank {rank} remembers {left} inodes of {_WINDOWS + 1} windows without a visit")
