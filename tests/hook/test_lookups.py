# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where that is asked for, clients look names up at the rank that has them while a policy scores."""

from collections.abc import Iterator

import pytest
from hooked import epoch, inside, log_of, use, use_none
from support import Cluster, wait_for

TOP = "/lookups/d"
FILES = [f"{TOP}/f{n:04d}" for n in range(200)]
FEW = len(FILES) / 20
# A stock MDS has some looked up where the directory was: 59 of 200, once.
SAYS = "decides by score"
# In place of the built-in balancer, which may move the directory back.
NOTHING = "local t = {} for rank = 0, 3 do t[rank] = 0 end return t"
BY_SCORE = f'BAL_LOG(0, "{SAYS}") {NOTHING}, "mindex"'
RANKS = (0, 1)


def forwards(cluster: Cluster) -> int:
    """Requests that rank 0 passed on since its MDS started."""
    return int(cluster.tell(0, "perf", "dump", "mds")["mds"]["forward"])


def forwarded(cluster: Cluster) -> int:
    """Of a new client's lookups in the directory."""
    before = forwards(cluster)
    inside(cluster, "visit", FILES)
    return forwards(cluster) - before


def decisions(cluster: Cluster, rank: int) -> int:
    """By score, so far, as the policy has logged them."""
    return sum(SAYS in line for line in log_of(cluster, rank))


@pytest.fixture
def away(cluster: Cluster) -> Iterator[Cluster]:
    """Rank 1 has the directory, rank 0 what is above it, and nothing moves; no policy afterwards."""
    inside(cluster, "make", {"/lookups": 0, TOP: len(FILES)})
    cluster.tell(0, "export", "dir", TOP, "1")
    wait_for("it has arrived", lambda: cluster.authority().get(TOP, 0) == 1)
    use(cluster, "nothing.lua", NOTHING)
    yield cluster
    for rank in RANKS:
        cluster.tell(rank, "config", "unset", "mds_bal_select_lookups")
    use_none(cluster)


def test_no_policy_changes_what_clients_are_told_unless_that_is_asked_for(away: Cluster) -> None:
    epoch(away, 1)
    assert forwarded(away) > FEW, "to record visits changes nothing"
    use(away, "by_score.lua", BY_SCORE)
    wait_for("both decide by score", lambda: all(decisions(away, rank) > 1 for rank in RANKS))
    assert away.authority().get(TOP, 0) == 1, "the policy has moved nothing"
    assert forwarded(away) > FEW, "a policy alone changes nothing"

    for rank in RANKS:
        away.tell(rank, "config", "set", "mds_bal_select_lookups", "true")
    wait_for("nearly none is passed on", lambda: forwarded(away) < FEW)
    use(away, "nothing.lua", NOTHING)
    wait_for("all is as it was", lambda: forwarded(away) > FEW)
