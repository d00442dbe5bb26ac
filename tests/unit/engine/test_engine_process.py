# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine as a process: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_plans import arguments, with_classes

HOME = Path(__file__).resolve().parents[3] / "mgr" / "mds_partitioner"
ROOM = 1 << 30
USUAL = {"id": 1, "call": "plan", "args": with_classes(arguments([[0]] * 4))}


class Engine:
    """One engine process."""

    def __init__(self, memory_limit: int = ROOM, nice: int = 0) -> None:
        command = [sys.executable, "-m", "engine", "--nice", str(nice), "--memory-limit", str(memory_limit)]
        env = os.environ | {"PYTHONPATH": str(HOME)}
        self.child = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, line: bytes) -> Any:
        assert self.child.stdin is not None and self.child.stdout is not None
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def ask(self, number: int, call: str, args: Any) -> Any:
        return self.say(json.dumps({"id": number, "call": call, "args": args}).encode())

    def end(self) -> tuple[bytes, int]:
        """What it still wrote after the end of its input, and its exit code."""
        rest, _ = self.child.communicate()
        return rest, self.child.returncode


@pytest.fixture
def engine() -> Iterator[Engine]:
    process = Engine()
    yield process
    process.child.kill()
    process.child.communicate()


def test_ping_tells_versions(engine: Engine) -> None:
    reply = engine.ask(7, "ping", {})
    assert reply["id"] == 7
    assert reply["ok"] is True
    assert reply["result"]["pid"] == engine.child.pid
    assert reply["result"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(reply["result"]) == {"python", "numpy", "sklearn", "scipy", "pid", "rss"}


def test_requests_in_a_row_are_answered_in_order(engine: Engine) -> None:
    first, second = engine.say(json.dumps(USUAL).encode()), engine.ask(2, "ping", {})
    assert first["result"]["new"] == [[0, 1], [2], [2], [2]]
    assert (first["id"], second["id"]) == (1, 2)


def test_the_end_of_its_input_ends_it_without_another_word(engine: Engine) -> None:
    engine.ask(1, "ping", {})
    assert engine.end() == (b"", 0)


@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        (b"no json", None, "not JSON"),
        (b"", None, "not JSON"),
        (b"\xff\xfe", None, "not JSON"),
        (b"[" * 100_000, None, "not JSON"),
        (b"[1, 2]", None, "allowed: an object"),
        (b'{"call": "ping", "args": {}}', None, "id is None"),
        (b'{"id": true, "call": "ping", "args": {}}', None, "id is True"),
        (
            b'{"id": 3, "call": "fly", "args": {}}',
            3,
            "call is 'fly'; allowed: analyze, capacities, classify, judge, order, ping",
        ),
        (b'{"id": 4, "call": "ping"}', 4, "args is None"),
        (b'{"id": 5, "call": "ping", "args": {"loud": 1}}', 5, "unknown argument 'loud'"),
        (b'{"id": 6, "call": "judge", "args": {"ranks": [0]}}', 6, "loads is missing"),
    ],
)
def test_a_bad_request_is_answered_and_the_next_one_served(
    engine: Engine, line: bytes, number: int | None, message: str
) -> None:
    reply = engine.say(line)
    assert reply["id"] == number
    assert reply["ok"] is False
    assert reply["error"]["kind"] == "bad_input"
    assert message in reply["error"]["message"]
    assert engine.ask(9, "ping", {})["ok"] is True


def test_nan_in_a_request_is_bad_input(engine: Engine) -> None:
    args = arguments([[0]] * 4, wss=[1, 2, 3, float("nan")])
    reply = engine.ask(1, "plan", args)
    assert reply["error"]["kind"] == "bad_input"
    assert "subvolumes.wss[3] is nan" in reply["error"]["message"]


def test_a_request_too_large_for_its_memory_is_answered_and_the_next_one_served() -> None:
    small = Engine(memory_limit=600 << 20)
    try:
        assert small.ask(1, "ping", {})["ok"] is True
        reply = small.say(b'{"id": 2, "call": "ping", "args": {"x": "' + b"x" * (700 << 20) + b'"}}')
        assert reply["error"]["kind"] == "no_memory"
        assert small.ask(3, "ping", {})["ok"] is True
    finally:
        small.child.kill()
        small.child.communicate()


def test_a_computation_too_large_for_its_memory_is_answered_and_the_next_one_served() -> None:
    small = Engine(memory_limit=600 << 20)
    try:
        ranks = list(range(20_000))
        usual: dict[str, Any] = {
            "capacity": 0,
            "learned_capacity": None,
            "least_capacity": None,
            "smoothness": 0.2,
            "threshold": 0.075,
        }
        table = [[1.0]] * len(ranks)
        args = {**usual, "ranks": ranks, "loads": table, "latency": table, "fetches": table, "moved": table}
        reply = small.ask(1, "judge", {**args, "role_threshold": 0.01, "epoch_capacity": None, "mask": None})
        assert reply["error"]["kind"] == "no_memory"
        assert small.ask(2, "ping", {})["ok"] is True
    finally:
        small.child.kill()
        small.child.communicate()


def test_it_is_nice() -> None:
    process = Engine(nice=7)
    try:
        process.ask(1, "ping", {})
        nicest = 19  # these tests may be nice themselves
        wanted = min(nicest, os.getpriority(os.PRIO_PROCESS, 0) + 7)
        assert os.getpriority(os.PRIO_PROCESS, process.child.pid) == wanted
    finally:
        process.child.kill()
        process.child.communicate()


def test_a_python_without_the_libraries_names_the_packages_and_the_option() -> None:
    command = [sys.executable, "-S", "-m", "engine", "--nice", "0", "--memory-limit", "0"]  # no site-packages
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(HOME)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "install python3-numpy python3-scipy python3-sklearn (Debian's names; elsewhere" in done.stderr
    assert done.stderr.endswith("by the option engine_python\n")
