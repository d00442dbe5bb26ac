# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that others wrote, each of them one operation, and the mount that they need."""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lab.clients.jobs.base import Job, Step, Stopped, UnexpectedError
from lab.clients.spec import ClientSpec
from lab.errors import LabError
from lab.waiting import until

_MOUNT_S = 60.0
_POLL_S = 0.01


class Place:
    """A directory of this machine."""

    def __init__(self, where: Path, stop: threading.Event) -> None:
        self.where = where
        self._stop = stop

    def mkdirs(self, path: str, mode: int) -> None:
        """Make a directory and those above it."""
        Path(f"{self.where}{path}").mkdir(mode, parents=True, exist_ok=True)

    def run(self, command: str, path: str) -> None:
        """Run a shell's command there.

        :raises UnexpectedError: it failed; what it said is on our standard error
        :raises Stopped: it was killed, with all that it had started, because of an order to stop
        """
        program = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=f"{self.where}{path}",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            process_group=0,
        )
        while program.poll() is None:
            if self._stop.wait(_POLL_S):
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
                raise Stopped
        if program.returncode:
            raise UnexpectedError(f"`{command}` ended with {program.returncode}")


class Fuse(Place):
    """A mount by ceph-fuse, as users without a kernel client have. :raises LabError: it cannot be mounted"""

    def __init__(self, fs: str, client: ClientSpec, stop: threading.Event) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="fuse-")), stop)
        command = ["ceph-fuse", "-f", "--id", "load", "--client_fs", fs, "-r", client.path]
        command += ["--client_cache_size", str(client.cached), str(self.where)]
        fuse = self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            until(
                lambda: self.where.is_mount() or fuse.poll() is not None or stop.is_set(), _MOUNT_S, "a mount"
            )
            if not self.where.is_mount():
                raise LabError("ceph-fuse has ended")
        except BaseException:
            fuse.kill()
            raise

    def shutdown(self) -> None:
        """Unmount."""
        self._process.terminate()
        self._process.wait()
        self.where.rmdir()


class Programs(Job):
    """A line of the source is a name and a shell's command, which is run in a directory of the worker's."""

    def __init__(self, fs: Any, client: ClientSpec, seed: int) -> None:
        super().__init__(fs, client, seed)
        assert client.source is not None
        self._lines = [line.partition(" ") for line in Path(client.source).read_text().splitlines()]

    def directories(self) -> Iterable[str]:
        """Each worker's."""
        return map(self._home, range(self.client.workers))

    def steps(self, worker: int) -> Iterator[Step]:
        """One after the other."""
        for name, _, command in self._lines:
            yield name, partial(self.fs.run, command, self._home(worker))

    def _home(self, worker: int) -> str:
        return f"{self.client.home}/w{worker}"
