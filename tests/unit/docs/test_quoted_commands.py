# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every command of the module that a page quotes is declared, with the arguments that it is quoted with."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.reference import parameters
from mds_partitioner.ceph.compat import Commands
from mds_partitioner.module import Module
from monitoring.alerts import ALERTS, Alert

HOME = Path(__file__).resolve().parents[3]
PAGES = sorted(
    {*HOME.glob("*.md"), *(HOME / "docs").glob("*.md"), *(HOME / "docs" / "runbooks").glob("*.md")}
)
DECLARED = {
    prefix.removeprefix("mds_partitioner "): {p.name: p for p in parameters(command.func)}
    for prefix, command in Commands.COMMANDS.items()
    if getattr(Module, command.func.__name__, None) is command.func
}
GROUPS = {prefix.split()[0] for prefix in DECLARED if " " in prefix}
BLOCK = re.compile(r"^ {4}ceph mds_partitioner (.*(?:\n {8,}[\[-].*)*)", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
WORLD = {"fs", "plan"}  # arguments that are given without their names


def quoted(text: str) -> Iterator[str]:
    """What a page says is typed after ``ceph mds_partitioner``, in blocks and in sentences."""
    yield from (re.sub(r"\s+#.*|\s*\n\s*", " ", line).strip() for line in BLOCK.findall(text))
    prose = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    for code in INLINE.findall(prose):
        words = re.sub(r"\s+", " ", code).strip().removeprefix("ceph mds_partitioner ")
        first, *rest = words.split()
        in_group = first in GROUPS and rest != [] and not rest[0].startswith("-")
        if in_group or (first in DECLARED and code.startswith("ceph mds_partitioner ")):
            yield words


def wrong(words: str) -> str:
    """What of a quoted command is not so; "" for nothing. Alternatives are written ``stop|start``."""
    command, *given = re.sub(r"[\[\]]", " ", words).split()
    names = [command]
    if command in GROUPS:
        names = [f"{command} {name}" for name in given.pop(0).split("|")]
    return next((told for name in names if (told := _wrong(name, given))), "")


def _wrong(name: str, given: list[str]) -> str:
    if name not in DECLARED:
        return f"there is no '{name}'"
    allowed, unnamed = DECLARED[name], 0
    words = iter(given)
    for word in words:
        if not word.startswith("-"):
            unnamed += 1
            continue
        flag = word.partition("=")[0].removeprefix("--").replace("-", "_") if word != "-i" else "inbuf"
        if flag not in allowed:
            return f"'{name}' takes no {word}"
        if "=" not in word and allowed[flag].annotation is not bool:
            next(words, None)
    most = len(WORLD & allowed.keys())
    return f"'{name}' takes {most} words, not {unnamed}" if unnamed > most else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HOME)))
def test_what_a_page_quotes_is_declared(page: Path) -> None:
    assert [(words, told) for words in quoted(page.read_text()) if (told := wrong(words))] == []


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_what_an_alert_quotes_is_declared_and_names_the_file_system(alert: Alert) -> None:
    """Where there are several, it is refused without."""
    text = "\n".join(alert.rule()["annotations"].values())
    for words in re.findall(r"(?<!\w)'([^']+)'", text):
        typed = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"\1", words.removeprefix("ceph mds_partitioner "))
        command, *given = typed.split()
        if command in GROUPS or command in DECLARED:
            assert wrong(typed) == ""
            name = f"{command} {given.pop(0)}" if command in GROUPS else command
            assert given[:1] == ["fs"] or "fs" not in DECLARED[name], words


def test_the_guide_waits_for_the_plan_that_is_rolled_back() -> None:
    """Without its name another one may be shown, for good."""
    disabling = (HOME / "docs" / "operators-guide.md").read_text().partition("\n## Disabling\n")[2]
    shown = [words for words in quoted(disabling) if words.startswith("partition status")]
    assert shown == ["partition status cephfs PLAN"]


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    text = (
        "    ceph mds_partitioner status   # all\n\nGive `partition\nstop` or `balance on|off`, not `make x`."
    )
    assert list(quoted(text)) == ["status", "partition stop", "balance on|off"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("partition start cephfs plan-1 --dry-run --top 5", ""),
        ("balance on [FS] [--policy lunule|greedyspill] [-i FILE]", ""),
        ("partition stop|halt", "there is no 'partition halt'"),
        ("scheduler stop --undo", "'scheduler stop' takes no --undo"),
        ("partition ls cephfs plan-1", "'partition ls' takes 1 words, not 2"),
    ],
)
def test_what_is_not_declared_is_told(words: str, told: str) -> None:
    assert wrong(words) == told
