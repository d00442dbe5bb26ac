# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a directory is that no MDS has in cache: its backtrace, in the metadata pool.

``inode_backtrace_t`` and ``inode_backpointer_t`` of Ceph's src/mds/inode_backtrace.h. An MDS keeps an inode
in cache until its backtrace is written, so either the cache or this is right about the own parent of one
that is there. That of a deleted one stays, and may name where it was, until it is purged: hours later behind
a large removal (StrayManager::enqueue, PurgeQueue).
"""

import struct
from dataclasses import dataclass

ATTRIBUTE = "parent"
_HEADER = struct.Struct("<BBI")  # version, compatible with, bytes that follow


@dataclass(frozen=True)
class Parent:
    """The directory that an inode is in, and its name there."""

    ino: int
    name: bytes


def object_of(ino: int) -> str:
    """The object of the metadata pool that has a directory's backtrace."""
    return f"{ino:x}.00000000"


def parse_backtrace(data: bytes) -> Parent:
    """The innermost ancestor of an inode. :raises ValueError: the data are cut short."""
    try:
        at = _HEADER.size
        _, count = struct.unpack_from("<QI", data, at)
        if count < 1:
            raise ValueError("a backtrace without ancestors")
        at += struct.calcsize("<QI") + _HEADER.size
        ino, length = struct.unpack_from("<QI", data, at)
        at += struct.calcsize("<QI")
        name = data[at : at + length]
        if len(name) != length:
            raise ValueError("a backtrace that is cut short")
        return Parent(ino, name)
    except struct.error as e:
        raise ValueError(f"a backtrace that is cut short: {e}") from e
