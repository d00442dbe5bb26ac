# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each assertion holds where it should, and can fail."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sim.assertions import Finding, check
from sim.course import Recording
from sim.measures import crowded, factors, fullest, returns, thrashing
from sim.model.cluster import Unsafe
from sim.model.namespace import Move
from sim.scenario import Assertions, Balance, Cost, Failure, Kind, Scenario, Steady, Throughput, parse
from sim.verdict import jobs, judge
from tests.unit.sim.test_scenario import GOOD


def recording(loads: Sequence[Sequence[float]], each: int = 10, **changes: Any) -> Recording:
    """Loads by epoch and rank; each rank can do 1,000 req/s."""
    table = np.repeat(np.array(loads, dtype=np.float64), each, axis=0)
    usual = Recording(
        scenario="x",
        policy="nothing",
        seed=1,
        loads=table,
        capacity=np.full(table.shape, 1000.0),
        inside=table / 100.0,
        moves=(),
        unsafe=(),
        said=(),
        forwards=0.0,
        ended=np.zeros(1),
        paths={},
    )
    return replace(usual, **changes)


def move(time: float, source: int, target: int, directory: int = 5, inodes: float = 100.0) -> Move:
    return Move(time, directory, source, target, inodes, "why")


def only(must: Assertions, seen: Recording, oracle: Recording | None = None) -> Finding:
    """The finding beside that on safety."""
    safe, found = check(must, seen, oracle)
    assert safe.holds
    return found


EVEN, UNEVEN = [500.0, 500.0], [1000.0, 100.0]


def test_balance_looks_at_the_epochs_it_is_about() -> None:
    seen = recording([UNEVEN, UNEVEN, EVEN, EVEN])
    assert only(Assertions(balance=(Balance(since=20, imbalance=0.1),)), seen).holds
    broken = only(Assertions(balance=(Balance(since=10, imbalance=0.1),)), seen)
    assert (broken.holds, broken.at) == (False, 10.0)
    assert only(Assertions(balance=(Balance(since=0, until=20, imbalance=0.9),)), seen).holds
    assert only(Assertions(balance=(Balance(since=0, imbalance=0.1, part=0.5),)), seen).holds
    assert not only(Assertions(balance=(Balance(since=0, imbalance=0.1, part=0.6),)), seen).holds
    assert not only(Assertions(balance=(Balance(since=50, imbalance=0.1),)), seen).holds


def test_the_fullest_rank_is_compared_by_what_each_can_do() -> None:
    seen = recording([[600.0, 200.0]])
    assert not only(Assertions(balance=(Balance(since=0, fullest=1.4),)), seen).holds
    assert only(Assertions(balance=(Balance(since=0, fullest=1.6),)), seen).holds
    slower = replace(seen, capacity=np.tile([1500.0, 500.0], (10, 1)))
    assert fullest(slower) == pytest.approx([1.0])
    assert factors(slower) == pytest.approx([0.0])


def test_what_waits_is_compared_by_what_each_rank_can_do() -> None:
    seen = recording([[1000.0, 500.0]], inside=np.tile([16.0, 4.0], (10, 1)))
    assert not only(Assertions(balance=(Balance(since=0, crowded=1.5),)), seen).holds
    assert only(Assertions(balance=(Balance(since=0, crowded=1.7),)), seen).holds
    assert crowded(replace(seen, capacity=np.tile([1600.0, 400.0], (10, 1)))) == pytest.approx([1.0])


def test_ranks_that_are_away_are_not_uneven() -> None:
    seen = recording([[500.0, 0.0, 500.0]])
    assert factors(seen)[0] > 0.2
    assert factors(replace(seen, capacity=np.tile([1000.0, 0.0, 1000.0], (10, 1)))) == pytest.approx([0.0])


def test_steady_counts_moves_but_not_those_that_nobody_wanted() -> None:
    seen = recording([EVEN], moves=(move(3.0, 0, 1), replace(move(5.0, 1, 0), forced=True)))
    assert only(Assertions(steady=(Steady(since=4, moves=0),)), seen).holds
    assert only(Assertions(steady=(Steady(since=0, moves=1),)), seen).holds
    broken = only(Assertions(steady=(Steady(since=0, moves=0),)), seen)
    assert (broken.holds, broken.at) == (False, 3.0)


def test_steady_finds_what_goes_back_soon() -> None:
    back = (move(1.0, 0, 1), move(2.0, 0, 1, directory=6), move(50.0, 1, 0), move(900.0, 1, 0, directory=6))
    assert [m.time for m in returns(back, 120.0)] == [50.0]
    seen = recording([EVEN], moves=back)
    assert not only(Assertions(steady=(Steady(returns=0),)), seen).holds
    assert only(Assertions(steady=(Steady(returns=0, soon=30),)), seen).holds


def test_steady_finds_loads_that_go_up_and_down() -> None:
    ramp, swing = [[100.0 * i, 500.0] for i in range(8)], [UNEVEN, UNEVEN[::-1]] * 4
    assert thrashing(recording(ramp), 0.0, 100.0) == 0.0
    assert only(Assertions(steady=(Steady(thrash=0.1),)), recording(ramp)).holds
    assert not only(Assertions(steady=(Steady(thrash=1.0),)), recording(swing)).holds


def test_cost_and_throughput_are_compared_with_the_oracle() -> None:
    oracle = recording([EVEN] * 2, moves=(move(0.0, 0, 1),))
    seen = recording([EVEN, [100.0, 100.0]], moves=(move(0.0, 0, 1), move(1.0, 0, 1, directory=6)))
    assert only(Assertions(cost=Cost(times=2.0)), seen, oracle).holds
    assert only(Assertions(cost=Cost(times=1.5, beyond=60)), seen, oracle).holds
    assert not only(Assertions(cost=Cost(times=1.5)), seen, oracle).holds
    assert only(Assertions(throughput=Throughput(part=0.6)), seen, oracle).holds
    assert not only(Assertions(throughput=Throughput(part=0.6, since=10)), seen, oracle).holds


def test_safety_is_asserted_always() -> None:
    seen = recording([EVEN], unsafe=(Unsafe(7.0, "/a to rank 1 (why): it is down"),))
    (found,) = check(Assertions(), seen, None)
    assert (found.holds, found.at) == (False, 7.0)
    assert "it is down" in found.seen


def scenario(text: str) -> Scenario:
    return parse(GOOD + "[[must.balance]]\nsince = 0\nimbalance = 0.1\n" + text, "x")


@pytest.mark.parametrize(
    ("known", "policy_fails", "other_fails", "problem"),
    [
        (False, False, True, ""),
        (False, True, True, "'lunule' fails with seed 2"),
        (False, False, False, "'nothing' passes, and must fail"),
        (True, True, True, ""),
        (True, False, True, "'lunule' passes balance, and was declared to fail: because"),
    ],
)
def test_a_scenario_passes_when_everything_is_as_declared(
    known: bool, policy_fails: bool, other_fails: bool, problem: str
) -> None:
    given = scenario("")
    if known:
        given = replace(given, known_failure=Failure(("balance",), "because"))
    assert jobs(given) == [("lunule", 1), ("lunule", 2), ("lunule", 3), ("nothing", 1)]
    found = {("lunule", seed): recording([EVEN]) for seed in (1, 2, 3)}
    if policy_fails:
        found["lunule", 2] = recording([UNEVEN], seed=2)
    found["nothing", 1] = recording([UNEVEN if other_fails else EVEN])
    assert judge(given, found).problem.startswith(problem)
    assert bool(judge(given, found).problem) == bool(problem)


def declared(kinds: tuple[Kind, ...], seen: Recording) -> str:
    """What becomes of a scenario whose policy is declared to break these, and does that from seed 2."""
    given = replace(scenario("[[must.steady]]\nmoves = 0\n"), known_failure=Failure(kinds, "because"))
    found = {("lunule", seed): recording([EVEN]) for seed in (1, 3)}
    return judge(
        given, {**found, ("lunule", 2): replace(seen, seed=2), ("nothing", 1): recording([UNEVEN])}
    ).problem


def test_a_declared_failure_is_of_the_kinds_that_it_names_and_of_no_others() -> None:
    restless = recording([UNEVEN], moves=(move(3.0, 0, 1),))
    assert declared(("balance",), recording([UNEVEN])) == ""
    assert declared(("balance", "steady"), restless) == ""
    assert declared(("balance",), restless) == "'lunule' fails otherwise than declared (steady) with seed 2"
    kept = declared(("balance", "steady"), recording([UNEVEN]))
    assert kept == "'lunule' passes steady, and was declared to fail: because"


@pytest.mark.parametrize(("most", "problem"), [(0.5, True), (2.0, False)])
def test_a_declared_failure_may_be_no_worse_than_is_declared(most: float, problem: bool) -> None:
    kept = Assertions(balance=(Balance(since=0.0, imbalance=most),))
    given = replace(scenario(""), known_failure=Failure(("balance",), "because", kept))
    found = {("lunule", seed): recording([UNEVEN], seed=seed) for seed in (1, 2, 3)}
    told = judge(given, {**found, ("nothing", 1): recording([UNEVEN])}).problem
    assert told.startswith("'lunule' fails by more than declared with seed 1: IF at most 0.5") is problem
    assert bool(told) is problem


def test_no_declared_failure_hides_an_order_that_is_not_safe() -> None:
    unsafe = recording([UNEVEN], unsafe=(Unsafe(7.0, "/a to rank 1 (why): it is down"),))
    assert declared(("balance",), unsafe) == "'lunule' is unsafe with seed 2"
