# SPDX-License-Identifier: LGPL-2.1-or-later
"""Root file systems to compile Ceph in, and how something is run in one."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import rootfs
from lab.errors import LabError
from lab.process import last_line
from lab.progress import Progress
from lab.releases import Release

PROXIES = ("http_proxy", "https_proxy", "no_proxy")  # of the environment, by which apt reaches its archive
_HERE = Path(__file__).resolve().parent
_COMMON = (
    "g++",
    "cmake",
    "ninja-build",
    "ccache",
    "xz-utils",
    "python3-yaml",
    "ca-certificates",
    "ceph-common",
    "libboost-dev",
    "libgtest-dev",
    "liblua5.3-dev",
    "libgoogle-perftools-dev",
    "libcap-dev",
    "libssl-dev",
)
_PACKAGES = {
    "tentacle": (*_COMMON, "libboost-url-dev"),
    "reef": (*_COMMON, "libboost-system-dev", "libfmt-dev", "libxxhash-dev"),
}
RELEASES = tuple(sorted(_PACKAGES, reverse=True))
"""Those that there is a series for, newest first."""


def build_root(release: Release) -> Release:
    """The suite's root file system to compile in: the lab's recipe with other packages."""
    return Release(
        f"{release.name}-mdsbuild",
        suite=release.suite,
        cipher=release.cipher,
        python=release.python,
        packages=_PACKAGES[release.name],
        key_files=("usr/bin/g++", "usr/bin/cmake", "usr/bin/ninja", "usr/bin/ccache", "usr/bin/ceph"),
        imports="import yaml",
    )


def run(
    home: Path,
    root: Path,
    script: str,
    arguments: Sequence[str],
    progress: Progress,
    *,
    network: bool = False,
) -> str:
    """Run a shell script in a root file system, its working folder being home; what it printed."""
    cache = rootfs.cache_dir() / "ccache"
    cache.mkdir(parents=True, exist_ok=True)
    command = ["bwrap", "--die-with-parent", "--unshare-pid"]
    if os.geteuid() != 0:
        command += ["--unshare-user", "--uid", "0", "--gid", "0"]
    command += ["--ro-bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--bind", str(home), "/tmp/mds", "--bind", str(cache), "/tmp/ccache"]
    command += ["--ro-bind", str(_HERE), "/tmp/hook", "--chdir", "/tmp/mds"]
    if network:
        command += ["--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf"]
    else:
        command += ["--unshare-net"]
    environment = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        "HOME": "/tmp",
        "CCACHE_DIR": "/tmp/ccache",
        "CCACHE_MAXSIZE": "5G",
        "CCACHE_DEPEND": "1",  # what a unit includes is known from its compiling: no preprocessing before it
    }
    if network:
        environment |= {name: of for name, of in os.environ.items() if name.lower() in PROXIES}
    lines: list[str] = []
    with _process([*command, "--", "/bin/sh", "-c", script, "sh", *arguments], environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            progress.detail(line.strip())
    text = "".join(lines)
    if process.returncode:
        log = home / "build.log"
        log.write_text(text)
        errors = [line.strip() for line in lines if "error:" in line or "FAILED" in line or "rror at" in line]
        raise LabError(f"{errors[0] if errors else last_line(text)} (all of it: {log})")
    return text


@contextmanager
def _process(command: list[str], environment: dict[str, str]) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
