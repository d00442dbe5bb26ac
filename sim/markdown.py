# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of Markdown for the papers' reports."""

from collections.abc import Iterable, Sequence

from prettytable import PrettyTable, TableStyle


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """One row a line."""
    found = PrettyTable(list(titles), align="l")
    found.set_style(TableStyle.MARKDOWN)
    found.add_rows([list(row) for row in rows])
    return str(found.get_string())


def yes(alike: bool) -> str:
    """For a column that says whether ours is as the paper's."""
    return "yes" if alike else "no"
