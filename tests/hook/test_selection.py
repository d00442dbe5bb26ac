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


@pytest.fixture(autouse=True)
def balancing(cluster: Cluster) -> Iterator[None]:
    """No policy, before and after."""
    cluster.fs_set("balance_automate", "true")
    yield
    cluster.fs_set("balancer", "")
    cluster.fs_set("balance_automate", "false")


def use(cluster: Cluster, name: str, policy: str) -> None:
    cluster.lab.exec(["rados", "-p", f"{FS}_meta", "put", name, "/dev/stdin"], stdin=policy)
    cluster.fs_set("balancer", name)


def away(cluster: Cluster, directories: list[str]) -> list[str]:
    """Those that are subtrees of others than rank 0."""
    authority = cluster.authority()
    return [path for path in directories if authority.get(path, 0)]


def test_by_heat_when_a_score_fails_and_the_log_says_why(cluster: Cluster, load: LoadSpec) -> None:
    with at_work(cluster, load):
        use(cluster, "failing.lua", FAILING)
        wait_for("what is busy goes", lambda: away(cluster, BUSY))
    said = [line for line in log_of(cluster, 0) if "no score of" in line]
    assert said and "attempt to perform arithmetic on a nil value (global 'nothing')" in said[-1]
    assert said[-1].endswith("heat")
