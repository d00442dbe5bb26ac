# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator reads in `balance status`."""

import time
from dataclasses import replace

import pytest
from fake_cluster import FakeCluster
from verdicts import verdict

from mds_partitioner.model import FsState, RankSample
from mds_partitioner.policy.beats import Fallback
from mds_partitioner.policy.decisions import Decision, Watch
from mds_partitioner.policy.hints import Growth, Hints
from mds_partitioner.policy.switch import ON, SET, Switch
from mds_partitioner.report import balance

NAME = "mds_partitioner.lunule.1"
LINE = "lunule: IF 0.900, load 400 req/s, mean 100: exporter, req/s: 100 to 1 (x 7.20 in popularity)"


def sample(rank: int, requests: float, exported: int, imported: int) -> RankSample:
    return RankSample(
        rank,
        f"m{rank}",
        requests,
        0.0,
        0,
        0,
        0,
        0.0,
        0.0,
        1,
        exported_total=exported,
        imported_total=imported,
    )


HINTS = Hints(1000.0, 0.2, 0.075, 0.01)


def switch(hints: Hints = HINTS) -> Switch:
    return Switch("cephfs", 1, ON, "lunule", "", "mine.lua", False, 1.0, hints, NAME, (NAME,))


def on() -> FsState:
    return replace(FakeCluster(ranks=2).state, balancer=NAME, balance_automate=True)


def watched() -> Watch:
    watch = Watch()
    watch.history = watch.history.plus((sample(0, 400.0, 150, 0), sample(1, 0.0, 0, 130)), 1.0)
    watch.counted_from = {(0, "m0"): (50, 0), (1, "m1"): (0, 30)}
    watch.verdict = verdict(0.9, importers=(1,))
    watch.decisions = {0: (Decision(0, time.time() - 4, (0.0, 720.0), LINE),)}
    return watch


def test_a_row_a_rank_says_what_it_decided_and_what_moved_since() -> None:
    text = balance.text(on(), switch(), watched())
    row = next(line for line in text.splitlines() if line.lstrip().startswith("0 "))
    assert row.split()[:5] == ["0", "400", "exporter", "100", "0"]
    assert row.endswith(LINE)
    assert "policy lunule" in text
    assert "imbalance factor 0.900 (" in text and "capacity of a rank: 640 req/s (learned" in text


@pytest.mark.parametrize(("interval", "told"), [(0, True), (1, True), (2, False), (10, False)])
def test_where_beats_are_off_it_says_that_nothing_is_balanced(interval: int, told: bool) -> None:
    """Or too short for a policy to be read."""
    text = balance.text(on(), switch(replace(HINTS, interval=interval)), watched())
    assert (f"without effect: mds_bal_interval is {interval}" in text) is told


def test_a_rank_that_is_silent_is_not_shown_as_idle() -> None:
    watch = watched()
    silent = replace(sample(1, 0.0, 0, 130), rated=False)
    watch.history = replace(watch.history, epochs=((watch.history.latest[0], silent),))
    row = next(line for line in balance.text(on(), switch(), watch).splitlines() if line.startswith("   1 "))
    assert row.split()[:2] == ["1", "-"]
    assert [rank["requests"] for rank in balance.value(on(), switch(), watch)["ranks"]] == [400.0, None]


@pytest.mark.parametrize(("age", "told"), [(-3590, "0 s ago"), (30.2, "30 s ago"), (7300, "2 h ago")])
def test_how_long_ago_it_was_is_never_below_0(age: float, told: str) -> None:
    """The clock may have been put back."""
    watch = watched()
    watch.judged_at = time.time() - age
    watch.decisions = {0: (replace(watch.decisions[0][0], time=time.time() - age),)}
    lines = balance.text(on(), switch(), watch).splitlines()
    assert f"measured {told}: " in "".join(lines)
    assert f"  {told}  lunule: IF 0.900" in next(line for line in lines if line.startswith("   0 "))


@pytest.mark.parametrize("within", [False, True])
def test_a_rank_outside_the_mask_that_has_too_much_is_named(within: bool) -> None:
    watch = watched()
    watch.verdict = verdict(0.9, ranks=(0, 1), loads=(612.0, 31.0), triggered_within=within)
    fs = replace(on(), bal_rank_mask="0x2")
    told = "rank 0 has more than the mean, and is outside bal_rank_mask" in balance.text(fs, switch(), watch)
    assert told == (not within)
    assert "outside" not in balance.text(on(), switch(), watch)


def test_plain_data_has_the_same() -> None:
    value = balance.value(on(), switch(), watched())
    assert value["in_force"]
    assert value["replaced"] == {"balancer": "mine.lua", "balance_automate": False}
    assert [(r["exported_inodes"], r["imported_inodes"]) for r in value["ranks"]] == [(100, 0), (0, 100)]
    assert value["ranks"][0]["decisions"][0]["targets"] == (0.0, 720.0)


def counting_forwards(forwards: float) -> Watch:
    """The policy finds balanced what the module does not."""
    watch = watched()
    busy = replace(sample(0, 400.0, 0, 0), forwards=20.0)
    watch.history = watch.history.plus((busy, replace(sample(1, 0.0, 0, 0), forwards=forwards)), 2.0)
    watch.verdict = verdict(0.9, importers=(1,), triggered_within=True)
    line = "lunule: IF 0.020, load 410 req/s, mean 400: balanced"
    watch.decisions = {rank: (Decision(rank, 7.0, (0.0, 0.0), line),) for rank in (0, 1)}
    return watch


FOUND_BALANCED = "count 400 req/s of forwards as load, which this factor leaves out, and so find"


def test_an_imbalance_that_forwards_hide_from_the_policy_is_told() -> None:
    told = switch(replace(HINTS, capacity=640.0))
    watch = counting_forwards(380.0)
    text = balance.text(on(), told, watch)
    assert f"the MDSs {FOUND_BALANCED} the ranks balanced: 'balance on cephfs --to-auth' avoids" in text
    assert FOUND_BALANCED not in balance.text(on(), replace(told, to_auth=SET), watch)
    assert FOUND_BALANCED not in balance.text(on(), replace(told, policy="custom"), watch)
    watch.decisions = {0: (Decision(0, 7.0, (0.0, 720.0), LINE),)}
    assert FOUND_BALANCED not in balance.text(on(), told, watch)


@pytest.mark.parametrize(("forwards", "told"), [(60.0, False), (180.0, True)])
def test_where_the_option_costs_more_than_it_brings_that_is_told(forwards: float, told: bool) -> None:
    """As of a scan: clients ask a rank that has to pass it on."""
    watch, costs = counting_forwards(forwards), "if that lasts, the option costs more than it brings"
    with_it = replace(switch(), to_auth=SET)
    assert (f"ranks serve 400 req/s, and pass on 200: {costs}" in balance.text(on(), with_it, watch)) is told
    assert costs not in balance.text(on(), switch(), watch)


def test_a_verdict_within_the_threshold_says_nothing_of_forwards() -> None:
    watch = counting_forwards(380.0)
    watch.verdict = verdict(0.02, importers=(1,))
    assert FOUND_BALANCED not in balance.text(on(), switch(replace(HINTS, capacity=640.0)), watch)


def test_hints_are_told_in_words() -> None:
    hints = replace(HINTS, mask=(0, 2), resting=(2,), growth={1: Growth(10.0, 5.0)})
    text = balance.text(on(), switch(hints), Watch())
    assert "hints: ranks 0,2, C 1000 req/s, resting 2, rank 1 grows by 5 req/s" in text


def test_an_mds_that_fell_back_and_a_problem_are_told() -> None:
    watch = watched()
    watch.fallbacks, watch.problem = [Fallback("mds.a", "boom: 1")], "the engine failed"
    text = balance.text(on(), switch(), watch)
    assert "FELL BACK to the built-in balancer: mds.a: boom: 1" in text
    assert balance.value(on(), switch(), watch)["fallbacks"] == ["mds.a: boom: 1"]
    assert "problem: the engine failed" in text


def test_a_balancer_that_an_operator_set_since_is_told() -> None:
    fs = replace(on(), balancer="mine.lua")
    assert "not in force: balancer is 'mine.lua'" in balance.text(fs, switch(), watched())
    assert not balance.value(fs, switch(), watched())["in_force"]


def test_a_mask_that_names_no_rank_is_told() -> None:
    fs = replace(on(), bal_rank_mask="0x0")
    assert "without effect: bal_rank_mask 0x0 leaves" in balance.text(fs, switch(), watched())
    assert not balance.value(fs, switch(), watched())["in_force"]


def test_without_a_policy_of_ours_it_says_who_balances() -> None:
    state = FakeCluster().state
    assert "balance_automate is off" in balance.text(state, None, Watch())
    assert "built-in balancer is on" in balance.text(replace(state, balance_automate=True), None, Watch())
    theirs = replace(state, balance_automate=True, balancer="mine.lua")
    assert "the balancer 'mine.lua' is on" in balance.text(theirs, None, Watch())
    assert balance.value(state, None, Watch())["state"] == "off"


def test_a_record_that_cannot_be_read_is_told_with_what_is_in_force() -> None:
    value = balance.value(on(), None, Watch(), "it is of format 9")
    assert value["state"] == "unreadable" and "it is of format 9" in value["problem"]
    text = balance.text(on(), None, Watch(), "it is of format 9")
    assert "is in force as it is: 'balance off' takes it out and forgets it" in text
    off = replace(on(), balance_automate=False)
    assert "no policy of ours is in force: 'balance off'" in balance.text(off, None, Watch(), "damaged")
