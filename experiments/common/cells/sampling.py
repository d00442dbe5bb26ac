# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's side of what tells something once a second: all ranks' counters, and a reference load."""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import cgroups
from lab.errors import LabError
from lab.sandbox import CODE, Sandbox, environment, kill_group
from lab.state import LabState

REFERENCE_CPU = 5  # % of a core


class _Watching:
    """A program that prints JSON lines while its block runs, and ends with its input."""

    def __init__(self, sandbox: Sandbox, program: Sequence[str], cgroup: Path | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            sandbox.command(["/usr/bin/python3", "-m", *program], cgroup),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment({"PYTHONPATH": CODE}),
            process_group=0,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            kill_group(self._process)
        self._thread.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(json.loads(line))


class Sampling(_Watching):
    """Samples of all ranks; ``lines`` as ``lab.sandboxed.sampler`` prints them."""

    def __init__(self, sandbox: Sandbox, *, mindex: bool = False) -> None:
        """mindex: the MDSs have the hook, so visits can be sampled."""
        super().__init__(sandbox, ["lab.sandboxed.sampler", *(["mindex"] if mindex else [])])


class Reference(_Watching):
    """Fixed work beside a cell; ``lines`` as ``lab.sandboxed.reference`` prints them."""

    def __init__(self, lab: LabState) -> None:
        """:raises LabError: the lab has no cgroups"""
        if lab.cgroup is None:
            raise LabError(f"lab {lab.name!r} runs without cgroups, so no reference load can run beside it")
        group = cgroups.member(Path(lab.cgroup), "reference")
        cgroups.set_quota(group, REFERENCE_CPU)
        super().__init__(Sandbox(lab.sandbox_pid), ["lab.sandboxed.reference"], group)
