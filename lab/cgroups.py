# SPDX-License-Identifier: LGPL-2.1-or-later
"""CPU quotas by cgroup, version 1 or 2.

A lab has one parent group with a child per MDS. Whether the rights suffice is found out by doing it.
"""

import contextlib
import os
import zlib
from pathlib import Path

from lab.errors import LabError
from lab.waiting import until

# Short, so that a throttled MDS answers a little late often rather than very late at times.
PERIOD_US = 20_000
# The kernel takes no quota below a millisecond.
_LEAST_QUOTA_US = 1_000


def quota_us(percent: int) -> tuple[int, int]:
    """Quota and period in microseconds for a percentage of one core."""
    quota = PERIOD_US * percent // 100
    if quota >= _LEAST_QUOTA_US:
        return quota, PERIOD_US
    return _LEAST_QUOTA_US, _LEAST_QUOTA_US * 100 // percent


def find(mountinfo: str, membership: str) -> Path | None:
    """Where the cpu controller's groups go, from the texts of /proc/self/mountinfo and /proc/self/cgroup."""
    unified = None
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        fstype, _, options = rest.partition(" ")
        root, mount_point = fields.split()[3:5]
        if fstype == "cgroup" and "cpu" in options.split()[-1].split(","):
            return _own_group(Path(mount_point), root, _member_of(membership, "cpu"))
        if fstype == "cgroup2":
            unified = Path(mount_point)
    # Version 2 allows no processes beside child groups, so ours starts from the top of what is visible.
    return unified


def _member_of(membership: str, controller: str) -> str:
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"


def _own_group(mount_point: Path, root: str, path: str) -> Path:
    """The directory of our own group, where limits that hold for us hold for the lab too."""
    with contextlib.suppress(ValueError):
        own = mount_point / Path(path).relative_to(root)
        if own.is_dir():
            return own
    return mount_point


def group_of(lab_dir: Path) -> Path | None:
    """The parent group of a lab, which need not exist; None where there are no cgroups."""
    parent = find(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    if parent is None:
        return None
    # Another user, or another TMPDIR, may have a lab of the same name.
    return parent / f"mds-partitioner-{lab_dir.name}-{zlib.crc32(os.fsencode(lab_dir)):08x}"


def create(group: Path | None) -> None:
    """Make a lab's parent group; LabError says what the machine does not allow."""
    if group is None:
        raise LabError("this machine has no cgroup file system with a cpu controller")
    try:
        _delegate_cpu(group.parent)
        group.mkdir(exist_ok=True)
        _delegate_cpu(group)
    except OSError as e:
        where = group.parent
        raise LabError(f"CPU quotas need the right to make cgroups below {where} ({e.strerror})") from None


def _delegate_cpu(group: Path) -> None:
    """Version 2 hands a controller down level by level; version 1 has no such file."""
    control = group / "cgroup.subtree_control"
    if control.exists() and "cpu" not in control.read_text().split():
        control.write_text("+cpu")


def member(parent: Path, name: str) -> Path:
    """The group of one MDS, made if missing."""
    group = parent / name
    group.mkdir(exist_ok=True)
    return group


def set_quota(group: Path, percent: int | None) -> None:
    """Limit a group to a percentage of one core; None is no limit."""
    quota, period = (None, PERIOD_US) if percent is None else quota_us(percent)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{'max' if quota is None else quota} {period}")
        return
    # The kernel refuses a period that would break the old quota, so lift that first.
    (group / "cpu.cfs_quota_us").write_text("-1")
    (group / "cpu.cfs_period_us").write_text(str(period))
    (group / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))


def remove(parent: Path, patience: float = 10.0) -> bool:
    """Remove a lab's groups, waiting up to patience seconds for the last processes in them to be gone."""

    def gone() -> bool:
        for group in [*parent.glob("*/"), parent]:
            with contextlib.suppress(OSError):
                group.rmdir()
        return not parent.exists()

    try:
        return until(gone, patience, f"{parent} is gone", every=0.05)
    except LabError:
        return False
