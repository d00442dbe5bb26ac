# SPDX-License-Identifier: LGPL-2.1-or-later
"""Unit tests of the module in Debian's releases, with their own Python and libraries: `make pythons`.

Managers have the Python of their host or container: 3.9 on EL9, whose numpy is of bullseye's age. Each suite
named is tried, all unless told otherwise, and has a line at the end. Root file systems are built as the
lab's, and cached beside them.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from lab import requirements, rootfs
from lab.errors import LabError
from lab.progress import ConsoleProgress, Progress
from lab.releases import Release
from lab.sandbox import checkout, environment
from lab.signals import EndedError, signals_raise

_PACKAGES = (
    "python3-numpy",
    "python3-scipy",
    "python3-sklearn",
    "python3-prettytable",
    "python3-wcwidth",
    "python3-yaml",
    "python3-cheroot",
    "python3-prometheus-client",
    "lua5.3",
    "python3-pytest",
    "python3-pytest-timeout",
    "python3-hypothesis",
    "python3-rich",
)
_VERSIONS = """
import platform
from importlib.metadata import version
names = "numpy", "scipy", "scikit-learn", "pytest", "hypothesis"
print(f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in names), sep=", ")
"""
_CODE = "/tmp/checkout"
_FOLDERS = ("mgr", "mantle", "tests")  # pyproject.toml has settings that bullseye's pytest refuses
_OF_TOOLS = ("chaos", "demo", "docs", "experiments", "lab", "mds", "package", "sim")
_OPTIONS = (
    "-q",
    "-ra",
    "-p",
    "no:cacheprovider",
    "--timeout=600",
    *(f"--ignore=tests/unit/{name}" for name in _OF_TOOLS),
)
_PYTEST = ("python3", "-m", "pytest", *_OPTIONS, "tests/unit")
# Of Debian, and the Python of each.
SUITES = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13", "forky": "3.14"}


def root_of(suite: str) -> Release:
    """The suite's root file system: the lab's recipe with other packages."""
    return Release(
        f"python-{suite}",
        suite=suite,
        cipher="",
        python=SUITES[suite],
        packages=_PACKAGES,
        key_files=("usr/bin/python3", "usr/bin/lua5.3"),
        imports="import numpy, scipy, sklearn, prettytable, wcwidth, yaml, cheroot, prometheus_client",
    )


def command(root: str, argv: Sequence[str]) -> list[str]:
    """What runs argv in the root file system, with the checkout's code and nothing else of this machine."""
    made = ["bwrap", "--die-with-parent", "--unshare-all"]
    made += ["--ro-bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for folder in _FOLDERS:
        made += ["--ro-bind", str(checkout() / folder), f"{_CODE}/{folder}"]
    return [*made, "--chdir", _CODE, "--", *argv]


def tried(suite: str, progress: Progress) -> tuple[bool, str]:
    """Run a suite's tests, showing what they say: whether all passed, and the line on it."""
    release = root_of(suite)
    try:
        requirements.check(release, rootfs.cache_dir())
        root = rootfs.acquire(release, progress)
    except LabError as e:
        return False, f"{suite}: not tried: {e}"
    try:
        versions = _run(str(root.path), ["python3", "-c", _VERSIONS])[1]
        print(f"{suite}: {versions}", flush=True)
        code, said = _run(str(root.path), _PYTEST, show=True)
    finally:
        root.release()
    return code == 0, f"{suite}: {versions}: {said}"


def _run(root: str, argv: Sequence[str], *, show: bool = False) -> tuple[int, str]:
    """The exit status, and the last line of the output."""
    paths = ":".join(f"{_CODE}/{folder}" for folder in ("mgr", ".", "tests/fakes", "tests"))
    last = ""
    with subprocess.Popen(
        command(root, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment({"PYTHONPATH": paths}),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if show:
                print(line, end="", flush=True)
            last = line.strip(" =\n") or last
    return process.returncode, last


def main(argv: Sequence[str] | None = None) -> int:
    """Try the suites one after the other; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="tests.pythons", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)} (default: all)")
    names = parser.parse_args(argv).suites or list(SUITES)
    if strange := [name for name in names if name not in SUITES]:
        parser.error(f"no suite {strange[0]!r}: there are {', '.join(SUITES)}")
    try:
        with signals_raise():
            found = [tried(name, ConsoleProgress()) for name in names]
    except EndedError as e:
        return 128 + e.signum
    tools = ", ".join(_OF_TOOLS)
    print(f"\nleft out everywhere: {tools}: of tools, which need Python 3.11 and what pip installs")
    print("\n".join(line for _, line in found))
    return 0 if all(passed for passed, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
