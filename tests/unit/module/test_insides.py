# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a heavy directory's children are asked for, from an analysis' looks to their weights in a plan."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from plans import NOW, circumstances
from plans import family as brood

from mds_partitioner.judge.archive import decode
from mds_partitioner.judge.history import History
from mds_partitioner.judge.insides import MOST, SEVERAL, Insides, InsidesSum, Part, in_common
from mds_partitioner.judge.window import MOST_LOOKED_INTO, Window
from mds_partitioner.model import Directory, DirectoryFacts, Observation, RankSample, SubtreeSample
from mds_partitioner.observe.children import Child, Placed
from mds_partitioner.plan.families import Family, family


def summed(*looks: dict[str, float]) -> InsidesSum:
    found = InsidesSum()
    for seen in looks:
        found.add(seen)
    return found


def children(*rentries: int) -> list[Child]:
    return [Child(f"/d{i}", 500 + i, n + 1, -1, NOW - 1e6, (0,)) for i, n in enumerate(rentries)]


def weights(of: list[Child], inside: Insides | None) -> tuple[float, ...]:
    parent = Placed("/", 1, -1, False, False)
    return Family(parent, tuple(of), inside, 0, 0.0, None, False, (0,), ()).weights


def test_what_stays_on_the_same_ones_is_told() -> None:
    assert in_common({"a": 3.0, "b": 1.0}, {"a": 6.0, "b": 2.0}) == pytest.approx(1.0)
    assert in_common({"a": 3.0, "b": 1.0}, {"b": 1.0}) == pytest.approx(0.25)
    assert in_common({}, {"a": 1.0}) is None


def test_two_looks_tell_nothing_of_what_is_usual() -> None:
    assert summed({"/d0": 9.0}, {"/d0": 9.0}).summary() is None
    assert summed({}, {}, {}).summary() is None


def test_requests_are_means_over_all_looks() -> None:
    found = summed({"/d0": 30.0, "/d1": 10.0}, {"/d0": 30.0}, {"/d0": 60.0, "/d1": 20.0}).summary()
    assert found is not None
    assert {part.path: part.requests for part in found.parts} == {"/d0": 40.0, "/d1": 10.0}
    assert found.stay == pytest.approx(0.75)


def test_what_is_not_kept_by_name_is_kept_as_a_sum() -> None:
    look = {f"/d{i}": 1.0 + (i == 7) for i in range(MOST + 50)}
    found = summed(look, look, look).summary()
    assert found is not None
    assert len(found.parts) == MOST and found.parts[0].path == "/d7"
    assert found.rest == pytest.approx(50.0)


def test_what_is_remembered_does_not_grow_with_what_comes_and_goes() -> None:
    found = summed({"/stays": 100.0, "/idle": 0.0})
    for look in range(50):
        found.add({"/stays": 100.0, **{f"/job{look}-{i}": 1.0 for i in range(100)}})
    assert (
        len(found.requests) <= 2 * SEVERAL
        and len(found.last) <= SEVERAL + 1
        and "/idle" not in found.requests
    )
    told = found.summary()
    assert told is not None and told.parts[0] == Part("/stays", pytest.approx(100.0))
    assert sum(part.requests for part in told.parts) + told.rest == pytest.approx(100.0 + 5000.0 / 51)


def test_a_load_that_stays_on_thousands_is_told_as_one_that_stays() -> None:
    look = {f"/d{i}": 1.0 for i in range(5000)}
    found = summed(look, look, look).summary()
    assert found is not None and found.stay == pytest.approx(1.0)
    assert found.rest == pytest.approx(5000.0 - MOST)


def test_what_others_were_asked_for_is_not_given_to_the_few_that_last() -> None:
    asked = Insides(1.0, (Part("/job", 100.0),), rest=300.0, number=600)
    assert max(weights(children(9, 9, 9), asked)) == pytest.approx(1 / 3)
    busy = Insides(1.0, (Part("/d0", 50.0), Part("/d1", 50.0)), rest=300.0, number=600)
    assert weights(children(9, 9, 9), busy)[2] < 0.01


def test_without_looks_children_weigh_what_is_in_them() -> None:
    assert weights(children(9, 29), None) == (0.25, 0.75)
    assert weights([], None) == ()


def test_children_weigh_what_they_are_asked_for_where_that_stays_the_same() -> None:
    asked = Insides(1.0, (Part("/d1", 90.0), Part("/d0", 10.0)))
    assert weights(children(1000, 0), asked) == pytest.approx((0.1, 0.9))


def test_children_that_are_used_in_turn_weigh_what_is_in_them() -> None:
    asked = Insides(0.0, (Part("/d1", 90.0), Part("/d0", 10.0)))
    assert weights(children(9, 9), asked) == pytest.approx((0.5, 0.5))


def test_what_was_not_seen_by_name_shares_the_rest() -> None:
    asked = Insides(1.0, (Part("/d0", 80.0),), rest=20.0)
    assert weights(children(5, 5, 5), asked) == pytest.approx((0.8, 0.1, 0.1))
    assert sum(weights(children(5, 5, 5), asked)) == pytest.approx(1.0)


def test_requests_of_what_is_gone_say_nothing() -> None:
    assert weights(children(9, 29), Insides(1.0, (Part("/gone", 50.0),))) == (0.25, 0.75)


def test_the_next_manager_goes_on_with_what_was_summed_up() -> None:
    before = summed({"/d0": 30.0, "/d1": 10.0}, {"/d0": 30.0})
    after = decode(InsidesSum, json.loads(json.dumps(asdict(before))))
    for found in (before, after):
        found.add({"/d0": 6.0})
    assert after == before


def test_a_window_remembers_the_insides_of_the_busiest_only() -> None:
    names = [Directory(f"/s{i}", f"s{i}", 100 + i) for i in range(MOST_LOOKED_INTO + 20)]
    window = Window("cephfs")
    for _ in range(3):
        seen = tuple(SubtreeSample(of, 1.0, 1.0 + i, 1, (0,), False, False) for i, of in enumerate(names))
        inside = {of.path: {f"{of.path}/a": 1.0, f"{of.path}/b": 2.0} for of in names}
        window.add(
            Observation("cephfs", seen, inside=inside),
            History().plus((RankSample(0, "m0", 1.0, 0.0, 0, 0, 0, 0.0, 0.0, 1),), 0.0),
        )
    facts = {of.path: DirectoryFacts(of, 1, -1) for of in names}
    known = [row.directory.path for row in window.summary(facts).directories if row.inside is not None]
    assert len(known) == MOST_LOOKED_INTO and "/s0" not in known


def test_files_right_in_a_directory_are_told_whenever_its_load_is_on() -> None:
    """On in 20 of 60 epochs, and looked into in these alone."""
    found, window = brood("/s"), Window("cephfs")
    at = Directory("/s", "s", 100)
    on_children = {child.path: 50.0 for child in found.children}
    for epoch in range(60):
        on = 20 <= epoch < 40
        seen = SubtreeSample(at, 1.0, 1000.0 if on else 0.0, 1, (0,), False, False)
        inside = {"/s": on_children} if on and epoch % 2 else {}
        window.add(
            Observation("cephfs", (seen,), inside=inside),
            History().plus((RankSample(0, "m0", 1.0, 0.0, 0, 0, 0, 0.0, 0.0, 1),), 0.0),
        )
    (row,) = window.summary({"/s": DirectoryFacts(at, 1, -1)}).directories
    judged = family(found, circumstances("fanout"), lambda *_: True, {}, row.inside, row.requests)
    assert judged.own == pytest.approx(0.8)


def test_what_an_older_version_saw_of_an_inside_says_nothing_of_files_beside_it() -> None:
    """It did not sum up what all of the directory was asked for."""
    before = asdict(summed(*[{"/d0": 30.0}] * 3))
    kept = {name: value for name, value in before.items() if name not in ("whole", "told")}
    after = decode(InsidesSum, json.loads(json.dumps(kept)))
    after.add({"/d0": 30.0}, 100.0)
    told = after.summary()
    assert told is not None and told.whole is None


def test_no_rounding_makes_a_weight_negative() -> None:
    parts = tuple(Part(f"/d{i}", 0.1 * (i + 1)) for i in range(1, 40))
    assert min(weights(children(*range(40)), Insides(1.0, parts))) >= 0.0
