# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine may die, hang or lie; the caller gets a sentence, and the next call a new engine."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_cluster import SETTINGS

from mds_partitioner import engine_client
from mds_partitioner.engine_client import EngineClient
from mds_partitioner.errors import BadInput, PartitionerError, Unavailable


def client(**changes: object) -> EngineClient:
    settings = replace(SETTINGS, **changes)
    return EngineClient(lambda: settings, logging.getLogger("engine"))


def program(tmp_path: Path, text: str) -> str:
    """An interpreter that runs ``text`` in the engine's place."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_one_process_answers_many_calls() -> None:
    engine = client()
    try:
        assert engine.call("ping", {})["pid"] == engine.call("ping", {})["pid"]
    finally:
        engine.shutdown()


@pytest.mark.parametrize("changed", [{"engine_nice": 11}, {"engine_memory": 1 << 30}])
def test_an_option_that_is_changed_takes_effect_at_the_next_call(changed: dict[str, int]) -> None:
    settings = [SETTINGS]
    engine = EngineClient(lambda: settings[-1], logging.getLogger("engine"))
    try:
        pid = engine.call("ping", {})["pid"]
        settings.append(replace(SETTINGS, **changed))
        assert engine.call("ping", {})["pid"] != pid
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        engine.shutdown()


def test_an_engine_that_ran_out_of_memory_is_replaced(tmp_path: Path) -> None:
    told = json.dumps({"id": 1, "ok": False, "error": {"kind": "no_memory", "message": "too little"}})
    engine = client(engine_python=program(tmp_path, f"read line; echo '{told}'; exec cat"))
    with pytest.raises(PartitionerError, match="too little") as failed:
        engine.call("ping", {})
    assert (failed.value.code, engine._process) == (errno.ENOMEM, None)


def test_a_killed_engine_is_replaced() -> None:
    engine = client()
    try:
        pid = engine.call("ping", {})["pid"]
        os.kill(pid, signal.SIGKILL)
        try:
            again = engine.call("ping", {})
        except Unavailable:
            again = engine.call("ping", {})
        assert again["pid"] != pid
    finally:
        engine.shutdown()


def test_a_hung_engine_is_given_up_at_the_deadline_and_replaced() -> None:
    settings = [SETTINGS]
    engine = EngineClient(lambda: settings[-1], logging.getLogger("engine"))
    try:
        pid = engine.call("ping", {})["pid"]
        os.kill(pid, signal.SIGSTOP)
        settings.append(replace(SETTINGS, engine_deadline=1))
        with pytest.raises(Unavailable, match="no answer within 1 s"):
            engine.call("ping", {})
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        engine.shutdown()


@pytest.mark.parametrize(
    "text",
    [
        "read line; echo nonsense; cat",
        'read line; echo "{}"; cat',
        'read line; echo \'{"id": 99, "ok": true, "result": {}}\'; cat',
        "exit 3",
        "echo 'no module named numpy' >&2; exit 1",
    ],
)
def test_an_engine_that_answers_nonsense_or_ends_fails_the_call(tmp_path: Path, text: str) -> None:
    engine = client(engine_python=program(tmp_path, text))
    with pytest.raises(Unavailable, match="the engine failed at 'ping'"):
        engine.call("ping", {})
    engine.shutdown()


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(Unavailable, match="engine_python"):
        client(engine_python="/no/such/python").call("ping", {})


def test_what_the_engine_refuses_is_the_callers_bad_input() -> None:
    engine = client()
    try:
        with pytest.raises(BadInput, match="loads"):
            engine.call("judge", {"ranks": [0], "loads": "x"})
    finally:
        engine.shutdown()


def test_whoever_waits_for_its_turn_waits_no_longer_than_its_own_deadline(tmp_path: Path) -> None:
    settings = [replace(SETTINGS, engine_python=program(tmp_path, "exec cat > /dev/null"))]
    engine = EngineClient(lambda: settings[-1], logging.getLogger("engine"))
    try:
        hung = threading.Thread(target=judge_in_vain, args=(engine,))
        hung.start()
        while engine._process is None:
            pass
        settings.append(replace(settings[0], engine_deadline=0))
        with pytest.raises(Unavailable, match="busy with 'judge' for 0 s: 'ping' was not begun"):
            engine.call("ping", {})
    finally:
        engine.shutdown()  # does not wait for the hung one either
    hung.join(60)
    assert not hung.is_alive()
    settings.append(SETTINGS)
    with pytest.raises(Unavailable, match="the module ends"):
        engine.call("ping", {})


def test_the_wait_for_ones_turn_takes_nothing_from_the_time_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = [0.0]

    class Turn:
        """Comes when all the time that one waits for it has passed."""

        def acquire(self, timeout: float) -> bool:
            late.append(timeout)
            return True

        def release(self) -> None:
            pass

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    engine = client()
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(late))
    monkeypatch.setattr(engine, "_turn", Turn())
    monkeypatch.setattr(engine_client, "time", clock)
    try:
        assert engine.call("ping", {})["pid"]
    finally:
        engine.shutdown()


class Stuck:
    """A process that the kernel does not let end."""

    pid = 1

    def __init__(self) -> None:
        self.stdin = self.stdout = None
        self.killed = 0

    def poll(self) -> None:
        """It runs."""

    def kill(self) -> None:
        """In vain."""
        self.killed += 1

    def wait(self, timeout: float) -> int:
        """For ever, without a timeout."""
        raise subprocess.TimeoutExpired("engine", timeout)


def test_a_process_that_was_killed_and_does_not_end_is_left_behind() -> None:
    engine, stuck = client(), Stuck()
    vars(engine)["_process"] = stuck
    try:
        assert engine.call("ping", {})["pid"] != stuck.pid
        assert stuck.killed == 1
    finally:
        engine.shutdown()


def test_the_end_of_the_module_waits_for_nobody_who_does_not_give_up_his_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_client, "LEAVES", 0.0)
    engine, stuck = client(), Stuck()
    vars(engine)["_process"] = stuck
    with engine._turn:
        ending = threading.Thread(target=engine.shutdown)
        ending.start()
        ending.join(20.0)
        assert not ending.is_alive()
    assert stuck.killed == 1


def judge_in_vain(engine: EngineClient) -> None:
    with pytest.raises(Unavailable, match="it ended"):
        engine.call("judge", {})
