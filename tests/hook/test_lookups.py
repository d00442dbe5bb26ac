# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where that is asked for, clients look names up at the rank that has them while a policy scores."""

from collections.abc import Iterator

import pytest
from hooked import epoch, inside, log_of, use, use_none
from support import Cluster, wait_for

TOP = "/lookups/d"
FILES = [f"{TOP}/f{n:04d}" for n in range(200)]
FEW = len(FILES) / 20
# A stock MDS has some looked up where the directory was: 59 of 200, once. By luck a client may be told nearly
# all: one of so many is not.
CLIENTS = 5
# In place of the built-in balancer, which may move the directory back.
MOVES_NOTHING, BY_SCORE = "moves nothing", "decides by score"
TARGETS = "local t = {} for rank = 0, 3 do t[rank] = 0 end return t"
POLICIES = {
    MOVES_NOTHING: f'BAL_LOG(0, "{MOVES_NOTHING}") {TARGETS}',
    BY_SCORE: f'BAL_LOG(0, "{BY_SCORE}") {TARGETS}, "mindex"',
}
RANKS = (0, 1)


def forwards(cluster: Cluster) -> int:
    """Requests that rank 0 passed on since its MDS started."""
    return int(cluster.tell(0, "perf", "dump", "mds")["mds"]["forward"])


def forwarded(cluster: Cluster) -> int:
    """Of a new client's lookups in the directory."""
    before = forwards(cluster)
    inside(cluster, "visit", FILES)
    return forwards(cluster) - before


def many_forwarded(cluster: Cluster) -> bool:
    """Of the lookups of one of some new clients?"""
    return any(forwarded(cluster) > FEW for _ in range(CLIENTS))


def decisions(cluster: Cluster, says: str) -> list[int]:
    """By the policy that says so, so far, of each rank."""
    return [sum(line.endswith(says) for line in log_of(cluster, rank)) for rank in RANKS]


def await_decisions(cluster: Cluster, says: str, number: int) -> None:
    """Until both ranks have decided so many times more."""
    before = decisions(cluster, says)

    def enough() -> bool:
        return all(now - then >= number for now, then in zip(decisions(cluster, says), before, strict=True))

    wait_for(f"both ranks' policy {says}", enough)


def put_in_force(cluster: Cluster, says: str) -> None:
    """Have both ranks decide by that policy; then rank 1 has the directory.

    An MDS that takes too long to read a policy balances without one.
    """
    use(cluster, f"{says.replace(' ', '_')}.lua", POLICIES[says])
    await_decisions(cluster, says, 1)
    cluster.place({TOP: 1})


@pytest.fixture
def away(cluster: Cluster) -> Iterator[Cluster]:
    """Rank 1 has the directory, rank 0 what is above it, and nothing moves; no policy afterwards."""
    inside(cluster, "make", {"/lookups": 0, TOP: len(FILES)})
    put_in_force(cluster, MOVES_NOTHING)
    yield cluster
    for rank in RANKS:
        cluster.tell(rank, "config", "unset", "mds_bal_select_lookups")
    use_none(cluster)


def test_no_policy_changes_what_clients_are_told_unless_that_is_asked_for(away: Cluster) -> None:
    epoch(away, 1)
    assert many_forwarded(away), "to record visits changes nothing"
    put_in_force(away, BY_SCORE)
    await_decisions(away, BY_SCORE, 2)
    assert away.authority().get(TOP, 0) == 1, "the policy has moved nothing"
    assert many_forwarded(away), "a policy alone changes nothing"

    for rank in RANKS:
        away.tell(rank, "config", "set", "mds_bal_select_lookups", "true")
    wait_for("nearly none is passed on", lambda: forwarded(away) < FEW)
    put_in_force(away, MOVES_NOTHING)
    wait_for("all is as it was", lambda: forwarded(away) > FEW)
