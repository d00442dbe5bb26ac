# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for Ceph's mgr_util, so that the module can be imported outside a manager."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CephfsConnectionException(Exception):
    """As in Ceph."""

    def __init__(self, error_code: int, error_message: str) -> None:
        super().__init__(error_code, error_message)
        self.errno, self.error_str = error_code, error_message


class CephfsConnectionPool:
    """Counts nothing; unmounts when it is told to."""

    def __init__(self) -> None:
        self.timer_task = threading.Timer(3600.0, lambda: None)  # never started


class CephfsClient:
    """Mounts what its manager has in ``mounts``, by name: objects with libcephfs' methods."""

    def __init__(self, mgr: Any) -> None:
        self.mgr = mgr
        self.connection_pool = CephfsConnectionPool()
        self.calls = 0  # under way
        self.unmounted = threading.Event()

    def shutdown(self) -> None:
        """Unmount. Ceph's takes mounts off its list and waits for the calls on them, which look for theirs in
        that list when they end: so it waits for ever."""
        if not self.calls:
            self.unmounted.set()


@contextmanager
def open_filesystem(fsc: CephfsClient, fs_name: str) -> Iterator[Any]:
    """A mount of the name, if the manager has one."""
    mounts = getattr(fsc.mgr, "mounts", {})
    if fs_name not in mounts:
        raise CephfsConnectionException(-2, f"FS '{fs_name}' not found")
    fsc.calls += 1
    try:
        yield mounts[fs_name]
    finally:
        fsc.calls -= 1


def get_default_addr() -> str:
    """As in Ceph."""
    return "::"


def build_url(host: str | None, scheme: str | None = None, port: int | None = None, path: str = "") -> str:
    """As in Ceph, for what the module asks of it."""
    return f"{scheme}://{host}:{port}{path}"
