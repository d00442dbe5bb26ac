# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which MDSs serve, as the mon tells it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.api import Lab
from lab.errors import LabError
from lab.ranks import all_active, gid, holders, set_quota


def lab(*mdss: tuple[str, int, int, str]) -> Lab:
    """Of (name, gid, rank, state)."""
    info = {
        f"gid_{number}": {"name": name, "gid": number, "rank": rank, "state": state}
        for name, number, rank, state in mdss
    }

    def answer(command: str, **arguments: str) -> dict[str, Any]:
        assert command == "fs get"
        return {"mdsmap": {"info": info}}

    return cast(Lab, SimpleNamespace(monitor=SimpleNamespace(json=answer)))


BOTH = lab(("a", 11, 0, "up:active"), ("b", 12, 1, "up:active"))


def test_all_ranks_serve_when_each_has_an_active_mds() -> None:
    assert all_active(BOTH, 2)
    assert not all_active(BOTH, 3)
    assert not all_active(lab(("a", 11, 0, "up:active"), ("b", 12, 1, "up:replay")), 2)


def test_a_killed_mds_that_the_mon_still_shows_does_not_serve() -> None:
    assert not all_active(BOTH, 2, without=[gid(BOTH, "mds.b")])
    assert all_active(lab(("a", 11, 0, "up:active"), ("b", 13, 1, "up:active")), 2, without=[12])


def test_an_mds_that_the_mon_does_not_know_is_named() -> None:
    with pytest.raises(LabError, match=r"no mds\.c: mds\.a, mds\.b"):
        gid(BOTH, "mds.c")


def test_a_rank_has_its_mds_before_it_serves() -> None:
    assert holders(lab(("a", 11, 0, "up:active"), ("b", 13, 1, "up:replay"))) == {
        0: ("mds.a", 11),
        1: ("mds.b", 13),
    }


def test_a_quota_is_for_the_daemon_that_has_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    quotas: list[tuple[int, str]] = []
    swapped = lab(("a", 11, 1, "up:active"), ("b", 13, 0, "up:active"))

    def quota(percent: int, daemon: str) -> None:
        quotas.append((percent, daemon))

    monkeypatch.setattr(swapped, "set_mds_cpu", quota, raising=False)
    set_quota(swapped, 1, 8)
    assert quotas == [(8, "mds.a")]
