# SPDX-License-Identifier: LGPL-2.1-or-later
"""A mount of a lab's file system, from outside the sandbox: the other end of lab.sandboxed.mount."""

import json
import selectors
import subprocess
from typing import Any

from lab.errors import LabError
from lab.sandbox import CODE, Sandbox, environment, kill_group


class Mount:
    """One mount at a time; one that does not answer is dropped, and the next call gets another."""

    def __init__(self, sandbox: Sandbox, patience: float) -> None:
        """``patience``: s that one call may take."""
        self._sandbox, self._patience = sandbox, patience
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, do: str, *args: Any) -> Any:
        """Do something (see lab.sandboxed.mount). :raises LabError: refused, or no answer"""
        process = self._process = self._process or self._new()
        assert process.stdin is not None and process.stdout is not None
        try:
            print(json.dumps({"do": do, "args": args}), file=process.stdin, flush=True)
        except BrokenPipeError:
            self.drop()
            raise LabError(f"the mount that was to {do} has died") from None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(self._patience) else ""
        if not line:
            self.drop()
            raise LabError(f"the mount that was to {do} {args} does not answer")
        answer = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer["value"]

    def drop(self) -> None:
        """End the mount."""
        if self._process is not None:
            kill_group(self._process)
            self._process = None

    def _new(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self._sandbox.command(["/usr/bin/python3", "-m", "lab.sandboxed.mount"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment({"PYTHONPATH": CODE}),
            process_group=0,
        )
