# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every link and every anchor of the pages, and every page and module that is named, leads to something."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[3]
FOLDERS = ("demo", "experiments", "lab", "mds", "monitoring", "sim", "tests")
PAGES = sorted({*HOME.glob("*.md"), *(HOME / "docs").rglob("*.md")})
SOURCES = sorted(
    {
        HOME / "Makefile",
        HOME / "tox.ini",
        *(p for d in (*FOLDERS, "docs", "mgr") for p in (HOME / d).rglob("*.py")),
    }
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
NAMED = re.compile(r"(?<![\w./])(?:docs/[\w./-]+\.(?:md|png|json)|[A-Z]{4,}\.md)\b")
# `python3 -m NAME` as it is typed or written in a list, and names in quotes, which processes are started by.
RUN = re.compile(
    rf"""-m[ ",]+((?:docs|{"|".join(FOLDERS)})(?:\.\w+)*)|"((?:docs|experiments|lab)(?:\.\w+)+)\""""
)
CODE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+|`[^`]*`", re.MULTILINE | re.DOTALL)


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


def test_every_picture_is_shown_by_a_page() -> None:
    shown = {(page.parent / path).resolve() for page in PAGES for path in LINK.findall(page.read_text())}
    pictures = set((HOME / "docs").rglob("*.png"))
    assert sorted(str(picture.relative_to(HOME)) for picture in pictures - shown) == []
    assert pictures


def missing(text: str) -> set[str]:
    """Modules of ours that are run by their names, and are not there."""
    named = {name for found in RUN.findall(text) for name in found if name}
    places = {name: HOME / name.replace(".", "/") for name in named}
    return {
        name
        for name, place in places.items()
        if not place.with_suffix(".py").exists() and not (place / "__main__.py").exists()
    }


def test_modules_that_are_run_by_their_names_are_there() -> None:
    found = {str(path.relative_to(HOME)): missing(path.read_text()) for path in [*PAGES, *SOURCES]}
    assert {place: names for place, names in found.items() if names} == {}


def test_a_module_that_is_not_there_is_found() -> None:
    text = """`python3 -m X.none`, ["-m", "X.nothing"], b"X.nobody", "X.state", -m X, "-m", "docs.claims" """
    assert missing(text.replace("X", "lab")) == {f"lab.{name}" for name in ("none", "nothing", "nobody")}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` (c)\n## A\n## A\n[1](#a-b-c) [2](#a-1) [3](page.md#a) [4](#a-2) [5](none.md) `[6](x)`\n"
        "    [7](y)\n[8](https://example.com/none) [9](gone.md)\n"
    )
    assert list(broken(page)) == ["#a-2", "none.md", "gone.md"]
