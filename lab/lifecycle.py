# SPDX-License-Identifier: LGPL-2.1-or-later
"""The life of a lab: claimed, started, let go or kept, ended."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab import cgroups, cluster, daemons, package, releases, requirements, rootfs, sandbox, state, supervisor
from lab.cluster import Shape
from lab.errors import LabError
from lab.progress import Progress
from lab.signals import held
from lab.state import LabState
from lab.waiting import until

_END_S = 30
# A `status` at the same time holds the lock for a moment, just to see whether anyone does.
_PROBE_S = 0.3


@dataclass(frozen=True)
class Order:
    """The lab that is wanted."""

    name: str
    release: releases.Release
    shape: Shape
    mds_cpu: int | None = None
    """Percent of one core for each MDS; None is no limit."""
    mds_binary: Path | None = None
    """A ceph-mds in place of the packaged one."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Options for ceph.conf."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        state.check_name(self.name)
        for what, value, least, most in (
            ("--mds", self.shape.mds, 1, 256),
            ("--standby", self.shape.standby, 0, 64),
            ("--mgr", self.shape.mgr, 1, 8),
        ):
            if not least <= value <= most:
                raise LabError(f"{what} {value} is out of range: {least} to {most}")
        check_percent(self.mds_cpu)
        if self.mds_binary is not None and not (
            self.mds_binary.is_file() and os.access(self.mds_binary, os.X_OK)
        ):
            raise LabError(f"--mds-binary {self.mds_binary} is not a program")


def check_percent(percent: int | None) -> None:
    """Refuse a CPU quota that no MDS could use."""
    most = 100 * (os.cpu_count() or 1)
    if percent is not None and not 1 <= percent <= most:
        raise LabError(f"a CPU quota of {percent} % is out of range: 1 to {most}")


class Leash:
    """A lab on a leash: until kept, it ends when this process lets go of it or dies."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._supervisor: subprocess.Popen[str] | None = None

    def start(self, progress: Progress) -> None:
        """Start the lab and return when its cluster is healthy; on any failure nothing is left of it."""
        with progress.step("check the machine"):
            requirements.check(self._order.release, state.base_dir())
        module = package.built(progress)
        try:
            with contextlib.ExitStack() as stack:
                with held():
                    lock = _claim(self._order.name)
                    stack.callback(self._give_back, lock)
                root = rootfs.acquire(self._order.release, progress)
                stack.callback(root.release)
                # Before the first thing is made there is someone to remove it.
                cgroup = cgroups.group_of(state.lab_dir(self._order.name))
                with held():
                    self._supervisor = supervisor.start(self._order.name, cgroup, [lock, root.lock_fd])
                with progress.step("sandbox"):
                    lab = self._make_sandbox(self._supervisor, root.path, cgroup, progress)
                    package.install(lab.name, sandbox.Sandbox(lab.sandbox_pid), module)
            cluster.Bringup(lab, self._order.shape, progress).run()
            # Only now, so that a small quota does not make the start slow.
            daemons.set_quota(lab, self._order.mds_cpu if lab.cgroup else None)
            lab.ready = True
            state.save(lab)
        except BaseException:
            self.let_go()
            raise

    def _give_back(self, lock: int) -> None:
        if self._supervisor is None:
            state.drop_lock(self._order.name, lock)
        else:
            # The supervisor and its reaper hold it now.
            os.close(lock)

    def _make_sandbox(
        self, process: "subprocess.Popen[str]", root: Path, cgroup: Path | None, progress: Progress
    ) -> LabState:
        order = self._order
        supervisor.await_line(process)
        directory = state.lab_dir(order.name)
        sandbox.make_folders(root, directory)
        lab = LabState(name=order.name, release=order.release.name)
        lab.supervisor_pid, lab.supervisor_start = process.pid, supervisor.start_time(process.pid) or 0
        state.save(lab)
        self._make_cgroup(lab, cgroup, progress)
        lab.daemons = cluster.write_configuration(order.name, order.release.cipher, order.shape, order.conf)
        plan = sandbox.Plan(root, directory, f"lab-{order.name}", order.mds_binary)
        supervisor.tell(process, json.dumps(sandbox.bwrap_command(plan)))
        lab.sandbox_pid = int(supervisor.await_line(process))
        state.save(lab)
        return lab

    def _make_cgroup(self, lab: LabState, cgroup: Path | None, progress: Progress) -> None:
        try:
            cgroups.create(cgroup)
        except LabError as e:
            if self._order.mds_cpu is not None:
                progress.note(f"{e}: the MDSs run without a CPU quota")
        else:
            lab.cgroup = str(cgroup)

    def keep(self) -> None:
        """Let the lab outlive this process."""
        if self._supervisor is not None:
            supervisor.tell(self._supervisor, "keep")
            # Nobody's child once this process is gone, so not waited for.
            self._supervisor.returncode = 0
            self._supervisor = None

    def let_go(self) -> None:
        """End the lab; nothing of it is left on return."""
        if self._supervisor is None:
            return
        assert self._supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        for stream in (self._supervisor.stdout, self._supervisor.stderr):
            if stream is not None:
                stream.close()
        self._supervisor = None
        if not _wait_free(self._order.name):
            raise LabError(f"lab {self._order.name!r} has not ended within {_END_S} s")
        end(self._order.name)


def end(name: str) -> bool:
    """End a lab, or remove what a dead one left; False if there was none."""
    was_alive = state.is_alive(name)
    if was_alive:
        _end_supervisor(name)
    lock = state.try_lock(name)
    if lock is None:
        raise LabError(f"lab {name!r} is just being started: interrupt its `up`, or try again in a moment")
    try:
        # The reaper has done this, unless someone killed it too.
        return _remove_leftovers(name) or was_alive
    finally:
        state.drop_lock(name, lock)


def _end_supervisor(name: str) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        lab = state.peek(name)
        if lab is None:
            # Either it is over already, or `up` has not come to the supervisor yet.
            return
        _signal_supervisor(lab, signum)
        if _wait_free(name):
            return


def _claim(name: str) -> int:
    """The lock of a name that no lab has; what a dead one left is removed."""
    try:
        lock = until(lambda: state.try_lock(name), _PROBE_S, "the name is free", every=0.02)
    except LabError:
        running = f"a lab {name!r} is already running: end it with `down`, or choose another --name"
        raise LabError(running) from None
    try:
        _remove_leftovers(name)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _remove_leftovers(name: str) -> bool:
    """Under the lock: clean up after a supervisor and a reaper that were both killed, or a reboot."""
    left = state.lab_dir(name).exists()
    group = cgroups.group_of(state.lab_dir(name))
    left = left or (group is not None and group.exists())
    supervisor.clean_up(name, group)
    return left


def _signal_supervisor(lab: LabState, signum: int) -> None:
    if lab.supervisor_pid and supervisor.start_time(lab.supervisor_pid) == lab.supervisor_start:
        with contextlib.suppress(ProcessLookupError):
            os.kill(lab.supervisor_pid, signum)


def _wait_free(name: str) -> bool:
    try:
        return until(lambda: not state.is_alive(name), _END_S, "the name is free", every=0.02)
    except LabError:
        return False
