# SPDX-License-Identifier: LGPL-2.1-or-later
"""Visits travel with a directory that is exported, and back."""

from collections.abc import Iterator
from typing import Any

import pytest
from hooked import end_window, inside, mindex, no_window_ends
from support import Cluster, wait_for

TOP = "/export/d"
FILES = [f"{TOP}/f{n:04d}" for n in range(60)]


@pytest.fixture(autouse=True)
def windows(cluster: Cluster) -> Iterator[None]:
    with no_window_ends(cluster, 2):
        yield


def next_windows(cluster: Cluster) -> None:
    """On both ranks a window ends."""
    end_window(cluster, 0)
    end_window(cluster, 1)


def counted(cluster: Cluster, rank: int, path: str = TOP) -> dict[str, Any]:
    """What a rank says of a directory."""
    (dirfrag,) = [f for f in mindex(cluster, "/export", rank)["dirfrags"] if f["path"] == path]
    assert dirfrag["is_auth"]
    return {name: dirfrag[name] for name in ("visits", "visited", "working_set", "unvisited")}


def export(cluster: Cluster, source: int, target: int) -> None:
    name = f"mds.{cluster.mds_of(source)}"
    cluster.lab.exec(["ceph", "tell", name, "export", "dir", TOP, str(target)])
    wait_for("it has arrived", lambda: cluster.authority().get(TOP, 0) == target)


def test_visits_go_with_an_exported_directory_and_come_back(cluster: Cluster) -> None:
    inside(cluster, "make", {"/export": 0, TOP: len(FILES)})
    next_windows(cluster)
    inside(cluster, "visit", FILES)
    next_windows(cluster)
    there = counted(cluster, 0)
    # A new client asks any rank at first, and one that has a replica answers by itself.
    assert there["visited"] > len(FILES) / 2
    export(cluster, 0, 1)
    next_windows(cluster)
    assert counted(cluster, 1) == there
    export(cluster, 1, 0)
    next_windows(cluster)
    assert counted(cluster, 0) == there, "what was left behind is not counted twice"


def test_what_is_in_another_subtree_is_not_unvisited_here(cluster: Cluster) -> None:
    inside(cluster, "make", {"/export": 0, TOP: len(FILES)})
    below = len(FILES) + 1  # the directory itself
    wait_for("statistics are up to date", lambda: inside(cluster, "rentries", "/export") == below + 1)
    next_windows(cluster)
    before = counted(cluster, 0, "/export")
    assert before["visited"] + before["unvisited"] == below
    export(cluster, 0, 1)
    next_windows(cluster)
    assert counted(cluster, 0, "/export")["unvisited"] <= 1
    export(cluster, 1, 0)
