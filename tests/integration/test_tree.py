# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nothing that users stored is changed: 20,000 files, their names, modes and contents."""

from typing import Any

import pytest
from support import HEAVY, LIGHT, Cluster, at_work

from lab.clients.spec import LoadSpec

FILES = 20_000
DIRS, PER_DIR = 25, 100  # in each of eight subvolumes


@pytest.fixture(scope="module")
def tree(running: Cluster, load: LoadSpec) -> list[str]:
    """The directories of the tree, beside those of the load, in the same subvolumes."""
    tops = [c.path for c in load.clients]
    paths = [f"{top}/tree/d{i:02d}" for top in tops for i in range(DIRS)]
    running.inside("build", {"paths": paths, "files": PER_DIR})
    return paths


def checksums(cluster: Cluster, tree: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = cluster.inside("checksums", tree)
    assert sum(number for number, _ in found.values()) == FILES
    return found


def test_the_tree_is_the_same_after_partition_after_rollback_and_under_load(
    cluster: Cluster, load: LoadSpec, tree: list[str]
) -> None:
    original = checksums(cluster, tree)
    with at_work(cluster, load) as run:
        cluster.analyze()
        cluster.plan("--heavy", "fanout")
        cluster.module("partition start")
        cluster.wait_state("done")
        assert checksums(cluster, tree) == original, "after partition, under load"
        cluster.module("partition rollback")
        cluster.wait_state("rolled-back")
        assert checksums(cluster, tree) == original, "after rollback, under load"
        assert run.running
    errors = [line["why"] for line in run.lines if "why" in line]
    assert not errors, f"clients saw errors: {errors[:3]}"
    cluster.plan("--heavy", "fanout")
    cluster.module("partition start")
    cluster.wait_state("done")
    assert checksums(cluster, tree) == original, "after partition"
    cluster.module("partition rollback")
    cluster.wait_state("rolled-back")
    assert checksums(cluster, tree) == original, "after rollback"
    cluster.analyzed = (*HEAVY, *LIGHT)
