# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bugs that are put into what ships, each of which a scenario must catch."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from mds_partitioner.act.core import StepCore, Transition
from mds_partitioner.observe.children import Lasts
from mds_partitioner.plan import planner
from mds_partitioner.policy.policies import source_of
from sim.assertions import Finding, check, needs_oracle
from sim.course import run
from sim.policies import plan
from sim.scenario import Scenario, find


def findings(scenario: Scenario, seed: int = 1) -> tuple[Finding, ...]:
    """Of the scenario's policy."""
    oracle = run(scenario, "oracle", seed) if needs_oracle(scenario.must) else None
    return check(scenario.must, run(scenario, scenario.policy, seed), oracle)


def broken(scenario: Scenario) -> set[str]:
    """The kinds of assertions that do not hold."""
    return {finding.kind for finding in findings(scenario) if not finding.holds}


@pytest.mark.parametrize(
    ("bug", "scenario", "old", "new", "kind"),
    [
        (
            "wrong sign",
            "one-hot-rank",
            'return math.min(hint("limit"), state.loads[rank] - state.mean)',
            'return math.min(hint("limit"), state.mean - state.loads[rank])',
            "balance",
        ),
        (
            "no dead band",
            "even-with-noise",
            'local harmful = factor > hint("threshold")',
            "local harmful = factor > 0",
            "steady",
        ),
        (
            "a target that is masked out",
            "masked-rank",
            "if mask == nil or mask[rank] then",
            "if mask == nil or rank then",
            "safety",
        ),
        (
            "orders that are on their way are given again",
            "one-hot-rank-late-orders",
            "elseif (beat + apart * importer) % BEATS_A_TURN == 0 then",
            "else",
            "steady",
        ),
    ],
)
def test_a_bug_in_lunule_is_caught(
    bug: str, scenario: str, old: str, new: str, kind: str, tmp_path: Path
) -> None:
    source = source_of("lunule")
    assert source.count(old) == 1, f"lunule.lua has changed: '{bug}' must be put in another way"
    (tmp_path / "bad.lua").write_text(source.replace(old, new))
    (good,) = find([scenario])
    bad = replace(good, policies={"lunule": {"file": str(tmp_path / "bad.lua")}})
    assert broken(good) == set()
    assert kind in broken(bad)


def test_a_step_to_a_rank_that_is_gone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(StepCore):
        """Does not look whether the rank exists."""

        def forward(self, ranks: Collection[int], force: bool) -> Transition:
            return super().forward(range(256), force)

    (scenario,) = find(["rank-stops-after-planning"])
    assert broken(scenario) == set()
    monkeypatch.setattr(plan, "StepCore", Careless)
    assert "safety" in broken(scenario)


def test_pins_on_directories_that_will_be_deleted_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(churning: Collection[int], since: float, now: float) -> Lasts:
        return lambda *_: True

    (scenario,) = find(["churn-planned"])
    assert broken(scenario) == set()
    monkeypatch.setattr(planner, "lasting", everything)
    assert broken(scenario) == {"balance"}
