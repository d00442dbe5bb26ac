# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's Debian package: built of the checkout as it is, installed into a lab by the lab's own dpkg.

A lab has copies of its own of what packages may write to, so that a root file system never changes, and a
package can be upgraded and removed in a running lab as on any host.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import process, rootfs, sandbox
from lab.errors import LabError
from lab.progress import Progress

NAME = "ceph-mgr-mds-partitioner"
# What the package is made of, as git names it.
_PARTS = ("mgr", "mantle", "monitoring", "docs", ":!docs/results", "packaging")
_FILES = ("README.md", "CHANGELOG.md", "LICENSE")
_KEPT = 20  # packages of earlier edits; others may be about to install them
_DPKG = ("dpkg", "--log=/dev/null", "--force-unsafe-io")  # nothing of a lab outlives a crash
_TIMEOUT = 120  # s
# The checkout may be another user's than root's, who runs the tests.
_TRUSTED = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def built(progress: Progress, version: str | None = None) -> Path:
    """The package of the checkout with all that was changed and not committed; built unless it was before.

    :param version: in place of the changelog's
    """
    cache = rootfs.cache_dir() / "packages"
    cache.mkdir(parents=True, exist_ok=True)
    with _snapshot() as (tree, known):
        path = cache / f"{NAME}-{tree}{'' if version is None else f'-{version}'}.deb"
        if not path.exists():
            with progress.step("package of the module"):
                _build(path, known | {"TREE": tree}, [] if version is None else [version], progress)
            _forget_old(cache)
        path.touch()
    return path


@contextmanager
def _snapshot() -> Iterator[tuple[str, dict[str, str]]]:
    """git's name of the tree that the files are, and the environment in which git knows it."""
    objects = (sandbox.checkout() / _git(["rev-parse", "--git-path", "objects"])).resolve()
    with tempfile.TemporaryDirectory() as folder:
        known = {
            "GIT_INDEX_FILE": f"{folder}/index",
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        _git(["add", "--all", "--", *_PARTS, *_FILES], known)
        yield _git(["write-tree"], known), known


def _git(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=sandbox.checkout(),
        env={**os.environ, **_TRUSTED, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = process.last_line(done.stderr)
        raise LabError(f"the package is built of what git knows, and it says: {said}")
    return done.stdout.strip()


def _build(path: Path, environment: Mapping[str, str], version: Sequence[str], progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        build = [str(sandbox.checkout() / "packaging/build"), "deb", folder, *version]
        known = {**os.environ, **_TRUSTED, **environment, "TMPDIR": folder}
        process.pipeline(build, ["cat"], env=known, on_line=progress.detail)
        (package,) = Path(folder).glob("*.deb")
        package.rename(path)


def _forget_old(cache: Path) -> None:
    packages = sorted(cache.glob("*.deb"), key=lambda path: path.stat().st_mtime)
    for old in packages[:-_KEPT]:
        old.unlink(missing_ok=True)


def install(name: str, inside: sandbox.Sandbox, package: Path) -> None:
    """Install or upgrade by dpkg, in the running lab of that name. What an operator changed is kept.

    :raises LabError: dpkg refused, as when a dependency is missing; its words
    """
    shutil.copy(package, sandbox.packages_of(name))
    dpkg(inside, "--force-confold", "--install", f"/{sandbox.PACKAGES_MOUNT}/{package.name}")


def dpkg(inside: sandbox.Sandbox, *arguments: str) -> None:
    """Run dpkg in a lab. :raises LabError: with what it said"""
    done = inside.run([*_DPKG, *arguments], timeout=_TIMEOUT)
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise LabError(f"dpkg {' '.join(arguments)} failed with {done.returncode}: {said}")
