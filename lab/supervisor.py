# SPDX-License-Identifier: LGPL-2.1-or-later
"""The background process that owns a lab, and the reaper that cleans up after it.

The supervisor starts bubblewrap with --die-with-parent: whatever ends it, kill -9 included, ends everything
in the sandbox. The reaper does nothing but wait for the supervisor's end and then remove cgroups and
directory. Both hold the lab's lock, so the name is free exactly when nothing is left.

Standard input is the leash: until it says "keep", its end (the starter died or gave up) ends the lab.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import IO, Any

from lab import cgroups, state
from lab.errors import LabError
from lab.process import last_line


class _EndedError(Exception):
    """A signal asked the supervisor to end."""


def start(name: str, cgroup: Path | None, locks: list[int]) -> "subprocess.Popen[str]":
    """Start the supervisor of a lab. It inherits the locks and says a line when its reaper watches."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    return subprocess.Popen(
        [sys.executable, "-m", "lab.supervisor", name, *([] if cgroup is None else [str(cgroup)])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=env,
        pass_fds=locks,
        start_new_session=True,
    )


def await_line(process: "subprocess.Popen[str]") -> str:
    """The supervisor's next answer."""
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise LabError(f"the sandbox could not be made: {last_line(process.stderr.read())}")
    return line.strip()


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    """Give the supervisor its next order: bubblewrap's command as JSON, and later "keep"."""
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise LabError("the lab was ended while it was being started") from None


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in parentheses, which may itself hold anything.
    return int(stat.rpartition(")")[2].split()[19])


def clean_up(name: str, cgroup: Path | None) -> None:
    """Remove what is left of a lab whose processes are gone."""
    if cgroup is not None:
        cgroups.remove(cgroup)
    state.remove_dir(name)


def main(name: str, cgroup: Path | None) -> int:
    """Run as the supervisor."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, _end)
    _be_called("lab-supervisor")
    try:
        _start_reaper(name, cgroup)
        print("watched", flush=True)
        # Unbuffered, so that nothing of the leash is read ahead.
        with os.fdopen(0, "rb", buffering=0, closefd=False) as leash:
            if command := leash.readline():
                _keep_sandbox(json.loads(command))
    except _EndedError:
        pass
    # With this process ends the sandbox (--die-with-parent), however far it has come.
    return 0


def _be_called(name: str) -> None:
    """Show up in ps and top under a name that tells what this is."""
    Path("/proc/self/comm").write_text(name)


def _end(signum: int, frame: FrameType | None) -> None:
    raise _EndedError


def _start_reaper(name: str, cgroup: Path | None) -> None:
    alive, supervisor_end = os.pipe()
    if os.fork():
        os.close(alive)
        return
    # A session of its own: a signal for the supervisor's group is not for the reaper.
    os.setsid()
    _be_called("lab-reaper")
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    os.close(supervisor_end)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.read(alive, 1)
    clean_up(name, cgroup)
    state.forget_lock(name)
    os._exit(0)


def _keep_sandbox(command: list[str]) -> None:
    sandbox, pid = _start_sandbox(command)
    try:
        print(pid, flush=True)
        _hold(sandbox)
    finally:
        sandbox.kill()
        sandbox.wait()


def _start_sandbox(command: list[str]) -> tuple["subprocess.Popen[str]", int]:
    """bubblewrap's process, and the host's process id of the sandbox's PID 1."""
    info_read, info_write = os.pipe()
    with os.fdopen(info_read) as info:
        try:
            bwrap = [command[0], "--info-fd", str(info_write), *command[1:]]
            sandbox = subprocess.Popen(
                bwrap, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, pass_fds=[info_write]
            )
        finally:
            os.close(info_write)
        pid = _child_pid(info)
    assert sandbox.stdout is not None
    if sandbox.stdout.readline().strip() != "ready":
        sandbox.kill()
        sandbox.wait()
        # bubblewrap has said why on the standard error that it shares with us.
        sys.exit(1)
    return sandbox, pid


def _child_pid(info: IO[str]) -> int:
    text = info.read()
    answer: dict[str, Any] = json.loads(text) if text.strip() else {}
    return int(answer.get("child-pid", 0))


def _hold(sandbox: "subprocess.Popen[str]") -> None:
    """Return when the leash or the sandbox ends."""
    exit_of_sandbox = os.pidfd_open(sandbox.pid)
    leash = sys.stdin.fileno()
    watched = [leash, exit_of_sandbox]
    while True:
        readable, _, _ = select.select(watched, [], [])
        if exit_of_sandbox in readable:
            return
        if os.read(leash, 16).strip() != b"keep":
            return
        watched.remove(leash)
        # Nothing of the starter's may stay open, or a pipeline around `up` would never end.
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None))
