# SPDX-License-Identifier: LGPL-2.1-or-later
"""Paths as they were typed, by what MDSs call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from ..ceph.charmap import stays
from ..ceph.filesystem import FileSystem
from ..ceph.host import Host
from ..ceph.mounts import LOST
from ..errors import CephError, NotFound, PartitionerError
from ..model import FsState
from .directories import on_the_way

T = TypeVar("T")
PATIENCE = 2.0  # s, that a command waits for what it can do without


def may_differ(paths: Iterable[str]) -> list[str]:
    """Those that MDSs may call otherwise."""
    return [path for path in paths if not stays(path)]


def called(fs: FileSystem, paths: Iterable[str]) -> dict[str, str]:
    """What MDSs call these; as it is what is not there. Without those that could not be asked about now.

    :raises CephError: the mount is lost
    """
    found = {}
    for path in paths:
        try:
            found[path] = on_the_way(fs, path)[-1]
        except NotFound:
            found[path] = path
        except CephError as e:
            if e.code in LOST:
                raise
    return found


def called_soon(host: Host, fs: FsState, paths: Iterable[str]) -> dict[str, str]:
    """As ``called``, of those that may differ; none where MDSs do not answer within ``PATIENCE``."""
    asked = may_differ(paths)
    return _soon(host, fs, lambda mount: called(mount, asked), {}) if asked else {}


def found_soon(host: Host, fs: FsState, path: str) -> tuple[str, int | None]:
    """What MDSs call this, and the inode number of what is there; None: nothing is, or MDSs do not answer
    within ``PATIENCE``."""

    def question(mount: FileSystem) -> tuple[str, int | None]:
        real = on_the_way(mount, path)[-1]
        try:
            return real, mount.ino(real)
        except NotFound:
            return real, None

    unknown: tuple[str, int | None] = path, None
    return _soon(host, fs, question, unknown)


def _soon(host: Host, fs: FsState, question: Callable[[FileSystem], T], otherwise: T) -> T:
    future = host.begin_on_fs(fs, question)
    try:
        return future.result(PATIENCE)
    except (PartitionerError, FutureTimeout):
        future.cancel()
        return otherwise
