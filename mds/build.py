# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds ceph-mds with the hook: python3 -m mds.build [--release tentacle].

Everything is kept in the user's cache folder: a root file system with the suite's compiler and libraries,
Ceph's source as the suite has it in a git repository, and ccache's store. The program's path is printed, on
its own, on standard output.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import releases, rootfs
from lab.errors import LabError
from lab.progress import ConsoleProgress, Progress
from lab.releases import Release
from mds import root, source
from mds.source import Source

_HERE = Path(__file__).resolve().parent
_GIB_PER_JOB = 3
"""Memory that MDCache.cc takes to compile."""

_COMPILE = """set -e
export CCACHE_SLOPPINESS=pch_defines,time_macros  # what a precompiled header needs
cmake -G Ninja -S /tmp/hook/build -B build -DCEPH_SRC="$PWD/tree" -DCMAKE_BUILD_TYPE=None \\
  -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \\
  -DCMAKE_CXX_FLAGS="$1" -DCMAKE_C_FLAGS="$1" -DUNITY="$2" >&2
jobs=$3; shift 3
nice -n 19 ninja -k 0 -C build -j"$jobs" "$@"
"""
_FOR_TESTS = ("crafted-client", "unit-tests")
"""Programs that are built beside a ceph-mds for tests."""


QUICK, OPTIMIZED = "-O1", "-O2"
"""The compiler's flags: what tests use, and what Debian's own program has, to be compared with it."""


@dataclass(frozen=True)
class Recipe:
    """One program to build."""

    release: Release
    stock: bool = False
    """Without the patches, to compare with."""
    flags: str = QUICK

    @property
    def home(self) -> Path:
        """Where it is built."""
        kind = ("-stock" if self.stock else "") + ("" if self.flags == QUICK else self.flags)
        return source.folder(self.release, kind)

    @property
    def program(self) -> Path:
        """The ceph-mds that comes out."""
        return self.home / "build/ceph-mds"

    @property
    def built(self) -> Path:
        """The digest of what the program was built of."""
        return self.home / "built"

    def targets(self) -> tuple[str, ...]:
        """What is built."""
        for_tests = not self.stock and self.flags == QUICK
        return ("ceph-mds", *(_FOR_TESTS if for_tests else ()))

    def series(self) -> list[Path]:
        """The patches, in order."""
        return [] if self.stock else source.patches(self.release.name)

    def digest(self) -> str:
        """Changes whenever the patched tree would."""
        hasher = hashlib.sha256()
        for path in [*self.series(), *sorted((_HERE / "build").glob("*"))]:
            hasher.update(path.name.encode() + path.read_bytes())
        return hasher.hexdigest()


def built(release: str, flags: str = QUICK) -> Path:
    """The patched ceph-mds of a release, which must have been built of these patches."""
    recipe = Recipe(releases.get(release), flags=flags)
    build_it = f"build it with `python3 -m mds.build --release {release} --flags={flags}`"
    if not recipe.program.exists():
        raise LabError(f"no ceph-mds with the hook for {release}: {build_it}")
    if not _says(recipe.built, recipe.digest()):
        raise LabError(f"{recipe.program} is of other patches than these: {build_it}")
    return recipe.program


def _says(stamp: Path, digest: str) -> bool:
    return stamp.exists() and stamp.read_text() == digest


def build(recipe: Recipe, jobs: int, progress: Progress) -> Path:
    """Build what has changed; the program's path."""
    with locked(recipe.home, recipe.release, progress) as build_root:
        _make(recipe, build_root, jobs, progress)
    return recipe.program


@contextmanager
def locked(home: Path, release: Release, progress: Progress) -> Iterator[Path]:
    """Nobody else builds in a folder meanwhile; the release's root file system."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        rootfs.lock_or_wait(lock.fileno(), fcntl.LOCK_EX, "ceph-mds is being built", progress)
        acquired = rootfs.acquire(root.build_root(release), progress)
        try:
            yield acquired.path
        finally:
            acquired.release()


def _make(recipe: Recipe, build_root: Path, jobs: int, progress: Progress) -> None:
    ceph = Source(recipe.release, recipe.home)
    ceph.unpack(build_root, progress)
    stamp = recipe.home / "applied"
    if not _says(stamp, recipe.digest()):
        with progress.step(f"apply {len(recipe.series())} patches"):
            stamp.unlink(missing_ok=True)
            ceph.reset()
            ceph.apply(recipe.series())
            stamp.write_text(recipe.digest())
    with progress.step("compile"):
        recipe.built.unlink(missing_ok=True)
        unity = ceph.new_units()
        compile_units(recipe.home, build_root, recipe.targets(), progress, recipe.flags, jobs, unity)
        recipe.built.write_text(recipe.digest())


def compile_units(
    home: Path,
    build_root: Path,
    targets: Sequence[str],
    progress: Progress,
    flags: str,
    jobs: int,
    unity: Sequence[str] = (),
) -> None:
    """Compile what has changed of the tree in home; the units of ``unity`` as one."""
    arguments = [flags, ";".join(unity), str(jobs), *targets]
    root.run(home, build_root, _COMPILE, arguments, progress)


def default_jobs() -> int:
    """As many compilers as there are processors, and memory for."""
    told = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    memory = int(told["MemAvailable"].split()[0]) << 10  # what caches files is free, too
    return max(1, min(os.cpu_count() or 1, memory // (_GIB_PER_JOB << 30)))


def main(argv: Sequence[str] | None = None) -> int:
    """Build and print where the program is."""
    parser = argparse.ArgumentParser(prog="mds.build", description=__doc__)
    parser.add_argument("--release", default=releases.DEFAULT, choices=root.RELEASES)
    parser.add_argument("--stock", action="store_true", help="without the patches, to compare with")
    parser.add_argument("--flags", choices=(QUICK, OPTIMIZED), default=QUICK, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=default_jobs(), metavar="N")
    args = parser.parse_args(argv)
    if shutil.which("bwrap") is None:
        print("mds.build: bubblewrap is missing: apt-get install bubblewrap", file=sys.stderr)
        return 1
    recipe = Recipe(releases.get(args.release), args.stock, args.flags)
    try:
        print(build(recipe, args.jobs, ConsoleProgress()))
    except LabError as e:
        print(f"mds.build: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
