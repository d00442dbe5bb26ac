# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a look makes of the ranks' reports."""

from __future__ import annotations

from mds_partitioner.judge.fullness import Fullness
from mds_partitioner.model import RankSample
from mds_partitioner.schedule.looker import followed, rank_view, rank_views


def sample(rank: int, name: str, requests: float, reported: float) -> RankSample:
    return RankSample(rank, name, requests, 0.001, 0, 0, 0, 0.0, 0.0, 1, reported=reported)


def test_of_a_report_that_was_seen_before_nothing_new_is_known() -> None:
    before = {0: sample(0, "a", 50.0, 5.0), 1: sample(1, "b", 50.0, 5.0)}
    known = {rank: rank_view(of, Fullness(), 900.0) for rank, of in before.items()}
    same, new = sample(0, "a", 80.0, 5.0), sample(1, "b", 80.0, 10.0)
    seen = rank_views([same, new], before, known, Fullness(), 500.0)
    assert seen == {0: known[0], 1: rank_view(new, Fullness(), 500.0)}


def test_what_an_mds_served_says_nothing_of_the_one_that_followed_it() -> None:
    before = {0: sample(0, "a", 50.0, 5.0)}
    known = {0: rank_view(before[0], Fullness(), 0.0)}
    now = [sample(0, "standby", 0.0, 5.0), sample(1, "b", 50.0, 5.0)]
    assert followed(now, before) == {0}, "a rank that is new followed none"
    assert {rank: of.requests for rank, of in rank_views(now, before, known, Fullness(), 0.0).items()} == {
        0: 0.0,
        1: 50.0,
    }
