# SPDX-License-Identifier: LGPL-2.1-or-later
"""mantle/lunule.lua, in real Lua 5.3, against the engine's Algorithm 1."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mds_partitioner.engine.imbalance import halfway_to_hot, hot_ranks, imbalance
from mds_partitioner.engine.roles import demands, roles
from mds_partitioner.options import MODULE_OPTIONS
from mds_partitioner.policy.sandbox.decide import Hooked
from tests.unit.loads import uneven
from tests.unit.mantle.support import LUA, Metrics, decide, lua, matrix, metrics, run, source

LOADS = st.lists(st.floats(0, 1e5), min_size=1, max_size=12)
ODD = st.one_of(
    st.none(), st.just(math.nan), st.just(math.inf), st.just(-1.0), st.just("much"), st.just(True)
)
CAPACITY = 1000.0


def hints(**more: Any) -> dict[str, Any]:
    return {"capacity": CAPACITY, "threshold": 0.0, "role_threshold": 0.01, **more}


def python_matrix(
    loads: list[float],
    mask: list[int] | None = None,
    limit: float = math.inf,
    capacity: float = CAPACITY,
    threshold: float = 0.0,
) -> np.ndarray:
    """What the engine's judge would have moved: (ranks, ranks), req/s."""
    current = np.array(loads)
    allowed = np.array([mask is None or rank in mask for rank in range(len(loads))])
    harmful = imbalance(current[allowed], capacity, 0.2).factor > threshold
    hot = np.zeros(len(loads), dtype=bool)
    hot[allowed] = hot_ranks(current[allowed], capacity, 0.2, threshold)
    if not harmful and not hot.any():
        return np.zeros((len(loads), len(loads)))
    return roles(
        current, current, 0.01, limit, allowed, harmful=harmful, hot=hot, above=halfway_to_hot(threshold)
    ).matrix


@given(st.one_of(LOADS, uneven(12)), st.one_of(st.just(math.inf), st.floats(1, 1e5)))
def test_all_ranks_together_send_the_engines_matrix(loads: list[float], limit: float) -> None:
    expected = python_matrix(loads, limit=limit)
    found = np.array(matrix(metrics(loads), hints(limit=limit)))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + max(loads)))


@pytest.mark.parametrize(
    "loads",
    [[100 * (1 + 0.09 * 63)] + [91] * 63, [19.0] + [109.0] * 9, [109.0, 91.0], [180.0, 95, 92, 60, 73]],
)
def test_nobody_is_left_hot_because_the_others_are_close_to_the_mean(loads: list[float]) -> None:
    found = np.array(matrix(metrics(loads), hints()))
    assert found.sum() > 0
    assert found == pytest.approx(python_matrix(loads), rel=1e-9, abs=1e-9 * (1 + max(loads)))


MANY = st.lists(st.one_of(st.floats(90, 110), st.floats(90, 400)), min_size=6, max_size=16)


@given(MANY, st.floats(150, 400))
def test_hot_ranks_are_the_engines_hot_ranks(loads: list[float], capacity: float) -> None:
    mean = fmean(loads)
    assume(all(abs((load / mean - 1.0) ** 2 - 0.01) > 1e-9 for load in loads))  # just at L either is right
    expected = python_matrix(loads, capacity=capacity, threshold=0.075)
    found = np.array(matrix(metrics(loads), hints(capacity=capacity, threshold=0.075)))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_of_many_ranks_only_those_give_that_are_hot_by_themselves() -> None:
    seen = metrics([300.0, 120.0, *[100.0] * 34])
    targets, line = decide("lunule", seen, 0, hints={"capacity": 300})
    mean = sum(s["req_rate"] for s in seen) / 36
    assert sum(targets) == pytest.approx((300 - mean) * 7)
    assert max(targets) == pytest.approx((1.15 * mean - 100) * 7)
    assert line.startswith("lunule: IF 0.052, load 300 req/s, mean 106, 1 hot by themselves: exporter")
    assert decide("lunule", seen, 1, hints={"capacity": 300})[1].endswith(": neither")


def test_of_many_ranks_none_gives_that_is_hot_and_not_full() -> None:
    seen = metrics([300.0, *[100.0] * 35])
    assert decide("lunule", seen, 0, hints={"capacity": 1200})[0] == [0.0] * 36


def test_a_rank_that_uses_its_core_for_costly_requests_is_full_whatever_the_capacity() -> None:
    seen = metrics([300.0, *[100.0] * 35])
    for cpu, acts in ((90.0, False), (100.0, True)):
        seen[0]["cpu_load_avg"] = cpu
        assert (sum(decide("lunule", seen, 0, hints={"capacity": 1200})[0]) > 0) is acts


def test_without_a_capacity_a_hot_rank_says_itself_how_full_it_is() -> None:
    seen = metrics([300.0, *[100.0] * 35])
    for mine in seen:
        mine["cpu_load_avg"] = mine["req_rate"] / 60
    assert sum(decide("lunule", seen)[0]) == 0
    for queue, acts in ((7.0, False), (8.0, True)):  # the others' beats may be in it
        seen[0]["queue_len"] = queue
        assert (sum(decide("lunule", seen)[0]) > 0) is acts


@given(LOADS, st.sets(st.integers(0, 11), min_size=1))
def test_a_mask_is_the_engines_mask(loads: list[float], mask: set[int]) -> None:
    expected = python_matrix(loads, mask=sorted(mask))
    found = np.array(matrix(metrics(loads), hints(mask=sorted(mask))))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + max(loads)))
    for rank in range(len(loads)):
        if rank not in mask:
            assert not found[rank].any()
            assert not found[:, rank].any()


@given(LOADS)
def test_nobody_sends_or_takes_more_than_its_demand_and_nobody_does_both(loads: list[float]) -> None:
    current = np.array(loads)
    hot = hot_ranks(current, CAPACITY, 0.2, 0.0)
    exports, imports = demands(current, current, 0.01, math.inf, harmful=True, hot=hot)
    found = np.array(matrix(metrics(loads), hints()))
    slack = 1e-9 * (1 + sum(loads))
    assert (found.sum(axis=1) <= exports + slack).all()
    assert (found.sum(axis=0) <= imports + slack).all()
    assert not ((found.sum(axis=1) > 0) & (found.sum(axis=0) > 0)).any()


@given(LOADS, st.integers(0, 11), st.sampled_from(["req_rate", "auth.meta_load"]), ODD)
def test_a_bad_metric_moves_nothing_and_the_answer_is_well_formed(
    loads: list[float], rank: int, name: str, value: Any
) -> None:
    seen = metrics(loads)
    victim = rank % len(loads)
    if value is None:
        del seen[victim][name]
    else:
        seen[victim][name] = value
    targets, line = decide("lunule", seen, whoami=victim, hints=hints())
    assert targets == [0.0] * len(loads)
    if name == "req_rate":
        assert f"no migration: req_rate of rank {victim} is" in line


@given(LOADS, st.dictionaries(st.sampled_from(["capacity", "mask", "growth", "limit", "resting"]), ODD))
def test_bad_hints_count_as_none(loads: list[float], bad: dict[str, Any]) -> None:
    in_lua = {name: value for name, value in bad.items() if value is not None and value is not True}
    assert decide("lunule", metrics(loads), hints=in_lua) == decide("lunule", metrics(loads))


def test_nothing_moves_while_the_imbalance_is_not_harmful() -> None:
    targets, line = decide("lunule", metrics([50, 0, 0, 0]), hints={"capacity": 1000})
    assert targets == [0, 0, 0, 0]
    assert "balanced" in line


def test_without_hints_the_defaults_of_the_modules_options_hold() -> None:
    own = dict(re.findall(r"^  (\w+) = ([\d.]+),", source("lunule"), re.M))
    options = {option["name"]: option["default"] for option in MODULE_OPTIONS}
    assert float(own["smoothness"]) == options["smoothness"]
    assert float(own["threshold"]) == options["imbalance_threshold"]
    assert float(own["role_threshold"]) == options["role_threshold"]


def test_nothing_moves_at_the_threshold_itself() -> None:
    loads = [700.0, 300.0, 500.0, 450.0]
    factor = imbalance(np.array(loads), CAPACITY, 0.2).factor
    at = {"capacity": CAPACITY, "threshold": factor}
    assert decide("lunule", metrics(loads), hints=at)[0] == [0, 0, 0, 0]
    below = {"capacity": CAPACITY, "threshold": factor * 0.999}
    assert sum(decide("lunule", metrics(loads), hints=below)[0]) > 0


def test_the_papers_case_that_the_built_in_balancer_takes_for_balanced_is_acted_on() -> None:
    loads = [13530.0, 14567.0, 15625.0, 11610.0, 2692.0]
    found = matrix(metrics(loads), {"capacity": 16000})
    mean = sum(loads) / 5
    assert [row[4] for row in found] == pytest.approx([x - mean for x in loads[:3]] + [0, 0])


def test_amounts_are_in_the_unit_of_find_exports() -> None:
    targets, line = decide("lunule", metrics([400, 0, 0, 0], popularity=9.0), hints={"capacity": 400})
    assert targets == [0, 900, 900, 900]
    assert line == (
        "lunule: IF 0.993, load 400 req/s, mean 100: exporter, req/s: 100 to 1, 100 to 2, 100 to 3 "
        "(x 9.00 in popularity)"
    )


def test_only_this_ranks_row_is_returned() -> None:
    seen = metrics([400, 400, 0, 0])
    assert decide("lunule", seen, 0, {"capacity": 400})[0] == [0, 0, 700, 700]
    assert decide("lunule", seen, 1, {"capacity": 400})[0] == [0, 0, 700, 700]
    assert decide("lunule", seen, 2, {"capacity": 400})[0] == [0, 0, 0, 0]


def test_a_rank_that_is_growing_imports_only_what_its_growth_leaves() -> None:
    growing = {"capacity": 400, "growth": {1: {"seen": 90, "by": 40}}}
    targets, _ = decide("lunule", metrics([310, 90]), hints=growing)
    assert targets[1] == pytest.approx((110 - 40) * 7)


def test_a_growth_that_came_to_its_end_counts_as_none() -> None:
    over = {"capacity": 400, "growth": {1: {"seen": 20, "by": 40}}}
    assert decide("lunule", metrics([310, 90]), hints=over)[0][1] == pytest.approx(110 * 7)


def test_where_the_mds_tells_the_time_an_expired_growth_counts_as_none() -> None:
    growing = {"capacity": 400, "growth": {1: {"seen": 90, "by": 40}}, "expires": 1000}
    for now, amount in ((1000, 70), (1001, 110)):
        text = f"now = {now}\nhints = {lua(growing)}\n" + source("lunule")
        assert run(text, metrics([310, 90])).targets[1] == pytest.approx(amount * 7)


def test_a_resting_rank_neither_sends_nor_takes() -> None:
    at_rest = {"capacity": 400, "resting": [0, 3]}
    assert matrix(metrics([400, 300, 0, 0]), at_rest) == [
        [0, 0, 0, 0],
        [0, 0, pytest.approx(125), 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]


def test_no_rank_sends_or_takes_more_than_the_limit() -> None:
    found = matrix(metrics([400, 0, 0, 0]), {"capacity": 400, "limit": 60})
    assert found[0] == [0, pytest.approx(60), 0, 0]


def test_what_came_within_the_last_beat_is_not_ordered_again() -> None:
    seen = metrics([416, 24, 0, 0])
    seen[1]["auth.meta_load"] = 416 * 7 / 3  # two of eight directories came with their popularity
    seen[0]["auth.meta_load"] = 416 * 7
    targets, _ = decide("lunule", seen, hints={"capacity": 420})
    assert targets[1] == 0
    assert targets[2] == pytest.approx(targets[3])
    assert targets[2] == pytest.approx(416 * 7 / 3)


def test_a_rank_that_works_as_hard_as_the_others_is_slow_and_takes_nothing() -> None:
    seen = metrics([424, 741, 386, 513])  # while directories were split, on Tentacle
    assert any(decide("lunule", seen, rank, {"capacity": 400})[0] != [0.0] * 4 for rank in range(4))
    for mine in seen:
        mine["cpu_load_avg"] = 14.0
    assert all(decide("lunule", seen, rank, {"capacity": 400})[0] == [0.0] * 4 for rank in range(4))


def test_what_an_idle_mds_burns_does_not_make_it_busy() -> None:
    seen = metrics([240, 0, 0, 0])
    for mine in seen:
        mine["cpu_load_avg"] = 1.0 + mine["req_rate"] / 60
    assert sum(decide("lunule", seen, 0, {"capacity": 240})[0]) == pytest.approx(180 * 7)


def test_without_any_cpu_time_the_other_signals_decide() -> None:
    seen = metrics([400, 0, 0, 0])
    for mine in seen:
        mine["cpu_load_avg"] = 0.0
    assert sum(decide("lunule", seen, 0, {"capacity": 400})[0]) > 0


def beats(*cases: tuple[int, Metrics]) -> list[tuple[list[float], str]]:
    """Rank 0's answers on an MDS with the hook, which remembers: (number of the beat, metrics) each."""
    seen = [(0, seen, Hooked(beat, 0.0, tuple(range(len(seen))))) for beat, seen in cases]
    answers = LUA.answers(source("lunule", {"capacity": 1300}), seen)
    return [(list(answer.targets), answer.log[-1][1]) for answer in answers]


SATURATED = metrics([1300, 0, 0, 0])
MOVING = metrics([407, 94, 9, 3])  # six of ten equal directories are on the way, as was seen on Tentacle


def test_load_that_went_missing_after_an_order_is_that_of_the_importers() -> None:
    (ordered, _), (more, line) = beats((7, SATURATED), (8, MOVING))
    assert sum(ordered) == pytest.approx(975 * 7)
    assert more == [0, 0, 0, 0]
    assert line == "lunule: IF 0.014, load 407 req/s, mean 325, on the way 787: balanced"


def test_an_order_is_remembered_for_one_beat() -> None:
    *_, (late, line) = beats((7, SATURATED), (9, MOVING))
    assert late == decide("lunule", MOVING, hints={"capacity": 1300})[0]
    assert sum(late) > 0
    assert "on the way" not in line


def test_load_that_went_missing_without_an_order_is_nobodys() -> None:
    balanced = metrics([1300, 1300, 1300, 1300])
    *_, (targets, line) = beats((7, balanced), (8, MOVING))
    assert sum(targets) > 0
    assert "on the way" not in line


def test_no_more_is_expected_than_was_ordered() -> None:
    busy = metrics([1300, 700, 700, 700])  # 450 are ordered; then most clients end
    *_, (_, line) = beats((7, busy), (8, metrics([1100, 0, 0, 0])))
    assert "on the way 450" in line


def test_what_a_rank_that_takes_no_part_any_more_had_is_not_on_the_way() -> None:
    """It was just replaced, or masked out."""
    ordered, replaced = metrics([900, 100, 400, 300, 300]), metrics([900, 100, 0, 300, 300])
    replaced[2] |= {"cpu_load_avg": 0.0, "auth.meta_load": 900.0}
    (first, _), (_, line) = beats((7, ordered), (8, replaced))
    assert sum(first) > 0 and "just started: 2" in line and "on the way" not in line
    cases = [(0, ordered, Hooked(7, 0.0, tuple(range(5)))), (0, ordered, Hooked(8, 0.0, (0, 1, 3, 4)))]
    _, masked = LUA.answers(source("lunule", {"capacity": 1300}), cases)
    assert "on the way" not in masked.log[-1][1] and masked.targets[2] == 0


def test_a_beat_that_comes_long_after_is_no_next_one() -> None:
    """None is counted while the file system is degraded."""
    cases = [(0, seen, Hooked(beat, at, tuple(range(4)))) for beat, at, seen in AFTER_AN_HOUR]
    *_, late = LUA.answers(source("lunule", {"capacity": 1300}), cases)
    assert "on the way" not in late.log[-1][1]


AFTER_AN_HOUR = ((7, 0.0, SATURATED), (8, 3600.0, MOVING))


@pytest.mark.parametrize("policy", ["lunule", "greedyspill"])
def test_an_mds_that_tells_the_mask_knows_better_than_the_hints(policy: str) -> None:
    """They come an epoch later, or never."""
    seen = metrics([1300, 0, 0, 0])
    cases = [(0, seen, Hooked(7, 0.0, mask)) for mask in (tuple(range(4)), (0, 2))]
    told = source(policy, {"capacity": 1300, "mask": [0, 1, 3]})
    everywhere, masked = LUA.answers(told, cases)
    assert sum(everywhere.targets) > 0 and sum(masked.targets) > 0
    assert [to for to, amount in enumerate(masked.targets) if amount] == [2]


@given(*[st.lists(st.floats(0, 1e4), min_size=4, max_size=4)] * 3, st.integers(0, 3))
def test_nobody_is_to_hand_over_more_than_it_has_nor_what_is_still_on_its_way_to_it(
    before: list[float], loads: list[float], popularity: list[float], rank: int
) -> None:
    now = metrics(loads)
    for seen, heat in zip(now, popularity):
        seen["auth.meta_load"] = heat
    cases = [
        (rank, seen, Hooked(beat, 0.0, tuple(range(4)))) for beat, seen in ((1, metrics(before)), (2, now))
    ]
    _, answer = LUA.answers(source("lunule", {"capacity": 1000}), cases)
    assert sum(answer.targets) <= popularity[rank] * (1 + 1e-9)


@pytest.mark.parametrize("hooked", [False, True])
def test_one_client_that_lists_large_directories_keeps_no_full_rank_from_being_relieved(hooked: bool) -> None:
    """An MDS counts each entry: rank 1 has nearly all popularity of the cluster."""
    quiet, listing = metrics([1000, 50, 0, 0]), metrics([1000, 50, 0, 0])
    listing[1]["auth.meta_load"] = 360_000.0
    hook = Hooked(7, 0.0, tuple(range(4))) if hooked else None
    told = source("lunule", {"capacity": CAPACITY})
    before, now = (LUA.answers(told, [(0, seen, hook)])[0] for seen in (quiet, listing))
    mine = quiet[0]["auth.meta_load"]
    assert sum(before.targets) / 4.0 < sum(now.targets) < mine
    assert sum(now.targets[2:]) > 0.0 and now.targets[0] == 0.0


@pytest.mark.parametrize("each", [7.0, 40.0, 150.0, 5000.0])
def test_where_all_clients_list_directories_full_ranks_are_relieved_as_ever(each: float) -> None:
    """Popularity is as large for all, then, and tells what it does elsewhere."""
    loads = [1000.0, 200.0, 200.0, 200.0, 200.0]
    seen = metrics(loads)
    for mine, load in zip(seen, loads):
        mine["auth.meta_load"] = each * load
    targets, _ = decide("lunule", seen, hints={"capacity": CAPACITY})
    assert sum(targets) == pytest.approx(640.0 * each, rel=0.01)


def test_a_rank_that_is_receiving_hands_nothing_over() -> None:
    arriving = metrics([100, 250, 0, 0])  # 950 of the 975 that were ordered are nowhere
    cases = [(1, seen, Hooked(b, 0.0, tuple(range(4)))) for b, seen in ((7, SATURATED), (8, arriving))]
    _, answer = LUA.answers(source("lunule", {"capacity": 400}), cases)
    assert answer.targets == (0, 0, 0, 0)
    assert "neither" in answer.log[0][1]


SAID = "/proc/uptime:1: unexpected symbol near '{}'"


def clocked(uptime: str, loads: Sequence[float] = (400, 0), **more: Any) -> tuple[list[float], str]:
    """What rank 0 orders on a stock MDS, given the error for /proc/uptime, and its line."""
    text = f"function loadfile() return nil, {lua(uptime)} end\n" + source(
        "lunule", {"capacity": 400, **more}
    )
    answer = run(text, metrics(loads))
    return list(answer.targets), answer.log[0][1]


@pytest.mark.parametrize(("ranks", "turns"), [(5, [[4], [3], [2], [1]]), (6, [[1, 2, 3, 4, 5], [], [], []])])
def test_a_stock_mds_orders_for_each_importer_in_one_beat_of_four(ranks: int, turns: list[list[int]]) -> None:
    loads = [400.0, *[0.0] * (ranks - 1)]
    beats = [clocked(SAID.format(at), loads)[0] for at in ("80.00", "90.51", "100.2", "119")]
    assert [[to for to, amount in enumerate(orders) if amount] for orders in beats] == turns
    assert len({round(amount) for orders in beats for amount in orders if amount}) == 1, "all get the same"
    assert clocked(SAID.format("120.01"), loads)[0] == beats[0]
    assert "exporter, waits for its turn" in clocked(SAID.format("90.51"))[1]


def test_whoever_has_its_turn_gets_no_more_than_its_part_of_what_can_be_given() -> None:
    """What a full rank serves is not all that it is asked for."""
    orders, line = clocked(SAID.format("120.01"), (1000, 1000, 0, 0, 0))
    assert "600 to" not in line and orders[4] == pytest.approx(max(orders))
    assert "exporter, req/s: 200 to 4" in line


@pytest.mark.parametrize("interval", [5, 10, 20, 40, 60])
@pytest.mark.parametrize("phase", [0.1, 0.6, 0.9])
def test_whatever_the_interval_and_the_phase_every_rank_has_its_turn(interval: int, phase: float) -> None:
    beats = [SAID.format(f"{(3 + phase + beat) * interval:.2f}") for beat in range(8)]
    assert sum(clocked(beat, interval=interval)[0][1] > 0 for beat in beats) == 2


def test_without_a_clock_it_orders_a_fifth_in_every_beat() -> None:
    assert clocked("cannot open /proc/uptime")[0][1] == pytest.approx(280)


@pytest.mark.parametrize(
    ("cpu", "queue", "acts"),
    [(2.0, 0.0, False), (20.0, 0.0, False), (60.0, 0.0, True), (15.0, 3.0, False), (15.0, 4.0, True)],
)
def test_without_a_capacity_the_mdss_say_themselves_how_busy_they_are(
    cpu: float, queue: float, acts: bool
) -> None:
    """cpu: in ticks a second, 100 for a core; 15 with a queue is an MDS at its quota of 15 %."""
    seen = metrics([300, 0, 0, 0])
    for mine in seen:
        mine["cpu_load_avg"] = 1.0
    seen[0] |= {"cpu_load_avg": cpu, "queue_len": queue}
    assert (sum(decide("lunule", seen)[0]) > 0) is acts


def worth(**subtree: float) -> float:
    """Of a subtree with these statistics, on an MDS with the hook."""
    text = (
        f"hook = 1\nlocal function policy()\n{source('lunule')}\nend\n"
        f"local targets, score = policy()\nBAL_LOG(2, tostring(score({lua(subtree)})))\nreturn targets\n"
    )
    return float(run(text, SATURATED).log[-1][1])


def subtree(
    visits: float, first_visits: float, unvisited: float, *, siblings: float = 0, alpha: float = 0
) -> float:
    """What one is worth; siblings: first visits credited for those of siblings."""
    beta = unvisited / max(1, visits)
    spatial = {"first_visits": first_visits, "unvisited": unvisited, "l_s": first_visits + siblings}
    return worth(alpha=alpha, l_t=visits, beta=beta, **spatial)


def test_a_subtree_is_worth_its_migration_index() -> None:
    assert subtree(visits=400, first_visits=100, unvisited=200) == 200 / 400 * 100, "a scan"
    assert subtree(visits=400, first_visits=0, unvisited=200, alpha=0.75) == 0.75 * 400, "hot files"


def test_no_more_first_visits_are_expected_than_there_are_inodes_without_one() -> None:
    unvisited_yet = subtree(visits=0, first_visits=0, unvisited=850, siblings=107)
    in_use = subtree(visits=300, first_visits=300, unvisited=550, siblings=107)
    assert (unvisited_yet, in_use) == (850, 550), "by their index alone, 90,950 and 746"


def test_files_that_are_being_made_count_until_their_making_ends() -> None:
    assert subtree(visits=1200, first_visits=1200, unvisited=1) == pytest.approx(1200)
    assert subtree(visits=1200, first_visits=0, unvisited=0) == 0


def first_beat(popularity: list[float]) -> Metrics:
    return [seen | {"req_rate": 0.0, "cpu_load_avg": 0.0} for seen in metrics(popularity, popularity=1.0)]


def test_the_first_beat_has_no_rates_and_popularity_stands_in() -> None:
    targets, line = decide("lunule", first_beat([6000, 0, 0]), hints={"capacity": 400})
    assert targets == pytest.approx([0, 2000, 2000])
    assert "load 416 req/s" in line


def test_in_the_first_beat_the_load_is_rather_underestimated() -> None:
    assert decide("lunule", first_beat([1300, 0, 0]), hints={"capacity": 400})[0] == [0, 0, 0]


def test_a_rank_that_was_just_replaced_neither_gives_nor_takes_nor_counts() -> None:
    seen = metrics([300, 300, 0, 0])
    seen[3] |= {"cpu_load_avg": 0.0, "auth.meta_load": 900.0}
    assert matrix(seen, {"capacity": 300}) == [
        [0, 0, pytest.approx(100), 0],
        [0, 0, pytest.approx(100), 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert "mean 200, just started: 3: exporter" in decide("lunule", seen, 0, {"capacity": 300})[1]
    assert decide("lunule", seen, 3, {"capacity": 300})[1].endswith("just started: 3: neither")
    seen[3] |= {"cpu_load_avg": 1.0, "auth.meta_load": 0.0}
    assert matrix(seen, {"capacity": 300})[1][3] == pytest.approx(150), "it has told of a beat"
    seen[3] |= {"cpu_load_avg": 0.0}
    assert matrix(seen, {"capacity": 300})[1][3] == pytest.approx(150), "it is idle: a beat may have no tick"


@example([0.0, 2e-309], [0.0, 1.0])
@given(LOADS, st.lists(st.floats(0, 1e6), min_size=12, max_size=12))
def test_whatever_the_popularity_no_demand_is_exceeded(loads: list[float], popularity: list[float]) -> None:
    seen = metrics(loads)
    for rank, mine in enumerate(seen):
        mine["auth.meta_load"] = popularity[rank]
    exports, _ = demands(np.array(loads), np.array(loads), 0.01, math.inf, harmful=True)
    assume(any(loads))
    for rank in range(len(loads)):
        targets, _ = decide("lunule", seen, whoami=rank, hints=hints())
        assert sum(targets) <= popularity[rank] * (1 + 1e-9)
        assert exports[rank] > 0 or not any(targets)


def test_one_rank_and_an_idle_cluster_have_nothing_to_do() -> None:
    assert decide("lunule", metrics([400]), hints=hints())[0] == [0]
    assert decide("lunule", metrics([0, 0, 0]), hints=hints())[0] == [0, 0, 0]
    assert decide("lunule", [], hints=hints())[0] == []


def test_256_ranks_decide() -> None:
    loads = [float(50 * (rank % 17)) for rank in range(256)]
    targets, _ = decide("lunule", metrics(loads), whoami=16, hints=hints())
    assert len(targets) == 256
    assert sum(targets) > 0
