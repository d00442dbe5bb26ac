# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patch series, as Ceph takes it: python3 -m mds.series checkout|export|check|steps [--release reef].

A series stands in mds/patches and nowhere else. To change it: check it out, edit, commit (`git commit
--fixup` and `git rebase -i --autosquash base` keep it a series), and export it.
"""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from email import message_from_bytes, policy
from pathlib import Path

from lab import releases
from lab.errors import LabError
from lab.progress import ConsoleProgress, Progress
from lab.releases import Release
from mds import root, source
from mds.build import QUICK, compile_units, default_jobs, locked
from mds.source import BASE, Source, git

_LOGS = Path(__file__).resolve().parents[1] / "docs/results"
_VERSIONS = "g++ --version | head -n 1; ccache --version | head -n 1"


def subject(mail: Path) -> str:
    """What a patch says that it does."""
    text = str(message_from_bytes(mail.read_bytes(), policy=policy.default)["Subject"])
    return re.sub(r"^\[PATCH[^]]*\] ", "", text)


def unpacked(release: Release, what: str, progress: Progress) -> Source:
    """A repository of a release's source, fetched with the root file system of the lab's default release."""
    ceph = Source(release, source.folder(release, what))
    with locked(ceph.home, releases.get(releases.DEFAULT), progress) as build_root:
        ceph.unpack(build_root, progress)
    return ceph


def checkout(release: Release, progress: Progress) -> Path:
    """A repository to edit the series in; never one with work that is not exported."""
    ceph = unpacked(release, "-edit", progress)
    if ceph.commits() and _unexported(ceph):
        raise LabError(f"{ceph.tree} has work that is not exported: export it, or `git reset --hard {BASE}`")
    ceph.reset()
    ceph.apply(source.patches(release.name))
    return ceph.tree


def _unexported(ceph: Source) -> bool:
    if git(ceph.tree, "status", "--porcelain"):
        return True
    commits, mails = ceph.commits(), source.patches(ceph.release.name)
    pairs = zip(mails, commits, strict=False)
    return len(commits) != len(mails) or not all(source.same_mail(ceph.tree, mail, c) for mail, c in pairs)


def export(release: Release) -> list[Path]:
    """The commits of the repository become the series; what patches of the newest release do is linked."""
    ceph = Source(release, source.folder(release, "-edit"))
    if not (ceph.tree / ".git").is_dir():
        raise LabError(f"nothing is checked out: python3 -m mds.series checkout --release {release.name}")
    if changed := git(ceph.tree, "status", "--porcelain"):
        raise LabError(f"{ceph.tree} has changes that are not committed:\n{changed.rstrip()}")
    first = root.RELEASES[0]
    return source.replace_patches(ceph, [] if release.name == first else source.patches(first))


def check(release: Release, progress: Progress) -> None:
    """Apply the series to a clean tree."""
    ceph = unpacked(release, "-check", progress)
    mails = source.patches(release.name)
    with progress.step(f"apply {len(mails)} patches to Ceph {ceph.version()}"):
        ceph.reset()
        ceph.apply(mails)


def steps(release: Release, jobs: int, progress: Progress) -> Path:
    """Apply and compile one patch after the other; the log's path."""
    ceph = Source(release, source.folder(release, "-steps"))
    log = _LOGS / f"series-{release.name}.md"
    with locked(ceph.home, release, progress) as build_root:
        ceph.unpack(build_root, progress)
        ceph.reset()
        versions = root.run(ceph.home, build_root, _VERSIONS, [], progress).splitlines()
        lines = [
            f"# The series for {release.name}, step by step\n",
            "`make series`: each patch applied by `git am` to what those before it left; `ceph-mds` and",
            "the unit tests compiled and linked there. What was compiled before comes out of ccache.\n",
            f"Ceph {ceph.version()} as Debian {release.suite} has it, compiled with `{QUICK}`:\n",
            *(f"- {version}" for version in versions),
            "",
            "| step | result | s |",
            "|---|---|---:|",
        ]
        for mail in source.patches(release.name):
            with progress.step(subject(mail)):
                began = time.monotonic()
                ceph.apply([mail])
                compile_units(ceph.home, build_root, ("ceph-mds", "unit-tests"), progress, QUICK, jobs)
                tests = root.run(ceph.home, build_root, "build/unit-tests", [], progress)
            passed = re.findall(r"\[  PASSED  \] (\d+) test", tests)
            lines.append(
                f"| {subject(mail)} | builds, {passed[0]} unit tests pass | {time.monotonic() - began:.0f} |"
            )
    log.write_text("\n".join(lines) + "\n")
    return log


def main(argv: Sequence[str] | None = None) -> int:
    """Do one of the commands for one release, or for each."""
    parser = argparse.ArgumentParser(prog="mds.series", description=__doc__)
    parser.add_argument("command", choices=("checkout", "export", "check", "steps"))
    parser.add_argument("--release", choices=root.RELEASES, action="append", help="default: each")
    parser.add_argument("--jobs", type=int, default=default_jobs(), metavar="N")
    args = parser.parse_args(argv)
    progress = ConsoleProgress()
    try:
        for release in map(releases.get, args.release or root.RELEASES):
            if args.command == "checkout":
                print(checkout(release, progress))
            elif args.command == "export":
                print(*export(release), sep="\n")
            elif args.command == "check":
                check(release, progress)
            else:
                print(steps(release, args.jobs, progress))
    except LabError as e:
        print(f"mds.series: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
