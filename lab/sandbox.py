# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox of one lab: bubblewrap makes it, nsenter gets into it.

Its own process, network, IPC and host name spaces on a read-only root: ports are free by construction, and
everything in it ends with its PID 1.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import rootfs, state
from lab.errors import LabError

CODE = f"/{rootfs.CODE_MOUNT}"
PACKAGES_MOUNT = "run/packages"
# What a package may write to: every lab has its own.
_OWN = ("etc", "usr/share/ceph", "var/lib/dpkg")
_ENV = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def checkout() -> Path:
    """The source tree this program runs from."""
    return Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Plan:
    """What a sandbox is made of."""

    root: Path
    lab_dir: Path
    hostname: str
    mds_binary: Path | None = None
    """A ceph-mds to use in place of the packaged one."""


def make_folders(root: Path, lab_dir: Path) -> None:
    """What a sandbox on this root file system finds in the lab's folder."""
    for name in ("etc", "log", "packages"):
        (lab_dir / name).mkdir(parents=True)
    for place in _OWN:
        copy = lab_dir / "own" / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", str(root / place), str(copy)], check=True)


def packages_of(name: str) -> Path:
    """Where a lab of that name finds packages to install."""
    return state.lab_dir(name) / "packages"


def bwrap_command(plan: Plan) -> list[str]:
    """The command that makes the sandbox, says "ready" on standard output and stays."""
    source = checkout()
    command = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    command += ["--unshare-uts", "--hostname", plan.hostname]
    if os.geteuid() != 0:
        command += ["--unshare-user", "--uid", "0", "--gid", "0"]
    command += ["--ro-bind", str(plan.root), "/", "--dev", "/dev", "--proc", "/proc"]
    command += ["--dev-bind-try", "/dev/fuse", "/dev/fuse"]
    # Ceph's data stays in memory: quicker than a disk, and gone with the sandbox.
    for path in ("/run", "/tmp", "/var/lib/ceph"):
        command += ["--tmpfs", path]
    command += ["--dir", "/run/ceph"]
    for place in _OWN:
        command += ["--bind", str(plan.lab_dir / "own" / place), f"/{place}"]
    command += ["--tmpfs", "/usr/share/doc"]
    command += ["--ro-bind", str(plan.lab_dir / "packages"), f"/{PACKAGES_MOUNT}"]
    for name, place in (("etc", "/etc/ceph"), ("log", "/var/log/ceph")):
        command += ["--bind", str(plan.lab_dir / name), place]
    for name in ("mgr", "lab"):
        command += ["--ro-bind", str(source / name), f"{CODE}/{name}"]
    if plan.mds_binary is not None:
        command += ["--ro-bind", str(plan.mds_binary), "/usr/bin/ceph-mds"]
    return [*command, "--", "/bin/sh", "-c", "echo ready; exec sleep infinity >/dev/null 2>&1"]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command in the sandbox: the caller's does not leak in, but for its terminal."""
    terminal = {name: os.environ[name] for name in ("TERM", "COLUMNS", "LINES") if name in os.environ}
    return {**_ENV, **terminal, **(extra or {})}


@dataclass(frozen=True)
class Sandbox:
    """A running sandbox, by the host's id of its PID 1."""

    pid: int

    def command(self, argv: Sequence[str], cgroup: Path | None = None) -> list[str]:
        """The host's command that runs argv in the sandbox, and in the cgroup if one is given."""
        nsenter = shutil.which("nsenter") or "nsenter"
        spaces = ["--mount", "--pid", "--net", "--ipc", "--uts"]
        if os.geteuid() != 0:
            spaces += ["--user", "--preserve-credentials"]
        enter = [nsenter, "--target", str(self.pid), *spaces, "--", *argv]
        if cgroup is None:
            return enter
        # The child itself moves before it becomes Ceph: no thread is left behind in the parent's cgroup.
        return ["/bin/sh", "-c", 'echo 0 > "$0" && exec "$@"', str(cgroup / "cgroup.procs"), *enter]

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        timeout: float | None = None,
        cgroup: Path | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run argv to its end with its output captured; timeout in seconds."""
        with subprocess.Popen(
            self.command(argv, cgroup),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment(),
            process_group=0,
        ) as process:
            try:
                out, err = process.communicate(stdin, timeout)
            except BaseException as e:
                kill_group(process)
                if isinstance(e, subprocess.TimeoutExpired):
                    raise LabError(f"`{' '.join(argv)}` did not end within {timeout:g} s") from None
                raise
        return subprocess.CompletedProcess(list(argv), process.returncode, out, err)


def kill_group(process: "subprocess.Popen[str]") -> None:
    """Kill a child and, across the PID namespace, what nsenter started for it."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()
