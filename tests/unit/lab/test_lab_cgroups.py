# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU quotas on both versions of cgroups, on directories that look like them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import cgroups
from lab.errors import LabError


def mountinfo(*mounts: tuple[str, str, Path, str]) -> str:
    """Lines of mountinfo from file system type, root, mount point and options of the super block."""
    return "".join(
        f"30 25 0:26 {root} {point} rw,relatime shared:1 - {kind} {kind} {options}\n"
        for kind, root, point, options in mounts
    )


@given(st.integers(1, 6400))
def test_a_quota_is_the_percentage_and_one_the_kernel_takes(percent: int) -> None:
    quota, period = cgroups.quota_us(percent)
    assert quota >= 1_000 and 1_000 <= period <= 1_000_000
    assert quota / period == pytest.approx(percent / 100, rel=0.02)


def test_version_1_groups_go_below_our_own(tmp_path: Path) -> None:
    (tmp_path / "docker/abc").mkdir(parents=True)
    text = mountinfo(
        ("cgroup", "/", Path("/elsewhere"), "rw,cpuacct"),
        ("cgroup", "/", tmp_path, "rw,cpu,cpuacct"),
        ("cgroup2", "/", Path("/unified"), "rw"),
    )
    assert cgroups.find(text, "4:cpu,cpuacct:/docker/abc\n0::/x\n") == tmp_path / "docker/abc"
    assert cgroups.find(text, "4:cpu,cpuacct:/\n") == tmp_path


def test_version_1_mounted_from_within_a_container(tmp_path: Path) -> None:
    text = mountinfo(("cgroup", "/docker/abc", tmp_path, "rw,cpu"))
    assert cgroups.find(text, "4:cpu:/docker/abc\n") == tmp_path
    assert cgroups.find(text, "4:cpu:/other\n") == tmp_path


def test_version_2_groups_go_to_the_top(tmp_path: Path) -> None:
    text = mountinfo(("cgroup2", "/", tmp_path, "rw,nsdelegate"))
    assert cgroups.find(text, "0::/user.slice/session-1.scope\n") == tmp_path


def test_labs_of_the_same_name_elsewhere_have_other_groups() -> None:
    group = cgroups.group_of(Path("/tmp/x/lab"))
    assert group == cgroups.group_of(Path("/tmp/x/lab"))
    assert group is None or group != cgroups.group_of(Path("/tmp/y/lab"))


def test_no_cgroups_at_all() -> None:
    assert cgroups.find(mountinfo(("tmpfs", "/", Path("/tmp"), "rw")), "") is None
    with pytest.raises(LabError, match="no cgroup file system"):
        cgroups.create(None)


def test_version_2_delegates_the_controller_level_by_level(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("memory")
    group = tmp_path / "lab"
    group.mkdir()
    (group / "cgroup.subtree_control").write_text("")
    cgroups.create(group)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    assert (group / "cgroup.subtree_control").read_text() == "+cpu"


def test_without_rights_it_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match=r"need the right to make cgroups below .*file"):
        cgroups.create(tmp_path / "file" / "lab")


def test_quotas_of_version_1(tmp_path: Path) -> None:
    cgroups.set_quota(tmp_path, 15)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "3000"
    assert (tmp_path / "cpu.cfs_period_us").read_text() == "20000"
    cgroups.set_quota(tmp_path, None)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "-1"


def test_quotas_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    cgroups.set_quota(tmp_path, 150)
    assert (tmp_path / "cpu.max").read_text() == "30000 20000"
    cgroups.set_quota(tmp_path, None)
    assert (tmp_path / "cpu.max").read_text() == "max 20000"


def test_removal_takes_the_children_first_and_ends(tmp_path: Path) -> None:
    parent = tmp_path / "lab"
    parent.mkdir()
    cgroups.member(parent, "mds.a")
    cgroups.member(parent, "mds.b")
    assert cgroups.remove(parent, patience=1)
    assert not parent.exists()
    assert cgroups.remove(parent, patience=1)


def test_removal_gives_up_on_what_stays(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/file").write_text("")
    assert not cgroups.remove(tmp_path / "lab", patience=0.1)
