# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for Ceph's mgr_util, so that the module can be imported outside a manager."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class CephfsConnectionException(Exception):
    """As in Ceph."""


class CephfsClient:
    """Never connects."""

    def __init__(self, mgr: Any) -> None:
        self.mgr = mgr


@contextmanager
def open_filesystem(fsc: CephfsClient, fs_name: str) -> Iterator[Any]:
    """There is no file system outside a cluster."""
    raise CephfsConnectionException(fs_name)
    yield


def get_default_addr() -> str:
    """As in Ceph."""
    return "::"


def build_url(host: str | None, scheme: str | None = None, port: int | None = None, path: str = "") -> str:
    """As in Ceph, for what the module asks of it."""
    return f"{scheme}://{host}:{port}{path}"
