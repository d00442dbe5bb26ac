# SPDX-License-Identifier: LGPL-2.1-or-later
"""The last beat as an MDS tells it, and MDSs that fell back to the built-in balancer."""

from typing import Any

import pytest
from fake_cluster import FakeCluster
from scheduled import Cluster

from mds_partitioner.ceph.tick import QUICK, TICK, USUAL_TICK
from mds_partitioner.errors import Unavailable
from mds_partitioner.policy.beats import (
    FELL_BACK,
    Fallback,
    beat_interval,
    parse_beat,
    parse_fallbacks,
    tick_interval,
)

OURS = frozenset({"mds_partitioner.lunule.1"})
STAMP = "2026-11-21T10:00:00.000000+0000"
AT = 1795255200.0  # the same, Unix s


def load(rate: float) -> dict[str, Any]:
    """As in src/mds/mdstypes.cc, mds_load_t::dump."""
    dirfrags = {"Decay Counters": [{"value": 1.0, "halflife": 5.0}] * 5}
    return {
        "request_rate": rate,
        "cache_hit_rate": 0.0,
        "queue_length": 3.0,
        "cpu_load": 1.5,
        "mds_load": 0.0,
        "auth_dirfrags": dirfrags,
        "all_dirfrags": dirfrags,
    }


def line(balancer: str, stamp: str = STAMP, name: str = "mds.a", reason: str = "boom") -> dict[str, str]:
    return {"name": name, "stamp": stamp, "message": f"{FELL_BACK} balancer={balancer} : {reason}"}


SLOW = (
    "slow request 31.2 seconds old, received at 2026-11-21T10:00:00.0+0000: client_request(client.4:7 "
    f"create #0x1/{line('mds_partitioner.lunule.1')['message']} 2026-11-21T10:00:00.0+0000) dispatched"
)


def test_a_beat_has_every_rank_in_order() -> None:
    beat = parse_beat({"mds_load": {"mds.1": load(20.0), "mds.0": load(10.0)}}, 2)
    assert beat is not None
    assert [m["req_rate"] for m in beat.metrics] == [10.0, 20.0]
    assert beat.metrics[0]["queue_len"] == 3.0
    assert beat.metrics[0]["auth.meta_load"] == 1 + 2 + 1 + 2 + 4


@pytest.mark.parametrize("loads", [{}, {"mds.0": load(1.0)}, {"mds.0": load(1.0), "mds.2": load(1.0)}])
def test_a_beat_that_lacks_a_rank_is_none(loads: dict[str, Any]) -> None:
    assert parse_beat({"mds_load": loads}, 2) is None


def test_an_mds_that_fell_back_from_our_policy_is_named_with_its_newest_reason() -> None:
    lines = [line("mds_partitioner.lunule.1", reason="old"), line("mds_partitioner.lunule.1", reason="new")]
    assert parse_fallbacks(lines, OURS, AT - 1) == [Fallback("mds.a", "new")]


@pytest.mark.parametrize(
    ("stamps", "in_a_row"),
    [
        (("10:00:00",), False),
        (("10:00:00", "10:00:30"), False),
        (("10:00:00", "10:00:30", "10:00:40"), True),
        (("10:00:00", "10:00:10", "10:00:40"), False),
    ],
)
def test_one_beat_without_the_policy_is_told_from_beat_after_beat(
    stamps: tuple[str, ...], in_a_row: bool
) -> None:
    lines = [line("mds_partitioner.lunule.1", f"2026-11-21T{at}.000000+0000") for at in stamps]
    (fell,) = parse_fallbacks([*lines, line("mine.lua")], OURS, AT - 1)
    assert fell.goes_on(10.0) is in_a_row


@pytest.mark.parametrize(
    ("entry", "since"),
    [
        (line("mine.lua"), AT - 1),
        (line("mds_partitioner.lunule.1"), AT + 1),
        ({"name": "mds.a", "stamp": STAMP, "message": "something else"}, AT - 1),
        ({"name": "mds.a", "stamp": STAMP, "message": SLOW}, AT - 1),
    ],
    ids=["another balancer", "long ago", "another message", "a file that is named so"],
)
def test_what_is_not_about_us_or_over_is_not_told(entry: dict[str, str], since: float) -> None:
    assert parse_fallbacks([entry], OURS, since) == []


class Told(FakeCluster):
    """Rank 0 has another interval than the mon."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: Any = {"mds_bal_interval": "40"}

    def tell(self, fs: Any, mds: str, prefix: str, **arguments: Any) -> Any:
        """Host.tell."""
        assert (mds, prefix, arguments) == ("m0", "config get", {"var": "mds_bal_interval"})
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_beats_are_as_rank_0_has_them() -> None:
    host: Any = Told()
    assert beat_interval(host, host.state, None) == 40
    for answer in (Unavailable("no answer"), {}, {"mds_bal_interval": "odd"}):
        host.answer = answer
        assert beat_interval(host, host.state, None) == 10
        assert beat_interval(host, host.state, 40) == 40, "a push is a new FSMap"


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ({"mon": 2.0}, 2.0),
        ({"override": float(QUICK)}, USUAL_TICK),
        ({"override": 8.0}, 8.0),
        ({"mon": "odd"}, 7.0),
    ],
)
def test_ticks_are_as_an_operator_has_them(levels: dict[str, Any], told: float) -> None:
    cluster = Cluster()
    cluster.odd = {"m0": {"diff": {TICK: levels}}}
    host: Any = cluster
    assert tick_interval(host, cluster.state, 7.0) == told
    cluster.odd = {"m0": Unavailable("no answer")}
    assert tick_interval(host, cluster.state, 7.0) == 7.0
