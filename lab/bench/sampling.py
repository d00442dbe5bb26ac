# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's side of the sampler: all ranks' counters, once a second."""

import json
import subprocess
import threading
from types import TracebackType
from typing import Any, Self

from lab.sandbox import CODE, Sandbox, environment, kill_group


class Sampling:
    """Samples while its block runs; ``lines`` as ``lab.inside.sampler`` prints them."""

    def __init__(self, sandbox: Sandbox, *, mindex: bool = False) -> None:
        """mindex: the MDSs have the hook, so visits can be sampled."""
        self.lines: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            sandbox.command(
                ["/usr/bin/python3", "-m", "lab.inside.sampler", *(["mindex"] if mindex else [])]
            ),
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
