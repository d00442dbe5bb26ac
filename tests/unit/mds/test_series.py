# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patches as mails, and what of them can be looked at without Ceph's source."""

import re
import subprocess
import sys
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
import yaml

from mds import root, series, source

REPO = Path(__file__).resolve().parents[3]
MAILS = [mail for release in root.RELEASES for mail in source.patches(release)]
NEWEST = source.patches(root.RELEASES[0])
ADDED = re.compile(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
OPTION = re.compile(r"^\+- name: (mds_bal_\w+)\n((?:\+ .*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(mds_bal_\w+)` \| ([^|]+) \|", re.MULTILINE)


def parsed(mail: Path) -> EmailMessage:
    message = message_from_bytes(mail.read_bytes(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def options() -> dict[str, dict[str, object]]:
    """Those that the series adds to mds.yaml.in."""
    found = {}
    for mail in NEWEST:
        for name, text in OPTION.findall(mail.read_text()):
            found[name] = yaml.safe_load("\n".join(line[1:] for line in text.splitlines()))
    return found


@pytest.fixture(scope="module")
def new_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the newest release's series adds."""
    folder = tmp_path_factory.mktemp("new")
    for mail in NEWEST:
        for name in re.findall(r"^diff --git a/(\S+)", mail.read_text(), re.MULTILINE):
            is_new = f"--- /dev/null\n+++ b/{name}" in mail.read_text()
            if is_new or (folder / name).exists():
                subprocess.run(["git", "apply", f"--include={name}", str(mail)], cwd=folder, check=True)
    return folder


def test_every_release_has_a_series_of_the_same_patches() -> None:
    names = [[mail.name for mail in source.patches(release)] for release in root.RELEASES]
    assert names[0]
    assert all(other == names[0] for other in names)


@pytest.mark.parametrize("mail", MAILS, ids=lambda mail: f"{mail.parent.name}-{mail.name[:4]}")
def test_a_patch_says_what_why_and_who(mail: Path) -> None:
    message = parsed(mail)
    author = str(message["From"])
    body = message.get_content().split("\n---\n")[0].splitlines()
    control = (REPO / "packaging/debian/control").read_text()
    assert re.fullmatch(r"\[PATCH \d+/\d+\] (mds|doc): .+", str(message["Subject"]))
    assert message["Date"]
    assert f"Maintainer: {author}\n" in control
    assert body[-1] == f"Signed-off-by: {author}"
    assert sum(map(len, body[:-1])) > 50, "it says why"
    assert all(len(line) <= 80 for line in body[:-1])


def test_a_file_that_other_releases_share_stands_once() -> None:
    for release in root.RELEASES[1:]:
        for mail in source.patches(release):
            first = source.PATCHES / root.RELEASES[0] / mail.name
            assert mail.is_symlink() or mail.read_text() != first.read_text()
            assert mail.is_symlink() <= (mail.resolve() == first)


def test_options_say_what_they_are_and_change_at_runtime() -> None:
    found = options()
    assert found
    for name, option in found.items():
        assert option["desc"], name
        assert option["services"] == ["mds"], name
        assert option["flags"] == ["runtime"], name
        assert option["see_also"], name


def test_the_page_has_every_option_with_its_default() -> None:
    def number(text: object) -> str:
        return str(text).replace("_", "").replace(",", "").lower()

    page = (REPO / "docs/mds-hook.md").read_text()
    shown = {name: number(default.strip()) for name, default in ROW.findall(page)}
    assert shown == {name: number(option["default"]) for name, option in options().items()}


def test_no_policy_changes_what_clients_are_told_unless_that_is_asked_for() -> None:
    assert options()["mds_bal_select_lookups"]["default"] is False


def test_its_tests_are_as_ceph_lints_them(new_files: Path) -> None:
    tests = sorted(new_files.glob("qa/tasks/cephfs/test_*.py"))
    assert len(tests) == 2
    argv = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F,E9", *map(str, tests)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_teuthology_runs_each_of_its_tests(new_files: Path) -> None:
    suites = [yaml.safe_load(path.read_text()) for path in new_files.glob("qa/suites/**/*.yaml")]
    modules = {
        module
        for suite in suites
        for task in suite["tasks"]
        for module in task["cephfs_test_runner"]["modules"]
    }
    tests = {f"tasks.cephfs.{path.stem}" for path in new_files.glob("qa/tasks/cephfs/test_*.py")}
    assert modules == tests


def test_every_unit_is_compiled_upstream(new_files: Path) -> None:
    added = {line.strip() for mail in NEWEST for line in ADDED.findall(mail.read_text())}
    units = {
        path.name for folder in ("src/mds", "src/test/mds") for path in (new_files / folder).glob("*.cc")
    }
    assert units
    assert units <= added


def test_the_subject_is_read_without_its_number() -> None:
    assert series.subject(NEWEST[0]) == "mds: read and print a mask of ranks"
