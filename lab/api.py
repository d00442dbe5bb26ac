# SPDX-License-Identifier: LGPL-2.1-or-later
"""A lab from Python: what the command line, the tests and the demo use.

    with Lab.up(release="reef", mds=4, mds_cpu=15, name="t1") as lab:
        lab.ceph("fs", "status")
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab import cgroups, child, cluster, daemons, keeper, releases, requirements, rootfs, sandbox, state
from lab.clients.run import ClientRun, Line
from lab.clients.spec import LoadSpec
from lab.cluster import Shape
from lab.errors import LabError
from lab.monitor import Monitor
from lab.progress import Progress
from lab.state import LabState

_END_S = 30


class Lab:
    """A running lab. As a context manager it is ended at the end of the block."""

    def __init__(self, name: str = "default") -> None:
        """Attach to the running lab of that name."""
        self.name = name
        self._monitor: Monitor | None = None
        self._leash: "subprocess.Popen[str] | None" = None
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
        conf: Mapping[str, str] | None = None,
        keep: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Start a lab and return when it is healthy.

        mds_cpu is in percent of one core, for each MDS. With keep the lab outlives this process; without, it ends
        with it, however it ends.
        """
        shape = Shape(mds=mds, standby=standby, mgr=mgr)
        _check_shape(shape, mds_cpu, mds_binary)
        progress = progress or Progress()
        chosen = releases.get(release)
        parent = state.base_dir()
        state.check_name(name)
        with progress.step("check the machine"):
            requirements.check(chosen, parent)
        lock = _claim(name)
        try:
            root = rootfs.acquire(chosen, progress)
            try:
                leash = _start_sandbox(name, release, shape, mds_cpu, mds_binary, conf or {}, root, lock, progress)
            finally:
                root.release()
        finally:
            os.close(lock)
        try:
            lab = cls._boot(name, shape, progress)
            if keep:
                _unleash(leash)
            else:
                lab._leash = leash
        except BaseException:
            _let_go(leash)
            _wait_gone(name)
            raise
        return lab

    @classmethod
    def _boot(cls, name: str, shape: Shape, progress: Progress) -> Self:
        current = state.load(name)
        cluster.Bringup(current, shape, progress).run()
        current.ready = True
        state.save(current)
        return cls(name)

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
        self, argv: Sequence[str], *, stdin: str | None = None, timeout: float | None = None, check: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program in the lab; with check a failure is a LabError. timeout in seconds."""
        done = self.sandbox.run(argv, stdin=stdin, timeout=timeout)
        if check and done.returncode:
            reason = child.last_line(done.stderr or done.stdout)
            raise LabError(f"`{' '.join(argv)}` failed with {done.returncode}: {reason}")
        return done

    def ceph(self, *args: str, format: str | None = None, stdin: str | None = None, timeout: float = 120) -> Any:
        """Run `ceph ARGS`: its standard output, or the parsed JSON with format="json"."""
        extra = [] if format is None else ["--format", format]
        text = self.exec(["ceph", *args, *extra], stdin=stdin, timeout=timeout).stdout
        return json.loads(text) if format == "json" else text

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

    def start(self, daemon: str) -> None:
        """Start a daemon that is not running."""
        current = self.state
        daemons.check_known(current, daemon)
        daemons.start(current, daemon)

    def set_mds_cpu(self, percent: int | None) -> None:
        """Change the CPU quota of every MDS, in percent of one core; None lifts it."""
        _check_percent(percent)
        current = self.state
        if current.cgroup is None:
            raise LabError(f"lab {self.name!r} runs without cgroups, so it has no CPU quota to set")
        current.mds_cpu = percent
        state.save(current)
        for daemon in current.daemons:
            if daemon.startswith("mds."):
                cgroups.set_quota(cgroups.member(Path(current.cgroup), daemon), percent)

    def make_subvolumes(self, names: Sequence[str], group: str | None = None, fs: str = cluster.FS_NAME) -> dict[str, str]:
        """Create subvolumes, and their group; their paths by name."""
        where = {"vol_name": fs} if group is None else {"vol_name": fs, "group_name": group}
        if group is not None:
            self._volumes("fs subvolumegroup create", where)
        for name in names:
            self._volumes("fs subvolume create", {**where, "sub_name": name})
        return {name: self._volumes("fs subvolume getpath", {**where, "sub_name": name}).strip() for name in names}

    def _volumes(self, prefix: str, args: dict[str, str]) -> str:
        return self.monitor.command(prefix, target="mgr", **args)

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
            _let_go(self._leash)
            self._leash = None
        end(self.name)


def end(name: str) -> bool:
    """End a lab, or remove what a dead one left; False if there was none."""
    lock = state.try_lock(name)
    if lock is not None:
        try:
            return _remove_leftovers(name)
        finally:
            os.close(lock)
    current = _read_state(name)
    if current is not None:
        _signal_keeper(current, signal.SIGTERM)
        if _wait_gone(name, fail=False):
            return True
        _signal_keeper(current, signal.SIGKILL)
    _wait_gone(name)
    return True


def _check_shape(shape: Shape, mds_cpu: int | None, mds_binary: Path | None) -> None:
    for what, value, least, most in (("--mds", shape.mds, 1, 256), ("--standby", shape.standby, 0, 64),
                                     ("--mgr", shape.mgr, 1, 8)):  # fmt: skip
        if not least <= value <= most:
            raise LabError(f"{what} {value} is out of range: {least} to {most}")
    _check_percent(mds_cpu)
    if mds_binary is not None and not os.access(mds_binary, os.X_OK):
        raise LabError(f"--mds-binary {mds_binary} is not a program")


def _check_percent(percent: int | None) -> None:
    most = 100 * (os.cpu_count() or 1)
    if percent is not None and not 1 <= percent <= most:
        raise LabError(f"a CPU quota of {percent} % is out of range: 1 to {most}")


def _claim(name: str) -> int:
    """The lock of a name that no lab has; what a dead one left is removed."""
    lock = state.try_lock(name)
    if lock is None:
        raise LabError(f"a lab {name!r} is already running: end it with `down`, or choose another --name")
    _remove_leftovers(name)
    return lock


def _remove_leftovers(name: str) -> bool:
    """Under the lock: clean up after a keeper and a janitor that were both killed, or a reboot."""
    directory = state.lab_dir(name)
    if not directory.exists():
        return False
    leftover = _read_state(name)
    keeper.clean_up(name, None if leftover is None else leftover.cgroup)
    return True


def _read_state(name: str) -> LabState | None:
    try:
        return LabState(**json.loads((state.lab_dir(name) / "state.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _start_sandbox(
    name: str,
    release: str,
    shape: Shape,
    mds_cpu: int | None,
    mds_binary: Path | None,
    conf: Mapping[str, str],
    root: rootfs.RootFS,
    lock: int,
    progress: Progress,
) -> "subprocess.Popen[str]":
    with progress.step("sandbox"):
        directory = state.lab_dir(name)
        for sub in ("etc", "log"):
            (directory / sub).mkdir(parents=True)
        lab = LabState(name=name, release=release, mds_cpu=mds_cpu)
        state.save(lab)
        lab.daemons = cluster.write_configuration(name, releases.get(release).cipher, shape, conf)
        plan = sandbox.Plan(root.path, directory, f"lab-{name}", mds_binary)
        group = _make_cgroup(lab, progress)
        leash = keeper.start(name, plan, group, [lock, root.lock_fd])
        try:
            lab.sandbox_pid = keeper.await_ready(leash)
            lab.keeper_pid, lab.keeper_start = leash.pid, keeper.start_time(leash.pid) or 0
            state.save(lab)
        except BaseException:
            _let_go(leash)
            raise
    return leash


def _make_cgroup(lab: LabState, progress: Progress) -> Path | None:
    try:
        group = cgroups.create(lab.name)
    except LabError as e:
        if lab.mds_cpu is not None:
            progress.note(f"{e}: the MDSs run without a CPU quota")
        lab.mds_cpu = None
        return None
    lab.cgroup = str(group)
    state.save(lab)
    return group


def _unleash(leash: "subprocess.Popen[str]") -> None:
    """Let the lab outlive this process."""
    assert leash.stdin is not None
    leash.stdin.write("keep\n")
    leash.stdin.flush()
    # The keeper is not waited for: it is nobody's child once this process is gone.
    leash.returncode = 0


def _let_go(leash: "subprocess.Popen[str]") -> None:
    """End the lab by letting go of its keeper's standard input."""
    if leash.stdin is not None:
        leash.stdin.close()
    try:
        leash.wait(_END_S)
    except subprocess.TimeoutExpired:
        leash.kill()
        leash.wait()


def _signal_keeper(lab: LabState, signum: int) -> None:
    if lab.keeper_pid and keeper.start_time(lab.keeper_pid) == lab.keeper_start:
        os.kill(lab.keeper_pid, signum)


def _wait_gone(name: str, fail: bool = True) -> bool:
    deadline = time.monotonic() + _END_S
    while state.is_alive(name):
        if time.monotonic() > deadline:
            if fail:
                raise LabError(f"lab {name!r} has not ended within {_END_S} s")
            return False
        time.sleep(0.05)
    return True
