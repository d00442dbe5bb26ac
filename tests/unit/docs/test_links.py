# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every link and every anchor of the pages, and every page that a source names, leads to something."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[3]
PAGES = sorted({*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")})
SOURCES = sorted(
    {HOME / "Makefile", *(p for d in ("mgr", "lab", "sim", "mds", "tests") for p in (HOME / d).rglob("*.py"))}
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
NAMED = re.compile(r"(?<![\w./])(?:docs/[\w./-]+\.(?:md|png|json)|[A-Z]{4,}\.md)\b")
CODE = re.compile(r"^```.*?^```|^(?: {4}.*\n)+|`[^`]*`", re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """As GitHub makes it of a heading."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown).strip().lower().replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Of all headings of a page; a second one of a name has a number."""
    made: list[str] = []
    for heading in re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.MULTILINE
    ):
        name = anchor(heading)
        times = sum(re.sub(r"-\d+$", "", other) == name for other in made)
        made.append(f"{name}-{times}" if times else name)
    return set(made)


def broken(page: Path) -> Iterator[str]:
    """Links of a page that lead nowhere."""
    for target in LINK.findall(CODE.sub("", page.read_text())):
        path, _, name = target.partition("#")
        there = page.parent / path if path else page
        if ELSEWHERE.match(target):
            continue
        if not there.exists() or (name and name not in anchors(there.read_text())):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))
def test_every_link_of_a_page_leads_to_something(page: Path) -> None:
    assert list(broken(page)) == []


def test_pages_that_sources_name_are_there() -> None:
    found = ((source.name, name) for source in SOURCES for name in NAMED.findall(source.read_text()))
    named = {(source, name) for source, name in found if name.endswith(".md")}
    assert [(source, name) for source, name in sorted(named) if not (HOME / name).exists()] == []
    assert len(named) > 10, "or nothing was found at all"


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` (c)\n## A\n## A\n[1](#a-b-c) [2](#a-1) [3](page.md#a) [4](#a-2) [5](none.md) `[6](x)`\n"
        "    [7](y)\n[8](https://example.com/none)\n"
    )
    assert list(broken(page)) == ["#a-2", "none.md"]
