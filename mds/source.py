# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ceph's source as Debian has it, in a git repository, and the series on top of it."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import rootfs
from lab.errors import LabError
from lab.process import last_line
from lab.progress import Progress
from lab.releases import Release
from mds import root

PATCHES = Path(__file__).resolve().parent / "patches"
BASE, BRANCH = "base", "series"
"""A tag on the source without a patch, and the branch that the patches are applied to."""

# Bundled third-party code and tests that no unit of ceph-mds reads; two thirds of the source.
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
    *("rapidjson", "rocksdb", "s3select", "seastar", "spdk", "zstd"),
    *("test/[!m]*", "test/m[!d]*"),
)
_USED = ("src", "cmake", "doc/cephfs", "qa/tasks/cephfs", "PendingReleaseNotes")

_FETCH = r"""set -e
mkdir -p apt/lists/partial apt/cache/archives/partial
sed -n "s/^deb \(.*\) [a-z]* main.*/deb-src \1 $1 main/p" /etc/apt/sources.list > apt/sources.list
options="-o Dir::Etc::sourcelist=$PWD/apt/sources.list -o Dir::Etc::sourceparts=/dev/null
 -o Dir::State::lists=$PWD/apt/lists -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User=root"
apt-get $options -q update
apt-get $options -q source --tar-only ceph
"""
_UNPACK = """set -e
rm -rf tree unpacking; mkdir unpacking
tarball=$1; shift
tar -xf "$tarball" -C unpacking --strip-components=1 --no-same-owner --wildcards "$@"
"""
# Nothing of the user's or the machine's configuration has a part in it.
_NOBODY = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_NOBODY |= {
    f"GIT_{who}_{what}": "mds.source" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
_NOBODY |= {f"GIT_{who}_DATE": "2000-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}


def patches(release: str) -> list[Path]:
    """The series of a release, in order."""
    return sorted((PATCHES / release).glob("*.patch"))


def git(tree: Path, *arguments: str) -> str:
    """Run git in a repository; what it printed."""
    # -C yields to what a hook tells git of the repository that it runs for: GIT_DIR, GIT_INDEX_FILE.
    environment = {name: of for name, of in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(tree), "-c", "core.abbrev=10", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, **_NOBODY},
    )
    if done.returncode:
        said = last_line(done.stderr or done.stdout)
        raise LabError(f"git {arguments[0]} in {tree}: {said}")
    return done.stdout


@dataclass(frozen=True)
class Source:
    """One repository of a release's source."""

    release: Release
    home: Path
    """The folder that it is in, with the tarball beside it."""

    @property
    def tree(self) -> Path:
        """The repository."""
        return self.home / "tree"

    def unpack(self, build_root: Path, progress: Progress) -> None:
        """Have the repository, on its tag; any suite's root file system can fetch the source."""
        if (self.tree / ".git").is_dir():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        if not self._tarball():
            self._fetch(build_root, progress)
        tarball = self._tarball()
        if tarball is None:
            raise LabError(f"Debian {self.release.suite} has no source of ceph")
        with progress.step("unpack the source"):
            exclude = [f"--exclude=*/src/{name}" for name in _UNUSED]
            include = [f"*/{name}" for name in _USED]
            root.run(self.home, build_root, _UNPACK, [tarball.name, *exclude, *include], progress)
            unpacked = self.home / "unpacking"
            git(unpacked, "init", "-q", "-b", BRANCH)
            git(unpacked, "add", "-A", "-f")
            git(unpacked, "commit", "-q", "-m", f"Ceph {self.version()}, as Debian has it")
            git(unpacked, "tag", BASE)
            unpacked.rename(self.tree)

    def _fetch(self, build_root: Path, progress: Progress) -> None:
        """Have the tarball; apt writes under its last name, so one is only here once apt has ended well."""
        fetching = self.home / "fetching"
        shutil.rmtree(fetching, ignore_errors=True)
        fetching.mkdir()
        with progress.step(f"source of {self.release.name}"):
            root.run(fetching, build_root, _FETCH, [self.release.suite], progress, network=True)
        for tarball in fetching.glob("ceph_*.orig.tar.*"):
            tarball.rename(self.home / tarball.name)
        shutil.rmtree(fetching)

    def version(self) -> str:
        """Ceph's, as upstream tags it."""
        tarball = self._tarball()
        found = re.search(r"ceph_([\d.]+)", tarball.name) if tarball else None
        return f"v{found[1]}" if found else "?"

    def reset(self) -> None:
        """Back to the source without a patch."""
        shutil.rmtree(self.tree / ".git/rebase-apply", ignore_errors=True)  # of an am that was interrupted
        git(self.tree, "checkout", "-q", "-f", "-B", BRANCH, BASE)
        git(self.tree, "clean", "-f", "-d", "-x", "-q")

    def apply(self, mails: Iterable[Path]) -> None:
        """Apply patches, each by a `git am` of its own."""
        for mail in mails:
            try:
                git(self.tree, "am", "-q", "--committer-date-is-author-date", str(mail))
            except LabError as e:
                raise LabError(
                    f"{mail.relative_to(PATCHES)} does not apply to Ceph {self.version()}: {e}"
                ) from e

    def commits(self) -> list[str]:
        """Those on top of the source, in order."""
        return git(self.tree, "rev-list", "--reverse", f"{BASE}..HEAD").split()

    def mails(self, folder: Path) -> list[Path]:
        """Write the commits as patches; one line of context is what the releases have in common."""
        options = ("-q", "-n", "-U1", "--zero-commit", "--no-signature", "-o", str(folder))
        git(self.tree, "format-patch", *options, f"{BASE}..HEAD")
        return sorted(folder.glob("*.patch"))

    def new_units(self) -> list[str]:
        """Those of the MDS that the commits add, as paths in the tree."""
        added = git(self.tree, "diff", "--name-only", "--diff-filter=A", BASE, "HEAD", "--", "src/mds/*.cc")
        return added.split()

    def _tarball(self) -> Path | None:
        """The source as the suite has it; the one of another repository of this release serves too."""
        found = sorted(self.home.glob("ceph_*.orig.tar.*"))
        if not found:
            for other in sorted(self.home.parent.glob(f"{self.release.name}*/ceph_*.orig.tar.*")):
                os.link(other, self.home / other.name)
                return self.home / other.name
        return found[-1] if found else None


def folder(release: Release, what: str) -> Path:
    """Where something of a release is kept."""
    return rootfs.cache_dir() / "mds" / (release.name + what)


def same_mail(tree: Path, mail: Path, commit: str) -> bool:
    """Whether a patch, applied to the commit's parent, makes that very commit: its tree and its message."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "tree"
        git(tree, "worktree", "add", "-q", "--detach", str(work), f"{commit}^")
        try:
            git(work, "am", "-q", str(mail))
            said = [git(work, "log", "-1", "--format=%T%n%an <%ae>%n%B", which) for which in ("HEAD", commit)]
            return said[0] == said[1]
        except LabError:
            return False
        finally:
            git(tree, "worktree", "remove", "--force", str(work))


def replace_patches(source: Source, link_to: Sequence[Path]) -> list[Path]:
    """Write the commits as the release's series; one that another release has, too, becomes a link to it."""
    home = PATCHES / source.release.name
    others = {mail.name: mail for mail in link_to}
    with tempfile.TemporaryDirectory() as scratch:
        mails = source.mails(Path(scratch))
        for old in home.glob("*.patch"):
            old.unlink()
        for mail, commit in zip(mails, source.commits(), strict=True):
            other = others.get(mail.name)
            if other is not None and same_mail(source.tree, other, commit):
                (home / mail.name).symlink_to(Path("..") / other.parent.name / other.name)
            else:
                shutil.copy(mail, home / mail.name)
    return patches(source.release.name)
