# SPDX-License-Identifier: LGPL-2.1-or-later
"""Root file systems with Ceph in them: built once with mmdebstrap, cached for all labs and checkouts.

A root file system is keyed by its recipe, so a changed recipe is simply another key. Whoever uses one holds a
shared lock; building and pruning need the exclusive one.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import aptconf, process
from lab.errors import LabError
from lab.progress import Progress
from lab.releases import Release

CODE_MOUNT = "opt/mds-partitioner"
# The root is mounted read-only: bubblewrap cannot make these later.
_MOUNT_POINTS = (f"{CODE_MOUNT}/mgr", f"{CODE_MOUNT}/lab", "etc/ceph", "var/lib/ceph", "var/log/ceph")
_RECIPE_VERSION = 1

# No service is started in a chroot, and Ceph's postinsts call systemctl without looking for it.
_HOOK = r"""set -e
mkdir -p "$1/usr/sbin" "$1/usr/local/bin"
printf '#!/bin/sh\nexit 101\n' > "$1/usr/sbin/policy-rc.d"
printf '#!/bin/sh\nexit 0\n' > "$1/usr/local/bin/systemctl"
chmod +x "$1/usr/sbin/policy-rc.d" "$1/usr/local/bin/systemctl"
"""
_APT_OPTIONS = (
    'Acquire::Check-Valid-Until "false"',
    'APT::Install-Recommends "false"',
    'Acquire::Retries "3"',
)
_DPKG_OPTIONS = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
)


@dataclass(frozen=True)
class RootFS:
    """A root file system that is ready, and the descriptor whose shared lock keeps it."""

    path: Path
    lock_fd: int

    def release(self) -> None:
        """Let others prune it."""
        os.close(self.lock_fd)


def cache_dir() -> Path:
    """Where root file systems are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "mds-partitioner"


def key(release: Release) -> str:
    """Name of the release's root file system: changes whenever the way it is built does."""
    recipe = [
        _RECIPE_VERSION,
        release.suite,
        release.packages,
        release.wheels,
        _MOUNT_POINTS,
        _HOOK,
        _APT_OPTIONS,
        _DPKG_OPTIONS,
    ]
    digest = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()
    return f"{release.name}-{digest[:12]}"


def is_ready(release: Release) -> bool:
    """Whether the cached root file system is complete."""
    home = cache_dir() / key(release)
    key_files = (home / "root" / name for name in release.key_files)
    return (home / "built.json").is_file() and all(file.exists() for file in key_files)


def acquire(release: Release, progress: Progress) -> RootFS:
    """The release's root file system, built if there is none or a broken one."""
    lock, what = _open_lock(key(release)), "the root file system"
    try:
        lock_or_wait(lock, fcntl.LOCK_SH, f"{what} is being built", progress)
        while not is_ready(release):
            lock_or_wait(lock, fcntl.LOCK_EX, f"{what} is in use and broken, or being built", progress)
            if not is_ready(release):
                _build(release, progress)
            # Another process may slip in between the two locks, hence the loop.
            fcntl.flock(lock, fcntl.LOCK_SH)
        return RootFS(cache_dir() / key(release) / "root", lock)
    except BaseException:
        os.close(lock)
        raise


def prune() -> tuple[list[str], list[str]]:
    """Remove every cached root file system: those removed, and those kept because a lab uses them."""
    removed, kept = [], []
    for name in sorted({p.stem for p in _locks_dir().glob("*.lock")}):
        lock = _open_lock(name)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            kept.append(name)
        else:
            _sweep(name)
            if (cache_dir() / name).exists():
                remove_tree(cache_dir() / name)
                removed.append(name)
        finally:
            os.close(lock)
    return removed, kept


def _locks_dir() -> Path:
    path = cache_dir() / "locks"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _open_lock(name: str) -> int:
    return os.open(_locks_dir() / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def lock_or_wait(fd: int, kind: int, why: str, progress: Progress) -> None:
    """flock, and say why it takes long if it does."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        progress.note(f"{why} by another process: waiting for it")
        fcntl.flock(fd, kind)


def _sweep(name: str) -> None:
    """Remove what an interrupted build left; only under the exclusive lock."""
    for leftover in cache_dir().glob(f"building-{name}-*"):
        remove_tree(leftover)


def remove_tree(path: Path) -> None:
    """Remove a tree, whoever of our subordinate users owns parts of it, and however it is protected."""
    done = subprocess.run(
        [*as_root(), "rm", "-rf", "--one-file-system", "--", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"{path} cannot be removed: {process.last_line(done.stderr)}")


def as_root() -> list[str]:
    """What an ordinary user puts before a command to be root over his subordinate users; nothing for root."""
    return [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--map-auto", "--"]


def _build(release: Release, progress: Progress) -> None:
    name = key(release)
    _sweep(name)
    home = cache_dir() / name
    if home.exists():
        progress.note(f"the cached root file system {name} is incomplete: building it again")
        remove_tree(home)
    with _workspace(name) as work:
        root = work / "root"
        root.mkdir(mode=0o755)
        with progress.step(f"packages of {release.name} (Debian {release.suite})"):
            _bootstrap(release, work, root, progress)
        with progress.step("finish the root file system"):
            for wheel in release.wheels:
                _install_wheel(release, wheel, work, root, progress)
            for mount_point in _MOUNT_POINTS:
                (root / mount_point).mkdir(parents=True, exist_ok=True)
            progress.detail("checking its Python packages")
            _check_imports(root, release.imports)
        (work / "built.json").write_text(json.dumps({"release": release.name, "recipe": name}))
        work.rename(home)


@contextmanager
def _workspace(name: str) -> Iterator[Path]:
    """A directory that becomes the cached one by a rename, or disappears."""
    work = Path(tempfile.mkdtemp(prefix=f"building-{name}-", dir=cache_dir()))
    try:
        work.chmod(0o755)
        yield work
    finally:
        if work.exists():
            remove_tree(work)


def _bootstrap(release: Release, work: Path, root: Path, progress: Progress) -> None:
    """Run mmdebstrap into a tar stream and unpack that: the only form whose files an ordinary user owns."""
    hook = work / "hook"
    hook.write_text("#!/bin/sh\n" + _HOOK)
    hook.chmod(0o755)
    temp = work / "tmp"
    temp.mkdir(mode=0o1777)
    temp.chmod(0o1777)
    command = [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(release.packages)}",
        f"--essential-hook={hook}",
        *(f"--aptopt={o}" for o in (*_APT_OPTIONS, *aptconf.proxy_options())),
        *(f"--dpkgopt={o}" for o in _DPKG_OPTIONS),
        "--format=tar",
        release.suite,
        "-",
        *aptconf.mirrors(),
    ]
    # An interrupt takes the name spaces with it, and so every process and mount in them.
    contain = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    # Device nodes cannot be made by an ordinary user, and the sandbox has its own.
    unpack = ["tar", "-x", "-C", str(root), "--no-same-owner", "-p", "--exclude=./dev/*"]
    process.pipeline(
        [*as_root(), *contain, *command],
        unpack,
        env={**os.environ, "TMPDIR": str(temp)},
        on_line=progress.detail,
    )
    remove_tree(temp)
    hook.unlink()


def _install_wheel(release: Release, wheel: str, work: Path, root: Path, progress: Progress) -> None:
    """Put a pinned wheel among Debian's packages, in place of the one of the same name."""
    progress.detail(f"fetching {wheel}")
    wheels = work / "wheels"
    requirement = work / "requirements.txt"
    requirement.write_text(wheel + "\n")
    fetch = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
    fetch += ["--only-binary=:all:", "--require-hashes", "--platform", f"manylinux_2_17_{os.uname().machine}"]
    fetch += ["--implementation", "cp", "--abi", "abi3", "--abi", f"cp{release.python.replace('.', '')}"]
    fetch += ["--python-version", release.python]
    done = subprocess.run(
        [*fetch, "--dest", str(wheels), "-r", str(requirement)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    files = list(wheels.glob("*.whl"))
    if done.returncode or len(files) != 1:
        raise LabError(f"pip could not fetch {wheel.split(maxsplit=1)[0]}: {process.last_line(done.stderr)}")
    packages = root / "usr/lib/python3/dist-packages"
    name = wheel.split("==", maxsplit=1)[0]
    for old in (packages / name, *packages.glob(f"{name}-*.dist-info")):
        remove_tree(old)
    with zipfile.ZipFile(files[0]) as archive:
        archive.extractall(packages)
    remove_tree(wheels)
    requirement.unlink()


def _check_imports(root: Path, imports: str) -> None:
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", str(root), "/", "--dev", "/dev"]
    command += ["--proc", "/proc", "--tmpfs", "/tmp", "--", "/usr/bin/python3", "-B", "-c", imports]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"the new root file system is of no use: {process.last_line(done.stderr)}")
