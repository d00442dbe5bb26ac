# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where labs live on this machine, and which of them are alive.

A lab is a directory. While it lives, its supervisor and its reaper hold a lock on a file beside it, so that
"alive" never rests on a process id that something else may have by now.
"""

import fcntl
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab.errors import LabError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass
class LabState:
    """What every command needs to know about a running lab; one JSON file in its directory."""

    name: str
    release: str
    sandbox_pid: int = 0
    """Host's id of PID 1 of the sandbox."""
    supervisor_pid: int = 0
    supervisor_start: int = 0
    """Start time of the supervisor in clock ticks since boot: with the pid it names the process for good."""
    cgroup: str | None = None
    """Parent of the MDSs' cgroups, or None where there are no rights to make any."""
    mds_cpu: int | None = None
    """CPU quota of each MDS in percent of one core; None is unlimited."""
    mds_cpu_own: dict[str, int | None] = field(default_factory=dict)
    """The same of those that have one of their own, by daemon."""
    daemons: list[str] = field(default_factory=list)
    """For example mds.a, in the order they were started."""
    ready: bool = False


def base_dir() -> Path:
    """The directory of this user's labs, made if missing.

    Not XDG_RUNTIME_DIR: that is small, and differs between a login and sudo or cron.
    """
    path = Path(tempfile.gettempdir()) / f"mds-partitioner-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    info = path.lstat()
    if not path.is_dir() or path.is_symlink() or info.st_uid != os.getuid():
        raise LabError(f"{path} belongs to someone else: remove it, or set TMPDIR to another directory")
    return path


def check_name(name: str) -> str:
    """The name itself when it may be a lab's."""
    if not _NAME.fullmatch(name):
        allowed = "up to 32 of a-z, 0-9, '-' and '_', starting with a letter or digit"
        raise LabError(f"bad lab name {name!r}: {allowed}")
    return name


def lab_dir(name: str) -> Path:
    """The directory of a lab, which need not exist."""
    return base_dir() / check_name(name)


def try_lock(name: str) -> int | None:
    """The lab's lock as an open file descriptor, or None while a lab of that name lives."""
    path = _lock_path(name)
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        # Whoever held it may have removed the file meanwhile: then this is a lock on nothing.
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            return fd
        os.close(fd)


def drop_lock(name: str, fd: int) -> None:
    """Give a lock back that no lab has inherited."""
    forget_lock(name)
    os.close(fd)


def forget_lock(name: str) -> None:
    """Remove the file of a lock; only for its holder, and last of all."""
    _lock_path(name).unlink(missing_ok=True)


def is_alive(name: str) -> bool:
    """Whether a supervisor or its reaper still holds the lab."""
    if not _lock_path(name).exists():
        return False
    fd = try_lock(name)
    if fd is None:
        return True
    os.close(fd)
    return False


def _lock_path(name: str) -> Path:
    return base_dir() / f"{check_name(name)}.lock"


def names() -> list[str]:
    """All labs that have a directory, alive or left over."""
    return sorted(p.name for p in base_dir().iterdir() if p.is_dir() and _NAME.fullmatch(p.name))


def save(state: LabState) -> None:
    """Write the state so that a reader sees the old or the new one, never half of it."""
    path = lab_dir(state.name) / "state.json"
    temp = path.with_suffix(f".{os.getpid()}")
    temp.write_text(json.dumps(asdict(state), indent=1))
    temp.replace(path)


def load(name: str) -> LabState:
    """The state of a living lab."""
    if not is_alive(name):
        raise LabError(f"no lab {name!r} is running: start it with `python3 -m lab up --name {name}`")
    try:
        return LabState(**json.loads((lab_dir(name) / "state.json").read_text()))
    except FileNotFoundError:
        raise LabError(f"lab {name!r} is just starting or ending: try again in a moment") from None
    except (ValueError, TypeError) as e:
        raise LabError(f"the state of lab {name!r} cannot be read ({e}): end it with `down`") from None


def peek(name: str) -> LabState | None:
    """The state as far as there is one, alive or not."""
    try:
        return LabState(**json.loads((lab_dir(name) / "state.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def remove_dir(name: str) -> None:
    """Remove what a lab left on disk."""
    shutil.rmtree(lab_dir(name), ignore_errors=True)
