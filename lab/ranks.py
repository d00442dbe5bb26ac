# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which ranks of a lab's file system serve."""

from collections.abc import Collection
from typing import Any

from lab import cluster
from lab.api import Lab
from lab.errors import LabError


def all_active(lab: Lab, ranks: int, without: Collection[int] = ()) -> bool:
    """Does every one of so many ranks serve, by an MDS that is none of these gids?

    The mon takes a killed MDS for active until its beacons have been missed for a while; its gid tells.
    """
    found = active(lab)
    return sorted(found) == list(range(ranks)) and not set(found.values()) & set(without)


def gid(lab: Lab, daemon: str) -> int:
    """Of an MDS ("mds.a") that the mon knows. :raises LabError: it does not"""
    known = {f"mds.{mds['name']}": int(mds["gid"]) for mds in _mdss(lab)}
    if daemon not in known:
        raise LabError(f"the mon knows no {daemon}: {', '.join(known)}")
    return known[daemon]


def active(lab: Lab) -> dict[int, int]:
    """The ranks that serve, and the gid of each one's MDS: a restarted one has another."""
    return {mds["rank"]: mds["gid"] for mds in _mdss(lab) if mds["state"] == "up:active"}


def holders(lab: Lab) -> dict[int, tuple[str, int]]:
    """The daemon ("mds.a") and gid of the MDS that has each rank, whatever it does there."""
    return {mds["rank"]: (f"mds.{mds['name']}", int(mds["gid"])) for mds in _mdss(lab)}


def set_quota(lab: Lab, rank: int, percent: int) -> None:
    """CPU quota of the MDS that has a rank, in percent of one core."""
    lab.set_mds_cpu(percent, holders(lab)[rank][0])


def _mdss(lab: Lab) -> list[dict[str, Any]]:
    """What the mon says of each MDS that has a rank."""
    return list(lab.monitor.json("fs get", fs_name=cluster.FS_NAME)["mdsmap"]["info"].values())
