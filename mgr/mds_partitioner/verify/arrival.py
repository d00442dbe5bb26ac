# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has a directory arrived on a rank? The MDSs are asked, never the plan."""

from collections.abc import Collection
from enum import Enum

from ..errors import PartitionerError, Unavailable
from ..host import Host
from ..model import FsState
from ..observe.subtrees import SubtreeMap, parse_subtrees, subtree_map


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
    """Where an inode is now, after a rename; None when no MDS has it in cache or it is being deleted.

    :raises Unavailable: none of those that answered has it, and one did not answer: it may have it
    """
    answers = host.tell_each([m.name for m in fs.active()], "dump inode", number=ino)
    for answer in answers.values():
        path = "" if isinstance(answer, PartitionerError) else str((answer or {}).get("path", ""))
        if path.startswith("/") and not path.startswith("/volumes/_deleting"):
            return path
    silent = next((answer for answer in answers.values() if isinstance(answer, Unavailable)), None)
    if silent is not None:
        raise Unavailable(f"inode {ino} is not where it was, and not every MDS says where it is: {silent}")
    return None


def within(host: Host, fs: FsState, path: str, ranks: Collection[int]) -> bool:
    """Are a directory and all below it on some of these ranks? Not as long as an MDS does not answer."""
    active = fs.active()
    answers = host.tell_each([m.name for m in active], "get subtrees")
    if any(isinstance(answer, PartitionerError) for answer in answers.values()):
        return False
    found = [subtree for m in active for subtree in parse_subtrees(m.rank, answers[m.name])]
    return set(SubtreeMap(found, [path]).ranks(path)) <= set(ranks)


class MdsWhereabouts:
    """The verify stage as the act stage asks it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def there(self, fs: FsState, path: str, rank: int) -> bool:
        """Has the rank authority over the directory?"""
        return arrival(self._host, fs, path, rank) is Arrival.THERE

    def within(self, fs: FsState, path: str, ranks: Collection[int]) -> bool:
        """See ``within``."""
        return within(self._host, fs, path, ranks)

    def scattered(self, fs: FsState, path: str) -> bool:
        """Is it held by an ephemeral pin? Not as long as no MDS says so."""
        return subtree_map(self._host, fs, [path]).ephemeral(path)

    def path_of(self, fs: FsState, ino: int) -> str | None:
        """See ``path_of``."""
        return path_of(self._host, fs, ino)
