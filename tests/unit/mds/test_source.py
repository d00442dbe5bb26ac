# SPDX-License-Identifier: LGPL-2.1-or-later
"""A series goes to patches and back, in a repository that stands for Ceph's."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from lab import releases
from lab.errors import LabError
from lab.progress import Progress
from mds import series, source
from mds.source import BASE, Source, git

COMMON = "".join(f"line {n}\n" for n in range(20))
FILES = {"tentacle": COMMON, "reef": "older\n" + COMMON}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no patch."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(source, "PATCHES", tmp_path / "patches")
    for name in FILES:
        (tmp_path / "patches" / name).mkdir(parents=True)
    return tmp_path


def checked_out(name: str, *edits: tuple[str, str, str]) -> Source:
    """A repository with a commit for each edit: its subject, and what takes the place of what."""
    ceph = Source(releases.get(name), source.folder(releases.get(name), "-edit"))
    ceph.tree.mkdir(parents=True)
    (ceph.tree / "file").write_text(FILES[name])
    git(ceph.tree, "init", "-q", "-b", "series")
    git(ceph.tree, "add", "file")
    git(ceph.tree, "commit", "-q", "-m", "source")
    git(ceph.tree, "tag", BASE)
    for subject, old, new in edits:
        text = (ceph.tree / "file").read_text()
        assert old in text
        (ceph.tree / "file").write_text(text.replace(old, new))
        git(ceph.tree, "commit", "-q", "-a", "-m", subject)
    return ceph


def test_what_is_exported_applies_and_is_the_same() -> None:
    ceph = checked_out("tentacle", ("one", "line 3\n", "three\n"), ("two", "line 9\n", ""))
    made = git(ceph.tree, "rev-parse", "HEAD^{tree}")
    mails = series.export(ceph.release)
    assert [series.subject(mail) for mail in mails] == ["one", "two"]
    ceph.reset()
    assert (ceph.tree / "file").read_text() == COMMON
    ceph.apply(mails)
    assert git(ceph.tree, "rev-parse", "HEAD^{tree}") == made


def test_a_patch_that_the_newest_release_has_is_a_link() -> None:
    first = checked_out("tentacle", ("one", "line 3\n", "three\n"), ("two", "line 0\n", "nought\n"))
    older = checked_out("reef", ("one", "line 3\n", "three\n"), ("two", "older\n", "nought\n"))
    series.export(first.release)
    one, two = series.export(older.release)
    assert one.is_symlink()
    assert one.resolve().parent.name == "tentacle"
    assert not two.is_symlink()


def test_the_same_change_with_another_message_is_no_link() -> None:
    series.export(checked_out("tentacle", ("one", "line 3\n", "three\n")).release)
    ceph = checked_out("reef", ("one", "line 3\n", "three\n"))
    git(ceph.tree, "commit", "-q", "--amend", "-m", "one", "-m", "A backport.")
    (mail,) = series.export(ceph.release)
    assert not mail.is_symlink()


def test_a_patch_of_something_else_is_named() -> None:
    newest = checked_out("tentacle", ("one", "line 0\n", "nought\n"))
    (mail,) = series.export(newest.release)
    older = checked_out("reef")
    with pytest.raises(LabError, match=r"tentacle/0001-one.patch does not apply to Ceph .*: git am in"):
        older.apply([mail])
    older.reset()
    assert (older.tree / "file").read_text() == FILES["reef"]


def test_work_that_is_not_committed_is_not_exported() -> None:
    ceph = checked_out("tentacle", ("one", "line 3\n", "three\n"))
    (ceph.tree / "file").write_text("more")
    with pytest.raises(LabError, match="has changes that are not committed:\n M file"):
        series.export(ceph.release)


@pytest.mark.parametrize("name", ["whole", "other"])
def test_a_source_that_was_fetched_in_part_is_fetched_again(
    name: str, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []

    def run(home: Path, _root: Path, script: str, arguments: Sequence[str], *_: object, **__: object) -> str:
        if script == source._UNPACK:
            assert (home / arguments[0]).read_text() == "whole", "tar fails"
            (home / "unpacking").mkdir()
            (home / "unpacking/file").write_text(COMMON)
            return ""
        fetched.append(arguments[0])
        part = len(fetched) == 1
        (home / f"ceph_20.2.{1 if part else 2}+ds.orig.tar.xz").write_text("wh" if part else "whole")
        if part:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(source.root, "run", run)
    release = releases.get("tentacle")
    with pytest.raises(KeyboardInterrupt):
        Source(release, source.folder(release, "-edit")).unpack(folders, Progress())
    ceph = Source(release, source.folder(release, "-edit" if name == "whole" else "-steps"))
    ceph.unpack(folders, Progress())
    assert len(fetched) == 2
    assert ceph.version() == "v20.2.2" and (ceph.tree / "file").read_text() == COMMON
    assert sorted(path.name for path in ceph.home.iterdir()) == ["ceph_20.2.2+ds.orig.tar.xz", "tree"]


def test_the_repository_that_a_hook_of_git_runs_for_is_left_alone(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = checked_out("reef")
    (mine.tree / "file").write_text("not committed")
    before = [git(mine.tree, *what) for what in (("log",), ("status", "--short"), ("tag",))]
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(mine.tree / ".git"))
        hook.setenv("GIT_INDEX_FILE", str(mine.tree / ".git/index"))
        hook.setenv("GIT_WORK_TREE", str(mine.tree))
        ceph = checked_out("tentacle", ("one", "line 3\n", "three\n"))
        assert git(ceph.tree, "log", "--format=%s").split() == ["one", "source"]
    assert [git(mine.tree, *what) for what in (("log",), ("status", "--short"), ("tag",))] == before


def test_nothing_can_be_exported_before_it_is_checked_out() -> None:
    with pytest.raises(LabError, match="nothing is checked out"):
        series.export(releases.get("reef"))


@pytest.mark.parametrize("exported", [True, False])
def test_only_work_that_was_exported_is_replaced(monkeypatch: pytest.MonkeyPatch, *, exported: bool) -> None:
    ceph = checked_out("tentacle", ("one", "line 3\n", "three\n"))
    monkeypatch.setattr(series, "unpacked", lambda *_: ceph)
    if exported:
        series.export(ceph.release)
        assert series.checkout(ceph.release, Progress()) == ceph.tree
        assert "three" in (ceph.tree / "file").read_text()
        return
    with pytest.raises(LabError, match="has work that is not exported"):
        series.checkout(ceph.release, Progress())
    assert "three" in (ceph.tree / "file").read_text()


def test_each_step_is_compiled_after_those_before(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ceph = checked_out("tentacle", ("one", "line 3\n", "three\n"), ("two", "line 9\n", "nine\n"))
    series.export(ceph.release)
    ceph.home.rename(source.folder(ceph.release, "-steps"))
    tree = source.folder(ceph.release, "-steps") / "tree"
    compiled = list[tuple[str, bool, bool]]()

    def compile_units(home: Path, _root: Path, targets: tuple[str, ...], *_: object) -> None:
        text = (home / "tree/file").read_text()
        compiled.append((" ".join(targets), "three" in text, "nine" in text))

    said = {"build/unit-tests": "[  PASSED  ] 8 tests.\n"}
    monkeypatch.setattr(series, "_LOGS", folders)
    monkeypatch.setattr(series, "locked", lambda *_: nullcontext(Path("/")))
    monkeypatch.setattr(series, "compile_units", compile_units)
    monkeypatch.setattr(series.root, "run", lambda *a: said.get(a[2], "g++ 16\nccache 4\n"))
    log = series.steps(ceph.release, 1, Progress()).read_text()
    targets = "ceph-mds unit-tests"
    assert compiled == [(targets, True, False), (targets, True, True)]
    assert "- g++ 16\n- ccache 4\n" in log
    assert [line.rpartition("|")[0].rpartition("|")[0] for line in log.splitlines()[-2:]] == [
        "| one | builds, 8 unit tests pass ",
        "| two | builds, 8 unit tests pass ",
    ]
    assert git(tree, "log", "-1", "--format=%s").strip() == "two"
