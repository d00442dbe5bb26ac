# SPDX-License-Identifier: LGPL-2.1-or-later
"""Child processes that never outlive an interrupt."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from lab.errors import LabError

_Stream = int | IO[str] | None
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
    with (
        tempfile.TemporaryFile("w+", errors="replace") as said,
        _started(producer, env, subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE) as source,
        _started(consumer, env, source.stdout, None, said) as sink,
    ):
        assert source.stdout is not None and source.stderr is not None
        # Else the producer would not notice the consumer's end.
        source.stdout.close()
        for line in source.stderr:
            tail.append(line)
            on_line(line.strip())
        status = (source.wait(), sink.wait())
        said.seek(0)
        _blame((producer, status[0], explain(tail)), (consumer, status[1], last_line(said.read())))


@contextmanager
def _started(
    command: list[str], env: Mapping[str, str], stdin: _Stream, stdout: _Stream, stderr: _Stream
) -> "Iterator[subprocess.Popen[str]]":
    """A child in its own process group, so that Ctrl-C reaches it only through _end, in the right order."""
    with subprocess.Popen(
        [*_DIE_WITH_PARENT, *command],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            _end(process)


def _blame(*ends: tuple[list[str], int, str]) -> None:
    """Raise LabError if any end failed; one that only lost its reader is not to blame."""
    fine = (0, -signal.SIGPIPE)
    failed = [f"{_program(command)} failed: {why}" for command, status, why in ends if status not in fine]
    if failed:
        raise LabError("; ".join(failed))


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


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process group, first politely so that mmdebstrap removes its temporary directory."""
    for signum, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
