# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy's second answer decides which subtrees go."""

from collections.abc import Iterator

import pytest
from hooked import inside, log_of
from support import FS, Cluster, at_work, wait_for

from lab.clients.spec import ClientSpec, LoadSpec

TOP = "/selection"
BUSY = [f"{TOP}/d{number:04d}" for number in range(4)]  # as a client names them
FAILING = """
local targets = {[0] = 0, 0, 0, 0}
if whoami == 0 then targets[1] = mds[0]["auth.meta_load"] / 2 end
return targets, function(candidate) return candidate.visited / nothing end
"""


@pytest.fixture(scope="module")
def load(cluster: Cluster) -> LoadSpec:
    """New files in a few directories."""
    inside(cluster, "make", {TOP: 0})
    load = LoadSpec((ClientSpec("busy", TOP, mix={"create": 1.0}, rate=60, dirs=len(BUSY)),))
    cluster.lab.prepare(load)
    return load


@pytest.fixture
def failing(cluster: Cluster) -> Iterator[None]:
    """The policy; none, and no balancing, before and after."""
    cluster.lab.exec(["rados", "-p", f"{FS}_meta", "put", "failing.lua", "/dev/stdin"], stdin=FAILING)
    cluster.fs_set("balancer", "failing.lua")
    cluster.fs_set("balance_automate", "true")
    yield
    cluster.fs_set("balance_automate", "false")
    cluster.fs_set("balancer", "")


def away(cluster: Cluster, directories: list[str]) -> list[str]:
    """Those that are subtrees of others than rank 0."""
    authority = cluster.authority()
    return [path for path in directories if authority.get(path, 0)]


def no_score(cluster: Cluster) -> list[str]:
    return [line for line in log_of(cluster, 0) if "no score of" in line]


@pytest.mark.usefixtures("failing")
def test_by_heat_when_a_score_fails_and_the_log_says_why(cluster: Cluster, load: LoadSpec) -> None:
    with at_work(cluster, load):
        wait_for("what is busy goes", lambda: away(cluster, BUSY))
    last = wait_for("it is in the log", lambda: no_score(cluster))[-1]
    assert "attempt to perform arithmetic on a nil value (global 'nothing')" in last
    assert last.endswith("heat")
