# SPDX-License-Identifier: LGPL-2.1-or-later
"""Quick commands to a lab's monitors, managers and MDSs, through one connection held open in the sandbox."""

import contextlib
import errno
import json
import subprocess
import threading
import time
from typing import Any

from lab import process
from lab.errors import LabError
from lab.sandbox import CODE, Sandbox, environment, kill_group

_CONNECT_S = 30
_AGAIN_S = 0.3  # who asks again at once is one of many to the module: it does not wait for those


class CommandError(LabError):
    """The cluster refused a command."""

    def __init__(self, command: dict[str, Any], status: int, message: str) -> None:
        why = message.strip() or "no reason given"
        super().__init__(f"`{command['prefix']}` failed with {status}: {why}")
        self.status = status


class Monitor:
    """A connection to the cluster; close it when done."""

    def __init__(self, sandbox: Sandbox) -> None:
        argv = ["/usr/bin/python3", "-m", "lab.sandboxed.agent", str(_CONNECT_S)]
        self._process = subprocess.Popen(
            sandbox.command(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment({"PYTHONPATH": CODE}),
            process_group=0,
        )
        self._lock = threading.Lock()
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def command(self, prefix: str, *, target: str = "mon", timeout: int = 30, **args: Any) -> str:
        """Run a command of the monitors (or of "mgr", or "mds.NAME") and return its output; timeout in s.

        A command of the module that goes on (EINPROGRESS) is given again until it ends.
        """
        command = {"prefix": prefix, **args}
        ends = time.monotonic() + timeout
        while True:
            answer = self._ask(target, command, timeout)
            if answer["status"] != -errno.EINPROGRESS or time.monotonic() > ends:
                break
            time.sleep(_AGAIN_S)
        if answer["status"] != 0:
            raise CommandError(command, answer["status"], answer["message"])
        return str(answer["output"])

    def _ask(self, target: str, command: dict[str, Any], timeout: int) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            try:
                print(
                    json.dumps({"target": target, "command": command, "timeout": timeout}),
                    file=self._process.stdin,
                    flush=True,
                )
            except BrokenPipeError:
                raise LabError("the connection to the cluster ended") from None
            return self._answer()

    def json(self, prefix: str, **args: Any) -> Any:
        """Run a command and parse its JSON output."""
        return json.loads(self.command(prefix, format="json", **args))

    def close(self) -> None:
        """End the connection."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            kill_group(self._process)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            raise LabError(f"cannot talk to the cluster: {process.last_line(self._process.stderr.read())}")
        answer: dict[str, Any] = json.loads(line)
        return answer
