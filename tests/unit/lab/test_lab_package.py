# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package that a lab installs is of the files as they are, and is built when they have changed."""

import subprocess
from pathlib import Path

import pytest

from lab import package, sandbox
from lab.errors import LabError
from lab.progress import Progress

# In place of packaging/build: the package is what it was told, and the file of the module.
BUILD = """#!/bin/sh
echo "$3" > "$2/x.deb"
git archive "$TREE" mgr | tar -xO >> "$2/x.deb"
test -z "$FAILS" || { echo "no dh" >&2; exit 1; }
"""
PATHS = ("mgr/module.py", "mantle/a.lua", "monitoring/a.json", "docs/page", "docs/results/page")
FILES = ("README.md", "CHANGELOG.md", "LICENSE", "lab/other.py")


def git(checkout: Path, *arguments: str) -> str:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", *names, *arguments], cwd=checkout, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "checkout"
    for name in (*PATHS, *FILES, "packaging/build"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("old\n")
    (home / "packaging/build").write_text(BUILD)
    (home / "packaging/build").chmod(0o755)
    (home / ".gitignore").write_text("*.pyc\n")
    git(home, "init", "-q")
    git(home, "add", "-A")
    git(home, "commit", "-qm", "first")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sandbox, "checkout", lambda: home)
    return home


def test_what_was_not_committed_is_in_it(checkout: Path) -> None:
    (checkout / "mgr/module.py").write_text("edited\n")
    (checkout / "mgr/new.py").write_text("new\n")
    (checkout / "mgr/new.pyc").write_text("ignored\n")
    before = git(checkout, "status", "--porcelain"), git(checkout, "count-objects")
    assert package.built(Progress()).read_text() == "\nedited\nnew\n"
    assert (git(checkout, "status", "--porcelain"), git(checkout, "count-objects")) == before


def test_it_is_built_when_its_files_have_changed_and_only_then(checkout: Path) -> None:
    first, progress = package.built(Progress()), Progress()
    for name in ("lab/other.py", "docs/results/page"):
        (checkout / name).write_text("edited\n")
    assert package.built(progress) == first and progress.times == {}
    for name in (*PATHS[:-1], *FILES[:-1]):
        (checkout / name).write_text("edited\n")
        progress = Progress()
        assert package.built(progress) != first and len(progress.times) == 1
        (checkout / name).write_text("old\n")
    assert package.built(progress := Progress()) == first and progress.times == {}


def test_another_version_is_another_package(checkout: Path) -> None:
    assert package.built(Progress(), "0.0.1").read_text() == "0.0.1\nold\n"
    assert package.built(Progress()).read_text() == "\nold\n"


def test_packages_of_edits_long_ago_go(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_KEPT", 3)
    for i in range(5):
        (checkout / "mgr/module.py").write_text(f"{i}\n")
        newest = package.built(Progress())
    assert len(list(newest.parent.iterdir())) == 3 and newest.exists()


def test_a_build_that_fails_says_why_and_leaves_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAILS", "yes")
    with pytest.raises(LabError, match="packaging/build failed: no dh"):
        package.built(Progress())
    assert list((tmp_path / "cache/mds-partitioner/packages").iterdir()) == []


def test_without_git_there_is_no_package(checkout: Path) -> None:
    (checkout / ".git").rename(checkout / "elsewhere")
    with pytest.raises(LabError, match=r"what git knows.*not a git repository"):
        package.built(Progress())
