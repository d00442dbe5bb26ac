# SPDX-License-Identifier: LGPL-2.1-or-later
"""What Ceph's maps say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_cluster import FakeCluster

from mds_partitioner.ceph.host import Host, fs_state
from mds_partitioner.errors import CephError, Unavailable


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


def test_pools_are_those_of_the_osdmap() -> None:
    class Maps:
        def __init__(self) -> None:
            self._module = {"osd_map": {"pools": [{"pool": 1}, {"pool": 20}]}}

    host: Any = Maps()
    assert Host.pools(host) == {1, 20}


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
