# SPDX-License-Identifier: LGPL-2.1-or-later
"""lunule.lua does not order again what is on its way, and comes to an end."""

import random
from collections.abc import Callable

import pytest

from tests.unit.loads import HARMFUL
from tests.unit.mantle.model import Model, Subtree

DELAYS = (0, 1, 2, 3)  # beats
MEAN = 1000.0  # req/s of a rank; as this is the capacity, too, every imbalance is urgent
QUIET = 12  # beats at the end in which nothing may move: three turns


def one_hot(ranks: int, each: int) -> list[Subtree]:
    """All on rank 0, sizes from 0.5 to 1.5; each: subtrees for every rank."""
    sizes = random.Random(1)
    return [Subtree(MEAN / each * sizes.uniform(0.5, 1.5), 0) for _ in range(ranks * each)]


def half_hot(ranks: int, each: int) -> list[Subtree]:
    """Spread over the lower half of the ranks."""
    subtrees = one_hot(ranks, each)
    for number, subtree in enumerate(subtrees):
        subtree.rank = number % max(1, ranks // 2)
    return subtrees


def run(model: Model, beats: int) -> tuple[int, float]:
    """Beats until the load stays even, and what was moved in parts of what had to be."""
    surplus, uneven = model.surplus(), 0
    for _ in range(beats):
        model.step()
        if model.factor() > HARMFUL:
            uneven = model.beat
    assert uneven < beats, f"IF {model.factor():.3f} after {beats} beats"
    assert model.last_move is None or model.last_move < beats - QUIET, "it does not come to rest"
    return uneven, model.moved / surplus


@pytest.mark.parametrize(("ranks", "spread"), [(2, one_hot), (4, half_hot), (8, one_hot), (16, one_hot)])
@pytest.mark.parametrize("delay", DELAYS)
def test_by_turns_a_cluster_is_even_within_four_turns_and_little_moves_twice(
    ranks: int, delay: int, spread: Callable[[int, int], list[Subtree]]
) -> None:
    beats, moved = run(Model(spread(ranks, 12), ranks, delay, MEAN), 34)
    assert beats <= 16
    assert moved <= 1.4


def test_by_turns_64_ranks_are_even_as_soon() -> None:
    beats, moved = run(Model(one_hot(64, 6), 64, 2, MEAN), 26)
    assert beats <= 12
    assert moved <= 1.3


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("delay", DELAYS)
def test_by_turns_one_subtree_for_each_rank_is_enough_and_moves_once(ranks: int, delay: int) -> None:
    beats, moved = run(Model([Subtree(MEAN, 0) for _ in range(ranks)], ranks, delay, MEAN), 22)
    assert beats <= 8
    assert moved == pytest.approx(1.0)


@pytest.mark.parametrize(("ranks", "spread"), [(2, one_hot), (4, half_hot), (8, one_hot)])
@pytest.mark.parametrize("delay", DELAYS)
def test_without_a_clock_a_fifth_at_a_time_hardly_swings(
    ranks: int, delay: int, spread: Callable[[int, int], list[Subtree]]
) -> None:
    beats, moved = run(Model(spread(ranks, 48), ranks, delay, MEAN, clock=False), 40)
    assert beats <= 20
    assert moved <= 1.5


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("delay", DELAYS)
def test_a_full_rank_that_hides_what_its_clients_would_do_is_relieved(ranks: int, delay: int) -> None:
    full = 1.2 * MEAN  # so most of what is asked of rank 0 has to wait
    beats, moved = run(Model(one_hot(ranks, 12), ranks, delay, full, most=full), 48)
    assert beats <= (16 if ranks < 5 else 28)
    assert moved <= (1.2 if ranks < 5 else 1.5)


def hottest(model: Model) -> float:
    """The fullest rank's demand in parts of the mean."""
    loads = model.loads()
    return max(loads) * len(loads) / sum(loads)


@pytest.mark.parametrize("extra", [300.0, 900.0], ids=["just full", "more has to wait"])
@pytest.mark.parametrize("delay", DELAYS)
def test_of_12_ranks_a_full_one_is_relieved_although_the_factor_hardly_sees_it(
    delay: int, extra: float
) -> None:
    even = [Subtree(40.0, rank) for rank in range(12) for _ in range(10)]
    model = Model([*even, *(Subtree(extra / 15, 0) for _ in range(15))], 12, delay, 700.0, most=700.0)
    assert 0.05 < model.factor() < HARMFUL
    assert hottest(model) > 1.6
    last = 0
    for _ in range(40):
        model.step()
        last = model.beat if hottest(model) > 1.3 else last
    assert last <= 24
    assert model.last_move is not None
    assert model.last_move < 40 - QUIET, "it does not come to rest"
    assert model.moved <= 1.2 * extra


@pytest.mark.parametrize("clock", [True, False])
@pytest.mark.parametrize(("ranks", "seed"), [(2, 0), (2, 1), (2, 2), (4, 0), (16, 0)])
def test_noise_of_a_tenth_moves_nothing(ranks: int, clock: bool, seed: int) -> None:
    subtrees = [Subtree(MEAN / 16, rank) for rank in range(ranks) for _ in range(16)]
    model = Model(subtrees, ranks, 1, MEAN, clock=clock, noise=0.1, seed=seed)
    for _ in range(60):
        model.step()
    assert model.moved == 0
