# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is shown of runs can be read: the table in a terminal, a picture of very many ranks."""

import re
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from sim.assertions import Finding
from sim.draw import map_of
from sim.policies import POLICIES
from sim.report import page, table, unbroken
from sim.scenario import Assertions, Balance, Failure, Ranks, Steady, find
from sim.verdict import Checked, Verdict, judge
from tests.unit.sim.test_assertions import move, recording
from tests.unit.sim.test_model import scenario

TERMINAL = 80  # columns
PIXELS = 256  # of a map, at the least


def test_the_table_fits_a_terminal() -> None:
    longest = max(find([]), key=lambda scenario: len(scenario.name))
    moves = tuple(move(float(i), 0, 1, inodes=999.0) for i in range(9999))
    seen = recording([[1000.0, 1.0]], policy=max(POLICIES, key=len), moves=moves)
    run = Checked(seen, ())
    oracle = replace(seen, moves=moves[:100])
    text = table(
        [
            Verdict(
                replace(longest, known_failure=Failure(("cost",), "because")), (run,), (), (run,), oracle, ""
            )
        ]
    )
    assert "known" in text
    assert max(map(len, text.splitlines())) <= TERMINAL


def test_a_page_of_a_policy_says_why_it_fails() -> None:
    seen = recording([[1000.0, 1.0]], policy="scheduler")
    kinds = ("cost", "steady")
    run = Checked(seen, tuple(Finding(kind, False, f"little {kind}", f"{kind} of 7") for kind in kinds))
    good = scenario(name="good", policy="scheduler")
    bad = replace(good, name="bad", known_failure=Failure(kinds, "it runs after what is gone"))
    text = page("scheduler", [Verdict(one, (run, run), (), (run,), None, "") for one in (good, bad)])
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    assert "passes" in rows["good"]
    assert "cost: little cost (seen: cost of 7 | cost of 7); steady: little steady" in rows["bad"]
    assert "it runs after what is gone" in rows["bad"]
    assert "`python3 -m sim run --policy scheduler --out docs/results/sim`" in text
    assert re.search(r"Made at \S+; digests .*: simulator \w{16}, scheduler \w{16}, policy \w{16}\.", text)


def test_what_the_policy_that_must_fail_keeps_is_told() -> None:
    must = Assertions(balance=(Balance(since=0, imbalance=0.1),), steady=(Steady(moves=0),))
    given = scenario(must=must, seeds=(1,), fails_with=("builtin",))
    even, uneven = recording([[500.0, 500.0]]), recording([[1000.0, 1.0]])
    told = unbroken([judge(given, {("nothing", 1): even, ("builtin", 1): uneven})])
    assert "builtin: steady: at most 0 moves" in told
    assert "balance" not in told and "safety" not in told
    masked = replace(given, ranks=Ranks(2, 1000.0, mask=(0,)))
    assert "builtin: safety: " in unbroken([judge(masked, {("nothing", 1): even, ("builtin", 1): uneven})])
    moved = replace(even, moves=(move(1.0, 0, 1),))
    both = replace(given, fails_with=("builtin", "vanilla"))
    runs = {("nothing", 1): even, ("builtin", 1): uneven, ("vanilla", 1): moved}
    assert unbroken([judge(both, runs)]) == "", "what one keeps the other breaks"


def test_no_full_rank_of_a_thousand_is_lost_in_a_picture() -> None:
    loads = np.full(1000, 100.0)
    loads[[7, 501, 999]] = 1000.0
    axes = Figure().subplots()
    map_of(axes, recording([loads.tolist()]))
    shown = np.asarray(axes.images[0].get_array())
    assert shown.shape[0] <= PIXELS
    assert (shown[:, 0] == 1000.0).sum() == 3
