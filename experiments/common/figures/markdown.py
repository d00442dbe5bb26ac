# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of pages that are compared with their data: no cell's width moves the others' lines."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """One row a line; nothing without a row.

    :param left: so many columns, the first ones, are text; the others are numbers
    """
    lines = [_line(row) for row in rows]
    if not lines:
        return ""
    return "\n".join([_line(head), "|" + "---|" * left + "---:|" * (len(head) - left), *lines])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"
