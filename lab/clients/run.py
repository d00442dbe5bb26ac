# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's side of a set of clients: start it, read its log, stop it."""

import contextlib
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import process
from lab.clients.spec import LoadSpec
from lab.errors import LabError
from lab.sandbox import CODE, Sandbox, environment, kill_group

Line = dict[str, Any]
_STOP_S = 60.0


class ClientRun:
    """Clients at work. As a context manager they are stopped, and so unmounted, at the end of the block."""

    def __init__(
        self,
        sandbox: Sandbox,
        load: LoadSpec,
        *,
        seconds: float | None = None,
        prepare: bool = False,
        log: Path | None = None,
        on_line: Callable[[Line], None] | None = None,
    ) -> None:
        """Start them. Each of their lines goes to lines, to the file log, and, from a thread, to on_line."""
        self.lines: list[Line] = []
        self._on_line = on_line
        self._log = log.open("w") if log else None
        self._process = subprocess.Popen(
            sandbox.command(["/usr/bin/python3", "-m", "lab.clients.launcher"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment({"PYTHONPATH": CODE}),
            process_group=0,
        )
        self._errors: list[str] = []
        self._callback_error: Exception | None = None
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        assert self._process.stdin is not None
        order = {"load": json.loads(load.to_json()), "seconds": seconds, "prepare": prepare}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.abandon()

    @property
    def running(self) -> bool:
        """Whether any client may still be at work."""
        return self._process.poll() is None

    def wait(self, timeout: float | None = None) -> list[Line]:
        """Wait for the clients to end by themselves, up to timeout seconds; LabError if any failed."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise LabError(f"the clients have not ended within {timeout:g} s") from None
        self._finish()
        if self._callback_error:
            raise self._callback_error
        if status:
            raise LabError(f"a client failed: {self._why(status)}")
        return self.lines

    def stop(self) -> list[Line]:
        """Have the clients unmount and end; LabError if any failed."""
        self._order_stop()
        try:
            return self.wait(_STOP_S)
        except LabError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """End the clients without waiting for their unmount."""
        self._order_stop()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            kill_group(self._process)
        self._finish()

    def _order_stop(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _why(self, status: int) -> str:
        failures = [
            str(line.get("failed") or line.get("errors"))
            for line in self.lines
            if "failed" in line or ("prepared" in line and "errors" in line)
        ]
        if failures:
            return failures[0]
        said = process.last_line("".join(self._errors))
        return said if self._errors else f"its launcher ended with {status}"

    def _finish(self) -> None:
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr, self._log):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                self._errors.append(text)
                continue
            self.lines.append(line)
            if self._log:
                self._log.write(text)
                self._log.flush()
            self._pass_on(line)

    def _pass_on(self, line: Line) -> None:
        """A callback that fails must not stop the reading: the clients would block on a full pipe."""
        if self._on_line is None:
            return
        try:
            self._on_line(line)
        except Exception as e:
            self._callback_error = e
            self._on_line = None

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(self._process.stderr)
