# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client's cache of names, and what a client looks up that has one."""

from sim.load.cache import Entries, lookups


def test_what_was_used_last_stays_and_what_is_too_much_goes() -> None:
    entries = Entries(2)
    for name in ("/a", "/b", "/c"):
        entries.touch(name)
    entries.touch("/a")
    entries.trim()
    assert [name in entries for name in ("/a", "/b", "/c")] == [True, False, True]


def test_a_directory_stays_as_long_as_a_name_in_it_does_and_counts() -> None:
    entries = Entries(2)
    entries.touch("/d")
    entries.touch("/d/f")
    entries.touch("/a")
    entries.touch("/d/f")
    entries.trim()
    assert [name in entries for name in ("/d", "/d/f", "/a")] == [True, True, False]
    entries.touch("/b")
    entries.touch("/c")
    entries.trim()
    assert "/d/f" not in entries
    entries.trim()
    assert "/d" not in entries


def test_a_name_is_asked_for_once_while_it_is_known() -> None:
    asked = lookups(["/d/f", "/d/g", "/d/f"], [False, False, False], size=10, threads=1)
    assert asked == {"/d": 1, "/d/f": 1, "/d/g": 1}


def test_a_small_cache_asks_again_and_a_missing_name_is_asked_for_each_time() -> None:
    asked = lookups(["/d/f", "/e/g", "/d/f"], [False, False, False], size=1, threads=1)
    assert asked["/d/f"] == asked["/d"] == 2
    assert lookups(["/f", "/f"], [True, True], size=10, threads=1) == {"/f": 2}


def test_threads_that_read_at_once_may_ask_for_the_same() -> None:
    asked = lookups([f"/d/{k}" for k in range(16)], [False] * 16, size=100, threads=16)
    assert 1 < asked["/d"] <= 16
