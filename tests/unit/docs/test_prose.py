# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages are narrow enough for a terminal, and lead to the glossary."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[3]
DOCS = HOME / "docs"
GUIDES = sorted({*DOCS.glob("*.md"), *(DOCS / "runbooks").glob("*.md")} - {DOCS / "glossary.md"})
# What a program writes a cluster's results into has lines as it makes them.
PAGES = sorted(
    {*HOME.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("runbooks/*.md"), *DOCS.glob("results/*.md")}
)
COLUMNS = 100
NO_PROSE = re.compile(r"^```.*?^```|^(?: {4}|\|).*?$", re.MULTILINE | re.DOTALL)


def wide(text: str) -> Iterator[str]:
    """Lines of prose with more columns; tables, code and what cannot be broken may have them."""
    for line in NO_PROSE.sub("", text).splitlines():
        if len(line) > COLUMNS and " " in line.strip("- "):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))
def test_lines_of_a_page_fit(page: Path) -> None:
    assert list(wide(page.read_text())) == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(HOME)))
def test_a_page_leads_to_the_glossary(page: Path) -> None:
    assert re.search(r"\]\((\.\./)?glossary\.md[)#]", page.read_text())


def test_a_wide_line_is_found() -> None:
    words = "word " * 21
    assert list(wide(f"{words}\n| {words} |\n    {words}\n```\n{words}\n```\n- {'x' * 120}\nshort\n")) == [
        words
    ]
