# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds ceph-mds with the hook: python3 -m mds.build [--release tentacle].

Everything is kept in the user's cache folder: a root file system with the suite's compiler and libraries,
Ceph's source as the suite has it, and ccache's store. The program's path is printed, on its own, on
standard output.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import releases, rootfs
from lab.errors import LabError
from lab.process import last_line
from lab.progress import ConsoleProgress, Progress
from lab.releases import Release

_HERE = Path(__file__).resolve().parent
_COMMON = (
    "g++",
    "cmake",
    "ninja-build",
    "ccache",
    "patch",
    "xz-utils",
    "python3-yaml",
    "ca-certificates",
    "ceph-common",
    "libboost-dev",
    "liblua5.3-dev",
    "libgoogle-perftools-dev",
    "libcap-dev",
    "libssl-dev",
)
_PACKAGES = {
    "tentacle": (*_COMMON, "libboost-url-dev"),
    "reef": (*_COMMON, "libboost-system-dev", "libfmt-dev", "libxxhash-dev"),
}
# Bundled third-party code that no unit of ceph-mds reads; two thirds of the source.
_UNUSED = (
    *(
        "arrow",
        "boost",
        "c-ares",
        "googletest",
        "isa-l",
        "jaegertracing",
        "nvmeof",
        "pmdk",
        "pybind",
        "qatlib",
    ),
    *("rapidjson", "rocksdb", "s3select", "seastar", "spdk", "test", "zstd"),
)
_GIB_PER_JOB = 3
"""Memory that MDCache.cc takes to compile."""

_FETCH = """set -e
mkdir -p apt/lists/partial apt/cache/archives/partial
sed 's/^deb /deb-src /' /etc/apt/sources.list > apt/sources.list
options="-o Dir::Etc::sourcelist=$PWD/apt/sources.list -o Dir::Etc::sourceparts=/dev/null
 -o Dir::State::lists=$PWD/apt/lists -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User=root"
apt-get $options -q update
apt-get $options -q source --tar-only ceph
"""
_UNPACK = """set -e
rm -rf pristine unpacking; mkdir unpacking
tarball=$1; shift
tar -xf "$tarball" -C unpacking --strip-components=1 --no-same-owner --wildcards "$@" '*/src' '*/cmake'
mv unpacking pristine
"""
_PATCH = """set -e
rm -rf tree; cp -r pristine tree  # with new times: what an older patch changed is compiled again
if [ $# -gt 0 ]; then cp /tmp/hook/src/* tree/src/mds/; fi
for patch in "$@"; do patch -d tree -p1 --no-backup-if-mismatch -s < "/tmp/hook/$patch"; done
"""
_COMPILE = """set -e
cmake -G Ninja -S /tmp/hook/build -B build -DCEPH_SRC="$PWD/tree" -DCMAKE_BUILD_TYPE=None \\
  -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \\
  -DCMAKE_CXX_FLAGS="$1" -DCMAKE_C_FLAGS="$1" >&2
jobs=$2; shift 2
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
        return rootfs.cache_dir() / "mds" / (self.release.name + kind)

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

    def series(self) -> list[str]:
        """The patches, in order, as paths below mds/."""
        folder = _HERE / "patches" / self.release.name
        lines = (folder / "series").read_text().split() if not self.stock else []
        return [f"patches/{self.release.name}/{line}" for line in lines]

    def digest(self) -> str:
        """Changes whenever the patched tree would."""
        hasher = hashlib.sha256()
        sources = [path for folder in ("src", "build") for path in sorted((_HERE / folder).glob("*"))]
        for path in [*(_HERE / name for name in self.series()), *sources]:
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


def build(recipe: Recipe, jobs: int, progress: Progress) -> Path:
    """Build what has changed; the program's path."""
    recipe.home.mkdir(parents=True, exist_ok=True)
    with (recipe.home / "lock").open("w") as lock:
        rootfs.lock_or_wait(lock.fileno(), fcntl.LOCK_EX, "ceph-mds is being built", progress)
        root = rootfs.acquire(build_root(recipe.release), progress)
        try:
            _make(recipe, root.path, jobs, progress)
        finally:
            root.release()
    return recipe.program


def _make(recipe: Recipe, root: Path, jobs: int, progress: Progress) -> None:
    home = recipe.home
    if not _tarball(recipe):
        with progress.step(f"source of {recipe.release.name}"):
            _run(recipe, root, _FETCH, [], progress, network=True)
    if not (home / "pristine").is_dir():
        with progress.step("unpack the source"):
            exclude = [f"--exclude=*/src/{name}" for name in _UNUSED]
            tarball = _tarball(recipe)
            assert tarball is not None
            _run(recipe, root, _UNPACK, [tarball.name, *exclude], progress)
    stamp = home / "applied"
    if not _says(stamp, recipe.digest()):
        with progress.step(f"apply {len(recipe.series())} patches"):
            stamp.unlink(missing_ok=True)
            _run(recipe, root, _PATCH, recipe.series(), progress)
            stamp.write_text(recipe.digest())
    with progress.step("compile"):
        recipe.built.unlink(missing_ok=True)
        _run(recipe, root, _COMPILE, [recipe.flags, str(jobs), *recipe.targets()], progress)
        recipe.built.write_text(recipe.digest())


def _tarball(recipe: Recipe) -> Path | None:
    """The source as the suite has it; the one of the other build of this release serves too."""
    found = sorted(recipe.home.glob("ceph_*.orig.tar.*"))
    if not found:
        for other in sorted(recipe.home.parent.glob(f"{recipe.release.name}*/ceph_*.orig.tar.*")):
            os.link(other, recipe.home / other.name)
            return recipe.home / other.name
    return found[-1] if found else None


def _run(
    recipe: Recipe,
    root: Path,
    script: str,
    arguments: Sequence[str],
    progress: Progress,
    *,
    network: bool = False,
) -> None:
    """Run a shell script in the build's root file system, its working folder being the recipe's home."""
    cache = rootfs.cache_dir() / "ccache"
    cache.mkdir(parents=True, exist_ok=True)
    command = ["bwrap", "--die-with-parent", "--unshare-pid"]
    if os.geteuid() != 0:
        command += ["--unshare-user", "--uid", "0", "--gid", "0"]
    command += ["--ro-bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--bind", str(recipe.home), "/tmp/mds", "--bind", str(cache), "/tmp/ccache"]
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
    with _process([*command, "--", "/bin/sh", "-c", script, "sh", *arguments], environment) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            progress.detail(line.strip())
    if process.returncode:
        log = recipe.home / "build.log"
        log.write_text("".join(lines))
        errors = [line.strip() for line in lines if "error:" in line or "FAILED" in line or "rror at" in line]
        raise LabError(f"{errors[0] if errors else last_line(''.join(lines))} (all of it: {log})")


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


def default_jobs() -> int:
    """As many compilers as there are processors, and memory for."""
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(os.cpu_count() or 1, memory // (_GIB_PER_JOB << 30)))


def main(argv: Sequence[str] | None = None) -> int:
    """Build and print where the program is."""
    parser = argparse.ArgumentParser(prog="mds.build", description=__doc__)
    parser.add_argument("--release", default=releases.DEFAULT, choices=sorted(_PACKAGES))
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
