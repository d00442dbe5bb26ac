# SPDX-License-Identifier: LGPL-2.1-or-later
"""Visits travel with a directory that is exported, and back."""

from collections.abc import Iterator
from typing import Any

import pytest
from hooked import end_window, inside, mindex, no_window_ends
from support import Cluster, wait_for

from experiments.common.balancers.visits import forget

TOP = "/export/d"
FILES = [f"{TOP}/f{n:04d}" for n in range(60)]
RANKS = 2  # it goes to and fro between


@pytest.fixture(autouse=True)
def windows(cluster: Cluster) -> Iterator[None]:
    with no_window_ends(cluster, RANKS):
        yield


def next_windows(cluster: Cluster) -> None:
    """On both ranks a window ends."""
    for rank in range(RANKS):
        end_window(cluster, rank)


def counted(cluster: Cluster, rank: int, path: str = TOP) -> dict[str, Any]:
    """What a rank says of a directory."""
    (dirfrag,) = [f for f in mindex(cluster, "/export", rank)["dirfrags"] if f["path"] == path]
    assert dirfrag["is_auth"]
    return {name: dirfrag[name] for name in ("visits", "visited", "working_set", "unvisited")}


def test_visits_go_with_an_exported_directory_and_come_back(cluster: Cluster) -> None:
    inside(cluster, "make", {"/export": 0, TOP: len(FILES)})
    next_windows(cluster)
    forget(cluster.lab, RANKS)  # what made them: of that, some comes late
    inside(cluster, "visit", FILES)
    next_windows(cluster)
    there = counted(cluster, 0)
    # A new client asks any rank at first, and one that has a replica answers by itself.
    assert there["visited"] > len(FILES) / 2
    cluster.place({TOP: 1})
    next_windows(cluster)
    assert counted(cluster, 1) == there
    cluster.place({TOP: 0})
    next_windows(cluster)
    assert counted(cluster, 0) == there, "what was left behind is not counted twice"


def test_what_is_in_another_subtree_is_not_unvisited_here(cluster: Cluster) -> None:
    inside(cluster, "make", {"/export": 0, TOP: len(FILES)})
    below = len(FILES) + 1  # the directory itself
    wait_for("statistics are up to date", lambda: inside(cluster, "rentries", "/export") == below + 1)
    next_windows(cluster)
    before = counted(cluster, 0, "/export")
    assert before["visited"] + before["unvisited"] == below
    cluster.place({TOP: 1})
    next_windows(cluster)
    assert counted(cluster, 0, "/export")["unvisited"] <= 1
    cluster.place({TOP: 0})
