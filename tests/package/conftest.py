# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages as `make deb` and `make rpm` build them, and a root file system to install them into."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import roots

HOME = Path(__file__).resolve().parents[2]
CONTROL = HOME / "packaging/debian/control"


@dataclass(frozen=True)
class Built:
    """What one build left."""

    folder: Path

    def one(self, pattern: str) -> Path:
        """The only file of that name."""
        (found,) = self.folder.glob(pattern)
        return found


Build = Callable[..., Built]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build ``kind`` from a fresh clone in a folder of that name, with other surroundings each time."""
    git = ["git", "-C", HOME, "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()

    def run(kind: str, where: str, *version: str, umask: int = 0o022, zone: str = "UTC") -> Built:
        home = tmp_path_factory.mktemp(where)
        clone = home / where / "checkout"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", HOME, clone], check=True, umask=umask)
        subprocess.run(["git", "-C", clone, "checkout", "-q", "--detach", commit], check=True, umask=umask)
        command = [clone / "packaging/build", kind, home / "out", *version]
        subprocess.run(command, env=os.environ | {"TZ": zone}, check=True, umask=umask)
        return Built(home / "out")

    return run


@pytest.fixture(scope="session")
def deb(build: Build) -> Built:
    """The .deb, and what belongs to it."""
    return build("deb", "deb")


@pytest.fixture(scope="session")
def rpm(build: Build) -> Built:
    """The .rpm, and the spec that it was made from."""
    return build("rpm", "rpm")


@pytest.fixture(scope="session")
def newer(build: Build) -> Built:
    """The .deb of a version to come."""
    return build("deb", "newer", "99.0.0")


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[roots.Root]:
    """With all that the package depends on and recommends, and without the package."""
    lists = re.findall(r"^(?:Depends|Recommends):(.*(?:\n .*)*)", CONTROL.read_text(), re.MULTILINE)
    names = [part.split()[0] for text in lists for part in text.split(",")]
    path = tmp_path_factory.mktemp("root") / "root"
    yield roots.make(path, [name for name in names if not name.startswith("${")])
    shutil.rmtree(path)
