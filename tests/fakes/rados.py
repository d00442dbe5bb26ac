# SPDX-License-Identifier: LGPL-2.1-or-later
"""The names the module imports from librados' Python binding."""

from __future__ import annotations


class Error(Exception):
    """Stands for rados.Error."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class ObjectNotFound(Error):
    """Stands for rados.ObjectNotFound."""


class NoData(Error):
    """Stands for rados.NoData."""
