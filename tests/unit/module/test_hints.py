# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a policy is told, and when telling it again is worth a new FSMap."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import replace

import pytest
from fake_cluster import SETTINGS, FakeCluster
from hypothesis import given
from hypothesis import strategies as st

from mds_partitioner.plan.ranks import mask_of
from mds_partitioner.policy.hints import (
    Growth,
    Hints,
    differ,
    growth,
    lua,
    make_hints,
    policy_object,
    push_due,
    why_nobody,
)

HINTS = Hints(1000.0, 0.2, 0.075, 0.01)
BAND = 0.1


def read(hints: Hints) -> dict[str, object]:
    """The table as Lua reads it."""
    told = (
        'local function text(v) if type(v) ~= "table" then return type(v) == "number" and ("%.17g"):format(v)'
        """ or "'" .. v .. "'" end local parts = {} for k, item in pairs(v) do"""
        """ parts[#parts + 1] = (type(k) == "number" and k or "'" .. k .. "'") .. ": " .. text(item) end"""
        ' return "{" .. table.concat(parts, ", ") .. "}" end print(text(hints))'
    )
    table = ast.literal_eval(executed(f"{lua(hints)} {told}").stdout)
    return {key: list(v.values()) if key in ("mask", "resting") else v for key, v in table.items()}


def executed(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["lua5.3", "-"], input=text, capture_output=True, text=True, check=False)


@given(
    st.floats(1e-3, 1e6),
    st.one_of(st.none(), st.floats(1e-3, 1e6)),
    st.one_of(st.none(), st.lists(st.integers(0, 255), min_size=1, unique=True).map(tuple)),
    st.dictionaries(
        st.integers(0, 255), st.builds(Growth, st.floats(0, 1e6), st.floats(-1e6, 1e6)), max_size=4
    ),
)
def test_lua_reads_what_was_meant(
    capacity: float, limit: float | None, mask: tuple[int, ...] | None, by_rank: dict[int, Growth]
) -> None:
    hints = replace(HINTS, capacity=capacity, limit=limit, mask=mask, growth=by_rank, expires=7)
    found = read(hints)
    assert found["capacity"] == capacity
    assert found.get("limit") == limit
    assert found.get("mask") == (None if mask is None else list(mask))
    told = {rank: (g["seen"], g["by"]) for rank, g in dict(found.get("growth") or {}).items()}
    assert told == {rank: (g.seen, g.by) for rank, g in by_rank.items()}
    assert ("expires" in found) == bool(by_rank), "without a forecast nothing expires"


def test_hints_stand_on_the_policys_first_line_so_that_errors_name_its_own() -> None:
    _, text = policy_object("custom", HINTS, "-- mine\nerror('here')")
    assert "\n" not in lua(HINTS)
    assert ":2: here" in executed(text).stderr


def test_the_selection_is_told_when_it_is_not_the_policys_own() -> None:
    assert "selection" not in read(HINTS)
    assert read(replace(HINTS, selection="heat"))["selection"] == "heat"


def test_the_interval_of_beats_is_told_when_it_is_not_the_mdss_default() -> None:
    assert "interval" not in read(HINTS)
    assert read(replace(HINTS, interval=20))["interval"] == 20


@pytest.mark.parametrize(
    ("interval", "tick", "beat"),
    [
        *((10, 5.0, None), (6, 5.0, None), (3, 5.0, 5), (11, 5.0, 15), (6, 2.5, 7.5), (4, 1.0, 4)),
        *((0, 5.0, 0), (10, 0.0, None)),
    ],
)
def test_beats_that_are_told_are_whole_ticks_apart(interval: int, tick: float, beat: float | None) -> None:
    assert read(replace(HINTS, interval=interval, tick=tick)).get("interval") == beat


def test_a_name_follows_the_content() -> None:
    names = [policy_object("lunule", h, "return {}")[0] for h in (HINTS, HINTS, replace(HINTS, capacity=1.0))]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("mds_partitioner.lunule.") for name in names)


@pytest.mark.parametrize(
    ("mask", "ranks"),
    [
        *(("-1", None), ("all", None), ("", None), ("0xf", None), ("0x1f", None)),
        *(("0x3", (0, 1)), ("0x8", (3,)), ("0x12", (1,))),
        *(("0x0", ()), ("0", ()), ("0x10", ())),
    ],
)
def test_the_mask_is_that_of_the_file_system(mask: str, ranks: tuple[int, ...] | None) -> None:
    fs = replace(FakeCluster(ranks=4).state, bal_rank_mask=mask)
    assert mask_of(fs) == ranks
    assert ("set cephfs bal_rank_mask all" in (why_nobody(fs) or "")) is (ranks == ())


@pytest.mark.parametrize(
    ("mask", "ranks"),
    [
        *(("-1", None), ("all", None), ("0xf", (0, 1, 2, 3)), ("0x1f", (0, 1, 2, 3, 4)), ("0x12", (1, 4))),
        *(("0x0", ()), ("0x10", (4,))),
    ],
)
def test_all_ranks_of_a_mask_are_told_also_such_as_are_not_there_yet(
    mask: str, ranks: tuple[int, ...] | None
) -> None:
    fs = replace(FakeCluster(ranks=4).state, bal_rank_mask=mask)
    assert make_hints(fs, SETTINGS, None, []).mask == ranks


def test_settings_become_hints() -> None:
    fs = FakeCluster().state
    assert make_hints(fs, SETTINGS, 123.456, [2]) == Hints(
        123.5, SETTINGS.smoothness, SETTINGS.imbalance_threshold, SETTINGS.role_threshold, 100.0, None, (2,)
    )
    assert make_hints(fs, replace(SETTINGS, epoch_capacity=0.0), 1.0, []).limit is None


def test_only_growth_that_matters_is_told() -> None:
    told = growth([100.0, 100.0, 100.0], [105.0, 130.0, 60.0], BAND, 1.0)
    assert told == {1: Growth(100.0, 30.0), 2: Growth(100.0, -40.0)}
    assert growth([], [], BAND, 1.0) == {}


def test_growth_is_told_for_a_beat_and_not_for_an_epoch_that_has_many() -> None:
    assert growth([200.0, 100.0], [200.0, 400.0], BAND, 6.0) == {1: Growth(100.0, 50.0)}
    assert growth([200.0, 100.0], [200.0, 400.0], BAND, 0.5) == {1: Growth(100.0, 300.0)}


@pytest.mark.parametrize(
    ("new", "worth"),
    [
        (HINTS, False),
        (replace(HINTS, capacity=1090.0), False),
        (replace(HINTS, capacity=1110.0), True),
        (replace(HINTS, capacity=None), True),
        (replace(HINTS, mask=(0, 1)), True),
        (replace(HINTS, resting=(1,)), True),
        (replace(HINTS, limit=5.0), True),
        (replace(HINTS, threshold=0.1), True),
        (replace(HINTS, selection="heat"), True),
        (replace(HINTS, interval=20), True),
        (replace(HINTS, tick=1.0), True),
        (replace(HINTS, growth={0: Growth(100.0, 50.0)}), True),
        (replace(HINTS, expires=99), False),
    ],
)
def test_a_push_needs_more_than_a_dead_band(new: Hints, worth: bool) -> None:
    assert differ(HINTS, new, BAND) == worth


@pytest.mark.parametrize(("by", "worth"), [(55.0, False), (65.0, True)])
def test_a_forecast_is_told_again_when_it_changed(by: float, worth: bool) -> None:
    old = replace(HINTS, growth={0: Growth(100.0, 50.0)})
    assert differ(old, replace(HINTS, growth={0: Growth(100.0, by)}), BAND) == worth


@pytest.mark.parametrize(("seen", "worth"), [(150.0, False), (151.0, True), (49.0, True)])
def test_a_forecast_is_told_again_when_the_load_has_left_it(seen: float, worth: bool) -> None:
    old = replace(HINTS, growth={0: Growth(100.0, 50.0)})
    new = replace(HINTS, growth={0: Growth(seen, 50.0)})
    assert differ(old, new, BAND) == worth
    assert not push_due(old, new, SETTINGS, 59.0)  # hint_interval is 60 s
    assert push_due(old, new, SETTINGS, 60.0) == worth


COLD = replace(HINTS, capacity=None)


@pytest.mark.parametrize(
    ("old", "new", "since", "due"),
    [
        (COLD, HINTS, 0.0, True),
        (COLD, replace(COLD, capacity=400.0), 0.0, True),
        (HINTS, replace(HINTS, capacity=400.0), 59.0, False),
        (HINTS, replace(HINTS, capacity=400.0), 60.0, True),
        (HINTS, replace(HINTS, capacity=1001.0), 1e9, False),
        (HINTS, replace(HINTS, capacity=None), 59.0, False),
        (HINTS, replace(HINTS, mask=(0, 1)), 0.0, True),
        (replace(HINTS, mask=(0, 1)), HINTS, 0.0, True),
    ],
)
def test_pushes_keep_a_distance_but_for_what_cannot_wait(
    old: Hints, new: Hints, since: float, due: bool
) -> None:
    assert push_due(old, new, SETTINGS, since) == due
