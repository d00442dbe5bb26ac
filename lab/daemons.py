# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ceph's daemons in a lab: start, find, kill, read their logs."""

import contextlib
import os
import secrets
import signal
from collections.abc import Sequence
from pathlib import Path

from lab import cgroups, state
from lab.errors import LabError
from lab.sandbox import Sandbox
from lab.state import LabState
from lab.waiting import until

KINDS = ("mon", "mgr", "osd", "mds")
_FIRST_PORT, _PORTS = 6800, 700  # ms_bind_port_min; ms_bind_port_max is 7568
_START_S = 120
_KILL_S = 30
_TAIL = 15  # lines of a log


def split(daemon: str) -> tuple[str, str]:
    """Kind and id of a daemon's name such as mds.a."""
    kind, dot, ident = daemon.partition(".")
    if not dot or not ident or kind not in KINDS:
        raise LabError(f"bad daemon name {daemon!r}: it must look like mds.a, mgr.x, osd.0 or mon.a")
    return kind, ident


def check_known(lab: LabState, daemon: str) -> None:
    """Refuse a daemon that the lab does not have."""
    split(daemon)
    if daemon not in lab.daemons:
        raise LabError(f"lab {lab.name!r} has no {daemon}: it has {', '.join(lab.daemons)}")


def start(lab: LabState, daemon: str, program: str | None = None) -> None:
    """Start a daemon; return when it has put itself into the background."""
    kind, ident = split(daemon)
    if pids(lab, daemon):
        raise LabError(f"{daemon} is already running")
    done = Sandbox(lab.sandbox_pid).run(
        [program or f"ceph-{kind}", "-i", ident, *_elsewhere(kind)],
        timeout=_START_S,
        cgroup=_cgroup(lab, daemon),
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise LabError(f"{daemon} did not start: {said}\n{log_tail(lab.name, daemon)}")


def _elsewhere(kind: str) -> list[str]:
    """Ports that it had not before. Who knows an MDS's old address connects before the new one can check
    keys, and 20.2.4 then dies (ProtocolV2::handle_auth_request, 30 ms after the start)."""
    if kind != "mds":
        return []
    return [f"--ms-bind-port-min={_FIRST_PORT + secrets.randbelow(_PORTS)}"]


def set_quota(lab: LabState, percent: int | None, only: Sequence[str] = ()) -> None:
    """Give every MDS of the lab that CPU quota, or only these, now and when it is started again."""
    if only:
        lab.mds_cpu_own |= dict.fromkeys(only, percent)
    else:
        lab.mds_cpu, lab.mds_cpu_own = percent, {}
    for daemon in lab.daemons:
        _cgroup(lab, daemon)


def _cgroup(lab: LabState, daemon: str) -> Path | None:
    if lab.cgroup is None or not daemon.startswith("mds."):
        return None
    group = cgroups.member(Path(lab.cgroup), daemon)
    cgroups.set_quota(group, lab.mds_cpu_own.get(daemon, lab.mds_cpu))
    return group


def pids(lab: LabState, daemon: str) -> list[int]:
    """The host's process ids of a daemon: none when it is dead."""
    return running(lab).get(daemon, [])


def running(lab: LabState) -> dict[str, list[int]]:
    """All living daemons of a lab and their process ids on the host, read from /proc."""
    found: dict[str, list[int]] = {}
    try:
        namespace = Path(f"/proc/{lab.sandbox_pid}/ns/pid").readlink()
    except OSError:
        return found
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if (entry / "ns/pid").readlink() == namespace:
                daemon = daemon_of((entry / "cmdline").read_bytes())
                if daemon is not None:
                    found.setdefault(daemon, []).append(int(entry.name))
    return found


def daemon_of(cmdline: bytes) -> str | None:
    """The daemon's name by its command line; None for other processes and for zombies, which have none."""
    argv = cmdline.decode(errors="replace").rstrip("\0").split("\0")
    program = Path(argv[0]).name
    kind = program.removeprefix("ceph-")
    if program == kind or kind not in KINDS or "-i" not in argv[:-1]:
        return None
    return f"{kind}.{argv[argv.index('-i') + 1]}"


def kill(lab: LabState, daemon: str, signum: int) -> None:
    """Send a signal; for one that ends the daemon, return when it is gone."""
    check_known(lab, daemon)
    targets = pids(lab, daemon)
    if not targets:
        raise LabError(f"{daemon} is not running")
    for pid in targets:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signum)
    if signum not in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        return
    gone = f"{daemon} ends by {signal.Signals(signum).name}"
    until(lambda: not pids(lab, daemon), _KILL_S, gone, every=0.05)


def log_path(name: str, daemon: str) -> Path:
    """A daemon's log on the host."""
    return state.lab_dir(name) / "log" / f"ceph-{daemon}.log"


def log_tail(name: str, daemon: str) -> str:
    """The last lines of a daemon's log."""
    try:
        text = log_path(name, daemon).read_text(errors="replace")
    except FileNotFoundError:
        return f"({daemon} has written no log)"
    return "\n".join(text.splitlines()[-_TAIL:])
