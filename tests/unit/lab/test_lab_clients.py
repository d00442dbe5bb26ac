# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clients are told, which files they use, and what they say about latencies."""

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.clients.latency import Recorder, percentile, summary
from lab.clients.latency_histogram import bucket
from lab.clients.spec import ClientSpec, LoadSpec
from lab.clients.tree import Popularity
from lab.errors import LabError


def client(**fields: Any) -> ClientSpec:
    return ClientSpec(**{"name": "c", "path": "/volumes/g/s/u", **fields})


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", "", "not empty"),
        ("path", "volumes/g", "absolute"),
        ("workers", 0, "1 to 256"),
        ("dirs", 0, "1 or more"),
        ("files", -1, "1 or more"),
        ("size", -1, "0 or more bytes"),
        ("zipf", -0.1, "0 or more"),
        ("zipf", float("nan"), "0 or more"),
        ("rate", 0, "more than 0"),
        ("cache", 0, "1 or more"),
        ("working_set", 1001, "1 to 1000 files"),
        ("mix", {}, "one above"),
        ("mix", {"stat": 0}, "one above"),
        ("mix", {"stat": -1, "open": 2}, "weights"),
        ("mix", {"rename": 1}, "unknown operation 'rename'"),
        ("turns", 0, "1 to 1000"),
        ("turn", 1, "0 to 0"),
        ("turn_seconds", 0, "more than 0"),
    ],
)
def test_a_bad_client_is_refused_with_what_is_allowed(field: str, value: object, says: str) -> None:
    with pytest.raises(LabError, match=says):
        client(**{field: value})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "must look like"),
        ('{"clients": []}', "at least one"),
        ('{"clients": [{"name": "a"}]}', "missing"),
        ('{"clients": [{"name": "a", "path": "/", "speed": 3}]}', "unknown field 'speed'"),
        ('{"clients": [{"name": "a", "path": "/", "workers": "4"}]}', "wrong type"),
        ('{"clients": ["a"]}', "unknown field 'a'"),
        ('{"clients": [{"name": "a", "path": "/"}], "sed": 1}', "unknown field 'sed'"),
        ('{"clients": [{"name": "a", "path": "/"}, {"name": "a", "path": "/"}]}', "same name"),
    ],
)
def test_a_bad_load_is_refused(text: str, says: str) -> None:
    with pytest.raises(LabError, match=says):
        LoadSpec.from_json(text)


def test_a_load_survives_json() -> None:
    load = LoadSpec((client(name="a", rate=1.5, mix={"stat": 1}), client(name="b", seed=7)), seed=3)
    assert LoadSpec.from_json(load.to_json()) == load
    assert "\n" not in load.to_json()


def test_a_client_works_in_its_turn() -> None:
    second = client(turn=1, turns=3, turn_seconds=10)
    assert [second.pause(t) for t in (0, 9, 10, 19.5, 20, 29, 30, 40, 60)] == [10, 1, 0, 0, 20, 11, 10, 0, 10]
    assert client().pause(1e6) == 0
    assert LoadSpec(
        (client(name="always"), replace(second, turn=0), replace(second, name="later")), seed=1
    ).first == {"always", "c"}


def test_seeds_are_fixed_and_differ_by_client_and_by_set() -> None:
    a, b = client(name="a"), client(name="b")
    assert a.seed_in(1) == a.seed_in(1) != a.seed_in(2)
    assert a.seed_in(1) != b.seed_in(1)
    assert client(seed=9).seed_in(1) == 9


def test_a_client_caches_a_quarter_of_its_working_set_unless_told() -> None:
    assert client(working_set=400).cached == 100
    assert client(working_set=1).cached == 1
    assert client(cache=7).cached == 7


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([1, 50, 95, 99, 100]))
def test_percentile_is_the_nearest_rank(values: list[float], percent: int) -> None:
    ordered = sorted(values)
    result = percentile(ordered, percent)
    assert sum(v <= result for v in values) >= len(values) * percent / 100
    assert sum(v < result for v in values) < len(values) * percent / 100


def test_percentile_needs_values() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)
    assert summary([]) == {"n": 0}


def test_summary_is_in_milliseconds() -> None:
    assert summary([i / 1000 for i in range(1, 101)]) == {"n": 100, "p50": 50.0, "p95": 95.0, "p99": 99.0}


def test_the_recorder_gives_each_operation_once() -> None:
    recorder = Recorder()
    recorder.done("stat", 0.001)
    recorder.done("create", 0.003)
    recorder.failed("open", "gone")
    recorder.failed("open", "gone")
    first = recorder.take()
    assert (first["ops"], first["errors"], first["why"]) == (2, 2, {"open: gone": 2})
    assert first["latency_ms"] == {
        "all": {"n": 2, "p50": 1.0, "p95": 3.0, "p99": 3.0},
        "create": {"n": 1, "p50": 3.0, "p95": 3.0, "p99": 3.0},
        "stat": {"n": 1, "p50": 1.0, "p95": 1.0, "p99": 1.0},
    }
    assert first["histogram"] == {bucket(0.001): 1, bucket(0.003): 1}
    json.dumps(first)
    nothing = {"ops": 0, "errors": 0, "latency_ms": {"all": {"n": 0}}, "histogram": {}}
    assert recorder.take() == nothing


@given(st.integers(1, 500), st.data(), st.floats(0, 3), st.integers())
def test_draws_stay_in_the_working_set(total: int, data: st.DataObject, zipf: float, seed: int) -> None:
    used = data.draw(st.integers(1, total))
    popularity = Popularity(total, used, zipf, seed)
    assert len(set(popularity.working_set)) == used
    rng = random.Random(seed)
    drawn = {popularity.draw(rng) for _ in range(50)}
    assert drawn <= set(popularity.working_set) <= set(range(total))
    assert popularity.working_set == Popularity(total, used, zipf, seed).working_set


def test_zipf_frequencies_follow_the_law() -> None:
    popularity = Popularity(1000, 100, 1.0, seed=1)
    rng = random.Random(2)
    counts = Counter(popularity.draw(rng) for _ in range(50_000))
    harmonic = sum(1 / i for i in range(1, 101))
    for place in (1, 2, 10):
        expected = 50_000 / place / harmonic
        assert counts[popularity.working_set[place - 1]] == pytest.approx(expected, rel=0.15)


def test_uniform_draws_favour_nothing() -> None:
    popularity = Popularity(1000, 20, 0, seed=1)
    rng = random.Random(2)
    counts = Counter(popularity.draw(rng) for _ in range(40_000))
    assert max(counts.values()) < 1.15 * min(counts.values())
