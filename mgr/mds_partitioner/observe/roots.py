# SPDX-License-Identifier: LGPL-2.1-or-later
"""Paths as they were typed, by what MDSs call them."""

from __future__ import annotations

from collections.abc import Iterable

from ..charmap import stays
from ..errors import CephError, NotFound
from ..filesystem import FileSystem
from ..mounts import LOST
from .directories import on_the_way


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
