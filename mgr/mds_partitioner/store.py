# SPDX-License-Identifier: LGPL-2.1-or-later
"""What outlives a manager."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

FORMAT = 1
"""Of every record. It grows when the versions before would misread what is written."""
_FIELD = "format"
_FSCID = re.compile("[0-9]{1,18}")


class NewerFormat(ValueError):
    """A record that a later version of the module wrote: nobody knows here what it means."""


def marked(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its format. In all formats the field is there, and a plan's name is beside it."""
    return {_FIELD: FORMAT, **record}


def unmarked(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without its format; the first versions wrote none. :raises NewerFormat: see there"""
    rest = dict(record)
    found = rest.pop(_FIELD, 1)
    if found not in range(1, FORMAT + 1):
        raise NewerFormat(
            f"a later version of the module wrote it (format {found!r}; this one reads up to {FORMAT}), "
            "and goes on with it when it is installed again"
        )
    return rest


def by_fs(keys: Iterable[str], prefix: str) -> Iterator[tuple[int, str, str]]:
    """Of the keys that are PREFIX, a file system's id, and perhaps more after a slash: the id, the rest, the
    key. What has another form is none of ours, and left alone."""
    for key in sorted(keys):
        fscid, _, rest = key.removeprefix(prefix).partition("/")
        if _FSCID.fullmatch(fscid):
            yield int(fscid), rest, key


class Store(Protocol):
    """Durable keys and values (``mon.KeyValue``)."""

    def put(self, key: str, value: str) -> None: ...
    def delete(self, key: str) -> None: ...
    def items(self, prefix: str) -> dict[str, str]: ...
