# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has a directory arrived on a rank? The MDSs are asked, never the plan."""

from enum import Enum

from ..errors import PartitionerError
from ..host import Host
from ..model import FsState


class Arrival(Enum):
    """Where a pinned directory stands."""

    THERE = "there"
    UNDER_WAY = "under way"
    UNKNOWN = "unknown"  # the MDS did not answer


def arrival(host: Host, fs: FsState, path: str, rank: int) -> Arrival:
    """Ask ``rank`` whether it has authority over all fragments of ``path`` (``dump dir``)."""
    mds = next((m for m in fs.active() if m.rank == rank), None)
    if mds is None:
        return Arrival.UNKNOWN
    try:
        answer = host.tell(mds.name, "dump dir", path=path)
    except PartitionerError:
        # "not in cache" is an error too; only authority over it counts as arrival.
        return Arrival.UNDER_WAY
    if answer and all(fragment["is_auth"] for fragment in answer):
        return Arrival.THERE
    return Arrival.UNDER_WAY


def path_of(host: Host, fs: FsState, ino: int) -> str | None:
    """Where an inode is now, after a rename; None when no MDS has it in cache or it is being deleted."""
    for mds in fs.active():
        try:
            answer = host.tell(mds.name, "dump inode", number=ino)
        except PartitionerError:
            continue
        path = str((answer or {}).get("path", ""))
        if path.startswith("/") and not path.startswith("/volumes/_deleting"):
            return path
    return None


class MdsWhereabouts:
    """The verify stage as the act stage asks it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def there(self, fs: FsState, path: str, rank: int) -> bool:
        """Has the rank authority over the directory?"""
        return arrival(self._host, fs, path, rank) is Arrival.THERE

    def path_of(self, fs: FsState, ino: int) -> str | None:
        """See ``path_of``."""
        return path_of(self._host, fs, ino)
