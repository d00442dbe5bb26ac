# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a document holds what is rendered: between `<!-- claims: NAME -->` and `<!-- end -->`.

On lines of their own the marks hold a block, within a line a figure.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lab.errors import LabError

_OPEN = re.compile(r"<!-- claims: ([a-z0-9-]+) -->")
_END = "<!-- end -->"


@dataclass(frozen=True)
class Place:
    """What is between two marks: from a letter of the document to another."""

    name: str
    start: int
    end: int
    block: bool

    def holds(self, text: str) -> str:
        """A text as it stands here."""
        return f"\n{text}\n" if self.block else text


def places(document: str) -> list[Place]:
    """All of a document, in its order. :raises LabError: a mark without an end"""
    found = []
    for mark in _OPEN.finditer(document):
        end = document.find(_END, mark.end())
        following = _OPEN.search(document, mark.end())
        if end < 0 or (following and following.start() < end):
            raise LabError(f"'{mark.group()}' has no '{_END}'")
        found.append(Place(mark.group(1), mark.end(), end, document.startswith("\n", mark.end())))
    return found


def filled(document: str, text_of: Callable[[str], str]) -> str:
    """A document with what is between its marks rendered anew."""
    parts, at = [], 0
    for place in places(document):
        parts += [document[at : place.start], place.holds(text_of(place.name))]
        at = place.end
    return "".join([*parts, document[at:]])


def differences(document: str, text_of: Callable[[str], str]) -> list[str]:
    """The claims of a document that are not what is rendered."""
    return [
        place.name
        for place in places(document)
        if document[place.start : place.end] != place.holds(text_of(place.name))
    ]
