# SPDX-License-Identifier: LGPL-2.1-or-later
"""Child processes that never outlive an interrupt."""

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping

from lab.errors import LabError

# The kernel kills the child when this process dies, so that kill -9 of it leaves none.
_DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


def last_line(text: str) -> str:
    """The last line with something in it, where programs say why they failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def pipeline(
    producer: list[str], consumer: list[str], env: Mapping[str, str], on_line: Callable[[str], None]
) -> None:
    """Run producer | consumer; on_line gets each line of the producer's standard error."""
    tail: deque[str] = deque(maxlen=200)
    # Their own process group, so that Ctrl-C reaches them only through _end, in the right order.
    with subprocess.Popen(
        [*_DIE_WITH_PARENT, *producer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        text=True,
        errors="replace",
        process_group=0,
    ) as source:
        try:
            assert source.stdout is not None and source.stderr is not None
            with subprocess.Popen(
                [*_DIE_WITH_PARENT, *consumer],
                stdin=source.stdout,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                process_group=0,
            ) as sink:
                try:
                    source.stdout.close()
                    sink_tail = _collect(sink)
                    for line in source.stderr:
                        tail.append(line)
                        on_line(line.strip())
                    status = (source.wait(), sink.wait())
                finally:
                    _end(sink)
        finally:
            _end(source)
    if status[0]:
        raise LabError(f"{_program(producer)} failed: {explain(tail)}")
    if status[1]:
        raise LabError(f"{consumer[0]} failed: {last_line(''.join(sink_tail))}")


def _program(command: list[str]) -> str:
    """The program that a chain of wrappers, each ended by --, runs at last."""
    while "--" in command:
        command = command[command.index("--") + 1 :]
    return command[0]


def explain(lines: "deque[str]") -> str:
    """The line that names the cause: the first error, which later ones only follow from."""
    for line in lines:
        if line.startswith(("E: ", "Err:", "W: Failed")) and "apt-get" not in line:
            return line.strip()
    return last_line("".join(lines))


def _collect(process: "subprocess.Popen[str]") -> list[str]:
    """Read a child's standard error in the background, so that it never blocks on a full pipe."""
    lines: list[str] = []
    stream = process.stderr
    assert stream is not None
    threading.Thread(target=lambda: lines.extend(stream), daemon=True).start()
    return lines


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process group, first politely so that mmdebstrap removes its temporary directory."""
    for signum, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
