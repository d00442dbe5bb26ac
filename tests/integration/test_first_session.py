# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first session of the operator's guide, typed as it stands there, on a cluster with the package."""

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import FS, OPTIONS, Cluster, at_work, wait_for

from lab.clients.spec import LoadSpec

GUIDE = Path(__file__).parents[2] / "docs/operators-guide.md"
LEFT_OUT = "..."


@dataclass(frozen=True)
class Typed:
    """A command of the guide, and the lines below it: what it shows."""

    command: str
    shown: tuple[str, ...]


def session(text: str) -> list[Typed]:
    """What is typed in the guide's first session."""
    found: list[Typed] = []
    section = text.partition("## A first session")[2].partition("\n## ")[0]
    for line in re.findall(r"^ {4}(.*)", section, re.MULTILINE):
        if line.startswith("ceph "):
            found.append(Typed(re.sub(r"\s+#.*", "", line), ()))
        elif line.strip() not in ("", LEFT_OUT):
            found[-1] = Typed(found[-1].command, (*found[-1].shown, line))
    return found


def shape(line: str) -> tuple[str, ...]:
    """What is alike whenever it is typed: headings and sentences, not amounts and names."""
    cells = re.split(r"\s{2,}", line.strip())
    if len(cells) > 2 and re.search(r"\d", line):
        return tuple("N" if re.match(r"[\d-]", cell) else "word" for cell in cells)
    return tuple(re.sub(r"\d[\d,.]*", "N", cell) for cell in cells)


def alike(said: str, shown: str) -> bool:
    """Has a line the shape that the guide shows? Where the guide's ends with ``...``, as far as it goes."""
    have, wanted = shape(said), shape(shown.removesuffix(LEFT_OUT))
    if shown.endswith(LEFT_OUT):
        last = len(wanted) - 1
        return have[:last] == wanted[:last] and "".join(have[last:]).startswith(wanted[last])
    return have == wanted


def shows(said: str, shown: tuple[str, ...]) -> str:
    """The first line of the guide that has nothing like it in what was said, in their order; "" for none."""
    lines = iter(said.splitlines())
    return next((line for line in shown if not any(alike(other, line) for other in lines)), "")


def type_in(cluster: Cluster, command: str) -> str:
    """What it says. One that goes on (EINPROGRESS) is given again, as it asks for."""
    while True:
        done = cluster.lab.exec(["sh", "-c", command], timeout=120, check=False)
        if done.returncode != errno.EINPROGRESS:
            assert done.returncode == 0, f"{command}: {done.stderr}"
            return f"{done.stdout}\n{done.stderr}"


def wait_after(cluster: Cluster, command: str) -> None:
    """What an operator waits for before the next command."""
    if command.startswith("ceph mgr module enable"):
        wait_for("the module answers", cluster.module_answers)
    elif "analyze start" in command:
        wait_for("the analysis is over", lambda: cluster.module_json("analyze status")["state"] == "finished")
    elif "partition start" in command and "--dry-run" not in command:
        cluster.wait_state("done")
    elif "partition rollback" in command:
        cluster.wait_state("rolled-back")


@pytest.fixture
def untouched_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """With the module's own options, and the module not enabled."""
    for name in OPTIONS:
        cluster.lab.monitor.command("config rm", who="mgr", name=f"mgr/mds_partitioner/{name}")
    cluster.lab.monitor.command("mgr module disable", module="mds_partitioner")
    yield cluster
    cluster.lab.monitor.command("mgr module enable", module="mds_partitioner")
    cluster.set(**OPTIONS)
    wait_for("the module answers", cluster.module_answers)


def test_the_guides_first_session_word_for_word(untouched_cluster: Cluster, load: LoadSpec) -> None:
    cluster = untouched_cluster
    before, settings = cluster.pins(), cluster.fs_settings()
    said: dict[str, str] = {}
    with at_work(cluster, load):
        for typed in session(GUIDE.read_text()):
            said[typed.command] = type_in(cluster, typed.command)
            assert shows(said[typed.command], typed.shown) == "", said[typed.command]
            wait_after(cluster, typed.command)
    assert len(said) >= 8
    assert (cluster.pins(), cluster.fs_settings()) == (before, settings)
    assert cluster.plans()[-1]["state"] == "rolled-back" and f"'{FS}'" in " ".join(said.values())
