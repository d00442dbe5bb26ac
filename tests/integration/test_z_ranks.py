# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ranks that go away. Last of all files: it makes the lab smaller."""

import errno

import pytest
from support import FS, Cluster, wait_for


def ranks(cluster: Cluster) -> list[int]:
    mdsmap = cluster.mon("fs get", fs_name=FS)["mdsmap"]
    states = {info["state"] for info in mdsmap["info"].values()}
    return sorted(mdsmap["in"]) if states <= {"up:active"} else []


@pytest.mark.every_release_alike
def test_a_plan_for_ranks_that_no_longer_exist_is_refused(analyzed: Cluster) -> None:
    plan = analyzed.plan("too-wide", "--heavy", "fanout")
    assert {3} <= {int(step["value"]) for step in plan["steps"]}
    before = analyzed.pins()
    analyzed.fs_set("max_mds", "3")
    wait_for("three ranks", lambda: ranks(analyzed) == [0, 1, 2], 180)
    answer = analyzed.cli("mds_partitioner", "partition", "start", FS, "too-wide")
    assert answer.code == errno.EINVAL
    assert "too-wide" in answer.err and "rank 3" in answer.err and "0,1,2" in answer.err
    assert analyzed.pins() == before
    assert [plan["state"] for plan in analyzed.plans()] == ["ready"]
    refused = analyzed.cli("mds_partitioner", "partition", "plan", FS, "--ranks", "0,3")
    assert refused.code == errno.EINVAL and "3" in refused.err
