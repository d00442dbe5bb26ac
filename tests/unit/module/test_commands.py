# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command layer: what the manager registers, and what every command has in common."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from typing import Any

import pytest
from mgr_module import HandleCommandResult

from mds_partitioner import desk
from mds_partitioner.ceph.compat import Commands
from mds_partitioner.commands.analyze import parse_directories
from mds_partitioner.commands.declare import Answer, Services, reads
from mds_partitioner.errors import BadInput, Busy, NotFound
from mds_partitioner.module import Module
from mds_partitioner.report.text import TOP

READING = {"status", "imbalance", "analyze status", "partition status", "partition ls", "balance status"}
READING |= {"scheduler status", "scheduler history", "hotspots"}
WRITING = {
    *("analyze start", "analyze stop", "balance on", "balance off"),
    *("partition plan", "partition start", "partition pause", "partition resume", "partition stop"),
    *("partition rollback", "partition rm", "scheduler start", "scheduler stop"),
}


class Nowhere:
    """A host without file systems."""

    def fs(self, name: str) -> None:
        """Host.fs."""
        raise NotFound(name)


class Tried(Services):
    """A module with one command."""

    host: Any = Nowhere()

    def __init__(self) -> None:
        self.desk = desk.Desk()
        self.done: list[str] = []
        self.woken = 0

    def wake(self) -> None:
        """Counts."""
        self.woken += 1

    @reads("tried")
    def tried(self, fs: str = "a", format: str = "table", top: int = TOP) -> Answer:
        """Try it"""
        self.done.append(fs)
        if fs == "busy":
            raise Busy("it is busy")
        return Answer({"fs": fs}, f"this is {fs}")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tried]:
    monkeypatch.setattr(desk, "PATIENCE", 600.0)  # s: however busy this machine is
    module = Tried()
    yield module
    module.desk.shutdown()


def test_the_manager_registers_every_command_with_its_permission() -> None:
    assert Commands is Module.CLICommand
    ours = {p.removeprefix("mds_partitioner "): c.perm for p, c in Commands.COMMANDS.items()}
    ours.pop("tried")
    assert ours == {**dict.fromkeys(READING, "r"), **dict.fromkeys(WRITING, "w")}


@pytest.mark.parametrize("name", sorted(READING | WRITING))
def test_a_command_is_a_method_of_the_module_with_help_and_a_format(name: str) -> None:
    command = Commands.COMMANDS[f"mds_partitioner {name}"]
    assert getattr(Module, command.func.__name__) is command.func
    assert len(command.desc) > 20
    assert command.args["format"] is str


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "this is a"),
        ({"format": "plain", "fs": "b"}, "this is b"),
        ({"format": "json"}, json.dumps({"fs": "a"})),
        ({"format": "yaml"}, "fs: a\n"),
    ],
)
def test_an_answer_is_rendered_as_asked(tried: Tried, given: dict[str, Any], said: str) -> None:
    assert tried.tried(**given) == HandleCommandResult(0, said, "")
    assert tried.woken == 1


def test_an_unknown_format_is_refused_before_anything_is_done(tried: Tried) -> None:
    answer = tried.tried(format="pigeon")
    assert (answer.retval, answer.stdout) == (-errno.EINVAL, "")
    assert "pigeon" in answer.stderr and "json" in answer.stderr
    assert tried.done == []


@pytest.mark.parametrize("top", [-1, -20])
def test_a_number_of_rows_that_is_none_is_refused_before_anything_is_done(tried: Tried, top: int) -> None:
    answer = tried.tried(top=top)
    assert (answer.retval, answer.stdout) == (-errno.EINVAL, "")
    assert str(top) in answer.stderr and "0 for all" in answer.stderr
    assert tried.done == []


def test_what_a_service_refuses_is_the_errno_and_a_sentence(tried: Tried) -> None:
    assert tried.tried(fs="busy") == HandleCommandResult(-errno.EBUSY, "", "it is busy")


def test_an_answer_is_utf8_whatever_name_is_in_it(tried: Tried) -> None:
    assert tried.tried(fs="\udcff") == HandleCommandResult(0, "this is \\udcff", "")


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("/a b", ["/a b"]),
        ('["/a", "/\\udcff\\udce9"]', ["/a", "/\udcff\udce9"]),
        (None, []),
    ],
)
def test_directories_are_a_path_or_a_list_of_whatever_bytes(given: str | None, paths: list[str]) -> None:
    assert parse_directories(given) == paths


@pytest.mark.parametrize(
    "given",
    ["a", "[]", "[", '["a"]', "[1]", '{"/a": 1}', '["/a\\u0000b"]', "/a\0b", '["/\\ud800"]', "[" * 100_000],
)
def test_what_no_directory_can_be_called_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match="give an absolute path or a JSON list"):
        parse_directories(given)
