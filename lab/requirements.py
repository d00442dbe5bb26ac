# SPDX-License-Identifier: LGPL-2.1-or-later
"""What this machine lacks for a lab: found out, and said in one sentence, before anything starts."""

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from lab import aptconf, process, rootfs
from lab.errors import LabError
from lab.releases import Release
from lab.sandbox import checkout

_GIB = 1 << 30
_BUILD_DISK = 3 * _GIB
_LAB_DISK = _GIB // 2
_MEMORY = 2 * _GIB
_REACH_S = 15


def check(release: Release, lab_parent: Path) -> None:
    """Raise LabError with the first thing that is missing."""
    if not sys.platform.startswith("linux"):
        raise LabError("the lab needs Linux: it runs Ceph in name spaces")
    _check_programs(["bwrap", "dh", "dpkg-buildpackage", "git", "nsenter"])
    _check_sandbox()
    _check_memory()
    _check_disk(lab_parent, _LAB_DISK)
    if not (checkout() / "mgr/mds_partitioner").is_dir():
        raise LabError(f"{checkout()} has no mgr/mds_partitioner: run the lab from a complete checkout")
    if not rootfs.is_ready(release):
        _check_build(release)


def _check_programs(names: list[str]) -> None:
    packages = {
        "bwrap": "bubblewrap",
        "dh": "debhelper",
        "dpkg-buildpackage": "dpkg-dev",
        "nsenter": "util-linux",
        "unshare": "util-linux",
        "newuidmap": "uidmap",
    }
    missing = sorted({packages.get(name, name) for name in names if shutil.which(name) is None})
    if missing:
        raise LabError(f"this machine lacks {' and '.join(missing)}: apt-get install {' '.join(missing)}")


def _check_sandbox() -> None:
    probe = ["bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "/bin/true"]
    if os.geteuid() != 0:
        probe[1:1] = ["--unshare-user", "--uid", "0"]
    done = subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        root = os.geteuid() == 0
        need = "the right to make name spaces" if root else "root, or unprivileged user namespaces"
        raise LabError(f"the lab needs {need}, which this machine refuses ({process.last_line(done.stderr)})")


def _check_memory() -> None:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable" and int(amount.split()[0]) * 1024 < _MEMORY:
            free = int(amount.split()[0]) / (1 << 20)
            raise LabError(f"a lab needs {_MEMORY // _GIB} GiB of free memory, and {free:.1f} GiB are left")


def _check_disk(path: Path, need: int) -> None:
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    if free < need:
        raise LabError(f"{path} needs {need / _GIB:.1f} GiB of space, and {free / _GIB:.1f} GiB are left")


def _check_build(release: Release) -> None:
    _check_programs(["mmdebstrap", "setpriv", "tar", "unshare"])
    if not Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
        raise LabError("this machine lacks Debian's archive keys: apt-get install debian-archive-keyring")
    if os.geteuid() != 0:
        _check_subordinates()
    if release.wheels:
        _check_pip()
    _check_disk(rootfs.cache_dir(), _BUILD_DISK)
    _check_mirror(release)


def _check_subordinates() -> None:
    _check_programs(["newuidmap"])
    probe = [*rootfs.as_root(), "true"]
    done = subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = process.last_line(done.stderr)
        raise LabError(f"an ordinary user needs a range in /etc/subuid and /etc/subgid: {reason}")


def _check_pip() -> None:
    command = [sys.executable, "-m", "pip", "--version"]
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
        raise LabError(f"{sys.executable} has no pip, which fetches a wheel for this release: install it")


def _check_mirror(release: Release) -> None:
    mirrors = aptconf.mirrors()
    if not mirrors:
        # mmdebstrap has its own default, and says itself when that is out of reach.
        return
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(aptconf.proxies() or None))
    url = f"{mirrors[0]}/dists/{release.suite}/Release"
    try:
        with opener.open(urllib.request.Request(url, method="HEAD"), timeout=_REACH_S):
            pass
    except (urllib.error.URLError, OSError) as e:
        why = f"Debian {release.suite} cannot be fetched from this machine's package mirror: {e}"
        raise LabError(why) from None
