# SPDX-License-Identifier: LGPL-2.1-or-later
"""Apache access logs (common or combined format): which files their requests were for."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE = re.compile(r'^\S+ \S+ \S+ \[[^]]+\] "(?:GET|HEAD) (/\S*) HTTP/[\d.]+" (\d{3}) ')
_FOUND = frozenset({200, 206, 304})


@dataclass(frozen=True)
class Request:
    """One request for a file below the document root."""

    path: str
    found: bool
    """False: the server answered 404."""


def requests(lines: Iterable[str]) -> Iterator[Request]:
    """The requests that lead to a file, in order; a directory is its index.html, a query is cut off.

    Other methods, redirections and failures of the server are left out: they name no file.
    """
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        path, status = match[1].partition("?")[0], int(match[2])
        if status in _FOUND or status == 404:
            yield Request(path + "index.html" if path.endswith("/") else path, status != 404)


def files(lines: Iterable[str]) -> list[str]:
    """The files that must be there for a log to be replayed, each once."""
    return list(dict.fromkeys(request.path for request in requests(lines) if request.found))
