# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process that policies run in: lua5.3 with driver.lua, limited by the kernel, killed at a deadline."""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from .refusals import PolicyError, SandboxError

INTERPRETER = "lua5.3"  # Debian's package of the same name
DRIVER = Path(__file__).with_name("driver.lua")
MEMORY = 128 << 20  # bytes of address space
CPU_SECONDS = 1  # for one request: what hangs in C code executes no instructions that could be counted
DEADLINE = 30.0  # s for one request, on however busy a machine
LONGEST_ANSWER = 4 << 20  # bytes
NICENESS = 10


class LuaChild:
    """One process, for one thread. It ends with the first request that fails."""

    def __init__(self) -> None:
        """:raises SandboxError: lua5.3 is not installed, or does not start"""
        path = shutil.which(INTERPRETER)
        if path is None:
            raise SandboxError(f"no '{INTERPRETER}' to try a policy in: install the package {INTERPRETER}")
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        try:
            # -E: no variable of the environment adds code.
            self._process = subprocess.Popen(
                [path, "-E", str(DRIVER)], stdin=pipe, stdout=pipe, stderr=nowhere, cwd="/", env={}, bufsize=0
            )
        except OSError as e:
            raise SandboxError(f"cannot run '{path}': {e}") from e
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        for end in (self._in, self._out):
            os.set_blocking(end, False)
        self._confine()

    def __enter__(self) -> LuaChild:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _confine(self) -> None:
        try:
            if self._exchange(b"", time.monotonic() + DEADLINE) != b"ready\n":
                raise SandboxError(f"'{INTERPRETER}' is not Lua 5.3, or cannot read {DRIVER}")
        except PolicyError as e:  # there is none yet
            self.end()
            raise SandboxError(f"'{INTERPRETER}' did not start: {e}") from e
        pid = self._process.pid
        # Where it is lower already, only root may raise it.
        os.setpriority(os.PRIO_PROCESS, pid, max(NICENESS, os.getpriority(os.PRIO_PROCESS, pid)))
        # It has all that it needs: no file, no process, no more memory from here on.
        for what, most in (
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_NOFILE, 0),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(pid, what, (most, most))

    def request(self, verb: str, body: str) -> dict[str, Any]:
        """Ask driver.lua.

        :raises PolicyError: the policy fails, or took what one request may take
        :raises SandboxError: the process was ended by an earlier failure, or by somebody else
        """
        content = body.encode("utf-8", "surrogateescape")
        if self._process.poll() is not None:
            self.end()
            raise SandboxError(f"'{INTERPRETER}' has ended ({_told(self._process.returncode)})")
        # The kernel's limit holds also when nobody is left to look at the deadline.
        most = int(_charged(self._process.pid)) + 1 + CPU_SECONDS
        resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        answer = self._exchange(
            b"%s %d\n" % (verb.encode(), len(content)) + content, time.monotonic() + DEADLINE
        )
        found: dict[str, Any] = json.loads(answer)
        if "error" in found:
            self.end()
            raise PolicyError(plain(found["error"]))
        return found

    def end(self) -> None:
        """Kill it; fine when it has ended."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _exchange(self, message: bytes, deadline: float) -> bytes:
        # driver.lua reads a request whole before it answers.
        while message:
            self._wait(self._in, select.POLLOUT, deadline)
            message = self._send(message)
        answer = bytearray()
        while not answer.endswith(b"\n"):
            self._wait(self._out, select.POLLIN, deadline)
            chunk = os.read(self._out, 1 << 16)
            if not chunk:
                raise PolicyError(self._last_words())
            answer += chunk
            if len(answer) > LONGEST_ANSWER:
                self.end()
                raise PolicyError(f"its answer has more than {LONGEST_ANSWER} bytes")
        return bytes(answer)

    def _wait(self, end: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(end, event)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            self.end()
            raise PolicyError(f"it did not end within {DEADLINE:g} s")

    def _send(self, message: bytes) -> bytes:
        try:
            return message[os.write(self._in, message) :]
        except BrokenPipeError:
            return b""  # it shows as the end of its output

    def _last_words(self) -> str:
        try:
            code = self._process.wait(DEADLINE)  # its output has ended, so it is about to
        except subprocess.TimeoutExpired:
            code = 0
        self.end()
        if code == -signal.SIGXCPU:
            return f"it did not end within {CPU_SECONDS} s of CPU time"
        return f"it ended its process ({_told(code)})"


def _charged(pid: int) -> float:
    """CPU time as the limit counts it, s; 0 of a process that has just ended.

    That may be in whole ticks of the kernel, by who runs as one comes (CONFIG_TICK_CPU_ACCOUNTING). After
    many short requests it was more than a second ahead of what the process had used.
    """
    try:
        return time.clock_gettime(~pid << 3)  # CPUCLOCK_PROF of a process (linux/posix-timers.h)
    except OSError:
        return 0.0


def _told(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def plain(text: str) -> str:
    """driver.lua writes each byte as one character."""
    return text.encode("latin-1").decode(errors="replace")
