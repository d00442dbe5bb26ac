# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and prose of Markdown for reports."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from prettytable import PrettyTable, TableStyle

WIDTH = 100


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], left: int | None = None) -> str:
    """One row a line; its columns are aligned for those who read it as it is.

    :param left: so many columns, the first ones, are text, the others are numbers; None: all are text
    """
    found = PrettyTable(list(titles), align="l")
    found.set_style(TableStyle.MARKDOWN)
    for title in titles[len(titles) if left is None else left :]:
        found.align[title] = "r"
    found.add_rows([list(row) for row in rows])
    return str(found.get_string())


def yes(alike: bool) -> str:
    """For a column that says whether ours is as the paper's."""
    return "yes" if alike else "no"


def wrapped(text: str) -> str:
    """Paragraphs with too long a line are filled again; tables, titles, code are left as they are."""
    found: list[str] = []
    for whole, lines in groupby(_marked(text.split("\n")), key=lambda marked: marked[0]):
        block = [line for _, line in lines]
        found += block if whole < 0 or max(map(len, block)) <= WIDTH else _filled(block)
    return "\n".join(found)


def _marked(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each line with its paragraph's number; -1: it is none's."""
    code, number = False, 0
    for line in lines:
        fence = line.startswith("```")
        code ^= fence
        number += line.startswith("- ") or not line
        yield (-1 if fence or code or not line or line.startswith(("|", "#", "    ", "![")) else number), line


def _filled(lines: Sequence[str]) -> list[str]:
    indent = "  " if lines[0].startswith("- ") else ""
    text = " ".join(line.strip() for line in lines)
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
