# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a document holds what is rendered: between `<!-- claims: NAME -->` and `<!-- end -->`.

On lines of their own the marks hold a block, within a line a figure.
"""

import re
from collections.abc import Callable

from lab.errors import LabError

_OPEN = re.compile(r"<!-- claims: ([a-z0-9-]+) -->")
_END = "<!-- end -->"


def names(document: str) -> list[str]:
    """What a document claims, in its order."""
    return _OPEN.findall(document)


def filled(document: str, text_of: Callable[[str], str]) -> str:
    """A document with what is between its marks rendered anew. :raises LabError: a mark without an end"""
    parts, at = [], 0
    for mark in _OPEN.finditer(document):
        end = document.find(_END, mark.end())
        following = _OPEN.search(document, mark.end())
        if end < 0 or (following and following.start() < end):
            raise LabError(f"'{mark.group()}' has no '{_END}'")
        block = document.startswith("\n", mark.end())
        text = text_of(mark.group(1))
        parts += [document[at : mark.end()], f"\n{text}\n" if block else text]
        at = end
    return "".join([*parts, document[at:]])


def differences(document: str, text_of: Callable[[str], str]) -> list[str]:
    """The claims of a document that are not what is rendered."""
    wrong: list[str] = []

    def compared(name: str) -> str:
        text = text_of(name)
        for block in (f"\n{text}\n", text):
            if f"<!-- claims: {name} -->{block}{_END}" in document:
                return text
        wrong.append(name)
        return text

    filled(document, compared)
    return wrong
