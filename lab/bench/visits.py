# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MDSs with the hook remember of visits, between two cells on one cluster."""

import json
import time
from typing import Any

from lab import cluster
from lab.api import Lab
from lab.errors import LabError

_PATIENCE_S = 60.0
_POLL_S = 1.0
# A window is mds_bal_interval long, but ends on a tick only (MDBalancer::tick).
_SHORT_WINDOWS = {"mds_bal_interval": "1", "mds_tick_interval": "1"}


def forget(lab: Lab, ranks: int) -> None:
    """Let all windows of the recordings run out. :raises LabError: somebody still visits inodes"""
    for name, value in _SHORT_WINDOWS.items():
        _tell(lab, ranks, "config", "set", name, value)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        # Being asked, they go on recording.
        while left := sum(int(answer["inodes"]) for answer in _tell(lab, ranks, "dump", "mindex", "/", "0")):
            if time.monotonic() > deadline:
                raise LabError(f"{left} inodes are remembered after {_PATIENCE_S:.0f} s")
            time.sleep(_POLL_S)
    finally:
        for name in _SHORT_WINDOWS:
            _tell(lab, ranks, "config", "unset", name)


def _tell(lab: Lab, ranks: int, *command: str) -> list[Any]:
    """What each rank answers. `config` of an MDS itself counts for more than ceph.conf."""
    fs = cluster.FS_NAME
    answers = [
        lab.exec(["ceph", "tell", f"mds.{fs}:{rank}", *command], timeout=60).stdout for rank in range(ranks)
    ]
    return [json.loads(answer) for answer in answers]
