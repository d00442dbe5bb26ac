# SPDX-License-Identifier: LGPL-2.1-or-later
"""dbench's load files: what one Windows client did, an operation a line (dbench 4, client.txt).

    NTCreateX "\\clients\\client1\\FILLER.000" 0x40 0x2 9938 NT_STATUS_OK

An operation, paths, numbers, and the status that the server had answered with.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_PATH = re.compile(r'"([^"]*)"')
# The data path is left out, as in Lunule's evaluation.
DATA = frozenset({"ReadX", "WriteX"})


@dataclass(frozen=True)
class Operation:
    """One line."""

    name: str
    paths: tuple[str, ...]
    """With slashes, and in small letters: to the client that was recorded, case made no difference."""
    numbers: tuple[int, ...]
    status: str

    @property
    def fine(self) -> bool:
        """Whether it was done; else the name was not there."""
        return self.status == "NT_STATUS_OK"


def operations(lines: Iterable[str]) -> Iterator[Operation]:
    """The metadata operations of a load file, in order."""
    for line in lines:
        name, _, rest = line.strip().partition(" ")
        if not name or name.startswith("#") or name in DATA:
            continue
        paths = tuple(path.replace("\\", "/").lower() for path in _PATH.findall(rest))
        *numbers, status = _PATH.sub("", rest).split()
        yield Operation(name, paths, tuple(int(number, 0) for number in numbers), status)
