# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much cache a rank may have."""

from __future__ import annotations

from typing import Any

from ..ceph.host import TELL_TIMEOUT, Host
from ..errors import PartitionerError
from ..model import FsState

LIMIT = "mds_cache_memory_limit"


def cache_limit(host: Host, fs: FsState) -> int:
    """Bytes that each rank of the file system may have: the least that an active MDS says it has itself.

    The mon's answer for a daemon has what was set for that alone, as by Rook. It lacks masks of hosts
    (ConfigMonitor::preprocess_command), files, and what an MDS was told itself. So it is taken for those
    that do not answer, as when they are full.

    :raises PartitionerError: nobody answers
    """
    names = [mds.name for mds in fs.active()]
    answers = host.tell_each(fs, names, "config get", var=LIMIT, within=TELL_TIMEOUT)
    told = {name: limit for name, answer in answers.items() if (limit := _told(answer)) is not None}
    silent = [name for name in names if name not in told] if names else [""]
    try:
        # A mon that does not answer for one does not for the next one: it is waited for once.
        told |= {name: int(host.config(LIMIT, name)) for name in silent}
    except PartitionerError:
        if not told:
            raise
    return min(told.values())


def _told(answer: Any) -> int | None:
    """What one says that answers: bytes."""
    known = isinstance(answer, dict) and str(answer.get(LIMIT)).isdecimal()
    return int(answer[LIMIT]) if known else None
