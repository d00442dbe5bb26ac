# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans for subvolumes in which something is held by a pin of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_cluster import Directory
from plans import ALL_ON_0, AS_IN_LINE, circumstances, family, judgement, made
from scheduled import Cluster

from mds_partitioner.engine_client import EngineClient
from mds_partitioner.judge.insides import Insides, Part
from mds_partitioner.model import Directory as At
from mds_partitioner.model import Subtree
from mds_partitioner.observe.children import Placed
from mds_partitioner.observe.subtrees import subtree_map
from mds_partitioner.plan import families
from mds_partitioner.plan.circumstances import Circumstances, below
from mds_partitioner.plan.plan import DISTRIBUTED_STEP, PIN_STEP, RANK_MASK, Plan

SUBVOL1, SUBVOL2, INNER = 100, 101, 700
HEAVY = "/volumes/_nogroup/Subvol1"
PATH = "/volumes/_nogroup/Subvol2"
PINNED = Subtree(f"{PATH}/a", 0, 0, False, INNER)


def holding(at: Subtree, **changes: Any) -> Circumstances:
    return replace(circumstances("fanout"), below={PATH: (at,)}, **changes)


def steps_of(plan: Plan, ino: int) -> list[tuple[str, str, str, int]]:
    return [(s.kind, s.value, s.expected, s.home) for s in plan.steps if s.ino == ino]


def reason(plan: Plan) -> tuple[str, str]:
    return next((row.reason, row.why) for row in plan.rows if row.ino == SUBVOL2)


@pytest.mark.parametrize("pin", [-1, 2])
def test_our_pin_below_what_moves_is_taken_off_after_it(engine: EngineClient, pin: int) -> None:
    """It is pinned where it belongs already, and what is in it is not there."""
    found = judgement(ALL_ON_0, pins={"Subvol2": pin})
    plan = made(found, holding(PINNED, owned={INNER: 0, SUBVOL2: 2}), engine)
    assert steps_of(plan, INNER) == [(PIN_STEP, "-1", "0", 0)]
    order = [step.ino for step in plan.steps if step.ino in (SUBVOL2, INNER)]
    assert order == ([SUBVOL2, INNER] if pin < 0 else [INNER])


def test_what_is_below_and_pinned_where_all_of_it_goes_stays_pinned(engine: EngineClient) -> None:
    plan = made(judgement(ALL_ON_0), holding(replace(PINNED, rank=2, pin=2), owned={INNER: 2}), engine)
    assert steps_of(plan, SUBVOL2) and not steps_of(plan, INNER)


def test_what_an_operator_pinned_below_keeps_what_it_holds(engine: EngineClient) -> None:
    plan = made(judgement(ALL_ON_0), holding(PINNED), engine)
    assert reason(plan) == ("pinned-by-operator", f"'{PATH}/a' below it is pinned to rank 0")
    assert not steps_of(plan, SUBVOL2) + steps_of(plan, INNER)
    forced = made(judgement(ALL_ON_0), holding(PINNED, force=True), engine)
    assert steps_of(forced, INNER) == [(PIN_STEP, "-1", "0", 0)]


def test_what_an_operator_pinned_below_and_nobody_uses_holds_nothing(engine: EngineClient) -> None:
    plan = made(judgement(ALL_ON_0), holding(replace(PINNED, rank=1, pin=1)), engine)
    assert steps_of(plan, SUBVOL2) and not steps_of(plan, INNER)


def test_what_is_distributed_below_is_so_no_more_if_that_was_us(engine: EngineClient) -> None:
    at = Subtree(f"{PATH}/a", 0, -1, True, INNER)
    for force in (False, True):
        theirs = made(judgement(ALL_ON_0), holding(at, force=force), engine)
        assert reason(theirs) == ("ephemeral-pin", f"'{PATH}/a' below it is held by an ephemeral pin")
    ours = made(judgement(ALL_ON_0), holding(at, owned_distributed={INNER: "1"}), engine)
    assert steps_of(ours, INNER) == [(DISTRIBUTED_STEP, "0", "1", -1)]


@pytest.mark.parametrize("at", [PINNED, replace(PINNED, pin=-1, ephemeral=True)])
@pytest.mark.parametrize("ranks", [(0,), (0, 2)])
def test_what_an_operators_setting_below_holds_is_kept_from_the_balancer_of_a_mask(
    engine: EngineClient, at: Subtree, ranks: tuple[int, ...]
) -> None:
    """It is pinned where it is. On which rank it is itself is not known where some of it is on another one:
    that is told."""
    found = judgement({**AS_IN_LINE, "Subvol2": ranks})
    c = replace(holding(at), heavy_mode="mask")
    plan = made(found, c, engine)
    assert RANK_MASK in [step.target for step in plan.steps]
    assert reason(plan)[0] == ("ephemeral-pin" if at.ephemeral else "pinned-by-operator")
    known = len(ranks) == 1
    assert steps_of(plan, SUBVOL2) == ([(PIN_STEP, "0", "-1", 0)] if known else [])
    assert not steps_of(plan, INNER)
    told = [text for text in plan.caveats if text.startswith("no pin is set on 'Subvol2': the balancer may")]
    assert bool(told) is not known
    assert not steps_of(made(found, holding(at), engine), SUBVOL2), "--heavy fanout needs no balancer"


@pytest.mark.parametrize("ranks", [(0,), (0, 2)])
@pytest.mark.parametrize("by", ["a pin of ours", "a pin of his", "an ephemeral pin"])
def test_what_is_held_itself_gets_no_pin_and_is_not_told_as_the_balancers(
    engine: EngineClient, by: str, ranks: tuple[int, ...]
) -> None:
    c = replace(holding(PINNED), heavy_mode="mask", owned={SUBVOL2: 0} if by == "a pin of ours" else {})
    found = judgement({**AS_IN_LINE, "Subvol2": ranks}, {} if by == "an ephemeral pin" else {"Subvol2": 0})
    if by == "an ephemeral pin":
        c = replace(c, above={PATH: Placed(PATH, SUBVOL2, -1, False, True)})
    plan = made(found, c, engine)
    assert RANK_MASK in [step.target for step in plan.steps] and not steps_of(plan, SUBVOL2)
    assert reason(plan)[0] == ("ephemeral-pin" if by == "an ephemeral pin" else "pinned-by-operator")
    assert not [text for text in plan.caveats if text.startswith("no pin is set")]


def test_what_is_left_to_the_balancer_has_none_of_our_pins_in_it(engine: EngineClient) -> None:
    mine, theirs = (Subtree(f"{HEAVY}/uuid/d{i}", i, i, False, INNER + i) for i in (0, 1))
    c = replace(circumstances("mask"), below={HEAVY: (mine, theirs)}, owned={mine.ino: mine.pin})
    plan = made(judgement(AS_IN_LINE), c, engine)
    assert steps_of(plan, mine.ino) == [(PIN_STEP, "-1", "0", 0)]
    assert not steps_of(plan, theirs.ino)


def test_what_was_split_and_gets_one_rank_takes_its_children_along(engine: EngineClient) -> None:
    """Rank 1 is to be left; one child has all of the load."""
    found = judgement({**ALL_ON_0, "Subvol1": (0, 1)})
    heavy, *others = found.directories
    brood = family(HEAVY)
    hot, *rest = brood.children
    inside = Insides(1.0, (Part(hot.path, 400.0),))
    found = replace(found, directories=(replace(heavy, seen=replace(heavy.seen, inside=inside)), *others))
    brood = replace(brood, children=(replace(hot, pin=1, ranks=(1,)), *rest), ranks=(0,))
    c = replace(circumstances("fanout"), ranks=(0, 2), owned={hot.ino: 1})
    plan = made(found, c, engine, lambda _: brood)
    assert steps_of(plan, hot.ino) == [(PIN_STEP, "-1", "1", 1)]
    assert [home for *_, home in steps_of(plan, SUBVOL1)] == [0], "what has no pin of its own goes back there"
    steps = [step.ino for step in plan.steps]
    assert steps.index(SUBVOL1) < steps.index(hot.ino)


@pytest.mark.parametrize("known", [True, False])
def test_a_child_that_an_operator_pinned_counts_on_its_rank(engine: EngineClient, known: bool) -> None:
    """It has three fifths of the heavy one: by what was seen of it, or by what is in it."""
    found = judgement({**ALL_ON_0, "Subvol1": (0, 2)})
    heavy = replace(found.directories[0], seen=replace(found.directories[0].seen, parts=(0, 0, 2, 2, 2)))
    brood = family(HEAVY, children=5)
    theirs, *rest = brood.children
    theirs = replace(theirs, pin=2, ranks=(2,), rentries=100 if known else 600)
    if known:
        load = heavy.seen.requests
        asked = (Part(theirs.path, 0.6 * load), *(Part(child.path, 0.1 * load) for child in rest))
        heavy = replace(heavy, seen=replace(heavy.seen, inside=Insides(1.0, asked)))
    others = [replace(row, seen=replace(row.seen, requests=0.0)) for row in found.directories[1:]]
    found = replace(found, directories=(heavy, *others))
    brood = replace(brood, children=(theirs, *rest), ranks=(0,))
    plan = made(found, circumstances("fanout"), engine, lambda _: brood)
    total = heavy.seen.requests
    assert plan.prediction.load_before == pytest.approx({"0": 0.4 * total, "1": 0.0, "2": 0.6 * total})
    assert plan.prediction.load_after["2"] == pytest.approx(0.6 * total)
    assert not [s for s in plan.steps if s.value == "2" and s.target.startswith(HEAVY)]
    assert plan.rows[0].current == (0,) and plan.rows[0].reqs == total
    assert [text for text in plan.caveats if "60% of it is in directories that an operator pinned" in text]


def test_where_an_operator_pinned_all_children_nothing_of_it_moves(engine: EngineClient) -> None:
    brood = family(HEAVY)
    children = tuple(replace(child, pin=i % 3, ranks=(i % 3,)) for i, child in enumerate(brood.children))
    found = judgement({**ALL_ON_0, "Subvol1": (0, 1, 2)})
    plan = made(
        found, circumstances("fanout"), engine, lambda _: replace(brood, children=children, ranks=(0,))
    )
    assert not [s for s in plan.steps if s.target.startswith(HEAVY)]
    assert plan.prediction.load_before["2"] == pytest.approx(found.directories[0].seen.requests / 4)


def test_a_pin_to_a_rank_that_does_not_exist_holds_no_child(engine: EngineClient) -> None:
    """MDSs do not look at it: the directory is where its parent is."""
    brood = family(HEAVY)
    theirs, *rest = brood.children
    brood = replace(brood, children=(replace(theirs, pin=7), *rest), ranks=(0,))
    judged = families.family(brood, circumstances("fanout"), lambda *_: True, {})
    assert (judged.held, judged.staying) == ((), 0.25)


def test_what_is_held_below_is_asked_of_the_mdss() -> None:
    host: Any = Cluster([1.0] * 4)
    inner = Directory("/volumes/_nogroup/s1/data/a", pin=2, rank=2)
    host.directories |= {INNER: inner, INNER + 1: Directory("/volumes/_nogroup/s1/data", rank=0)}
    paths = [At(host.directories[ino].path, "", ino) for ino in (100, 101)]
    where = subtree_map(host, host.state, [at.path for at in paths])
    assert below(where, paths) == {"/volumes/_nogroup/s1": (Subtree(inner.path, 2, 2, False, INNER),)}


def test_that_a_rank_did_not_say_where_children_are_is_told(engine: EngineClient) -> None:
    brood = replace(family(HEAVY), silent=(1,))
    plan = made(judgement(AS_IN_LINE), circumstances("fanout"), engine, lambda _: brood)
    assert [text for text in plan.caveats if text.startswith("rank 1 did not answer")]
