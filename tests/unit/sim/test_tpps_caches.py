# SPDX-License-Identifier: LGPL-2.1-or-later
"""The layer's caches: against definitions and against traces with known answers."""

import pytest
from fast03 import Arc
from hypothesis import given
from hypothesis import strategies as st

from sim.papers.tpps.caches import Cache, Outcome, Parc, PrefetchedOnly, TwoQueues, arc, lru

sizes = st.integers(1, 12)
traces = st.lists(st.integers(0, 30), max_size=300)


def hits(cache: Cache, trace: list[int]) -> list[bool]:
    return [cache.request(file) is Outcome.HIT for file in trace]


@given(sizes, traces)
def test_the_definition_of_arc_keeps_its_invariants(c, trace):
    cache = Arc(c)
    for file in trace:
        cache.request(file)
        first, second = len(cache.t1) + len(cache.b1), len(cache.t2) + len(cache.b2)
        cached = len(cache.t1) + len(cache.t2)
        assert first <= c
        assert first + second <= 2 * c
        assert cached <= c
        assert 0 <= cache.p <= c
        # A.3 and A.4 of the paper: no ghosts before the cache is full.
        assert cached == c or not (cache.b1 or cache.b2)
        names = [*cache.t1, *cache.t2, *cache.b1, *cache.b2]
        assert len(set(names)) == len(names)


@given(sizes, traces)
def test_the_arc_that_is_used_is_the_published_one(c, trace):
    used, published = arc(c), Arc(c)
    for file in trace:
        assert (used.request(file) is Outcome.HIT) == published.request(file)
        cached = {*published.t1, *published.t2}
        assert {one for one in range(31) if used.holds(one)} == cached
        assert len(used) == len(cached)


def test_arc_keeps_what_is_asked_for_again_through_a_scan_that_lru_forgets_it_in():
    trace = [1, 2, 1, 2, *range(10, 30), 1, 2]
    assert hits(arc(4), trace)[-2:] == [True, True]
    assert hits(lru(4), trace)[-2:] == [False, False]


def test_lru_on_beladys_trace():
    # Three frames: ten faults under LRU.
    trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]
    cache = lru(3)
    assert [at for at, hit in enumerate(hits(cache, trace)) if hit] == [7, 8]
    assert [file for file in range(1, 6) if cache.holds(file)] == [3, 4, 5]


def test_asking_what_a_cache_holds_changes_nothing():
    cache = lru(2)
    hits(cache, [1, 2])
    assert cache.holds(1)
    cache.request(3)
    assert not cache.holds(1)


def test_two_queues_take_a_file_in_at_its_second_request():
    cache = TwoQueues(2, 2)
    assert [cache.request(file) for file in (1, 1, 1)] == [Outcome.MISS, Outcome.FILL, Outcome.HIT]


def test_a_name_that_fell_out_of_the_ghost_counts_as_never_seen():
    cache = TwoQueues(2, 2)
    assert [cache.request(file) for file in (1, 2, 3, 1)] == [Outcome.MISS] * 4


def test_what_two_queues_evict_is_remembered_by_name():
    cache = TwoQueues(1, 2)
    hits(cache, [1, 1, 2, 2])
    assert cache.holds(2)
    assert cache.request(1) is Outcome.FILL


@given(sizes, sizes, traces)
def test_two_queues_are_never_larger_than_they_may_be(size, ghost, trace):
    cache = TwoQueues(size, ghost)
    for file in trace:
        held = cache.holds(file)
        outcome = cache.request(file)
        assert len(cache) <= size
        assert (outcome is Outcome.HIT) == held
        assert cache.holds(file) == (outcome is not Outcome.MISS)


def test_what_parc_prefetched_comes_in_at_its_first_request():
    with_names, without = Parc(2, 2), TwoQueues(2, 2)
    assert with_names.prefetch([7, 8]) == 0
    assert without.prefetch([7, 8]) == 0
    assert (with_names.request(7), without.request(7)) == (Outcome.FILL, Outcome.MISS)


def test_of_too_many_names_the_hottest_are_kept():
    cache = Parc(4, 2)
    cache.prefetch([1, 2, 3])
    assert [cache.request(file) for file in (1, 2, 3)] == [Outcome.FILL, Outcome.FILL, Outcome.MISS]


def test_prefetching_costs_a_read_for_each_entry_that_is_not_there():
    cache = PrefetchedOnly(3)
    assert cache.prefetch([1, 2]) == 2
    assert cache.prefetch([2, 3]) == 1
    assert hits(cache, [1, 2, 3, 4, 4]) == [True, True, True, False, False]


@pytest.mark.parametrize("asked, left", [([], {2, 3}), ([1], {1, 3})])
def test_of_prefetched_entries_the_longest_unused_goes(asked, left):
    cache = PrefetchedOnly(2)
    cache.prefetch([1])
    cache.prefetch([2])
    hits(cache, asked)
    cache.prefetch([3])
    assert {file for file in range(4) if cache.holds(file)} == left
