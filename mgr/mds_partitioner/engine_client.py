# SPDX-License-Identifier: LGPL-2.1-or-later
"""The engine as a child process: started on demand, and anew after a failure or with other options; never
waited for endlessly."""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import BadInput, PartitionerError, Unavailable
from .options import Settings

HOME = Path(__file__).parent
CHUNK = 1 << 16
LEAVES = 5.0  # s in which a process that was killed ends, unless the kernel does not let it
TAIL = 5  # lines of the engine's standard error that an error message may quote the last of


class EngineClient:
    """One engine process; one request at a time."""

    def __init__(self, settings: Callable[[], Settings], log: logging.Logger) -> None:
        self._settings = settings
        self._log = log
        self._turn = threading.Lock()  # whoever has it talks to the engine
        self._under_way = ""
        self._ended = False
        self._process: subprocess.Popen[bytes] | None = None
        self._argv: list[str] = []  # of that process
        self._ids = itertools.count(1)
        self._complaints: list[str] = []

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the engine. Waits ``engine_deadline`` for its turn, and as long for the answer.

        :raises BadInput: the engine refused the arguments
        :raises Unavailable: it died, hung or answered nonsense: the next call gets a new one; or it was busy
        """
        seconds = self._settings().engine_deadline
        if not self._turn.acquire(timeout=seconds):
            raise Unavailable(
                f"the engine was busy with '{self._under_way}' for {seconds:g} s: '{name}' was not begun"
            )
        try:
            self._under_way = name
            return self._ask(name, arguments, time.monotonic() + seconds)
        finally:
            self._turn.release()

    def shutdown(self) -> None:
        """End the process if there is one, and whatever waits for it."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()  # whoever waits for its answer sees its output end
        if self._turn.acquire(timeout=LEAVES):
            try:
                self._end()
            finally:
                self._turn.release()

    def _ask(self, name: str, arguments: dict[str, Any], ends: float) -> dict[str, Any]:
        number = next(self._ids)
        request = json.dumps({"id": number, "call": name, "args": arguments}).encode() + b"\n"
        try:
            return _result(self._exchange(request, ends), number)
        except _EngineFailure as e:
            self._end()
            raise Unavailable(f"the engine failed at '{name}': {e}; it will be started again") from e
        except PartitionerError as e:
            if e.code == errno.ENOMEM:
                self._end()  # what it holds on to would be missing at the next call
            raise

    def _exchange(self, request: bytes, deadline: float) -> bytes:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        sender = threading.Thread(target=self._send, args=(process, request), daemon=True)
        sender.start()
        answer = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not answer.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise _EngineFailure(f"no answer within {self._settings().engine_deadline:g} s")
                chunk = os.read(process.stdout.fileno(), CHUNK)
                if not chunk:
                    raise _EngineFailure(f"it ended ({self._last_words(process)})")
                answer += chunk
        return bytes(answer)

    def _send(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        # A dead engine shows as end of file on the reading side, which is where it is reported.
        try:
            assert process.stdin is not None
            process.stdin.write(request)
            process.stdin.flush()
        except (OSError, ValueError) as e:
            self._log.debug("engine: cannot send: %s", e)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._ended:
            raise _EngineFailure("the module ends")
        s = self._settings()
        argv = [s.engine_python, "-m", "engine", "--nice", str(s.engine_nice)]
        argv += ["--memory-limit", str(s.engine_memory)]
        if self._process is not None and self._process.poll() is None and self._argv == argv:
            return self._process
        self._end()
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "PYTHONPATH": str(HOME)}
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", env=environment)
        except OSError as e:
            raise _EngineFailure(f"cannot run '{s.engine_python}' (option engine_python): {e}") from e
        self._process, self._argv = process, argv
        if self._ended:  # meanwhile
            process.kill()
        self._complaints = []
        threading.Thread(target=self._listen, args=(process, self._complaints), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[bytes], complaints: list[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            text = line.decode(errors="replace").rstrip()
            self._log.warning("engine: %s", text)
            complaints.append(text)
            del complaints[:-TAIL]

    def _last_words(self, process: subprocess.Popen[bytes]) -> str:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            return "its output was closed"
        return self._complaints[-1] if self._complaints else f"exit code {process.returncode}"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        try:
            process.wait(LEAVES)
        except subprocess.TimeoutExpired:  # who sends to it may wait as long, and has its pipe
            self._log.warning("engine: process %d was killed and does not end: it is left", process.pid)
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError as e:
                    self._log.debug("engine: %s", e)


class _EngineFailure(Exception):
    """The process is of no more use."""


def _result(line: bytes, number: int) -> dict[str, Any]:
    try:
        answer = json.loads(line)
        if answer["id"] != number:
            raise _EngineFailure(f"it answered request {answer['id']}, not {number}")
        if answer["ok"]:
            return dict(answer["result"])
        error = answer["error"]
        kind, message = error["kind"], str(error["message"])
    except (ValueError, KeyError, TypeError) as e:
        raise _EngineFailure(f"it answered nonsense: {line[:80]!r}") from e
    if kind == "bad_input":
        raise BadInput(message)
    raise PartitionerError(
        f"the engine could not finish ({kind}): {message}",
        code=errno.ENOMEM if kind == "no_memory" else errno.EIO,
    )
