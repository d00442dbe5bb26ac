# SPDX-License-Identifier: LGPL-2.1-or-later
"""A root file system of Debian's own packages that a test may change, and what is in it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import aptconf

SUITE = "trixie"
# What dpkg and apt themselves keep, and what programs write while they run.
NOT_OF_A_PACKAGE = ("dev", "proc", "sys", "run", "tmp", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log")
# No service starts in it, and there is no systemd that Ceph's scripts could ask.
QUIET = r"""
printf '#!/bin/sh\nexit 101\n' > "$1/usr/sbin/policy-rc.d"
printf '#!/bin/sh\nexit 0\n' > "$1/usr/local/bin/systemctl"
chmod +x "$1/usr/sbin/policy-rc.d" "$1/usr/local/bin/systemctl"
"""


@dataclass(frozen=True)
class Root:
    """The root file system at ``path``."""

    path: Path

    def run(self, *command: str, stdin: str = "") -> str:
        """Its output. :raises AssertionError: it failed"""
        contain = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path}/proc"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            [*contain, "chroot", str(self.path), *command],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def install(self, package: Path) -> None:
        """By dpkg, which refuses when a dependency is missing. What an operator changed is kept."""
        inside = self.path / "root" / package.name
        inside.write_bytes(package.read_bytes())
        try:
            self.run("dpkg", "--force-confold", "-i", f"/root/{package.name}")
        finally:
            inside.unlink()

    def files(self) -> frozenset[str]:
        """Paths of all that packages may bring, directories too."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            here = os.path.relpath(folder, self.path)
            paths = {name: os.path.normpath(f"{here}/{name}") for name in (*folders, *names)}
            folders[:] = [name for name in folders if paths[name] not in NOT_OF_A_PACKAGE]
            found |= set(paths.values())
        return frozenset(found)


def make(path: Path, packages: list[str]) -> Root:
    """Debian's with these packages and what they depend on; nothing of Recommends."""
    options = ('APT::Install-Recommends "false"', 'Acquire::Retries "3"', *aptconf.proxy_options())
    # An interrupt takes the name spaces with it, and so every process and mount in them.
    contain = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    subprocess.run(
        [
            *contain,
            *("mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}"),
            *(f"--aptopt={option}" for option in options),
            f"--essential-hook={QUIET}",
            *(SUITE, str(path), *aptconf.mirrors()),
        ],
        stdin=subprocess.DEVNULL,
        check=True,
    )
    return Root(path)
