# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much cache a rank may have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ceph.host import TELL_TIMEOUT, Host
from ..model import FsState

LIMIT = "mds_cache_memory_limit"


def cache_limit(host: Host, fs: FsState) -> int:
    """Bytes that each rank of the file system may have: the least that an active MDS says it has itself.

    The mon's answer for a daemon has what was set for that alone, as by Rook. It lacks masks of hosts
    (ConfigMonitor::preprocess_command), files, and what an MDS was told itself. So it is taken where no MDS
    answers, as when all are full; one that does not is taken to have what the others have.

    :raises PartitionerError: nobody answers
    """
    names = [mds.name for mds in fs.active()]
    answers = host.tell_each(fs, names, "config get", var=LIMIT, within=TELL_TIMEOUT)
    told = list(_told(answers.values()))
    return min(told or (int(host.config(LIMIT, name)) for name in names or [""]))


def _told(answers: Iterable[Any]) -> Iterable[int]:
    """What those say that answer: bytes."""
    for answer in answers:
        if isinstance(answer, dict) and str(answer.get(LIMIT)).isdecimal():
            yield int(answer[LIMIT])
