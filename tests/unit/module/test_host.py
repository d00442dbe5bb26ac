# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Ceph's maps say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import FakeCluster

from mds_partitioner.ceph.host import Host, fs_state
from mds_partitioner.ceph.pools import Pools
from mds_partitioner.clock import Now
from mds_partitioner.errors import CephError, Unavailable
from mds_partitioner.model import HealthCheck


@pytest.fixture
def entry() -> dict[str, Any]:
    """Of a file system, as the mon tells it."""
    found: dict[str, Any] = json.loads(FakeCluster().mon("fs get"))
    return found


def test_a_file_system_is_as_the_mon_tells_it(entry: dict[str, Any]) -> None:
    entry["mdsmap"]["flags_state"]["balance_automate"] = True
    assert fs_state(entry).balance_automate is True
    assert fs_state(entry).name == "cephfs"


def test_a_file_system_that_was_failed_lets_no_mds_join(entry: dict[str, Any]) -> None:
    assert fs_state(entry).joinable
    entry["mdsmap"]["flags_state"]["joinable"] = False
    assert not fs_state(entry).joinable


def test_an_mds_that_the_mon_misses_is_laggy(entry: dict[str, Any]) -> None:
    assert not any(mds.laggy for mds in fs_state(entry).mds)
    for info in entry["mdsmap"]["info"].values():
        info["laggy_since"] = "2026-10-08T01:00:00.000000+0000"
    assert all(mds.laggy for mds in fs_state(entry).mds)


@pytest.mark.parametrize("flags", [{}, {"flags_state": {"joinable": True}}])
def test_a_ceph_that_is_too_old_is_told(entry: dict[str, Any], flags: dict[str, Any]) -> None:
    del entry["mdsmap"]["flags_state"]
    entry["mdsmap"] |= flags
    with pytest.raises(Unavailable, match=r"older than 18\.2\.4: it has no balance_automate; upgrade Ceph"):
        fs_state(entry)


SPACE, QUOTA = "pool '{}' is full (no space)", "pool '{}' is full (running out of quota)"


@pytest.mark.parametrize(
    ("detail", "pool", "left"),
    [
        ((SPACE.format("pool20"), SPACE.format("rbd")), 20, (SPACE.format("pool20"),)),
        ((QUOTA.format("pool20"),), 20, (QUOTA.format("pool20"),)),
        ((QUOTA.format("pool30"), SPACE.format("pool201")), 20, None),  # its data pool, say
        ((SPACE.format("rbd"),), 40, (SPACE.format("rbd"),)),  # not known yet: believed
        ((), 20, ()),
    ],
)
def test_a_full_pool_concerns_the_file_system_whose_metadata_it_has(
    detail: tuple[str, ...], pool: int, left: tuple[str, ...] | None
) -> None:
    """MDSs export what they have, and write that to the metadata pool, also where it is full."""
    cluster = FakeCluster()
    other = {"MDS_DAMAGE": HealthCheck("1 MDSs report damage")}
    host: Any = cluster
    cluster.checks = {**other, "POOL_FULL": HealthCheck("1 pool(s) full", detail)}
    found = Pools(host, lambda: Now(0.0, 0.0)).health(replace(cluster.state, metadata_pool=pool))
    assert found == (other if left is None else {**other, "POOL_FULL": HealthCheck("1 pool(s) full", left)})


def test_pools_are_read_for_a_check_of_them_alone_and_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, at = FakeCluster(), [0.0]
    host: Any = cluster
    read: list[float] = []
    monkeypatch.setattr(cluster, "pools", lambda: read.append(at[0]) or {20: "meta"})
    pools = Pools(host, lambda: Now(0.0, at[0]))
    assert pools.health(cluster.state) == {} and read == []
    cluster.checks = {"POOL_FULL": HealthCheck("1 pool(s) full", (SPACE.format("rbd"),))}
    for at[0] in (10.0, 69.0, 70.0):
        assert pools.health(replace(cluster.state, metadata_pool=20)) == {}
    assert read == [10.0, 70.0]


def test_pools_are_those_of_the_osdmap() -> None:
    class Maps:
        def __init__(self) -> None:
            pools = [{"pool": 1, "pool_name": ".mgr"}, {"pool": 20, "pool_name": "cephfs.meta"}]
            self._module = {"osd_map": {"pools": pools}}

    host: Any = Maps()
    assert Host.pools(host) == {1: ".mgr", 20: "cephfs.meta"}


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([{}, {}], True),
        ([{}, CephError("unknown command", 22)], False),
        ([CephError("unknown command", 22), Unavailable("no answer")], False),
        ([{}, Unavailable("no answer")], None),
        ([CephError("no such file", 2), {}], None),
        ([], None),
    ],
)
def test_who_does_not_answer_may_have_the_hook(answers: list[Any], found: bool | None) -> None:
    class Answering:
        def tell_each(self, fs: Any, names: list[str], prefix: str, **arguments: Any) -> dict[str, Any]:
            """Host.tell_each."""
            return dict(zip(names, answers))

    host: Any = Answering()
    assert Host.has_hook(host, FakeCluster(ranks=len(answers)).state) is found
