# SPDX-License-Identifier: LGPL-2.1-or-later
"""A lab from Python: what the command line, the tests and the demo use.

with Lab.up(release="reef", mds=4, mds_cpu=15, name="t1") as lab:
    lab.ceph("fs", "status")
"""

import errno
import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import cluster, daemons, lifecycle, package, process, releases, sandbox, state
from lab.clients.run import ClientRun, Line
from lab.clients.spec import LoadSpec
from lab.cluster import Shape
from lab.errors import LabError
from lab.lifecycle import Leash, Order
from lab.monitor import CommandError, Monitor
from lab.progress import Progress
from lab.state import LabState
from lab.waiting import until

_TAKES_OVER_S = 30  # a manager begins with its modules one after the other


class Lab:
    """A running lab. As a context manager it is ended at the end of the block."""

    def __init__(self, name: str = "default") -> None:
        """Attach to the running lab of that name."""
        self.name = name
        self._monitor: Monitor | None = None
        self._leash: Leash | None = None
        state.load(name)

    @classmethod
    def up(
        cls,
        *,
        name: str = "default",
        release: str = releases.DEFAULT,
        mds: int = 4,
        standby: int = 0,
        mgr: int = 2,
        mds_cpu: int | None = None,
        mds_binary: Path | None = None,
        packages: Sequence[str] = (),
        conf: Mapping[str, str] | None = None,
        keep: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Start a lab and return when it is healthy.

        mds_cpu is in percent of one core, for each MDS; packages: Debian's, beside Ceph. With keep the lab
        outlives this process; without, it ends with it, however that ends.
        """
        order = Order(
            name=name,
            release=releases.get(release, packages),
            shape=Shape(mds=mds, standby=standby, mgr=mgr),
            mds_cpu=mds_cpu,
            mds_binary=mds_binary,
            conf=conf or {},
        )
        leash = Leash(order)
        leash.start(progress or Progress())
        lab = cls(name)
        if keep:
            leash.keep()
        else:
            lab._leash = leash
        return lab

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def state(self) -> LabState:
        """What the lab is made of, read anew."""
        return state.load(self.name)

    @property
    def sandbox(self) -> sandbox.Sandbox:
        """The way into the lab."""
        return sandbox.Sandbox(self.state.sandbox_pid)

    @property
    def log_dir(self) -> Path:
        """Ceph's logs, on the host."""
        return state.lab_dir(self.name) / "log"

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program in the lab; with check a failure is a LabError. timeout in seconds."""
        done = self.sandbox.run(argv, stdin=stdin, timeout=timeout)
        if check and done.returncode:
            reason = process.last_line(done.stderr or done.stdout)
            raise LabError(f"`{' '.join(argv)}` failed with {done.returncode}: {reason}")
        return done

    def ceph(
        self, *args: str, format: str | None = None, stdin: str | None = None, timeout: float = 120
    ) -> Any:
        """Run `ceph ARGS`: its standard output, or the parsed JSON with format="json"."""
        extra = [] if format is None else ["--format", format]
        done = self.ceph_process(*args, *extra, stdin=stdin, timeout=timeout)
        if done.returncode:
            reason = process.last_line(done.stderr or done.stdout)
            raise LabError(f"`ceph {' '.join(args)}` failed with {done.returncode}: {reason}")
        return json.loads(done.stdout) if format == "json" else done.stdout

    def ceph_process(
        self, *args: str, stdin: str | None = None, timeout: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        """Run `ceph ARGS`; one of the module that goes on (EINPROGRESS) is given again until it ends."""
        ends = time.monotonic() + timeout
        while True:
            done = self.exec(["ceph", *args], stdin=stdin, timeout=timeout, check=False)
            if done.returncode != errno.EINPROGRESS or time.monotonic() > ends:
                return done

    @property
    def monitor(self) -> Monitor:
        """A held connection for many commands: milliseconds each, where `ceph` takes half a second."""
        if self._monitor is None:
            self._monitor = Monitor(self.sandbox)
        return self._monitor

    def daemons(self) -> dict[str, list[int]]:
        """The host's process ids of every daemon the lab has; empty for dead ones."""
        current = self.state
        alive = daemons.running(current)
        return {name: alive.get(name, []) for name in current.daemons}

    def kill(self, daemon: str, signum: int = signal.SIGKILL) -> None:
        """Send a signal to a daemon; return when it is gone if the signal ends it."""
        daemons.kill(self.state, daemon, signum)

    def start(self, daemon: str, program: str | None = None) -> None:
        """Start a daemon that is not running; as another program if a path in the lab is given.

        The program's file must have the usual name (".../ceph-mds"): the daemon is known by it.
        """
        current = self.state
        daemons.check_known(current, daemon)
        daemons.start(current, daemon, program)

    def install(self, module: Path) -> None:
        """Install or upgrade the module's package; managers know it when they are started again."""
        package.install(self.name, self.sandbox, module)

    def restart_managers(self) -> None:
        """End every manager that runs, and start all."""
        for daemon, pids in self.daemons().items():
            if daemon.startswith("mgr."):
                if pids:
                    self.kill(daemon, signal.SIGTERM)
                self.start(daemon)

    def set_mds_cpu(self, percent: int | None, *only: str) -> None:
        """Change the CPU quota of every MDS, or of these ("mds.a"), in percent of one core; None lifts it."""
        lifecycle.check_percent(percent)
        current = self.state
        for daemon in only:
            daemons.check_known(current, daemon)
            if not daemon.startswith("mds."):
                raise LabError(f"{daemon!r} is no MDS: only those have a CPU quota, for example mds.a")
        if current.cgroup is None:
            raise LabError(f"lab {self.name!r} runs without cgroups, so it has no CPU quota to set")
        daemons.set_quota(current, percent, only)
        state.save(current)

    def make_subvolumes(self, names: Sequence[str]) -> dict[str, str]:
        """Create subvolumes; their paths by name."""
        where = {"vol_name": cluster.FS_NAME}
        for name in names:
            self._volumes("fs subvolume create", {**where, "sub_name": name})
        return {
            name: self._volumes("fs subvolume getpath", {**where, "sub_name": name}).strip() for name in names
        }

    def _volumes(self, prefix: str, args: dict[str, Any]) -> str:
        """A command of the volumes module, once a manager that has just taken over has begun with it."""

        def answer() -> str | None:
            try:
                return self.monitor.command(prefix, target="mgr", **args)
            except CommandError as e:
                if e.status != -errno.EOPNOTSUPP:
                    raise
            return None

        return until(answer, _TAKES_OVER_S, f"a manager knows `{prefix}`")

    def prepare(self, load: LoadSpec, timeout: float = 600) -> None:
        """Make the directories and files that the clients of a load use; timeout in seconds."""
        with ClientRun(self.sandbox, load, prepare=True) as run:
            run.wait(timeout)

    def clients(
        self,
        load: LoadSpec,
        *,
        seconds: float | None = None,
        log: Path | None = None,
        on_line: Callable[[Line], None] | None = None,
    ) -> ClientRun:
        """Start the clients of a load; they work for so many seconds, or until stopped."""
        return ClientRun(self.sandbox, load, seconds=seconds, log=log, on_line=on_line)

    def down(self) -> None:
        """End the lab and return when nothing of it is left; ending an ended lab is fine."""
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None
        if self._leash is not None:
            self._leash.let_go()
            self._leash = None
        lifecycle.end(self.name)
