# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which ranks of a lab's file system serve, and waiting for them."""

import time
from collections.abc import Callable

from lab import cluster
from lab.api import Lab
from lab.errors import LabError


def wait(what: str, condition: Callable[[], bool], seconds: float) -> None:
    """Poll. :raises LabError: not within so many seconds"""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"not within {seconds:g} s: {what}")
        time.sleep(1)


def all_active(lab: Lab, ranks: int) -> bool:
    """Does every one of so many ranks serve?"""
    return sorted(active(lab)) == list(range(ranks))


def active(lab: Lab) -> dict[int, int]:
    """The ranks that serve, and the gid of each one's MDS: a restarted one has another."""
    info = lab.monitor.json("fs get", fs_name=cluster.FS_NAME)["mdsmap"]["info"].values()
    return {i["rank"]: i["gid"] for i in info if i["state"] == "up:active"}
