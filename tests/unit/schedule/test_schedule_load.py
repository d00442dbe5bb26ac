# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ranks are taken to be able to serve."""

import pytest

from mds_partitioner.schedule.core.load import capacities, crawls, highest
from mds_partitioner.schedule.core.view import RankView


@pytest.mark.parametrize(
    ("rank", "found"),
    [
        (RankView(1, 500.0, 12.0, True, 500.0, 12.0), 500.0),
        (RankView(1, 700.0, 4.0, True, 700.0, 4.0), 1000.0),
        (RankView(1, 300.0, 4.0, True, 300.0, 4.0), 300.0 * 3.0**0.5),
        (RankView(1, 400.0, 0.4, False, 700.0, 4.0), 1000.0),
        (RankView(1, 400.0, 0.4, False, 500.0, 12.0), 500.0),
        (RankView(1, 900.0, 12.0, True, 300.0, 12.0), 900.0),
        (RankView(1, 500.0, 4.0, True, 500.0), 500.0),
        (RankView(1, 300.0, 0.4, False, 400.0, 0.0), 800.0),
        (RankView(1, 700.0, 0.4, False, 600.0, 0.0), 1000.0),
        (RankView(1, 900.0, 0.4, False, 900.0, 0.0), 1350.0),
        (RankView(1, 900.0, 4.0, True, 900.0, 0.0), 1000.0),
        (RankView(1, 100.0), 1000.0),
        (RankView(1, 1200.0), 1200.0),
    ],
    ids=[
        "as it taught",
        "had less to do",
        "had less to do, but is slower than that tells",
        "had less to do and is not full any more",
        "is not full any more",
        "does more now",
        "an operator has told it",
        "did that easily, and may do twice as much",
        "did that easily, and may be as good",
        "did easily what the best can, so it can do more",
        "did so once, and is full now",
        "unknown",
        "unknown, does more",
    ],
)
def test_a_rank_beside_one_that_serves_a_thousand(rank: RankView, found: float) -> None:
    assert capacities([RankView(0, 1000.0, 12.0, True, 1000.0, 12.0), rank])[1] == found


def test_a_full_rank_is_not_taken_to_be_as_good_as_one_that_was_crowded_long_ago() -> None:
    fast, slow = RankView(0, 550.0, 0.9, False, 1000.0, 500.0), RankView(1, 260.0, 20.0, True, 260.0, 20.0)
    assert capacities([fast, slow]) == {0: 1000.0, 1: 260.0}
    assert capacities([fast, RankView(1, 260.0, 2.0, True, 260.0, 2.0)])[1] == 1000.0, "it may do more"
    assert capacities([fast, RankView(1, 200.0, 0.5, False, 260.0, 20.0)])[1] == 260.0


@pytest.mark.parametrize(("inside", "found"), [(0.3, 140.0), (1.0, 140.0 * 3.0**0.5)])
def test_a_full_rank_of_few_is_taken_for_what_it_shows_while_another_one_rests(
    inside: float, found: float
) -> None:
    """Its clients make files, and those of the other one look: a request is another one's there."""
    other = RankView(0, 130.0, inside, False, 400.0, 12.0)
    assert capacities([other, RankView(1, 140.0, 4.0, True, 140.0, 4.0)])[1] == pytest.approx(found)


def test_what_one_does_easily_that_is_as_good_as_any_others_may_be_able_to_do_as_well() -> None:
    rests = [RankView(rank, rate, 0.4, False, rate, 0.0) for rank, rate in enumerate((1000.0, 800.0, 300.0))]
    assert capacities([*rests, RankView(3, 0.0)]) == {0: 1500.0, 1: 1500.0, 2: 600.0, 3: 1500.0}


def test_all_are_alike_while_nothing_is_known() -> None:
    assert capacities([RankView(0, 700.0), RankView(1, 0.0)]) == {0: 700.0, 1: 700.0}


def test_what_did_something_easily_may_be_as_good_as_one_that_was_never_full() -> None:
    easily = RankView(0, 120.0, 0.3, False, 120.0, 0.0)
    assert capacities([easily, RankView(1, 900.0, 1.0)]) == {0: 240.0, 1: 900.0}


def test_one_that_is_slow_says_nothing_of_those_that_do_more() -> None:
    ranks = [RankView(0, 2500.0), RankView(1, 200.0), RankView(2, 25.0, 10.0, True, 25.0, 10.0)]
    assert capacities(ranks) == {0: 2500.0, 1: 2500.0, 2: 25.0}


def test_a_rank_that_lists_large_directories_does_not_crawl() -> None:
    """It works all the time, though it serves far fewer requests than one that looks up names."""
    lists, looks_up = RankView(0, 200.0, inside=4.0, listings=200.0), RankView(1, 5000.0, inside=0.4)
    assert not crawls(lists, 2600.0, highest([lists, looks_up]))
    waits = RankView(0, 200.0, inside=4.0)
    assert crawls(waits, 2600.0, highest([waits, looks_up]))
